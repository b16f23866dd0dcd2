"""Which items are still spoken of: those that name something which a recent item names too."""

from collections.abc import Iterable

from sightline.log.columns import Path
from sightline.log.reader import EntryReader, item_text
from sightline.shorten import identifiers
from sightline.values.items import Kind

_RECENT = 300  # rows: an older mention says next to nothing about what is being worked on
_MOST = 8  # earlier entries that one entry speaks of: the newest ones
_AT_ONCE = 256  # entries that are read at once
_LARGE_TEXT = 1 << 16  # characters: what so large a text names says little about it either


class Mentions:
    """Compares items by the identifiers in their texts. Made for sweeps; it keeps what the last two of them read."""

    def __init__(self, reader: EntryReader) -> None:
        self._reader, self._timeline = reader, reader.timeline
        self._rows = 0  # of the timeline at this sweep
        self._names: dict[int, frozenset[str]] = {}  # row → the identifiers of its entry, if this sweep read it,
        self._earlier: dict[int, frozenset[str]] = {}  # or the one before

    def latest(self, rows: Iterable[int], path: Path) -> dict[int, int]:
        """For those of these rows that a later one speaks of, the latest such row.

        Later ones are the others and the recent rows. Each speaks of the newest few before it that name the same.
        """
        timeline, sub, wanted = self._timeline, self._timeline.sub, list(rows)
        if self._rows != len(timeline):
            self._rows, self._names, self._earlier = len(timeline), {}, self._names
        recent = timeline.rows_on(path, range(max(0, len(timeline) - _RECENT), len(timeline)))
        mentioned_in: dict[int, int] = {}
        last: dict[str, int] = {}  # identifier → the row of the last entry that names it
        ordered = sorted({row - sub[row] for row in (*wanted, *recent)})
        for at, row in enumerate(ordered):
            if at % _AT_ONCE == 0:
                self._read_ahead(ordered[at : at + _AT_ONCE])
            before = set()
            for name in self._named(row):
                if name in last:
                    before.add(last[name])
                last[name] = row
            for earlier in before if len(before) <= _MOST else sorted(before)[-_MOST:]:
                mentioned_in[earlier] = row
        return {row: mentioned_in[row - sub[row]] for row in wanted if row - sub[row] in mentioned_in}

    def _read_ahead(self, rows: list[int]) -> None:
        """Read the entries of those that were not read yet at once: each alone would be a round trip to a database."""
        if len(unknown := [row for row in rows if row not in self._names and row not in self._earlier]) > 1:
            self._reader.prefetch(unknown)

    def _named(self, row: int) -> frozenset[str]:
        """The identifiers of the entry that begins with this row, very large texts and recalls excepted."""
        if row not in self._names:
            self._names[row] = self._earlier[row] if row in self._earlier else self._read_names(row)
        return self._names[row]

    def _read_names(self, row: int) -> frozenset[str]:
        items = self._reader.items(self._reader.entry(row))
        texts = [item_text(item) for item in items if item.kind is not Kind.RECALL]
        return frozenset(name for text in texts if len(text) < _LARGE_TEXT for name in identifiers(text))
