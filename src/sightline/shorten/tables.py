"""Tables: columns first, then rows from the top."""

from sightline.shorten.fill import Piece, Pieces, by_place, by_worth, grouped
from sightline.shorten.identifiers import values_of_lines
from sightline.shorten.lines import Levels, View, levels, quotations, summary_level, told

DETECT = 30  # lines looked at to tell a table
SAME = 0.8  # share of the lines with the same number of separators
HEADER, ROW = 8.0, 1.0
ROWS = 60  # rows whose cells are read for a gist: it has no room for more
CELL = 60  # characters of a cell in a gist


def is_table(seen: View) -> bool:
    """Whether nearly all lines have the same number of commas, tabs, semicolons or bars."""
    return bool(_separator(list(filter(None, seen.sample.lines[:DETECT]))))


def _separator(lines: list[str]) -> str:
    if len(lines) < 4:
        return ""
    for separator in "\t|,;":
        often = lines[len(lines) // 2].count(separator)
        if often >= 2 and sum(line.count(separator) == often for line in lines) >= SAME * len(lines):
            return separator
    return ""


def table(seen: View) -> Levels:
    """The header row, then rows by what they hold, the upper ones before the lower; in a gist, values by column."""
    marks = told(seen)
    total = max(1, len(seen.sample.lines))
    for i in range(total):
        marks[i] = marks.get(i, 0.0) + (HEADER if i == 0 else ROW * (1 - i / total))
    if any(map(str.isdigit, seen.sample.lines[0])):  # rows without a header
        return levels(seen, marks, told(seen))
    gist = Pieces(quotations(seen, {0: HEADER}), _cells(seen), 0.4, _columned)
    return Levels(summary_level(seen, marks), gist)


def _cells(seen: View) -> list[Piece]:
    """Every distinct value under the name of its column."""
    lines, worth = seen.sample.lines, seen.weighed.worth
    separator = _separator(list(filter(None, lines[:DETECT])))
    names = [name.strip(' "') for name in lines[0].split(separator)]
    cells: dict[str, tuple[int, str]] = {}
    for i, line in enumerate(lines[1:ROWS], 1):
        for name, cell in zip(names, line.split(separator), strict=False):
            if cell not in cells:
                cells[cell] = (i, name)
    pieces = [
        Piece(i, text.strip(' "')[:CELL], sum([worth.get(value, 0.0) for value in values]), values, name)
        for (text, (i, name)), values in zip(cells.items(), values_of_lines(list(cells)), strict=True)
        if values
    ]
    return grouped(by_worth(pieces))


def _columned(header: str, quoted: list[Piece], values: list[Piece]) -> str:
    columns: dict[str, list[str]] = {}
    for piece in sorted(values, key=by_place):
        columns.setdefault(piece.label, []).append(piece.text)
    rows = [f"{name}: {', '.join(texts)}" if name else ", ".join(texts) for name, texts in columns.items()]
    return "\n".join([header, *(piece.text for piece in quoted), *rows])
