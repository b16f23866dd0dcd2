"""Finds readings of files that showed nothing new. The list of sessions, the inspector and the report all count these.

A reading counts if nearly all of its lines stood in earlier readings of the same file. That is so if a file was read
twice without having been changed, also in other pieces, and with another tool. Numbers that a tool puts before the
lines do not matter. A short one does not count.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from zlib import crc32

from sightline.shorten import Purpose, effect_of
from sightline.values.items import Call
from sightline.values.pattern import pattern

READS = (Purpose.READ, Purpose.SHOW)
_ABOUT_OTHERS = (Purpose.OTHER, Purpose.SEARCH, Purpose.REPORT)  # what such calls are about is no file
NOWHERE = -1  # the place of a reading that is not known
_NEARLY_ALL = 0.9  # of its lines: the rest is what a tool adds around them
_SHORTEST = 200  # characters, about fifty tokens: a shorter reading again is not worth a word
_NUMBER = pattern(r"\s*\d+\s*[→:|\t]")  # what a tool puts before the lines of a file


class Reading(NamedTuple):
    """A file that was read, and what of that was known."""

    file: str
    is_known: bool  # it showed nothing new
    is_removed: bool = False  # but a compaction had removed what was known


class FileReads:
    """The readings of one conversation so far."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}  # id of a call that has no result yet → the file that it reads
        self._files: defaultdict[str, _File] = defaultdict(_File)
        self._removed = NOWHERE

    def state(self) -> tuple[dict[str, str], dict[str, list[int]]]:
        """Return what is known, to be stored: the calls without a result, and the lines of each file, as numbers."""
        return dict(self._waiting), {file: sorted(readings.known) for file, readings in self._files.items()}

    def restore(self, waiting: Mapping[str, str], lines_by_file: Mapping[str, Iterable[int]]) -> None:
        """Go on from what `state` returned."""
        self._waiting = dict(waiting)
        for file, lines in lines_by_file.items():
            self._files[file].known |= set(lines)

    def add_call(self, call: Call) -> None:
        """Note a call."""
        self.add_waiting(call.id, file_of(call) if shows_file(call) else "")

    def add_waiting(self, call_id: str, file: str) -> None:
        """Note a call that reads a file, by any name of the file; empty: it reads none."""
        self._waiting.pop(call_id, None)  # some providers use an id again
        if file:
            self._waiting[call_id] = file

    def is_reading(self, call_id: str) -> bool:
        """Whether a call that waits for its result reads a file."""
        return call_id in self._waiting

    def add_result(self, call_id: str, text: str, *, failed: bool, at: int = NOWHERE) -> Reading | None:
        """Note a result, at a place of the conversation. Return what was read; None if no file was."""
        file = self._waiting.pop(call_id, "")
        return self.add_reading(file, text, at) if file and text and not failed else None

    def add_reading(self, file: str, text: str, at: int = NOWHERE) -> Reading:
        """Note what a file showed. The place is needed only if it is asked what a compaction had removed."""
        return self._files[file].add(file, text, at, self._removed)

    def compact(self, last: int) -> None:
        """Note that a compaction has removed everything up to a place, this one included."""
        self._removed = max(self._removed, last)


class _File:
    """What is known of a file. Of lines only their checksums, because many logs are counted at the same time."""

    def __init__(self) -> None:
        self.known: set[int] = set()
        self._readings: list[tuple[int, set[int]]] = []  # with their places
        self._shown: set[int] = set()  # after the compaction that removed everything up to here:
        self._removed = NOWHERE

    def add(self, file: str, text: str, at: int, removed: int) -> Reading:
        lines = _lines(text)
        if removed != self._removed:
            self._removed = removed
            self._readings = [(place, shown_lines) for place, shown_lines in self._readings if place > removed]
            self._shown = set[int]().union(*(shown_lines for _, shown_lines in self._readings))
        is_known = len(text) >= _SHORTEST and _nearly_in(lines, self.known)
        reading = Reading(file, is_known, is_known and at != NOWHERE and not _nearly_in(lines, self._shown))
        self.known |= lines
        if at != NOWHERE:
            self._readings.append((at, lines))
            self._shown |= lines
        return reading


def file_of(call: Call) -> str:
    """Return the file that a call is about; nothing if there are none or several."""
    path = call.arguments.get("file_path") if call.name == "Read" else None
    if isinstance(path, str) and path.isprintable():  # most calls of Claude Code, which a status line counts
        return path.strip().removeprefix("./")
    effect = effect_of(call)
    if effect.purpose in _ABOUT_OTHERS:
        return ""
    paths = effect.subjects[effect.purpose is Purpose.COMMAND :]  # what comes before is the command
    return paths[0] if len(paths) == 1 and paths[0].isprintable() else ""


def shows_file(call: Call) -> bool:
    """Whether the result of a call is the text of a file."""
    return effect_of(call).result in READS


def _lines(text: str) -> set[int]:
    whole = [line.strip() for line in text.splitlines()]
    bare = (_NUMBER.sub("", line, count=1).strip() for line in whole if len(line) > 3)
    return {crc32(line.encode("utf-8", "surrogatepass")) for line in bare}


def _nearly_in(lines: set[int], seen: set[int]) -> bool:
    return bool(lines) and len(lines & seen) >= _NEARLY_ALL * len(lines)
