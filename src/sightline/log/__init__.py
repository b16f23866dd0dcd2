"""Keeps what happened: the entries of a session, the stores they are written to, and columns to find them by.

Nothing here decides which items a model sees. Above `session`, others import the names below, `entries` and
`annotations` (what is on disk), and `stores`.
"""

from sightline.log.columns import (
    AGENT,
    FAILED,
    FIRST,
    HEAD,
    LABELLED,
    LONGEST_NAME,
    NONE,
    OBSOLETE,
    OPAQUE,
    ORPHAN,
    REPLACING,
    UNASKED,
    Compaction,
    Mark,
    Path,
    Timeline,
    branch_label,
    is_branch_name,
    replaced_rows,
)
from sightline.log.drafts import Drafts, PendingCall
from sightline.log.fold import GrowingTimeline
from sightline.log.journal import Journal, retry_on_conflict
from sightline.log.stores.closed_store import LogUpTo

__all__ = [
    "AGENT", "FAILED", "FIRST", "HEAD", "LABELLED", "LONGEST_NAME", "NONE", "OBSOLETE", "OPAQUE", "ORPHAN", "REPLACING",
    "UNASKED", "Compaction", "Drafts", "GrowingTimeline", "Journal", "LogUpTo", "Mark", "Path", "PendingCall",
    "Timeline", "branch_label", "is_branch_name", "replaced_rows", "retry_on_conflict",
]  # fmt: skip
