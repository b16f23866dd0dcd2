"""A session of large results: indexing reads each line once, and a search reads what it finds once."""

from itertools import pairwise
from pathlib import Path

import pytest
from counted_disk import CountedDisk

from sightline import Session
from sightline.log import entries
from sightline.log.stores.jsonl import JsonlStore
from sightline.recall.search.terms import INDEXED_CHARS, text_to_index
from sightline.testing import WordCounter

RESULTS, LINES = 6, 5_000  # of some 200 KB, which the reader does not keep in memory


def result(number: int) -> str:
    return "\n".join(f"line {line} of file_{number}.py says value_{number}_{line % 50}" for line in range(LINES))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    with Session(JsonlStore(path), token_counter=WordCounter()) as session:
        for number in range(RESULTS):
            session.user(f"Read file_{number}.py.")
            function = {"name": "read", "arguments": f'{{"path": "file_{number}.py"}}'}
            call = {"id": f"c{number}", "type": "function", "function": function}
            session.reply({"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]})
            session.tool_result(f"c{number}", result(number))
    return path


@pytest.mark.slow
def test_each_line_is_read_once(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first search the whole log; later only the results that are found, for all their passages together."""
    disk, size = CountedDisk(), log.stat().st_size
    session = Session(JsonlStore(log, disk=disk), token_counter=WordCounter())
    decoded: list[int] = []
    original = entries.decode
    monkeypatch.setattr(entries, "decode", lambda line: decoded.append(len(line)) or original(line))  # type: ignore[func-returns-value]
    for reads_all in (True, False):
        disk.did.clear()
        decoded.clear()
        found = session.items.search("value_3_7 file_3")
        assert found
        assert "value_3_7" in found[0].text
        largest = [length for length in decoded if length > 100_000]
        results = RESULTS + len(found) if reads_all else len(found)
        assert len(largest) <= results
        assert disk.did["bytes read"] <= size * (len(found) / RESULTS + reads_all) * 1.1
    session.close()


def test_samples_of_a_long_text_are_where_they_were() -> None:
    """Head, tail and evenly spaced pieces of the middle, the same as cutting off what is before each."""
    text = "".join(f"{number:08d}" for number in range(INDEXED_CHARS))
    pieces = text_to_index(text).split(" ")
    assert sum(map(len, pieces)) == INDEXED_CHARS
    assert (text.startswith(pieces[0]), text.endswith(pieces[-1])) == (True, True)
    places = [text.index(piece) for piece in pieces]
    assert places == sorted(places)
    gaps = {later - earlier for earlier, later in pairwise(places[1:-1])}
    assert max(gaps) - min(gaps) <= 1
