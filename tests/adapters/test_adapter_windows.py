"""`apps=[…]` in every adapter: a model's action is answered, and the next request ends with the window after it."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import anyio
import mcp_home
import pytest
import test_langchain_middleware as chain
import test_openai_agents as sdk
import test_pydantic_ai as pydantic
from agents import Agent
from agents.testing import ScriptedModel, assistant_message, function_call
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from mcp import Client
from pydantic_ai.messages import TextPart, ToolCallPart
from sdk_program import WIRES, Program, client_of
from strict_model import StrictModel, calling, script
from test_proxy_windows import act, windows_in
from upstream import Asked, Upstream
from upstream_script import Answer, answer

import sightline as sl
from sightline.adapters.langchain import SightlineMiddleware
from sightline.adapters.mcp import create_server
from sightline.adapters.mcp_windows import ProjectWindows
from sightline.adapters.openai_agents import SightlineSession, run_options
from sightline.adapters.pydantic_ai import SightlineCapability
from sightline.apps import App, Element, Lod, action
from sightline.errors import BadInput
from sightline.follow.windows import load_apps
from sightline.log.stores.memory import MemoryStores
from sightline.plan.view import Budget
from sightline.view.catalog.places import Places

BUDGET = Budget(window=12_000, output=1_000)
ADD = {"window_id": "todo_1", "action_id": "add", "params": {"text": "buy milk"}}
ITEM = ">buy milk</item>"
OURS = ["create", "action", "expand", "recall"]


class Bell(App):
    """Count how often the bell was rung."""

    name = "bell"

    def __init__(self) -> None:
        self.count = 0

    @action(label="Ring the bell")
    def ring(self) -> str:
        """Ring the bell."""
        self.count += 1
        return f"rung {self.count} times"

    def view(self, lod: Lod) -> list[Element]:
        """How often it was rung."""
        return [Element(text=f"rung {self.count} times")]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))


def test_langchain() -> None:
    """The middleware has the tools. The state keeps no window, and a list goes on in the thread's next turn."""
    steps = [calling(("a1", "action", ADD)), AIMessage("Noted."), AIMessage("Milk.")]
    model = StrictModel(**script(*steps))
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores(), apps=["todo", Bell])
    assert [tool.name for tool in middleware.tools] == ["create", "action", "expand", "recall", "look"]
    agent = chain.made(model, middleware, checkpointer=InMemorySaver())
    chain.run(agent, "Remember the milk.")
    state = chain.run(agent, "What is to buy?")
    assert [ITEM in asked[-1].text for asked in model.asked] == [False, True, True]
    assert all('<Window id="bell_1">' in str([each.text for each in asked[-2:]]) for asked in model.asked)
    assert "added item 1" in str(state["messages"])
    assert "<Window" not in str(state["messages"])
    assert len(middleware.session_of("T").branches) == 1


def test_the_agents_sdk() -> None:
    """The session has the tools. What the SDK keeps has no window in it."""
    options = run_options("T", BUDGET, sessions=MemoryStores(), apps=["todo"], run_config=sdk.config())
    session: SightlineSession = options["session"]
    steps = [[function_call("action", ADD, call_id="a1")], [assistant_message("Noted.")], [assistant_message("Milk.")]]
    model = ScriptedModel([{"output": step} for step in steps])
    made: Agent[Any] = Agent(name="keeper", model=model, tools=[sdk.shell, *session.tools])
    assert sdk.run(made, "Remember the milk.", options) == "Noted."
    assert sdk.run(made, "What is to buy?", options) == "Milk."
    inputs = [call.input for call in model.calls]
    for items in inputs:
        sdk.check(items)
    assert [ITEM in json.dumps(items[-1]) for items in inputs] == [False, True, True]
    kept = asyncio.run(session.get_items())
    assert "added item 1" in str(kept)
    assert "<Window" not in str(kept)


def test_pydantic_ai() -> None:
    """The capability has the tools. The run keeps no window."""
    steps = pydantic.Script([ToolCallPart("action", ADD, "a1")], [TextPart("Noted.")])
    agent = pydantic.agent(steps, SightlineCapability(BUDGET, sessions=MemoryStores(), apps=["todo"]))
    result = pydantic.run(agent, "Remember the milk.")
    assert [ITEM in str(asked[-1].parts[-1]) for asked in steps.asked] == [False, True]
    assert "added item 1" in str(result.all_messages())
    assert "<Window" not in str(result.all_messages())


@pytest.mark.slow
@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("mode", ["create", "stream", "async"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_wrapped_client(wire: str, mode: str, tools: bool, tmp_path: Path) -> None:
    """The program gets one answer, also if it has no tools of its own: it asked for the apps."""
    steps = iter([answer("So be it. ", act("add", text="buy milk")), answer("Noted."), answer("Milk.")])

    def respond(asked: Asked) -> Answer:
        assert not asked.verdict
        return next(steps)

    with Upstream(respond) as upstream:
        client = sl.wrap(client_of(wire, upstream, is_async=mode == "async"), project=tmp_path, apps=["todo"])
        program = Program(wire, client, mode)
        if not tools:
            del program.fields["tools"]
        assert program.say("Remember the milk.") == "So be it. Noted."
        assert program.say("What is to buy?") == "Milk."
        assert upstream.invalid == []
        assert [ITEM in "".join(windows_in(wire, asked.body)) for asked in upstream.asked] == [False, True, True]
        program.close()


WHOLE = sl.Settings(strategy="sliding")
MADE = [lambda: {"sessions": MemoryStores(), "settings": WHOLE},
        lambda: {"sessions": lambda _: sl.Session(sl.MemoryStore("s"), settings=WHOLE)}]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("made", MADE, ids=["its own sessions", "a session it is given"])
def test_where_a_strategy_lowers_nothing_there_is_no_look(made: Any) -> None:
    """No adapter offers the model a tool that could only refuse."""
    model = StrictModel(**script(AIMessage("Noted.")))
    middleware = SightlineMiddleware(BUDGET, apps=["todo"], **made())
    chain.run(chain.made(model, middleware), "Hello.")
    assert {each["function"]["name"] for each in model.bound[-1]} == {"shell", *OURS}

    options = run_options("T", BUDGET, apps=["todo"], run_config=sdk.config(), **made())
    scripted = ScriptedModel([{"output": [assistant_message("Noted.")]}])
    agent: Agent[Any] = Agent(name="keeper", model=scripted, tools=[*options["session"].tools])
    sdk.run(agent, "Hello.", options)
    assert [tool.name for tool in scripted.calls[-1].tools] == OURS

    steps = pydantic.Script([TextPart("Noted.")])
    pydantic.run(pydantic.agent(steps, SightlineCapability(BUDGET, apps=["todo"], **made())), "Hello.")
    assert {*steps.tools[-1]} == {"shell", *OURS}


def test_mcp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer shows the window. Another client of the project sees the same list, and goes on with it."""
    home = mcp_home.Home(tmp_path, monkeypatch)
    server = create_server(Places(home.project), apps=load_apps(["todo", "notebook"]))

    async def run() -> None:
        async with Client(server) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {"windows", "create", "action", "search_sessions"} <= set(tools)
            assert tools["windows"].annotations.read_only_hint
            assert not tools["action"].annotations.read_only_hint
            assert "todo: Keep a to-do list" in (tools["create"].description or "")
            assert ITEM not in await mcp_home.call(client, "windows")
            answered = await mcp_home.call(client, "action", **ADD)
            assert answered.startswith('added item 1\n\n<Window id="todo_1">')
            assert ITEM in answered
            assert "no item 7" in await mcp_home.failure(
                client, "action", window_id="todo_1", action_id="toggle", params={"index": 7}
            )
            assert "no app" in await mcp_home.failure(client, "create", name="tudo")
            assert await mcp_home.call(client, "action", window_id="notebook_1", action_id="close")
        async with Client(create_server(Places(home.project), apps=load_apps(["todo", "notebook"]))) as client:
            text = await mcp_home.call(client, "windows")
            assert ITEM in text
            assert "notebook_1" not in text
            assert await mcp_home.call(client, "action", window_id="todo_1", action_id="close")
            opened = await mcp_home.call(client, "create", name="todo")
            assert '<Window id="todo_2">' in opened
            [closed] = re.findall(r"create\(name=todo, from=(#\d+)\)", opened)
            assert ITEM in await mcp_home.call(client, "create", **{"name": "todo", "from": closed})
            why = await mcp_home.failure(client, "create", **{"name": "todo", "from": "#999"})
            assert "no closed window #999" in why
            assert "say which app" in await mcp_home.failure(client, "create")

    anyio.run(run)


def test_projects_of_one_database_have_windows_of_their_own(tmp_path: Path) -> None:
    """As their folders have; each finds its own again."""
    stores, apps = MemoryStores(), load_apps(["todo"])
    shop, bank = (Places(tmp_path / name, stores=stores) for name in ("shop", "bank"))
    assert ITEM in ProjectWindows(shop, apps).act("todo_1", "add", {"text": "buy milk"})
    assert ITEM not in ProjectWindows(bank, apps).show()
    assert ITEM in ProjectWindows(shop, apps).show()


@pytest.mark.parametrize("make", [
    lambda apps: SightlineMiddleware(apps=apps), lambda apps: SightlineCapability(apps=apps),
    lambda apps: run_options("T", apps=apps), lambda apps: SightlineSession("T", apps=apps),
])  # fmt: skip
def test_bad_apps(make: Any) -> None:
    """An unknown name, one name instead of a list, and an app that needs arguments: each error says what to do."""

    class Needy(Bell):
        name = "needy"

        def __init__(self, file: str) -> None:
            super().__init__()
            self.file = file

    with pytest.raises(BadInput, match="no app 'tudo'; installed are: todo, notebook"):
        make(["tudo"])
    with pytest.raises(BadInput, match=r"apps are several, such as apps=\['todo'\]"):
        make("todo")
    with pytest.raises(BadInput, match="'needy': missing a required argument: 'file'; an app is made without argum"):
        make([Needy])


def test_a_call_that_is_made_again_is_done_once() -> None:
    """A program that was killed after the action, and runs the call again, gets the same answer."""
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores(), apps=["todo"])
    model = StrictModel(**script(calling(("a1", "action", ADD)), AIMessage("Noted.")))
    chain.run(chain.made(model, middleware), "Remember the milk.")
    conversations = middleware._threads.conversations
    assert conversations.answer("T", "action", ADD, call_id="a1") == "added item 1"
    assert conversations.answer("T", "action", ADD, call_id="a2") == "added item 2"
