"""The lines of a text as pieces: whole ones and the values between them for a summary, values by section for a gist."""

import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from itertools import chain, pairwise
from math import log2
from typing import NamedTuple

from sightline.renditions.pack import Level, Piece
from sightline.renditions.sample import Line, Sample
from sightline.renditions.values import values_in, weight

OFTEN = [
    0.0,
    *(1 + 0.35 * log2(n) for n in range(1, 9)),
]  # used again: 12 % of values seen once, 33 % of those seen 8 times
SUMMARY_LINES = 0.6  # share of a summary that goes to whole lines; the rest names the values in the gaps between them
GIST_LINES = 0.12  # share of a gist that goes to marked lines (errors, tallies); the rest to values under their section
EDGE_LINES = 5  # lines at either end that are kept first: they say what this is and how it ended
EDGE_WORTH = 3.0
PLAIN = 0.2  # a line without values is worth little, not nothing
SINGLE = 40  # a gap of one line this short is shown: its marker would cost as much
MOST_TROUBLES = 60  # different lines of trouble that are marked; a text with more is about them anyway
QUOTED = 3.0  # a mark from which a line is quoted in a gist
WIDEST = 90  # characters of a quoted line in a gist
SECTIONS = 5  # at most; each costs a label, and a label as much as a value
BLOCKS = 2  # a text without sections is named by the numbers of its lines, in this many blocks

# Stems, looked for as they are: by far the quickest search there is.
_ERRORS = "rror|xception|Failure|FAIL|fatal|panic|enied|ot found|o such|错误|失败|异常"
_WARNINGS = "arning|WARN|eprecat|警告"
_TROUBLE = {**dict.fromkeys(_ERRORS.split("|"), 3.0), **dict.fromkeys(_WARNINGS.split("|"), 1.5)}
NUMBERED = re.compile(r"\s*(\d{1,7})(?:→|\t|\||: |:\s|-\s|$)")


class Levels(NamedTuple):
    """What both levels of one text are chosen from."""

    summary: Level
    gist: Level


class View(NamedTuple):
    """A sample read once: the values of every line and what each value is worth in this text."""

    sample: Sample
    values: list[tuple[str, ...]]  # of each line
    first: Mapping[str, int]  # the line where a value stands first
    weights: Mapping[str, float]
    subject: str
    wording: Mapping[str, str]
    own_numbers: bool  # the text carries line numbers of its own, as `cat -n` and most file readers give it


def view(sample: Sample, subject: str, wording: Mapping[str, str]) -> View:
    """Reads the values of every line."""
    own = _numbered(sample.lines)
    values = [_values(line.text, own) for line in sample.lines]
    often = Counter(chain.from_iterable(values))
    first: dict[str, int] = {}
    for i, found in enumerate(values):
        for value in found:
            if value not in first:
                first[value] = i
    last = max(1, len(values) - 1)
    weights = {v: weight(v) * OFTEN[min(n, 8)] * (1.25 - 0.5 * first[v] / last) for v, n in often.items()}
    return View(sample, values, first, weights, subject, wording, own)


def _values(line: str, own_numbers: bool) -> tuple[str, ...]:
    if own_numbers and (prefix := NUMBERED.match(line)):
        line = line[prefix.end() :]
    return tuple(values_in(line))


def _numbered(lines: list[Line]) -> bool:
    some = [line.text for line in lines[:40] if line.text.strip()]
    found = [match for text in some if (match := NUMBERED.match(text))]
    said = sum(
        match.end() > match.end(1) for match in found
    )  # a bare number is an empty line of such a text, or just a number
    return len(some) >= 3 and len(found) >= 0.8 * len(some) and 2 * said >= len(found)


def troubles(sample: Sample) -> dict[int, float]:
    """Marks for lines that tell of an error or a warning, whatever the text is. Of equal lines only the first."""
    marks: dict[int, float] = {}
    told: dict[str, int] = {}
    for stem, worth in _TROUBLE.items():
        at = sample.text.find(stem)
        while at >= 0 and len(told) < MOST_TROUBLES:
            i = bisect_right(sample.starts, at) - 1
            if told.setdefault(sample.lines[i].text, i) == i:
                marks[i] = max(worth, marks.get(i, 0.0))
            at = sample.text.find(stem, sample.starts[i + 1]) if i + 1 < len(sample.starts) else -1
    return marks


def summary_level(seen: View, marks: Mapping[int, float], *, add_numbers: bool = False) -> Level:
    """Head, tail and the lines that matter, in order; between them gaps that name the values left out there."""
    lines, last = seen.sample.lines, len(seen.sample.lines) - 1
    pieces = []
    for i, (line, values) in enumerate(zip(lines, seen.values, strict=True)):
        if line.text and not line.text.isspace():
            edge = EDGE_WORTH if min(i, last - i) < EDGE_LINES else 0.0
            pieces.append(Piece(i, line.text, values, PLAIN + edge + marks.get(i, 0.0)))

    def render(chosen: list[Piece], between: list[Piece]) -> str:
        return _in_order(seen, [piece.place for piece in chosen], between, add_numbers)

    return Level(pieces, single_values(seen), SUMMARY_LINES, render, 2.5)


def single_values(seen: View, labels: list[str] | None = None) -> list[Piece]:
    """Every distinct value at its first place, below the label of that line; without a text where the label says it."""
    if labels is None:
        return [Piece(i, value, (value,)) for value, i in seen.first.items()]
    return [Piece(i, "" if value in labels[i] else value, (value,), 0.0, labels[i]) for value, i in seen.first.items()]


def _in_order(seen: View, places: list[int], between: list[Piece], add_numbers: bool) -> str:
    lines = seen.sample.lines
    left = deque(sorted(between))
    out: list[str] = []
    before = -1
    for place in [*sorted(places), len(lines)]:
        inside = []
        while left and left[0].place < place:
            inside.append(left.popleft().text)
        out.extend(_gap(seen, before, place, inside, add_numbers))
        if place == len(lines):
            break
        if before == place - 1 >= 0 and lines[before].number == lines[place].number:
            out[-1] += lines[place].text
        else:
            out.append(_with_number(lines[place], add_numbers))
        before = place
    return "\n".join(out)


def _gap(seen: View, before: int, after: int, inside: list[str], add_numbers: bool) -> list[str]:
    """What stands for the lines between two places: the line itself if it is short, else how many and their values."""
    skipped = seen.sample.lines[before + 1 : after]
    if len(skipped) <= 3 and not any(line.text.strip() for line in skipped):
        return []
    if len(skipped) == 1 and len(skipped[0].text) <= SINGLE:
        return [_with_number(skipped[0], add_numbers)]
    start = seen.sample.lines[before].number if before >= 0 else 0
    end = seen.sample.lines[after].number if after < len(seen.sample.lines) else skipped[-1].number + 1
    told = (
        seen.wording["gap" if end - start > 2 else "gap one"].format(n=f"{end - start - 1:,}")
        if end - start > 1
        else "…"
    )
    return [f"{told}: {' '.join(inside)} …" if inside else f"{told} …" if told != "…" else told]


def _with_number(line: Line, add_number: bool) -> str:
    return f"{line.number}: {line.text}" if add_number else line.text


def gist_level(seen: View, marks: Mapping[int, float], starts: Iterable[int] = (), share: float = GIST_LINES) -> Level:
    """Marked lines quoted, then values under the section they stand in. `starts` are the lines that begin one."""
    lines = seen.sample.lines
    quoted = [
        Piece(i, lines[i].text.strip()[:WIDEST], seen.values[i], mark)
        for i, mark in sorted(marks.items())
        if mark >= QUOTED
    ]
    return Level(quoted, single_values(seen, _sections(lines, list(starts))), share, sectioned)


def _sections(lines: list[Line], starts: list[int]) -> list[str]:
    """For every line the label of its section: the number of the section's first line, which is what `expand` takes."""
    if not starts:
        size = max(1, -(-len(lines) // BLOCKS))
        starts = list(range(0, len(lines), size))
    apart = len(lines) / SECTIONS
    bounds = [0]
    for start in starts:
        bounds.extend([start] if start - bounds[-1] >= apart else [])
    bounds.append(len(lines))
    labels: list[str] = []
    for start, end in pairwise(bounds):
        labels += [f"L{number_of(lines[start])}"] * (end - start) if end > start else []
    return labels


def number_of(line: Line) -> int:
    """The number a line carries itself, else its place in the text."""
    prefix = NUMBERED.match(line.text)
    return int(prefix.group(1)) if prefix else line.number


def sectioned(quoted: list[Piece], values: list[Piece]) -> str:
    """Quoted lines and labelled values in the order of the original."""
    rows: dict[str | int, list[str]] = {}
    for piece in sorted([*quoted, *values]):
        if piece.label:
            rows.setdefault(piece.label, [f"{piece.label}:"]).extend([piece.text] if piece.text else [])
        else:
            rows[piece.place] = [piece.text]
    return "\n".join(" ".join(texts) for texts in rows.values())
