"""A line that was changed after it was folded: whether the columns still describe it, so that it can be shown as it is.

They do if it has the same items, none of them is larger than it was, and each result still answers its call. Then a
payload that was planned with them keeps its budget and its pairs.
"""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from sightline.log import entries
from sightline.log.columns import LABELLED, NONE, ORPHAN, TITLED
from sightline.log.entries import Entry
from sightline.values.items import Call, Item, Kind, Lod, Result

if TYPE_CHECKING:
    from sightline.log.levels import Reader


def is_described(reader: "Reader", entry: Entry, rows: range) -> bool:
    """Whether the columns of these rows, all of one line, describe what the line says now. An annotation has no rows.

    Reads the line again, and those of its calls and results.
    """
    timeline, state = reader.timeline, [reader.timeline.state[row] for row in rows]
    items = entries.items_of(entry)
    if (
        not rows
        or len(items) != len(rows)
        or [_kind(item, bits) for item, bits in zip(items, state, strict=True)] != [timeline.kind[row] for row in rows]
    ):
        return False
    flags = state[0] & (LABELLED | TITLED)
    sizes = reader.measure(replace(entry, seq=timeline.seq[rows[0]], flags=flags | entry.flags & ~(LABELLED | TITLED)))
    is_small = all(size <= timeline.full[row] for row, size in zip(rows, sizes, strict=True))
    return is_small and all(_is_paired(reader, row) and _are_levels_small(reader, row) for row in rows)


def _kind(item: Item, state: int) -> Kind:
    return Kind.USER if state & ORPHAN and item.kind is Kind.RESULT else item.kind


def _is_paired(reader: "Reader", row: int) -> bool:
    """Whether a call and its result name each other, or a pending call is still the one that is waited for."""
    timeline, partner = reader.timeline, reader.timeline.partner[row]
    if partner == NONE:
        return row not in timeline.open_calls or _call_id(reader.item(row)) == timeline.open_calls[row]
    return _call_id(reader.item(row)) == _call_id(reader.item(partner))


def _call_id(item: Item) -> str:
    part = item.parts[0] if item.parts else None
    return part.id if isinstance(part, Call | Result) else ""


def _are_levels_small(reader: "Reader", row: int) -> bool:
    """Whether no level that was counted is larger now, or missing."""
    known = {Lod.GIST: reader.timeline.gist[row], Lod.SUMMARY: reader.timeline.summary[row]}
    now = {lod: reader.timeline.make_levels(row, lod).get(lod, NONE) for lod, size in known.items() if size >= 0}
    return all(0 <= size <= known[lod] for lod, size in now.items())
