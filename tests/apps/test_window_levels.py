"""How much a window shows, and how it is written, is set for each window: by the host, the user and the model."""

from pathlib import Path

import pytest

from sightline import Budget, MemoryStore, Refused, Session, Settings
from sightline.apps import App, Element, Lod, action
from sightline.apps.calls import ACTION, is_ours
from sightline.compose.verify import verify
from sightline.errors import BadInput
from sightline.testing import WordCounter
from sightline.values.items import Call, Message, Role, ToolDefinition, plain_text

BUDGET = Budget(20_000)


class Board(App):
    """A board to pin notes on."""

    name = "board"
    notes: list[str]

    def __init__(self) -> None:
        self.notes = []

    @action(label="Pin a note")
    def add(self, text: str, place: int | None = None) -> str:
        self.notes.append(text)
        return f"pinned {text} at {place}"

    @action(label="Write over a note")
    def write(self, note: str, text: str, bold: bool = False) -> str:
        return f"{note}: {text} {bold}"

    def view(self, lod: Lod) -> list[Element]:
        if lod is Lod.GIST:
            return [Element(text=f"{len(self.notes)} notes")]
        return [Element(id=f"n{number}", text=note, actions=("write",)) for number, note in enumerate(self.notes)]


@pytest.fixture
def session() -> Session:
    session = Session(MemoryStore(), token_counter=WordCounter(), apps=[Board])
    session.tools([*session.windows.tools()])
    session.user("Pin my notes.")
    session.windows.open("board")
    session.windows.act("board_1", "add", text="milk")
    return session


def tail(session: Session) -> str:
    return "\n".join(plain_text(message.parts) for message in session.compose(BUDGET).tail)


def set_level(session: Session, level: str, window_id: str = "board_1") -> str:
    """The model sets the level of a window. Return the answer."""
    arguments = {"window_id": window_id, "action_id": "lod", "params": {"level": level}}
    session.add(Message(Role.ASSISTANT, (Call(f"c{session.size}", "action", arguments),)))
    assert not session.answer_own_calls()
    return plain_text(session.answered[-1].result.parts)


def test_the_model_sets_the_level_of_a_window(session: Session) -> None:
    """Also `out`, with which the window stays open and only a line names it. The prefix stays as it was."""
    before = session.compose(BUDGET)
    assert "milk" in tail(session)
    assert set_level(session, "gist") == "window board_1: lod gist"
    assert "1 notes" in tail(session)
    set_level(session, "out")
    assert "milk" not in tail(session)
    assert "board_1" in tail(session)
    assert session.windows.act("board_1", "add", text="bread").success
    assert "bread" not in tail(session)
    set_level(session, "full")
    assert "bread" in tail(session)
    after = session.compose(BUDGET)
    assert after.chain[: len(before.chain)] == before.chain[:]
    assert session.receipt is not None
    assert not session.receipt.reason
    assert is_verified(session)


@pytest.mark.parametrize("by", ["host", "user"])
def test_what_host_or_user_set_the_model_cannot_change(session: Session, by: str) -> None:
    """Until it is set as by the model."""
    session.windows.lod("board_1", "gist", by=by)  # type: ignore[arg-type]
    assert "stays as it is" in set_level(session, "full")
    assert "1 notes" in tail(session)
    with pytest.raises(Refused, match="stays as it is"):
        session.windows.lod("board_1", Lod.FULL, by="model")
    session.windows.act("board_1", "lod", level="full")  # the host's own action
    assert "milk" in tail(session)
    session.windows.lod("board_1", "gist", holds=False)
    assert set_level(session, "full") == "window board_1: lod full"


def test_a_pinned_window_is_not_put_away_by_the_model(session: Session) -> None:
    """The host pinned it."""
    window_id = session.windows.open("board", pinned=True)
    assert "stays as it is" in set_level(session, "out", window_id)


def test_a_level_outlives_the_program(tmp_path: Path) -> None:
    """Who set it, too."""
    with Session.new(root=tmp_path, session_id="s", apps=[Board]) as session:
        session.windows.open("board")
        session.windows.lod("board_1", "out")
    with Session.resume("s", root=tmp_path, apps=[Board]) as session:
        session.user("Go on.")
        assert "<Window id" not in tail(session)
        assert "stays as it is" in set_level(session, "full")


@pytest.mark.parametrize(("params", "why"), [
    ({"level": "huge"}, "must be gist|summary|full|out"), ({}, "missing required parameter: level"),
])  # fmt: skip
def test_a_wrong_level_is_answered_with_those_there_are(session: Session, params: dict[str, str], why: str) -> None:
    """As every wrong parameter is; the method raises."""
    outcome = session.windows.act("board_1", "lod", **params)
    assert not outcome.success
    assert why in outcome.message
    with pytest.raises(BadInput, match="gist, summary, full, out"):
        session.windows.lod("board_1", "huge")


def test_one_window_is_written_in_markdown(session: Session) -> None:
    """Beside others in XML; its forms say the types of their parameters, and which may be left out."""
    session.windows.open("board", form="markdown")
    session.windows.act("board_2", "add", text="bread")
    shown = tail(session)
    assert '<Window id="board_1">' in shown
    assert "[form:add text= place=] (text:string, place:int?)" in shown
    assert "[form:write text=] (text:string, bold:bool?)" in shown
    session.windows.show_as("en", "markdown", window_id="board_1")
    assert "<Window" not in tail(session)
    session.windows.act("board_1", "form", form="xml")
    assert '<Window id="board_1">' in tail(session)
    with pytest.raises(BadInput, match="xml, markdown"):
        session.windows.show_as("en", "html", window_id="board_1")


def test_an_apps_own_action_goes_before_a_setting() -> None:
    """An app that had an action of this name before keeps it."""

    class Zoom(Board):
        """Zoom into a board."""

        name = "zoom"

        @action(label="Zoom")
        def lod(self, level: str) -> str:
            return f"zoomed to {level}"

    session = Session(MemoryStore(), apps=[Zoom])
    assert session.windows.act(session.windows.open("zoom"), "lod", level="9x").message == "zoomed to 9x"


def test_the_line_of_what_is_out_is_chinese_too() -> None:
    """In a Chinese session."""
    session = Session(MemoryStore(), apps=[Board], settings=Settings(locale="zh"))
    session.user("你好")
    session.windows.open("board")
    session.windows.lod("board_1", "out")
    assert "已收起：board_1" in tail(session)


def test_the_tool_of_an_earlier_version_is_still_ours() -> None:
    """A log that has its definition goes on being answered."""
    earlier = "Do something in an open window: one of the actions it lists, with the parameters it names."
    assert is_ours(ToolDefinition("action", earlier, ACTION.schema))
    assert not is_ours(ToolDefinition("action", "Act in a film.", ACTION.schema))


def is_verified(session: Session) -> bool:
    """Whether the session sent something, and all of it still follows from its log."""
    payloads = [payload.good for payload in verify(session.log)]
    return bool(payloads) and all(payloads)
