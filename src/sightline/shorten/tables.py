"""Tables: the header first, then rows from the top."""

from sightline.shorten.fill import Piece, Pieces, rank, rank_by_label, rows_by_label
from sightline.shorten.identifiers import values_of_lines
from sightline.shorten.lines import Levels, View, line_levels, quotable_pieces, summary_level

DETECT = 30  # lines looked at to recognise a table
SAME = 0.8  # share of the lines with the same number of separators
HEADER, ROW = 8.0, 1.0
ROWS = 60  # rows whose cells are read for a gist; more do not fit
CELL = 60  # characters of a cell in a gist


def is_table(view: View) -> bool:
    """Whether nearly all lines have the same number of commas, tabs, semicolons or bars."""
    return bool(_separator(view.sample.lines))


def _separator(lines: list[str]) -> str:
    lines = list(filter(None, lines[:DETECT]))
    for separator in "\t|,;" if len(lines) >= 4 else "":
        times = lines[len(lines) // 2].count(separator)
        if times >= 2 and sum(line.count(separator) == times for line in lines) >= SAME * len(lines):
            return separator
    return ""


def table_levels(view: View) -> Levels:
    """Prefer the header row, then rows by their values, upper before lower ones. A gist has values by column."""
    marks = view.trouble_marks()
    total = max(1, len(view.sample.lines))
    for i in range(total):
        marks[i] = marks.get(i, 0.0) + (HEADER if i == 0 else ROW * (1 - i / total))
    if any(map(str.isdigit, view.sample.lines[0])):  # rows without a header
        return line_levels(view, marks, view.trouble_marks())
    gist = Pieces(quotable_pieces(view, {0: HEADER}), _cell_pieces(view), 0.4, _render_columns)
    return Levels(summary_level(view, marks), gist)


def _cell_pieces(view: View) -> list[Piece]:
    """Return every distinct cell under the name of its column."""
    lines, worth = view.sample.lines, view.worths.values
    separator = _separator(lines)
    names = [name.strip(' "') for name in lines[0].split(separator)]
    cells: dict[str, tuple[int, str]] = {}
    for i, line in enumerate(lines[1:ROWS], 1):
        for name, cell in zip(names, line.split(separator), strict=False):
            cells.setdefault(cell, (i, name))
    pieces = [
        Piece(i, text.strip(' "')[:CELL], sum([worth.get(value, 0.0) for value in values]), values, name)
        for (text, (i, name)), values in zip(cells.items(), values_of_lines(list(cells)), strict=True)
        if values
    ]
    return rank_by_label(rank(pieces))


def _render_columns(header: str, quoted: list[Piece], values: list[Piece]) -> str:
    return "\n".join([header, *(piece.text for piece in quoted), *rows_by_label(values, ", ")])
