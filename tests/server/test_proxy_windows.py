"""`--apps`: the model of any agent sees windows at the end of its requests, and acts on them inside one call."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from agent_shapes import SHAPES, WIRES
from serve_process import ServeProcess
from test_proxy_cache import as_blocks
from through_proxy import HEADERS, LISTS, PATHS, TALKERS, TOOLS, Json, Talk, Through, asked_names
from upstream import Asked, Upstream
from upstream_script import Answer, Block, answer, call, think

from sightline.adapters.mcp_windows import ProjectWindows
from sightline.errors import UnknownApp
from sightline.follow.windows import load_apps
from sightline.server.config import Config
from sightline.session.session import Session
from sightline.view.catalog.places import Places

OURS = ["create", "action"]
LATER = ["expand", "recall", "look"]
APPS = ("todo", "notebook")
CASES = [pytest.param(shape, stream, id=f"{shape}-{'stream' if stream else 'whole'}")
         for shape in SHAPES for stream in (False, True)]  # fmt: skip


def act(action: str, window: str = "todo_1", **params: Any) -> Block:
    """A call that acts on a window."""
    return call("action", {"window_id": window, "action_id": action, "params": params})


def windows_in(wire: str, body: Json) -> list[str]:
    """The texts of the windows at the end of a request, in order."""
    texts = []
    for message in reversed(body[LISTS[wire]]):
        text = json.dumps(message.get("content"), ensure_ascii=False)
        if "<Window" not in text:
            break
        texts.append(text)
    return texts[::-1]


class Keeper:
    """Keeps a list in a window: for each question it adds an item, reads a file, and says that it is done."""

    def __init__(self, first: int = 1) -> None:
        self.step, self.item = 0, first

    def __call__(self, asked: Asked) -> Answer:
        """The next step. It thinks where the agent lets it."""
        self.step += 1
        thoughts: list[Block] = [think(f"Step {self.step}.")] if asked.wire != "chat" else []
        match self.step % 3:
            case 1:
                return answer(*thoughts, act("add", text=f"task {self.item} of the plan"))
            case 2:
                return answer(*thoughts, call("read", {"path": f"file{self.item}"}))
            case _:
                self.item += 1
                return answer(*thoughts, f"Done with {self.item - 1}.")


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "stream"), CASES)
def test_a_list_in_a_window(shape: str, stream: bool, tmp_path: Path) -> None:
    """Over 40 calls, sweeps and a restart: each request is valid, the list is whole, and the client sees no action."""
    wire = WIRES[shape]
    with Through(tmp_path, Keeper(), window=16_000, apps=APPS) as through:
        talk = SHAPES[shape](through, stream=stream)
        for number in range(1, 15):
            assert talk.say(f"Question {number}?") == f"Done with {number}."
            if number == 7:
                through.restart()
        assert through.upstream.invalid == []
        assert len(through.bodies) == 42
        assert "'name': 'action'" not in str(talk.list)
        tools = [asked_names(asked) for asked in through.upstream.calls]
        assert tools[0] == ["read", *OURS]  # what brings something back joins where something is shortened, and stays
        assert {tuple(names) for names in tools} == {("read", *OURS), ("read", *OURS, *LATER)}
        first = tools.index(["read", *OURS, *LATER])
        assert tools[first:] == [tools[first]] * len(tools[first:])
        assert not any(re.search(r"expand\(|#\d+ gist", json.dumps(body)) for body in through.bodies[:first])
        notebook, todo = windows_in(wire, through.bodies[-1])  # what changed last comes last
        assert [f"task {number} of the plan" in todo for number in range(1, 16)] == [True] * 14 + [False]
        assert "notebook_1" in notebook
        assert not any("<Window" in json.dumps(message) for message in through.bodies[-1][LISTS[wire]][:-2])
        with through.session() as session:
            assert session.branches == [""]
            assert [value for _, _, value in session.annotations("receipt") if value.get("reason")]  # it was swept
        assert through.totals.recalled == 7  # after the restart: one for each action


@pytest.mark.parametrize("shape", SHAPES)
def test_the_prefix_stays(shape: str, tmp_path: Path) -> None:
    """The tools of windows are there from the beginning; what comes before the windows only grows, breakpoints too."""
    wire = WIRES[shape]
    with Through(tmp_path, Keeper(), apps=APPS) as through:
        talk = SHAPES[shape](through)
        for number in range(3):
            talk.say(f"Question {number}?")
        assert {tuple(asked_names(asked)) for asked in through.upstream.calls} == {("read", *OURS)}
        assert len({json.dumps(body["tools"]) for body in through.bodies}) == 1
        for before, after in pairwise(through.bodies):
            blocks = [block for block in as_blocks(wire, before) if "<Window" not in json.dumps(block)]
            assert as_blocks(wire, after)[: len(blocks)] == blocks
        for body in through.bodies:
            assert len(windows_in(wire, body)) == 2
            assert "cache_control" not in "".join(windows_in(wire, body))
        assert through.upstream.invalid == []
        reads = [asked.bill.read for asked in through.upstream.calls[2:] if asked.bill]
        assert all(before <= after for before, after in pairwise(reads)), reads
        assert reads[0] > 0


@pytest.mark.slow
def test_a_closed_window_can_be_expanded(tmp_path: Path) -> None:
    """It leaves a handle, so that the tools which take one join with it."""
    steps = iter([act("add", text="task 1 of the plan"), act("close", summary="kept"), "Done."])
    with Through(tmp_path, lambda _asked: answer(next(steps)), apps=("todo",)) as through:
        SHAPES["chat"](through).say("Question 1?")
        tools = [asked_names(asked) for asked in through.upstream.calls]
        assert tools == [["read", *OURS], ["read", *OURS], ["read", *OURS, *LATER]]
        assert re.search(r"window todo_1 closed; last state #\d+\] kept", json.dumps(through.bodies[-1]))


@pytest.mark.slow
def test_where_a_strategy_lowers_nothing_there_is_no_look(tmp_path: Path) -> None:
    """The sliding window shows items whole or not at all: the model can only bring them back."""
    with Through(tmp_path, Keeper(), window=16_000, apps=APPS) as through:
        talk = SHAPES["chat"](through)
        talk.say("Question 1?")
        with through.session() as session:
            session.configure(strategy="sliding", config={})
        through.restart()
        for number in range(2, 18):
            talk.say(f"Question {number}?")
        tools = {tuple(asked_names(asked)) for asked in through.upstream.calls}
        assert tools == {("read", *OURS), ("read", *OURS, "expand", "recall")}


@pytest.mark.parametrize("wire", TALKERS)
def test_without_apps_nothing_changes(wire: str, tmp_path: Path) -> None:
    """Requests go up byte for byte; so do those without tools, such as for a title, if there are apps."""
    with Through(tmp_path, lambda asked: answer("Fine."), apps=()) as through:
        talk = Talk(through, wire)
        talk.say("Hello")
        assert through.upstream.calls[-1].raw == json.dumps(talk.body() | {LISTS[wire]: talk.list[:1]}).encode()
    with Through(tmp_path / "apps", lambda asked: answer("Fine."), apps=APPS) as through:
        talk = Talk(through, wire, tools=[])
        talk.say("Hello")
        assert through.upstream.calls[-1].raw == json.dumps(talk.body() | {LISTS[wire]: talk.list[:1]}).encode()
        assert through.upstream.invalid == []


def test_text_stays_text(tmp_path: Path) -> None:
    """A model that has no tools cannot act by its text: nothing that it quotes is carried out."""
    quoted = '<tool_call>{"name": "create", "arguments": {"name": "todo"}}</tool_call>'
    with Through(tmp_path, lambda asked: answer(quoted), apps=APPS) as through:
        talk = Talk(through, "chat", tools=[])
        assert talk.say("Hello") == quoted
        with through.session() as session:
            assert session.windows.live() == []


@pytest.mark.parametrize("wire", TALKERS)
def test_a_mixed_answer(wire: str, tmp_path: Path) -> None:
    """The client carries out its own call and never sees ours; the next request shows the window after both."""
    steps = [answer("Both.", act("add", text="milk"), call("read", {"path": "own"})), answer("Done.")]
    with Through(tmp_path, steps, apps=APPS) as through:
        talk = Talk(through, wire)
        assert talk.say("Go on.") == "Done."
        assert len(through.bodies) == 2
        assert "milk" in windows_in(wire, through.bodies[-1])[-1]
        assert "own line" in str(through.bodies[-1])
        assert through.upstream.invalid == []


def test_a_closed_window_stays_closed(tmp_path: Path) -> None:
    """The model may close what it does not need, and open it again; a restart changes nothing of that."""
    steps = [
        answer(act("close", "notebook_1", summary="not needed")), answer("One."),
        answer("Two."),
        answer(call("create", {"name": "notebook"})), answer("Three."),
    ]  # fmt: skip
    with Through(tmp_path, steps, apps=APPS) as through:
        talk = Talk(through, "anthropic")
        talk.say("First?")
        through.restart()
        talk.say("Second?")
        assert len(windows_in("anthropic", through.bodies[-1])) == 1
        talk.say("Third?")
        assert len(windows_in("anthropic", through.bodies[-1])) == 2
        assert through.upstream.invalid == []


def test_many_rounds_in_windows(tmp_path: Path) -> None:
    """A model that fills a list item by item is not cut off after the few rounds that reading again may take."""
    steps = [*(answer(act("add", text=f"item {number}")) for number in range(20)), answer("All there.")]
    with Through(tmp_path, steps, apps=("todo",)) as through:
        assert Talk(through, "anthropic").say("Plan it.") == "All there."
        assert all(f"item {number}" in windows_in("anthropic", through.bodies[-1])[0] for number in range(20))


def test_a_tool_of_the_agent_with_the_same_name(tmp_path: Path) -> None:
    """It stays the agent's: then there are no windows, and everything else is as it was."""
    tool = TOOLS["anthropic"] | {"name": "create"}
    with Through(tmp_path, [answer(call("create", {"path": "own"})), answer("Done.")], apps=APPS) as through:
        assert Talk(through, "anthropic", tools=[tool]).say("Go on.") == "Done."
        assert "own line" in str(through.bodies[-1])
        assert "<Window" not in str(through.bodies)
        assert through.upstream.invalid == []


def test_two_clients_of_one_conversation(tmp_path: Path) -> None:
    """Both begin alike and go on apart: each has its own list from there on, and both are valid."""
    with Through(tmp_path, lambda asked: _by_question(asked), apps=("todo",)) as through:
        one, other = Talk(through, "anthropic"), Talk(through, "anthropic")
        for talk in (one, other):
            talk.say("add shared")
        for talk, item in ((one, "milk"), (other, "bread"), (one, "eggs"), (other, "jam")):
            talk.say(f"add {item}")
        texts = ["".join(windows_in("anthropic", body)) for body in through.bodies[-4:]]
        assert [item in texts[1] for item in ("shared", "milk", "bread", "eggs", "jam")] == [
            True,
            True,
            False,
            True,
            False,
        ]
        assert [item in texts[3] for item in ("shared", "milk", "bread", "eggs", "jam")] == [
            True,
            False,
            True,
            False,
            True,
        ]
        assert len(through.names) == 1
        assert through.upstream.invalid == []


def _by_question(asked: Asked) -> Answer:
    """Add what the user asks for, unless that was the last thing done."""
    spoken = [message for message in asked.body["messages"] if "<Window" not in json.dumps(message)]
    last = json.dumps(spoken[-1]["content"])
    if "tool_result" in last:
        return answer("Added.")
    [window] = re.findall(r"todo_\d+", windows_in("anthropic", asked.body)[0])
    return answer(act("add", window, text=re.findall(r"add (\w+)", last)[-1]))


@pytest.mark.slow
def test_agents_of_a_project_share_a_notebook(tmp_path: Path) -> None:
    """Its file says so: what one agent notes, another one sees, and so do MCP clients and programs, after a restart."""
    (tmp_path / "sightline.toml").write_text('[tools]\nshared = ["notebook"]\n')
    note = act("add", "notebook", entry_id="e1", title="The port is 48913")
    steps = [answer(note), answer("Noted."), answer("It is 48913.")]
    with Through(tmp_path, steps, apps=("notebook",)) as through:
        Talk(through, "anthropic").say("Note the port.")
        through.restart()
        Talk(through, "chat").say("Which port is it?")
        assert "The port is 48913" in windows_in("chat", through.bodies[-1])[0]
        assert len(through.names) == 2
        assert through.upstream.invalid == []
    project = ProjectWindows(Places(tmp_path, root=tmp_path / "logs"), load_apps(["notebook"]))
    assert "The port is 48913" in project.show()
    project.act("notebook", "remove", {"entry_id": "e1"})
    with Session.open(tmp_path, root=tmp_path / "logs", apps=["notebook"]) as session:
        session.windows.open("notebook")
        [window] = session.windows.all()
        assert "48913" not in window.render()


def test_an_unknown_app(tmp_path: Path) -> None:
    """The server does not start, and says which apps there are."""
    with pytest.raises(UnknownApp, match="no app 'tudo'; installed are: todo, notebook, editor"):
        Config(folder=tmp_path, apps=("tudo",))


@pytest.mark.slow
def test_a_killed_proxy(tmp_path: Path) -> None:
    """The list is in the log before the client has its answer: the next process shows it."""
    with Upstream(Keeper()) as upstream, ServeProcess(tmp_path, upstream, "--apps", "todo") as serving:
        talk = _RemoteTalk(serving)
        for number in range(1, 4):
            talk.say(f"Question {number}?")
            serving.signal(9)
            serving.wait()
            serving.start()
        talk.say("Question 4?")
        assert upstream.invalid == []
        [todo] = windows_in("anthropic", upstream.calls[-1].body)
        assert all(f"task {number} of the plan" in todo for number in range(1, 5))


class _RemoteTalk(Talk):
    """A conversation with a server of its own process."""

    def __init__(self, serving: ServeProcess) -> None:
        super().__init__(self, "anthropic")  # type: ignore[arg-type]
        self._serving = serving

    def post(self, wire: str, body: Json, **headers: str) -> Any:
        import httpx2

        told = HEADERS[wire] | headers
        return httpx2.post(self._serving.url + PATHS[wire], json=body, headers=told, timeout=60, trust_env=False)


# ---------------------------------------------------------------------- what it costs

PRICES = {"written": 1.25, "read": 0.1, "made": 5.0}  # of a token, in tokens of input: Anthropic's


def cost_of(upstream: Upstream) -> float:
    """What all calls cost, in input tokens that are not cached."""
    bills = [asked.bill for asked in upstream.calls if asked.bill]
    return sum(
        bill.given - bill.read - bill.written + PRICES["written"] * bill.written + PRICES["read"] * bill.read
        + PRICES["made"] * bill.made
        for bill in bills
    )  # fmt: skip


class Planner:
    """Changes a list at every call: first it adds items, then it marks one after the other as done.

    kind: the list is in a "window", in the "results" of a tool, or, as coding agents have it, the "whole" list is in
    every call of a tool.
    """

    def __init__(self, kind: str, changes: int, items: int = 12) -> None:
        self.kind, self.changes, self.items, self.done = kind, changes, items, 0
        self.list: list[tuple[str, bool]] = []

    def __call__(self, asked: Asked) -> Answer:
        """The next change."""
        if self.done == self.changes:
            return answer("Done.")
        self.done += 1
        text, at = f"task {self.done} of the plan", (self.done - 1) % self.items
        adds = self.done <= self.items
        self.list[at : at + 1] = [(text, False) if adds else (self.list[at][0], not self.list[at][1])]
        if self.kind == "whole":
            words = {True: "completed", False: "pending"}
            return answer(
                call("todo", {"todos": [{"content": item, "status": words[done]} for item, done in self.list]})
            )
        if self.kind == "results":
            return answer(call("todo", {"add": text} if adds else {"toggle": at + 1}))
        return answer(act("add", text=text) if adds else act("toggle", index=at + 1))

    def result(self, _path: str) -> str:
        """What the client's tool answers."""
        lines = [f"{number}. [{'x' if done else ' '}] {item}" for number, (item, done) in enumerate(self.list, 1)]
        return "Todos have been modified." if self.kind == "whole" else "\n".join(lines)


def measure(kind: str, changes: int, folder: Path) -> float:
    """What a list costs that is changed so often, kept in this way by a conversation in the shape of Claude Code's."""
    planner = Planner(kind, changes)
    properties = {"add": {"type": "string"}, "toggle": {"type": "integer"}, "todos": {"type": "array"}}
    schema = {"type": "object", "properties": properties}
    tool = {"name": "todo", "description": "Keep the list. Gives the whole list.", "input_schema": schema}
    apps, tools = (("todo",), []) if kind == "window" else ((), [tool])
    with Through(folder, planner, apps=apps) as through:
        talk = SHAPES["claude"](through, tools=[TOOLS["anthropic"], *tools], thinking={"type": "disabled"})
        talk.read = planner.result
        while planner.done < changes:
            talk.say("Go on.")
        assert through.upstream.invalid == []
        return cost_of(through.upstream)


@pytest.mark.slow
def test_a_list_in_a_window_costs_less_than_in_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each result with the list stays in the history and is read again at every call; a window is as it is now."""
    costs = {
        changes: {
            kind: measure(kind, changes, tmp_path / f"{kind}{changes}") for kind in ("window", "results", "whole")
        }
        for changes in (40, 60, 120)
    }
    with capsys.disabled():
        for changes, by_kind in costs.items():
            told = ", ".join(f"{kind} {cost:,.0f}" for kind, cost in by_kind.items())
            print(f"\na list of 12 items, changed {changes} times, in input tokens: {told}", end="")
    assert all(by_kind["window"] < by_kind["whole"] for by_kind in costs.values())
    assert all(by_kind["window"] < by_kind["results"] for by_kind in costs.values())
