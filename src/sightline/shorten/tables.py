"""Tables: the header first, then rows from the top."""

from sightline.shorten.fill import Piece, rank, rank_by_label
from sightline.shorten.identifiers import values_of_lines
from sightline.shorten.lines import WIDEST, Levels, View, gist_level, line_levels, summary_level
from sightline.shorten.rarity import odd_pieces

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
        return line_levels(view, marks, view.unusual_marks())
    separator = _separator(view.sample.lines)
    rows = [[cell.strip(' "') for cell in line.split(separator)] for line in view.code]
    names = rows[0]
    columns = [*zip(*(row for row in rows[1:] if len(row) == len(names)), strict=True)]
    ids = [f"{names[0]}: {first}" for first in columns[0]] if columns else []
    lines = [*odd_pieces(names, columns, ids), Piece(len(rows), view.code[0][:WIDEST], HEADER)]
    return Levels(
        summary_level(view, marks), gist_level(lines, _cell_pieces(view, names, rows), view.known, separator=", ")
    )


def _cell_pieces(view: View, names: list[str], rows: list[list[str]]) -> list[Piece]:
    """Return every distinct cell under the name of its column."""
    worth = view.worths.values
    cells: dict[str, tuple[int, str]] = {}
    for i, row in enumerate(rows[1:ROWS], 1):
        for name, cell in zip(names, row, strict=False):
            cells.setdefault(cell, (i, name))
    pieces = [
        Piece(i, text[:CELL], sum([worth.get(value, 0.0) for value in values]), values, name)
        for (text, (i, name)), values in zip(cells.items(), values_of_lines(list(cells)), strict=True)
        if values
    ]
    return rank_by_label(rank(pieces))
