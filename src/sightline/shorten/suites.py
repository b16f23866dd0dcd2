"""Runs of tests: what failed and why, then the totals and the end, then names; never the names of tests that passed."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from sightline.shorten.failures import is_of_library, last_lines
from sightline.shorten.lines import REPEATED, Levels, Order, View, in_turns, line_levels, rank_values, value_worths
from sightline.shorten.sample import find_lines
from sightline.values.pattern import pattern

DETECT = 30  # lines looked at, at either end, to recognise a run of tests
BLOCK, BLOCKS = 400, 250  # lines read about one failed test, and failed tests read: more do not fit into a summary
TALLY, FAILED = 6.0, 4.0

_NAMED = pattern(  # begins what is said about one failed test; a name that gaps of the summary can use
    r"\n(?:_{3,} (\S.{0,120}?) _{3,}$|(?:FAIL|ERROR): (\S+)|[ \t]*● \S|[ \t]*FAIL {2}\S|[ \t]*--- FAIL: |"
    r"---- \S{1,200} stdout ----$|[ \t]*\d{1,4}\) \S|[ \t]*not ok \d|[ \t]*[✗✕✖×] \S)",
    re.MULTILINE,
)
_LISTED = pattern(r"\n(?:(?:FAILED|ERROR) \S|\S{1,200}::\S{1,200} (?:FAILED|ERROR))")  # only names a failed test
_LISTED_ENDS = ("... FAIL", "... ERROR", " FAILED")  # of such a line
_ENDS = pattern(  # ends what is said about a failed test
    r"\n(?:={5,}|-{60,}$|Test Suites:|Tests:|Ran \d|failures:$|test result:|(?:PASS|FAIL|ok)(?:$|[ \t])|\[Process|"
    r"[ \t]*[✓√✔] |=== RUN|[ \t]*--- PASS|[ \t]*# Subtest: |[ \t]*1\.\.\d|Finished in |\[ +(?:RUN|OK) +\])",
    re.MULTILINE,
)
_TALLY = pattern(
    r"\n(?:=+ .{0,200}(?:passed|failed|error).{0,80} =+$|Ran \d+ tests?|[ \t]*Tests?:? +\d|"
    r"[ \t]*Test (?:Suites:|Files +\d)|ok[ \t]+\S+[ \t]+[\d.]+s|"
    r"FAIL[ \t]+\S+[ \t]+(?:[\d.]+s|\[)|test result:|FAILED \(|"
    r"[ \t]*\d+ (?:passing|failing|passed|failed)|[^\w\n]{0,4}(?:tests|pass|fail) \d+$|"
    r"[ \t]*(?:Executed )?\d+ (?:tests?|examples?|runs|specs?|scenarios?)\b.{0,80}\d+ (?:fail|error|pass)|"
    r"\[ +(?:PASSED|FAILED) +\] \d+ test|\d+% tests passed|(?:Failed|Passed)! +- |Total tests: \d)",
    re.MULTILINE,
)
_ENDED = pattern(
    r"::\S{1,200} (?:PASSED|FAILED|ERROR|SKIPPED|XFAIL)\b|\.\.\. (?:ok|FAIL|FAILED|ERROR|skipped)\b|"
    r"^[ \t]*(?:not )?ok \d|^[ \t]*[✓✔✖✗] .{1,300}\d ?m?s\)?$"
)
_PASSED = pattern(
    r"\n(?:\S{1,300}::.{1,300} PASSED\b|\[gw\d+\][ \t].{0,40}PASSED |[ \t]*[✓√✔✅] |"
    r"[ \t]*--- PASS: |=== (?:PAUSE|CONT) |[ \t]*ok \d|PASS[ \t]+\S|PASSED \S|[ \t]+Passed \S|\[ +OK +\] |"
    r"Test Case '.{1,200}' passed|[ \t]*\d{1,6}/\d{1,6} Test .{1,200}\.\. +Passed )"
)
_PASSED_ENDS = ("... ok", "(OK)", "[OK]", " PASSED")
_RUN = pattern(  # begins what a test says, or says that it failed
    r"\n(?:=== RUN +|\[ +RUN +\] |[ \t]*# Subtest: |Test Case ')([^\s'].{0,300}?)(?:' started.{0,60})?$|"
    r"\n(?:[ \t]*--- FAIL: |\[ +FAILED +\] |[ \t]*not ok \d+ - |Test Case ')(\S.{0,300}?)"
    r"(?:' failed.{0,60}|, where .{0,200}| \(\d.{0,20}\))?$",
    re.MULTILINE,
)
# What is said about a failed test: what was raised or expected, where it is, the statement.
_RAISED = pattern(
    r"E {2,}\S|[A-Za-z_][\w.]{0,120}(?:Error|Exception|Failure|Failed|Exit)(?::|$)|thread '.{0,200}panicked at |"
    r"panic: |[ \t]{2,}[\w.$]{0,60}(?:Error|Exception)(?: \[\w{1,60}\])?: |[ \t]+error: |"
    r"[ \t]{2,}[A-Z]\w{0,60}(?:(?:::|\\)\w{1,60}){1,6}:(?:$| )|"
    r"\S{1,300}\.\w{1,6}:\d+:\d+: |error(?:\[\w{1,12}\])?: "
)
_SAID = pattern(
    r"[ \t]*(?:expected|actual|got|want|left|right)\b.{0,40}:|[ \t]*(?:[-+] )?(?:Expected|Received)\b|"
    r"[ \t]{2,}expect\(|[ \t]{0,8}[-+] "
)
_PLACE = pattern(
    r"\S{1,300}:\d+: |[ \t]+\S.{0,300}:\d+:\d+\)?$|[ \t]*❯ .{0,300}:\d+:\d+|[ \t]+# \S{1,300}:\d+:in |[ \t]+location: |"
    r" {2}File \"[^\"]{1,400}\", line \d+"
)
_GO = pattern(r"[ \t]+\S{1,200}\.go:\d+: ")
_FRAME = pattern(r" {2}File \"|\S{1,300}:\d+: in ")
_STATEMENT = pattern(r">\s+\S|[ \t]*>[ \t]*\d+ \||[ \t]*Failure/Error: ")
_POINTER = pattern(r"[ \t|\d]*\^+[ \t]*$")
_HINT = pattern(r"E +\?|E +(?:Omitting|Use -v|\.\.\.)")


_OPEN = (":", "|", "|-", ">-")  # ends a line whose text is below it, further to the right

Found = list[tuple[int, re.Match[str]]]  # lines, each with what a pattern found there


class _Said(NamedTuple):
    """Lines about one failed test, by what they tell."""

    raised: list[int]
    places: list[int]
    statements: list[int]
    others: list[int]
    hints: list[int]
    libraries: list[int]  # places in code that is only used here, and the statements there
    is_chain: bool = False  # exceptions that follow from each other: the last is what the test failed with

    def in_order(self) -> list[int]:
        """What was raised, where, by which statement, then the rest of it."""
        raised = self.raised[-1:] if self.is_chain else self.raised[:1]
        most = [*raised, *self.places[-1:], *self.statements[-1:], *self.places[:1], *self.statements[:1]]
        rest = sorted({*self.raised, *self.others})
        return [*dict.fromkeys([*most, *rest, *self.hints])]

    def other_frames(self) -> list[int]:
        """The places and statements that `in_order` does not have, the last of them first."""
        own = sorted({*self.places, *self.statements}.difference(self.in_order()), reverse=True)
        return [*own, *reversed(self.libraries)]


def is_test_run(view: View) -> bool:
    """Whether there is a total of tests near the end, or the first lines say of one test each how it ended."""
    first = list(filter(None, view.sample.lines[:DETECT]))
    ended = sum(map(bool, map(_ENDED.search, first)))
    return ended >= max(5, 0.5 * len(first)) or _TALLY.search("\n".join(["", *view.sample.lines[-DETECT:]])) is not None


def test_run_levels(view: View) -> Levels:
    """Show failures first, each before all of any, then the totals and the last lines, then names of failed tests.

    Then come the other frames of their tracebacks. Values about a failed test are listed under its name.
    """
    lines, runs = view.sample.lines, [*find_lines(_RUN, view.sample)]
    passed = frozenset(_passed(view, runs))
    view = _without(view, passed)
    troubles = view.trouble_marks()
    titles = {i: match.group(1) or match.group(2) for i, match in _titles(view, runs)}
    named = {i for i, _ in find_lines(_LISTED, view.sample)}
    listed = [i for i, line in enumerate(lines) if i in named or line.endswith(_LISTED_ENDS) or "(FAILED - " in line]
    tally = [i for i, _ in find_lines(_TALLY, view.sample)]
    failed = dict.fromkeys([*titles, *listed], FAILED)
    quoted = (failed or troubles) | dict.fromkeys(tally, TALLY)
    ends = {i for i, _ in find_lines(_ENDS, view.sample)}
    failures = [_said(lines, *block) for block in _blocks(view, [*titles][:BLOCKS], ends)]
    said = [
        sorted(turn, key=lambda i: (len(lines[i]), i)) for turn in in_turns(failure.in_order() for failure in failures)
    ]
    frames = in_turns(failure.other_frames() for failure in failures)
    first, then = [*tally[-3:], *chain(*said)], [*last_lines(lines), *titles, *listed, *chain(*frames)]
    order = Order(first, then, hidden=passed, terse=True)
    sections = {i: name for i, name in titles.items() if name}
    marks = _repeated(lines) | troubles | quoted
    return line_levels(view, marks, quoted, sections, order=order)


def _repeated(lines: list[str]) -> dict[int, float]:
    """Return a mark for each line that is equal to one before it, such as the name of a group of tests."""
    first: dict[str, int] = {}
    return {i: REPEATED for i, line in enumerate(lines) if first.setdefault(line, i) != i}


def _passed(view: View, runs: Found) -> Iterator[int]:
    """Yield the lines that only name a test that passed."""
    yield from (i for i, _ in find_lines(_PASSED, view.sample))
    yield from (i for i, line in enumerate(view.sample.lines) if line.endswith(_PASSED_ENDS))
    failed = {match.group(2) for _, match in runs}
    yield from (i for i, match in runs if match.group(1) and match.group(1) not in failed)


def _without(view: View, hidden: frozenset[int]) -> View:
    """Return the view without the values of some lines."""
    if not hidden:
        return view
    values = [[] if i in hidden else line_values for i, line_values in enumerate(view.values)]
    worths = value_worths(values)
    return view._replace(values=values, worths=worths, names=rank_values(worths))


def _titles(view: View, runs: Found) -> Found:
    """Return where the text about a failed test begins; where a test says it as it runs, where that test begins."""
    failed = {match.group(2) for _, match in runs} - {None}
    began = [(i, match) for i, match in runs if match.group(1) in failed]
    return sorted([*find_lines(_NAMED, view.sample), *began], key=lambda title: title[0])


def _blocks(view: View, titles: list[int], ends: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the lines about each failed test. Of a text without such a beginning the last lines are one block."""
    count = len(view.sample.lines)
    if not titles:
        yield max(0, count - BLOCK), count
        return
    for start, after in zip(titles, [*titles[1:], count], strict=True):
        begin = start + 1
        while begin < after and begin in ends:  # a rule below the name
            begin += 1
        yield begin, next((i for i in range(begin, after) if i in ends), min(after, begin + BLOCK))


def _margin_below(line: str) -> str:
    """Return what the lines begin with that go on with what a line says."""
    indent = 8 if _GO.match(line) else len(line) - len(line.lstrip()) + 1 if line.endswith(_OPEN) else 0
    return " " * indent or "\n"


def _said(lines: list[str], start: int, end: int) -> _Said:
    """Tell the lines about one failed test apart."""
    told = _Said([], [], [], [], [], [])
    goes_on = "\n"  # what a line begins with that goes on with what the line before it says; a blank line ends it
    for i in range(start, end):
        line = lines[i]
        if not line:
            goes_on = goes_on or "\n"
        elif _HINT.match(line):
            told.hints.append(i)
        elif _RAISED.match(line) or (line[0].isspace() and _GO.match(line)):
            told.raised.append(i)
            if told.statements[-1:] == [i - 1]:  # of every exception its own frame
                told.others.extend(range(max(start, i - 2), i))
            goes_on = "" if "panicked at " in line else _margin_below(line)
        elif _STATEMENT.match(line) or (
            told.places[-1:] == [i - 1] and _FRAME.match(lines[i - 1]) and line[:4].isspace()
        ):
            told.statements.append(i)
        elif _PLACE.match(line):
            (told.libraries if is_of_library(line) else told.places).append(i)
        elif told.libraries[-1:] == [i - 1] and _FRAME.match(lines[i - 1]) and line[:4].isspace():
            told.libraries.append(i)
        elif i > start and _POINTER.match(line):
            (told.libraries if told.libraries[-1:] == [i - 1] else told.statements).append(i - 1)
        elif _SAID.match(line) or line.startswith(goes_on):
            told.others.append(i)
            goes_on = goes_on if line.startswith(goes_on) else _margin_below(line)
    if len(told.raised) > 1 and lines[told.raised[-1]][0] != "E" and not lines[told.raised[-1]][0].isspace():
        return told._replace(is_chain=True)
    if not told.raised:  # some runners say what was raised in the first line, in no form of its own
        told.raised.extend([i for i in range(start, end) if lines[i]][:1])
    return told
