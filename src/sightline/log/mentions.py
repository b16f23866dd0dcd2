"""Which items are still spoken of: those that name something which a recent item names too."""

from collections.abc import Iterable

from sightline.log.branches import Path
from sightline.log.reader import EntryReader, item_text
from sightline.shorten import identifiers
from sightline.values.items import Kind

_RECENT = 300  # rows: an older mention says next to nothing about what is being worked on
_LARGE_TEXT = 1 << 16  # characters: what so large a text names says little about it either


class Mentions:
    """Compares items by the identifiers in their texts. Made for sweeps; it keeps what it has read."""

    def __init__(self, reader: EntryReader) -> None:
        self._reader, self._timeline = reader, reader.timeline
        self._names: dict[int, frozenset[str]] = {}  # row → the identifiers of its entry

    def latest(self, rows: Iterable[int], path: Path) -> dict[int, int]:
        """For those of these rows that a later one of the recent rows speaks of, the latest such row."""
        timeline = self._timeline
        recent = timeline.rows_on(path, range(max(0, len(timeline) - _RECENT), len(timeline)))
        last = {name: row for row in recent if not timeline.sub[row] for name in self._named(row)}
        found: dict[int, int] = {}
        for row in rows:
            seq = timeline.seq[row]
            later = [last[name] for name in self._named(row) if name in last and timeline.seq[last[name]] > seq]
            if later:
                found[row] = max(later)
        return found

    def _named(self, row: int) -> frozenset[str]:
        """The identifiers in the texts of a row's entry, very large texts and recalls excepted."""
        first = row - self._timeline.sub[row]
        if (found := self._names.get(first)) is None:
            items = self._reader.items(self._reader.entry(first))
            texts = [item_text(item) for item in items if item.kind is not Kind.RECALL]
            found = frozenset(name for text in texts if len(text) < _LARGE_TEXT for name in identifiers(text))
            self._names[first] = found
        return found
