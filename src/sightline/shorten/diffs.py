"""Diffs: files, their number of changed lines, hunks, and changed lines before unchanged ones."""

import re
from collections import defaultdict

from sightline.shorten.lines import Levels, View, line_levels

FILE, HUNK, CHANGED = 6.0, 1.5, 0.6

_FILE = re.compile(r"diff --git a/(\S{1,300})|\+\+\+ (?:b/)?(\S{1,300})|(?:rename|new file|deleted file)\b")
_NOISE = re.compile(r"index [0-9a-f]{6,}|--- |similarity index|\\ No newline")


def is_diff(view: View) -> bool:
    """Whether the text of a view is a diff."""
    return looks_like_diff(view.sample.text)


def looks_like_diff(text: str) -> bool:
    """Whether lines begin like hunks and file headers."""
    return "\n@@ " in text and ("\n+++ " in text or "\ndiff --git " in text)


def diff_levels(view: View) -> Levels:
    """Prefer files and hunk headers, then changed lines. A gist has the values under their file and its counts."""
    marks = {i: _mark(line) for i, line in enumerate(view.sample.lines)}
    sections = _sections(view, marks)
    code = [sections.get(i, line) for i, line in enumerate(view.code)]
    return line_levels(view._replace(code=code), marks, dict.fromkeys(sections, FILE), sections)


def _mark(line: str) -> float:
    if _NOISE.match(line):
        return -1.0
    if _FILE.match(line):
        return FILE
    if line.startswith("@@"):
        return HUNK
    return CHANGED if line.startswith(("+", "-")) else 0.0


def _sections(view: View, marks: dict[int, float]) -> dict[int, str]:
    """Return each file with the number of added and removed lines."""
    begins: dict[str, int] = {}
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])  # added and removed
    path = ""
    for i, line in enumerate(view.sample.lines):
        if marks[i] == FILE and (match := _FILE.match(line)):
            path = match.group(1) or match.group(2) or path
            begins.setdefault(path, i)
        elif marks[i] == CHANGED:
            counts[path][line[0] == "-"] += 1
    return {i: f"{path} +{counts[path][0]} -{counts[path][1]}" for path, i in begins.items() if path}
