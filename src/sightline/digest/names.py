"""Names and values that a later step may have to write down again, each under what it belongs to."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from sightline.digest.headings import word
from sightline.digest.outcomes import command_line
from sightline.digest.page import Costs, Filled, bullet
from sightline.digest.steps import Run, Step, one_line
from sightline.digest.trail import touches_of
from sightline.renditions import identifiers
from sightline.renditions.values import weight

# Of the values that recorded agents had written into a call, so many were written again after a cut: 28 % of the
# newest, half of that after 24 items; of those they had only read, 2 %, half of that after 6.
WRITTEN, WRITTEN_AGE = 0.28, 24
SEEN, SEEN_AGE = 0.02, 6
OFTEN = (0.75, 1.0, 1.1, 1.3, 1.5, 1.8)  # by the number of calls
LISTED = 0.31  # a value of less weight (a short number, a date) says nothing outside its line
PER_RESULT = 300  # values of one result that are looked at
FORGOTTEN = 240  # items after which a value that was only read is worth nothing
LONG = 5  # digits from which a number is rather an id than a place
VARYING = 3  # different numbers of one argument, beyond which they are places in a text, not settings
PER_TOKEN = 3.2  # characters of a name that make a token
SEPARATOR = 0.8  # tokens a value costs beside its characters
LABEL = 40  # characters of a label
MOST = 3000  # values looked at; more never fit
PER_NAME = 5  # tokens of a value with its part of a label, at first
TRIES, CLOSE, AIM = 6, 0.97, 0.99  # how the room is filled: each count corrects what a value seems to cost

_SCALAR = re.compile(r"\d{3,}")
_ESCAPE = re.compile(r"u[0-9a-f]{4}")  # what is left of `\u2014`


class Name(Struct):
    """A value, how often calls and results held it, and where it was last."""

    text: str
    label: str
    written: int = 0
    seen: int = 0
    place: int = 0  # of the last call that held it, else of the last result

    @property
    def tokens(self) -> float:
        """About what it costs."""
        return len(self.text) / PER_TOKEN + SEPARATOR

    def worth(self, length: int) -> float:
        """How likely a later step writes it."""
        age = max(0, length - self.place)
        if self.written:
            return OFTEN[min(self.written, len(OFTEN)) - 1] * WRITTEN / (1 + age / WRITTEN_AGE)
        return min(1.5, weight(self.text)) * SEEN / (1 + age / SEEN_AGE)


class Row(NamedTuple):
    """A label and its values, in an earlier digest."""

    label: str
    values: list[str]


def names(run: Run, locale: str, earlier: Sequence[Row] = ()) -> dict[str, Name]:
    """All values of the run with their uses."""
    found: dict[str, Name] = {}
    for i, row in enumerate(earlier):
        for j, value in enumerate(row.values):
            found[value] = Name(value, row.label, written=2, place=-1 - i - j)  # they stand by worth
    for spoken in run.users:
        for value in filter(_says_something, identifiers(spoken.text, PER_RESULT)):
            _write(found, value, word("user", locale), spoken.place)
    for spoken in run.assistant:
        if run.length - spoken.place <= FORGOTTEN:
            for value in identifiers(spoken.text, PER_RESULT):
                _see(found, value, word("assistant", locale), spoken.place)
    for step in run.steps:
        label = _label(step)
        if run.length - step.place <= FORGOTTEN:
            for value in identifiers(step.result, PER_RESULT):
                _see(found, value, label, step.place)
        for key, value in dict.fromkeys(_given(step.call.input)):
            _write(found, value, f"{step.call.name} {key}" if value.isdigit() else label, step.place)
    _drop_places(found)
    return found


def _drop_places(found: dict[str, Name]) -> None:
    """Forgets the numbers of arguments that are another number each time, and short ones given once."""
    numbers = [name for name in found.values() if name.text.isdigit()]
    different = Counter(name.label for name in numbers)
    for name in numbers:
        if different[name.label] > VARYING or (name.written < 2 and len(name.text) < LONG):
            del found[name.text]


def _says_something(value: str) -> bool:
    return weight(value) > LISTED and not _ESCAPE.fullmatch(value)


def _see(found: dict[str, Name], value: str, label: str, place: int) -> None:
    name = found.get(value)
    if name is None:
        if _says_something(value):
            found[value] = Name(value, label, seen=1, place=place)
        return
    name.seen += 1
    if not name.written:
        name.place, name.label = place, label


def _write(found: dict[str, Name], value: str, label: str, place: int) -> None:
    name = found.setdefault(value, Name(value, label))
    name.written += 1
    name.place, name.label = place, label


def _given(given: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The different values in the arguments of a call, with the argument's name."""
    members: Iterable[tuple[Any, Any]]
    if isinstance(given, dict):
        members = given.items()
    elif isinstance(given, list):
        members = ((key, value) for value in given)
    elif isinstance(given, str):
        yield from ((key, value) for value in identifiers(given, PER_RESULT) if _says_something(value))
        return
    else:
        if isinstance(given, int) and not isinstance(given, bool) and _SCALAR.fullmatch(str(given)):
            yield key, str(given)
        return
    for name, value in members:
        yield from _given(value, str(name))


def _label(step: Step) -> str:
    """What the values of a step belong to: the file's name, else the beginning of the command or the question."""
    touched = touches_of(step)
    if touched:
        return touched[-1].path.rpartition("/")[2][:LABEL]
    line = command_line(step) or step.subject or step.call.name
    if "/" in line and " " not in line:
        line = line.rstrip("/").rpartition("/")[2]
    return one_line(line, LABEL).rstrip(":") or step.call.name


def name_lines(found: dict[str, Name], shown: str, length: int, room: int, costs: Costs) -> Filled:
    """The values of most worth per token that the rest of the page does not show, a line for each label."""
    ranked = sorted(found.values(), key=lambda name: (-name.worth(length) / name.tokens, name.text))
    fresh = [name for name in ranked[:MOST] if name.text not in shown]
    best = Filled([], 0, not fresh)
    low, high = 0, len(fresh)
    taken = min(high, room // PER_NAME)
    for _ in range(TRIES):
        if low >= high:
            break
        taken = min(high, max(low + 1, taken))
        lines = _rows(fresh[:taken])
        used = sum(map(costs, lines))
        if used <= room:
            low, best = taken, Filled(lines, used, taken == len(fresh))
        else:
            high = taken - 1
        if CLOSE * room < used <= room:
            break
        taken = int(taken * room * AIM / used)
    return best


def _rows(chosen: Sequence[Name]) -> list[str]:
    rows: dict[str, list[str]] = {}
    for name in chosen:
        rows.setdefault(name.label, []).append(name.text)
    return [bullet(f"{label}: {', '.join(_distinct(values))}") for label, values in rows.items()]


def _distinct(values: list[str]) -> list[str]:
    """Without those that another one shows."""
    text = " ".join(values)
    return [value for value in values if text.count(value) == 1 or values.count(value) > 1]


def read_names(texts: Sequence[str]) -> list[Row]:
    """The rows of an earlier digest."""
    rows = []
    for text in texts:
        label, colon, values = text.rpartition(": ")
        if colon:
            rows.append(Row(label, [value for value in values.split(", ") if value]))
    return rows
