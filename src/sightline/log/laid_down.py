"""What the user laid down on a branch, and whether it still holds."""

from collections.abc import Iterator
from typing import NamedTuple

from sightline.log.annotations import FoundQuote
from sightline.log.journal import Journal
from sightline.values.found_mark import mark_found


class LaidDown(NamedTuple):
    """A constraint of the user, word for word."""

    row: int  # of its message
    sentence: str
    revoked: bool  # all of it, by later sentences
    found: FoundQuote | None = None  # by a model; None: by the rules

    def marked(self, text: str, locale: str) -> str:
        """Return the sentence, or this text of it, with a mark if a model found it, and with how the model reads it."""
        return mark_found(text, self.found.reading, locale) if self.found else text


def laid_down(journal: Journal) -> Iterator[LaidDown]:
    """Yield the constraints on the branch that the journal writes to, the newest first.

    Of a message, those that the rules find come before those that only a model found.
    """
    from sightline.shorten.rules.revocations import Lifted  # a sweep needs it

    timeline, path = journal.timeline, journal.path

    def message_before(row: int) -> int:
        unit = timeline.last_user(path, row)
        return timeline.unit_row[unit] if unit >= 0 else row

    lifted = Lifted(message_before)
    for row in journal.reader.constraint_rows(path):
        for sentence in reversed(journal.reader.constraints(row)):
            yield LaidDown(row, sentence, lifted.takes(sentence, row))
        for found in reversed(journal.reader.found(row)):
            # What a model chose or wrote never revokes anything. Its reading says more clearly what is revoked.
            yield LaidDown(row, found.quote, lifted.is_lifted(found.reading or found.quote, row), found)
