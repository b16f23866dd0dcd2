"""Names and values that a later step may have to write down again, each under what it belongs to."""

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Any, NamedTuple

from msgspec import Struct

from sightline.shorten.digest.headings import word
from sightline.shorten.digest.outcomes import command_line
from sightline.shorten.digest.sections import Costs, Filled, bullet
from sightline.shorten.digest.steps import Run, Step, one_line
from sightline.shorten.identifiers import WEIGHTS, identifiers

# Of the values that recorded agents had written into a call, 28 % of the newest were written again after a cut, half of
# that after 24 items; of those they had only read, 2 %, half of that after 6.
WRITTEN, WRITTEN_AGE = 0.28, 24
SEEN, SEEN_AGE = 0.02, 6
OFTEN = 6  # times written, beyond which it is no likelier
LISTED = 0.31  # a value of less weight (a short number, a date) says nothing outside its line
PER_TEXT = 150  # values of one text that are looked at
REACH, SEEN_REACH = 3, 25  # a token of the page for so many items back calls and results are read: newer ones fill it
SMALLEST = 1000  # a smaller number is rather a count or a place than a setting
CHARS, SEPARATOR = 3.5, 1.0  # characters of a value that make a token, and the tokens it costs beside them
LABEL = 40  # characters of a label
SPARE = 1.5  # times the room is offered, as values may cost less than it seems
PER_NAME = 5  # tokens of a value with its part of a label, at first
TRIES, CLOSE, AIM = 6, 0.97, 0.99  # how the room is filled: each count corrects what a value seems to cost


class Name(Struct):
    """A value, in how many calls it was written, and where it was last."""

    text: str
    label: str
    place: int  # of the last call that held it, else of the last result
    written: int = 0

    @property
    def tokens(self) -> float:
        """About what it costs."""
        return len(self.text) / CHARS + SEPARATOR

    def worth(self, length: int) -> float:
        """How likely a later step writes it."""
        age = length - self.place
        if self.written:
            return sqrt(min(self.written, OFTEN)) * WRITTEN / (1 + age / WRITTEN_AGE)
        return min(1.5, WEIGHTS[self.text]) * SEEN / (1 + age / SEEN_AGE)


class Row(NamedTuple):
    """A label and its values, in an earlier digest."""

    label: str
    values: list[str]


class Names(Struct):
    """All values of a run, by their text."""

    found: dict[str, Name]

    def saw(self, text: str, label: str, place: int) -> None:
        """A text that was only read: where nothing newer is known of its values, they are from here."""
        for value in _values(text):
            known = self.found.get(value)
            if known is None:
                self.found[value] = Name(value, label, place)
            elif not known.written:
                known.place, known.label = place, label

    def wrote(self, value: str, label: str, place: int) -> None:
        """A value that the user or a call gave."""
        name = self.found.setdefault(value, Name(value, label, place))
        name.written += 1
        name.place, name.label = place, label


def names_of(run: Run, locale: str, tokens: int, earlier: Sequence[Row] = ()) -> Names:
    """All values of the run that may stand on a page of so many tokens, with their uses."""
    names = Names({})
    for i, row in enumerate(earlier):
        for j, value in enumerate(row.values):
            names.found[value] = Name(value, row.label, -1 - i - j, written=2)  # they stand by worth
    for spoken in run.users:
        for value in _values(spoken.text):
            names.wrote(value, word("user", locale), spoken.place)
    oldest, oldest_seen = run.length - tokens // REACH, run.length - tokens // SEEN_REACH
    for spoken in run.assistant:
        if spoken.place >= oldest_seen:
            names.saw(spoken.text, word("assistant", locale), spoken.place)
    for step in run.steps:
        if step.place >= oldest:
            _read_step(names, step, seen=step.place >= oldest_seen)
    return names


def _read_step(names: Names, step: Step, *, seen: bool) -> None:
    label = _label(step)
    if seen:
        names.saw(step.result, label, step.place)
    given = list(_leaves(step.call.input))
    texts = "\n".join(leaf for _, leaf in given if isinstance(leaf, str))
    for value in _values(texts):
        names.wrote(value, label, step.place)
    for key, number in dict.fromkeys((key, leaf) for key, leaf in given if isinstance(leaf, int)):
        names.wrote(str(number), f"{step.call.name} {key}", step.place)


def _values(text: str) -> list[str]:
    return [value for value in identifiers(text, PER_TEXT) if WEIGHTS[value] > LISTED]


def _leaves(given: Any, key: str = "") -> Iterator[tuple[str, str | int]]:
    """The texts and settings in the arguments of a call, with the argument's name."""
    if isinstance(given, dict):
        for name, value in given.items():
            yield from _leaves(value, str(name))
    elif isinstance(given, list):
        for value in given:
            yield from _leaves(value, key)
    elif isinstance(given, str) or (isinstance(given, int) and given >= SMALLEST):
        yield key, given


def _label(step: Step) -> str:
    """What the values of a step belong to: the file's name, else the beginning of the command or the question."""
    if step.touches:
        return step.touches[-1].path.rpartition("/")[2][:LABEL]
    line = command_line(step) or step.subject or step.call.name
    if "/" in line and " " not in line:
        line = line.rstrip("/").rpartition("/")[2]
    return one_line(line, LABEL).rstrip(":") or step.call.name


def name_lines(names: Names, shown: str, length: int, room: int, costs: Costs) -> Filled:
    """The values of most worth per token that the rest of the page does not show, a line for each label."""
    ranked = sorted(names.found.values(), key=lambda name: (-name.worth(length) / name.tokens, name.text))
    fresh = _fresh(ranked, shown, SPARE * room)
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


def _fresh(ranked: Sequence[Name], shown: str, room: float) -> list[Name]:
    """As many as may fill the room of those that are not shown."""
    fresh: list[Name] = []
    for name in ranked:
        if room <= 0:
            break
        if name.text not in shown:
            fresh.append(name)
            room -= name.tokens
    return fresh


def _rows(chosen: Sequence[Name]) -> list[str]:
    rows: dict[str, list[str]] = {}
    for name in chosen:
        rows.setdefault(name.label, []).append(name.text)
    return [bullet(f"{label}: {', '.join(_distinct(values))}") for label, values in rows.items()]


def _distinct(values: list[str]) -> list[str]:
    """Without those that another one shows."""
    text = " ".join(values)
    return [value for value in values if text.count(value) == 1]


def read_names(texts: Sequence[str]) -> list[Row]:
    """The rows of an earlier digest."""
    rows = []
    for text in texts:
        label, colon, values = text.rpartition(": ")
        if colon:
            rows.append(Row(label, [value for value in values.split(", ") if value]))
    return rows
