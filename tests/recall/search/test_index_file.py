"""The index file: disposable, and shared by several processes."""

import random
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_rows import ROWS, filled, found, matches

from sightline.recall.search import SearchIndex


class TestFile:
    def test_only_the_owner_may_read_it(self, tmp_path: Path) -> None:
        """The file and what SQLite puts beside it are made with mode 0600."""
        index = filled(ROWS, tmp_path / "s.idx")
        assert {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()} == {0o600}
        index.close()
        assert [p.name for p in tmp_path.iterdir()] == ["s.idx"]

    def test_another_key_begins_again(self, tmp_path: Path) -> None:
        """A file of another log is emptied, not searched."""
        filled(ROWS, tmp_path / "s.idx").close()
        index = SearchIndex(str(tmp_path / "s.idx"), key="other")
        assert index.upto == 0
        assert found(index, "cat") == []
        index.close()
        assert SearchIndex(str(tmp_path / "s.idx"), key="other").upto == 0

    @pytest.mark.parametrize("content", [b"no database at all" * 300, b"SQLite format 3\0" + b"\xff" * 5000, b"x"])
    def test_what_is_no_index_begins_again(self, tmp_path: Path, content: bytes) -> None:
        """Any other content is thrown away, and the new index is kept in its place."""
        path = tmp_path / "s.idx"
        path.write_bytes(content)
        filled(ROWS, path).close()
        index = SearchIndex(str(path), key="log")
        assert index.upto == len(ROWS)
        index.close()

    def test_a_foreign_database_begins_again(self, tmp_path: Path) -> None:
        """Tables of the same names and another shape are no obstacle."""
        path = tmp_path / "s.idx"
        db = sqlite3.connect(path)
        db.executescript("CREATE TABLE head (x); CREATE TABLE segment (y); CREATE TABLE posting (z);")
        db.close()
        filled(ROWS, path).close()
        assert SearchIndex(str(path), key="log").upto == len(ROWS)

    @given(st.data())
    def test_no_damage_raises(self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
        """A file cut or overwritten anywhere is searched or begun again; offered from `upto` again it is whole."""
        path = tmp_path_factory.mktemp("index") / "s.idx"
        filled(ROWS, path).close()
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            del content[at:]
        else:
            content[at : at + 400] = b"\xa5" * len(content[at : at + 400])
        path.write_bytes(content)
        index = filled(ROWS, path)
        matches(index, "cat connection 故宫")
        index.close()

    def test_no_damage_brings_other_rows(self, tmp_path: Path, soak: bool) -> None:
        """Bytes changed anywhere in a larger file neither raise nor bring rows that were never offered."""
        chance, path = random.Random(1), tmp_path / "s.idx"
        texts = [" ".join(f"w{chance.randrange(200)}" for _ in range(20)) for _ in range(200)]
        filled(texts, path).close()
        whole = path.read_bytes()
        for _ in range(3000 if soak else 150):
            content = bytearray(whole)
            at = chance.randrange(len(content))
            content[at : at + 8] = chance.randbytes(len(content[at : at + 8]))
            path.write_bytes(content)
            index = filled(texts, path)
            assert all(0 <= hit.row < index.upto for hit in matches(index, "w1 w2 w77 w150"))
            index.close()

    def test_without_a_writable_place_it_is_in_memory(self, tmp_path: Path) -> None:
        """A folder that is missing, forbidden or itself the path costs only the file."""
        forbidden = tmp_path / "forbidden"
        forbidden.mkdir(mode=0o500)
        for path in (tmp_path / "missing" / "s.idx", tmp_path, forbidden / "s.idx", Path("nul\0")):
            index = filled(ROWS, path)
            assert found(index, "connection") == [1]
            index.close()

    def test_a_killed_process_loses_only_what_was_not_written(self, tmp_path: Path) -> None:
        """After an exit without close the file opens, and `upto` says what to offer again."""
        code = (
            "import os, sys; from sightline.recall.search import SearchIndex\n"
            "i = SearchIndex(sys.argv[1], key='log'); i.add([(0, 'apple')], 1); i.close()\n"
            "i = SearchIndex(sys.argv[1], key='log'); i.add([(1, 'pear')], 2); os._exit(1)"
        )
        path = tmp_path / "s.idx"
        subprocess.run([sys.executable, "-c", code, str(path)], check=False)
        index = SearchIndex(str(path), key="log")
        assert index.upto == 1
        index.add([(1, "pear")], 2)
        assert found(index, "pear apple") == [1, 0]
        index.close()

    def test_closing_twice_is_closing_once(self, tmp_path: Path) -> None:
        """A second close does nothing."""
        index = filled(ROWS, tmp_path / "s.idx")
        index.close()
        index.close()


class TestTogether:
    def test_two_writers_end_with_every_row_once(self, tmp_path: Path) -> None:
        """Two indexes on one file that both take in the same log agree, whoever writes first."""
        path = tmp_path / "s.idx"
        first, second = SearchIndex(str(path), key="log"), SearchIndex(str(path), key="log")
        first.add(enumerate(ROWS[:3]), 3)
        second.add(enumerate(ROWS), 5)
        first.close()
        assert matches(second, "cat") == matches(filled(ROWS), "cat")
        second.close()
        third = SearchIndex(str(path), key="log")
        assert third.upto == 5
        assert matches(third, "cat") == matches(filled(ROWS), "cat")
        third.close()

    def test_a_reader_sees_what_another_wrote(self, tmp_path: Path) -> None:
        """Rows written by one are found by the other, which need not offer them."""
        path = tmp_path / "s.idx"
        reader = SearchIndex(str(path), key="log")
        filled(ROWS, path).close()
        assert found(reader, "connection") == [1]
        assert reader.upto == 5
        reader.close()

    def test_a_file_that_became_another_logs_is_let_go(self, tmp_path: Path) -> None:
        """Who loses the file goes on in memory from nothing, and does not touch the new owner's."""
        path = tmp_path / "s.idx"
        old = filled(ROWS, path)
        new = SearchIndex(str(path), key="new")
        new.add([(0, "apple")], 1)
        assert found(old, "connection") == []
        assert old.upto == 0
        old.add(enumerate(ROWS), 5)
        assert found(old, "connection") == [1]
        old.close()
        new.close()
        again = SearchIndex(str(path), key="new")
        assert found(again, "apple connection") == [0]
        again.close()

    def test_a_locked_file_delays_nothing_but_writing(self, tmp_path: Path) -> None:
        """While another process holds the lock rows are taken and found; one that must write first works in memory."""
        path = tmp_path / "s.idx"
        index = filled(ROWS[:2], path)
        index.close()
        lock = sqlite3.connect(path, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        known, other = filled(ROWS, path), filled(ROWS, path, key="other")
        for locked in (known, other):
            assert found(locked, "connection") == [1]
            assert found(locked, "故宫") == [3]
            locked.close()
        lock.execute("ROLLBACK")
        lock.close()
        after = SearchIndex(str(path), key="log")
        assert after.upto == 2
        after.close()

    def test_a_file_that_stays_locked_is_given_up(self, tmp_path: Path) -> None:
        """Who has more rows than memory should hold, and may not write, begins again in memory."""
        path = tmp_path / "s.idx"
        index = filled(ROWS[:2], path)
        lock = sqlite3.connect(path, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        texts = [" ".join(f"w{row}x{n}" for n in range(3000)) for row in range(15)]
        index.add(enumerate(texts), 15)
        assert index.upto == 0
        index.add(enumerate(texts), 15)
        assert index.upto == 15
        assert found(index, "w3x7 w9x1") == [9, 3]
        index.close()
        lock.execute("ROLLBACK")
        lock.close()
