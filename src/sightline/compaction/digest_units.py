"""A digest of units that a compaction covers, made by rule from what the log has of them."""

from collections.abc import Sequence

from sightline.compaction.unit_range import UnitRange
from sightline.log.columns import BY_RULE, NOTICE
from sightline.log.journal import Journal
from sightline.values.items import Kind


def digest_units(
    journal: Journal, covered: UnitRange, units: Sequence[int], summaries: Sequence[int], most: int
) -> str:
    """Return a digest of some covered units, in at most this many tokens and half of theirs; "" if no line fits.

    It continues the summaries of earlier units.
    """
    from sightline.shorten.digest import as_notes, digest  # takes 7 ms, and few sessions are compacted

    timeline, reader = journal.timeline, journal.reader
    rows = [timeline.unit_row[unit] for unit in summaries]
    before = "\n\n".join(
        reader.text(row) if timeline.state[row] & BY_RULE else as_notes(reader.text(row))
        for row in rows
        if not timeline.state[row] & NOTICE
    )
    items = [reader.item(row) for unit in units for row in timeline.rows_of(unit)]
    full = sum(timeline.unit_full[unit] for unit in (*units, *summaries))
    ends, then, count = not _asks_later(journal, covered), covered.next_speaker(), reader.counter.count
    tokens = min(most, full // 2)
    return digest(items, tokens=tokens, count=count, locale=reader.locale, before=before, ends=ends, then=then)


def _asks_later(journal: Journal, covered: UnitRange) -> bool:
    """Whether the user asks for something after these units, so that nothing in them is the current request."""
    from sightline.shorten.digest.speech import is_request

    timeline, reader = journal.timeline, journal.reader
    later = (row for row in range(len(timeline) - 1, -1, -1) if timeline.unit[row] > covered.last)
    said = (row for row in timeline.rows_on(journal.path, later) if timeline.kind[row] == Kind.USER)
    return any(not timeline.is_by_program(row) and is_request(reader.text(row)) for row in said)
