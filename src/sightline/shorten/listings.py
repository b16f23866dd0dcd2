"""Listings and search results: whole paths in a summary, grouped by directory in a gist."""

import re
from collections.abc import Callable
from typing import NamedTuple

from sightline.shorten.fill import Piece, Pieces, by_place, by_worth, grouped
from sightline.shorten.lines import Levels, View, opening_values, single_values, summary_level, told
from sightline.shorten.sample import Beginning

DETECT = 20  # lines looked at to tell a listing
MOST = 0.6  # share of the lines that are paths or hits, from which a text is a listing
HIT, AGAIN = 0.5, 0.1  # worth of the first hit in a file, and of a later one

_PATH = re.compile(r"(?:[\w@.~+\-\[\]()]*/)*[\w@.~+\-\[\]()]+(?:/|\.\w{1,10})?$")
_LONG = re.compile(r"[dlbcps-][rwxsStT-]{9}.?\s+\d+\s.*?\s(\S+)(?: -> \S+)?$")
_HIT = re.compile(r"((?:\w:\\)?[\w@.~+\-/\\\[\]]{2,240}?(?:/[\w.\-]{1,80}|\.\w{1,6})):(?=(?:\d{1,7}\b)?.*\S)")
_FOLDER = re.compile(r"([\w@.~+\-/]{1,200}):$")  # as `ls -R` heads what is in it


class Entry(NamedTuple):
    """One line of a listing: a path, or a hit in one."""

    path: str
    rest: str = ""


def is_listing(seen: View) -> bool:
    """Whether most lines are paths, `ls -l` rows or `path:line` hits."""
    lines = list(filter(None, seen.sample.lines[:DETECT]))
    others = (1 - MOST) * len(lines)
    for line in lines:
        if _entry(line) is None:
            others -= 1
            if others < 0:  # most texts are told after a few lines
                return False
    return len(lines) >= 4


def listing(seen: View) -> Levels:
    """Paths whole; hits under their path."""
    entries = {i: entry for i, line in enumerate(seen.sample.lines) if (entry := _entry(line))}
    if sum(bool(entry.rest) for entry in entries.values()) * 2 > len(entries):
        return _hits(seen, entries)
    return Levels(summary_level(seen, told(seen)), _by_directory(seen, entries))


def _entry(text: str) -> Entry | None:
    text = text.strip().lstrip("│├└─ ")
    if ":" in text and (hit := _HIT.match(text)):
        return Entry(hit.group(1), text[hit.end() :].rstrip())
    if " " in text:
        row = _LONG.match(text)
        return Entry(row.group(1)) if row else None
    return Entry(text) if len(text) <= 300 and ("/" in text or "." in text) and _PATH.match(text) else None


def _hits(seen: View, entries: dict[int, Entry]) -> Levels:
    """Each path once, its hits below it: the path is what repeats in every line of a search."""
    first: set[str] = set()
    pieces = []
    for i, line in enumerate(seen.sample.lines):
        entry = entries.get(i, Entry("", line))
        if entry.rest.strip() and i >= seen.opening.lines:
            worth = AGAIN if entry.path in first else HIT
            first.add(entry.path)
            pieces.append(Piece(i, entry.rest, worth + seen.weighed.lines[i], seen.values[i], entry.path))
    paths = [entries[i].path if i in entries else "" for i in range(len(seen.sample.lines))]
    values = grouped(single_values(seen, paths))
    shown, fixed = opening_values(seen), len(seen.opening.text)
    hits, render = grouped(by_worth(pieces, 1.0), 1.0), _under_paths(seen.opening)
    summary = Pieces(hits, values, 0.75, render, shown, fixed)
    return Levels(summary, Pieces([], values, 0.0, _names, bias=0.8))


def _under_paths(opening: Beginning) -> Callable[[str, list[Piece], list[Piece]], str]:
    def render(label: str, hits: list[Piece], values: list[Piece]) -> str:
        rows = [opening.text, label] if opening.text else [label]
        more = _groups(values)
        for path, pieces in _groups(hits).items():
            rows.extend([path] if path else [])
            rows.extend(f" {piece.text}" if path else piece.text for piece in pieces)
            rows.extend([f" … {_texts(more.pop(path))}"] if path in more else [])
        rows.extend(f"{path} … {_texts(pieces)}".strip() for path, pieces in more.items())
        return "\n".join(rows)

    return render


def _groups(chosen: list[Piece]) -> dict[str, list[Piece]]:
    groups: dict[str, list[Piece]] = {}
    for piece in sorted(chosen, key=by_place):
        groups.setdefault(piece.label, []).append(piece)
    return groups


def _texts(pieces: list[Piece]) -> str:
    return " ".join(piece.text for piece in pieces if piece.text)


def _by_directory(seen: View, entries: dict[int, Entry]) -> Pieces:
    pieces = []
    folder = ""
    for place, line in enumerate(seen.sample.lines):
        if place in entries:
            directory, _, name = entries[place].path.rstrip("/").rpartition("/")
            ended = "/" if entries[place].path.endswith("/") else ""
            label = f"{directory}/" if directory else folder
            worth = 0.2 + seen.weighed.lines[place]
            pieces.append(Piece(place, name + ended, worth, seen.values[place], label))
        elif line.endswith(":") and (head := _FOLDER.match(line)):
            folder = f"{head.group(1)}/"
    rest = [piece for piece in single_values(seen, [""] * len(seen.sample.lines)) if piece.place not in entries]
    return Pieces([], grouped(by_worth(pieces + rest)), 0.0, _names, bias=0.8)


def _names(header: str, _: list[Piece], values: list[Piece]) -> str:
    rows = [header]
    for label, pieces in _groups(values).items():
        names = _texts(pieces)
        rows.append(f"{label}: {names}" if label and names else label or names)
    return "\n".join(rows)
