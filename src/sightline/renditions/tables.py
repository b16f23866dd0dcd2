"""Tables: columns first, then rows from the top."""

from collections import Counter

from sightline.renditions.lines import Levels, View, gist_level, summary_level, troubles

SAME = 0.8  # share of the lines with the same number of separators
HEADER, ROW = 8.0, 1.0


def is_table(seen: View) -> bool:
    """Whether nearly all lines have the same number of commas, tabs, semicolons or bars."""
    return bool(_separator([line.text for line in seen.sample.lines[:60] if line.text.strip()]))


def _separator(lines: list[str]) -> str:
    if len(lines) < 4:
        return ""
    for separator in "\t|,;":
        often, n = Counter(text.count(separator) for text in lines).most_common(1)[0]
        if often >= 2 and n >= SAME * len(lines):
            return separator
    return ""


def table(seen: View) -> Levels:
    """The header row, then rows by what they hold, the upper ones before the lower."""
    marks = troubles(seen.sample)
    total = max(1, len(seen.sample.lines))
    for i in range(total):
        marks[i] = marks.get(i, 0.0) + (HEADER if i == 0 else ROW * (1 - i / total))
    return Levels(summary_level(seen, marks), gist_level(seen, marks))
