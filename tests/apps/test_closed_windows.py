"""A closed window leaves a line with its summary and a handle, by which it is read and gone on with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sightline import Budget, MemoryStore, Refused, Session, Settings
from sightline.apps import App, Element, Lod, Outcome, action
from sightline.compose.verify import verify
from sightline.log import entries
from sightline.log.annotations import WindowNote
from sightline.testing import WordCounter
from sightline.values.items import Call, Message, Role, plain_text

BUDGET = Budget(20_000)


class Board(App):
    """A board to pin notes on."""

    name = "board"
    notes: list[str]

    def __init__(self) -> None:
        self.notes = []

    @action(label="Pin a note")
    def add(self, text: str) -> str:
        self.notes.append(text)
        return f"pinned {text}"

    @action(label="Finish")
    def finish(self) -> Outcome:
        return Outcome(True, "finished", summary="all notes are pinned", closes=True)

    def view(self, lod: Lod) -> list[Element]:
        return [Element(id=f"n{number}", text=note, actions=("add",)) for number, note in enumerate(self.notes)]


def made(**options: object) -> Session:
    session = Session(MemoryStore(), token_counter=WordCounter(), apps=[Board], **options)  # type: ignore[arg-type]
    session.tools([*session.windows.tools()])
    session.user("Pin my notes.")
    return session


def call(session: Session, name: str, /, **arguments: object) -> str:
    """The answer to a call of the model."""
    session.add(Message(Role.ASSISTANT, (Call(f"c{session.size}", name, arguments),)))
    assert not session.answer_own_calls()
    return plain_text(session.answered[-1].result.parts)


def lines(session: Session) -> list[str]:
    """What closed windows have left in the payload."""
    messages = session.compose(BUDGET).openai()["messages"]
    return [text for text in map(_text, messages) if text.startswith(("[window", "[窗口"))]


def _text(message: dict[str, object]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content or ())  # type: ignore[attr-defined]


CLOSINGS: dict[str, tuple[Callable[[Session], object], str]] = {
    "the model": (
        lambda session: call(session, "action", window_id="board_1", action_id="close", params={"summary": "two  ok"}),
        "two ok",
    ),
    "the program": (lambda session: session.windows.close("board_1", "two\nnotes"), "two notes"),
    "the app": (lambda session: session.windows.act("board_1", "finish"), "all notes are pinned"),
    "nobody's words": (lambda session: session.windows.close("board_1"), ""),
}  # fmt: skip


@pytest.mark.parametrize("by", CLOSINGS)
def test_a_closed_window_leaves_one_line_with_its_summary(by: str) -> None:
    """Whoever closed it. The line names the handle of the window, and what is sent still follows from the log."""
    session = made()
    handle = _opened(session)
    close, summary = CLOSINGS[by]
    close(session)
    assert lines(session) == [f"[window board_1 closed; last state #{handle}] {summary}".rstrip()]
    assert is_verified(session)


def test_the_line_is_chinese_in_a_chinese_session() -> None:
    """The locale of the session decides."""
    session = made(settings=Settings(locale="zh"))
    handle = _opened(session)
    session.windows.close("board_1", "两条笔记")
    assert lines(session) == [f"[窗口 board_1 已关闭；最后状态 #{handle}] 两条笔记"]


def test_expand_shows_the_last_state_without_actions() -> None:
    """Rendered from the logged data by the app; the caller's `expand` brings it into the conversation."""
    session = made()
    handle = _opened(session)
    session.windows.close("board_1")
    text = call(session, "expand", id=f"#{handle}")
    assert "milk" in text
    assert "bread" in text
    assert 'closed="true"' in text
    assert "<Actions>" not in text
    assert "actions=" not in text
    assert "bread" in session.items.expand(handle, grep="bread")
    assert "bread" in str(session.compose(BUDGET).openai())
    assert is_verified(session)


def test_expand_shows_the_data_of_an_app_that_is_not_here(tmp_path: Path) -> None:
    """Nothing is lost because a later run has other apps."""
    with Session.new(root=tmp_path, session_id="s", apps=[Board]) as session:
        handle = _opened(session)
        session.windows.close("board_1")
    with Session.resume("s", root=tmp_path) as session:
        assert "bread" in session.items.expand(handle)


def test_a_window_goes_on_from_the_last_state_of_a_closed_one() -> None:
    """`create` offers it. The data are not written a second time, also not if it is closed and opened once more."""
    session = made()
    handle = _opened(session)
    session.windows.close("board_1", "later")
    offer = call(session, "create", name="board")
    assert f"from=#{handle}" in offer
    call(session, "create", name="board", **{"from": f"#{handle}"})
    window = session.windows.window("board_3")
    assert window is not None
    assert window.app.notes == ["milk", "bread"]  # type: ignore[attr-defined]
    again = session.windows.open("board", continues=_closed(session, "board_3"))
    opened = _notes(session)
    assert [note.origin for note in opened if note.origin] == [handle, handle]
    assert sum("bread" in str(note.state) for note in opened) == 1
    session.windows.act(again, "add", text="salt")
    session.windows.close(again)
    assert "salt" in session.items.expand(session.log.timeline.id(session.log.timeline.windows[again][-1]))


def test_a_resumed_session_goes_on_too(tmp_path: Path) -> None:
    """Everything comes from the log."""
    with Session.new(root=tmp_path, session_id="s", apps=[Board]) as session:
        handle = _opened(session)
        session.windows.close("board_1")
        session.windows.open("board", continues=handle)
    with Session.resume("s", root=tmp_path, apps=[Board]) as session:
        window = session.windows.window("board_2")
        assert window is not None
        assert window.app.notes == ["milk", "bread"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("handle", ["#9999", "#1", "board_1", "nonsense"])
def test_what_is_no_closed_window_is_refused(handle: str) -> None:
    """The answer says where handles are found."""
    session = made()
    with pytest.raises(Refused, match="no closed window"):
        session.windows.open("board", continues=handle)
    assert "no closed window" in call(session, "create", name="board", **{"from": handle})


def test_an_open_window_is_no_closed_one() -> None:
    """Two windows with the same data would only confuse."""
    session = made()
    with pytest.raises(Refused, match="no closed window"):
        session.windows.open("board", continues=_opened(session))


def test_a_call_in_text_after_a_closing_is_still_given_up(tmp_path: Path) -> None:
    """The line of a closed window is not taken for the result of a call."""
    text = (
        '<tool_call>{"name": "action", "arguments": {"window_id": "board_1", "action_id": "close"}}</tool_call>\n'
        '<tool_call>{"name": "create", "arguments": {"name": "board"}}</tool_call>'
    )
    with Session.new(root=tmp_path, session_id="s", apps=[Board]) as session:
        _opened(session)
        session.assistant(text)  # the program ends while it carries them out
        session.windows.close("board_1")
    with Session.resume("s", root=tmp_path, apps=[Board]) as session:
        session.compose(BUDGET)
        assert len(session.answered) == 2


def _opened(session: Session) -> str:
    """Open a board with two notes. Return its handle."""
    window_id = session.windows.open("board")
    for text in ("milk", "bread"):
        session.windows.act(window_id, "add", text=text)
    return session.log.timeline.id(session.log.timeline.windows[window_id][-1])


def _closed(session: Session, window_id: str) -> str:
    session.windows.close(window_id)
    return session.log.timeline.id(session.log.timeline.windows[window_id][-1])


def _notes(session: Session) -> list[WindowNote]:
    lines = [entries.decode(line.data) for line in session.log.store.scan()]
    return [entries.decode_data(line, WindowNote) for line in lines if line.subtype == entries.WINDOW]


def is_verified(session: Session) -> bool:
    """Whether the session sent something, and all of it still follows from its log."""
    payloads = [payload.good for payload in verify(session.log)]
    return bool(payloads) and all(payloads)


def test_expand_of_an_open_window_says_nothing_of_a_closing() -> None:
    """It is all of the window as it is now. Once it is closed, the same handle says so."""
    session = made()
    session.windows.open("board")
    session.windows.act("board_1", "add", text="milk")
    handle = session.log.timeline.id(session.log.timeline.windows["board_1"][-1])
    assert "milk" in session.items.expand(handle)
    assert "closed=" not in session.items.expand(handle)
    session.windows.close("board_1")
    assert 'closed="true"' in session.items.expand(handle)
