"""Finding rows of a timeline by what they say: terms, an incremental BM25 index, and the lines that answer."""

from sightline.recall.search.bm25 import Hit
from sightline.recall.search.index import SearchIndex
from sightline.recall.search.neighbours import Where
from sightline.recall.search.passages import passages
from sightline.recall.search.terms import BESIDE, asks_for_all, besides_all, terms

__all__ = ["BESIDE", "Hit", "SearchIndex", "Where", "asks_for_all", "besides_all", "passages", "terms"]
