"""Fills a page of a given number of tokens. Every section has its share, and others may use what one leaves."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from sightline.shorten.sample import encodable

MOST_MISSES = 12  # entries in a row that do not fit before no further one is tried
TRIES = 6  # corrections, if lines together cost more than one by one


class Entry(NamedTuple):
    """Something that a section may say."""

    place: float  # entries are written in this order
    text: str
    worth: float  # entries with the most worth are chosen first


class SectionLines(NamedTuple):
    """The lines of a section, their cost, and whether they are everything that it can say."""

    lines: list[str]
    tokens: int
    complete: bool
    budget: int = 0  # tokens that the section had


Write = Callable[[int, str], SectionLines]  # takes a token budget and the text that is already shown


class Section(NamedTuple):
    """A heading, the function that writes the lines below it, and its share of the token budget.

    An ending has no share. It is written when everything above it is known.
    """

    heading: str
    write: Write
    share: float = 0.0
    least: int = 0  # tokens that it may have even if its share is smaller, up to half of the page


class Costs(Struct):
    """The tokens of lines, each counted once."""

    count: Callable[[str], int]
    known: dict[str, int] = {}

    def __call__(self, line: str) -> int:
        if line not in self.known:
            self.known[line] = max(1, self.count(f"{line}\n"))
        return self.known[line]


def bullet(text: str) -> str:
    """Return an entry as it is written. Its further lines are indented, so that none of them can be a heading."""
    return "- " + "\n  ".join(encodable(text).splitlines() or [""])


def list_writer(entries: Iterable[Entry], costs: Costs) -> Write:
    """Return a function that writes the entries with the most worth that fit, in their order."""
    ranked = sorted(entries, key=lambda entry: -entry.worth)

    def write(budget: int, _: str) -> SectionLines:
        chosen: list[Entry] = []
        left, misses = budget, 0
        for entry in ranked:
            cost = costs(bullet(entry.text))
            if cost <= left:
                chosen.append(entry)
                left -= cost
                misses = 0
            else:
                misses += 1
            if misses > MOST_MISSES:
                break
        chosen.sort(key=lambda entry: entry.place)
        return SectionLines([bullet(entry.text) for entry in chosen], budget - left, len(chosen) == len(ranked))

    return write


def write_page(sections: Sequence[Section], endings: Sequence[Section], tokens: int, costs: Costs) -> str:
    """Return the sections within this many tokens, counted as a whole.

    They are written in turn, each in its share and what those before it left. Then incomplete sections are written
    again in what is left. The remaining share is for the endings, as is everything that no other section uses.
    """
    limit = tokens
    for _ in range(TRIES):
        text = _lay_out(sections, endings, limit, costs)
        excess = costs.count(text) - tokens
        if excess <= 0:
            return text
        limit -= excess + 1
    lines = text.split("\n")
    # Only the first lines that fit, without a heading that has nothing below it.
    while lines and (lines[-1].startswith("## ") or costs.count("\n".join(lines)) > tokens):
        del lines[-max(1, len(lines) // 16) :]
    return "\n".join(lines)


def _lay_out(sections: Sequence[Section], endings: Sequence[Section], limit: int, costs: Costs) -> str:
    written: list[SectionLines] = []
    spare = 0
    for section in sections:  # each in its share and what those before it left of theirs
        spare += int(limit * section.share)
        written.append(_write(section, max(spare, min(section.least, limit // 2)), costs))
        spare -= written[-1].tokens
    _share_rest(sections, written, int(limit * sum(section.share for section in sections)), costs)
    for ending in endings:
        page = _join(sections, written)
        sections = [*sections, ending]
        written.append(_write(ending, limit - sum(part.tokens for part in written), costs, page))
        _share_rest(sections, written, limit, costs)
    return _join(sections, written)


def _share_rest(sections: Sequence[Section], written: list[SectionLines], limit: int, costs: Costs) -> None:
    """Divide what is left among the incomplete sections, by their shares."""
    incomplete = [i for i, part in enumerate(written) if not part.complete and sections[i].share]
    left = limit - sum(part.tokens for part in written)
    total = sum(sections[i].share for i in incomplete)
    for i in incomplete if left > 0 else ():
        budget = written[i].tokens + int(left * sections[i].share / total)
        if budget > written[i].budget:
            written[i] = _write(sections[i], budget, costs)


def _write(section: Section, budget: int, costs: Costs, page: str = "") -> SectionLines:
    """Write a section with its heading, or nothing if not even one line fits below it."""
    heading = costs(section.heading)
    if budget <= heading:
        return SectionLines([], 0, False, budget)
    written = section.write(budget - heading, page)
    return written._replace(tokens=written.tokens + heading if written.lines else 0, budget=budget)


def _join(sections: Sequence[Section], written: Sequence[SectionLines]) -> str:
    return "\n".join(
        line
        for section, part in zip(sections, written, strict=True)
        if part.lines
        for line in (section.heading, *part.lines)
    )
