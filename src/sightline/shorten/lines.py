"""The lines of a text as pieces: whole ones and the values between them for a summary, values by section for a gist."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, groupby, pairwise
from math import log2
from typing import NamedTuple

from sightline.shorten.fill import CHARS, GROUPED, VALUE, Excerpt, Level, Piece, Pieces, by_place, by_worth, grouped
from sightline.shorten.identifiers import WEIGHTS, values_of_lines
from sightline.shorten.sample import Beginning, Sample
from sightline.shorten.signals import marks_of_trouble

OFTEN = [0.35 * log2(n) for n in range(1, 9)]  # added for each time more: of values seen once 12 % are used again,
# of those seen 8 times 33 %
LISTED = 0.31  # a value of less weight (a short number, a date, a version) says nothing outside its line
LINE = 3.5  # tokens a line of a summary costs beside its text: its end and half a gap
SUMMARY_LINES = 0.25  # share of a summary that goes to whole lines; the rest names the values in the gaps between them
GIST_LINES = 0.12  # share of a gist that goes to marked lines (errors, tallies); the rest to values under their section
EDGE_LINES = 3  # lines at either end that are kept first: they say what this is and how it ended
EDGE_WORTH = 3.0
PLAIN = 0.2  # a line without values is worth little, not nothing
SPARSE = 0.5  # share of lines with something in them, below which plain lines are candidates too
SINGLE = 40  # a gap of one line this short is shown: its marker would cost as much
QUOTED = 3.0  # a mark from which a line is quoted in a gist
WIDEST = 90  # characters of a quoted line in a gist
DETECT = 14  # lines looked at to tell whether they are numbered
MOST_VALUES = 400  # more do not fit into any level
BLOCKS = 2  # a text without sections is named by the numbers of its lines, in this many blocks

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
    lines: list[float]  # of each line: the worth of the values that stand first in it


class View(NamedTuple):
    """A sample read once."""

    sample: Sample
    values: list[list[str]]  # of each line
    weighed: Weighed
    ranked: list[str]  # what says something outside its line, most worth per token first
    subject: str
    wording: Mapping[str, str]
    code: list[str]  # the lines without their numbers
    own_numbers: bool  # the text carries line numbers of its own, as `cat -n` and most file readers give it
    opening: Beginning  # what a summary begins with


def view(sample: Sample, subject: str, wording: Mapping[str, str], opening: Beginning) -> View:
    """Reads the values of every line."""
    own = numbered(sample.lines)
    code = _code(sample.lines) if own else sample.lines
    values = values_of_lines(code)
    weighed = weigh(values)
    return View(sample, values, weighed, ranked(weighed), subject, wording, code, own, opening)


def weigh(values: list[list[str]]) -> Weighed:
    """What the values of each line are worth: one more the more often it is said and the earlier."""
    lines = [0.0] * len(values)
    fall = 0.5 / max(1, len(values) - 1)
    first: dict[str, int] = {}
    worth: dict[str, float] = {}
    again: list[str] = []
    for place, found in enumerate(values):
        for value in found:
            if value in first:
                again.append(value)
            else:
                first[value] = place
                worth[value] = new = WEIGHTS[value] * (1.25 - fall * place)
                lines[place] += new
    for value, n in Counter(again).items():
        more = worth[value] * OFTEN[min(n, 7)]
        worth[value] += more
        lines[first[value]] += more
    return Weighed(first, worth, lines)


def _code(lines: list[str]) -> list[str]:
    """Lines without their numbers: quickly where what stands after the number occurs in hardly any code."""
    for mark in "→\t":
        if mark in lines[0] or mark in lines[-1]:
            return [line[line.find(mark) + 1 :] for line in lines]
    return list(map(bare, lines))


def bare(line: str) -> str:
    """A line without the number it carries."""
    prefix = NUMBERED.match(line)
    return line[prefix.end() :] if prefix else line


def numbered(lines: list[str]) -> bool:
    """Whether most lines begin with a number and these rise. A bare number is an empty line of such a text."""
    if not any(line.lstrip()[:1].isdigit() for line in lines[:3]):
        return False
    some = list(filter(None, lines[:DETECT]))
    found = [match for line in some if (match := NUMBERED.match(line))]
    if len(some) < 3 or len(found) < 0.7 * len(some):
        return False
    said = sum(match.end() > match.end(1) for match in found)
    numbers = [int(match.group(1)) for match in found]
    return 2 * said >= len(found) and sum(a < b for a, b in pairwise(numbers)) >= 0.8 * (len(numbers) - 1)


def told(seen: View) -> dict[int, float]:
    """Marks for lines that tell of trouble."""
    return marks_of_trouble(seen.sample.lines, seen.values, seen.weighed.first)


def troubles(sample: Sample) -> dict[int, float]:
    """The same for lines nobody has read yet."""
    values = values_of_lines(sample.lines)
    return marks_of_trouble(sample.lines, values, {*chain.from_iterable(values)})


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
    labels = labels_of(seen, sections)
    gist = Pieces(quotations(seen, quoted), grouped(single_values(seen, labels, named)), share, sectioned, bias=0.83)
    return Levels(summary_level(seen, marks, labels, named, add_numbers=add_numbers), gist)


def summary_level(
    seen: View,
    marks: Mapping[int, float],
    labels: Sequence[str] = (),
    named: Mapping[str, int] = NOWHERE,
    *,
    add_numbers: bool = False,
) -> Excerpt:
    """Head, tail and the lines that matter, in order; between them gaps that name the values left out there."""
    lines, worth = seen.sample.lines, seen.weighed.lines.copy()
    for i in {*range(min(EDGE_LINES, len(lines))), *range(max(0, len(lines) - EDGE_LINES), len(lines))}:
        worth[i] += EDGE_WORTH
    for i, mark in marks.items():
        worth[i] += mark
    extra_tokens, opening = LINE * CHARS, seen.opening
    plain = worth.count(0.0) + sum(mark < 0 for mark in marks.values())
    least = -PLAIN if len(lines) - plain < SPARSE * len(lines) else 0.0
    density = {
        i: (worth[i] + PLAIN) / (len(lines[i]) + extra_tokens)
        for i in range(opening.lines, len(lines))
        if worth[i] > least and lines[i]
    }
    order = sorted(density, key=density.__getitem__, reverse=True)
    gaps = [[*seen.wording[gap].partition("{n}")[::2]] for gap in ("gap", "gap one")]
    page = _Page(seen, labels, named, add_numbers, *gaps)
    shown, fixed = opening_values(seen), len(opening.text)
    return Excerpt(order, lines, seen.values, seen.ranked, SUMMARY_LINES, LINE, page.render, shown, fixed)


def opening_values(seen: View) -> list[str]:
    """The values in the lines that are shown as they are."""
    return [*chain.from_iterable(seen.values[: seen.opening.lines])]


def single_values(seen: View, labels: Sequence[str], named: Mapping[str, int] = NOWHERE) -> list[Piece]:
    """Every distinct value, most worth per token first, below the label of the line where it stands first.

    The name of a section stands where that begins. A value has no text where the label says it.
    """
    first, worth = seen.weighed.first, seen.weighed.worth
    first = {**first, **named} if named else first
    return [
        Piece(place := first[value], "" if value in labels[place] else value, worth[value], (value,), labels[place])
        for value in seen.ranked[:GROUPED]
    ]


def ranked(weighed: Weighed) -> list[str]:
    """The values that say something outside their line, most worth per token first."""
    extra_tokens = VALUE * CHARS
    density = {v: worth / (len(v) + extra_tokens) for v, worth in weighed.worth.items() if WEIGHTS[v] > LISTED}
    return sorted(density, key=density.__getitem__, reverse=True)[:MOST_VALUES]


def quotations(seen: View, marks: Mapping[int, float]) -> list[Piece]:
    """The lines that a gist may quote."""
    lines = seen.sample.lines
    return by_worth(
        [
            Piece(i, " ".join(lines[i].split())[:WIDEST], mark + seen.weighed.lines[i], seen.values[i])
            for i, mark in sorted(marks.items())
            if mark >= QUOTED
        ],
        1.0,
    )


class _Page(NamedTuple):
    """How a summary is laid out."""

    seen: View
    labels: Sequence[str]  # of each line, where there are sections
    named: Mapping[str, int]  # sections and where they begin
    add_numbers: bool
    gaps: list[str]  # what stands before and after the number of lines
    gap_of_one: list[str]

    def line(self, place: int) -> str:
        line = self.seen.sample.lines[place]
        return f"{self.seen.sample.numbers[place]}: {line}" if self.add_numbers else line

    def gap(self, before: int, after: int, inside: list[str]) -> str | None:
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

    def _names(self, before: int, inside: list[str]) -> str:
        """The values of a gap, those of a section that begins in it behind its name."""
        if len(inside) == 1 or not self.named:
            return " ".join(inside)
        first, labels = self.seen.weighed.first, self.labels
        out: list[str] = []
        for label, names in groupby(inside, key=lambda name: labels[self.named.get(name, first[name])]):
            words = list(names)
            if len(words) > 1 and self.named.get(label, -1) > before:
                words = [f"{label}:", *(word for word in words if word not in label)]
                out.append("; " if out else "")
            elif out:
                out.append(" ")
            out.append(" ".join(words))
        return "".join(out)

    def render(self, label: str, chosen: list[int], between: list[str]) -> str:
        """The opening, then lines and gaps; the label stands where the first gap is, without an opening before all."""
        lines, numbers, opening = self.seen.sample.lines, self.seen.sample.numbers, self.seen.opening
        out = [opening.text] if opening.text else [label]
        pending = bool(opening.text)
        if opening.text.endswith("…"):
            out.append(label)
            pending = False
        places, first = set(chosen), {**self.seen.weighed.first, **self.named}
        left = sorted([name for name in between if first[name] not in places], key=first.__getitem__)[::-1]
        before, total = opening.lines - 1, len(lines)
        for place in [*sorted(chosen), total]:
            if place > before + 1:
                inside = []
                while left and first[left[-1]] < place:
                    inside.append(left.pop())
                gap = self.gap(before, place, inside)
                if gap:
                    if pending and gap[0] == "…":
                        out.append(label)
                        pending = False
                    if inside or out[-1] is not label:  # the label tells of a gap itself
                        out.append(gap)
            elif place < total and before >= opening.lines and numbers[before] == numbers[place]:
                out[-1] += lines[place]
                before = place
                continue
            if place < total:
                out.append(f"{numbers[place]}: {lines[place]}" if self.add_numbers else lines[place])
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
