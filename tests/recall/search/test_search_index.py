"""The index over a timeline's rows: what is found, and that rows may arrive in any pieces."""

from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from search_rows import ROWS, TEXTS, filled, found, matches

from sightline.log.stores.memory import MemoryStore
from sightline.recall.search import SearchIndex, looked_up
from sightline.recall.search.postings import MAX_SPAN
from sightline.recall.search.terms import INDEXED_CHARS


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
        """Only rows that the filter allows are found, the newer first, and no more than the limit says."""
        index = filled(["apple"] * 30)
        assert [h.row for h in matches(index, "apple", among=lambda row: 10 <= row < 13)] == [12, 11, 10]
        assert [h.row for h in matches(index, "apple", among=lambda row: row % 7 == 0)] == [28, 21, 14, 7, 0]
        few = [h.row for h in matches(index, "apple", 3, among=lambda row: row % 7 == 0)]
        assert 0 < len(few) <= 3
        assert few == [28, 21, 14][: len(few)]
        assert matches(index, "apple", 0) == []
        assert matches(index, "apple", among=lambda row: row >= 30) == []

    @pytest.mark.parametrize(
        "query",
        ['"cat', "cat AND", "NEAR(cat)", "cat*", "row:cat", "-cat", "cat\0mat", "'; DROP TABLE head; --cat", "(cat"],
    )
    def test_a_query_is_only_text(self, query: str) -> None:
        """No character of a query is syntax."""
        assert 0 in found(filled(ROWS), query)

    @pytest.mark.slow
    @given(TEXTS, st.text())
    def test_any_query_is_answered(self, text: str, query: str) -> None:
        """Nothing raises, also for lone surrogates, and every hit has a positive score."""
        index = filled([text, "\ud800 x", ""])
        hits = matches(index, query + "\udfff gamma " + text)
        assert all(hit.score > 0 for hit in hits)
        assert "gamma" not in text or 0 in {hit.row for hit in hits}

    def test_a_long_query_is_bounded_by_its_longest_terms(self) -> None:
        """A pasted page still finds the row with its rarest name."""
        page = " ".join(f"w{i}" for i in range(2000)) + " reconciliation_worker_failed"
        assert found(filled([*ROWS, "reconciliation_worker_failed again"]), page) == [5]

    def test_of_a_long_row_head_tail_and_samples_are_found(self) -> None:
        """The ends of a huge row are indexed whole; its middle in samples."""
        middle = "filler " * INDEXED_CHARS
        index = filled(["first_marker " + middle + "seen_often " * 20_000 + middle + "last_marker"])
        for query in ("first_marker", "last_marker", "seen_often"):
            assert found(index, query) == [0]

    @pytest.mark.slow
    def test_work_beyond_the_scan_limit_keeps_the_rare_row_first(self) -> None:
        """With more postings than one search reads, common terms still order the rows that rarer ones brought."""
        texts = [f"alpha w{i % 4} x{i % 4} y{i % 4} z{i % 4}" for i in range(30_000)]
        texts[100], texts[200] = "needle alone", "needle w1 x2"
        assert found(filled(texts), "needle w1 x2 y3 z0", limit=2) == [200, 100]


class TestIncrement:
    @given(st.lists(TEXTS, max_size=12), st.lists(st.integers(0, 12), max_size=6), TEXTS)
    def test_in_pieces_is_as_in_one(self, texts: list[str], cuts: list[int], query: str) -> None:
        """However the rows arrive, the hits and scores are the same."""
        pieces = SearchIndex()
        for cut in [*sorted(cuts), len(texts)]:
            pieces.add(list(enumerate(texts))[pieces.upto : cut], min(cut, len(texts)))
        assert pieces.upto == len(texts)
        assert matches(pieces, query) == matches(filled(texts), query)

    @given(st.lists(TEXTS, max_size=12), TEXTS)
    @example(
        ["cities of 1,200 people", "the city", "Ben: STRASSE 2024, at /src/cities.py", "getCity"],
        "Ben, when city 1200?",
    )
    @example(
        ["a partner of main.py", "Ben: on 3 May, day and night", "copies, SHOP-12"], "Ben's py on that day: copy shop"
    )
    def test_with_only_the_wanted_terms_as_with_all(self, texts: list[str], query: str) -> None:
        """An index that takes in nothing but the terms of a query answers it as the whole one does."""
        wanted = looked_up(query)
        scanned = SearchIndex(only={*wanted})
        scanned.add(enumerate(texts), len(texts))
        whole = filled(texts)
        assert matches(scanned, query) == matches(whole, query)
        assert scanned.places(wanted) == whole.places(wanted)

    @pytest.mark.slow
    @given(st.lists(TEXTS, max_size=12), st.lists(st.integers(0, 12), max_size=6), TEXTS)
    def test_reopened_is_as_never_closed(self, texts: list[str], cuts: list[int], query: str) -> None:
        """Closed and opened again after any row, the hits and scores are the same."""
        store = MemoryStore()
        for cut in sorted(cuts):
            filled(texts[:cut], store).close()
        assert matches(filled(texts, store), query) == matches(filled(texts), query)

    def test_rows_offered_again_count_once(self) -> None:
        """Offering the same rows twice changes nothing."""
        index = filled(ROWS)
        before = matches(index, "cat")
        index.add(enumerate(ROWS), len(ROWS))
        assert matches(index, "cat") == before

    def test_upto_counts_rows_without_text(self) -> None:
        """Rows nobody had text for are offered too, and stay so after reopening."""
        store = MemoryStore()
        index = SearchIndex(store)
        index.add([(3, "apple"), (7, "pear")], 20)
        assert index.upto == 20
        index.close()
        index = SearchIndex(store)
        assert index.upto == 20
        assert found(index, "pear") == [7]
        index.add([], 30)
        index.close()
        assert SearchIndex(store).upto == 30

    def test_a_failing_source_leaves_what_it_gave(self) -> None:
        """When reading a row fails, those before it are in and the rest is still to be offered."""

        def broken() -> Iterable[tuple[int, str]]:
            yield 0, "apple"
            raise OSError("disk")

        index = SearchIndex()
        with pytest.raises(OSError, match="disk"):
            index.add(broken(), 5)
        assert index.upto == 1
        assert found(index, "apple") == [0]

    @pytest.mark.slow
    def test_many_rows_make_few_segments_and_the_same_hits(self) -> None:
        """Flushing and merging while rows arrive loses no row and mixes up none."""
        store = MemoryStore()
        texts = [" ".join(f"t{(i * 37 + k) % 5000}" for k in range(100)) + f" only{i}" for i in range(1500)]
        index = SearchIndex(store)
        for row, text in enumerate(texts):
            index.add([(row, text)], row + 1)
        for row in (0, 1, 327, 328, 700, 1311, 1499):
            assert found(index, f"only{row}") == [row]
        assert matches(index, "t77 t4000 only9") == matches(filled(texts), "t77 t4000 only9")
        index.close()
        segments = index._head.segments
        assert 1 < len(segments) < 8
        assert len(store._log.parts) == 1 + sum(segment.parts for segment in segments)  # none is left of merged ones

    def test_rows_that_come_at_once_make_one_segment(self) -> None:
        """Merging is for rows that come one by one."""
        texts = [" ".join(f"t{(i * 37 + k) % 5000}" for k in range(100)) for i in range(1500)]
        assert [len(filled(texts[:most], MemoryStore())._head.segments) for most in (100, 400, 1500)] == [0, 1, 1]

    def test_rows_far_apart(self) -> None:
        """Row numbers may leap by more than one segment can span."""
        index = SearchIndex(MemoryStore())
        rows = [0, 5, MAX_SPAN - 1, MAX_SPAN, 3 * MAX_SPAN, 10**9]
        index.add([(row, "apple") for row in rows], 10**9 + 1)
        assert found(index, "apple") == rows[::-1]
        index.close()
