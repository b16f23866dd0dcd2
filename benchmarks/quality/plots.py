"""Two pictures of a run: what composers cost against what they show, and one session call by call."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.quality.composer_calls import Row
from benchmarks.quality.svg import (
    COLOURS,
    OURS,
    SHAPES,
    Point,
    Scale,
    area,
    line,
    mark,
    picture,
    rule,
    text,
)

_WIDTH, _HEIGHT = 230, 190  # of one small picture
_LEFT, _TOP, _RIGHT, _BOTTOM = 40, 26, 10, 36  # around what is drawn in it
_DISTRUST = 0.05  # share of invalid requests from which a point is hollow
_FARTHEST = 2.5  # cost at which the scale ends: what costs more stands at its edge
_FEW = ("full", "sliding", "obs_mask10", "step_mask", "bm25+recent", "sightline")  # composers of the second picture


class Box(NamedTuple):
    """Where one small picture stands."""

    x: Scale
    y: Scale

    def frame(self, title: str, across: str, up: str) -> list[str]:
        """Axes, a grid and their words."""
        left, right, low, high = self.x.start, self.x.end, self.y.start, self.y.end
        out = [text(left, high - 10, title, "title"), rule((left, low), (right, low), "axis")]
        for tick in self.x.ticks():
            out.append(text(self.x(tick), low + 13, _short(tick), "small", "middle"))
        for tick in self.y.ticks():
            out += [rule((left, self.y(tick)), (right, self.y(tick)), "grid")]
            out.append(text(left - 5, self.y(tick) + 3.5, _short(tick), "small", "end"))
        return [*out, text(right, low + 27, across, "small", "end"), text(right, high - 10, up, "small", "end")]

    def at(self, x: float, y: float) -> Point:
        """A point in it."""
        return self.x(x), self.y(y)


def _short(value: float) -> str:
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def _box(at: int, columns: int, top: float, x: tuple[float, float], y: tuple[float, float]) -> Box:
    left, upper = (at % columns) * _WIDTH, top + (at // columns) * _HEIGHT
    across = Scale(*x, left + _LEFT, left + _WIDTH - _RIGHT)
    return Box(across, Scale(*y, upper + _HEIGHT - _BOTTOM, upper + _TOP))


class Looks:
    """A colour and a shape for each composer."""

    def __init__(self, names: Sequence[str]) -> None:
        others = [name for name in names if name != "sightline"]
        self._looks = {
            name: (COLOURS[at % len(COLOURS)], SHAPES[(at + at // len(COLOURS)) % len(SHAPES)])
            for at, name in enumerate(others)
        }
        self._looks |= {"sightline": (OURS, "circle")} if "sightline" in names else {}

    def of(self, name: str) -> tuple[str, str]:
        """Colour and shape."""
        return self._looks[name]

    def legend(self, width: float) -> tuple[list[str], float]:
        """The names, in rows; and their height."""
        out, x, y = [], 12.0, 40.0
        for name, (colour, shape) in sorted(self._looks.items(), key=lambda each: each[0] != "sightline"):
            wide = 30 + 7.2 * len(name)
            if x + wide > width:
                x, y = 12.0, y + 18
            out += [mark(x, y - 4, shape, colour), text(x + 9, y, name)]
            x += wide
        return out, y + 8


def cost_against_recall(rows: Sequence[Row]) -> str:
    """One small picture for each dataset of (b): needed values shown, over real cost."""
    runs = [row for row in rows if row["part"] == "b" and None not in (row["needed"], row.get("rel_cost_real"))]
    datasets = list(dict.fromkeys(row["dataset"] for row in runs))
    looks, columns = Looks(list(dict.fromkeys(row["composer"] for row in runs))), min(4, max(1, len(datasets)))
    width = columns * _WIDTH
    legend, top = looks.legend(width)
    title = "Needed values that are shown (%) over real cost (full history = 1)"
    pieces = [text(12, 18, title, "title"), *legend]
    for at, dataset in enumerate(datasets):
        pieces += _dataset(at, columns, top, dataset, [row for row in runs if row["dataset"] == dataset], looks)
    height = top + -(-len(datasets) // columns) * _HEIGHT
    return picture(width, height, title, pieces)


def _dataset(at: int, columns: int, top: float, dataset: str, rows: Sequence[Row], looks: Looks) -> Iterator[str]:
    farthest = min(_FARTHEST, max(row["rel_cost_real"] for row in rows))
    legal = [row for row in rows if row["invalid"] <= _DISTRUST] or rows  # others may stand at the lower edge
    lowest = min(100 * row["needed"] for row in legal)
    box = _box(at, columns, top, (0, farthest * 1.05), (10 * (lowest // 10), 100))
    yield from box.frame(dataset, "real cost", "needed %")
    for name in sorted({row["composer"] for row in rows}, key=lambda name: name == "sightline"):
        colour, shape = looks.of(name)
        own = [row for row in rows if row["composer"] == name]
        points = [box.at(row["rel_cost_real"], 100 * row["needed"]) for row in own]
        yield line(points, colour, 2.2 if name == "sightline" else 1.0, 0.8)
        for row, (x, y) in zip(own, points, strict=True):
            yield mark(x, y, shape, colour, hollow=row["invalid"] > _DISTRUST)


def one_session(rows: Sequence[Row]) -> str:
    """The longest run of one dataset, call by call: tokens sent, and how many of them a provider had cached."""
    runs = [row for row in rows if row["part"] == "b" and row["composer"] in _FEW and row["series"]]
    if not runs:
        return ""
    dataset = max(runs, key=lambda row: (len(row["series"]), row["total_tokens"]))["dataset"]
    own = [row for row in runs if row["dataset"] == dataset]
    measured = Counter(row["budget"] for row in own if row["budget"] is not None)
    budget = max(measured, key=lambda each: (measured[each], int(each)), default=None)  # where most can be compared
    shown = {row["composer"]: row for row in own if row["budget"] in (budget, None)}
    names = [name for name in _FEW if name in shown]
    columns = min(3, len(names))
    title = f"One session of {dataset}, {budget} tokens: sent (faint) and cached (strong), call by call"
    pieces = [text(12, 18, title, "title")]
    bounded = max((tokens for name in names if name != "full" for tokens, _ in shown[name]["series"]), default=1)
    for at, name in enumerate(names):
        series = shown[name]["series"]
        most = max(tokens for tokens, _ in series) if name == "full" else bounded
        box = _box(at, columns, 24, (1, max(2, len(series))), (0, most * 1.05))
        colour = OURS if name == "sightline" else COLOURS[2]
        floor = box.y.start
        pieces += box.frame(name, "call", "tokens")
        for column, strength in ((0, 0.25), (1, 0.6)):
            points = [box.at(call, pair[column]) for call, pair in enumerate(series, 1)]
            pieces += [area(points, floor, colour, strength), line(points, colour, 1.0)]
    return picture(columns * _WIDTH, 24 + -(-len(names) // columns) * _HEIGHT, title, pieces)
