"""Filling a room of so many tokens: every section has its share, and what one leaves the others may use."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from sightline.shorten.sample import encodable

Count = Callable[[str], int]
IN_VAIN = 12  # entries in a row that do not fit before no further one is tried
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
    room: int = 0  # in which they were written


Write = Callable[[int, str], Filled]  # so many tokens, below what is shown already


class Section(NamedTuple):
    """A heading, what writes so many tokens below it, and the share of the room that is its own.

    An ending has no share. It is written when what stands above it is known.
    """

    heading: str
    write: Write
    share: float = 0.0
    least: int = 0  # tokens it may have of a small room, up to the half


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
    return "- " + "\n  ".join(encodable(text).splitlines() or [""])


def listed(entries: Iterable[Entry], costs: Costs) -> Write:
    """What writes a list: the entries of most worth that fit, in their order."""
    ranked = sorted(entries, key=lambda entry: -entry.worth)

    def write(room: int, _: str) -> Filled:
        chosen: list[Entry] = []
        left, vain = room, 0
        for entry in ranked:
            cost = costs(bullet(entry.text))
            if cost <= left:
                chosen.append(entry)
                left -= cost
                vain = 0
            else:
                vain += 1
            if vain > IN_VAIN:
                break
        chosen.sort(key=lambda entry: entry.place)
        return Filled([bullet(entry.text) for entry in chosen], room - left, len(chosen) == len(ranked))

    return write


def fill_page(sections: Sequence[Section], endings: Sequence[Section], tokens: int, costs: Costs) -> str:
    """The sections within so many tokens, counted as a whole.

    They are written in turn, each in its share and what those before it left of theirs; then those that had more to say
    are written again in what is left. The share that remains is for the endings, as is all that nobody else uses.
    """
    limit = tokens
    for _ in range(TRIES):
        text = _laid_out(sections, endings, limit, costs)
        excess = costs.count(text) - tokens
        if excess <= 0:
            return text
        limit -= excess + 1
    return _cut(text, tokens, costs.count)


def _laid_out(sections: Sequence[Section], endings: Sequence[Section], limit: int, costs: Costs) -> str:
    filled = _by_share(sections, limit, costs)
    _share_out(sections, filled, int(limit * sum(section.share for section in sections)), costs)
    for ending in endings:
        shown = _text(sections, filled)
        sections = [*sections, ending]
        filled.append(_written(ending, limit - _used(filled), costs, shown))
        _share_out(sections, filled, limit, costs)
    return _text(sections, filled)


def _by_share(sections: Sequence[Section], limit: int, costs: Costs) -> list[Filled]:
    """Each section in its share and what those before it left of theirs."""
    filled: list[Filled] = []
    spare = 0
    for section in sections:
        spare += int(limit * section.share)
        filled.append(_written(section, max(spare, min(section.least, limit // 2)), costs))
        spare -= filled[-1].tokens
    return filled


def _share_out(sections: Sequence[Section], filled: list[Filled], limit: int, costs: Costs) -> None:
    """What is left to all that have a share and more to say, by their shares."""
    wanting = [i for i, part in enumerate(filled) if not part.whole and sections[i].share]
    left = limit - _used(filled)
    total = sum(sections[i].share for i in wanting)
    for i in wanting if left > 0 else ():
        room = filled[i].tokens + int(left * sections[i].share / total)
        if room > filled[i].room:
            filled[i] = _written(sections[i], room, costs)


def _used(filled: Sequence[Filled]) -> int:
    return sum(part.tokens for part in filled)


def _written(section: Section, room: int, costs: Costs, shown: str = "") -> Filled:
    """A section with its heading, or nothing where not even one line fits below it."""
    heading = costs(section.heading)
    if room <= heading:
        return Filled([], 0, False, room)
    filled = section.write(room - heading, shown)
    return filled._replace(tokens=filled.tokens + heading if filled.lines else 0, room=room)


def _text(sections: Sequence[Section], filled: Sequence[Filled]) -> str:
    return "\n".join(
        line
        for section, part in zip(sections, filled, strict=True)
        if part.lines
        for line in (section.heading, *part.lines)
    )


def _cut(text: str, tokens: int, count: Count) -> str:
    """Whole lines from the beginning that fit, without a heading that has nothing below it."""
    lines = text.split("\n")
    while lines and (lines[-1].startswith("## ") or count("\n".join(lines)) > tokens):
        del lines[-max(1, len(lines) // 16) :]
    return "\n".join(lines)
