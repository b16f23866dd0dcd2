"""The trail as lines: one for a file while there is room, else one for all the files of a folder."""

import re
from collections.abc import Sequence

from sightline.digest.headings import ACTIONS, spellings, times, word
from sightline.digest.page import Costs, Filled, bullet
from sightline.digest.trail import Touched

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
    alone = _alone(ranked, room, costs, locale)
    own, rest = ranked[:alone], ranked[alone:]
    lines = {file.path: bullet(_told(file, locale)) for file in own}
    left = room - sum(map(costs, lines.values()))
    grouped, used = _by_folder(rest, left, costs, locale)
    left -= used
    reasons = 0
    for file in own:
        fuller = bullet(f"{_told(file, locale)} — {file.why}") if file.why else ""
        more = costs(fuller) - costs(lines[file.path]) if fuller else 0
        if more <= left:
            lines[file.path] = fuller or lines[file.path]
            left -= more
            reasons += 1
    shown = [lines[file.path] for file in files if file.path in lines and file.altered]
    shown += [lines[file.path] for file in files if file.path in lines and not file.altered]
    return Filled([*shown, *grouped], room - left, alone == len(files) == reasons)


def _alone(ranked: Sequence[Touched], room: int, costs: Costs, locale: str) -> int:
    """How many files may have a line of their own, so that all others still fit by folder."""
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        used = sum(costs(bullet(_told(file, locale))) for file in ranked[:middle])
        used += sum(map(costs, map(bullet, _folders(ranked[middle:], locale))))
        if used <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _told(file: Touched, locale: str) -> str:
    done = ", ".join(f"{word(action, locale)}{times(n)}" for action in ACTIONS if (n := getattr(file, action)))
    return f"{file.path}: {done}"


def _folders(files: Sequence[Touched], locale: str) -> list[str]:
    """One line for each folder and thing done: `read in src: a.py, b.py 2×`."""
    rows: dict[tuple[str, str], list[str]] = {}
    for file in files:
        folder, _, name = file.path.rpartition("/")
        for action in ACTIONS:
            if n := getattr(file, action):
                rows.setdefault((action, folder or ("/" if file.path.startswith("/") else ".")), []).append(
                    name + times(n)
                )
    return [
        f"{word(action, locale)} {word('in', locale)} {folder}: {', '.join(names)}"
        for (action, folder), names in rows.items()
    ]


def _by_folder(files: Sequence[Touched], room: int, costs: Costs, locale: str) -> tuple[list[str], int]:
    """The folders' lines that fit; of one that does not, as many of its files as do."""
    lines: list[str] = []
    left = room
    for row in _folders(files, locale):
        text = row
        while text and costs(bullet(text)) > left:
            text = text.rpartition(", ")[0]
        if text:
            lines.append(bullet(text))
            left -= costs(lines[-1])
    return lines, room - left


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
