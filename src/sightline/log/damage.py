"""Folds lines that may be damaged. What cannot be read is passed over, what has changed is kept; both are reported."""

from contextlib import suppress

from sightline.errors import BadInput
from sightline.log import entries
from sightline.log.entries import Entry
from sightline.log.fold import GrowingTimeline
from sightline.log.stores import Line, Span
from sightline.values.logger import log_warning

CHANGED_LINE = "has changed since it was written, and is used as it is now"


def fold_line(timeline: GrowingTimeline, line: Line, session_id: str) -> None:
    """Fold a line as it is in the store. Damage is listed in the timeline and logged; nothing is raised."""
    try:
        entry = entries.decode(line.data)
    except entries.UNREADABLE as error:
        _report(timeline.damaged, line.span, session_id, f"is no entry of a form we know and is passed over: {error}")
        with suppress(*entries.UNREADABLE):  # the next entry may follow it: its own writer could read it
            timeline.follow(entries.decode_tip(line.data))
        return
    changed = not entries.is_intact(line.data)
    if changed:
        _report(timeline.changed, line.span, session_id, CHANGED_LINE)
    fold_entry(timeline, timeline.with_valid_numbers(entry, changed=changed), line.span, session_id)


def fold_entry(timeline: GrowingTimeline, entry: Entry, span: Span, session_id: str) -> range:
    """Fold an entry and return its rows. An annotation that cannot be read is listed, logged and has no effect."""
    try:
        return timeline.fold(entry, span)
    except (BadInput, *entries.UNREADABLE) as error:
        _report(timeline.damaged, span, session_id, f"(entry {entry.uuid}) is passed over: {error}")
        timeline.follow(entry)
        return range(0)


def _report(found: list[int], span: Span, session_id: str, what: str) -> None:
    found.append(span.offset)
    warn(session_id, span, what)


def warn(session_id: str, span: Span, what: str) -> None:
    """Tell whoever runs this of a line."""
    log_warning("%s: the line at %d %s", session_id, span.offset, what)
