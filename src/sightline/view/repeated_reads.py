"""The readings of a session's branch that showed nothing new, found a piece at a time as the log grows."""

from itertools import islice
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from sightline.errors import Damaged
from sightline.log import FAILED, NONE, Journal, entries
from sightline.session.session import Session
from sightline.values.items import Call, Kind, Result, plain_text
from sightline.view.file_reads import READS, FileReads
from sightline.view.tool_calls import ToolCalls, tool_calls

_READ_AT_ONCE = 256  # entries
_LONGEST = 300  # characters of a name: a command may be a whole script


class RereadFile(Struct):
    """A file of which readings showed nothing new."""

    name: str
    times: int = 0  # such readings
    tokens: int = 0  # of these, with what a provider adds to each
    items: list[str] = []  # all readings


class RepeatedReads:
    """What was read again on a branch. Each result that reads a file is read from the log once."""

    def __init__(self, journal: Journal) -> None:
        self.timeline, self.branch, self._journal, self._path = journal.timeline, journal.branch, journal, journal.path
        self.rows: set[int] = set()  # results that showed nothing new
        self._files: dict[str, RereadFile] = {}
        self._reads = FileReads()
        self._next = 0

    def fits(self, journal: Journal) -> bool:
        """Whether this is of the journal's branch as it is now, so that it can be updated."""
        same = self.timeline is journal.timeline and self.branch == journal.branch
        return same and self._next <= len(journal.timeline) and self._path.limits == journal.path.limits

    def update(self, calls: ToolCalls) -> None:
        """Look at the results that are new in the log."""
        timeline, reader = self.timeline, self._journal.reader
        rows = iter(
            [row for row in timeline.rows_on(self._path, range(self._next, len(timeline))) if self._reads_at(row)]
        )
        while batch := list(islice(rows, _READ_AT_ONCE)):
            reader.prefetch(batch)
            for row in batch:
                self._add(row, calls)
        self._next = len(timeline)

    def files(self) -> list[RereadFile]:
        """Return the files that were read again, those with the most such tokens first."""
        return sorted((file for file in self._files.values() if file.times), key=lambda file: -file.tokens)

    def _reads_at(self, row: int) -> bool:
        timeline = self.timeline
        is_result = timeline.kind[row] == Kind.RESULT and timeline.purpose[row] in READS
        return is_result and timeline.partner[row] != NONE and not timeline.state[row] & FAILED

    def _add(self, row: int, calls: ToolCalls) -> None:
        timeline, partner = self.timeline, self.timeline.partner[row]
        try:
            arguments = msgspec.json.decode(calls.arguments.get(partner, b"null"))
            parts = entries.parts_of(self._journal.reader.entry(row))
        except (Damaged, *entries.UNREADABLE):
            return
        self._reads.add_call(Call("", calls.name(row), arguments))
        text = next((plain_text(part.parts) for part in parts if isinstance(part, Result)), "")
        if (reading := self._reads.add_result("", text, failed=False)) is None:
            return
        file = self._files.setdefault(reading.file, RereadFile(reading.file[:_LONGEST], items=[]))
        file.items.append(timeline.id(row))
        if reading.is_known:
            self.rows.add(row)
            file.times += 1
            file.tokens += timeline.full[row] + self._journal.reader.profile.framing(Kind.RESULT)


_known: "WeakKeyDictionary[Session, RepeatedReads]" = WeakKeyDictionary()


def repeated_reads(session: Session) -> RepeatedReads:
    """Return what was read again on a session's branch as it is now. Hold the session's lock while you use it."""
    reads = _known.get(session)
    if reads is None or not reads.fits(session.log):
        reads = _known[session] = RepeatedReads(session.log)
    reads.update(tool_calls(session))
    return reads
