"""The part of an append that every store does alike."""

from msgspec.structs import replace

from sightline.errors import Conflict
from sightline.log.entries import Entry, Tip
from sightline.log.stores import Make, Tips

_MOST = 1 << 62  # a seq beyond it is no number of ours, and no column could hold the next


def number(make: Make, branch: str, expected_head: str | None, tips: Tips) -> list[Entry]:
    """The entries as they will stand: seq, branch and batch set; `tips` moved past them.

    Raises:
        Conflict: a conversation entry among them does not follow the branch's last one.
    """
    entries = make(tips.seq + 1)
    found = tips.heads.get(branch)
    if found != expected_head and any(entry.in_conversation for entry in entries):
        raise Conflict(branch, expected_head, found)
    count = len(entries)
    numbered = []
    for index, entry in enumerate(entries, start=1):
        batch = (index, count) if count > 1 else None
        numbered.append(replace(entry, seq=tips.seq + index, branch=branch, batch=batch))
        if entry.in_conversation:
            tips.heads[branch] = entry.uuid
    tips.seq += count
    tips.ends[branch] = tips.seq
    return numbered


def advance(tips: Tips, tip: Tip) -> None:
    """Take in a line that somebody else wrote. Lines without a seq (other programs' logs) are numbered as they come."""
    tips.seq = max(tips.seq + 1, tip.seq if tip.seq < _MOST else 0)
    tips.ends[tip.branch] = tips.seq
    if tip.in_conversation:
        tips.heads[tip.branch] = tip.uuid
