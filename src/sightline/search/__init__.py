"""Finding rows of a timeline by what they say: terms, an incremental BM25 index, and the lines that answer."""

from sightline.search.index import SearchIndex
from sightline.search.nearness import Where
from sightline.search.passages import passages
from sightline.search.ranking import Hit
from sightline.search.terms import BESIDE, asks_for_all, besides_all, terms

__all__ = ["BESIDE", "Hit", "SearchIndex", "Where", "asks_for_all", "besides_all", "passages", "terms"]
