"""Names and values that a later step may have to write again, each under what it belongs to."""

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Any

from msgspec import Struct

from sightline.shorten.digest.headings import word
from sightline.shorten.digest.outcomes import command_line
from sightline.shorten.digest.sections import Costs, SectionLines, bullet
from sightline.shorten.digest.steps import Run, Step, one_line
from sightline.shorten.identifiers import WEIGHTS, identifiers

# Of the values that recorded agents had written into a call, 28 % of the newest were written again after a cut, half of
# that after 24 items; of those they had only read, 2 %, half of that after 6.
WRITTEN, WRITTEN_AGE = 0.28, 24
SEEN, SEEN_AGE = 0.02, 6
OFTEN = 6  # times written, beyond which it is no likelier
LISTED = 0.31  # a value of less weight (a short number, a date) says nothing outside its line
PER_TEXT = 150  # values of one text that are read
REACH, SEEN_REACH = 3, 25  # a page of n tokens takes names from the last n/3 items of calls, n/25 of results
SMALLEST = 1000  # a smaller number is probably a count or a position, not a setting
CHARS, SEPARATOR = 3.5, 1.0  # characters of a value to a token, and the tokens that it costs in addition
LABEL = 40  # characters of a label
SPARE = 1.5  # times the budget is offered, because values may cost less than estimated
PER_NAME = 5  # tokens of a value with its part of a label, as a first estimate
TRIES, CLOSE, AIM = 6, 0.97, 0.99  # how the budget is filled: each count corrects the estimated cost of a value


class Name(Struct):
    """A value, in how many calls it was written, and where it occurred last."""

    text: str
    label: str
    place: int  # of the last call that wrote it, else of the last result
    written: int = 0

    @property
    def tokens(self) -> float:
        return len(self.text) / CHARS + SEPARATOR

    def worth(self, length: int) -> float:
        """Return how likely a later step writes it."""
        age = length - self.place
        if self.written:
            return sqrt(min(self.written, OFTEN)) * WRITTEN / (1 + age / WRITTEN_AGE)
        return min(1.5, WEIGHTS[self.text]) * SEEN / (1 + age / SEEN_AGE)


NameRow = tuple[str, list[str]]  # a label and its values in a previous digest


Names = dict[str, Name]  # all values of a run, by their text


def collect_names(run: Run, locale: str, tokens: int, previous: Sequence[NameRow] = ()) -> Names:
    """Return the values of the run that may fit a page of this many tokens, with their uses."""
    names: Names = {}
    for i, (label, values) in enumerate(previous):
        for j, value in enumerate(values):
            names[value] = Name(value, label, -1 - i - j, written=2)  # they are in the order of their worth
    for utterance in run.users:
        _add(names, _values(utterance.text), word("user", locale), utterance.place, written=True)
    oldest, oldest_seen = run.length - tokens // REACH, run.length - tokens // SEEN_REACH
    for speaker, said in (("assistant", run.assistant), ("program", run.programs)):
        for utterance in said:
            if utterance.place >= oldest_seen:
                _add(names, _values(utterance.text), word(speaker, locale), utterance.place, written=False)
    for step in run.steps:
        if step.place >= oldest:
            _add_step(names, step, seen=step.place >= oldest_seen)
    return names


def _add_step(names: Names, step: Step, *, seen: bool) -> None:
    label = _label(step)
    if seen:
        _add(names, _values(step.result), label, step.place, written=False)
    leaves = list(_leaves(step.call.input))
    texts = "\n".join(leaf for _, leaf in leaves if isinstance(leaf, str))
    _add(names, _values(texts), label, step.place, written=True)
    for key, number in dict.fromkeys((key, leaf) for key, leaf in leaves if isinstance(leaf, int)):
        _add(names, [str(number)], f"{step.call.name} {key}", step.place, written=True)


def _add(names: Names, values: list[str], label: str, place: int, *, written: bool) -> None:
    """Add values that the user or a call wrote, or that were only read. Those that were written keep their place."""
    for value in values:
        name = names.setdefault(value, Name(value, label, place))
        name.written += written
        if written or not name.written:
            name.place, name.label = place, label


def _values(text: str) -> list[str]:
    return [value for value in identifiers(text, PER_TEXT) if WEIGHTS[value] > LISTED]


def _leaves(arguments: Any, key: str = "") -> Iterator[tuple[str, str | int]]:
    """Yield the texts and large numbers in the arguments of a call, with the argument's name."""
    if isinstance(arguments, dict):
        for name, value in arguments.items():
            yield from _leaves(value, str(name))
    elif isinstance(arguments, list):
        for value in arguments:
            yield from _leaves(value, key)
    elif isinstance(arguments, str) or (isinstance(arguments, int) and arguments >= SMALLEST):
        yield key, arguments


def _label(step: Step) -> str:
    """Return what the values of a step belong to: the file's name, or the beginning of the command or the query."""
    if step.touches:
        return step.touches[-1].path.rpartition("/")[2][:LABEL]
    line = command_line(step) or step.subject or step.call.name
    if "/" in line and " " not in line:
        line = line.rstrip("/").rpartition("/")[2]
    return one_line(line, LABEL).rstrip(":") or step.call.name


def name_lines(names: Names, page: str, length: int, budget: int, costs: Costs) -> SectionLines:
    """Return the values with the most worth per token that the page does not show yet, a line for each label."""
    ranked = sorted(names.values(), key=lambda name: (-name.worth(length) / name.tokens, name.text))
    unshown = _unshown(ranked, page, SPARE * budget)
    best = SectionLines([], 0, not unshown)
    low, high = 0, len(unshown)
    chosen = min(high, budget // PER_NAME)
    for _ in range(TRIES):
        if low >= high:
            break
        chosen = min(high, max(low + 1, chosen))
        lines = _name_rows(unshown[:chosen])
        used = sum(map(costs, lines))
        if used <= budget:
            low, best = chosen, SectionLines(lines, used, chosen == len(unshown))
        else:
            high = chosen - 1
        if CLOSE * budget < used <= budget:
            break
        chosen = int(chosen * budget * AIM / used)
    return best


def _unshown(ranked: Sequence[Name], page: str, budget: float) -> list[Name]:
    """Return as many of the values that are not shown as may fill the budget."""
    unshown: list[Name] = []
    for name in ranked:
        if budget <= 0:
            break
        if name.text not in page:
            unshown.append(name)
            budget -= name.tokens
    return unshown


def _name_rows(chosen: Sequence[Name]) -> list[str]:
    rows: dict[str, list[str]] = {}
    for name in chosen:
        rows.setdefault(name.label, []).append(name.text)
    return [bullet(f"{label}: {', '.join(_distinct(values))}") for label, values in rows.items()]


def _distinct(values: list[str]) -> list[str]:
    """Return the values that no other value contains."""
    text = " ".join(values)
    return [value for value in values if text.count(value) == 1]


def read_names(texts: Sequence[str]) -> list[NameRow]:
    """Read the rows of a previous digest."""
    rows = (text.rpartition(": ") for text in texts)
    return [(label, [*filter(None, values.split(", "))]) for label, colon, values in rows if colon]
