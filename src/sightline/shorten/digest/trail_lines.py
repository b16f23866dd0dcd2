"""The trail as lines: one for a file while there is room, else one for all the files of a folder."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from sightline.shorten.digest.file_trail import Touched
from sightline.shorten.digest.headings import ACTIONS, spellings, times, word
from sightline.shorten.digest.sections import Costs, Filled, bullet

OLDER = 24  # items after which a file is worth half
_KEYS = {spelling: action for action in ACTIONS for spelling in spellings(action)}
_VERB = f"(?:{'|'.join(_KEYS)})"
_DONE = rf"{_VERB}(?: \d+×)?"
_LINE = re.compile(rf"^(?P<path>.+?): (?P<done>{_DONE}(?:, {_DONE})*)(?: — (?P<why>.*))?$")
_FOLDER = re.compile(rf"^(?P<verb>{_VERB}) (?:{'|'.join(spellings('in'))}) (?P<folder>.+?): (?P<names>.+)$")
_TIMES = re.compile(r"^(.*?)(?: (\d+)×)?$")


def worth(file: Touched, length: int) -> float:
    """How likely a later step needs this file: what was changed, often and lately before the rest."""
    age = max(0, length - file.place)
    return (2.0 if file.altered else 1.0) * (1 + 0.2 * min(file.times, 10)) / (1 + age / OLDER)


def file_lines(files: Sequence[Touched], length: int, room: int, costs: Costs, locale: str) -> Filled:
    """All files, where they fit one to a line; reasons as far as there is room; else the least by folder."""
    ranked = sorted(files, key=lambda file: -worth(file, length))
    told = {file.path: bullet(_told(file, locale)) for file in ranked}
    alone, last = _split(ranked, [costs(line) for line in told.values()], room, costs, locale)
    grouped = [bullet(f"{head} {', '.join(names)}") for head, names in _folders(ranked[alone:last], locale).items()]
    own = {file.path: told[file.path] for file in ranked[:alone]}
    left = room - sum(map(costs, [*own.values(), *grouped]))
    reasons = 0
    for file in ranked[:alone]:
        fuller = f"{own[file.path]} — {bullet(file.why)[2:]}" if file.why else own[file.path]
        more = costs(fuller) - costs(own[file.path])
        if more <= left:
            own[file.path] = fuller
            left -= more
            reasons += 1
    ordered = sorted((file for file in files if file.path in own), key=lambda file: not file.altered)
    return Filled([*(own[file.path] for file in ordered), *grouped], room - left, alone == len(files) == reasons)


def _split(ranked: Sequence[Touched], alone: list[int], room: int, costs: Costs, locale: str) -> tuple[int, int]:
    """How many files have a line of their own so that all others still fit by folder; and how many fit at all."""
    by_folder = _by_folder(reversed(ranked), costs, locale)[::-1]
    lines = [*accumulate(alone, initial=0)]
    fitting = [n for n in range(len(ranked) + 1) if lines[n] + sum(by_folder[n : n + 1]) <= room]
    if fitting:
        return fitting[-1], len(ranked)
    return 0, bisect_right(_by_folder(ranked, costs, locale), room)


def _by_folder(files: Iterable[Touched], costs: Costs, locale: str) -> list[int]:
    """What each file and all before it cost by folder, counted piece by piece."""
    opened: set[str] = set()
    used, out = 0, []
    for file in files:
        for head, names in _folders([file], locale).items():
            used += costs(f"{names[0]},") + (0 if head in opened else costs(bullet(head)))
            opened.add(head)
        out.append(used)
    return out


def _told(file: Touched, locale: str) -> str:
    done = ", ".join(f"{word(action, locale)}{times(n)}" for action in ACTIONS if (n := getattr(file, action)))
    return f"{file.path}: {done}"


def _folders(files: Iterable[Touched], locale: str) -> dict[str, list[str]]:
    """For each folder and thing done the files: `read in src:` with `a.py`, `b.py 2×`."""
    rows: dict[str, list[str]] = {}
    for file in files:
        folder, slash, name = file.path.rpartition("/")
        for action in ACTIONS:
            if n := getattr(file, action):
                head = f"{word(action, locale)} {word('in', locale)} {folder or slash or '.'}:"
                rows.setdefault(head, []).append(name + times(n))
    return rows


def read_files(texts: Sequence[str]) -> list[Touched]:
    """The trail in the lines of an earlier digest."""
    found: dict[str, Touched] = {}
    for i, text in enumerate(texts):
        place = i - len(texts)
        for path, action, n, why in _read(text):
            before = found.get(path, Touched(path, place=place))
            counts = {key: getattr(before, key) + (n if key == action else 0) for key in ACTIONS}
            found[path] = Touched(path, **counts, why=why or before.why, place=place)
    return list(found.values())


def _read(text: str) -> list[tuple[str, str, int, str]]:
    if match := _FOLDER.match(text):
        folder = "" if match["folder"] == "." else f"{match['folder'].rstrip('/')}/"
        return [
            (f"{folder}{name}", _KEYS[match["verb"]], n, "") for name, n in map(_counted, match["names"].split(", "))
        ]
    if match := _LINE.match(text):
        return [
            (match["path"], _KEYS[verb], n, match["why"] or "") for verb, n in map(_counted, match["done"].split(", "))
        ]
    return []


def _counted(text: str) -> tuple[str, int]:
    match = _TIMES.match(text)
    return (match.group(1), int(match.group(2) or 1)) if match else (text, 1)
