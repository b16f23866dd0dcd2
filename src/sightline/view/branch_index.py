"""What a view keeps of one branch of a session, so that a later look reads only what is new in the log."""

from typing import Self
from weakref import WeakKeyDictionary

from sightline.log import Journal
from sightline.session.session import Session


class BranchIndex:
    """The beginning of every such index: the branch that it is of, and how far it has come."""

    def __init__(self, journal: Journal) -> None:
        self.timeline, self.branch = journal.timeline, journal.branch
        self._journal, self._path = journal, journal.path
        self._next_row = 0

    def fits(self, journal: Journal) -> bool:
        """Whether this is of the journal's branch as it is now, so that it can be updated."""
        same = self.timeline is journal.timeline and self.branch == journal.branch
        return same and self._next_row <= len(journal.timeline) and self._path.limits == journal.path.limits

    @classmethod
    def of(cls, session: Session) -> Self:
        """Return the index of a session's branch: the one that was kept, or a new one. Hold the session's lock."""
        kept = _kept.setdefault(session, {})
        index = kept.get(cls)
        if not isinstance(index, cls) or not index.fits(session.log):
            index = kept[cls] = cls(session.log)
        return index


_kept: WeakKeyDictionary[Session, dict[type[BranchIndex], BranchIndex]] = WeakKeyDictionary()
