"""Texts of lines: a summary of whole lines and the values between them, a gist of values under their section's name."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise, zip_longest
from math import isfinite, log2
from typing import NamedTuple

from sightline.errors import BadInput
from sightline.shorten.fill import (
    CHARS,
    GROUPED,
    VALUE,
    Excerpt,
    Level,
    Piece,
    Pieces,
    rank,
    rank_by_label,
    rows_by_label,
)
from sightline.shorten.identifiers import WEIGHTS, values_of_lines, without_marks
from sightline.shorten.rarity import line_traits, rarities
from sightline.shorten.sample import Opening, Sample
from sightline.shorten.signals import trouble_marks

OFTEN = [0.35 * log2(n) for n in range(1, 9)]  # worth added for repetitions: of values seen once 12 % are used again,
# of those seen 8 times 33 %
LISTED = 0.31  # a value of less weight (a short number, a date, a version) says nothing outside its line
LINE = 3.5  # tokens that a line of a summary costs in addition to its text: its end and half a gap
SUMMARY_LINES = 0.25  # share of a summary for whole lines; the rest names the values in the gaps between them
QUOTED = 0.5  # share of a gist for what is unusual in a text; the rest names values
EDGE_LINES = 3  # lines at either end that are chosen first, because they say what this is and how it ended
EDGE_WORTH = 3.0
PLAIN = 0.2  # worth of a line without values
SPARSE = 0.5  # share of lines that have any worth, below which plain lines can be chosen too
SINGLE = 40  # characters; a gap of one line this short is shown, because its marker would cost as much
REPEATED = -1.2  # mark of a line that differs from an earlier one only in numbers
UNUSUAL = 3.0  # mark from which a gist says a line before everything else
WIDEST, FIRST_WIDEST = 90, 160  # characters of a quoted line in a gist, and of one that comes before all others
RULES, FRAME = " \t=-_*#~", " \t="  # signs around a title or a total, and those that begin no line of a diff
DETECT = 14  # lines looked at to find out whether they are numbered
MOST_VALUES, NAMED = 400, 120  # more do not fit into any level, and into any gist

BEFORE_NUMBERS = 6  # lines that a file reader may put before the first numbered one: the path, the type, an opening tag
LINE_NUMBER = re.compile(r"\s*(\d{1,6})(?:→|\t| ?\| ?|:(?:\s|$)|-\s|$)")


class Levels(NamedTuple):
    """What the summary and the gist of one text are chosen from."""

    summary: Level
    gist: Level


class Order(NamedTuple):
    """What a shortener decides of the order of lines, where their worth per token does not say it."""

    first: Sequence[int] = ()  # lines that both levels take before other lines and before values, in this order
    then: Sequence[int] = ()  # lines that a summary takes next, before values
    share: float = 1.0  # of a gist, for the first lines; values have the rest
    hidden: frozenset[int] = frozenset()  # lines that no level shows, except at the beginning of a summary
    terse: bool = False  # the gaps of a summary do not say how many lines are left out


IN_ORDER_OF_WORTH = Order()


class ValueWorths(NamedTuple):
    """The worth of the values in some lines."""

    first: dict[str, int]  # the line where a value occurs first
    values: dict[str, float]  # the worth of each value
    lines: list[float]  # of each line, the worth of the values that occur there first


class View(NamedTuple):
    """A sample with the values of its lines."""

    sample: Sample
    values: list[list[str]]  # of each line
    worths: ValueWorths
    names: list[str]  # values that say something outside their line, most worth per token first
    subject: str
    wording: Mapping[str, str]
    code: list[str]  # the lines without their numbers
    has_numbers: bool  # the text has line numbers of its own, as `cat -n` and most file readers write them
    opening: Opening  # what a summary begins with
    known: list[str]  # the values of the subject, which the call shows

    def trouble_marks(self) -> dict[int, float]:
        """Return a mark for each line with an error or a warning."""
        return trouble_marks(self.sample.lines, self.values, self.worths.first)

    def unusual_marks(self) -> dict[int, float]:
        """Return a mark for each line with an error or a warning, and for each whose pattern is rare in this text."""
        marks = self.trouble_marks()
        places = [i for i, line in enumerate(self.code) if line]
        for at, rarity in rarities(line_traits([self.code[i] for i in places])).items():
            marks[places[at]] = marks.get(places[at], 0.0) + rarity
        return marks


def make_view(sample: Sample, subject: str, wording: Mapping[str, str], opening: Opening) -> View:
    """Read the values of every line of a sample."""
    has_numbers = has_line_numbers(sample.lines)
    code = _strip_numbers(sample.lines) if has_numbers else sample.lines
    *values, of_subject = values_of_lines([*code, without_marks(subject).replace("\n", " ")])
    worths = value_worths(values)
    return View(sample, values, worths, rank_values(worths), subject, wording, code, has_numbers, opening, of_subject)


def value_worths(values: list[list[str]]) -> ValueWorths:
    """Return what the values of each line are worth: more, the more often and the earlier they occur."""
    lines = [0.0] * len(values)
    fall = 0.5 / max(1, len(values) - 1)
    first: dict[str, int] = {}
    worths: dict[str, float] = {}
    again: list[str] = []
    for place, line_values in enumerate(values):
        for value in line_values:
            if value in first:
                again.append(value)
            else:
                first[value] = place
                worths[value] = new = WEIGHTS[value] * (1.25 - fall * place)
                lines[place] += new
    for value, n in Counter(again).items():
        more = worths[value] * OFTEN[min(n, 7)]
        worths[value] += more
        lines[first[value]] += more
    return ValueWorths(first, worths, lines)


def rank_values(worths: ValueWorths) -> list[str]:
    """Return the values that say something outside their line, most worth per token first."""
    density = {v: worth / (len(v) + VALUE * CHARS) for v, worth in worths.values.items() if WEIGHTS[v] > LISTED}
    return sorted(density, key=density.__getitem__, reverse=True)[:MOST_VALUES]


def _strip_numbers(lines: list[str]) -> list[str]:
    """Return lines without their numbers, quickly if what follows the number is rare in code."""
    for mark in "→\t":
        if mark in lines[0] or mark in lines[-1]:
            return [line[line.find(mark) + 1 :] for line in lines]
    return list(map(strip_number, lines))


def strip_number(line: str) -> str:
    """Return a line without the line number it begins with."""
    prefix = LINE_NUMBER.match(line)
    return line[prefix.end() :] if prefix else line


def has_line_numbers(lines: list[str]) -> bool:
    """Whether most lines begin with a number and these rise. A number by itself is an empty line of such a text."""
    if not any(line.lstrip()[:1].isdigit() for line in lines[:BEFORE_NUMBERS]):
        return False
    some = list(filter(None, lines[:DETECT]))
    numbered = [match for line in some if (match := LINE_NUMBER.match(line))]
    if len(some) < 3 or len(numbered) < 0.7 * len(some):
        return False
    marked = sum(match.end() > match.end(1) for match in numbered)
    numbers = [int(match.group(1)) for match in numbered]
    return 2 * marked >= len(numbered) and sum(a < b for a, b in pairwise(numbers)) >= 0.8 * (len(numbers) - 1)


def line_levels(
    view: View,
    marks: Mapping[int, float],
    quoted: Mapping[int, float],
    sections: Mapping[int, str] = {},
    *,
    order: Order = IN_ORDER_OF_WORTH,
    add_numbers: bool = False,
    add_names: bool = False,
) -> Levels:
    """Return both levels of a text. `marks` add worth to lines of the summary, `quoted` to those of the gist.

    `sections` has the first line of each section and its name, for the gaps of the summary; with `add_names` the gist
    has these names too. `order` has lines that come before all others, and lines that are never shown.

    Raises:
        BadInput: a mark is for a line that the view does not have, or is no finite number.
    """
    _check_marks(view, marks)
    _check_marks(view, quoted)
    starts = {name: start for start, name in sections.items()}
    labels = _line_labels(view, sections)
    first, then = (_distinct(view, places, order.hidden) for places in (order.first, order.then))
    order = order._replace(first=first, then=then)
    summary = summary_level(view, marks, labels, starts, order=order, add_numbers=add_numbers)
    named = rank_by_label(value_pieces(view, labels)) if add_names else value_pieces(view)
    values = [piece for piece in named if marks.get(piece.place, 0.0) > REPEATED]
    lines = quotable_pieces(view, {0: PLAIN, **quoted}, order)
    return Levels(summary, gist_level(lines, values, view.known, first=len(order.first[:NAMED]), share=order.share))


def in_turns(rows: Iterable[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the first line of each row, then the second of each, and so on."""
    return ([i for i in turn if i is not None] for turn in zip_longest(*rows))


def _distinct(view: View, places: Sequence[int], hidden: frozenset[int]) -> list[int]:
    """Return the lines that may be shown and say something, of those that read alike the first."""
    lines = view.sample.lines
    texts = {lines[i].strip(): i for i in reversed(places) if i not in hidden and lines[i].strip(RULES)}
    return [i for i in dict.fromkeys(places) if texts.get(lines[i].strip()) == i]


def _check_marks(view: View, marks: Mapping[int, float]) -> None:
    count = len(view.sample.lines)
    try:
        if not marks or (min(marks) >= 0 and max(marks) < count and isfinite(sum(marks.values()))):
            return
    except TypeError:
        pass  # which one it is, is found below
    for line, mark in marks.items():
        if not isinstance(line, int) or not 0 <= line < count:
            raise BadInput(f"there is a mark for line {line!r}; the view has lines 0 to {count - 1}")
        if not isinstance(mark, int | float) or not isfinite(mark):
            raise BadInput(f"the mark of line {line} is {mark!r}; it must be a finite number")


def gist_level(
    lines: list[Piece],
    values: list[Piece],
    visible: Iterable[str],
    *,
    separator: str = " ",
    bias: float = 0.83,
    first: int = 0,
    share: float = 1.0,
) -> Pieces:
    """Return a gist: what is unusual first, then values that neither it nor the call shows, then other lines.

    So many of the unusual lines as `first` says come before any value, up to a share of the gist.
    """
    unusual = [line for line in lines if line.worth >= UNUSUAL]
    others = [line for line in lines if line.worth < UNUSUAL]

    def render(header: str, chosen: list[Piece], named: list[Piece]) -> str:
        said = sorted(chosen, key=lambda line: (line.worth < UNUSUAL, line.place))
        return "\n".join([header, *(line.text for line in said), *rows_by_label(named, separator)])

    quoted = QUOTED if unusual else 0.0
    return Pieces(unusual + others, values, quoted, render, visible, first=first, first_share=share, bias=bias)


def summary_level(
    view: View,
    marks: Mapping[int, float],
    labels: Sequence[str] = (),
    section_starts: Mapping[str, int] = {},
    *,
    order: Order = IN_ORDER_OF_WORTH,
    add_numbers: bool = False,
) -> Excerpt:
    """Return head, tail and the most useful lines, in order; gaps between them name the values that are left out."""
    lines, worth = view.sample.lines, view.worths.lines.copy()
    for i in {*range(min(EDGE_LINES, len(lines))), *range(max(0, len(lines) - EDGE_LINES), len(lines))}:
        worth[i] += EDGE_WORTH
    for i, mark in marks.items():
        worth[i] += mark
    extra_chars, opening = LINE * CHARS, view.opening
    plain = worth.count(0.0) + sum(mark < 0 for mark in marks.values())
    least = -PLAIN if len(lines) - plain < SPARSE * len(lines) else 0.0
    density = {
        i: (worth[i] + PLAIN) / (len(lines[i]) + extra_chars)
        for i in range(opening.lines, len(lines))
        if worth[i] > least and lines[i] and i not in order.hidden
    }
    first = [i for i in dict.fromkeys([*order.first, *order.then]) if i >= opening.lines]
    ranked = [*dict.fromkeys([*first, *sorted(density, key=density.__getitem__, reverse=True)])]
    render = _SummaryLayout(view, labels, section_starts, add_numbers, order).render
    visible = [*chain.from_iterable(view.values[: opening.lines])]
    fixed = len(opening.text)
    return Excerpt(ranked, lines, view.values, view.names, SUMMARY_LINES, LINE, render, visible, fixed, len(first))


def value_pieces(view: View, labels: Sequence[str] = ()) -> list[Piece]:
    """Return every distinct value under the label of its first line, if there are labels, most worth per token first.

    A value has no text if its label contains it.
    """
    first, worth = view.worths.first, view.worths.values
    if not labels:
        return [Piece(first[value], value, worth[value], (value,)) for value in view.names[:NAMED]]
    return [
        Piece(place := first[value], "" if value in labels[place] else value, worth[value], (value,), labels[place])
        for value in view.names[:GROUPED]
    ]


def quotable_pieces(view: View, marks: Mapping[int, float], order: Order = IN_ORDER_OF_WORTH) -> list[Piece]:
    """Return the first and then the marked lines, on their own without blanks and rules, as a gist quotes them."""

    def piece(i: int, worth: float, rules: str = RULES, widest: int = WIDEST) -> Piece:
        return Piece(i, " ".join(view.code[i].strip(rules).split())[:widest], worth, view.values[i])

    first = [piece(i, UNUSUAL, FRAME, FIRST_WIDEST) for i in order.first[:NAMED]]
    placed = {*order.first, *order.hidden}
    others = [piece(i, mark) for i, mark in marks.items() if mark > 0 and i not in placed]
    return first + rank([other for other in others if other.text], 1.0)


class _SummaryLayout(NamedTuple):
    """How the lines and gaps of a summary are written."""

    view: View
    labels: Sequence[str]  # of each line, where there are sections
    section_starts: Mapping[str, int]  # by the section's name
    add_numbers: bool
    order: Order

    def render(self, label: str, chosen: list[int], between: list[str]) -> str:
        """Return the opening, then lines and gaps. The label is at the first gap, or first if there is no opening."""
        lines, numbers, opening = self.view.sample.lines, self.view.sample.numbers, self.view.opening
        is_cut = opening.text.endswith("…") or opening.number > 0  # a page says at its end how to read on
        out = [opening.text, label] if is_cut else [opening.text or label]
        pending = bool(opening.text) and not is_cut
        places, first = set(chosen), {**self.view.worths.first, **self.section_starts}
        left = sorted([name for name in between if first[name] not in places], key=first.__getitem__)[::-1]
        before, total = opening.lines - 1, len(lines)
        for place in [*sorted(chosen), total]:
            if place > before + 1:
                inside = []
                while left and first[left[-1]] < place:
                    inside.append(left.pop())
                gap = self._gap(before, place, inside)
                if gap:
                    if pending and gap[0] == "…":
                        out.append(label)
                        pending = False
                    if inside or out[-1] is not label:  # the label itself announces a gap
                        out.append(gap)
            elif place < total and before >= opening.lines and numbers[before] == numbers[place]:
                out[-1] += lines[place]
                before = place
                continue
            if place < total:
                out.append(self._line(place))
            before = place
        return "\n".join([*out, label] if pending else out)

    def _line(self, place: int) -> str:
        line = self.view.sample.lines[place]
        return f"{self.view.sample.numbers[place]}: {line}" if self.add_numbers else line

    def _gap(self, before: int, after: int, inside: list[str]) -> str | None:
        """Return the marker for the lines between two places: their number and their values; None if they are blank."""
        lines, numbers = self.view.sample.lines, self.view.sample.numbers
        if after - before == 2 and len(lines[before + 1]) <= SINGLE and before + 1 not in self.order.hidden:
            return self._line(before + 1) if lines[before + 1] else None
        if after - before <= 4 and not any(lines[before + 1 : after]):
            return None
        start = max(numbers[before] if before >= 0 else 0, self.view.opening.number)
        skipped = (numbers[after] if after < len(lines) else numbers[-1] + 1) - start - 1
        if skipped < 1 or self.order.terse:  # inside one long line
            return f"…: {self._names(before, inside)} …" if inside else "…"
        marker = self.view.wording["gap" if skipped > 1 else "gap one"].format(n=f"{skipped:,}")
        return f"{marker}: {self._names(before, inside)} …" if inside else f"{marker} …"

    def _names(self, before: int, inside: list[str]) -> str:
        """Return the values of a gap. Those of a section that begins in it follow the name of the section."""
        if len(inside) == 1 or not self.section_starts:
            return " ".join(inside)
        first, labels = self.view.worths.first, self.labels
        text = ""
        for label, names in groupby(inside, key=lambda name: labels[self.section_starts.get(name, first[name])]):
            words, separator = list(names), " "
            if len(words) > 1 and self.section_starts.get(label, -1) > before:
                words, separator = [f"{label}:", *(word for word in words if word not in label)], "; "
            text += (separator if text else "") + " ".join(words)
        return text


def _line_labels(view: View, sections: Mapping[int, str]) -> list[str]:
    """Return for every line the name of its section."""
    starts = [*sections, len(view.sample.lines)]
    labels = [""] * starts[0]
    for start, end in pairwise(starts):
        labels += [sections[start]] * (end - start)
    return labels
