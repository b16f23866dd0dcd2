"""Rows around what matches: who says it, when, and what stands near it."""

from random import Random
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_rows import matches

from sightline.recall.search import Breadth, SearchIndex, SearchScope
from sightline.recall.search.bm25 import Hit
from sightline.recall.search.terms import (
    DATED,
    SPEAKER,
    cues,
    query_cues,
)
from sightline.session.session import Session
from sightline.testing import MemoryStore

SAID = [
    "crane",
    "quay",
    "seven",
    "lifts",
    "forty",
    "tonnes",
    "wind",
    "exceeds",
    "limit",
    "harbour",
    "pilot",
    "tug",
    "berth",
]
WIDE = Breadth(reach=60, terms=64, common=1.0)
words = st.sampled_from(["ferry", "quay", "crane", "Monday", "渡轮", "码头", "Ada:", "Ben:", "48", "the", "soup"])
talks = st.lists(st.lists(words, max_size=8).map(" ".join), min_size=1, max_size=40)


def answers(texts: list[str], question: str, limit: int = 100, size: int = 20) -> list[Hit]:
    """What is found in these rows, each of the same size."""
    index = SearchIndex(None)
    index.add(enumerate(texts), len(texts))
    known = SearchScope(lambda row: size if 0 <= row < len(texts) else 0, lambda _: True, WIDE)
    return index.answers(question, limit, known).hits


def test_what_matches_comes_first_then_what_is_near() -> None:
    """The further from the only match, the later a row comes."""
    texts = [f"row {n}" for n in range(9)]
    texts[4] = "the ferry leaves"
    assert [hit.row for hit in answers(texts, "ferry")][:3] == [4, 5, 3]
    assert answers(texts, "ferry")[-1].row in (0, 8)


def test_terms_that_stand_together_count_more() -> None:
    """Between two rows that hold one term each and a row that is next to both, all beat what is far from either."""
    texts = [f"row {n}" for n in range(60)]
    texts[10], texts[12], texts[40] = "ferry", "quay", "ferry"
    found = [hit.row for hit in answers(texts, "ferry quay", 3)]
    assert set(found) == {10, 11, 12}


def test_a_stretch_of_many_matches_comes_before_a_match_by_itself() -> None:
    """Of two rows next to one with the word, the one with more such rows around it comes first, though it is older."""
    texts = [f"row {n}" for n in range(60)]
    for row in (10, 12, 13, 40):
        texts[row] = "the ferry leaves"
    found = [hit.row for hit in answers(texts, "ferry")]
    assert found.index(11) < found.index(41)


@pytest.mark.parametrize(("text", "is_later"), [("Mm-hmm.", True), ("A ferry!", False)])
def test_a_short_row_comes_late_unless_it_matches_itself(text: str, is_later: bool) -> None:
    """It may stand nearer to a match than a longer row and be newer; it still says less."""
    texts = ["soup"] * 12 + ["well, and then we came to the quay", "the ferry leaves from here", text] + ["soup"] * 12
    index = SearchIndex(None)
    index.add(enumerate(texts), len(texts))
    size = {12: 20, 14: 3}
    found = index.answers("ferry", 100, SearchScope(lambda row: size.get(row, 20), lambda _: True, WIDE)).hits
    rows = [hit.row for hit in found]
    assert (rows.index(14) > rows.index(12)) is is_later


@pytest.mark.parametrize(("text", "is_later"), [("Ben: Yeah.", True), ("Ben: A ferry!", False)])
def test_a_short_row_comes_late_if_only_the_name_of_its_speaker_matches(text: str, is_later: bool) -> None:
    """Who is asked for said "Yeah" many times."""
    texts = ["Ada: soup"] * 12 + [text, "Ada: soup", "Ben: well, and then we came to the quay"] + ["Ada: soup"] * 12
    index = SearchIndex(None)
    index.add(enumerate(texts), len(texts))
    size = {12: 3}
    hits = index.answers(
        "What did Ben say about ferries?", 9, SearchScope(lambda row: size.get(row, 20), lambda _: True, WIDE)
    ).hits
    rows = [hit.row for hit in hits]
    assert (rows.index(12) > rows.index(14)) is is_later


def test_rows_outside_the_conversation_are_not_there() -> None:
    """A row of size 0 is neither found nor does it lend what it says to its neighbours."""
    index = SearchIndex(None)
    index.add(enumerate(["soup", "the ferry", "soup"]), 3)
    where = SearchScope(lambda row: 0 if row == 1 else 20, lambda _: True, WIDE)
    assert index.answers("ferry", 10, where).hits == []


@pytest.mark.slow
@given(talks, st.lists(words, min_size=1, max_size=6).map(" ".join), st.floats(0, 1.5), st.sampled_from([3, 3_000]))
def test_nothing_is_ranked_where_no_row_can_match_well_enough(
    texts: list[str], question: str, least: float, scanned: int
) -> None:
    """With a least share a search finds the same, or nothing, and that only if no row has this share."""
    index = SearchIndex(None)
    index.add(enumerate(texts), len(texts))
    known = SearchScope(lambda row: 20 if 0 <= row < len(texts) else 0, lambda _: True, WIDE)
    with mock.patch("sightline.recall.search.bm25.MAX_SCANNED", scanned):  # with 3, few terms bring in rows
        every = index.answers(question, 100, known)
        found = index.answers(question, 100, known, least)
    assert found.terms == every.terms
    assert found.hits in (every.hits, [])
    if not found.hits:
        assert all(hit.share < least for hit in every.hits)


def test_a_search_of_words_that_are_everywhere_ranks_nothing() -> None:
    """A message of many words, of which no row has more than a few, is not worth ranking."""
    texts = [f"ferry {n}" for n in range(40)]
    index = SearchIndex(None)
    index.add(enumerate(texts), len(texts))
    known = SearchScope(lambda _: 20, lambda _: True, WIDE)
    with mock.patch("sightline.recall.search.index.rank_with_neighbours") as ranked:
        assert index.answers("ferry 1 2 3 4 5 6 7 8", 100, known, 0.35).hits == []
    ranked.assert_not_called()


def test_cues() -> None:
    """A row is known by who says it and by whether it names a time; a question by whom it names and if it asks when."""
    assert cues("Ada Lovelace: hello") == [SPEAKER + "ada", SPEAKER + "lovelac"]
    assert cues("[8 May]\nBen: see you tomorrow") == [SPEAKER + "ben", DATED]
    assert cues("王芳：明天见") == [SPEAKER + term for term in ("王", "芳", "王芳")] + [DATED]
    assert cues("a sentence that goes on for long before: this") == []
    assert query_cues("When did Ada leave?", ["ada", "leav"]) == [SPEAKER + "ada", DATED]
    assert query_cues("她什么时候走的？", []) == [DATED]


@pytest.mark.slow
@given(talks, words)
def test_every_row_is_found_at_most_once(texts: list[str], question: str) -> None:
    """Whatever is asked, rows are distinct, in range, best first; and the same question finds the same again."""
    hits = answers(texts, question)
    rows = [hit.row for hit in hits]
    assert len(rows) == len(set(rows))
    assert all(0 <= row < len(texts) for row in rows)
    assert hits == sorted(hits, key=lambda hit: (hit.score, hit.row), reverse=True)
    assert hits == answers(texts, question)


@pytest.mark.slow
@given(talks, words)
def test_near_or_not_a_match_is_found(texts: list[str], question: str) -> None:
    """What the plain search finds is also found by way of its surroundings."""
    index = SearchIndex(None)
    index.add(enumerate(texts), len(texts))
    plain = {hit.row for hit in matches(index, question, 100)}
    assert plain <= {hit.row for hit in answers(texts, question)}


@pytest.mark.slow
def test_of_equal_rows_the_newer_comes_first() -> None:
    """However the words around them are distributed: what is added up in another order is still equal."""
    draw = Random(1)
    for _ in range(12):
        said, session, equal = draw.sample(SAID, 9), Session(MemoryStore("s")), list[str]()
        for _ in range(3):
            for _ in range(60):
                session.user("filler " + " ".join(draw.choices(["alpha", "beta", "gamma", "delta", "omega"], k=30)))
            equal.append(session.user("the " + " ".join(said)))
            for _ in range(2):
                session.user("well " + " ".join(draw.sample(said, draw.randint(1, 4))))
        found = [hit.id for hit in session.items.search("the " + " ".join(said)) if hit.id in equal]
        assert found == equal[::-1]
