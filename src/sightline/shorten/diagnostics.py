"""What compilers, type checkers and package managers report: errors first, with their place and their source."""

import re
from itertools import chain

from sightline.shorten.lines import Levels, Order, View, in_turns, line_levels
from sightline.shorten.sample import find_lines
from sightline.values.pattern import pattern

LAST = 10  # lines at the end, which say how it ended
BELOW = 12  # lines below an error that may explain it
EXPLAINED = 250  # errors for which these are looked at: more do not fit into a summary

_ERROR = pattern(
    r"\n(?:error(?:\[\w{1,12}\])?: |fatal(?: error)?: |npm (?:error|ERR!) |make(?:\[\d+\])?: \*\*\* |"
    r"\S{1,300}:\d+(?::\d+)?: (?:fatal )?error: |\S{1,300}\(\d+(?:,\d+)?\): (?:fatal )?error |"
    r"\S{1,200}\.go:\d+:\d+: |[ \t]+\d+:\d+ +error )"
)
_OTHER = pattern(  # ends what explains an error
    r"\n(?:$|warning(?:\[\w{1,12}\])?: |note: |npm \S|\S{1,300}:\d+(?::\d+)?: (?:note|warning): |Found \d+ errors?)",
    re.MULTILINE,
)
_PLACE = pattern(r"[ \t]*-+> \S")
_POINTER = pattern(r"[ \t|\d]*\^")


def is_diagnostics(view: View) -> bool:
    """Whether a line reports an error in the form of a known tool."""
    return _ERROR.search(view.sample.text) is not None


def diagnostic_levels(view: View) -> Levels:
    """Show every error, then the place and the source of each, then the end."""
    lines = view.sample.lines
    errors = [i for i, _ in find_lines(_ERROR, view.sample)]
    ends = {i for i, _ in find_lines(_OTHER, view.sample)} | {*errors}
    explained = [_explanation(lines, i, ends) for i in errors[:EXPLAINED]]
    marks = view.trouble_marks()
    order = Order([*errors, *chain(*in_turns(explained))], range(max(0, len(lines) - LAST), len(lines)), terse=True)
    return line_levels(view, marks, marks, order=order)


def _explanation(lines: list[str], error: int, ends: set[int]) -> list[int]:
    """Return the lines below an error: its place, its source, then the others."""
    below: list[int] = []
    for i in range(error + 1, min(len(lines), error + 1 + BELOW)):
        if i in ends:
            break
        below.append(i)
    places = [i for i in below if _PLACE.match(lines[i])]
    sources = [i - 1 for i in below if _POINTER.match(lines[i]) and i - 1 > error]
    return [*dict.fromkeys([*places, *sources, *below])]
