"""All five documents in one session: one prompt holds what each of them is about."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sightline.agent.agent import Agent
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.files.read import file_reader
from sightline.apps import App, AppWindow
from sightline.apps.builtin.notebook import Notebook
from sightline.apps.builtin.todo import Todo
from sightline.compose.verify import verify
from sightline.documents.code.store import CodeStore
from sightline.documents.saved_code import SavedCode
from sightline.session.session import Session
from sightline.testing import ScriptedModel, Ticking, calling, numbered_ids
from sightline.values.settings import Settings

pytestmark = pytest.mark.slow

SOURCE = "def load_data(path):\n    return open(path).read()\n\n\ndef clean_data(rows):\n" + "".join(
    f"    rows = rows[{n}:]  # step-{n}-of-cleaning\n" for n in range(120)
)
MARKER = "step-77-of-cleaning"


class Life(NamedTuple):
    """What a session left behind: the prompt it sent last, and its log."""

    session: Session
    prompt: dict[str, Any]
    text: str
    log: str


def opened(folder: Path, clock: Ticking) -> Session:
    """The session of this folder: new, or as it was left."""
    options: dict[str, Any] = {"apps": [Todo, Notebook], "clock": clock, "ids": numbered_ids()}
    settings = Settings(strategy="rounds")
    return Session.open(folder / "shop", root=folder / "logs", settings=settings, **options)


def agent_on(session: Session, folder: Path, lines: list[Any]) -> tuple[Agent, ScriptedModel]:
    """An agent with files and code, whose model says these lines."""
    model = ScriptedModel(lines, window=30_000, output=1_000, capable=False)
    store = CodeStore(folder / "codes", clock=Ticking())
    tools = [file_reader(Folders([folder / "shop"]), store)]
    return Agent(session, model, tools=tools, extension=SavedCode(store, session), ids=numbered_ids("call")), model


def window_of(session: Session, app: type[App]) -> AppWindow:
    """The open window of an app."""
    [found] = [window for window in session.windows.all() if isinstance(window.app, app)]
    return found


def said_by(prompt: dict[str, Any], role: str) -> list[str]:
    """What stands in the messages of a role, part by part."""
    messages = [message for message in prompt["messages"] if message["role"] == role]
    contents = [message["content"] or () for message in messages]
    return [
        text for said in contents for text in ([said] if isinstance(said, str) else (part["text"] for part in said))
    ]


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """Windows and a document, ten questions, a compaction, a file read, a restart, and one question more."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "sales_analysis.py").write_text(SOURCE)
    clock = Ticking()

    async def before() -> None:
        with opened(tmp_path, clock) as session:
            todo, notes = session.windows.open("todo"), session.windows.open("notebook")
            session.windows.act(todo, "add", text="count the tea boxes")
            session.windows.act(
                notes, "add", entry_id="region", title="Best region", content="It was the north, by 4711 boxes."
            )
            talk = [f"Answer {n}: noted." for n in range(8)]
            reading = [calling(("file_reader", {"path": "sales_analysis.py"})), "It has two functions."]
            agent, _ = agent_on(session, tmp_path, [*talk, *reading])
            for n in range(8):
                await agent.query(f"Question {n}: remember order A-{n:04}. " + "Details follow. " * 40)
            compacted = await agent.compact()
            assert compacted.messages > 0
            await agent.query("Read sales_analysis.py")

    asyncio.run(before())
    with opened(tmp_path, clock) as session:
        assert session.windows.act(window_of(session, Todo).id, "add", text="added after the restart").success
        assert session.windows.act(window_of(session, Notebook).id, "unfold-region").success
        agent, model = agent_on(session, tmp_path, ["Yes."])
        asyncio.run(agent.query("Which functions were there?"))
        prompt = model.asked[0]
        [log] = (tmp_path / "logs").rglob("*.jsonl")
        yield Life(session, prompt, json.dumps(prompt, ensure_ascii=False), log.read_text())


@pytest.mark.accepts(362)
def test_one_prompt_holds_all_five(life: Life) -> None:
    """Live windows, a document with anchors, a strategy's choice, a summary kept on disk, and a file as its gist."""
    assert "added after the restart" in life.text  # a window, as it is now
    assert "4711 boxes" in life.text  # a document
    assert '<entry id=\\"region\\" lod=\\"full\\" actions=\\"fold, summary\\">' in life.text  # its anchors
    assert {"region", "fold-region", "summary-region"} <= set(window_of(life.session, Notebook).context().anchors)
    assert life.session.settings.strategy == "rounds"
    assert "[summary of the conversation" in life.text
    assert "Answer 0: noted." not in said_by(life.prompt, "assistant")
    assert "Answer 7: noted." in said_by(life.prompt, "assistant")
    assert "[file read] sales_analysis.py (python, 125 lines, functions: load_data, clean_data)" in life.text
    assert MARKER not in life.text
    assert "Which functions were there?" in said_by(life.prompt, "user")


@pytest.mark.accepts(362)
def test_its_log_holds_everything_and_no_window_text(life: Life) -> None:
    """What was left out or shortened is in the log word for word; what windows show is made anew, never stored."""
    assert MARKER in life.log
    assert "Question 0: remember order A-0000." in life.log
    assert "<Window" not in life.log
    assert all(made.good for made in verify(life.session.log))


@pytest.mark.accepts(362)
def test_its_calls_have_their_results(life: Life) -> None:
    """After compaction, gists and a restart every result follows its call, and the limit holds."""
    waiting: set[str] = set()
    for message in life.prompt["messages"]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting
            waiting = {call["id"] for call in message.get("tool_calls") or ()}
    assert not waiting
    assert life.session.receipt is not None
    assert life.session.receipt.tokens <= life.session.receipt.limit
