"""The side index: opening reads only what is new, and an index that is wrong in any way is not used."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from counted_disk import CountedDisk
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from sightline.log import column_cache
from sightline.log import entries as log
from sightline.log.columns import State
from sightline.log.entries import Body, Entry, ToolResult, ToolUse
from sightline.log.journal import Journal
from sightline.log.stores.jsonl import JsonlStore
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import Ticking, WordCounter, numbered_ids
from sightline.testing.stores import append, said
from sightline.values.clock import nanoid, wall_clock
from sightline.values.items import Lod

ENTRIES = 20_000
SOAK_ENTRIES = 1_000_000
TAIL = 10  # entries that the index does not know yet


def opened(path: Path, disk: CountedDisk | None = None) -> Journal:
    """The journal in this file with the index it finds, on a disk that counts."""
    store = JsonlStore(path, disk=disk or CountedDisk(), read=False)
    return Journal(store, clock=wall_clock, ids=nanoid, token_counter=WordCounter())


def state(journal: Journal) -> dict[str, object]:
    """Everything the journal knows of its log, all levels and constraints that nobody needed before included."""
    for row in range(len(journal.timeline)):
        for lod in (Lod.GIST, Lod.SUMMARY):
            journal.timeline.short_size(row, lod)
        journal.reader.has_constraints(row)
    columns = {name: list(column) for name, column in journal.timeline.columns().items()}
    small = {name: getattr(journal.timeline, name) for name in State.__struct_fields__}
    return {**columns, **small, "tips": journal.store.tips, "head": journal.head}


def entries(count: int) -> Iterator[Entry]:
    """A long conversation after its settings: questions, calls and their results, each of a few hundred bytes."""
    parent = None
    for number in range(1, count + 1):
        uuid = f"e{number:09d}"
        text = Raw(f'"{number} {"word " * 40}"'.encode())
        fields: dict[str, Any] = {"type": "user", "message": Body("user", text), "tokens": ((-1, -1, 41),)}
        if number == 1:
            fields = {"type": "system", "subtype": log.SETTINGS, "data": Raw(b"{}")}
        elif number % 3 == 0:
            tool = ToolUse(f"call{number}", "read", {"path": f"src/{number % 97}.py"})
            sizes = ((-1, -1, 0), (-1, -1, 3))
            fields = {"type": "tool_use", "message": Body("assistant"), "tool": tool, "tokens": sizes}
        elif number % 3 == 1:
            result = ToolResult(f"call{number - 1}", text)
            fields |= {"type": "tool_result", "tool_result": result, "message": Body("user")}
        time = "2026-01-01T00:00:00.000Z"
        yield Entry(uuid=uuid, parent_uuid=parent, session_id="s", timestamp=time, seq=number, **fields)
        parent = uuid if number > 1 else None


def written(path: Path, count: int) -> Path:
    """A log of this many entries."""
    with path.open("wb") as file:
        file.writelines(map(log.encode, entries(count)))
    return path


def extended(path: Path, count: int) -> None:
    """Append some entries without touching the index."""
    store = JsonlStore(path)
    for _ in range(count):
        append(store, said("later"), head=store.tips.heads[""])
    store.close()


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes, dict[str, object]]:
    """A log of a real session with branches, windows, pins and sweeps, its index, and what is known of it."""
    path = tmp_path_factory.mktemp("indexed") / "s.jsonl"
    store = JsonlStore(path)
    session = Session(store, token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())
    session.system("Be brief.")
    session.tools([{"name": "read", "input_schema": {"type": "object"}}])
    for turn in range(12):
        item = session.user(f"question {turn} about src/module_{turn}.py")
        session.compose(Budget(window=900))
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "read", "arguments": '{"path":"a.py"}'}}
        session.reply({"choices": [{"message": {"role": "assistant", "content": "look", "tool_calls": [call]}}]})
        session.tool_result(f"c{turn}", "\n".join(f"line {line} of {turn}" for line in range(80)))
        if turn == 3:
            session.items.pin(item)
            session.windows.show("w1")
        if turn == 6:
            session.fork(item).user("another way")
    session.compose(Budget(window=900))
    session.close()
    rebuilt = state(opened(path))
    return path.read_bytes(), path.with_suffix(".idx").read_bytes(), rebuilt


@pytest.fixture
def there(indexed: tuple[bytes, bytes, dict[str, object]], tmp_path: Path) -> Path:
    """The same log and index in a place of their own."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(indexed[0])
    path.with_suffix(".idx").write_bytes(indexed[1])
    return path


# ---------------------------------------------------------------------- a good index


def test_a_good_index_gives_what_reading_the_log_gives(there: Path) -> None:
    """Columns, branches, heads and tips are the same with the index as without."""
    with_index = state(opened(there))
    there.with_suffix(".idx").unlink()
    assert with_index == state(opened(there))


@pytest.mark.slow
@pytest.mark.parametrize("count", [pytest.param(ENTRIES), pytest.param(SOAK_ENTRIES, marks=pytest.mark.soak)])
def test_opening_a_long_session_parses_only_its_tail(tmp_path: Path, count: int) -> None:
    """With an index, no more of the log is read than what the index does not know, and the first line."""
    path = written(tmp_path / "long.jsonl", count)
    first = opened(path)
    first.close()
    size = path.stat().st_size
    extended(path, TAIL)

    disk = CountedDisk()
    journal = opened(path, disk)
    added = path.stat().st_size - size
    assert len(journal.timeline) >= count
    assert disk.did["bytes read"] <= 2 * added + 1024  # once for the tips, once to fold; and the settings' line
    assert journal.store.tips.seq == count + TAIL


@pytest.mark.slow
def test_opening_extends_an_index_that_is_behind(tmp_path: Path) -> None:
    """What was appended after the index was made is folded on top of it, as if all of it had been read."""
    path = written(tmp_path / "s.jsonl", 300)
    opened(path).close()
    kept = path.with_suffix(".idx").read_bytes()
    extended(path, 25)
    behind = state(opened(path))
    assert path.with_suffix(".idx").read_bytes() == kept
    path.with_suffix(".idx").unlink()
    assert behind == state(opened(path))


def test_a_session_with_an_index_goes_on_as_one_without(there: Path, tmp_path: Path) -> None:
    """The next payload is the same, byte for byte."""
    hashes = []
    for name in ("with", "without"):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(there.read_bytes())
        if name == "with":
            path.with_suffix(".idx").write_bytes(there.with_suffix(".idx").read_bytes())
        session = Session(opened(path), clock=Ticking())
        session.interrupt()
        hashes.append(session.preview(Budget(window=2000)).hash)
    assert hashes[0] == hashes[1]


def test_closing_leaves_an_index_of_everything(there: Path) -> None:
    """The next opening after a clean end folds nothing."""
    journal = opened(there)
    journal.close()
    disk = CountedDisk()
    opened(there, disk)
    assert disk.did["bytes read"] < 2048


def test_an_index_knows_only_lines_that_are_durable(tmp_path: Path) -> None:
    """The log is synced before its index is written: a power cut cannot take a line that an index speaks of."""
    disk = CountedDisk()
    path = written(tmp_path / "s.jsonl", 30)
    journal = opened(path, disk)
    journal.append([journal.drafts.annotation("note", {})])
    journal.save_index()
    assert disk.did["syncs"] == 1


# ---------------------------------------------------------------------- a bad index


def cut(data: bytes, random: Random) -> bytes:
    """Its end is missing."""
    return data[: random.randrange(len(data))]


def flipped(data: bytes, random: Random) -> bytes:
    """One bit is another."""
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def zeroed(data: bytes, random: Random) -> bytes:
    """A page is empty."""
    at = random.randrange(len(data))
    return data[:at] + bytes(min(4096, len(data) - at)) + data[at + 4096 :]


def foreign(data: bytes, random: Random) -> bytes:
    """Something else altogether."""
    return random.randbytes(len(data))


@pytest.mark.parametrize("harm", [cut, flipped, zeroed, foreign], ids=lambda harm: harm.__name__)
@given(seed=st.integers(0, 1 << 32))
def test_a_harmed_index_is_not_believed(
    indexed: tuple[bytes, bytes, dict[str, object]],
    tmp_path_factory: pytest.TempPathFactory,
    harm: Callable[[bytes, Random], bytes],
    seed: int,
) -> None:
    """Whatever happened to the index, it is not used, and what is known of the log is what the log says."""
    data, good, _ = indexed
    path = tmp_path_factory.getbasetemp() / f"harmed-{harm.__name__}.jsonl"
    path.write_bytes(data)
    bad = harm(good, Random(seed))
    path.with_suffix(".idx").write_bytes(bad)
    known = column_cache.load(JsonlStore(path))
    assert known is None or bad == good


@pytest.mark.parametrize("harm", [cut, flipped, zeroed, foreign], ids=lambda harm: harm.__name__)
def test_after_harm_the_index_is_made_anew(
    there: Path, indexed: tuple[bytes, bytes, dict[str, object]], harm: Callable[[bytes, Random], bytes]
) -> None:
    """Opening reads the log instead, knows the same, and leaves a good index behind."""
    there.with_suffix(".idx").write_bytes(harm(indexed[1], Random(1)))
    journal = opened(there)
    assert state(journal) == indexed[2]
    journal.close()
    assert column_cache.load(JsonlStore(there)) is not None
    assert state(opened(there)) == indexed[2]


def test_the_index_of_another_log_is_not_used(there: Path, tmp_path: Path) -> None:
    """An index copied beside another log, longer or shorter, is not taken for its own."""
    for count in (2, 400):
        path = written(tmp_path / f"other{count}.jsonl", count)
        path.with_suffix(".idx").write_bytes(there.with_suffix(".idx").read_bytes())
        assert len(opened(path).timeline) == len(opened(written(tmp_path / f"same{count}.jsonl", count)).timeline)


def test_an_index_of_a_log_that_was_cut_is_not_used(there: Path) -> None:
    """A log that lost its end, as after a power cut, is read anew."""
    there.write_bytes(there.read_bytes()[:-50])
    assert column_cache.load(JsonlStore(there)) is None
    with_index = state(opened(there))
    there.with_suffix(".idx").unlink()
    assert with_index == state(opened(there))


def test_an_empty_index_and_a_directory_in_its_place_do_no_harm(
    there: Path, indexed: tuple[bytes, bytes, dict[str, object]]
) -> None:
    """What cannot be read as an index is passed over, and what cannot be replaced is left."""
    side = there.with_suffix(".idx")
    side.write_bytes(b"")
    assert state(opened(there)) == indexed[2]
    side.unlink()
    side.mkdir()
    journal = opened(there)
    assert state(journal) == indexed[2]
    journal.close()
    assert side.is_dir()
    assert sorted(path.name for path in there.parent.iterdir()) == ["s.idx", "s.jsonl"]
