"""The lines of a text as pieces: whole ones and the values between them for a summary, values by section for a gist."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from math import log2
from operator import attrgetter
from typing import NamedTuple

from sightline.renditions.pack import CHARS, VALUE, Level, Piece, by_place, by_worth
from sightline.renditions.sample import Beginning, Sample
from sightline.renditions.values import Values, values_of_lines, weight

OFTEN = [
    0.0,
    *(1 + 0.35 * log2(n) for n in range(1, 9)),
]  # used again: 12 % of values seen once, 33 % of those seen 8 times
AGAIN = 0.05  # a value shown a second time is worth little, but more than an empty line
LISTED = 0.31  # a value of less weight (a short number, a date, a version) says nothing outside its line
LINE = 3.5  # tokens a line of a summary costs beside its text: its end and half a gap
SUMMARY_LINES = 0.4  # share of a summary that goes to whole lines; the rest names the values in the gaps between them
GIST_LINES = 0.12  # share of a gist that goes to marked lines (errors, tallies); the rest to values under their section
EDGE_LINES = 3  # lines at either end that are kept first: they say what this is and how it ended
EDGE_WORTH = 3.0
PLAIN = 0.2  # a line without values is worth little, not nothing
SPARSE = 0.5  # share of lines with something in them, below which plain lines are candidates too
SINGLE = 40  # a gap of one line this short is shown: its marker would cost as much
MOST_TROUBLES = 60  # different lines of trouble that are marked; a text with more is about them anyway
QUOTED = 3.0  # a mark from which a line is quoted in a gist
WIDEST = 90  # characters of a quoted line in a gist
DETECT = 14  # lines looked at to tell whether they are numbered
MOST_VALUES = 400  # more do not fit into any level
BLOCKS = 2  # a text without sections is named by the numbers of its lines, in this many blocks

# Stems in lower case, looked for as they are: by far the quickest search there is.
_ERRORS = "error|exception|fail|fatal|panic|denied|not found|no such|错误|失败|异常"
_WARNINGS = "warn|deprecat|警告"
_TROUBLE = {**dict.fromkeys(_ERRORS.split("|"), 3.0), **dict.fromkeys(_WARNINGS.split("|"), 1.5)}
NUMBERED = re.compile(r"\s*(\d{1,6})(?:→|\t| ?\| ?|:\s|-\s|$)")


NOWHERE: Mapping[str, int] = {}


class Section(NamedTuple):
    """Lines that belong together under a name, from `start` to the next section."""

    start: int
    name: str


class Levels(NamedTuple):
    """What both levels of one text are chosen from."""

    summary: Level
    gist: Level


class Weighed(NamedTuple):
    """What the values of some lines are worth."""

    first: dict[str, int]  # the line where a value stands first
    worth: dict[str, float]  # of each value
    lines: list[float]  # of each line: the worth of the values that stand first in it, and a little for each other


class View(NamedTuple):
    """A sample read once."""

    sample: Sample
    values: Values
    weighed: Weighed
    subject: str
    wording: Mapping[str, str]
    code: list[str]  # the lines without their numbers
    own_numbers: bool  # the text carries line numbers of its own, as `cat -n` and most file readers give it
    opening: Beginning  # what a summary begins with


def view(sample: Sample, subject: str, wording: Mapping[str, str], opening: Beginning) -> View:
    """Reads the values of every line."""
    own = _numbered(sample.lines)
    code = _code(sample.lines) if own else sample.lines
    values = values_of_lines(code)
    return View(sample, values, weigh(values, len(code)), subject, wording, code, own, opening)


def weigh(values: Values, total: int) -> Weighed:
    """A value is worth more the more often it is said and the earlier."""
    found, places = values
    first = dict(zip(reversed(found), reversed(places), strict=True))  # the last one told is the first in the text
    fall = 0.5 / max(1, total - 1)
    worth = {v: weight(v) * OFTEN[n if n < 8 else 8] * (1.25 - fall * first[v]) for v, n in Counter(found).items()}
    lines = [0.0] * total
    for place in places:
        lines[place] += AGAIN
    for value, place in first.items():
        lines[place] += worth[value]
    return Weighed(first, worth, lines)


def _code(lines: list[str]) -> list[str]:
    """Lines without their numbers: quickly where what stands after the number occurs in hardly any code."""
    for mark in "→\t":
        if mark in lines[0] or mark in lines[-1]:
            parts = [line.partition(mark) for line in lines]
            return [code if found else ahead for ahead, found, code in parts]
    return list(map(bare, lines))


def bare(line: str) -> str:
    """A line without the number it carries."""
    prefix = NUMBERED.match(line)
    return line[prefix.end() :] if prefix else line


def _numbered(lines: list[str]) -> bool:
    """Whether most lines begin with a number and these rise. A bare number is an empty line of such a text."""
    some = list(filter(None, lines[:DETECT]))
    found = [match for line in some if (match := NUMBERED.match(line))]
    if len(some) < 3 or len(found) < 0.7 * len(some):
        return False
    said = sum(match.end() > match.end(1) for match in found)
    numbers = [int(match.group(1)) for match in found]
    return 2 * said >= len(found) and sum(a < b for a, b in pairwise(numbers)) >= 0.8 * (len(numbers) - 1)


def troubles(sample: Sample) -> dict[int, float]:
    """Marks for lines that tell of an error or a warning, whatever the text is. Of equal lines only the first."""
    marks: dict[int, float] = {}
    told: dict[str, int] = {}
    for stem, worth in _TROUBLE.items():
        for i in lines_with(stem, sample):
            if len(told) >= MOST_TROUBLES:
                break
            if told.setdefault(sample.lines[i], i) == i:
                marks[i] = max(worth, marks.get(i, 0.0))
    return marks


def lines_with(stem: str, sample: Sample) -> list[int]:
    """The lines in which a stem in lower case occurs."""
    text, out = sample.lowered, []
    at = text.find(stem)
    while at >= 0:
        i = bisect_right(sample.starts, at) - 1
        out.append(i)
        at = text.find(stem, sample.starts[i + 1]) if i + 1 < len(sample.starts) else -1
    return out


def levels(
    seen: View,
    marks: Mapping[int, float],
    quoted: Mapping[int, float],
    sections: Sequence[Section] = (),
    *,
    add_numbers: bool = False,
    share: float = GIST_LINES,
) -> Levels:
    """Both levels of a text of lines: `marks` raise lines of the summary, `quoted` those of the gist."""
    named = {section.name: section.start for section in sections}
    values = single_values(seen, labels_of(seen, sections), named)
    summary = summary_level(seen, marks, values, named, add_numbers=add_numbers)
    return Levels(summary, Level(quotations(seen, quoted), values, share, sectioned))


def summary_level(
    seen: View, marks: Mapping[int, float], values: list[Piece], named: Mapping[str, int], *, add_numbers: bool = False
) -> Level:
    """Head, tail and the lines that matter, in order; between them gaps that name the values left out there."""
    lines, worth = seen.sample.lines, seen.weighed.lines.copy()
    for i in {*range(min(EDGE_LINES, len(lines))), *range(max(0, len(lines) - EDGE_LINES), len(lines))}:
        worth[i] += EDGE_WORTH
    for i, mark in marks.items():
        worth[i] += mark
    sparse = len(worth) - worth.count(0.0) < SPARSE * len(lines)
    order = [
        (-(found + PLAIN) / (len(line) + LINE * CHARS), i)
        for i, (line, found) in enumerate(zip(lines, worth, strict=True))
        if line and (found or sparse)
    ]
    order.sort()
    pieces = [Piece(i, lines[i], worth[i]) for density, i in order if density < 0 and i >= seen.opening.lines]
    gaps = [[*seen.wording[gap].partition("{n}")[::2]] for gap in ("gap", "gap one")]
    page = _Page(seen, named, add_numbers, *gaps)

    def render(label: str, chosen: list[Piece], between: list[Piece]) -> str:
        return _in_order(page, label, chosen, between)

    level = Level(pieces, values, SUMMARY_LINES, render, LINE, labelled=False)
    shown, fixed = opening_values(seen), len(seen.opening.text)
    return level._replace(shown=shown, fixed=fixed, of_lines=seen.values)


def opening_values(seen: View) -> list[str]:
    """The values in the lines that are shown as they are."""
    return seen.values.found[: bisect_left(seen.values.lines, seen.opening.lines)]


def single_values(seen: View, labels: Sequence[str], named: Mapping[str, int] = NOWHERE) -> list[Piece]:
    """Every distinct value, most worth per token first, below the label of the line where it stands first.

    The name of a section stands where that begins. A value has no text where the label says it.
    """
    order = [
        (-worth / (len(value) + VALUE * CHARS), value, worth)
        for value, worth in seen.weighed.worth.items()
        if weight(value) > LISTED
    ]
    order.sort()
    first = {**seen.weighed.first, **named} if named else seen.weighed.first
    places = [first[value] for _, value, _ in order[:MOST_VALUES]]
    return [
        Piece(i, "" if value in labels[i] else value, worth, (value,), labels[i])
        for i, (_, value, worth) in zip(places, order, strict=False)
    ]


def quotations(seen: View, marks: Mapping[int, float]) -> list[Piece]:
    """The lines that a gist may quote."""
    lines = seen.sample.lines
    return by_worth(
        [
            Piece(i, " ".join(lines[i].split())[:WIDEST], mark + seen.weighed.lines[i], tuple(seen.values.at(i)))
            for i, mark in sorted(marks.items())
            if mark >= QUOTED
        ],
        1.0,
    )


class _Page(NamedTuple):
    """How a summary is laid out."""

    seen: View
    named: Mapping[str, int]  # sections and where they begin
    add_numbers: bool
    gaps: list[str]  # what stands before and after the number of lines
    gap_of_one: list[str]

    def line(self, place: int) -> str:
        line = self.seen.sample.lines[place]
        return f"{self.seen.sample.numbers[place]}: {line}" if self.add_numbers else line

    def gap(self, before: int, after: int, inside: list[Piece]) -> str | None:
        """What stands for the lines between two places: how many, and their values; None if they are blank."""
        lines, numbers = self.seen.sample.lines, self.seen.sample.numbers
        if after - before == 2 and len(lines[before + 1]) <= SINGLE:
            return self.line(before + 1) if lines[before + 1] else None
        if after - before <= 4 and not any(lines[before + 1 : after]):
            return None
        start = numbers[before] if before >= 0 else 0
        skipped = (numbers[after] if after < len(lines) else numbers[-1] + 1) - start - 1
        if skipped < 1:  # inside one long line
            return f"…: {self._names(before, inside)} …" if inside else "…"
        ahead, behind = self.gaps if skipped > 1 else self.gap_of_one
        told = f"{ahead}{skipped:,}{behind}"
        return f"{told}: {self._names(before, inside)} …" if inside else f"{told} …"

    def _names(self, before: int, inside: list[Piece]) -> str:
        """The values of a gap, those of a section that begins in it behind its name."""
        if len(inside) == 1 or not self.named:
            return " ".join([piece.values[0] for piece in inside])
        out: list[str] = []
        for label, pieces in groupby(inside, key=attrgetter("label")):
            words = [piece.values[0] for piece in pieces]
            if len(words) > 1 and self.named.get(label, -1) > before:
                words = [f"{label}:", *(word for word in words if word not in label)]
                out.append("; " if out else "")
            elif out:
                out.append(" ")
            out.append(" ".join(words))
        return "".join(out)


def _in_order(page: _Page, label: str, chosen: list[Piece], between: list[Piece]) -> str:
    """The opening, then lines and gaps; the label stands where the first gap is, without an opening before all."""
    lines, numbers, opening = page.seen.sample.lines, page.seen.sample.numbers, page.seen.opening
    out = [opening.text] if opening.text else [label]
    pending = bool(opening.text)
    if opening.text.endswith("…"):
        out.append(label)
        pending = False
    places = {piece.place for piece in chosen}
    left = sorted([piece for piece in between if piece.place not in places], key=by_place)
    left.reverse()
    before, first, total = opening.lines - 1, opening.lines, len(lines)
    for place in [*sorted(places), total]:
        if place > before + 1:
            inside = []
            while left and left[-1].place < place:
                inside.append(left.pop())
            gap = page.gap(before, place, inside)
            if gap:
                if pending and gap[0] == "…":
                    out.append(label)
                    pending = False
                if inside or out[-1] is not label:  # the label tells of a gap itself
                    out.append(gap)
        elif place < total and before >= first and numbers[before] == numbers[place]:
            out[-1] += lines[place]
            before = place
            continue
        if place < total:
            out.append(f"{numbers[place]}: {lines[place]}" if page.add_numbers else lines[place])
        before = place
    return "\n".join([*out, label] if pending else out)


def labels_of(seen: View, sections: Sequence[Section]) -> list[str]:
    """For every line the name of its section, else the number of a line above it, which is what `expand` takes."""
    total = len(seen.sample.lines)
    if not sections:
        size = max(1, -(-total // BLOCKS))
        sections = [Section(start, f"L{number_at(seen, start)}") for start in range(0, total, size)]
    labels = [f"L{number_at(seen, 0)}"] * sections[0].start
    for (start, name), end in zip(sections, [*(section.start for section in sections[1:]), total], strict=True):
        labels += [name] * (end - start)
    return labels


def number_at(seen: View, place: int) -> int:
    """The number a line carries itself, else its place in the text."""
    prefix = NUMBERED.match(seen.sample.lines[place]) if seen.own_numbers else None
    return int(prefix.group(1)) if prefix else seen.sample.numbers[place]


def sectioned(header: str, quoted: list[Piece], values: list[Piece]) -> str:
    """Quoted lines and labelled values in the order of the original; labels with nothing behind them share a row."""
    rows: dict[str | int, list[str]] = {}
    for piece in sorted([*quoted, *values], key=by_place):
        if piece.label:
            rows.setdefault(piece.label, []).extend([piece.text] if piece.text else [])
        else:
            rows[piece.place] = [piece.text]
    out = [header]
    names: list[str] = []
    for label, texts in rows.items():
        if isinstance(label, str) and not texts:
            names.append(label)
            continue
        if names:
            out.append(", ".join(names))
            names = []
        out.append(f"{label}: {' '.join(texts)}" if isinstance(label, str) else texts[0])
    return "\n".join([*out, ", ".join(names)] if names else out)
