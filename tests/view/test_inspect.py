"""What an inspector needs of a session: looking without writing, items, compactions, receipts, the transcript."""

from pathlib import Path

import pytest

from sightline import BadInput, Budget, Session, UnknownItem
from sightline.log.stores.session_folder import Folder
from sightline.testing import MemoryStore, Ticking, numbered_ids
from sightline.values.items import Kind

BUDGET = Budget(16_000, 1_000)
RULE = "Never change the file config.py."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one session: a rule, twenty turns, and one payload."""
    with Session.new(
        "/shop", root=tmp_path, session_id="one", clock=Ticking(), ids=numbered_ids(), apps=["todo"]
    ) as session:
        session.system("Be brief.")
        session.user(f"Build the shop. {RULE}")
        session.windows.open("todo")
        for number in range(20):
            session.assistant(f"step {number}: " + "the shop has one more page now, and its test passes. " * 8)
            session.user(f"go on with step {number + 1}")
        session.compose(BUDGET)
    return tmp_path


def files(root: Path) -> dict[str, bytes]:
    """Every file of the project's sessions."""
    return {path.name: path.read_bytes() for path in Folder("/shop", root).path.iterdir()}


def test_inspecting_a_session_writes_nothing(root: Path) -> None:
    """Not even beside the log, whatever is looked at."""
    Folder("/shop", root).file("one").with_suffix(".idx").unlink()
    before = files(root)
    with Session.inspect("one", "/shop", root=root) as session:
        payload = session.preview(session.budget or BUDGET)
        assert len(session.items.table()) == len(session.items) == 43
        assert list(session.summaries) == []
        assert session.transcript().body
        assert [verified.good for verified in session.receipts.verify()] == [True]
    assert files(root) == before
    assert "todo_1" in payload.shown_windows  # as it was sent: no app runs here


def test_the_table_says_kind_and_tokens_without_the_text(root: Path) -> None:
    """Pins, messages of the program, and the window that an item refers to are known too."""
    with Session.resume("one", "/shop", root=root) as session:
        noted = session.note("the build is green")
        [first, *_] = [item for item in session.items if item.kind is Kind.USER]
        session.items.pin(first.id)
        table = {info.id: info for info in session.items.table()}
        assert list(table) == [item.id for item in session.items]
        assert all(table[item.id].kind is item.kind for item in session.items)
        assert (table[noted].by_program, table[first.id].by_program) == (True, False)
        assert [info.id for info in table.values() if info.pinned] == [first.id]
        assert [info.window for info in table.values() if info.kind is Kind.WINDOW] == ["todo_1"]
        assert session.items.info(first.id) == table[first.id]
        assert table[first.id].full == session.count(session.items.text(first.id))
        with pytest.raises(UnknownItem):
            session.items.info("4711")


def test_the_users_rules_are_listed_word_for_word(root: Path) -> None:
    """With the message that set them."""
    with Session.inspect("one", "/shop", root=root) as session:
        [rule] = session.items.constraints()
        assert rule.text == RULE
        assert RULE in session.items.text(rule.id)


def test_compactions_say_what_they_cover_and_whether_they_hold(root: Path) -> None:
    """An item is covered by one at most, and what was lost is there for each."""
    with Session.resume("one", "/shop", root=root) as session:
        made = session.summaries.compact(BUDGET)
        [info] = session.summaries
        assert (info.boundary, info.state, info.by_rule, info.trigger) == (made.boundary, "holds", True, "manual")
        assert (info.first, info.last, info.messages) == (*made.covered, made.messages)
        assert "\n\n".join(map(session.items.text, info.summaries)).startswith(made.summary)
        assert session.summaries.covering(info.first) == info
        assert session.summaries.covering(session.user("thank you")) is None
        assert session.summaries.losses() == {made.boundary: made.loss}
        session.summaries.undo()
        assert [each.state for each in session.summaries] == ["undone"]
        assert session.summaries.covering(info.first) is None


def test_receipts_are_those_of_the_branch_newest_first(root: Path) -> None:
    """Their number counts all branches."""
    with Session.resume("one", "/shop", root=root) as session:
        session.compose(BUDGET)
        assert [receipt.number for receipt in session.receipts] == [2, 1]
        assert len(session.receipts) == 2
        assert next(iter(session.receipts)) == session.receipt


def test_a_transcript_is_everything_in_full(root: Path) -> None:
    """What was said, also where a summary hides it; not the summary, nor the engine's tools."""
    with Session.resume("one", "/shop", root=root) as session:
        session.tools([])
        said = [item.id for item in session.items if item.kind in (Kind.USER, Kind.ASSISTANT)]
        session.summaries.compact(BUDGET)
        whole = session.transcript()
        assert [message.id for message in whole.body] == said
        assert (len(whole.system), whole.tools) == (1, ())


def test_an_annotation_of_the_program_changes_nothing_and_stays(root: Path) -> None:
    """Its name must not be one that Sightline gives a meaning."""
    session = Session(MemoryStore("one"))
    session.user("hello")
    before = session.preview(BUDGET).hash
    session.annotate("reviewed", {"by": "Ada"})
    assert (session.preview(BUDGET).hash, session.size) == (before, 3)
    for name, value in (("receipt", 1), ("reviewed", object())):
        with pytest.raises(BadInput):
            session.annotate(name, value)
