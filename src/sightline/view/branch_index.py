"""What a view keeps of one branch of a session, so that a later look reads only what is new in the log."""

from sightline.log import Journal


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
