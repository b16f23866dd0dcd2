"""What every store promises. One suite; a store that passes it can hold a session."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_entries import append, making, noted, said, uuids

from sightline.errors import Conflict
from sightline.log.entries import Entry, decode
from sightline.log.stores import Store
from sightline.log.stores.jsonl import JsonlStore
from sightline.log.stores.memory import MemoryStore

Open = Callable[[], Store]
"""Opens one and the same log, each time as another writer would."""


def memory(folder: Path) -> Open:
    """A log in memory has one handle, which all its writers share."""
    store = MemoryStore("s")
    return lambda: store


def jsonl(folder: Path) -> Open:
    """A log in a file is opened by each writer for itself."""
    return lambda: JsonlStore(folder / "s.jsonl")


KINDS = {"memory": memory, "jsonl": jsonl}


@pytest.fixture(params=list(KINDS))
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens the store under test."""
    return KINDS[request.param](tmp_path)


def test_a_new_log_is_empty(opened: Open) -> None:
    """Nothing stored means no lines, seq 0 and no heads."""
    store = opened()
    assert (list(store.scan()), store.tips.seq, store.tips.size, store.tips.heads) == ([], 0, 0, {})


def test_what_is_appended_is_read_back(opened: Open) -> None:
    """A placement's span gives the very line, and the line the very entry."""
    store = opened()
    for placed in append(store, said("one"), noted(), said("two")):
        assert decode(store.read(placed.span)) == placed.entry


def test_scan_gives_the_lines_in_order_from_any_of_them(opened: Open) -> None:
    """Scanning from a line's offset gives that line and all later ones."""
    store = opened()
    head, spans = None, []
    for number in range(5):
        (placed,) = append(store, entry := said(str(number)), head=head)
        head = entry.uuid
        spans.append(placed.span)
    for start, span in enumerate(spans):
        assert [line.span for line in store.scan(span.offset)] == spans[start:]


def test_seqs_are_dense_over_batches_and_branches(opened: Open) -> None:
    """One counter numbers every entry of the log, whatever its branch and sort."""
    store = opened()
    first = append(store, said(), noted())
    second = append(store, said(), branch="other")
    third = append(store, noted(), noted(), noted())
    assert [placed.entry.seq for placed in (*first, *second, *third)] == [1, 2, 3, 4, 5, 6]
    assert store.tips.seq == 6


def test_entries_are_made_for_the_seq_they_get(opened: Open) -> None:
    """`make` is told the number of its first entry."""
    store = opened()
    append(store, noted(), noted())
    told: list[int] = []

    def make(first: int) -> list[Entry]:
        told.append(first)
        return [noted()]

    (placed,) = store.append(make, branch="", expected_head=None)
    assert told == [3]
    assert placed.entry.seq == 3


def test_a_batch_says_so_and_a_single_entry_does_not(opened: Open) -> None:
    """Entries of one append carry (i, n), so that a torn batch can be told from a whole one."""
    store = opened()
    batch = append(store, noted(), noted(), noted())
    (single,) = append(store, noted())
    assert [placed.entry.batch for placed in batch] == [(1, 3), (2, 3), (3, 3)]
    assert single.entry.batch is None


def test_entries_are_of_the_branch_they_are_appended_to(opened: Open) -> None:
    """The store writes the branch into the entries."""
    store = opened()
    (placed,) = append(store, said(), branch="side")
    assert decode(store.read(placed.span)).branch == "side"


def test_a_conversation_entry_must_follow_the_head(opened: Open) -> None:
    """Whoever expects another head gets Conflict with what there is, and nothing is written."""
    store = opened()
    append(store, first := said())
    before = uuids(store)
    with pytest.raises(Conflict) as caught:
        append(store, said(), head="somebody")
    assert (caught.value.expected, caught.value.found) == ("somebody", first.uuid)
    assert (uuids(store), store.tips.seq) == (before, 1)


def test_the_loser_succeeds_with_the_head_that_was_found(opened: Open) -> None:
    """A Conflict names the head to go on from."""
    store = opened()
    append(store, first := said())
    with pytest.raises(Conflict):
        append(store, late := said())
    append(store, late, head=first.uuid)
    assert uuids(store) == [first.uuid, late.uuid]


def test_annotations_never_conflict(opened: Open) -> None:
    """An annotation is written whatever its writer believes the head to be, and moves no head."""
    store = opened()
    append(store, first := said())
    append(store, noted(), head=None)
    append(store, noted(), head="somebody")
    assert store.tips.heads == {"": first.uuid}


def test_a_batch_conflicts_as_a_whole(opened: Open) -> None:
    """Annotations in one batch with a conversation entry that conflicts are not written either."""
    store = opened()
    append(store, first := said())
    with pytest.raises(Conflict):
        append(store, noted(), said(), noted(), head="somebody")
    assert uuids(store) == [first.uuid]


def test_branches_have_heads_of_their_own(opened: Open) -> None:
    """Writing to one branch is no conflict for a writer of another."""
    store = opened()
    append(store, root := said())
    append(store, left := said(), branch="left")
    append(store, right := said(), head=root.uuid)
    assert store.tips.heads == {"": right.uuid, "left": left.uuid}


def test_nothing_is_written_when_making_the_entries_fails(opened: Open) -> None:
    """An error in `make` leaves the log and the store as they were."""
    store = opened()
    append(store, first := said())

    def fail(_: int) -> list[Entry]:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        store.append(fail, branch="", expected_head=first.uuid)
    append(store, second := said(), head=first.uuid)
    assert (uuids(store), store.tips.seq) == ([first.uuid, second.uuid], 2)


def test_another_writers_entries_are_seen_after_refresh(opened: Open) -> None:
    """`refresh` moves `tips` past what others wrote, and `scan` then shows it."""
    one, other = opened(), opened()
    append(one, first := said())
    append(one, second := said(), head=first.uuid)
    other.refresh()
    assert other.tips == one.tips
    assert uuids(other) == [first.uuid, second.uuid]


def test_two_writers_cannot_both_follow_one_head(opened: Open) -> None:
    """Of two writers that saw the same head, the first is kept and the second gets Conflict."""
    one, other = opened(), opened()
    append(one, root := said())
    other.refresh()
    append(one, winner := said(), head=root.uuid)
    with pytest.raises(Conflict) as caught:
        append(other, said(), head=root.uuid)
    assert caught.value.found == winner.uuid
    append(other, said(), head=winner.uuid)


def test_writers_that_alternate_number_densely(opened: Open) -> None:
    """A writer numbers after what others wrote, without having been told of it."""
    writers = [opened() for _ in range(3)]
    for turn in range(30):
        append(writers[turn % 3], noted())
    assert [decode(line.data).seq for line in opened().scan()] == list(range(1, 31))


def test_a_log_opened_again_knows_what_it_knew(opened: Open) -> None:
    """Closing and opening changes neither lines nor tips."""
    store = opened()
    append(store, root := said(), noted())
    append(store, said(), branch="side")
    append(store, said(), head=root.uuid)
    tips, lines = store.tips.copy(), list(store.scan())
    store.sync()
    store.close()
    again = opened()
    assert (again.tips, list(again.scan())) == (tips, lines)


def test_side_files_lie_beside_the_log_or_nowhere(opened: Open) -> None:
    """Different suffixes are different files, none of them the log itself."""
    sides = [opened().side_file(suffix) for suffix in (".idx", ".blobs", ".jsonl")]
    assert sides == [None] * 3 or len(set(sides)) == 3


@pytest.mark.parametrize("kind", list(KINDS))
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 1),  # which of two writers
            st.sampled_from(["", "left", "right"]),  # branch
            st.lists(st.booleans(), min_size=1, max_size=4),  # a batch: conversation entry or annotation
            st.booleans(),  # whether the writer looks before it writes
        ),
        max_size=12,
    )
)
def test_any_writers_agree_with_the_plainest_log(
    kind: str, steps: list[tuple[int, str, list[bool], bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever two writers do, the log is what a list with one head per branch would be."""
    opened = KINDS[kind](tmp_path_factory.mktemp("log"))
    writers = [opened(), opened()]
    known: list[dict[str, str]] = [{}, {}]  # what each writer believes
    log: list[str] = []
    heads: dict[str, str] = {}
    for who, branch, sorts, looks in steps:
        if looks:
            writers[who].refresh()
            known[who] = dict(heads)
        entries = [said() if is_said else noted() for is_said in sorts]
        expected = known[who].get(branch)
        if any(sorts) and expected != heads.get(branch):
            with pytest.raises(Conflict):
                writers[who].append(making(entries), branch=branch, expected_head=expected)
            continue
        writers[who].append(making(entries), branch=branch, expected_head=expected)
        log += [entry.uuid for entry in entries]
        for entry in entries:
            if entry.in_conversation:
                heads[branch] = known[who][branch] = entry.uuid
    store = opened()
    store.refresh()
    assert uuids(store) == log
    assert (store.tips.heads, store.tips.seq) == (heads, len(log))
    assert [decode(line.data).seq for line in store.scan()] == list(range(1, len(log) + 1))
    for each in (*writers, store):
        each.close()
