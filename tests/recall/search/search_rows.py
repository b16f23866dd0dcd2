"""Rows to search in."""

from collections.abc import Callable, Iterable

from hypothesis import strategies as st

from sightline.log.stores import Derived
from sightline.recall.search import Breadth, SearchIndex, SearchScope
from sightline.recall.search.bm25 import Hit

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


def filled(texts: Iterable[str], derived: Derived | None = None, key: str = "log") -> SearchIndex:
    """An index that has been offered these texts as rows 0, 1, 2 and so on, from where it stood."""
    rows = list(enumerate(texts))
    index = SearchIndex(derived, key=key)
    index.add(rows[index.upto :], len(rows))
    return index


def matches(
    index: SearchIndex, query: str, limit: int = 20, *, among: Callable[[int], bool] = lambda _: True
) -> list[Hit]:
    """The rows that match best by their own text, best first, of equal ones the newer first."""
    scope = SearchScope(lambda _: 1, among, Breadth(0, 64, 0.3))
    return list(index.answers(query, limit, scope).hits)


def found(index: SearchIndex, query: str, limit: int = 20) -> list[int]:
    return [hit.row for hit in matches(index, query, limit)]
