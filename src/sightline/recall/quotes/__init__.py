"""Quotes: what a conversation has settled, as short spans of its own turns."""

from sightline.recall.quotes.ledger import ledger
from sightline.recall.quotes.turn_values import Quote, quotes

__all__ = ["Quote", "ledger", "quotes"]
