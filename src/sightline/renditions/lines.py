"""The lines of a text as pieces: whole for a summary, and the values that stand between them; for a gist, values by section."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from math import log2
from typing import NamedTuple

from sightline.renditions.pack import Level, Piece
from sightline.renditions.sample import Line, Sample
from sightline.renditions.values import values_in, weight

SUMMARY_LINES = 0.6  # share of a summary that goes to whole lines; the rest names the values in the gaps between them
GIST_LINES = 0.12  # share of a gist that goes to marked lines (errors, tallies); the rest to values under their section
EDGE_LINES = 5  # lines at either end that are kept first: they say what this is and how it ended
EDGE_WORTH = 3.0
PLAIN = 0.2  # a line without values is worth little, not nothing
SINGLE = 40  # a gap of one line this short is shown: its marker would cost as much
MOST_TROUBLES = 60  # different lines of trouble that are marked; a text with more is about them anyway
QUOTED = 3.0  # a mark from which a line is quoted in a gist
WIDEST = 90  # characters of a quoted line in a gist
SECTION = 36  # characters of a section's label
SECTIONS = 5  # at most; each costs a label, and a label as much as a value
BLOCKS = 2  # a text without sections is named by the numbers of its lines, in this many blocks

_TROUBLE = {  # stems, looked for as they are: by far the quickest search there is
    **dict.fromkeys(
        (
            "rror",
            "xception",
            "Failure",
            "FAIL",
            "fatal",
            "panic",
            "enied",
            "ot found",
            "o such",
            "错误",
            "失败",
            "异常",
        ),
        3.0,
    ),
    **dict.fromkeys(("arning", "WARN", "eprecat", "警告"), 1.5),
}
_NAMED = re.compile(r"func \([^)]{1,60}\) \w+|[^({:=<\[]{6,}")
NUMBERED = re.compile(r"\s*(\d{1,7})(?:→|\t|\||: |:\s|-\s)")


class Levels(NamedTuple):
    """What both levels of one text are chosen from."""

    summary: Level
    gist: Level


class View(NamedTuple):
    """A sample read once: the values of every line and what each value is worth in this text."""

    sample: Sample
    values: list[tuple[str, ...]]  # of each line
    weights: Mapping[str, float]
    subject: str
    wording: Mapping[str, str]
    own_numbers: bool  # the text carries line numbers of its own, as `cat -n` and most file readers give it


def view(sample: Sample, subject: str, wording: Mapping[str, str]) -> View:
    """Reads the values of every line."""
    own = _numbered(sample.lines)
    values = [_values(line.text, own) for line in sample.lines]
    often: Counter[str] = Counter()
    first: dict[str, int] = {}
    for i, found in enumerate(values):
        for value in found:
            often[value] += 1
            first.setdefault(value, i)
    last = max(1, len(values) - 1)
    weights = {v: weight(v) * (1 + 0.35 * log2(min(n, 8))) * (1.25 - 0.5 * first[v] / last) for v, n in often.items()}
    return View(sample, values, weights, subject, wording, own)


def _values(line: str, own_numbers: bool) -> tuple[str, ...]:
    if own_numbers and (prefix := NUMBERED.match(line)):
        line = line[prefix.end() :]
    return tuple(values_in(line))


def _numbered(lines: list[Line]) -> bool:
    some = [line.text for line in lines[:40] if line.text.strip()]
    return len(some) >= 3 and sum(bool(NUMBERED.match(text)) for text in some) >= 0.8 * len(some)


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


def single_values(seen: View) -> list[Piece]:
    """Every distinct value, at its first place."""
    first: dict[str, int] = {}
    for i, values in enumerate(seen.values):
        for value in values:
            first.setdefault(value, i)
    return [Piece(i, value, (value,)) for value, i in first.items()]


def _in_order(seen: View, places: list[int], between: list[Piece], add_numbers: bool) -> str:
    lines = seen.sample.lines
    left = sorted(between)
    out: list[str] = []
    before = -1
    for place in [*sorted(places), len(lines)]:
        inside = []
        while left and left[0].place < place:
            inside.append(left.pop(0).text)
        if gap := _gap(seen, before, place, inside):
            out.append(gap)
        if place == len(lines):
            break
        text = f"{lines[place].number}: {lines[place].text}" if add_numbers else lines[place].text
        if before == place - 1 >= 0 and lines[before].number == lines[place].number:
            out[-1] += lines[place].text
        else:
            out.append(text)
        before = place
    return "\n".join(out)


def _gap(seen: View, before: int, after: int, inside: list[str]) -> str:
    """What stands for the lines between two places: nothing, the line itself if it is short, or how many and their values."""
    lines = seen.sample.lines
    start = lines[before].number if before >= 0 else 0
    end = lines[after].number if after < len(lines) else lines[-1].number + 1
    skipped = end - start - 1
    if skipped <= 0 and not inside:
        return "" if after == before + 1 else "…"
    if skipped == 1 and after == before + 2 and len(lines[before + 1].text) <= SINGLE:
        return lines[before + 1].text if lines[before + 1].text.strip() else ""
    told = seen.wording["gap"].format(n=f"{skipped:,}") if skipped > 0 else "…"
    return f"{told[:-2]}: {' '.join(inside)} …" if inside else told


def gist_level(
    seen: View, marks: Mapping[int, float], starts: Iterable[int] = (), *, add_numbers: bool = False
) -> Level:
    """Marked lines quoted, then values under the section they stand in. `starts` are the lines that begin one."""
    lines = seen.sample.lines
    quoted = [
        Piece(i, lines[i].text.strip()[:WIDEST], seen.values[i], mark)
        for i, mark in sorted(marks.items())
        if mark >= QUOTED
    ]
    label = _sections(lines, list(starts))
    values = [under(piece, label[piece.place]) for piece in single_values(seen)]
    return Level(quoted, values, GIST_LINES, sectioned)


def under(piece: Piece, label: str) -> Piece:
    """The piece below a label; without a text of its own where the label says it."""
    return piece._replace(label=label, text="" if piece.text in label else piece.text)


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
    for start, end in zip(bounds, bounds[1:], strict=False):
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
