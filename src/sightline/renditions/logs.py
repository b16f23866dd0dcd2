"""Running commentary: logs, tracebacks and test runs."""

import re

from sightline.renditions.lines import Levels, View, gist_level, summary_level, troubles
from sightline.renditions.sample import where

LOGLIKE = 0.4  # share of lines with a time or a level, from which a text is a log
TOLD = 0.4  # share of a gist for the lines that say what failed
REPEATED = -1.2  # a line like one already seen, numbers aside

_STAMP = re.compile(
    r"\s*\[?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|\w{3} [ \d]\d \d\d:\d\d|\d{10,13}\b)|"
    r".{0,40}\b(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE)\b"
)
_VARYING = re.compile(r"\d+|0x[0-9a-fA-F]+|[0-9a-f]{8,}")
_FRAME = re.compile(
    r"\n[ \t]*(?:File \"[^\"\n]{1,400}\", line \d+|at \S.{0,300}[:(]\S{0,200}:\d+|\S{1,300}:\d+(?::\d+)?:? in |"
    r"#\d+ +0x|goroutine \d+)"
)
_RAISED = re.compile(
    r"\n(?:E +)?(?:[A-Za-z][\w.]{0,120}(?:Error|Exception|Warning|Interrupt|Exit|Failure)(?::|$)|panic:|Caused by:|"
    r"thread '.{0,80}' panicked)",
    re.MULTILINE,
)
_TRACEBACK = ("\nTraceback (most recent call last)", "\n    at ", "\n\tat ", "' panicked at ", "\ngoroutine ")
_FAILED = re.compile(
    r"\n(?:(?:FAILED|ERROR|FAIL)[: ]|--- FAIL|not ok |[ \t]*[✗✕×●] |E {2,}|_{5,} .{1,120} _{5,}$|"
    r"\S{1,200}::\S{1,200} FAILED)|\n.{1,200}\.\.\. (?:FAIL|ERROR)$",
    re.MULTILINE,
)
_TALLY = re.compile(
    r"\n(?:=+ .{0,200}(?:passed|failed|error).{0,80} =+$|Ran \d+ tests?|Tests?:? +\d|"
    r"Test Suites:|ok[ \t]+\S+[ \t]+[\d.]+s|test result:|FAILED \(|[ \t]*\d+ (?:passing|failing|passed|failed))",
    re.MULTILINE,
)


def is_traceback(seen: View) -> bool:
    """Whether somebody's stack is printed."""
    return any(stem in seen.sample.text for stem in _TRACEBACK)


def traceback(seen: View) -> Levels:
    """The exception and its frames; the last frame's source stands right before the exception and comes with it."""
    marks = troubles(seen.sample)
    for i, _ in where(_FRAME, seen.sample):
        marks[i] = max(marks.get(i, 0.0), 1.5)
    for i, _ in where(_RAISED, seen.sample):
        marks[i] = 6.0
        for near in range(max(0, i - 2), i):  # the failing statement and its frame
            marks[near] = max(marks.get(near, 0.0), 2.9)
    return Levels(summary_level(seen, marks), gist_level(seen, marks, share=TOLD))


def is_test_run(seen: View) -> bool:
    """Whether a tally of tests stands near the end."""
    return _TALLY.search(seen.sample.text, seen.sample.starts[max(0, len(seen.sample.starts) - 60)]) is not None


def test_run(seen: View) -> Levels:
    """Failed tests and the tally before everything else; what is said of a failed test stands under its name."""
    marks = troubles(seen.sample)
    for i, _ in where(_FAILED, seen.sample):
        marks[i] = 4.0
    for i, _ in where(_TALLY, seen.sample):
        marks[i] = 6.0
    return Levels(summary_level(seen, marks), gist_level(seen, marks, share=TOLD))


def is_log(seen: View) -> bool:
    """Whether enough lines begin with a time or name a level."""
    lines = [line.text for line in seen.sample.lines[:60] if line.text.strip()]
    return len(lines) >= 5 and sum(bool(_STAMP.match(text)) for text in lines) >= LOGLIKE * len(lines)


def log(seen: View) -> Levels:
    """Every distinct error and warning; of lines that differ only in numbers the first, with how many there were."""
    lines = seen.sample.lines
    marks = troubles(seen.sample)
    first: dict[str, int] = {}
    times: dict[int, int] = {}
    for i, text in enumerate(_VARYING.sub("#", seen.sample.text).split("\n")):
        kept = first.setdefault(text, i)
        times[kept] = times.get(kept, 0) + 1
        if kept != i:
            marks[i] = REPEATED
    counted = [
        line._replace(text=f"{line.text} (×{n})") if (n := times.get(i, 1)) > 2 and line.text else line
        for i, line in enumerate(lines)
    ]
    told = seen._replace(sample=seen.sample._replace(lines=counted))
    return Levels(summary_level(told, marks), gist_level(seen, marks))
