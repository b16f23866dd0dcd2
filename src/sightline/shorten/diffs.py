"""Diffs: files, their number of changed lines, and changed lines before unchanged ones."""

import re
from collections import defaultdict
from itertools import groupby

from sightline.shorten.fill import CHARS
from sightline.shorten.lines import LINE, Levels, Order, View, line_levels

FILE, HUNK, CHANGED = 6.0, 1.5, 0.6
SHARE = 0.85  # of a gist, for files and changed lines; the rest names values, which are needed again
HEADERS = 400  # characters for the first lines of all headers, which have each path twice
RUN = 8  # changed lines that are chosen together, so that they can be read and need no gap between them

_FILE = re.compile(r"diff --git a/(\S{1,300})|\+\+\+ (?:b/)?(\S{1,300})|(?:rename|new file|deleted file)\b")
_NOISE = re.compile(r"index [0-9a-f]{6,}|--- |similarity index|\\ No newline")


def is_diff(view: View) -> bool:
    """Whether the text of a view is a diff."""
    return looks_like_diff(view.sample.text)


def looks_like_diff(text: str) -> bool:
    """Whether lines begin like hunks and file headers."""
    return "\n@@ " in text and ("\n+++ " in text or "\ndiff --git " in text)


def diff_levels(view: View) -> Levels:
    """Show each file, then changed lines, then the headers of hunks. A gist has each file with its counts."""
    marks = _marks(view.sample.lines)
    sections = _sections(view, marks)
    headers = _headers(view.sample.lines, marks, sections)
    code = list(view.code)
    for i, name in zip(headers, sections.values(), strict=True):
        code[i] = name
    order = Order([*headers, *_changed_lines(view.sample.lines, marks)], share=SHARE, terse=True)
    return line_levels(view._replace(code=code), marks, {}, sections, order=order)


def _marks(lines: list[str]) -> dict[int, float]:
    """Return what each line is: of a header, of a hunk, changed, or context. A header ends where its hunks begin."""
    marks = {}
    in_hunk = False
    for i, line in enumerate(lines):
        if line.startswith("@@"):
            in_hunk = True
            marks[i] = HUNK
        elif in_hunk and line.startswith(("+", "-")) and not _opens_file(lines, i):
            marks[i] = CHANGED
        else:
            file_header = _FILE.match(line)
            in_hunk = in_hunk and not file_header and not line.startswith("--- ")
            marks[i] = FILE if file_header else -1.0 if _NOISE.match(line) else 0.0
    return marks


def _opens_file(lines: list[str], at: int) -> bool:
    """Whether a line that may be changed begins the next file of a diff that has no other header."""
    pair = lines[at : at + 2] if lines[at].startswith("--- ") else lines[max(0, at - 1) : at + 1]
    return len(pair) == 2 and pair[0].startswith("--- ") and pair[1].startswith("+++ ")


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


def _headers(lines: list[str], marks: dict[int, float], sections: dict[int, str]) -> list[int]:
    """Return a line of each file's header; if there are many, the one that has the path only once."""
    headers = [*sections]
    if sum([len(lines[i]) for i in headers]) <= HEADERS:
        return headers
    ends = [*headers[1:], len(lines)]
    named = (
        [j for j in range(i, end) if marks[j] == FILE and lines[j].startswith("+++ b")]
        for i, end in zip(headers, ends, strict=True)
    )
    return [with_path[0] if with_path else i for i, with_path in zip(headers, named, strict=True)]


def _changed_lines(lines: list[str], marks: dict[int, float]) -> list[int]:
    """Return the changed lines by runs: of each file the first run, then those with the most lines in the fewest
    characters.
    """
    runs: list[tuple[bool, float, list[int]]] = []
    is_first = True
    for mark, group in groupby(marks, key=marks.__getitem__):
        places = [*group] if mark == CHANGED else []
        is_first = is_first or mark == FILE
        for at in range(0, len(places), RUN):
            run = places[at : at + RUN]
            size = sum([len(lines[i]) for i in run]) + LINE * CHARS
            said = sum([any(map(str.isalnum, lines[i])) for i in run])
            runs.append((not is_first, size / max(1, said), run))
            is_first = False
    return [i for *_, run in sorted(runs, key=lambda ranked: ranked[:2]) for i in run]
