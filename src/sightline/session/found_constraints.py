"""What a model finds that the user laid down: which messages it has not read, and what of its findings is accepted."""

from collections.abc import Iterable
from itertools import islice, takewhile

from sightline.errors import BadInput
from sightline.log import entries
from sightline.log.annotations import FoundQuote, LaidDownNote
from sightline.log.journal import Journal
from sightline.values.items import Kind

_MOST = 8  # found in one message; the rest is refused
_LONGEST, _SHORTEST = 400, 4  # characters of a quotation: more is no sentence, less says nothing
_READING = 160  # characters of how a model reads it


def unexamined(journal: Journal, most: int) -> list[int]:
    """Return the newest of the user's own messages before the last that a model has read, oldest first."""
    timeline = journal.timeline
    users = filter(timeline.is_users_own, timeline.rows_on(journal.path, timeline.newest_of(Kind.USER)))
    return [*islice(takewhile(lambda row: row not in timeline.found, users), most)][::-1]


def add(journal: Journal, row: int, found: Iterable[tuple[str, str]]) -> list[FoundQuote]:
    """Log what of these findings is a quotation of the message, and that a model has read it. Return these."""
    if not journal.timeline.is_users_own(row):
        raise BadInput(f"#{journal.timeline.id(row)} is not a message of the user's own")
    text, accepted = journal.reader.text(row), dict[str, FoundQuote]()
    for said, read in found:
        quote, reading = said.strip(), " ".join(read.split())
        if _SHORTEST <= len(quote) <= _LONGEST and quote in text:
            accepted.setdefault(quote, FoundQuote(quote, reading if len(reading) <= _READING else ""))
    kept = [*accepted.values()][:_MOST]
    journal.annotate((entries.LAID_DOWN, LaidDownNote(journal.timeline.id(row), kept)))
    return kept
