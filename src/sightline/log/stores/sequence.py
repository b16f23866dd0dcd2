"""Numbering of entries: the part of an append that is the same in every store."""

from msgspec.structs import replace

from sightline.errors import Conflict
from sightline.log.entries import Entry, Tip
from sightline.log.stores import Make, Tips

_MOST_SEQ = 1 << 62  # a larger seq is not ours, and no column could store the next one


def number(make: Make, branch: str, expected_head: str | None, tips: Tips) -> list[Entry]:
    """Make the entries with seq, branch and batch set, and move `tips` past them.

    Raises:
        Conflict: there is a conversation entry among them, and `expected_head` is no longer the last of the branch.
    """
    entries = list(make(tips.seq + 1))
    found = tips.heads.get(branch)
    if found != expected_head and any(entry.in_conversation for entry in entries):
        raise Conflict(branch, expected_head, found)
    count = len(entries)
    for at, entry in enumerate(entries):  # in place, because a long list would be in memory twice
        seq, batch = tips.seq + at + 1, (at + 1, count) if count > 1 else None
        if (entry.seq, entry.branch, entry.batch) != (seq, branch, batch):
            entries[at] = replace(entry, seq=seq, branch=branch, batch=batch)
        if entry.in_conversation:
            tips.heads[branch] = entry.uuid
    tips.seq += count
    tips.ends[branch] = tips.seq
    return entries


def advance(tips: Tips, tip: Tip) -> None:
    """Move `tips` past a line of another writer. Lines without a seq (from other programs) are numbered in order."""
    tips.seq = max(tips.seq + 1, tip.seq if tip.seq < _MOST_SEQ else 0)
    tips.ends[tip.branch] = tips.seq
    if tip.in_conversation:
        tips.heads[tip.branch] = tip.uuid
