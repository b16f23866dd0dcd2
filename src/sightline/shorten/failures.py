"""What any tool reports of a failure: errors, those alike once before they repeat, their place and source, the end."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from sightline.shorten.lines import Order, View, in_turns
from sightline.shorten.sample import find_lines
from sightline.shorten.signals import ERROR
from sightline.values.pattern import pattern

LAST = 10  # lines at the end, which say how it ended
TOTALS = 1  # of these, as many come before errors that repeat
ABOVE, BELOW = 4, 12  # lines around an error that may explain it
EXPLAINED = 250  # errors for which these are looked at: more do not fit into a summary
AT_ONCE = 2  # lines that explain an error before errors like it are shown: its place and its source

_ERROR = pattern(  # after signs and a number, the name of a tool, or a place
    r"\n(?:[^A-Za-z\n]{0,24}+(?:[A-Za-z][\w.+-]{0,30}+:? )?|[ \t]*+(?:\S{1,200}+(?:(?<=[:)])|(?<=\d) -) ){1,2})"
    r"(?:(?:fatal|Fatal|FATAL) )?(?:error|Error|ERROR|ERR|fatal|FATAL|FAILURE|FAILED|panic)"
    r"(?:\[\w{1,12}\]| [A-Z]{1,8}-?\d{1,6})?(?:[:!\]]| (?:in|during|while|at) | {2,}\S)|"
    r"\n[^\s:]{1,200}\.\w{1,6}:\d+:\d+: (?!note|warning|info|hint|remark)|"
    r"\nnpm error |\nmake(?:\[\d+\])?: \*\*\* |\n\* What went wrong:|\ne: \S"
)
_RAISED = pattern(
    r"\n(?:E +)?(?:[A-Za-z][\w.$]{0,120}(?:Error|Exception|Warning|Interrupt|Exit|Failure)(?: \[\w{1,60}\])?(?::|$)|"
    r"(?:Uncaught )?Error(?: \[\w{1,60}\])?: |panic:|Caused by:|thread '.{0,80}' panicked)",
    re.MULTILINE,
)
_FAILS = pattern(  # of an error, not the count of none
    r"(?<! 0 )[Ff]ailed\b(?![=:] {0,9}0)|FAILED|went wrong|exit(?:ed with)? (?:code|status):? [1-9]|"
    r"\bline \d+|\w[:(]\d+"
)
_OTHER = pattern(  # ends what explains an error
    r"\n(?:warning(?:\[\w{1,12}\])?: |note: |npm \S|\S{1,300}:\d+(?::\d+)?: (?:note|warning): |Found \d+ errors?)"
)
_PLACE = pattern(r"\.[A-Za-z]\w{0,9}(?::| ?\()\d+|\b\w{0,40}(?:file|BUILD)\w{0,20}:\d+|\bline \d+")
_POINTER = pattern(r"[ \t|│\d:·]*[\^~]+")
_MARKED = pattern(r"[ \t|│]*(?:[>❱→]+ ?\d+ ?[|│:]?|-+> ?\d+ ?[|│:]|\d+ ?[|│] ?>{2,})")
_NUMBERED = pattern(r"[ \t|│]*\d+ ?[|│:]")
_VARIED = pattern(r"[\"'`“‘][^\"'`”’]{0,80}[\"'`”’]|(?<!\S)[^\s\d/]*+[\d/]\S*")  # what errors of one kind differ in
_LIBRARIES = (
    "site-packages", "dist-packages", "node_modules", "node:", "<frozen ", "/rustc/", "java.base/", "/usr/lib/",
    "/gems/", "/registry/", "/pkg/mod/", "<anonymous>)",
)  # fmt: skip


def failure_order(view: View, *, terse: bool = False) -> Order:
    """Return the order of lines: errors with their place and source, then the end.

    One error of each kind comes first, with what explains it, then how it ended, then errors like these.
    """
    lines = view.sample.lines
    errors = _errors(view)
    ends = {i for i, _ in find_lines(_OTHER, view.sample)} if errors else set[int]()
    kinds = first_of_kinds(lines, errors)
    others = sorted({*errors}.difference(kinds))
    ends |= {*errors}
    explained = [_explanation(lines, i, ends) for i in islice(chain(kinds, others), EXPLAINED)]
    unplaced = [
        explanation[:AT_ONCE] for i, explanation in zip(kinds, explained, strict=False) if not _PLACE.search(lines[i])
    ]
    at_once = in_turns(unplaced)
    last = last_lines(lines) if errors or not is_document(view) else []
    totals = last[:TOTALS] if errors else []
    before = [i - 1 for i in kinds if i and i - 1 not in ends]  # in some outputs it says what was tried
    first = [*kinds, *chain(*at_once), *totals, *others, *chain(*in_turns(explained)), *before]
    return Order([*dict.fromkeys(first)], last, terse=terse)


def last_lines(lines: Sequence[str]) -> list[int]:
    """Return the last lines that are not blank, the very last first."""
    return [*islice((i for i in range(len(lines) - 1, -1, -1) if lines[i]), LAST)]


def is_document(view: View) -> bool:
    """Whether the text is that of a file, whose end says no more than the rest: its lines are numbered, or its call
    names nothing but a path."""
    return view.has_numbers or (len(view.subject.split()) == 1 and ("/" in view.subject or "." in view.subject))


def raised_lines(view: View) -> list[int]:
    """Return the lines that say what was raised."""
    return [i for i, _ in find_lines(_RAISED, view.sample)]


def first_of_kinds(lines: Sequence[str], errors: Sequence[int]) -> list[int]:
    """Return the first error of each kind: others of it differ only in names, numbers and places."""
    kinds: dict[str, int] = {}
    for i in errors:
        kinds.setdefault(_VARIED.sub("", lines[i]), i)
    return [*kinds.values()]


def is_of_library(line: str) -> bool:
    """Whether a place is in code that is only used here."""
    return any(map(line.__contains__, _LIBRARIES))


def reported_errors(view: View) -> set[int]:
    """Return the lines that report an error in the form of any tool."""
    return {i for i, _ in find_lines(_ERROR, view.sample)}.union(raised_lines(view))


def _errors(view: View) -> list[int]:
    """Return the lines that report an error, or speak of one and say where it is."""
    lines = view.sample.lines
    spoken = [i for i, mark in view.trouble_marks().items() if mark >= ERROR and _FAILS.search(lines[i])]
    return sorted(i for i in reported_errors(view).union(spoken) if not is_of_library(lines[i]))


def _explanation(lines: Sequence[str], error: int, ends: set[int]) -> list[int]:
    """Return the lines around an error that explain it: a place, a source line, then the others below it."""
    above = [*_lines_above(lines, error, ends)]
    below = [*_lines_below(lines, error, ends)]
    near = [*above, *below]
    places = [i for i in near if _PLACE.search(lines[i]) and not _NUMBERED.match(lines[i])]
    own = [i for i in places if not is_of_library(lines[i])]
    pointed = [i - 1 for i in near if _POINTER.match(lines[i]) and i and i - 1 != error]
    marked = [i for i in near if _MARKED.match(lines[i])]
    sources = pointed or marked or [i for i in near if _NUMBERED.match(lines[i])] or above[1:2]
    return [*dict.fromkeys([*own[:1], *sources[:1], *own, *sources, *below])]


def _lines_above(lines: Sequence[str], error: int, ends: set[int]) -> Iterator[int]:
    """Yield the lines from the place to the error below it, where a tool says the place first."""
    start = error
    for i in range(error - 1, max(-1, error - 1 - ABOVE), -1):
        if i in ends:
            break
        if _PLACE.search(lines[i]) and not lines[i].lstrip().startswith("at "):
            start = i
            break
    yield from (i for i in range(start, error) if lines[i])


def _lines_below(lines: Sequence[str], error: int, ends: set[int]) -> Iterator[int]:
    """Yield the lines below an error that belong to it; after a blank one those that show a source or a place."""
    goes_on = True
    for i in range(error + 1, min(len(lines), error + 1 + BELOW)):
        if i in ends:
            break
        line = lines[i]
        goes_on = goes_on and bool(line)
        if goes_on or (line and (_POINTER.match(line) or _NUMBERED.match(line) or _MARKED.match(line))):
            yield i
