"""A log in a file: what is repaired when it is opened, what the disk may refuse, and when it is synced."""

from contextlib import closing
from errno import EIO, ENOSPC
from pathlib import Path

import pytest
from counted_disk import CountedDisk, read_only
from msgspec.structs import replace

from sightline.errors import StoreError, Unsynced, Unwritable
from sightline.log.entries import decode, encode
from sightline.log.stores.jsonl import Fsync, JsonlStore
from sightline.log.stores.session_folder import Folder
from sightline.testing.stores import append, noted, said, uuids


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the log is."""
    return tmp_path / "s.jsonl"


def grown(path: Path, turns: int = 3) -> list[str]:
    """A log of some conversation entries, each in one batch with an annotation. The uuids, in order."""
    store = JsonlStore(path)
    head = None
    for number in range(turns):
        append(store, entry := said(f"turn {number}"), noted(), head=head)
        head = entry.uuid
    names = uuids(store)
    store.close()
    return names


# ---------------------------------------------------------------------- the file itself


def test_no_file_is_made_before_something_is_said(path: Path) -> None:
    """Opening, reading and refreshing a log that nobody wrote to leaves no file."""
    store = JsonlStore(path)
    store.refresh()
    assert list(store.scan()) == []
    store.close()
    assert not path.exists()


def test_one_append_is_one_write(path: Path) -> None:
    """A batch goes to the disk with a single write, so that programs that take no lock cannot get in between."""
    disk = CountedDisk()
    append(JsonlStore(path, disk=disk), *(noted() for _ in range(20)))
    assert disk.did["writes"] == 1
    assert path.read_bytes().count(b"\n") == 20


def test_a_batch_of_megabytes_is_written_in_parts(path: Path) -> None:
    """It is one batch all the same: its lines are in their places, and it is read back whole."""
    disk = CountedDisk()
    store = JsonlStore(path, disk=disk)
    entries = [said(str(number) * 300_000) for number in range(9)]
    placed = append(store, *entries)
    assert disk.did["writes"] == 3
    assert [decode(line) for line in store.read_many([span for _, span in placed])] == [entry for entry, _ in placed]
    assert uuids(JsonlStore(path)) == [entry.uuid for entry in entries]


def test_lines_longer_than_a_chunk_are_read_whole(path: Path) -> None:
    """A line of several megabytes comes back as one line."""
    append(JsonlStore(path), entry := said("x" * (5 << 20)), noted())
    store = JsonlStore(path)
    assert next(decode(line.data).uuid for line in store.scan()) == entry.uuid
    assert store.repairs.damaged == []


# ---------------------------------------------------------------------- what opening repairs


@pytest.mark.parametrize("kept", ["first line", "half", "first line but its newline"])
def test_an_incomplete_batch_at_the_end_is_cut_as_a_whole_and_kept_aside(path: Path, kept: str) -> None:
    """Of a batch that was not written to its end nothing is in the log, and every byte of it in the side file."""
    names = grown(path)
    good = path.read_bytes()
    store = JsonlStore(path)
    append(store, said(), noted(), noted(), head=store.tips.heads[""])
    store.close()
    batch = path.read_bytes()[len(good) :]
    first = batch.index(b"\n") + 1
    torn = {"first line": batch[:first], "half": batch[: len(batch) // 2]}.get(kept, batch[: first - 1])
    path.write_bytes(good + torn)

    again = JsonlStore(path)
    assert uuids(again) == names
    assert path.read_bytes() == good
    assert path.with_suffix(".torn").read_bytes() == torn + b"\n"
    assert (again.repairs.torn_bytes, again.repairs.torn_file) == (len(torn), str(path.with_suffix(".torn")))


def test_several_torn_ends_are_all_kept(path: Path) -> None:
    """The side file only grows."""
    grown(path)
    for junk in (b"first", b"second"):
        with path.open("ab") as file:
            file.write(junk)
        JsonlStore(path).close()
    assert path.with_suffix(".torn").read_bytes() == b"first\nsecond\n"


@pytest.mark.parametrize("tail", [b"\0" * 5000, b'{"uuid":"x","type":"us', b"\xff\xfe\xfa"])
def test_an_end_that_is_no_line_is_cut(path: Path, tail: bytes) -> None:
    """Zeros, half a line and garbage without a newline are what crashes leave: cut, kept aside, reported."""
    names = grown(path)
    good = path.read_bytes()
    path.write_bytes(good + tail)
    store = JsonlStore(path)
    assert (uuids(store), store.repairs.torn_bytes, store.repairs.damaged) == (names, len(tail), [])
    assert path.read_bytes() == good


def test_a_damaged_line_in_the_middle_stays_and_is_named(path: Path) -> None:
    """What cannot be read is passed over and reported by its offset; no byte of it is touched."""
    grown(path)
    lines = path.read_bytes().splitlines(keepends=True)
    offset = sum(map(len, lines[:2]))
    lines[2] = b"#" * (len(lines[2]) - 1) + b"\n"
    path.write_bytes(b"".join(lines))
    store = JsonlStore(path)
    assert store.repairs.damaged == [offset]
    assert len(list(store.scan())) == 6  # damaged lines come as they are
    assert path.read_bytes() == b"".join(lines)


def test_damage_inside_a_batch_does_not_cut_what_follows(path: Path) -> None:
    """A batch whose last line is damaged is no torn end if more was written after it."""
    names = grown(path, turns=3)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = b"#" * (len(lines[1]) - 1) + b"\n"
    path.write_bytes(b"".join(lines))
    store = JsonlStore(path)
    assert store.tips.size == path.stat().st_size
    assert store.tips.heads[""] == names[-2]


DAMAGES = {  # of the last line of a batch, which is five lines long: how, and how many lines can be read then
    "unreadable": (lambda last: last.replace(b'"type":"', b'"type";"'), 4),
    "changed": (lambda last: last.replace(b"said 5", b"said 7"), 5),
    "other numbers": (lambda last: last.replace(b"[5,5]", b"[5,9]"), 5),
    "no entry": (lambda last: last.replace(b'"uuid":"', b'"uuie":"'), 4),
    "its newline": (lambda last: last[:-1] + b"J", 4),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_at_the_end_of_the_last_batch_does_not_cut_it(path: Path, damage: str) -> None:
    """A changed byte is not an interrupted write: the rest of the batch stays. A batch without its last line goes."""
    damaged, readable = DAMAGES[damage]
    names = grown(path, turns=1)
    store = JsonlStore(path)
    batch = [said(f"said {number}") for number in range(1, 6)]
    append(store, *batch, head=store.tips.heads[""])
    store.close()
    *before, last = path.read_bytes().splitlines(keepends=True)
    changed = damaged(last)
    assert changed != last
    for end, count in ((changed, readable), (b"", 0)):
        path.write_bytes(b"".join(before) + end)
        store = JsonlStore(path)
        assert (store.repairs.torn_bytes > 0) == (not end)
        assert store.tips.size == path.stat().st_size
        assert store.tips.heads[""] == [names[0], *(entry.uuid for entry in batch)][count]


def test_a_damaged_newline_inside_the_last_batch_does_not_cut_it(path: Path) -> None:
    """Two lines become one that cannot be read; they count as two."""
    entries = [said(f"said {number}") for number in range(3)]
    append(JsonlStore(path), *entries)
    whole = path.read_bytes()
    for at in (whole.index(b"\n"), whole[:-1].rindex(b"\n")):
        path.write_bytes(whole[:at] + b"*" + whole[at + 1 :])
        store = JsonlStore(path)
        assert (store.repairs.torn_bytes, len(store.repairs.damaged)) == (0, 1)
        assert store.tips.size == len(whole)


def test_a_last_line_without_its_newline_is_kept(path: Path) -> None:
    """Other programs leave the last newline out: a line that is whole gets it instead of being cut."""
    names = grown(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    store = JsonlStore(path)
    assert (uuids(store), store.repairs.torn_bytes) == (names, 0)
    assert path.read_bytes() == whole


def test_lines_that_are_no_entries_are_kept_and_passed_over(path: Path) -> None:
    """An object of somebody else is neither damage nor an entry; a bare value may be what a torn write left: damage."""
    grown(path)
    with path.open("ab") as file:
        file.write(b'{"somebody":"else"}\n\n')
        bare = file.tell()
        file.write(b"5\n")
    store = JsonlStore(path)
    assert (store.repairs.damaged, store.repairs.torn_bytes) == ([bare], 0)
    append(store, said(), head=store.tips.heads[""])
    assert b'{"somebody":"else"}' in path.read_bytes()


def test_a_line_nested_beyond_reason_is_damage(path: Path) -> None:
    """Ten thousand brackets are a damaged line, not a crash."""
    names = grown(path)
    with path.open("ab") as file:
        file.write(b"[" * 10_000 + b"]" * 10_000 + b"\n")
    store = JsonlStore(path)
    assert len(store.repairs.damaged) == 1
    assert uuids_readable(store) == names


def uuids_readable(store: JsonlStore) -> list[str]:
    """Of the lines that are entries."""
    return [decode(line.data).uuid for line in store.scan() if line.span.offset not in store.repairs.damaged]


def test_lines_without_a_seq_are_numbered_as_they_come(path: Path) -> None:
    """A log of another program has no numbers; what is appended to it goes on from its length."""
    path.write_bytes(b"".join(encode(said()) for _ in range(4)))
    store = JsonlStore(path)
    (placed,) = append(store, noted())
    assert placed.entry.seq == 5


def test_a_seq_beyond_reason_does_not_stop_the_counter(path: Path) -> None:
    """A number that no column could hold is not believed."""
    line = encode(said()).replace(b"}\n", b',"seq":99999999999999999999}\n', 1)
    path.write_bytes(line)
    (placed,) = append(JsonlStore(path), noted())
    assert placed.entry.seq == 2


# ---------------------------------------------------------------------- a disk that refuses


@pytest.mark.parametrize("part", [0, 1, 40, 10_000])
def test_a_disk_that_fills_up_keeps_nothing_of_the_append(path: Path, part: int) -> None:
    """Whatever part of a batch the disk took, none of it is in the log, and the store goes on when there is room."""
    names = grown(path)
    before = path.read_bytes()
    disk = CountedDisk()
    store = JsonlStore(path, disk=disk)
    head = store.tips.heads[""]
    disk.refuse, disk.part = {"append": OSError(ENOSPC, "No space left on device")}, part
    with pytest.raises(Unwritable, match="No space left"):
        append(store, said("y" * 5000), noted(), head=head)
    assert path.read_bytes() == before
    disk.refuse = {}
    append(store, entry := said(), head=head)
    assert uuids(store) == [*names, entry.uuid]


@pytest.mark.parametrize("why", ["a full disk", "an entry that cannot be written"])
def test_of_a_batch_written_in_parts_nothing_stays_if_one_fails(path: Path, why: str) -> None:
    """Also if earlier parts were written, none of it is in the log."""
    names, disk = grown(path), CountedDisk()
    before, store = path.read_bytes(), JsonlStore(path, disk=disk)
    entries = [said(str(number) * 300_000) for number in range(9)]
    head, error = store.tips.heads[""], "No space left"
    if why == "a full disk":
        disk.refuse, disk.taken = {"append": OSError(ENOSPC, error)}, 1
    else:
        entries[-1], error = replace(entries[-1], subject="\ud800"), "surrogates"
    with pytest.raises((Unwritable, UnicodeEncodeError), match=error):
        append(store, *entries, head=head)
    assert disk.did["writes"] >= 1
    assert path.read_bytes() == before
    assert uuids(store) == names
    disk.refuse = {}
    append(store, entry := said(), head=head)
    assert uuids(store) == [*names, entry.uuid]


def test_an_append_that_cannot_be_synced_is_not_kept(path: Path) -> None:
    """Under `always` an error means that nothing was appended, also when only the sync failed."""
    grown(path)
    before = path.read_bytes()
    disk = CountedDisk()
    store = JsonlStore(path, fsync="always", disk=disk)
    disk.refuse = {"sync": OSError(EIO, "Input/output error")}
    with pytest.raises(Unwritable):
        append(store, said(), head=store.tips.heads[""])
    assert path.read_bytes() == before
    disk.refuse = {}
    append(store, said(), head=store.tips.heads[""])


def test_a_sync_that_failed_is_tried_again(path: Path) -> None:
    """Under `turn` what could not be synced still waits for the next sync."""
    disk = CountedDisk()
    store = JsonlStore(path, disk=disk)
    append(store, said())
    disk.refuse = {"sync": OSError(EIO, "Input/output error")}
    with pytest.raises(Unsynced):
        store.sync()
    disk.refuse = {}
    store.sync()
    assert disk.did["syncs"] == 1


def test_a_read_only_log_can_be_read(path: Path) -> None:
    """A disk that refuses writing still gives back everything; the first append says what is wrong."""
    names = grown(path)
    store = JsonlStore(path, disk=read_only())
    assert uuids(store) == names
    with pytest.raises(Unwritable, match="Read-only"):
        append(store, said(), head=store.tips.heads[""])


def test_a_torn_end_on_a_read_only_disk_is_left_alone(path: Path) -> None:
    """What cannot be cut is not shown, not copied, and reported; the log up to it can be read."""
    names = grown(path)
    torn = path.read_bytes() + b'{"half'
    path.write_bytes(torn)
    store = JsonlStore(path, disk=read_only())
    assert (uuids(store), store.repairs.torn_bytes, store.repairs.torn_file) == (names, 6, "")
    with pytest.raises(Unwritable):
        append(store, noted())
    store.close()
    assert path.read_bytes() == torn
    assert not path.with_suffix(".torn").exists()


def test_a_directory_in_the_logs_place_is_an_error_that_says_so(path: Path) -> None:
    """What is no file is not opened."""
    path.mkdir()
    with pytest.raises(StoreError, match="Is a directory"):
        JsonlStore(path)


def test_a_log_that_somebody_cut_is_not_written_to(path: Path) -> None:
    """A file shorter than it was means that offsets no longer hold: the writer stops and says to resume."""
    grown(path)
    store = JsonlStore(path)
    cut = path.read_bytes()[:-30]
    path.write_bytes(cut)
    with pytest.raises(StoreError, match="resume"):
        append(store, noted())
    assert path.read_bytes() == cut


@pytest.mark.parametrize("then", ["deleted", "made anew", "neither"])
def test_next_to_a_deleted_log_nothing_is_written(path: Path, then: str) -> None:
    """Neither derived data nor texts, also if a new log has its name: a deleted session would come back in them."""
    folder = Folder("/p", path.parent)
    with closing(folder.create("s")) as store:
        append(store, said())
        log = store.path
        if then != "neither":
            folder.delete("s")
            assert list(log.parent.iterdir()) == []
        if then == "made anew":
            with closing(folder.create("s")) as other:
                append(other, said())
        store.keep({"columns": b"x", "search/head": b"x"})
        if then == "neither":
            store.keep_texts({"d": "text"})
        else:
            with pytest.raises(Unwritable, match="deleted"):
                store.keep_texts({"d": "text"})
    written: dict[str, set[str]] = {
        "deleted": set(),
        "made anew": {".jsonl"},
        "neither": {".jsonl", ".idx", ".search", ".blobs"},
    }
    assert {each.suffix for each in log.parent.iterdir()} == written[then]


def test_a_log_that_was_deleted_takes_nothing_more(path: Path) -> None:
    """Nobody is told that something is stored in a file that no longer has a name."""
    grown(path)
    store = JsonlStore(path)
    path.unlink()
    with pytest.raises(Unwritable, match="deleted"):
        append(store, noted())


# ---------------------------------------------------------------------- when it is synced


@pytest.mark.parametrize(
    ("fsync", "syncs", "expected"),
    [("always", 0, 3), ("always", 2, 3), ("turn", 0, 0), ("turn", 1, 1), ("turn", 2, 1), ("never", 2, 0)],
)
def test_syncs_follow_the_policy(path: Path, fsync: Fsync, syncs: int, expected: int) -> None:
    """`always` syncs each append, `turn` once for all appends before a sync, `never` not at all."""
    disk = CountedDisk()
    store = JsonlStore(path, fsync=fsync, disk=disk)
    for _ in range(3):
        append(store, noted())
    for _ in range(syncs):
        store.sync()
    assert disk.did["syncs"] == expected
