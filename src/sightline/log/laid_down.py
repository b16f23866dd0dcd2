"""What the user laid down on a branch, and whether it still holds."""

from collections.abc import Iterator
from typing import NamedTuple

from sightline.log.journal import Journal


class LaidDown(NamedTuple):
    """A constraint of the user, word for word."""

    row: int  # of its message
    sentence: str
    revoked: bool  # all of it, by later sentences


def laid_down(journal: Journal) -> Iterator[LaidDown]:
    """Yield the constraints on the branch that the journal writes to, the newest first."""
    from sightline.shorten.rules.revocations import Lifted  # a sweep needs it

    timeline, path = journal.timeline, journal.path

    def message_before(row: int) -> int:
        unit = timeline.last_user(path, row)
        return timeline.unit_row[unit] if unit >= 0 else row

    lifted = Lifted(message_before)
    for row in journal.reader.constraint_rows(path):
        for sentence in reversed(journal.reader.constraints(row)):
            yield LaidDown(row, sentence, lifted.takes(sentence, row))
