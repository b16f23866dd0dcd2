"""Filling a room of so many tokens: every section has its share, and what one leaves the others may use."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from sightline.renditions.sample import legal

Count = Callable[[str], int]
IN_VAIN = 12  # entries in a row that do not fit before no further one is tried
ROUNDS = 2  # in which what is left is shared out: some need less of it than their part
TRIES = 6  # corrections, where lines together cost more than one by one


class Entry(NamedTuple):
    """Something a section may say."""

    place: float  # entries stand in this order
    text: str
    worth: float  # and are chosen in this one, most first


class Filled(NamedTuple):
    """Lines of a section, what they cost, and whether they are all it has to say."""

    lines: list[str]
    tokens: int
    whole: bool


NOTHING = Filled([], 0, True)


class Section(NamedTuple):
    """A heading, the share of the room that is its own, and what writes so many tokens of it."""

    heading: str
    share: float
    write: Callable[[int], Filled]


class Costs(Struct):
    """Tokens of lines, each counted once."""

    count: Count
    known: dict[str, int] = {}

    def __call__(self, line: str) -> int:
        found = self.known.get(line)
        if found is None:
            found = self.known[line] = max(1, self.count(f"{line}\n"))
        return found


def bullet(text: str) -> str:
    """An entry as it stands on the page. Its further lines are indented, so that none of them can be a heading."""
    return "- " + "\n  ".join(legal(text).splitlines() or [""])


def taken(entries: Iterable[Entry], room: int, costs: Costs) -> Filled:
    """The entries of most worth that fit, in their order."""
    chosen: list[Entry] = []
    left, vain, whole = room, 0, True
    for entry in sorted(entries, key=lambda entry: -entry.worth):
        cost = costs(bullet(entry.text))
        if cost > left:
            whole = False
            vain += 1
            if vain > IN_VAIN:
                break
            continue
        vain = 0
        left -= cost
        chosen.append(entry)
    chosen.sort(key=lambda entry: entry.place)
    return Filled([bullet(entry.text) for entry in chosen], room - left, whole)


def page(sections: Sequence[Section], last: Callable[[str], Section], tokens: int, costs: Costs) -> str:
    """The sections within so many tokens, counted as a whole.

    They are written in turn, each in its share and what those before it left of theirs; then those that had more to say
    are written again in what is left. The `last` one has the share that remains, and is written when the text of all
    others is known.
    """
    limit = tokens
    for _ in range(TRIES):
        text = _laid_out(sections, last, limit, costs)
        excess = costs.count(text) - tokens
        if excess <= 0:
            return text
        limit -= excess + 1
    return _cut(text, tokens, costs.count)


def _laid_out(sections: Sequence[Section], last: Callable[[str], Section], limit: int, costs: Costs) -> str:
    reserved = int(limit * max(0.0, 1.0 - sum(section.share for section in sections)))
    filled = _by_share(sections, limit, costs)
    for _ in range(ROUNDS):
        _share_out(sections, filled, limit - reserved, costs)
    tail = last(_text(sections, filled))
    ending = _written(tail, limit - _used(filled), costs)
    if ending.whole and not all(part.whole for part in filled):
        _give(sections, filled, limit - ending.tokens, costs)
        tail = last(_text(sections, filled))
        ending = _written(tail, limit - _used(filled), costs)
    return _text([*sections, tail], [*filled, ending])


def _by_share(sections: Sequence[Section], limit: int, costs: Costs) -> list[Filled]:
    """Each section in its share and what those before it left of theirs."""
    filled: list[Filled] = []
    spare = 0
    for section in sections:
        own = int(limit * section.share)
        filled.append(_written(section, own + spare, costs))
        spare += own - filled[-1].tokens
    return filled


def _share_out(sections: Sequence[Section], filled: list[Filled], limit: int, costs: Costs) -> None:
    """What is left to all that have more to say, by their shares."""
    wanting = [i for i, part in enumerate(filled) if not part.whole]
    left = limit - _used(filled)
    total = sum(sections[i].share for i in wanting)
    for i in wanting if left > 0 else ():
        more = int(left * sections[i].share / total)
        filled[i] = _written(sections[i], filled[i].tokens + more, costs)


def _give(sections: Sequence[Section], filled: list[Filled], limit: int, costs: Costs) -> None:
    """What is left to the first that have more to say."""
    for i, part in enumerate(filled):
        left = limit - _used(filled)
        if not part.whole and left > 0:
            filled[i] = _written(sections[i], part.tokens + left, costs)


def _used(filled: Sequence[Filled]) -> int:
    return sum(part.tokens for part in filled)


def _written(section: Section, room: int, costs: Costs) -> Filled:
    """A section with its heading, or nothing where not even one line fits below it."""
    heading = costs(section.heading)
    if room <= heading:
        return Filled([], 0, False)
    filled = section.write(room - heading)
    return filled._replace(tokens=filled.tokens + heading) if filled.lines else filled


def _text(sections: Sequence[Section], filled: Sequence[Filled]) -> str:
    return "\n".join(
        line
        for section, part in zip(sections, filled, strict=True)
        if part.lines
        for line in (section.heading, *part.lines)
    )


def _cut(text: str, tokens: int, count: Count) -> str:
    """As many whole lines from the beginning as fit, without a heading that has nothing below it."""
    lines = text.split("\n")
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if count("\n".join(lines[:middle])) <= tokens:
            low = middle
        else:
            high = middle - 1
    while low and (lines[low - 1].startswith("## ") or count("\n".join(lines[:low])) > tokens):
        low -= 1
    return "\n".join(lines[:low])
