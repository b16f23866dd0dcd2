"""Output over time: logs and tracebacks."""

import re
from collections import Counter

from msgspec import structs

from sightline.shorten.identifiers import NO_DIGITS
from sightline.shorten.lines import REPEATED, Levels, View, line_levels
from sightline.shorten.sample import find_lines
from sightline.values.pattern import pattern

DETECT = 30  # lines looked at to recognise a log
LOGLIKE = 0.4  # share of lines with a time or a level, from which a text is a log


_STAMP = pattern(r"\n[ \t]*\[?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|\w{3} [ \d]\d \d\d:\d\d|\d{10,13}\b)")
_LEVELS = ("DEBUG", "INFO", "WARN", "ERROR", "FATAL", "TRACE")
_TIME = "0123456789-/:.,+TZ[]() \t"  # characters of the time before a line
_FRAME = pattern(
    r"\n[ \t]*(?:File \"([^\"\n]{1,400})\", line (\d+)|at \S.{0,300}[:(]\S{0,200}:\d+|\S{1,300}:\d+(?::\d+)?:? in |"
    r"#\d+ +0x|goroutine \d+)"
)
_RAISED = pattern(
    r"\n(?:E +)?(?:[A-Za-z][\w.]{0,120}(?:Error|Exception|Warning|Interrupt|Exit|Failure)(?::|$)|panic:|Caused by:|"
    r"thread '.{0,80}' panicked)",
    re.MULTILINE,
)
_TRACEBACK = ("\nTraceback (most recent call last)", "\n    at ", "\n\tat ", "' panicked at ", "\ngoroutine ")


def is_traceback(view: View) -> bool:
    """Whether a call stack is printed."""
    return any(stem in view.sample.text for stem in _TRACEBACK)


def traceback_levels(view: View) -> Levels:
    """Prefer the exception, its frames, and the two lines before it, which are the source of the last frame."""
    marks = view.trouble_marks()
    frames = {}
    for i, match in find_lines(_FRAME, view.sample):
        marks[i] = max(marks.get(i, 0.0), 1.5)
        if match.group(1):
            frames[i] = f"{match.group(1)}:{match.group(2)}"
    quoted = dict(marks)
    for i, _ in find_lines(_RAISED, view.sample):
        marks[i] = quoted[i] = 6.0
        for near in range(max(0, i - 2), i):  # the failing statement and its frame
            marks[near] = max(marks.get(near, 0.0), 5.0)
    return line_levels(view, marks, quoted, frames)


def is_log(view: View) -> bool:
    """Whether enough lines begin with a time or name a level."""
    head = "\n".join(["", *filter(None, view.sample.lines[:DETECT])])
    total = head.count("\n")
    return total >= 5 and sum(map(head.count, _LEVELS)) + len(_STAMP.findall(head)) >= LOGLIKE * total


def log_levels(view: View) -> Levels:
    """Prefer distinct errors and warnings. Of lines that differ only in numbers the first is shown, with a count.

    Those that differ in more than their time are called alike. Where not all lines were read, the count has a plus:
    there are at least so many.
    """
    marks = view.unusual_marks()
    first: dict[str, int] = {}
    times: dict[int, int] = {}
    texts = view.sample.text[1:].translate(NO_DIGITS).split("\n")
    for i, text in enumerate(texts):
        shown = first.setdefault(text, i)
        if shown < view.opening.lines <= i:  # shown unchanged, so a count cannot be added
            first[text] = i
            times[i], shown = times.get(shown, 0), i
        times[shown] = times.get(shown, 0) + 1
        if shown != i:
            marks[i] = REPEATED
    lines, plus = view.sample.lines, "" if view.sample.is_whole else "+"
    untimed = [line.lstrip(_TIME) for line in lines]
    every, same = Counter(texts), Counter(untimed)

    def ending(at: int, times: int) -> str:
        if times <= 2 or not lines[at]:
            return ""
        if same[untimed[at]] >= times:
            return f" (×{times}{plus})"
        return f" ({view.wording['alike'].format(n=f'{times:,}{plus}')})"

    counted = [line + ending(at, times.get(at, 1)) for at, line in enumerate(lines)]
    untimed = [line + ending(at, every[texts[at]]) for at, line in enumerate(untimed)]
    return line_levels(view._replace(sample=structs.replace(view.sample, lines=counted), code=untimed), marks, marks)
