"""The mark of a constraint that a model found in the user's words."""

from sightline.values.escape import plain_label
from sightline.values.phrases import say


def mark_found(text: str, reading: str, locale: str) -> str:
    """Return a text with the mark that a model found it, and how the model reads it, on one line."""
    label = plain_label(" ".join(reading.split()))
    return say("found", locale, text=text, reading=label) if label else say("found unread", locale, text=text)
