"""Search: what a text can be found by, the index over a timeline's rows, and the lines of a text that answer."""

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.search import INDEXED, SPAN, SearchIndex, passages, terms

ROWS = [
    "The cat sat on the mat near the window",
    "Deploy failed: connection refused by db-primary.internal",
    "We agreed that get_user_name raises KeyError for unknown ids",
    "我想预订故宫附近的酒店，价格四百元以内",
    "Cats are sleeping; nothing else happened",
]

WORDS = st.sampled_from(
    ["alpha", "beta", "gamma", "getUserName", "src/app/main.py", "北京", "故宫", "42", "running", "the"]
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


def filled(texts: Iterable[str], path: Path | None = None, key: str = "log") -> SearchIndex:
    """An index that has been offered these texts as rows 0, 1, 2 and so on, from where it stood."""
    rows = list(enumerate(texts))
    index = SearchIndex(None if path is None else str(path), key=key)
    index.add(rows[index.upto :], len(rows))
    return index


def found(index: SearchIndex, query: str, limit: int = 20) -> list[int]:
    return [hit.row for hit in index.search(query, limit)]


def words(text: str) -> int:
    return len(text.split())


class TestTerms:
    @pytest.mark.parametrize(
        ("text", "others"),
        [
            ("cats", "cat"),
            ("running", "runs"),
            ("studied", "studies"),
            ("the dog's", "the dogs"),
            ("The dog’s", "the dogs"),
            ("making", "makes"),
            ("boxes", "box"),
            ("Straße ＡＢＣ", "straße abc"),
            ("1,200", "1200"),
        ],
    )
    def test_forms_of_a_word_are_one_term(self, text: str, others: str) -> None:
        """Plural, -ing, -ed, 's, case, width and grouping of digits make no difference."""
        assert terms(text) == terms(others)

    @pytest.mark.parametrize("word", ["class", "bus", "is", "this", "his"])
    def test_words_that_merely_end_in_s_keep_it(self, word: str) -> None:
        """A final s that is no plural stays."""
        assert terms(word) == [word]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("get_user_count", {"get_user_count", "get", "user", "count"}),
            ("getUserCount", {"getusercount", "get", "user", "count"}),
            ("HTTPServer2", {"httpserver2", "http", "server", "2"}),
            ("src/app/main.py:42", {"src/app/main.py", "src", "app", "main.py", "main", "py", "42"}),
            (r"C:\temp\a.txt", {"c", r"temp\a.txt", "temp", "a.txt", "a", "txt"}),
            ("no-one@host.org", {"no-one@host.org", "no", "one", "host", "org"}),
        ],
    )
    def test_identifiers_stand_whole_and_in_pieces(self, text: str, expected: set[str]) -> None:
        """Snake, camel, path and address are found by the whole and by each piece."""
        assert set(terms(text)) == expected

    def test_a_hash_is_not_taken_apart(self) -> None:
        """Letters and digits in turn are one term."""
        assert terms("e3b0c44298fc1c14") == ["e3b0c44298fc1c14"]

    def test_chinese_becomes_characters_and_pairs(self) -> None:
        """A run without spaces is found by any character and any two neighbours, also beside Latin letters."""
        assert terms("故宫门a") == ["故", "宫", "门", "故宫", "宫门", "a"]

    @given(st.text())
    def test_terms_can_be_stored_and_compared(self, text: str) -> None:
        """Any text gives terms that are valid Unicode, lower case, bounded and free of spaces and NUL."""
        for term in terms(text):
            assert 0 < len(term) <= 64
            assert term == term.lower()
            assert not any(c.isspace() or c == "\0" for c in term)
            term.encode()

    @given(st.text(alphabet=st.characters(codec="ascii")))
    def test_plain_text_is_cut_as_any_other(self, text: str) -> None:
        """What follows in another script changes no term of what stands before it."""
        assert terms(text + " é") == [*terms(text), "é"]


class TestSearch:
    def test_the_row_that_says_it_is_first(self) -> None:
        """Each row is found by what only it says, in any form."""
        index = filled(ROWS)
        assert found(index, "why was the connection to db-primary refused?")[0] == 1
        assert found(index, "getUserName")[0] == 2
        assert found(index, "故宫的酒店")[0] == 3
        assert found(index, "cat") == [4, 0]

    def test_rare_terms_outweigh_common_ones(self) -> None:
        """One row with the identifier comes before rows with every ordinary word of the question."""
        texts = [f"the order of the customer number {i} was shipped" for i in range(50)] + ["see ORD-77131"]
        assert found(filled(texts), "was the customer order ORD-77131 shipped")[0] == 50

    def test_equal_rows_are_newest_first(self) -> None:
        """Ties go to the newer row, also when the limit cuts them."""
        assert found(filled(["same words", "other", "same words", "same words"]), "same words", limit=2) == [3, 2]

    def test_a_term_that_stands_everywhere_is_dropped_unless_it_is_all_there_is(self) -> None:
        """'zebra' brings its row only; 'user' alone brings those it stands in."""
        index = filled([f"user {i}" for i in range(40)] + ["zebra"])
        assert found(index, "user zebra") == [40]
        assert len(found(index, "user", limit=100)) == 40

    def test_function_words_count_only_alone(self) -> None:
        """A question's small words bring no rows, but can be searched for."""
        index = filled(["who would have been there", "the giraffe", "nothing"])
        assert found(index, "where would the giraffe have been") == [1]
        assert found(index, "who would have been there") == [0]

    def test_bounds_and_filter(self) -> None:
        """Only rows within the half-open range that the filter allows are found, as many as the limit says."""
        index = filled(["apple"] * 30)
        assert [h.row for h in index.search("apple", rows_between=(10, 13))] == [12, 11, 10]
        assert [h.row for h in index.search("apple", 3, among=lambda row: row % 7 == 0)] == [28, 21, 14]
        assert index.search("apple", 0) == []
        assert index.search("apple", rows_between=(30, 99)) == []

    @pytest.mark.parametrize(
        "query",
        ['"cat', "cat AND", "NEAR(cat)", "cat*", "row:cat", "-cat", "cat\0mat", "'; DROP TABLE head; --cat", "(cat"],
    )
    def test_a_query_is_only_text(self, query: str) -> None:
        """No character of a query is syntax."""
        assert 0 in found(filled(ROWS), query)

    @given(TEXTS, st.text())
    def test_any_query_is_answered(self, text: str, query: str) -> None:
        """Nothing raises, also for lone surrogates, and every hit has a positive score."""
        index = filled([text, "\ud800 x", ""])
        hits = index.search(query + "\udfff gamma " + text)
        assert all(hit.score > 0 for hit in hits)
        assert "gamma" not in text or 0 in {hit.row for hit in hits}

    def test_a_long_query_is_bounded_by_its_longest_terms(self) -> None:
        """A pasted page still finds the row with its rarest name."""
        page = " ".join(f"w{i}" for i in range(2000)) + " reconciliation_worker_failed"
        assert found(filled([*ROWS, "reconciliation_worker_failed again"]), page) == [5]

    def test_of_a_long_row_head_tail_and_samples_are_found(self) -> None:
        """The ends of a huge row are indexed whole; its middle in samples."""
        middle = "filler " * INDEXED
        index = filled(["first_marker " + middle + "seen_often " * 20_000 + middle + "last_marker"])
        for query in ("first_marker", "last_marker", "seen_often"):
            assert found(index, query) == [0]

    def test_work_beyond_the_scan_limit_keeps_the_rare_row_first(self) -> None:
        """With more postings than one search reads, common terms still order the rows that rarer ones brought."""
        texts = [f"alpha w{i % 4} x{i % 4} y{i % 4} z{i % 4}" for i in range(30_000)]
        texts[100], texts[200] = "needle alone", "needle w1 x2"
        assert found(filled(texts), "needle w1 x2 y3 z0", limit=2) == [200, 100]


class TestIncrement:
    @given(st.lists(TEXTS, max_size=12), st.lists(st.integers(0, 12), max_size=6), TEXTS)
    def test_in_pieces_is_as_in_one(self, texts: list[str], cuts: list[int], query: str) -> None:
        """However the rows arrive, the hits and scores are the same."""
        pieces = SearchIndex(None)
        for cut in [*sorted(cuts), len(texts)]:
            pieces.add(list(enumerate(texts))[pieces.upto : cut], min(cut, len(texts)))
        assert pieces.upto == len(texts)
        assert pieces.search(query) == filled(texts).search(query)

    @given(st.lists(TEXTS, max_size=12), st.lists(st.integers(0, 12), max_size=6), TEXTS)
    def test_reopened_is_as_never_closed(
        self, tmp_path_factory: pytest.TempPathFactory, texts: list[str], cuts: list[int], query: str
    ) -> None:
        """Closed and opened again after any row, the hits and scores are the same."""
        path = tmp_path_factory.mktemp("index") / "s.idx"
        for cut in sorted(cuts):
            filled(texts[:cut], path).close()
        index = filled(texts, path)
        assert index.search(query) == filled(texts).search(query)
        index.close()

    def test_rows_offered_again_count_once(self) -> None:
        """Offering the same rows twice changes nothing."""
        index = filled(ROWS)
        before = index.search("cat")
        index.add(enumerate(ROWS), len(ROWS))
        assert index.search("cat") == before

    def test_upto_counts_rows_without_text(self, tmp_path: Path) -> None:
        """Rows nobody had text for are offered too, and stay so after reopening."""
        path = tmp_path / "s.idx"
        index = SearchIndex(str(path))
        index.add([(3, "apple"), (7, "pear")], 20)
        assert index.upto == 20
        index.close()
        index = SearchIndex(str(path))
        assert index.upto == 20
        assert found(index, "pear") == [7]
        index.close()

    def test_a_failing_source_leaves_what_it_gave(self) -> None:
        """When reading a row fails, those before it are in and the rest is still to be offered."""

        def broken() -> Iterable[tuple[int, str]]:
            yield 0, "apple"
            raise OSError("disk")

        index = SearchIndex(None)
        with pytest.raises(OSError, match="disk"):
            index.add(broken(), 5)
        assert index.upto == 1
        assert found(index, "apple") == [0]

    def test_many_rows_make_few_segments_and_the_same_hits(self, tmp_path: Path) -> None:
        """Flushing and merging while rows arrive loses no row and mixes up none."""
        path = tmp_path / "s.idx"
        texts = [" ".join(f"t{(i * 37 + k) % 5000}" for k in range(100)) + f" only{i}" for i in range(1500)]
        index = filled(texts, path)
        for row in (0, 1, 327, 328, 700, 1311, 1499):
            assert found(index, f"only{row}") == [row]
        assert index.search("t77 t4000 only9") == filled(texts).search("t77 t4000 only9")
        index.close()
        with sqlite3.connect(path) as db:
            (segments,) = db.execute("SELECT count(*) FROM segment").fetchone()
        db.close()
        assert 1 < segments < 8

    def test_rows_far_apart(self, tmp_path: Path) -> None:
        """Row numbers may leap by more than one segment can span."""
        index = SearchIndex(str(tmp_path / "s.idx"))
        rows = [0, 5, SPAN - 1, SPAN, 3 * SPAN, 10**9]
        index.add([(row, "apple") for row in rows], 10**9 + 1)
        assert found(index, "apple") == rows[::-1]
        index.close()


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
        index.search("cat connection 故宫")
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
            "import os, sys; from sightline.search import SearchIndex\n"
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
        assert second.search("cat") == filled(ROWS).search("cat")
        second.close()
        third = SearchIndex(str(path), key="log")
        assert third.upto == 5
        assert third.search("cat") == filled(ROWS).search("cat")
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


class TestPassages:
    LOG = "\n".join(["start", *(f"step {i} fine" for i in range(50)), "ERROR disk full on node7", *["later"] * 50])

    def test_everything_where_it_fits(self) -> None:
        """A text within the room is one range, whatever is asked."""
        assert passages(self.LOG, "unrelated", 1000, words) == [(1, 102)]
        assert passages("", "x", 10, words) == [(1, 1)]

    def test_the_line_that_answers_and_its_surroundings(self) -> None:
        """The best line comes with two on each side, and alone where there is no room for them."""
        assert passages(self.LOG, "why is the disk full?", 20, words) == [(50, 54)]
        assert passages(self.LOG, "why is the disk full?", 7, words) == [(52, 52)]

    def test_rarer_words_first(self) -> None:
        """With room for one line, that with the rare name wins over the many with the common one."""
        assert passages(self.LOG, "step node7", 6, words) == [(52, 52)]

    def test_neighbouring_ranges_are_merged(self) -> None:
        """Matches close to each other are one range."""
        text = "\n".join(["x"] * 10 + ["apple", "x", "x", "pear"] + ["x"] * 10)
        assert passages(text, "apple pear", 12, words) == [(9, 16)]

    def test_nothing_where_nothing_fits_or_matches(self) -> None:
        """A line larger than the room, and a query nothing answers, give no ranges."""
        assert passages("apple " * 100 + "\nother", "apple", 10, words) == []
        assert passages(self.LOG, "giraffe", 10, words) == []
        assert passages("a b c", "a", 0, words) == []

    @given(st.lists(TEXTS, max_size=30), TEXTS, st.integers(-1, 40))
    def test_ranges_are_in_order_apart_and_within_the_room(self, lines: list[str], query: str, room: int) -> None:
        """Whatever is asked, ranges ascend, never touch, lie inside the text and cost no more than allowed."""
        text = "\n".join(lines)
        ranges = passages(text, query, room, words)
        split = text.split("\n")
        assert sum(words("\n".join(split[first - 1 : last])) for first, last in ranges) <= max(room, 0)
        assert all(1 <= first <= last <= len(split) for first, last in ranges)
        assert all(one[1] + 1 < other[0] for one, other in pairwise(ranges))
