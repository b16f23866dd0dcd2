"""The trail of files as lines: one for each file while the budget allows it, else one for all files of a folder."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from sightline.shorten.digest.file_trail import Touched
from sightline.shorten.digest.headings import ACTIONS, WORDS, times, word
from sightline.shorten.digest.sections import Costs, SectionLines, bullet

HALF_AGE = 24  # items after which a file is worth half
_KEYS = {spelling: action for action in ACTIONS for spelling in WORDS[action]}
_VERB = f"(?:{'|'.join(_KEYS)})"
_DONE = rf"{_VERB}(?: \d+×)?"
_LINE = re.compile(rf"^(?P<path>.+?): (?P<done>{_DONE}(?:, {_DONE})*)(?: — (?P<why>.*))?$")
_FOLDER = re.compile(rf"^(?P<verb>{_VERB}) (?:{'|'.join(WORDS['in'])}) (?P<folder>.+?): (?P<names>.+)$")
_TIMES = re.compile(r"^(.*?)(?: (\d+)×)?$")


def _file_worth(file: Touched, length: int) -> float:
    """Return how likely a later step needs this file: more if it was changed, often and lately."""
    age = max(0, length - file.place)
    return (2.0 if file.altered else 1.0) * (1 + 0.2 * min(file.times, 10)) / (1 + age / HALF_AGE)


def file_lines(files: Sequence[Touched], length: int, budget: int, costs: Costs, locale: str) -> SectionLines:
    """Return all files, one to a line if they fit, with reasons as far as they fit; else the least useful by folder."""
    ranked = sorted(files, key=lambda file: -_file_worth(file, length))
    texts = {file.path: bullet(_file_text(file, locale)) for file in ranked}
    single, last = _split(ranked, [costs(line) for line in texts.values()], budget, costs, locale)
    grouped = [
        bullet(f"{head} {', '.join(names)}") for head, names in _folder_rows(ranked[single:last], locale).items()
    ]
    lines_of = {file.path: texts[file.path] for file in ranked[:single]}
    left = budget - sum(map(costs, [*lines_of.values(), *grouped]))
    reasons = 0
    for file in ranked[:single]:
        fuller = f"{lines_of[file.path]} — {bullet(file.why)[2:]}" if file.why else lines_of[file.path]
        more = costs(fuller) - costs(lines_of[file.path])
        if more <= left:
            lines_of[file.path] = fuller
            left -= more
            reasons += 1
    ordered = sorted((file for file in files if file.path in lines_of), key=lambda file: not file.altered)
    return SectionLines(
        [*(lines_of[file.path] for file in ordered), *grouped], budget - left, single == len(files) == reasons
    )


def _split(ranked: Sequence[Touched], single: list[int], budget: int, costs: Costs, locale: str) -> tuple[int, int]:
    """Return how many files can have their own line while all others fit by folder, and how many fit at all."""
    folder_costs = _folder_costs(reversed(ranked), costs, locale)[::-1]
    lines = [*accumulate(single, initial=0)]
    fitting = [n for n in range(len(ranked) + 1) if lines[n] + sum(folder_costs[n : n + 1]) <= budget]
    if fitting:
        return fitting[-1], len(ranked)
    return 0, bisect_right(_folder_costs(ranked, costs, locale), budget)


def _folder_costs(files: Iterable[Touched], costs: Costs, locale: str) -> list[int]:
    """Return the cost of each file and all before it by folder, counted in parts."""
    heads: set[str] = set()
    used, out = 0, []
    for file in files:
        for head, names in _folder_rows([file], locale).items():
            used += costs(f"{names[0]},") + (0 if head in heads else costs(bullet(head)))
            heads.add(head)
        out.append(used)
    return out


def _file_text(file: Touched, locale: str) -> str:
    done = ", ".join(f"{word(action, locale)}{times(n)}" for action in ACTIONS if (n := getattr(file, action)))
    return f"{file.path}: {done}"


def _folder_rows(files: Iterable[Touched], locale: str) -> dict[str, list[str]]:
    """Return the files for each folder and action: `read in src:` with `a.py`, `b.py 2×`."""
    rows: dict[str, list[str]] = {}
    for file in files:
        folder, slash, name = file.path.rpartition("/")
        for action in ACTIONS:
            if n := getattr(file, action):
                head = f"{word(action, locale)} {word('in', locale)} {folder or slash or '.'}:"
                rows.setdefault(head, []).append(name + times(n))
    return rows


def read_files(texts: Sequence[str]) -> list[Touched]:
    """Read the trail in the lines of a previous digest."""
    files: dict[str, Touched] = {}
    for i, text in enumerate(texts):
        place = i - len(texts)
        for path, action, n, why in _read_line(text):
            before = files.get(path, Touched(path, place=place))
            counts = {key: getattr(before, key) + (n if key == action else 0) for key in ACTIONS}
            files[path] = Touched(path, **counts, why=why or before.why, place=place)
    return list(files.values())


def _read_line(text: str) -> list[tuple[str, str, int, str]]:
    if match := _FOLDER.match(text):
        folder = "" if match["folder"] == "." else f"{match['folder'].rstrip('/')}/"
        return [
            (f"{folder}{name}", _KEYS[match["verb"]], n, "")
            for name, n in map(_split_count, match["names"].split(", "))
        ]
    if match := _LINE.match(text):
        return [
            (match["path"], _KEYS[verb], n, match["why"] or "")
            for verb, n in map(_split_count, match["done"].split(", "))
        ]
    return []


def _split_count(text: str) -> tuple[str, int]:
    match = _TIMES.match(text)
    return (match.group(1), int(match.group(2) or 1)) if match else (text, 1)
