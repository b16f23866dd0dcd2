"""Rows to search in."""

from collections.abc import Iterable
from pathlib import Path

from hypothesis import strategies as st

from sightline.recall.search import SearchIndex

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
