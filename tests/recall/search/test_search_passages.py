"""The lines of a text that answer."""

import unicodedata
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_rows import TEXTS

from sightline.recall.search import passages as passages_with
from sightline.recall.search.terms import query_terms, terms


def words(text: str) -> int:
    return len(text.split())


def passages(text: str, query: str, max_tokens: int, count: Callable[[str], int]) -> list[tuple[int, int]]:
    return passages_with(text, query_terms(query), max_tokens, count)


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

    @pytest.mark.parametrize(
        ("line", "query"),
        [
            ("many studies were made", "study"),
            ("it costs 1,200 in all", "1200"),
            ("it costs 1200 in all", "1,200"),
            ("call getUserName first", "user"),
            ("seen by HTTPServer2", "server"),
            ("ＤＩＳＫ is full", "disk"),
            ("İ disk is full", "disk"),
            (unicodedata.normalize("NFD", "the Résumé is there"), "résumé"),
            ("signed O’Brien", "o'brien"),
            ("在故宫门前", "故宫"),
            ("门a", "a"),
        ],
    )
    def test_however_it_is_written(self, line: str, query: str) -> None:
        """A line is found by any term it holds, whatever its spelling."""
        assert passages("\n".join(["other words here"] * 9 + [line] + ["other words here"] * 9), query, 6, words) == [
            (10, 10)
        ]

    @given(st.lists(TEXTS, max_size=30), TEXTS)
    def test_found_where_a_term_is_shared(self, lines: list[str], query: str) -> None:
        """With room for any line but not for all, lines are shown exactly if one shares a term with the query."""
        query = query.replace("the", "")
        text = "\n".join([*lines, *["filler"] * 20])
        shared = set(terms(query)) & set(terms(text))
        assert bool(passages(text, query, 13, words)) == bool(shared)

    def test_letters_amid_a_word_are_no_match(self) -> None:
        """Parts of words that are no terms bring nothing."""
        assert passages("\n".join(["concatenate category"] * 20), "cat", 6, words) == []

    def test_a_rare_word_deep_in_a_long_text(self) -> None:
        """Words that stand in very many lines do not hide the line with the rare one."""
        lines = [f"info request to service failed with error {i}" for i in range(5_000)]
        lines[4_000] = "node7 gone"
        ranges = passages("\n".join(lines), "did the service request fail with an error info on node7", 6, words)
        assert ranges == [(4_001, 4_001)]

    def test_lines_too_long_to_show_are_no_obstacle(self) -> None:
        """Better matches that cannot be shown leave the place to those that can."""
        lines = [f"disk node7 {'filler ' * 400}"] * 50 + ["disk full"]
        assert passages("\n".join(lines), "disk node7", 6, words) == [(51, 51)]
