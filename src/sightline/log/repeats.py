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
_CALL, _RESULT = int(Kind.CALL), int(Kind.RESULT)  # columns have plain numbers, which compare faster
_SEARCH, _WRITE = int(Purpose.SEARCH), int(Purpose.WRITE)
_CHANGING = frozenset((int(Purpose.CHANGE), _WRITE))


class _Lines:
    """Lines of texts as hashes."""

    def __init__(self, counts: dict[int, int]) -> None:
        self.counts = counts  # how often each occurs
        self.repeated = {line for line, count in counts.items() if count > 1}  # few: only they are compared one by one
        self.total = sum(counts.values())  # without those that are added later

    def count_in(self, others: "_Lines") -> int:
        """Return how many of these lines others have too. A line counts as often as it occurs in both."""
        both = self.counts.keys() & others.counts.keys()
        again = both & self.repeated & others.repeated
        return len(both) + sum([min(self.counts[line], others.counts[line]) - 1 for line in again])

    def add(self, others: "_Lines") -> None:
        """Have the lines of others too, each as often as it occurs where it occurs most."""
        before = [(line, self.counts[line]) for line in self.repeated.intersection(others.counts)]
        self.counts.update(others.counts)
        self.counts.update([(line, count) for line, count in before if count > self.counts[line]])
        self.repeated.update(others.repeated)


class Repeats:
    """Compares results by their lines. Made for sweeps; it keeps the lines of what the last sweep compared."""

    def __init__(self, reader: EntryReader) -> None:
        self._reader, self._timeline = reader, reader.timeline
        self._lines: dict[int, _Lines] = {}  # of each row

    def superseded(self, rows: Iterable[int]) -> set[int]:
        """Those of these rows, shown in full, (nearly) all of whose lines newer ones of them show.

        A newer one counts if it is about the same file or command: a result of reading or running it again, or a call
        that writes the whole file. An edit does not count, nor does what its tool answers. A search counts only for a
        search, because it shows lines of a file out of their place. A line counts as often as it occurs.
        """
        about: dict[tuple[int, bool], list[int]] = defaultdict(list)  # subject, whether searched → rows, newest first
        subject, purpose = self._timeline.subject, self._timeline.purpose
        for row in sorted(rows, reverse=True):
            if subject[row] != NONE and self._shows_its_subject(row):
                about[subject[row], purpose[row] == _SEARCH].append(row)
        compared = [found for found in about.values() if len(found) > 1]
        self._lines = {row: self._line_hashes(row) for found in compared for row in found}
        superseded: set[int] = set()
        for found in compared:
            newer = _Lines({})
            for row in found:
                lines = self._lines[row]
                if lines.total and lines.count_in(newer) >= _NEARLY_ALL * lines.total:
                    superseded.add(row)
                else:  # what is superseded itself is no longer shown, so its lines do not count
                    newer.add(lines)
        return superseded

    def _shows_its_subject(self, row: int) -> bool:
        """Whether a row shows what it is about: a result, unless its call changed a file; or a call that writes one."""
        kind, purpose = self._timeline.kind[row], self._timeline.purpose[row]
        return purpose not in _CHANGING if kind == _RESULT else kind == _CALL and purpose == _WRITE

    def _line_hashes(self, row: int) -> _Lines:
        if (known := self._lines.get(row)) is not None:
            return known
        whole = [line for line in map(str.strip, self._text(row).splitlines()) if line]
        bare = [_NUMBER.sub("", line, count=1).strip() for line in whole]
        # If hardly any differ without them, the numbers are no places of lines but what the lines say.
        lines = bare if 2 * len(set(bare)) > len(set(whole)) else whole
        long = [line for line in lines if len(line) >= _SHORTEST]
        shown = long if 2 * len(long) > len(lines) else lines
        return _Lines(Counter([crc32(line.encode(errors="replace")) for line in shown]))

    def _text(self, row: int) -> str:
        """The text of a result, or the texts that a call writes."""
        if self._timeline.kind[row] != _CALL:
            return self._reader.text(row)
        part = self._reader.item(row).parts[0]
        given = part.input if isinstance(part, Call) and isinstance(part.input, dict) else {}
        return "\n".join(value for value in given.values() if isinstance(value, str))
