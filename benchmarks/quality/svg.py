"""Small pictures: SVG by hand, readable on light and dark pages, fetching nothing."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

Point = tuple[float, float]

# Of middle lightness, so that each stands out on white and on black; shapes tell them apart without colour.
COLOURS = (
    "#0d9488", "#d97706", "#3b82f6", "#a855f7", "#16a34a", "#db2777", "#8b7355", "#0891b2", "#7c8a00", "#6b7fd7",
    "#b45f3c", "#5f8f5f",
)  # fmt: skip
OURS = "#dc2626"
SHAPES = ("circle", "square", "triangle", "diamond")

_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.small { font-size: 10px; fill: #57606a; }
.title { font-weight: 600; }
.axis { stroke: #8c959f; stroke-width: 1; fill: none; }
.grid { stroke: #8c959f; stroke-opacity: .25; stroke-width: 1; fill: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .small { fill: #9da7b3; }
}"""


class Scale(NamedTuple):
    """Maps values to positions."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the position of a value; values beyond the scale are put at its end."""
        share = (min(max(value, self.low), self.high) - self.low) / ((self.high - self.low) or 1)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """A few round values."""
        steps = [base * 10.0**power for power in range(-3, 7) for base in (1, 2, 2.5, 5)]
        step = next(each for each in steps if (self.high - self.low) / each <= 5)
        first = -(-self.low // step)
        return [step * (first + at) for at in range(7) if step * (first + at) <= self.high + step / 1e6]


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Some words."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def line(points: Sequence[Point], colour: str, width: float = 1.5, opacity: float = 1.0) -> str:
    """A line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" '
        f'stroke-width="{width}" stroke-opacity="{opacity}" stroke-linejoin="round"/>'
    )


def area(points: Sequence[Point], floor: float, colour: str, opacity: float) -> str:
    """The area between points and the x axis."""
    if not points:
        return ""
    around = [(points[0][0], floor), *points, (points[-1][0], floor)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in around)
    return f'<polygon points="{path}" fill="{colour}" fill-opacity="{opacity}"/>'


def rule(start: Point, end: Point, kind: str) -> str:
    """A line of a grid or an axis."""
    return f'<path d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}" class="{kind}"/>'


def mark(x: float, y: float, shape: str, colour: str, size: float = 3.5, *, hollow: bool = False) -> str:
    """A point. A hollow one is a figure that is not to be trusted."""
    corners: tuple[Point, ...]
    look = f'fill="{"none" if hollow else colour}" stroke="{colour}" stroke-width="1.5"'
    match shape:
        case "square":
            return f'<rect x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size}" height="{2 * size}" {look}/>'
        case "triangle":
            corners = ((x, y - size - 1), (x + size + 1, y + size), (x - size - 1, y + size))
        case "diamond":
            corners = ((x, y - size - 1), (x + size + 1, y), (x, y + size + 1), (x - size - 1, y))
        case _:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" {look}/>'
    return f'<polygon points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}" {look}/>'


def picture(width: float, height: float, title: str, pieces: Sequence[str]) -> str:
    """The whole file."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img"'
    return "\n".join(
        [
            f'{head} aria-label="{escape(title, quote=True)}">',
            f"<style>{_STYLE}</style>",
            *filter(None, pieces),
            "</svg>\n",
        ]
    )
