"""Which results need not be shown any more, because newer ones about the same file or command show their lines."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TypeAlias
from zlib import crc32

from sightline.log.reader import EntryReader
from sightline.shorten import Purpose
from sightline.values.items import Call, Kind
from sightline.values.pattern import pattern

_NEARLY_ALL = 0.9  # of its lines: the rest is what was edited since, or what a tool adds around the lines
_SHORTEST = 4  # characters: shorter lines, such as brackets, are the same everywhere
_NUMBER = pattern(r"\s*\d+\s*[→:|\t]")  # what a tool puts before the lines of a file
_HASH_BITS = 32
_MOST_OFTEN = 64  # times that a line counts: a log may have one line a hundred thousand times
_CALL, _RESULT = int(Kind.CALL), int(Kind.RESULT)  # columns have plain numbers, which compare faster
_SEARCH, _WRITE, _COMMAND = int(Purpose.SEARCH), int(Purpose.WRITE), int(Purpose.COMMAND)
_Key: TypeAlias = tuple[int, bool]  # a subject, and whether it was searched
_CHANGING = frozenset((int(Purpose.CHANGE), _WRITE))


class Repeats:
    """Compares results by their lines. Made for sweeps; it keeps the lines of what the last sweep compared."""

    def __init__(self, reader: EntryReader) -> None:
        self._reader, self._timeline = reader, reader.timeline
        self._lines: dict[int, frozenset[int]] = {}  # of each row, as hashes

    def superseded(self, rows: Iterable[int]) -> set[int]:
        """Those of these rows, shown in full, (nearly) all of whose lines newer ones of them show.

        A newer one counts if it is about the same file or command: a result of reading or running it again, or a call
        that writes the whole file. An edit does not count, nor does what its tool answers. A search counts only for a
        search, because it shows lines of a file out of their place. A result about several files is superseded by all
        that is newer about any of them. A line counts as often as it occurs, but not more
        than `_MOST_OFTEN` times.
        """
        subjects = {row: self._shown_at(row) for row in sorted(rows, reverse=True)}  # newest first
        times = Counter(key for keys in subjects.values() for key in keys)
        compared = {row: keys for row, keys in subjects.items() if any(times[key] > 1 for key in keys)}
        self._lines = {row: self._line_hashes(row) for row in compared}
        superseded: set[int] = set()
        newer: dict[_Key, set[int]] = defaultdict(set)  # the lines that newer rows show of each
        for row, keys in compared.items():
            lines = self._lines[row]
            shown_since = newer[keys[0]] if len(keys) == 1 else set[int]().union(*(newer[key] for key in keys))
            if lines and len(lines & shown_since) >= _NEARLY_ALL * len(lines):
                superseded.add(row)
            else:  # what is superseded itself is no longer shown, so its lines do not count
                for key in keys:
                    newer[key] |= lines
        return superseded

    def _shown_at(self, row: int) -> list[_Key]:
        """What a row shows: its subjects, and whether they were searched. Of what a command only used it shows none."""
        timeline = self._timeline
        if not self._shows_its_subject(row):
            return []
        subjects = timeline.subjects_at(row)
        is_search, is_command = timeline.purpose[row] == _SEARCH, timeline.purpose[row] == _COMMAND
        return [(subject, is_search) for subject in (subjects[:1] if is_command else subjects)]

    def _shows_its_subject(self, row: int) -> bool:
        """Whether a row shows what it is about: a result, unless its call changed a file; or a call that writes one."""
        kind, purpose = self._timeline.kind[row], self._timeline.purpose[row]
        return purpose not in _CHANGING if kind == _RESULT else kind == _CALL and purpose == _WRITE

    def _line_hashes(self, row: int) -> frozenset[int]:
        """The lines of a row as hashes. If a line occurs several times, its hashes differ, so that each counts."""
        if (hashes := self._lines.get(row)) is not None:
            return hashes
        whole = [line for line in map(str.strip, self._text(row).splitlines()) if line]
        bare = [_NUMBER.sub("", line, count=1).strip() for line in whole]
        # If hardly any differ without them, the numbers are no places of lines but what the lines say.
        lines = bare if 2 * len(set(bare)) > len(set(whole)) else whole
        long = [line for line in lines if len(line) >= _SHORTEST]
        compared = long if 2 * len(long) > len(lines) else lines
        counts = Counter([crc32(line.encode(errors="replace")) for line in compared])
        often = [(line, min(count, _MOST_OFTEN)) for line, count in counts.items() if count > 1]
        return frozenset(counts).union(line | nth << _HASH_BITS for line, count in often for nth in range(1, count))

    def _text(self, row: int) -> str:
        """The text of a result, or the texts that a call writes."""
        if self._timeline.kind[row] != _CALL:
            return self._reader.text(row)
        part = self._reader.item(row).parts[0]
        inputs = part.arguments if isinstance(part, Call) else {}
        return "\n".join(value for value in inputs.values() if isinstance(value, str))
