"""Undoing a compaction, and coming back to it: after a resume at any point, on a fork, after a crash."""

from collections.abc import Callable
from pathlib import Path

import pytest
from compaction_talk import ROOM, SUMMARY, Disk, new_session, says, shown, shown_ids, talk, texts, words

from sightline.compose.verify import verify
from sightline.errors import UnknownItem
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.wire.payload import Payload

SMALL = Budget(600, recall=0.0)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def good(session: Session) -> bool:
    """Every payload that was ever sent is made again from the log."""
    made = list(verify(session.log))
    return bool(made) and all(one.good for one in made)


# ------------------------------------------------------------------ undoing


def test_undoing_brings_back_every_message_byte_for_byte() -> None:
    """What fits is shown as it was, in its place; the log before is untouched; the call is a sweep by command."""
    session = new_session()
    talk(session, 10)
    before = list(session.compose(ROOM).body)
    session.summaries.compact(model=says(SUMMARY))
    session.compose(ROOM)
    lines = [*session.log.store.scan()]
    session.summaries.undo()
    assert list(session.compose(ROOM).body) == before
    assert [*session.log.store.scan()][: len(lines)] == lines
    assert session.receipt is not None
    assert (session.receipt.reason, session.receipt.changed) == ("command: uncompact", 1)
    assert good(session)


def test_undoing_near_the_limit_brings_back_as_much_as_fits() -> None:
    """The user wants to read what was there, so the sweep goes no lower than it must."""
    session = new_session()
    talk(session, 12)
    limit = int(session.items.tokens() * 0.9)
    budget = Budget(limit, recall=0.0)
    session.compose(budget)
    session.summaries.compact(model=says(SUMMARY))
    session.compose(budget)
    session.summaries.undo()
    assert 0.7 * limit < session.compose(budget).tokens <= limit


def test_undoing_the_second_brings_back_the_first() -> None:
    """One after the other, back to the beginning; then there is nothing left to undo."""
    session = new_session()
    ids = talk(session, 10)
    whole = list(session.compose(ROOM).body)
    session.summaries.compact(model=says("the first"))
    first = list(session.compose(ROOM).body)
    session.summaries.compact(model=says("the second"))
    assert texts(session.compose(ROOM))[0].endswith("the second")
    session.summaries.undo()
    assert list(session.compose(ROOM).body) == first
    session.summaries.undo()
    assert list(session.compose(ROOM).body) == whole
    with pytest.raises(UnknownItem):
        session.summaries.undo()
    assert shown_ids(session.compose(ROOM)) == ids
    assert good(session)


def test_what_was_undone_does_not_come_back_with_a_later_one() -> None:
    """A summary that no longer holds is not among what a later compaction covered and its undoing shows."""
    session = new_session()
    talk(session, 10)
    session.summaries.compact(ROOM, model=says("the first"))
    session.summaries.undo()
    talk(session, 5, first=10)
    session.compose(ROOM)
    session.summaries.compact(model=says("the second"))
    session.compose(ROOM)
    session.summaries.undo()
    body = shown(session.compose(ROOM))
    assert "the first" not in body
    assert "the second" not in body
    assert body.count("question") == 15


def test_undone_and_compacted_again_before_a_call_loses_nothing() -> None:
    """What the undone one covered and the new one does not is shown again."""
    session = new_session()
    ids = talk(session, 10)
    session.compose(ROOM)
    session.summaries.compact(model=says(SUMMARY))
    session.compose(ROOM)
    session.summaries.undo()
    done = session.summaries.compact(model=says(RuntimeError("down")))  # which retains more
    after = shown_ids(session.compose(ROOM))
    assert [item for item in after if item in ids] == ids[ids.index(done.covered[1]) + 1 :]


def test_one_item_comes_back_alone() -> None:
    """`uncompact(item)` shows it in its place behind the summary; the rest stays covered, also after later sweeps."""
    session = new_session()
    ids = talk(session, 10)
    session.compose(ROOM)
    session.summaries.compact(model=says(SUMMARY))
    session.compose(ROOM)
    session.summaries.undo(ids[4])
    after = session.compose(ROOM)
    assert shown_ids(after)[1:] == [ids[4], *ids[16:]]
    assert session.receipt is not None
    assert session.receipt.reason.startswith("command: ")
    session.items.pin(ids[6])
    assert shown_ids(session.compose(ROOM))[1:] == [ids[4], ids[6], *ids[16:]]
    session.summaries.compact(model=says("all of it"))  # asked for before: covered now
    assert ids[4] not in shown_ids(session.compose(ROOM))
    assert ids[6] in shown_ids(session.compose(ROOM))
    assert good(session)


def test_a_pin_holds_against_a_compaction_whenever_it_is_said() -> None:
    """Before, between the compaction and the call, or after: it is shown in full, and the next calls sweep no more."""
    for road in (("pin", "by rule"), ("by rule", "pin"), ("by rule", "compose", "pin"), ("compose", "pin", "by rule")):
        session = new_session()
        talk(session, 10)
        session.compose(ROOM)
        for step in road:
            STEPS[step](session)
        assert "3" in shown_ids(session.compose(ROOM))
        session.user("more")
        assert "3" in shown_ids(session.compose(ROOM))
        assert session.receipt is not None
        assert session.receipt.reason == ""


def test_a_pin_that_was_hidden_holds_against_a_compaction_before_the_next_call() -> None:
    """The item was left out when it was pinned, and covered before a call could show it."""
    session = new_session()
    ids = talk(session, 30)
    session.compose(SMALL)
    hidden = next(item for item in ids[2:] if item not in shown_ids(session.preview(SMALL)))
    session.items.pin(hidden)
    session.summaries.compact()
    assert hidden in shown_ids(session.compose(SMALL))


def test_an_item_that_is_not_there_cannot_come_back() -> None:
    """Nothing is compacted, or no such item: UnknownItem, and nothing is written."""
    session = new_session()
    talk(session, 3)
    written = [*session.log.store.scan()]
    for item in (None, "999", "nothing"):
        with pytest.raises(UnknownItem):
            session.summaries.undo(item)
    assert [*session.log.store.scan()] == written


# ------------------------------------------------------------------ coming back

STEPS: dict[str, Callable[[Session], object]] = {
    "talk": lambda session: talk(session, 2, first=len(session.items)),
    "compose": lambda session: session.compose(ROOM),
    "compact": lambda session: session.summaries.compact(ROOM, model=says(f"summary {len(session.items)}")),
    "by rule": lambda session: session.summaries.compact(ROOM),
    "failed": lambda session: session.summaries.compact(ROOM, model=says(ValueError("no"))),
    "uncompact": lambda session: session.summaries.undo(),
    "one back": lambda session: session.summaries.undo("2"),
    "pin": lambda session: session.items.pin("3"),
}
ROADS = (
    ("compact", "compose", "talk", "compose"),
    ("compose", "compact", "uncompact", "compose"),
    ("compose", "compact", "compose", "uncompact", "talk", "compose"),
    ("compose", "by rule", "compose", "by rule", "compose", "uncompact", "compose", "uncompact", "compose"),
    ("compose", "failed", "talk", "compose", "compact", "compose", "uncompact", "uncompact", "compose"),
    ("compose", "compact", "one back", "compose", "talk", "compose"),
    ("compose", "compact", "compose", "one back", "pin", "compose", "talk", "compact", "compose"),
)


@pytest.mark.parametrize("road", ROADS)
def test_a_session_resumed_after_every_step_goes_the_same_way(road: tuple[str, ...], tmp_path: Path) -> None:
    """Closed and opened again between any two steps, it sends the same payloads for the same reasons."""
    ways = []
    for resumed in (False, True):
        disk = Disk(tmp_path / str(resumed))
        session = disk.new()
        talk(session, 10)
        seen: list[tuple[str, str]] = []
        for step in road:
            if resumed:
                session.close()
                session = disk.opened()
            done = STEPS[step](session)
            if isinstance(done, Payload):
                assert session.receipt is not None
                seen.append((done.hash, session.receipt.reason))
        assert good(session)
        session.close()
        ways.append(seen)
    assert ways[0] == ways[1]


# ------------------------------------------------------------------ forks


def test_a_fork_from_before_a_compaction_is_not_compacted(disk: Disk) -> None:
    """Also from the very last item before it; from the summary on it is."""
    session = disk.new()
    ids = talk(session, 10)
    whole = list(session.compose(ROOM).body)
    session.summaries.compact(model=says(SUMMARY))
    [summary] = [item.id for item in session.items if item.id not in ids]
    for item, count in ((ids[9], 10), (ids[19], 20)):
        fork = session.fork(item)
        assert list(fork.compose(ROOM).body) == whole[:count]
        fork.close()
        again = disk.opened(fork.branch)
        assert list(again.compose(ROOM).body) == whole[:count]
        again.close()
    fork = session.fork(summary)
    assert texts(fork.compose(ROOM))[0].endswith(SUMMARY)
    assert shown_ids(session.compose(ROOM)) == shown_ids(fork.compose(ROOM))
    assert good(session)
    fork.close()
    session.close()


def test_a_fork_may_keep_the_summaries_that_cover_only_what_it_shares(disk: Disk) -> None:
    """Also those made after the item; of several the widest that fits; none that was undone. It is in its own log."""
    session = disk.new()
    ids = talk(session, 10)
    session.compose(ROOM)
    first = session.summaries.compact(model=says("the first summary")).covered[1]
    session.compose(ROOM)
    ids += talk(session, 6)
    session.compose(ROOM)
    second = session.summaries.compact(model=says("the second summary")).covered[1]
    ends = [ids[ids.index(first) - 1], first, ids[ids.index(second) - 1], second, ids[-1]]
    expected = ["", "the first summary", "the first summary", "the second summary", "the second summary"]
    for item, summary in zip(ends, expected, strict=True):
        fork = session.fork(item, keep_summaries=True)
        fork.user("another way")
        body = texts(fork.compose(ROOM))
        assert [text for text in body if text.endswith("summary")] == body[: bool(summary)]
        assert body[0].endswith(summary)
        assert good(fork)
        fork.close()
        again = disk.opened(fork.branch)
        assert texts(again.compose(ROOM)) == body
        again.close()
    session.summaries.undo()
    fork = session.fork(second, keep_summaries=True)
    assert texts(fork.compose(ROOM))[0].endswith("the first summary")
    fork.close()
    session.close()


def test_a_fork_undoes_for_itself() -> None:
    """What a fork undoes after it went its own way still holds where it came from, and the other way round."""
    session = new_session()
    ids = talk(session, 10)
    session.compose(ROOM)
    session.summaries.compact(model=says(SUMMARY))
    session.compose(ROOM)
    last = session.user("here the ways part")
    fork = session.fork(last)
    fork.user("this way")
    fork.summaries.undo()
    assert shown_ids(fork.compose(ROOM))[:20] == ids
    session.user("that way")
    assert texts(session.compose(ROOM))[0].endswith(SUMMARY)
    session.summaries.compact(model=says("later"))
    assert "later" not in shown(fork.compose(ROOM))
    assert good(session)


# ------------------------------------------------------------------ crashes


def test_a_torn_compaction_is_none_at_all(disk: Disk) -> None:
    """Cut at any byte between the boundary and the end of its summary, nothing is hidden and nothing half stands."""
    session = disk.new()
    talk(session, 10)
    whole = list(session.compose(ROOM).body)
    session.flush()
    start = disk.path.stat().st_size
    session.summaries.compact(model=says(SUMMARY))
    session.close()
    log = disk.path.read_bytes()
    end = start + len(b"".join(log[start:].splitlines(keepends=True)[:2]))
    for size in [*range(start, end - 1, 37), end - 2]:  # a last line that lacks only its end is whole
        for side in disk.path.parent.glob("talk*"):
            side.unlink()
        disk.path.write_bytes(log[:size])
        again = disk.opened()
        assert list(again.compose(ROOM).body) == whole
        assert good(again)
        again.close()
    disk.path.write_bytes(log[:end])  # without the loss report alone it is whole
    again = disk.opened()
    assert texts(again.compose(ROOM))[0].endswith(SUMMARY)
    again.close()


def test_small_talk_is_large_enough() -> None:
    """What these tests rest on: a small budget leaves something out."""
    session = new_session()
    ids = talk(session, 30)
    assert len(shown_ids(session.compose(SMALL))) < len(ids)
    assert words(2) == "w0 w1"
