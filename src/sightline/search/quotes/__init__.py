"""Quotes: what a conversation has settled, as short spans of its own turns."""

from sightline.search.quotes.ledger import ledger
from sightline.search.quotes.reading import Quote, quotes

__all__ = ["Quote", "ledger", "quotes"]
