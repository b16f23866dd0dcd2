"""The stored part of the search index: disposable, and shared by several processes."""

import random
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_rows import ROWS, filled, found, matches

from sightline.log.stores import Derived
from sightline.log.stores.memory import MemoryStore
from sightline.log.stores.side_files import PartFile
from sightline.recall.search import SearchIndex

MANY = [" ".join(f"w{row}x{n}" for n in range(3000)) for row in range(15)]  # more postings than stay in memory


class Forgetful:
    """Derived data that are never kept."""

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        """Nothing."""
        return {}

    def keep(self, parts: Mapping[str, bytes]) -> None:
        """Keeps nothing."""


class Full(MemoryStore):
    """Keeps what is small: a disk that became full."""

    def keep(self, parts: Mapping[str, bytes]) -> None:
        """See `Derived`."""
        if sum(map(len, parts.values())) < 10_000:
            super().keep(parts)


class Garbling(MemoryStore):
    """Gives back other bytes than it was given, except for small data."""

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        """See `Derived`."""
        return {name: data if len(data) < 200 else data[::-1] for name, data in super().cache(names).items()}


class TestDisposable:
    def test_another_key_begins_again(self) -> None:
        """What belongs to another log is not searched, and replaced."""
        store = MemoryStore()
        filled(ROWS, store).close()
        index = SearchIndex(store, key="other")
        assert (index.upto, found(index, "cat")) == (0, [])
        index.add(enumerate(ROWS[:2]), 2)
        index.close()
        assert SearchIndex(store, key="other").upto == 2

    @pytest.mark.slow
    @given(st.data())
    def test_no_damage_raises_or_brings_other_rows(self, data: st.DataObject) -> None:
        """Whatever was lost or changed, what is offered from `upto` on is found again, and nothing else."""
        store = MemoryStore()
        filled(ROWS, store).close()
        parts = store._log.parts
        for name in data.draw(st.lists(st.sampled_from(sorted(parts)), min_size=1, unique=True)):
            at = data.draw(st.integers(0, len(parts[name]) - 1))
            harm = data.draw(
                st.sampled_from([b"", parts[name][:at], parts[name][:at] + b"\xa5" + parts[name][at + 1 :]])
            )
            store.keep({name: harm})
        index = filled(ROWS, store)
        if index.upto == len(ROWS):
            matches(index, "cat connection 故宫")  # it may turn out now
        index.add(list(enumerate(ROWS))[index.upto :], len(ROWS))
        assert found(index, "cat") == found(filled(ROWS), "cat")
        index.close()

    def test_no_damage_of_the_file_brings_other_rows(self, tmp_path: Path, soak: bool) -> None:
        """Bytes changed anywhere in the file neither raise nor bring rows that were never offered."""
        chance, path = random.Random(1), tmp_path / "s.search"
        texts = [" ".join(f"w{chance.randrange(200)}" for _ in range(20)) for _ in range(200)]
        filled(texts, PartFile(path)).close()
        whole = path.read_bytes()
        for _ in range(3000 if soak else 150):
            content = bytearray(whole)
            at = chance.randrange(len(content))
            content[at : at + 8] = chance.randbytes(len(content[at : at + 8]))
            path.write_bytes(content)
            index = filled(texts, PartFile(path))
            assert all(0 <= hit.row < len(texts) for hit in matches(index, "w1 w2 w77 w150"))
            index.close()

    @pytest.mark.slow
    @pytest.mark.parametrize("derived", [Forgetful(), Full(), Garbling()], ids=lambda each: type(each).__name__)
    def test_what_a_store_does_not_keep_is_in_memory(self, derived: Derived) -> None:
        """A store that keeps nothing, nothing more, or something else costs time and no answer."""
        index = filled(ROWS[:1], derived)
        index.close()
        for _ in range(4):
            index.add(list(enumerate(MANY))[index.upto :], len(MANY))
            answer = found(index, "w3x7 w9x1")
            if index.upto == len(MANY):
                break
        assert (index.upto, answer) == (len(MANY), [9, 3])

    def test_a_killed_process_loses_only_what_was_not_written(self, tmp_path: Path) -> None:
        """After an exit without close the file opens, and `upto` says what to offer again."""
        code = (
            "import os, sys; from pathlib import Path; from sightline.recall.search import SearchIndex\n"
            "from sightline.log.stores.side_files import PartFile\n"
            "derived = PartFile(Path(sys.argv[1]))\n"
            "i = SearchIndex(derived, key='log'); i.add([(0, 'apple')], 1); i.close()\n"
            "i = SearchIndex(derived, key='log'); i.add([(1, 'pear')], 2); os._exit(1)"
        )
        path = tmp_path / "s.search"
        subprocess.run([sys.executable, "-c", code, str(path)], check=False)
        index = SearchIndex(PartFile(path), key="log")
        assert index.upto == 1
        index.add([(1, "pear")], 2)
        assert found(index, "pear apple") == [1, 0]

    def test_closing_twice_is_closing_once(self) -> None:
        """A second close does nothing."""
        index = filled(ROWS, MemoryStore())
        index.close()
        index.close()


class TestTogether:
    def test_two_writers_end_with_every_row_once(self) -> None:
        """Two indexes in one store that both take in the same log agree, whoever writes first."""
        store = MemoryStore()
        first, second = SearchIndex(store, key="log"), SearchIndex(store, key="log")
        first.add(enumerate(ROWS[:3]), 3)
        second.add(enumerate(ROWS), 5)
        first.close()
        assert matches(second, "cat") == matches(filled(ROWS), "cat")
        second.close()
        third = SearchIndex(store, key="log")
        assert third.upto == 5
        assert matches(third, "cat") == matches(filled(ROWS), "cat")

    def test_a_reader_sees_what_another_wrote(self) -> None:
        """Rows written by one are found by the other, which need not offer them."""
        store = MemoryStore()
        reader = SearchIndex(store, key="log")
        filled(ROWS, store).close()
        assert found(reader, "connection") == [1]
        assert reader.upto == 5

    def test_segments_that_another_merges_are_found_in_their_new_place(self) -> None:
        """Who knows of segments that are gone since reads again which there are."""
        store = MemoryStore()
        filled(ROWS[:2], store).close()
        reader = SearchIndex(store, key="log")
        filled(ROWS, store).close()
        assert found(reader, "connection") == [1]
        assert found(reader, "故宫") == [3]

    def test_rows_that_a_slower_writer_overwrote_are_offered_again(self) -> None:
        """Of two that write at the same moment one loses rows; it sees that, and no row is missing in the end."""
        store = MemoryStore()
        slow, fast = filled(ROWS[:3], store), filled(ROWS, store)
        head, segments = slow._head, slow._segments.write(slow._head, slow._recent, 3)
        fast.close()
        assert (head.upto, fast.upto) == (0, 5)
        slow._segments.write(head, slow._recent, 3)  # as if it had not seen what the other wrote
        assert segments is not None
        found(fast, "cat")
        assert fast.upto == 3
        fast.add(list(enumerate(ROWS))[3:], 5)
        assert matches(fast, "cat") == matches(filled(ROWS), "cat")
