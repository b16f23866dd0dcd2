"""Which results need not be shown any more, because newer ones about the same file or command show their lines."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable
from zlib import crc32

from sightline.log.branches import NONE
from sightline.log.reader import EntryReader
from sightline.shorten import Purpose
from sightline.values.items import Call, Kind

_NEARLY_ALL = 0.9  # of its lines: the rest is what was edited since, or what a tool adds around the lines
_SHORTEST = 4  # characters: shorter lines, such as brackets, are the same everywhere
_NUMBER = re.compile(r"\s*\d+\s*[→:|\t]")  # what a tool puts before the lines of a file


class Repeats:
    """Compares results by their lines. Made for sweeps; it keeps the lines of what the last sweep compared."""

    def __init__(self, reader: EntryReader) -> None:
        self._reader, self._timeline = reader, reader.timeline
        self._lines: dict[int, Counter[int]] = {}  # row → hashes of its lines, and how often each occurs

    def superseded(self, rows: Iterable[int]) -> Container[int]:
        """Those of these rows, shown in full, (nearly) all of whose lines newer ones of them show.

        A newer one counts if it is about the same file or command: a result of reading or running it again, or a call
        that writes the whole file. An edit does not count, nor does what its tool answers. A search counts only for a
        search, because it shows lines of a file out of their place. A line counts as often as it occurs.

        Texts are read when it is first asked about a row: those of this row and of newer ones.
        """
        about: dict[tuple[int, bool], list[int]] = defaultdict(list)  # subject, whether searched → rows, oldest first
        for row in sorted(rows):
            if self._shows_its_subject(row):
                about[self._timeline.subject[row], self._timeline.purpose[row] == Purpose.SEARCH].append(row)
        known, self._lines = self._lines, {}

        def lines_of(row: int) -> Counter[int]:
            lines = self._lines[row] = known[row] if row in known else self._line_hashes(row)
            return lines

        return _Superseded((found for found in about.values() if len(found) > 1), lines_of)

    def _shows_its_subject(self, row: int) -> bool:
        """Whether a row shows what it is about: a result, unless its call changed a file; or a call that writes one."""
        timeline = self._timeline
        purpose, kind = timeline.purpose[row], timeline.kind[row]
        shows = kind == Kind.RESULT and purpose not in (Purpose.CHANGE, Purpose.WRITE)
        return timeline.subject[row] != NONE and (shows or (kind == Kind.CALL and purpose == Purpose.WRITE))

    def _line_hashes(self, row: int) -> Counter[int]:
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


class _Superseded:
    """Finds, for each row that is asked about, whether newer rows of its group show its lines."""

    def __init__(self, groups: Iterable[list[int]], lines_of: Callable[[int], Counter[int]]) -> None:
        self._groups = {row: group for group in groups for row in group}  # of each the rows that are not compared yet
        self._newer: dict[int, dict[int, int]] = {}  # by the oldest row of a group: how often newer rows show a line
        self._lines_of, self._found = lines_of, set[int]()

    def __contains__(self, row: object) -> bool:
        assert isinstance(row, int)
        group = self._groups.get(row, [])
        while group and group[-1] >= row:
            self._compare(group)
        return row in self._found

    def _compare(self, group: list[int]) -> None:
        """Compare the newest row that is left. What is superseded is no longer shown, so its lines do not count."""
        newer, row = self._newer.setdefault(group[0], {}), group.pop()
        lines = self._lines_of(row)
        shared = sum(min(count, newer.get(line, 0)) for line, count in lines.items())
        if lines and shared >= _NEARLY_ALL * lines.total():
            self._found.add(row)
        else:
            newer.update({line: count for line, count in lines.items() if count > newer.get(line, 0)})
