"""Output over time: logs and tracebacks."""

from collections import Counter

from msgspec import structs

from sightline.shorten.failures import failure_order, last_lines, raised_lines
from sightline.shorten.identifiers import NO_DIGITS
from sightline.shorten.lines import REPEATED, Levels, Order, View, line_levels
from sightline.shorten.sample import find_lines
from sightline.shorten.signals import ERROR
from sightline.values.pattern import pattern

DETECT = 30  # lines looked at to recognise a log
LOGLIKE = 0.4  # share of lines with a time or a level, from which a text is a log


_STAMP = pattern(r"\n[ \t]*\[?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|\w{3} [ \d]\d \d\d:\d\d|\d{10,13}\b)")
_LEVELS = ("DEBUG", "INFO", "WARN", "ERROR", "FATAL", "TRACE")
_BEFORE = frozenset("0123456789[(")  # what a time begins with
_LEVEL = pattern(r"(?:\"(?:level|severity|levelname)\" ?: ?|\blevel=)")
_TIME = "0123456789-/:.,+TZ[]() \t"  # characters of the time before a line
# What a log says of trouble in other words than an error's.
_TROUBLES = (
    "cannot", "could not", "unable to", "refused", "unreachable", "killed", "aborted", "crash", "corrupt",
    "out of memory", "segfault", "no space",
)  # fmt: skip
_FRAME = pattern(
    r"\n[ \t]*(?:File \"([^\"\n]{1,400})\", line (\d+)|at \S.{0,300}[:(]\S{0,200}:\d+|\S{1,300}:\d+(?::\d+)?:? in |"
    r"#\d+ +0x|goroutine \d+)"
)
_TRACEBACK = ("\nTraceback (most recent call last)", "\n    at ", "\n\tat ", "' panicked at ", "\ngoroutine ")


def is_traceback(view: View) -> bool:
    """Whether a call stack is printed, and not only into a log."""
    return any(stem in view.sample.text for stem in _TRACEBACK) and not is_log(view)


def traceback_levels(view: View) -> Levels:
    """Prefer the exception, its frames, and the two lines before it, which are the source of the last frame."""
    marks = view.trouble_marks()
    frames = {}
    for i, match in find_lines(_FRAME, view.sample):
        marks[i] = max(marks.get(i, 0.0), 1.5)
        if match.group(1):
            frames[i] = f"{match.group(1)}:{match.group(2)}"
    quoted = dict(marks)
    for i in raised_lines(view):
        marks[i] = quoted[i] = 6.0
        for near in range(max(0, i - 2), i):  # the failing statement and its frame
            marks[near] = max(marks.get(near, 0.0), 5.0)
    return line_levels(view, marks, quoted, frames, order=failure_order(view))


def is_log(view: View) -> bool:
    """Whether enough lines begin with a time or name a level, as a word or under a key."""
    head = "\n".join(["", *filter(None, view.sample.lines[:DETECT])])
    total = head.count("\n")
    stamped = sum(map(head.count, _LEVELS)) + len(_STAMP.findall(head)) + len(_LEVEL.findall(head))
    return total >= 5 and stamped >= LOGLIKE * total


def log_levels(view: View) -> Levels:
    """Prefer distinct errors and warnings. Of lines that differ only in numbers the first is shown, with a count.

    Those that differ in more than their time are called alike. Where not all lines were read, the count has a plus,
    because it is a minimum.
    """
    marks = view.unusual_marks()
    first: dict[str, int] = {}
    times: dict[int, int] = {}
    texts = view.sample.text[1:].translate(NO_DIGITS).split("\n")
    for i, text in enumerate(texts):
        counted_at = first.setdefault(text, i)
        if counted_at < view.opening.lines <= i:  # shown unchanged, so a count cannot be added
            first[text] = i
            times[i], counted_at = times.pop(counted_at, 0), i
        times[counted_at] = times.get(counted_at, 0) + 1
        if counted_at != i:
            marks[i] = REPEATED
    order = _log_order(view, marks, [*times])
    lines, plus = view.sample.lines, "" if view.sample.is_whole else "+"
    untimed = [line.lstrip(_TIME) if line.lstrip()[:1] in _BEFORE else line for line in lines]
    every, same = Counter(texts), Counter(untimed)

    def ending(at: int, times: int) -> str:
        if times <= 2 or not lines[at]:
            return ""
        if same[untimed[at]] >= times:
            return f" (×{times}{plus})"
        return f" ({view.wording['alike'].format(n=f'{times:,}{plus}')})"

    counted = [line + ending(at, times.get(at, 1)) for at, line in enumerate(lines)]
    untimed = [line + ending(at, every[texts[at]]) for at, line in enumerate(untimed)]
    counted_view = view._replace(sample=structs.replace(view.sample, lines=counted), code=untimed)
    return line_levels(counted_view, marks, marks, order=order)


def _log_order(view: View, marks: dict[int, float], kinds: list[int]) -> Order:
    """Return the first error of each kind and what was raised, then the last lines, then the first of each kind.

    After these come all other lines, the latest first: a summary uses the room it has.
    """
    lines, lowered = view.sample.lines, view.sample.text.lower()
    words = [word for word in _TROUBLES if word in lowered]
    errors = [
        i for i in kinds if marks.get(i, 0.0) >= ERROR or (words and any(map(lines[i].lower().__contains__, words)))
    ]
    raised = raised_lines(view)
    frames = [near for i in raised for near in (i - 1, i - 2) if near >= 0]
    return Order([*errors, *raised], [*frames, *last_lines(lines), *kinds, *range(len(lines) - 1, -1, -1)])
