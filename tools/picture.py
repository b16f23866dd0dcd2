"""Draw docs/replay.svg: what `sightline replay --sample` shows in a terminal.

Only plain SVG 1.1 (shapes, texts, attributes), because style sheets, clip paths and fonts from elsewhere are not drawn
by every viewer. Bars and frames are shapes, so that no font needs their characters.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

WIDTH = 118
TARGET = Path(__file__).parent.parent / "docs" / "replay.svg"
CELL, LINE, SIZE, MARGIN = 8.4, 19, 14, 16  # pixels
TITLE = 34
INK, DIM, GROUND, FRAME = "#d0d3d1", "#8d9290", "#24292b", "#6b7275"
COLOURS = {1: "#d96a5b", 2: "#9ab34f", 3: "#d9b94a", 6: "#68a0b0"}  # by the numbers of a terminal
EIGHTHS = " ▏▎▍▌▋▊▉█"
FONTS = "DejaVu Sans Mono, Menlo, Consolas, monospace"


def main() -> None:
    """Run the command with colours on and write the picture."""
    shown = subprocess.run(
        [sys.executable, "-m", "sightline", "replay", "--sample", "--delay", "0"],
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    TARGET.write_text(drawn(shown.partition("Try next")[0].rstrip()), encoding="utf-8")


def drawn(shown: str) -> str:
    """The picture of what a command printed."""
    rows = [(line, Text.from_ansi(line)) for line in shown.splitlines() if "━" not in line]  # without the moving bar
    lines = [text for line, text in rows if text.plain.strip() or not line]  # and without what moved the cursor
    width, height = WIDTH * CELL + 2 * MARGIN, TITLE + len(lines) * LINE + 2 * MARGIN
    shapes = [shape for number, line in enumerate(lines) for shape in _line(line, number)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        "<title>sightline replay --sample</title>",
        f'<rect x="0" y="0" width="{width:.0f}" height="{height:.0f}" rx="8" fill="{GROUND}"/>',
        *(f'<circle cx="{20 + 20 * at}" cy="20" r="6" fill="{FRAME}"/>' for at in range(3)),
        _text("sightline replay --sample", width / 2 - 12.5 * CELL, 25, DIM, bold=True),
        *_frame(lines),
        *shapes,
        "</svg>",
        "",
    ])  # fmt: skip


def _x(column: float) -> float:
    return MARGIN + column * CELL


def _y(line: float) -> float:
    return TITLE + MARGIN + line * LINE


def _line(line: Text, number: int) -> Iterator[str]:
    """Every word of a line at its column, so that it stands there in any font; bars as shapes."""
    for found in re.finditer(r"[█▏▎▍▌▋▊▉]+|[^\s█▏▎▍▌▋▊▉╭╮╰╯│─]+(?: [^\s█▏▎▍▌▋▊▉╭╮╰╯│─]+)*", line.plain):
        style = line.get_style_at_offset(Console(), found.start())
        at = _x(cell_len(line.plain[: found.start()]))
        if found[0][0] in EIGHTHS:
            wide = sum(EIGHTHS.index(each) for each in found[0]) / 8 * CELL
            box = f'x="{at:.1f}" y="{_y(number) + 3:.1f}" width="{wide:.1f}" height="{LINE - 6}"'
            yield f'<rect {box} fill="{_colour(style)}"/>'
        else:
            yield _text(found[0], at, _y(number) + LINE * 0.74, _colour(style), bold=bool(style.bold))


def _text(text: str, x: float, y: float, colour: str, *, bold: bool = False) -> str:
    length = cell_len(text) * CELL
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family="{FONTS}" font-size="{SIZE}"{weight} fill="{colour}" '
        f'textLength="{length:.1f}">{escape(text)}</text>'
    )


def _frame(lines: list[Text]) -> Iterator[str]:
    """The frame around the sums: a rectangle, and behind its title the ground."""
    tops = [(number, line.plain) for number, line in enumerate(lines) if line.plain.startswith("╭")]
    ends = [number for number, line in enumerate(lines) if line.plain.startswith("╰")]
    for (top, border), end in zip(tops, ends, strict=True):
        wide, high = (cell_len(border) - 1) * CELL, (end - top) * LINE
        place = f'x="{_x(0.5):.1f}" y="{_y(top + 0.5):.1f}"'
        yield f'<rect {place} width="{wide:.1f}" height="{high}" rx="5" fill="none" stroke="{FRAME}"/>'
        title = cell_len(border.strip("╭╮─"))
        yield f'<rect x="{_x(2):.1f}" y="{_y(top):.1f}" width="{title * CELL:.1f}" height="{LINE}" fill="{GROUND}"/>'


def _colour(style: Style) -> str:
    number = style.color.number if style.color is not None else None
    return DIM if style.dim else COLOURS.get(number or 0, INK)


if __name__ == "__main__":
    main()
