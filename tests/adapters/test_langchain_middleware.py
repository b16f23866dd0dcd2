"""`create_agent` of LangChain with Sightline as its middleware: the model gets what fits, the state keeps all."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from environment import run_program
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from strict_model import Reply, StrictModel, calling, count_tokens, script

from sightline.adapters import langchain
from sightline.adapters.langchain import SightlineMiddleware
from sightline.errors import BadInput
from sightline.log.stores.memory import MemoryStores
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore
from sightline.values.items import Call, Kind, plain_text
from sightline.wire import langchain as langchain_wire

BUDGET = Budget(window=12_000, output=1_000)
SYSTEM = "You look after the servers of a small company. " * 40
TURNS = 60


def shell(command: str) -> str:
    """Run a command."""
    return f"$ {command}\n" + "\n".join(f"{command} line {number}: all is well here" for number in range(60))


def config(thread: str = "T", **more: Any) -> Any:
    return {"configurable": {"thread_id": thread, **more}, "recursion_limit": 1_000}


def turns(count: int = TURNS) -> Iterator[Reply]:
    """Replies that call two tools at once, and an answer at the end."""
    for number in range(count):
        yield calling((f"a{number}", "shell", {"command": f"df {number}"}), (f"b{number}", "shell", {"command": "top"}))
    yield AIMessage("All is well.")


def made(model: StrictModel, middleware: SightlineMiddleware, **options: Any) -> Any:
    return create_agent(model, [shell], middleware=[middleware], system_prompt=SYSTEM, **options)


def run(agent: Any, text: str, thread: str = "T", *, is_async: bool = False) -> dict[str, Any]:
    asked = {"messages": [HumanMessage(text)]}
    if is_async:
        return asyncio.run(agent.ainvoke(asked, config(thread)))
    found: dict[str, Any] = agent.invoke(asked, config(thread))
    return found


def texts(session: Session) -> list[str]:
    return [text for item in session.items if (text := plain_text(item.parts))]


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True])
def test_a_long_run_never_exceeds_the_budget_and_loses_nothing(is_async: bool) -> None:
    """Sixty rounds of two calls: each request is valid and fits, with prompt and tools; log and state are whole."""
    model = StrictModel(**script(*turns()))
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores())
    state = run(made(model, middleware, checkpointer=InMemorySaver()), "Look at the disks.", is_async=is_async)
    assert len(model.asked) == TURNS + 1
    assert max(model.tokens) <= BUDGET.window - BUDGET.output
    assert count_tokens(state["messages"], []) > 3 * BUDGET.window
    assert [type(message) for message in state["messages"][1:4]] == [AIMessage, ToolMessage, ToolMessage]
    assert len(state["messages"]) == 2 + 3 * TURNS
    whole = [message.text for message in state["messages"] if message.text]
    assert [text for text in texts(middleware.session_of("T")) if text != SYSTEM] == whole
    assert sum(item.kind is Kind.CALL for item in middleware.session_of("T").items) == 2 * TURNS
    assert all(messages[0].text == SYSTEM for messages in model.asked)


def test_nothing_is_shortened_while_it_fits() -> None:
    """The model gets the very messages of the state, with all that they carry, and the tools of the program alone."""
    plain, model = StrictModel(**script(*turns(3))), StrictModel(**script(*turns(3)))
    run(create_agent(plain, [shell], system_prompt=SYSTEM), "Look at the disks.")
    middleware = SightlineMiddleware(Budget(window=100_000), sessions=MemoryStores())
    state = run(made(model, middleware), "Look at the disks.")
    assert all(one is other for one, other in zip(model.asked[-1][1:], state["messages"], strict=False))
    assert len(model.asked[-1]) == len(state["messages"])
    assert model.bound == plain.bound
    assert model.tokens == plain.tokens


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True])
def test_our_tools_join_with_the_first_call_that_shows_less_and_stay(is_async: bool) -> None:
    """They change the prefix when it changes anyway."""
    model = StrictModel(**script(*turns(20), *turns(1)))
    made_agent = made(model, SightlineMiddleware(BUDGET, sessions=MemoryStores()), checkpointer=InMemorySaver())
    run(made_agent, "Look at the disks.", is_async=is_async)
    run(made_agent, "And now?", is_async=is_async)
    shows_less = [any("#" in message.text for message in asked) for asked in model.asked]
    offers = ["expand" in {tool["function"]["name"] for tool in tools} for tools in model.bound]
    assert offers == sorted(offers) == shows_less
    assert not offers[0]
    assert max(model.tokens) <= BUDGET.window - BUDGET.output


def test_a_name_that_the_model_invented_is_sent_as_providers_accept_it() -> None:
    """With its result, and again at every call. The state keeps the name as the model said it, and so does the log."""
    names = ["functions.look up", "a/b", "x" * 80, ""]
    invented = [calling((f"c{number}", name, {})) for number, name in enumerate(names)]
    model = StrictModel(**script(*invented, calling(("d", "shell", {"command": "df"})), AIMessage("Done.")))
    middleware = SightlineMiddleware(Budget(window=100_000), sessions=MemoryStores())
    state = run(made(model, middleware), "Look at the disks.")
    sent = [call["name"] for message in model.asked[-1] for call in getattr(message, "tool_calls", [])]
    assert sent == ["functions_look_up", "a_b", "x" * 64, "unknown", "shell"]
    assert [message.name for message in model.asked[-1] if isinstance(message, ToolMessage)] == sent
    assert [call["name"] for message in state["messages"] for call in getattr(message, "tool_calls", [])][:4] == names
    logged = [part.name for item in middleware.session_of("T").items for part in item.parts if isinstance(part, Call)]
    assert logged == [*names, "shell"]


@pytest.mark.slow
def test_the_system_prompt_and_the_tools_are_counted() -> None:
    """A longer system prompt, or another tool, leaves so much less for the messages."""
    room = {}
    for name, prompt, tools in (
        ("plain", "Be brief.", []),
        ("prompt", "word " * 3_000, []),
        ("tool", "Be brief.", [_wordy]),
    ):
        model = StrictModel(**script(*turns(20)))
        middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores())
        agent = create_agent(model, [shell, *tools], middleware=[middleware], system_prompt=prompt)
        agent.invoke({"messages": [HumanMessage("Look.")]}, config())
        assert max(model.tokens) <= BUDGET.window - BUDGET.output
        room[name] = min(count_tokens(messages[1:], []) for messages in model.asked[8:])
    assert room["prompt"] < room["plain"]
    assert room["tool"] < room["plain"]


def _wordy(text: str) -> str:
    return text


_wordy.__doc__ = "Say it. " + "This tool has a long description. " * 400


class Report(BaseModel):
    """What was found. The model fills it in at the end, after it has looked at everything that there is to look at."""

    text: str


def test_a_structured_response_is_counted_too() -> None:
    """Its schema is a tool of the request, though not among the agent's."""
    model = StrictModel(**script(*[*turns(10)][:-1], calling(("r", "Report", {"text": "fine"}))))
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores())
    agent = made(model, middleware, response_format=Report)
    state = agent.invoke({"messages": [HumanMessage("Look.")]}, config())
    assert state["structured_response"] == Report(text="fine")
    tools = {tool.name for tool in middleware.session_of("T").compose(BUDGET).tools}
    assert tools == {"shell", "expand", "recall", "look", "Report"}


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True])
def test_the_model_sees_again_what_was_shortened(is_async: bool) -> None:
    """`expand` and `recall` come along, run in the graph's own tool node, and answer from this thread."""
    found: list[str] = []

    def expand(messages: list[Any]) -> AIMessage:
        found.extend(re.findall(r"#\d+", "\n".join(message.text for message in messages)))
        return calling(("e", "expand", {"id": found[0]}), ("r", "recall", {"query": "df 0 line 33"}))

    model = StrictModel(**script(*[*turns(30)][:-1], expand, AIMessage("Seen.")))
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores())
    state = run(made(model, middleware), "Look at the disks.", is_async=is_async)
    expanded, recalled = (message.text for message in state["messages"][-3:-1])
    assert re.match(r"\[#\d+ lines 1–", expanded)
    assert "df 0 line 33: all is well here" in recalled
    assert max(model.tokens) <= BUDGET.window - BUDGET.output


def test_each_thread_has_a_session_of_its_own() -> None:
    """With one middleware object. Neither model call nor tool sees the other thread."""
    model = StrictModel(**script(AIMessage("Noted."), AIMessage("Hello."), _recall("r"), AIMessage("Nothing.")))
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores())
    agent = made(model, middleware, checkpointer=InMemorySaver())
    run(agent, "alice: the secret word is xylophone", "alice")
    run(agent, "bob: hello", "bob@example.com, a name that no file may have")
    state = run(agent, "bob: what is secret?", "bob@example.com, a name that no file may have")
    assert not any("xylophone" in message.text for messages in model.asked[1:] for message in messages)
    assert "xylophone" not in state["messages"][-2].text
    assert texts(middleware.session_of("alice"))[0].startswith("alice")
    assert middleware.session_of("alice").id == "alice"


def _recall(call_id: str) -> AIMessage:
    return calling((call_id, "recall", {"query": "secret word xylophone"}))


def test_without_a_thread_each_list_is_a_conversation() -> None:
    """No checkpointer and no thread id: a list that goes on is known again, another one is another session."""
    stores = MemoryStores()
    model = StrictModel(**script(AIMessage("Hi."), AIMessage("Bob."), _recall("r"), AIMessage("Fine.")))
    middleware = SightlineMiddleware(BUDGET, sessions=stores)
    agent = made(model, middleware)
    state = agent.invoke({"messages": [HumanMessage("alice: the secret word is xylophone")]})
    agent.invoke({"messages": [HumanMessage("bob: hello")]})
    assert "xylophone" not in str(model.asked[1])
    state = agent.invoke({"messages": [*state["messages"], HumanMessage("alice: which word?")]})
    assert "xylophone" in state["messages"][-2].text
    assert len(stores.sessions()) == 2


def test_one_session_belongs_to_one_thread() -> None:
    """A second thread is refused, and the error says what to do."""
    model = StrictModel(**script(AIMessage("Hi."), AIMessage("Hi.")))
    agent = made(model, SightlineMiddleware(BUDGET, sessions=Session(MemoryStore("s"))), checkpointer=InMemorySaver())
    run(agent, "hello", "one")
    with pytest.raises(BadInput, match="pass a folder or stores instead"):
        run(agent, "hello", "two")


def test_an_edited_state_goes_on_as_a_branch() -> None:
    """Another text under the same id, and time travel to an earlier checkpoint; the first branch stays."""
    model = StrictModel(**script(*(AIMessage(f"answer {number}") for number in range(9))))
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores())
    agent = made(model, middleware, checkpointer=InMemorySaver())
    run(agent, "question 0")
    state = run(agent, "question 1")
    edited = HumanMessage("another question", id=state["messages"][2].id)
    agent.update_state(config(), {"messages": [edited, RemoveMessage(state["messages"][3].id)]}, as_node="__start__")
    agent.invoke(None, config())
    assert [message.text for message in model.asked[-1][1:]] == ["question 0", "answer 0", "another question"]
    session = middleware.session_of("T")
    assert len(session.branches) == 2
    assert [text for text in texts(session) if text != SYSTEM][-2:] == ["another question", "answer 2"]
    earlier = next(each for each in agent.get_state_history(config()) if len(each.values.get("messages", ())) == 2)
    agent.invoke({"messages": [HumanMessage("a third way")]}, earlier.config)
    assert [message.text for message in model.asked[-1][1:]] == ["question 0", "answer 0", "a third way"]
    assert len(middleware.session_of("T").branches) == 3
    main = middleware.session_of("T").on_branch("")
    assert [text for text in texts(main) if text != SYSTEM] == ["question 0", "answer 0", "question 1", "answer 1"]


def test_a_message_that_was_edited_in_place_is_noticed() -> None:
    """The same object, the same id, other words."""
    model = StrictModel(**script(AIMessage("one"), AIMessage("two")))
    agent = made(model, SightlineMiddleware(BUDGET, sessions=MemoryStores()))
    talk: list[Any] = [HumanMessage("hello", id="h"), AIMessage("hi", id="a"), HumanMessage("why?", id="w")]
    agent.invoke({"messages": talk}, config())
    talk[1].content = "good day"
    agent.invoke({"messages": talk}, config())
    assert [message.text for message in model.asked[-1][1:]] == ["hello", "good day", "why?"]


@pytest.mark.slow
def test_the_work_of_a_turn_is_that_of_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every turn reads and writes its own messages and no others, also where a checkpointer makes all objects anew."""
    read: list[int] = []
    written: list[int] = []
    known, write = langchain_wire._read, langchain._write
    monkeypatch.setattr(langchain_wire, "_read", lambda *given: read.append(1) or known(*given))
    monkeypatch.setattr(langchain, "_write", lambda *given: written.append(1) or write(*given))
    model = StrictModel(**script(*(AIMessage(f"answer {number}") for number in range(40))))
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores())
    agent = made(model, middleware, checkpointer=InMemorySaver())
    for number in range(40):
        read.clear()
        written.clear()
        run(agent, f"question {number}")
        assert len(read) == 2
        assert len(written) <= 2
    assert middleware.session_of("T").branches == [""]


PROGRAM = """
import pickle, sys
from pathlib import Path
from langgraph.checkpoint.memory import InMemorySaver
from strict_model import *
import test_langchain_middleware as here

first, last, saved = int(sys.argv[1]), int(sys.argv[2]), Path("saver.pickle")
saver = InMemorySaver()
if saved.exists():
    storage, writes, blobs = pickle.loads(saved.read_bytes())
    for thread, spaces in storage.items():
        for space, checkpoints in spaces.items():
            saver.storage[thread][space] = checkpoints
    saver.writes.update(writes)
    saver.blobs.update(blobs)
model = StrictModel(**script(*[reply for _ in range(first, last) for reply in here.turns(12)]))
middleware = here.SightlineMiddleware(here.BUDGET, sessions="project")
agent = here.made(model, middleware, checkpointer=saver)
for number in range(first, last):
    here.run(agent, f"question {number}")
plain = {thread: {space: dict(found) for space, found in spaces.items()} for thread, spaces in saver.storage.items()}
saved.write_bytes(pickle.dumps((plain, {key: dict(each) for key, each in saver.writes.items()}, dict(saver.blobs))))
print(repr([[message.type, message.content] for message in model.asked[-13]]), middleware.session_of("T").branches)
"""


@pytest.mark.slow
def test_a_new_process_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    """With a checkpointer, the next request is the same as in a process that never stopped; the log has no branch."""
    twice = tmp_path / "twice"
    once, _, again = run_program(PROGRAM, (tmp_path / "once", "0", "3"), (twice, "0", "2"), (twice, "2", "3"))
    assert _without_ids(again) == _without_ids(once)
    assert once.rstrip().endswith("['']")


def _without_ids(text: str) -> str:
    return re.sub(r"lc_run-[\w-]+", "", text)


def test_a_budget_is_taken_from_the_models_profile() -> None:
    """Without one, the error says what to pass."""
    model = StrictModel(**script(AIMessage("Hi.")), profile={"max_input_tokens": 20_000, "max_output_tokens": 64_000})
    middleware = SightlineMiddleware(sessions=MemoryStores())
    run(made(model, middleware), "hello")
    receipt = middleware.session_of("T").receipt
    assert receipt is not None
    assert receipt.limit == 15_000
    with pytest.raises(BadInput, match="SightlineMiddleware\\(Budget"):
        run(made(StrictModel(**script(AIMessage("Hi."))), middleware), "hello")


def test_the_system_message_of_other_middlewares_is_counted_and_sent() -> None:
    """It is that of the request when the model is called, and changes from call to call."""

    class Dated(AgentMiddleware):
        day = 0

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            self.day += 1
            return handler(request.override(system_message=SystemMessage(f"It is day {self.day}.")))

    model = StrictModel(**script(*turns(2)))
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores())
    agent = create_agent(model, [shell], middleware=[Dated(), middleware])
    agent.invoke({"messages": [HumanMessage("Look.")]}, config())
    assert [messages[0].text for messages in model.asked] == ["It is day 1.", "It is day 2.", "It is day 3."]
    system = middleware.session_of("T").compose(BUDGET).system
    assert [plain_text(message.parts) for message in system] == ["It is day 3."]


def test_a_model_call_that_fails_leaves_nothing_behind() -> None:
    """The question is in the log once, and the next attempt goes on from it without a branch."""

    def fail(_: Any) -> AIMessage:
        raise ConnectionError("no network")

    model = StrictModel(**script(fail, AIMessage("Hi.")))
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores())
    agent = made(model, middleware, checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        run(agent, "hello")
    agent.invoke(None, config())
    assert [text for text in texts(middleware.session_of("T")) if text != SYSTEM] == ["hello", "Hi."]
    assert middleware.session_of("T").branches == [""]


def test_closed_sessions_are_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`close` frees the files; the thread goes on with the next call."""
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    model = StrictModel(**script(AIMessage("one"), AIMessage("two")))
    middleware = SightlineMiddleware(BUDGET, sessions=tmp_path)
    agent = made(model, middleware, checkpointer=InMemorySaver())
    run(agent, "hello")
    middleware.close()
    run(agent, "again")
    session = middleware.session_of("T")
    assert [text for text in texts(session) if text != SYSTEM] == ["hello", "one", "again", "two"]
    middleware.close()


def test_an_agent_within_an_agent_has_a_conversation_of_its_own() -> None:
    """It has the thread of the outer one and other messages; the outer session has no branch and none of them."""
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores())
    inner = made(StrictModel(**script(*turns(2), *turns(2))), middleware)

    def delegate(task: str) -> str:
        """Let another agent do it."""
        return str(inner.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text)

    outer = StrictModel(
        **script(
            calling(("d1", "delegate", {"task": "first"})),
            calling(("d2", "delegate", {"task": "second"})),
            AIMessage("Ok."),
        )
    )
    agent = create_agent(outer, [delegate], middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("Go.")]}, config())
    session = middleware.session_of("T")
    assert session.branches == [""]
    assert texts(session) == ["Go.", "All is well.", "All is well.", "Ok."]
    assert "second" in texts(middleware.session_of("T/tools"))


def test_threads_that_run_at_the_same_time_do_not_mix() -> None:
    """Six of them on one event loop, with one middleware."""

    def answer(messages: list[Any]) -> AIMessage:
        name = next(str(message.text) for message in messages if message.type == "human")
        return AIMessage(name) if messages[-1].type == "tool" else calling((name, "shell", {"command": name}))

    model = StrictModel(**script(*[answer] * 12))
    middleware = SightlineMiddleware(BUDGET, sessions=MemoryStores())
    agent = made(model, middleware, checkpointer=InMemorySaver())

    async def ask(name: str) -> str:
        state = await agent.ainvoke({"messages": [HumanMessage(name)]}, config(name))
        return str(state["messages"][-1].text)

    async def ask_all() -> list[str]:
        return await asyncio.gather(*(ask(f"user-{number}") for number in range(6)))

    names = [f"user-{number}" for number in range(6)]
    assert asyncio.run(ask_all()) == names
    for name in names:
        found = [text for text in texts(middleware.session_of(name)) if text != SYSTEM]
        assert found == [name, shell(name), name]
