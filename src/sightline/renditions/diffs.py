"""Diffs: which files, how much, which hunks, and the changed lines before the unchanged ones."""

import re

from sightline.renditions.lines import Levels, View, gist_level, single_values, summary_level

FILE, HUNK, CHANGED = 6.0, 1.5, 0.6

_FILE = re.compile(r"diff --git a/(\S{1,300})|\+\+\+ (?:b/)?(\S{1,300})|(?:rename|new file|deleted file)\b")
_NOISE = re.compile(r"index [0-9a-f]{6,}|--- |similarity index|\\ No newline")


def is_diff(seen: View) -> bool:
    """Whether hunks and file headers stand at line starts."""
    text = seen.sample.text
    return "\n@@ " in text and ("\n+++ " in text or text.startswith("diff --git ") or "\ndiff --git " in text)


def diff(seen: View) -> Levels:
    """Files and hunk headers first, then changed lines; in the gist, values under their file and its counts."""
    marks = {i: _mark(line.text) for i, line in enumerate(seen.sample.lines)}
    gist = gist_level(seen, {})
    return Levels(summary_level(seen, marks), gist._replace(values=single_values(seen, _labels(seen))))


def _mark(text: str) -> float:
    if _NOISE.match(text):
        return -1.0
    if _FILE.match(text):
        return FILE
    if text.startswith("@@"):
        return HUNK
    return CHANGED if text.startswith(("+", "-")) else 0.0


def _labels(seen: View) -> list[str]:
    """For every line its file with the lines added and taken away."""
    counts: dict[str, list[int]] = {}
    of_line: list[str] = []
    path = ""
    for line in seen.sample.lines:
        match = _FILE.match(line.text)
        if match:
            path = match.group(1) or match.group(2) or path
        of_line.append(path)
        found = counts.setdefault(path, [0, 0])
        if not match and not _NOISE.match(line.text) and line.text[:1] in ("+", "-"):
            found[line.text[0] == "-"] += 1
    return [f"{path} +{counts[path][0]} -{counts[path][1]}" if path else "" for path in of_line]
