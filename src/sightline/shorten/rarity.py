"""What is unusual among siblings (lines, rows, members of a list): a trait that few of the others have."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import log2

from sightline.shorten.fill import Piece, rank
from sightline.shorten.identifiers import NO_DIGITS, values_in

RARE = 50  # siblings for each that may have a rare trait
FEW = 8  # siblings for each with a rare trait; if more have one, as where all have an id, none of them is unusual
FAR = 8.0  # times the median distance to the median: a number further away is far from the others
ROWS, CELLS, CELL = 12, 3, 60  # unusual rows of a table, cells of a row, and characters of a cell: more do not fit
PATTERN = 20  # lines for each that must have a word of a pattern

_NO_SIGNS = dict.fromkeys(map(ord, " -/:.,TZ"))  # between the numbers of a date or a time


def rarities(traits: Sequence[str]) -> dict[int, float]:
    """Return how rare the traits of unusual siblings are: log2 of the siblings for each that has the trait."""
    total, times = len(traits), Counter(traits)
    rare = {trait: n for trait, n in times.items() if n <= max(1, total // RARE)}
    if not rare or sum(rare.values()) * FEW > total:
        return {}
    return {i: log2(total / rare[trait]) for i, trait in enumerate(traits) if trait in rare}


def line_traits(lines: Sequence[str]) -> list[str]:
    """Return the pattern of each line: its words that many lines have, without digits."""
    words = [line.split() for line in "\n".join(lines).translate(NO_DIGITS).split("\n")]
    often = len(lines) / PATTERN
    common = {word for word, n in Counter(chain.from_iterable(words)).items() if n > often}
    return [" ".join(filter(common.__contains__, line_words)) for line_words in words]


def cell_traits(cells: Sequence[str]) -> list[str]:
    """Return the trait of each cell of a column: of a number whether it is far from the others, else its letters."""
    numbers = [*_numbers(cells)] if cells and cells[len(cells) // 2][-1:].isdigit() else []
    ordered = sorted(number for number in numbers if number is not None)
    if 2 * len(ordered) <= len(cells):
        return "\n".join(cells).translate(NO_DIGITS).split("\n")
    middle = ordered[len(ordered) // 2]
    spread = sorted(abs(number - middle) for number in ordered)[len(ordered) // 2]
    return [
        cell if number is None else "far" if abs(number - middle) > FAR * spread else ""
        for cell, number in zip(cells, numbers, strict=True)
    ]


def _numbers(cells: Sequence[str]) -> Iterator[float | None]:
    """Yield each cell as a number, also one of a date or a time; None if it is none."""
    for cell in cells:
        try:
            yield float(cell)
        except ValueError:
            digits = cell.translate(_NO_SIGNS)
            yield float(digits) if digits.isdecimal() else None


def odd_rows(columns: Iterable[Sequence[str]]) -> dict[int, dict[int, float]]:
    """Return the unusual rows, given the traits of each column: their unusual columns and how rare these are."""
    rows: dict[int, dict[int, float]] = {}
    for at, traits in enumerate(columns):
        for row, rarity in rarities(traits).items():
            rows.setdefault(row, {})[at] = rarity
    return rows


def odd_pieces(names: Sequence[str], columns: Sequence[Sequence[str]], ids: Sequence[str]) -> list[Piece]:
    """Return the unusual rows of a table: their unusual cells under the names of the columns, then the row's id."""
    pieces = []
    rows = odd_rows(map(cell_traits, columns))
    for row, odd in sorted(rows.items(), key=lambda numbered: -sum(numbered[1].values()))[:ROWS]:
        cells = [f"{names[at]}: {columns[at][row][:CELL]}" for at in sorted(odd, key=odd.__getitem__, reverse=True)]
        text = " ".join(", ".join(dict.fromkeys([*cells[:CELLS], ids[row][:CELL]])).split())
        pieces.append(Piece(row, text, sum(odd.values()), values_in(text)))
    return rank(pieces, 1.0)
