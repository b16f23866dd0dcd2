"""Listings and search results: whole paths in a summary, grouped by directory in a gist."""

import re
from typing import NamedTuple

from sightline.renditions.lines import Levels, View, single_values, summary_level, troubles
from sightline.renditions.pack import Level, Piece

MOST = 0.6  # share of the lines that are paths or hits, from which a text is a listing
HIT, AGAIN = 0.5, 0.1  # worth of the first hit in a file, and of a later one

_PATH = re.compile(r"(?:[\w@.~+\-\[\]()]*/)*[\w@.~+\-\[\]()]+(?:/|\.\w{1,10})?$")
_LONG = re.compile(r"[dlbcps-][rwxsStT-]{9}.?\s+\d+\s.*?\s(\S+)(?: -> \S+)?$")
_HIT = re.compile(r"((?:\w:\\)?[\w@.~+\-/\\\[\]]{2,240}?(?:/[\w.\-]{1,80}|\.\w{1,6})):(?=(?:\d{1,7}\b)?.*\S)")


class Entry(NamedTuple):
    """One line of a listing: a path, or a hit in one."""

    place: int
    path: str
    rest: str = ""


def is_listing(seen: View) -> bool:
    """Whether most lines are paths, `ls -l` rows or `path:line` hits."""
    lines = [line.text for line in seen.sample.lines[:40] if line.text.strip()]
    if len(lines) < 4:
        return False
    return sum(_entry(0, text) is not None for text in lines) >= MOST * len(lines)


def listing(seen: View) -> Levels:
    """Paths whole; hits under their path."""
    entries = {i: entry for i, line in enumerate(seen.sample.lines) if (entry := _entry(i, line.text))}
    if sum(bool(entry.rest) for entry in entries.values()) * 2 > len(entries):
        return _hits(seen, entries)
    return Levels(summary_level(seen, troubles(seen.sample)), _by_directory(seen, entries))


def _entry(place: int, text: str) -> Entry | None:
    text = text.strip().lstrip("│├└─ ")
    if hit := _HIT.match(text):
        return Entry(place, hit.group(1), text[hit.end() :].rstrip())
    if row := _LONG.match(text):
        return Entry(place, row.group(1))
    if len(text) <= 300 and _PATH.match(text) and ("/" in text or "." in text):
        return Entry(place, text)
    return None


def _hits(seen: View, entries: dict[int, Entry]) -> Levels:
    """Each path once, its hits below it: the path is what repeats in every line of a search."""
    first: set[str] = set()
    pieces = []
    for i, line in enumerate(seen.sample.lines):
        entry = entries.get(i, Entry(i, "", line.text))
        if entry.rest.strip():
            worth = AGAIN if entry.path in first else HIT
            first.add(entry.path)
            pieces.append(Piece(i, entry.rest, seen.values[i], worth, entry.path))
    paths = [entries[i].path if i in entries else "" for i in range(len(seen.sample.lines))]
    values = single_values(seen, paths)
    return Levels(Level(pieces, values, 0.75, _under_paths, 1.0), Level([], values, 0.0, _names, 1.0))


def _under_paths(hits: list[Piece], values: list[Piece]) -> str:
    rows: list[str] = []
    more = _groups(values)
    for path, pieces in _groups(hits).items():
        rows.extend([path] if path else [])
        rows.extend(f" {piece.text}" if path else piece.text for piece in pieces)
        rows.extend([" … " + " ".join(filter(None, (piece.text for piece in more.pop(path))))] if path in more else [])
    rows.extend(f"{path} … {' '.join(filter(None, (piece.text for piece in pieces)))}" for path, pieces in more.items())
    return "\n".join(rows)


def _groups(chosen: list[Piece]) -> dict[str, list[Piece]]:
    groups: dict[str, list[Piece]] = {}
    for piece in sorted(chosen):
        groups.setdefault(piece.label, []).append(piece)
    return groups


def _by_directory(seen: View, entries: dict[int, Entry]) -> Level:
    pieces = []
    for place, entry in entries.items():
        directory, _, name = entry.path.rstrip("/").rpartition("/")
        ended = "/" if entry.path.endswith("/") else ""
        pieces.append(Piece(place, name + ended, seen.values[place], 0.2, f"{directory}/" if directory else ""))
    rest = [piece for piece in single_values(seen) if piece.place not in entries]
    return Level([], pieces + rest, 0.0, _names, 1.0)


def _names(_: list[Piece], values: list[Piece]) -> str:
    rows = []
    for label, pieces in _groups(values).items():
        names = " ".join(piece.text for piece in pieces if piece.text)
        rows.append(f"{label}: {names}" if label and names else label or names)
    return "\n".join(rows)
