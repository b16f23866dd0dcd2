"""What a branch's log says about its compactions, for whoever shows them."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from sightline.compaction.loss import Loss
from sightline.errors import BadInput
from sightline.log import entries
from sightline.log.columns import BY_RULE, Compaction
from sightline.log.entries import CompactMetadata
from sightline.log.journal import Journal
from sightline.plan.view import messages_of, said_units


class CompactionInfo(NamedTuple):
    """One compaction of a branch."""

    boundary: int  # the seq of its entry in the log
    first: str  # ids of the first and the last item that it covers
    last: str
    messages: int  # that it covers
    tokens: int  # of these messages in full
    summaries: tuple[str, ...]  # ids of the items that replace them
    state: str  # "holds", "undone", or "replaced" by a later compaction that covers more
    timestamp: str
    by_rule: bool  # no model made the summary
    trigger: str  # "manual" or "auto"
    pre_tokens: int  # of the payload before it
    post_tokens: int | None  # of the payload right after it; as estimated, or None, if another program wrote it
    files: tuple[str, ...]  # shown to the model that made the summary


def list_compactions(journal: Journal) -> list[CompactionInfo]:
    """Return the compactions of the journal's branch, oldest first, also those undone or replaced."""
    timeline, path = journal.timeline, journal.path
    logged = [compaction for compaction in timeline.compactions if path.knows(compaction) and compaction.summaries]
    in_effect = {compaction.seq for compaction in timeline.compacted(path)}
    return [_describe(journal, compaction, compaction.seq in in_effect) for compaction in logged]


def _describe(journal: Journal, compaction: Compaction, holds: bool) -> CompactionInfo:
    timeline = journal.timeline
    ended = "undone" if any(map(journal.path.knows, compaction.undone)) else "replaced"
    first, last = timeline.unit_row[compaction.first], timeline.unit_row[compaction.last]
    units = said_units(timeline, journal.path, first, last + 1)
    rows = [timeline.unit_row[unit] for unit in compaction.summaries]
    entry = journal.reader.entry(rows[0])
    metadata = entry.compact_metadata or CompactMetadata("", 0)
    return CompactionInfo(
        boundary=compaction.seq,
        first=timeline.id(first),
        last=timeline.id(last),
        messages=sum(messages_of(timeline, unit) for unit in units),
        tokens=sum(timeline.unit_full[unit] for unit in units),
        summaries=tuple(map(timeline.id, rows)),
        state="holds" if holds else ended,
        timestamp=entry.timestamp,
        by_rule=bool(timeline.state[rows[0]] & BY_RULE),
        trigger=metadata.trigger,
        pre_tokens=metadata.pre_tokens,
        post_tokens=metadata.post_tokens if compaction.post_tokens is None else compaction.post_tokens,
        files=tuple(metadata.files_included or ()),
    )


def read_losses(journal: Journal) -> Iterator[tuple[int, Loss]]:
    """Yield the loss reports of the branch, each with the boundary of its compaction. Scans the whole log."""
    boundaries = [compaction.seq for compaction in journal.timeline.compactions if journal.path.knows(compaction)]
    for line in journal.store.scan() if boundaries else ():
        if b'"loss"' not in line.data:  # because decoding every line of a long log is slow
            continue
        with suppress(*entries.UNREADABLE, BadInput):
            entry = entries.decode(line.data)
            before = [boundary for boundary in boundaries if boundary < entry.seq]
            if entry.subtype == entries.LOSS and before:
                yield before[-1], entries.decode_data(entry, Loss)
