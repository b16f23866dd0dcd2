"""Listings and search results: whole paths in a summary, grouped by directory in a gist."""

import re

from sightline.shorten.failures import last_lines, reported_errors
from sightline.shorten.fill import Piece, Pieces, rank, rank_by_label, texts_by_label
from sightline.shorten.lines import Levels, View, gist_level, quotable_pieces, summary_level, value_pieces
from sightline.shorten.rarity import line_traits, odd_rows

DETECT = 20  # lines looked at to recognise a listing
MOST = 0.6  # share of the lines that are paths or hits, from which a text is a listing
HIT, AGAIN = 0.5, 0.1  # worth of the first hit in a file, and of a later one

_PATH = re.compile(r"(?:[\w@.~+\-\[\]()]*/)*[\w@.~+\-\[\]()]+(?:/|\.\w{1,10})?$")
_LONG = re.compile(r"[dlbcps-][rwxsStT-]{9}.?\s+\d+\s.*?\s(\S+)(?: -> \S+)?$")
_HIT = re.compile(r"((?:\w:\\)?[\w@.~+\-/\\\[\]]{2,240}?(?:/[\w.\-]{1,80}|\.\w{1,6})):(?=(?:\d{1,7}\b)?.*\S)")
_PLACED = re.compile(
    r"([\w@.~+\-/\\\[\]]{2,240}?\.\w{1,6})(?=\(\d{1,7}(?:,\d{1,7})?\): \S)"
)  # as some compilers write it
_ERROR = re.compile(r"[\d:,()]{1,20} ?(?:fatal )?error\b")
_QUOTED = re.compile(r"[\"'`“][^\"'`”]{0,80}[\"'`”]|\d+")  # what errors of one kind differ in
_FOLDER = re.compile(r"([\w@.~+\-/]{1,200}):$")  # the line above a folder in `ls -R`


def is_listing(view: View) -> bool:
    """Whether most lines are paths, `ls -l` rows or `path:line` hits."""
    lines = list(filter(None, view.sample.lines[:DETECT]))
    others = sum(_parse_entry(line) is None for line in lines)
    return len(lines) >= 4 and others <= (1 - MOST) * len(lines)


def listing_levels(view: View) -> Levels:
    """Show paths whole, and search hits under their path."""
    entries = {i: entry for i, line in enumerate(view.sample.lines) if (entry := _parse_entry(line))}
    hits = {i: rest for i, (_, rest) in entries.items() if rest}
    errors = _first_of_kinds({i: rest for i, rest in hits.items() if _ERROR.match(rest)})
    last = next((i for i in range(len(view.sample.lines) - 1, -1, -1) if view.sample.lines[i]), 0)
    reported = [i for i in sorted(reported_errors(view)) if _is_report(view.sample.lines[i], entries.get(i))]
    if not errors.keys() >= {*reported}:  # more than a type checker's list
        errors = dict.fromkeys(last_lines(view.sample.lines), False) | dict.fromkeys(reported, True) | errors
    if errors and last not in entries:
        errors[last] = True  # the total of a type checker
    if errors or len(hits) * 2 > len(entries):
        return _hit_levels(view, entries, errors)
    return Levels(summary_level(view, view.trouble_marks()), _directory_gist(view, entries))


def _parse_entry(text: str) -> tuple[str, str] | None:
    """Return the path in a line of a listing and, if it is a search hit, what was found there."""
    text = text.strip().lstrip("│├└─ ")
    if ":" in text and (hit := _HIT.match(text) or _PLACED.match(text)):
        return hit.group(1), text[hit.end() :].rstrip()
    if " " in text:
        row = _LONG.match(text)
        return (row.group(1), "") if row else None
    return (text, "") if len(text) <= 300 and ("/" in text or "." in text) and _PATH.match(text) else None


def _is_report(line: str, entry: tuple[str, str] | None) -> bool:
    """Whether a line with the form of an error is one, and not a hit, or one of a group of hits, in such a line."""
    return bool(_ERROR.search(entry[1])) if entry else line[:1].isalpha()


def _first_of_kinds(errors: dict[int, str]) -> dict[int, bool]:
    """Return for each error whether it is the first of its kind: others differ only in names and numbers."""
    kinds: dict[str, int] = {}
    for i, text in errors.items():
        kinds.setdefault(_QUOTED.sub("", text), i)
    first = {*kinds.values()}
    return {i: i in first for i in errors}


def _hit_levels(view: View, entries: dict[int, tuple[str, str]], errors: dict[int, bool]) -> Levels:
    """Show each path once with its hits below it, because the path repeats in every line of a search.

    Errors come first, one of each kind before others of it.
    """
    first: set[str] = set()
    pieces, paths = [], []
    path = ""
    for i, line in enumerate(view.sample.lines):
        goes_on = i - 1 in entries and line.startswith("  ")  # explains the hit above it
        path, text = entries.get(i, (path if goes_on else "", line))
        paths.append(path)
        if text.strip() and i >= view.opening.lines:
            worth = AGAIN if path in first else HIT
            first.add(path)
            pieces.append(Piece(i, text, worth + view.worths.lines[i], view.values[i], path))
    values = rank_by_label(value_pieces(view, paths))
    opening = view.opening.text

    def render(label: str, hits: list[Piece], values: list[Piece]) -> str:
        return "\n".join([*filter(None, [opening]), *_rows_by_path(label, hits, values)])

    kinds, others = ([piece for piece in pieces if errors.get(piece.place) is is_first] for is_first in (True, False))
    rest = [piece for piece in pieces if piece.place not in errors]
    hits = [hit for group in (kinds, others, rest) for hit in rank_by_label(rank(group, 1.0), 1.0)]
    urgent = len(kinds) + len(others)
    visible = [value for line_values in view.values[: view.opening.lines] for value in line_values]
    summary = Pieces(hits, values, 0.75, render, visible, len(opening), urgent)
    if not errors:
        return Levels(summary, gist_level(_odd_entries(view, entries), values, view.known))

    def render_gist(label: str, hits: list[Piece], values: list[Piece]) -> str:
        return "\n".join(_rows_by_path(label, hits, values))

    return Levels(summary, Pieces(hits, values, 0.75, render_gist, view.known, first=urgent))


def _rows_by_path(label: str, hits: list[Piece], values: list[Piece]) -> list[str]:
    """Return the item's label, then each path, its hits below it and the values of its other hits behind these."""
    rows, more = [label], texts_by_label(values)
    for path, texts in texts_by_label(hits).items():
        rows += [path, *(f" {text}" for text in texts)] if path else texts
        if path in more:
            rows.append(f" … {_join(more.pop(path))}")
    return rows + [f"{path} … {_join(texts)}".strip() for path, texts in more.items()]


def _join(texts: list[str]) -> str:
    return " ".join(filter(None, texts))


def _directory_gist(view: View, entries: dict[int, tuple[str, str]]) -> Pieces:
    pieces = []
    folder = ""
    for place, line in enumerate(view.sample.lines):
        if place in entries:
            path, _ = entries[place]
            directory, _, name = path.rstrip("/").rpartition("/")
            slash = "/" if path.endswith("/") else ""
            label = f"{directory}/" if directory else folder
            pieces.append(Piece(place, name + slash, 0.2 + view.worths.lines[place], view.values[place], label))
        elif line.endswith(":") and (head := _FOLDER.match(line)):
            folder = f"{head.group(1)}/"
    rest = [piece for piece in value_pieces(view) if piece.place not in entries]
    return gist_level(_odd_entries(view, entries), rank_by_label(rank(pieces + rest)), view.known)


def _odd_entries(view: View, entries: dict[int, tuple[str, str]]) -> list[Piece]:
    """Return the entries whose folder, ending or rest of the line is rare in this listing."""
    places, paths = list(entries), [path for path, _ in entries.values()]
    folders = [path.rstrip("/").rpartition("/")[0] for path in paths]
    endings = ["/" if path.endswith("/") else path.rpartition("/")[2].partition(".")[2] for path in paths]
    others = [hit or view.code[i].replace(path, "") for i, (path, hit) in entries.items()]
    odd = odd_rows((folders, endings, line_traits(others)))
    return quotable_pieces(view, {places[row]: sum(columns.values()) for row, columns in odd.items()})
