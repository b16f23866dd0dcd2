"""Columns over a log: rows, units, branches and what is said about them."""

import pytest
from msgspec.structs import replace

from sightline.log.columns import FAILED, HEAD, NONE, OBSOLETE, OPAQUE, UNMADE, Timeline, last_use, pinned_rows
from sightline.log.fold import GrowingTimeline, guess_least
from sightline.log.stores import Span
from sightline.session.session import Session
from sightline.shorten import Purpose
from sightline.shorten.call_subject import NO_EFFECT
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Kind, Lod


@pytest.fixture
def session() -> Session:
    return Session(MemoryStore("t"), token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())


def timeline(session: Session) -> Timeline:
    return session.log.timeline


def words(count: int) -> str:
    return " ".join(f"word{n}" for n in range(count))


def kinds(session: Session) -> list[str]:
    return [Kind(kind).name for kind in timeline(session).kind]


def test_one_row_per_item_one_unit_per_message(session: Session) -> None:
    """A call has a row of its own and belongs, with its result, to the unit of the message that made it."""
    session.user("look")
    session.assistant([Call("a", "read", {}), Call("b", "read", {})])
    session.tool_result("b", "second")
    session.tool_result("a", "first")
    session.user("thanks")
    assert kinds(session) == ["USER", "ASSISTANT", "CALL", "CALL", "RESULT", "RESULT", "USER"]
    assert list(timeline(session).unit) == [0, 1, 1, 1, 1, 1, 2]
    assert [timeline(session).id(row) for row in timeline(session).rows_of(1)] == ["3", "3.1", "3.2", "5", "4"]


def test_rows_have_the_time_of_their_entry() -> None:
    """Those of one message have the same; of a time that nobody can read nothing is known."""
    clock = Ticking(start=1_700_000_000_000, step=0)
    session = Session(MemoryStore("t"), clock=clock)
    session.user("look")
    clock.wait(1.5)
    session.assistant([Call("a", "read", {})])
    assert list(timeline(session).time) == [1_700_000_000_000, 1_700_000_001_500, 1_700_000_001_500]
    entry = session.log.reader.entry(0)
    for written, milliseconds in (("yesterday", NONE), ("2023-11-14T22:13:20", 1_700_000_000_000)):
        other = GrowingTimeline(measure=lambda _: [1], effect_of=lambda _: NO_EFFECT)
        other.fold(replace(entry, timestamp=written), Span(0, 1))
        assert list(other.time) == [milliseconds]


def test_ids_are_found_in_every_form_they_are_shown_in(session: Session) -> None:
    """412, #412 and 412.2 name rows; anything else names none, however long it is."""
    session.user("look")
    session.assistant([Call("a", "read", {})])
    rows = timeline(session)
    assert [rows.row(name) for name in ("2", "#2", "3", "3.1", "#3.1")] == [0, 0, 1, 2, 2]
    for name in ("", "#", "1", "4", "3.2", "2.1", "x", "²", "-2", "2.", "9" * 5_000, "2." + "9" * 5_000):
        assert rows.row(name) in (None, 0) if name == "2." else rows.row(name) is None


def test_sizes_are_those_of_the_three_levels(session: Session) -> None:
    """What the user says in under 200 tokens has no lower level; asking for one gives the next richer one there is."""
    session.user(words(100))
    session.user(words(1_000))
    rows = timeline(session)
    assert (rows.gist[0], rows.summary[0], rows.full[0]) == (UNMADE, UNMADE, 100)
    assert (rows.short_size(0, Lod.GIST), rows.short_size(0, Lod.SUMMARY)) == (-1, -1)
    assert rows.size(0, Lod.GIST) == 100
    assert rows.level(0, Lod.GIST) is Lod.FULL
    assert 0 < rows.size(1, Lod.GIST) < rows.size(1, Lod.SUMMARY) < rows.size(1, Lod.FULL) == 1_000


def test_unit_columns_add_up_the_rows(session: Session) -> None:
    """What a whole unit costs in full and at least is known without looking at its rows."""
    session.assistant([Call("a", "read", {"path": "x"})])
    session.tool_result("a", words(1_000))
    rows = timeline(session)
    assert rows.unit_rows[0] == 3
    assert rows.unit_full[0] == sum(rows.full)
    assert rows.unit_least[0] == sum(map(guess_least, map(Kind, rows.kind), rows.full))
    assert rows.gist[2] == UNMADE


def test_a_result_pairs_with_the_nearest_open_call_of_its_id(session: Session) -> None:
    """An id that is used again belongs to the newer message; within one message calls are answered in order."""
    session.assistant([Call("a", "read", {"n": 1})])
    session.assistant([Call("a", "read", {"n": 2}), Call("a", "read", {"n": 3})])
    for text in ("for two", "for three", "for one"):
        session.tool_result("a", text)
    rows = timeline(session)
    answers = [
        session.items.text(rows.id(rows.partner[row])) for row in range(len(rows)) if rows.kind[row] == Kind.CALL
    ]
    assert answers == ["for one", "for two", "for three"]


def test_state_bits_say_what_is_known_of_a_row(session: Session) -> None:
    """Head, failure, opaque parts and closed windows are marked."""
    from sightline.values.items import Opaque

    session.system("be kind")
    session.assistant([Opaque("anthropic", "thinking", {"type": "thinking"}), Call("a", "read", {})])
    session.tool_result("a", "no such file", error=True)
    session.windows.show("w")
    session.windows.close("w")
    state = list(timeline(session).state)
    assert [state[0] & HEAD, state[1] & OPAQUE, state[2] & OPAQUE, state[3] & FAILED, state[4] & OBSOLETE] == [
        HEAD, OPAQUE, OPAQUE, FAILED, OBSOLETE,
    ]  # fmt: skip


def test_the_last_use_of_a_subject(session: Session) -> None:
    """The newest result about the same file, for its call and its earlier results."""
    for call_id, path in (("a", "x.py"), ("b", "y.py"), ("c", "x.py")):
        session.assistant([Call(call_id, "read_file", {"path": path})])
        session.tool_result(call_id, f"text of {path}")
    rows = timeline(session)
    results = [row for row in range(len(rows)) if rows.kind[row] == Kind.RESULT]
    assert [last_use(rows, row, session.log.path) for row in results] == [results[2], results[1], results[2]]


def used(session: Session, tool: str, **arguments: object) -> int:
    """Have a tool called and answered. Return the row of the result."""
    call_id = str(len(session.items))
    session.assistant([Call(call_id, tool, arguments)])
    session.tool_result(call_id, "text")
    return len(timeline(session)) - 1


def test_a_file_that_several_tools_use_is_one_subject(session: Session) -> None:
    """A command that shows several files, a patch of one of them, and an absolute path of the other."""
    both = used(session, "exec_command", cmd="sed -n '1,9p' a.py && cat b.py", workdir="/w/src")
    other = used(session, "bash", command="cat c.py")
    patch = used(session, "apply_patch", input="*** Begin Patch\n*** Update File: src/b.py\n+x\n*** End Patch")
    rows, path = timeline(session), session.log.path
    assert [last_use(rows, row, path) for row in (both, other, patch)] == [patch, other, patch]
    assert last_use(rows, rows.partner[both], path) == patch
    read = used(session, "Read", file_path="/w/src/a.py")
    assert [last_use(rows, row, path) for row in (both, other, patch)] == [read, other, patch]
    assert [rows.subjects[each] for each in rows.subjects_at(both)] == ["/w/src/a.py", "/w/src/b.py"]


def test_the_last_use_of_further_subjects_on_a_branch(session: Session) -> None:
    """What another branch did with a file is no use of it on this one."""
    first = used(session, "bash", command="cat a.py b.py")
    other = session.fork(session.log.timeline.id(first))
    elsewhere = used(session, "bash", command="cat c.py b.py")
    rows = timeline(session)
    assert last_use(rows, first, session.log.path) == elsewhere
    assert last_use(rows, first, other.log.path) == first


def test_a_call_that_writes_a_file_and_its_result_have_purposes_of_their_own(session: Session) -> None:
    """The text of the file stands in the call; the result is what the command printed."""
    row = used(session, "bash", command="cat > a.py <<'EOF'\nx\nEOF\npython a.py")
    rows = timeline(session)
    assert (rows.purpose[rows.partner[row]], rows.purpose[row]) == (Purpose.WRITE, Purpose.COMMAND)


def test_a_branch_shares_its_parents_rows_up_to_where_it_left(session: Session) -> None:
    """Rows after the fork belong to the branch they were written on; earlier ones to both."""
    first = session.user("one")
    session.user("two")
    other = session.fork(first)
    other.user("another two")
    session.user("three")
    assert [session.items.text(item.id) for item in session.items] == ["one", "two", "three"]
    assert [other.items.text(item.id) for item in other.items] == ["one", "another two"]


def test_marks_hold_on_branches_that_contain_them(session: Session) -> None:
    """A pin set before a fork holds on both branches; one set after it only where it was set."""
    first = session.user("one")
    session.items.pin(first)
    second = session.user("two")
    other = session.fork(second)
    other.user("three")
    other.items.pin(second)
    for each, pinned in ((session, {0}), (other, {0, 1})):
        each.refresh()
        assert pinned_rows(timeline(each).marked(each.log.path)) == pinned
