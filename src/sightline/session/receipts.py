"""What was sent in every call: `session.receipts`."""

from collections.abc import Iterator

from sightline.compose.receipts import receipts
from sightline.compose.verify import Verified, verify
from sightline.log import entries
from sightline.log.annotations import ReceiptNote
from sightline.log.journal import Journal


class Receipts:
    """The receipts of a session. Iterating gives those of its branch, newest first."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __len__(self) -> int:
        """How many payloads were sent, on all branches."""
        return len(self._journal.timeline.receipt_offset)

    def __iter__(self) -> Iterator[ReceiptNote]:
        return receipts(self._journal)

    def verify(self) -> Iterator[Verified]:
        """Compose every payload ever sent again from the log, on all branches, and compare the hashes.

        The session moves from branch to branch while this runs, so do nothing else with it until the end.
        """
        return verify(self._journal)

    def damaged_lines(self) -> list[int]:
        """Return the numbers of the log's lines that cannot be read, the first being 1. Scans the whole log."""
        damaged = self._journal.repairs.damaged
        return [
            number
            for number, line in enumerate(self._journal.store.scan(), start=1)
            if line.span.offset in damaged or not _is_entry(line.data)
        ]

    def changed_lines(self) -> list[int]:
        """Return the numbers of other lines that are not as they were written: their checksum fails. Scans the log."""
        lines = enumerate(self._journal.store.scan(), start=1)
        changed = [number for number, line in lines if not entries.is_intact(line.data)]
        return sorted({*changed}.difference(self.damaged_lines() if changed else ()))

    def missing_entries(self) -> list[tuple[int, int]]:
        """Return where entries are missing, as the numbers of the entries before and after. Scans the log.

        Entries are numbered one by one, so a gap is what somebody deleted. A gap for lines that are there, but cannot
        be read or have changed, is none. What is missing at the end cannot be seen.
        """
        gaps, before, doubtful = [], 0, 0
        for line in self._journal.store.scan():
            is_sure = entries.is_intact(line.data) and _is_entry(line.data)
            seq = entries.decode_tip(line.data).seq if is_sure else 0
            if not seq:  # a line of another program is numbered too, but has no number of its own
                doubtful += 1
                continue
            if seq - before - 1 > doubtful:
                gaps.append((before, seq))
            before, doubtful = seq, 0
        return gaps


def _is_entry(data: bytes) -> bool:
    try:
        entries.decode(data)
    except entries.UNREADABLE:
        return False
    return True
