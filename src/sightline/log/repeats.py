"""Which results need not be shown any more, because newer ones about the same file or command show their lines."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from zlib import crc32

from sightline.log.branches import NONE
from sightline.log.reader import EntryReader
from sightline.shorten import Purpose
from sightline.values.items import Call, Kind
from sightline.values.pattern import pattern

_NEARLY_ALL = 0.9  # of its lines: the rest is what was edited since, or what a tool adds around the lines
_SHORTEST = 4  # characters: shorter lines, such as brackets, are the same everywhere
_NUMBER = pattern(r"\s*\d+\s*[→:|\t]")  # what a tool puts before the lines of a file


class Repeats:
    """Compares results by their lines. Made for sweeps; it keeps the lines of what the last sweep compared."""

    def __init__(self, reader: EntryReader) -> None:
        self._reader, self._timeline = reader, reader.timeline
        self._lines: dict[int, Counter[int]] = {}  # row → hashes of its lines, and how often each occurs

    def superseded(self, rows: Iterable[int]) -> set[int]:
        """Those of these rows, shown in full, (nearly) all of whose lines newer ones of them show.

        A newer one counts if it is about the same file or command: a result of reading or running it again, or a call
        that writes the whole file. An edit does not count, nor does what its tool answers. A search counts only for a
        search, because it shows lines of a file out of their place. A line counts as often as it occurs.
        """
        about: dict[tuple[int, bool], list[int]] = defaultdict(list)  # subject, whether searched → rows, newest first
        for row in sorted(rows, reverse=True):
            if self._shows_its_subject(row):
                about[self._timeline.subject[row], self._timeline.purpose[row] == Purpose.SEARCH].append(row)
        compared = [found for found in about.values() if len(found) > 1]
        self._lines = {row: self._line_hashes(row) for found in compared for row in found}
        superseded: set[int] = set()
        for found in compared:
            newer: dict[int, int] = {}
            for row in found:
                lines = self._lines[row]
                both = lines.keys() & newer.keys()
                again = sum(min(lines[line], newer[line]) for line in both)
                if lines and again >= _NEARLY_ALL * lines.total():
                    superseded.add(row)
                else:  # what is superseded itself is no longer shown, so its lines do not count
                    newer.update({line: n for line, n in lines.items() if n > newer.get(line, 0)})
        return superseded

    def _shows_its_subject(self, row: int) -> bool:
        """Whether a row shows what it is about: a result, unless its call changed a file; or a call that writes one."""
        timeline = self._timeline
        purpose, kind = timeline.purpose[row], timeline.kind[row]
        shows = kind == Kind.RESULT and purpose not in (Purpose.CHANGE, Purpose.WRITE)
        return timeline.subject[row] != NONE and (shows or (kind == Kind.CALL and purpose == Purpose.WRITE))

    def _line_hashes(self, row: int) -> Counter[int]:
        if (known := self._lines.get(row)) is not None:
            return known
        whole = [line for line in map(str.strip, self._text(row).splitlines()) if line]
        bare = [_NUMBER.sub("", line, count=1).strip() for line in whole]
        # If hardly any differ without them, the numbers are no places of lines but what the lines say.
        lines = bare if 2 * len(set(bare)) > len(set(whole)) else whole
        long = [line for line in lines if len(line) >= _SHORTEST]
        shown = long if 2 * len(long) > len(lines) else lines
        return Counter(crc32(line.encode(errors="replace")) for line in shown)

    def _text(self, row: int) -> str:
        """The text of a result, or the texts that a call writes."""
        if self._timeline.kind[row] != Kind.CALL:
            return self._reader.text(row)
        part = self._reader.item(row).parts[0]
        given = part.input if isinstance(part, Call) and isinstance(part.input, dict) else {}
        return "\n".join(value for value in given.values() if isinstance(value, str))
