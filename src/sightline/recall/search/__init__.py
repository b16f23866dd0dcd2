"""Finds rows of a timeline by their text: terms, an incremental BM25 index, and the lines of a text that match.

It knows no session and no log: rows are numbers with texts. What is brought back is chosen one package up, in `recall`.
"""

from sightline.recall.search.bm25 import Hit
from sightline.recall.search.index import SearchIndex, SearchResult, looked_up
from sightline.recall.search.neighbours import Breadth, SearchScope
from sightline.recall.search.passages import merge_ranges, passages
from sightline.recall.search.terms import CHUNK, CJK_RUN, TIME_MARK

__all__ = [
    "CHUNK",
    "CJK_RUN",
    "TIME_MARK",
    "Breadth",
    "Hit",
    "SearchIndex",
    "SearchResult",
    "SearchScope",
    "looked_up",
    "merge_ranges",
    "passages",
]
