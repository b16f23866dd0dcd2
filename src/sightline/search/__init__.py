"""Finding rows of a timeline by what they say: terms, an incremental BM25 index, and the lines that answer."""

from sightline.search.index import SearchIndex
from sightline.search.nearness import Where
from sightline.search.passages import passages
from sightline.search.ranking import Hit
from sightline.search.terms import asks_for_all, terms

__all__ = ["Hit", "SearchIndex", "Where", "asks_for_all", "passages", "terms"]
