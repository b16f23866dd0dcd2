"""Which lines of a command's output are which lines of a file: only those of which this is certain.

A part of the output is placed if the counts of lines leave one place for it: each part prints so many lines at least
and at most, and all together as many as there are. Texts that the command line itself prints, numbers before the lines,
and lines of the file that are known already narrow that down.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sightline.shorten.printed_lines import UNKNOWN, Printed, printed_lines, programs_of
from sightline.values.pattern import pattern

_SHORTENED = pattern(r"\d (?:\w{1,20} ){1,3}(?:truncated|omitted|elided)\b|\b(?:truncated|omitted|elided) \d")
_SHELL = pattern(r"[^\s:]{0,60}\b(?:ba|z|da)?sh(?:\[\d+\])?:|fatal:|Get-Content")
_CWD = pattern(r"\n+Shell cwd was reset to [^\n]*\Z")
_ALONE = ("(", "<")  # how a line begins by which a tool says that nothing was printed
_NUMBER = pattern(r"\s*(\d{1,8})(?!\d)")
_APART = "--"  # between what a search has found in two places
_LONG, _AGREE = 10, 3  # characters of a line that is like no other, and so many such lines prove where a part begins
_ROUNDS = 8


class Shown(NamedTuple):
    """A line of a file that an output shows."""

    number: int
    text: str
    at: int  # its place among the lines of the output
    mark: str = ""  # what its number ends with


def shown_lines(line: str, folder: str, path: str, output: str, known: Mapping[int, str]) -> list[list[Shown]]:
    """Return the lines of a file that the output of a command line shows, those together that one part shows.

    known: the lines of the file that are known, by their numbers.
    """
    parts = printed_lines(line, folder)
    if not any(part.path == path for part in parts):
        return []
    lines = _CWD.sub("", output).split("\n")
    is_trimmed = bool(lines[-1])
    lines = lines if is_trimmed else lines[:-1]
    if is_trimmed and len(lines) == 1 and (known or lines[0].startswith(_ALONE)):
        return []
    told = tuple(f"{program}:" for program in programs_of(line))
    if any(text.startswith(told) or _SHELL.match(text) for text in lines):
        return []
    cut = next((at for at, text in enumerate(lines) if _SHORTENED.search(text)), len(lines))
    goes_on, lines = is_trimmed or cut < len(lines), lines[:cut]
    shown = list[list[Shown]]()
    for some, begin, end in _apart(parts, lines):
        segment = _Segment(some, path, lines[begin:end], known, begin)
        segment.begins_late = is_trimmed and begin == 0
        segment.goes_on = goes_on and end == len(lines)
        shown += segment.place()
    return [
        run for run in shown if run and (not run[0].mark or any(known.get(line.number) != line.text for line in run))
    ]


def _apart(parts: Sequence[Printed], lines: Sequence[str]) -> Iterator[tuple[list[Printed], int, int]]:
    """Yield the parts between the texts that the command line itself prints, and which lines of the output they are.

    A text tells that only if it is as often among the lines as it was printed.
    """
    places: dict[str, list[int]] = {}
    often = Counter(part.text for part in parts if part.text.strip() and part.is_sure)
    where = _places(lines)
    for text, count in often.items():
        first, *more = text.split("\n")
        found = [at for at in where.get(first, ()) if [*lines[at + 1 : at + 1 + len(more)]] == more]
        if len(found) == count:
            places[text] = found[::-1]
    some, begin = list[Printed](), 0
    for part in parts:
        at = places[part.text].pop() if places.get(part.text) else -1
        if at < begin:
            some.append(part)
            continue
        yield some, begin, at
        some, begin = [], at + part.most
    yield some, begin, len(lines)


def _places(lines: Sequence[str]) -> dict[str, list[int]]:
    """Return where each line stands."""
    places: dict[str, list[int]] = {}
    for at, text in enumerate(lines):
        places.setdefault(text, []).append(at)
    return places


class _Segment:
    """Some parts of a command line, and the lines that all of them together have printed."""

    def __init__(
        self, parts: Sequence[Printed], path: str, lines: Sequence[str], known: Mapping[int, str], at: int
    ) -> None:
        last = max(known, default=0)
        self._path, self._lines, self._known, self._at = path, lines, known, at
        self._parts = [part if part.needs <= last else UNKNOWN._replace(most=part.most) for part in parts]
        self._least = [self._certain(part, last) for part in self._parts]
        self._most = [part.most for part in self._parts]
        self.begins_late = False  # empty lines before the first may have been left out
        self.goes_on = False  # lines after the last may have been left out

    def place(self) -> Iterator[list[Shown]]:
        """Yield the lines of the file, part by part."""
        if not self._count():
            return
        begins = self._begins()
        for part, begin in zip(self._parts, begins, strict=True):
            if part.text and begin >= 0 and [*self._lines[begin : begin + part.most]] != part.text.split("\n"):
                return
        for at, (part, begin) in enumerate(zip(self._parts, begins, strict=True)):
            if part.path != self._path:
                continue
            if begin >= 0:
                count = self._least[at] - self._may_be_joined(at, self._least[at])
                yield from self._part(part, begin, count, is_joined=self._may_be_joined(at - 1, self._least[at - 1]))
            elif part.marks:
                yield from self._only_numbered(part, at)
            elif not part.marks:
                yield from self._agreeing(part, is_last=at == len(self._parts) - 1)

    def _certain(self, part: Printed, last: int) -> int:
        """Return how many lines a part prints at least."""
        if part.path != self._path or part.is_search or not part.is_sure or len(self._parts) == 1:
            return part.least
        return max(0, min(part.most, last - part.first + 1))

    def _count(self) -> bool:
        """Bring together how many lines each part can have. Return whether that can be."""
        count, least, most = len(self._lines), self._least, self._most
        for _ in range(_ROUNDS):
            before = [*least, *most]
            for at in range(len(self._parts)):
                others = sum(most) - most[at]
                least[at] = max(least[at], count - others)
                if not (self.begins_late or self.goes_on):
                    most[at] = min(most[at], count - (sum(least) - least[at]))
            self._follow()
            self._read_numbers()
            if any(low > high for low, high in zip(least, most, strict=True)):
                return False
            if before == [*least, *most]:
                break
        return sum(least) <= count

    def _follow(self) -> None:
        """A later part of the same file prints something only if an earlier one is complete."""
        for at, part in enumerate(self._parts):
            for before, earlier in enumerate(self._parts[:at]):
                follows = earlier.path == part.path and not (earlier.is_search or part.is_search)
                if part.path and follows and part.first >= earlier.first + earlier.most:
                    if self._least[at] > 0:
                        self._least[before] = max(self._least[before], earlier.most)
                    elif self._most[before] < earlier.most:
                        self._most[at] = 0

    def _read_numbers(self) -> None:
        """A part whose lines have numbers ends where the lines have others."""
        for at, (part, begin) in enumerate(zip(self._parts, self._begins(), strict=True)):
            if part.marks and begin >= 0:
                self._most[at] = min(self._most[at], self._numbered(part, begin))

    def _begins(self) -> list[int]:
        """Return where each part begins among the lines; -1 where that is not certain."""
        least, most, begins = self._least, self._most, [-1] * len(self._parts)
        at = 0 if self._is_begin_certain() else -1
        for part in range(len(self._parts)):
            begins[part] = at
            if least[part] != most[part]:
                break
            at = at + most[part] if at >= 0 else -1
        at = -1 if self.goes_on else len(self._lines)
        for part in range(len(self._parts) - 1, -1, -1):
            if least[part] != most[part] or at < 0:
                break
            at -= most[part]
            begins[part] = at
        return begins

    def _is_begin_certain(self) -> bool:
        """Whether the first line is the first one that was printed: some tools leave out empty lines before it."""
        if not self.begins_late or not self._parts or sum(self._most) == len(self._lines):
            return True
        first = self._parts[0]
        is_first = first.first == 1 and bool(first.path)
        return is_first or bool(first.text.strip()) or bool(first.marks) or not "".join(self._lines[:1]).strip()

    def _may_be_joined(self, at: int, count: int) -> bool:
        """Whether the last of so many lines of a part may be one line with the first of the next part.

        So it is if a file does not end its last line.
        """
        return 0 <= at < len(self._parts) - 1 and bool(self._parts[at].path) and count < self._parts[at].most

    def _part(self, part: Printed, begin: int, count: int, *, is_joined: bool = False) -> Iterator[list[Shown]]:
        """Yield so many lines from here on."""
        if not part.marks:
            rows = range(begin + is_joined, begin + count)
            yield [Shown(part.first + row - begin, self._lines[row], self._at + row) for row in rows]
            return
        run = list[Shown]()
        for row in range(begin, begin + min(count, self._numbered(part, begin))):
            number, line = self._number(part, row), self._lines[row]
            if number < 0:
                continue
            if run and number != run[-1].number + 1:
                if len(run) > 1:
                    yield run
                run = []
            mark = self._mark(part, row)
            run.append(Shown(number, line.partition(mark)[2], self._at + row, mark))
        if len(run) > 1 or not part.is_search:
            yield run

    def _numbered(self, part: Printed, begin: int) -> int:
        """Return how many lines from here on have numbers as this part gives them."""
        expected = part.first
        for row in range(begin, len(self._lines)):
            number = self._number(part, row)
            if part.is_search and self._lines[row] == _APART:
                continue
            if number < expected or (number > expected and not part.is_search):
                return row - begin
            expected = number + 1
        return len(self._lines) - begin

    def _number(self, part: Printed, row: int) -> int:
        """Return the number of a line in its file; -1 if none stands before it."""
        told = _NUMBER.match(self._lines[row])
        return int(told[1]) + part.shift if told and self._mark(part, row) else -1

    def _mark(self, part: Printed, row: int) -> str:
        line = self._lines[row]
        told = _NUMBER.match(line)
        return next((mark for mark in part.marks if told and line.startswith(mark, told.end())), "")

    def _only_numbered(self, part: Printed, at: int) -> Iterator[list[Shown]]:
        """Yield the lines of a part wherever they stand, if no other one can have numbers before its lines."""
        others = [other for other in self._parts if other is not part]
        found = [row for row in range(len(self._lines)) if self._number(part, row) == part.first]
        is_only = all(other.least or (other.path and not other.marks) for other in others) and len(found) == 1
        if is_only and not part.is_search and (count := min(part.most, self._numbered(part, found[0]))) > 1:
            yield from self._part(part, found[0], count - self._may_be_joined(at, count))

    def _agreeing(self, part: Printed, *, is_last: bool) -> Iterator[list[Shown]]:
        """Yield the lines of a part that begins where lines that are known and like no other say it."""
        where, often = _places(self._lines), Counter(self._known.values())
        numbers = range(part.first, part.first + part.most)
        rows = {
            number: where[text][0]
            for number, text in self._known.items()
            if number in numbers and len(text.strip()) >= _LONG and often[text] == len(where.get(text, ())) == 1
        }
        begins = {row - number + part.first for number, row in rows.items()}
        if len(rows) < _AGREE or len(begins) > 1 or (begin := begins.pop()) < 0:
            return
        count = len(self._lines) - begin
        yield from self._part(part, begin, count if is_last and count <= part.most else 1 + max(rows.values()) - begin)
