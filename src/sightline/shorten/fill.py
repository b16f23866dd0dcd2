"""Fills a level of detail: chooses pieces of a text, those with the most worth per token first, up to a token limit."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, groupby
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec import Struct

from sightline.shorten.identifiers import NO_DIGITS
from sightline.shorten.memo import Memo

Count = Callable[[str], int]

TRIES = 6  # exact counts made to fill a level at most; as a rule the first is close enough
AIM = 0.95  # of what should just fit, because a little too much costs another count
LESS = 0.85  # of an aim that gives what is known not to fit
CLOSE, CLOSER = 0.93, 0.9  # of a limit and of a small one: enough, because more would cost another count
SMALL = 200  # tokens of a small limit
OFFERED = 1.4  # times the limit, by estimate, is offered, so that there is enough where the estimate is too high
LABEL_CHARS = 3.0  # characters to a token in an item's label: much of it is numbers and signs
CHARS = 3.6  # characters to a token, where nothing better is known
VALUE = 0.3  # tokens that a value costs in addition to its characters
ALIKE = 4  # values that differ only in digits; more come last
GROUPED = 200  # pieces that are ordered by their labels: as many as fit into the largest gist
LABEL = 1.5  # tokens that a label costs in addition to its characters


class Piece(Struct, frozen=True, gc=False):
    """Something that can be chosen: a line, a part of one, or a value under its label."""

    place: int  # in the original
    text: str
    worth: float
    values: Sequence[str] = ()  # that it shows
    label: str = ""  # written once before the pieces that have it; the first of them pays for it


class CountedText(NamedTuple):
    """A text and its tokens."""

    text: str
    tokens: int


EMPTY = CountedText("", 0)


class TokenLimit(NamedTuple):
    """How many tokens may be used, and how many characters of this text make one."""

    tokens: float
    chars_per_token: float


class Offer(NamedTuple):
    """Lines and values in the order in which they should be chosen, each with the estimated cost of all up to it."""

    lines: list[Any]
    line_costs: list[float]
    values: list[Any]
    value_costs: list[float]
    first: int = 0  # lines that come before any value,
    first_share: float = 1.0  # up to this share of the tokens

    def fitting(self, tokens: float, share: float) -> tuple[int, int]:
        """Return how many should fit: the first lines, lines in their share, values, then lines in what is left."""
        lines = min(len(self.lines), bisect_right(self.line_costs, tokens * share) + 1) if share else 0
        lines = max(lines, min(self.first, bisect_right(self.line_costs, tokens * self.first_share)))
        values = bisect_right(self.value_costs, tokens - (self.line_costs[lines - 1] if lines else 0.0))
        if values == len(self.values):
            lines = max(lines, bisect_right(self.line_costs, tokens - (self.value_costs[-1] if values else 0.0)))
        return lines, values


by_place = attrgetter("place")  # the order of the original


def texts_by_label(pieces: Iterable[Piece]) -> dict[str, list[str]]:
    """Return the texts of the pieces under each label, in the order of the original."""
    groups: dict[str, list[str]] = {}
    for piece in sorted(pieces, key=by_place):
        groups.setdefault(piece.label, []).append(piece.text)
    return groups


def rows_by_label(pieces: Iterable[Piece], separator: str) -> list[str]:
    """Return a row for each label and the texts of its pieces, in the order of the original; labels alone share one."""
    texts = {label: separator.join(filter(None, group)) for label, group in texts_by_label(pieces).items()}
    rows = []
    for has_texts, group in groupby(texts.items(), key=lambda row: bool(row[1])):
        labelled = [": ".join(filter(None, row)) for row in group]
        rows += labelled if has_texts else [separator.join(labelled)]
    return rows


def rank(pieces: Sequence[Piece], extra_tokens: float = VALUE) -> list[Piece]:
    """Return the pieces that have any worth, those with the most worth per token first."""
    density = [piece.worth / (len(piece.text) + extra_tokens * CHARS) for piece in pieces]
    some = [i for i, worth in enumerate(density) if worth > 0]
    return [pieces[i] for i in sorted(some, key=density.__getitem__, reverse=True)]


def rank_by_label(pieces: Sequence[Piece], extra_tokens: float = VALUE) -> list[Piece]:
    """Rank the best pieces again, now that the first piece of a label pays for the label.

    The best pieces of a label move back to where their common worth per token, label included, puts them.
    """
    extra_chars, label_chars = extra_tokens * CHARS, LABEL * CHARS
    pieces = pieces[:GROUPED]
    worths: dict[str, float] = {}
    costs: dict[str, float] = {}
    density: list[float] = []
    for piece in pieces:
        label, worth, cost = piece.label, piece.worth, len(piece.text) + extra_chars
        density.append(worth / cost)
        if label not in costs:
            worths[label], costs[label] = worth, cost + len(label) + label_chars
        elif worth * costs[label] > worths[label] * cost:
            worths[label] += worth
            costs[label] += cost
    together = {label: worth / costs[label] for label, worth in worths.items() if label}
    for i, piece in enumerate(pieces):
        if piece.label and together[piece.label] < density[i]:
            density[i] = together[piece.label]
    return [pieces[i] for i in sorted(range(len(pieces)), key=density.__getitem__, reverse=True)]


def _visible_names(value: str) -> tuple[str, ...]:
    """Return the names that a reader sees in a value: `app.models.User` shows `User`."""
    return (value, *value.replace("/", ".").split("."), value.rsplit("/", 1)[-1])


_names_in = Memo(_visible_names).__getitem__
_letters_of = Memo(lambda value: value.translate(NO_DIGITS)).__getitem__


class Excerpt(NamedTuple):
    """A level of whole lines, given by their places, and between them the values of the lines that are left out."""

    order: list[int]  # of the lines, most worth per token first
    lines: Sequence[str]
    values: list[list[str]]  # of each line
    names: list[str]  # every value, most worth per token first
    share: float
    extra_tokens: float  # that a line costs in addition to its text: its end and half a gap
    render: Callable[[str, list[int], list[str]], str]  # from the item's label, chosen lines and chosen values
    shown: Iterable[str] = ()  # values that are visible whatever is chosen
    fixed: int = 0  # characters that are shown in addition to the item's label, whatever is chosen
    first: int = 0  # lines at the beginning of the order that come before any value
    bias: float = 1.0  # real tokens of this layout for each estimated one

    def offer(self, limit: TokenLimit) -> Offer:
        """Return all lines, and the values that the first lines and those in their share do not show."""
        per, lines, extra_tokens = limit.chars_per_token, self.lines, self.extra_tokens
        costs = [*accumulate([len(lines[i]) / per + extra_tokens for i in self.order])]
        certain = max(
            bisect_right(costs, limit.tokens * self.share) + 1, min(self.first, bisect_right(costs, limit.tokens))
        )
        share = self.order[:certain]
        visible = {*self.shown, *chain.from_iterable([self.values[i] for i in share])}
        visible.update(*[_names_in(value) for value in visible if "." in value or "/" in value])
        names = [name for name in self.names if name not in visible]
        return Offer(self.order, costs, names, [*accumulate([len(name) / per + VALUE for name in names])], self.first)


class Pieces(NamedTuple):
    """A level of pieces under their labels. Lines and values both have the most worth per token first."""

    lines: list[Piece]
    values: list[Piece]
    share: float
    render: Callable[[str, list[Piece], list[Piece]], str]
    shown: Iterable[str] = ()  # values that are visible whatever is chosen
    fixed: int = 0
    first: int = 0  # lines that come before any value,
    first_share: float = 1.0  # up to this share of the limit
    bias: float = 1.0

    def offer(self, limit: TokenLimit) -> Offer:
        """Return the first lines, lines in their share, values that show something new, then more lines.

        Together these have 1.4 times the limit.
        """
        per, left = limit.chars_per_token, limit.tokens * OFFERED
        visible = set[str]().union(*map(_names_in, self.shown))
        lines, line_costs = _select(self.lines[: self.first], limit.tokens * self.first_share, per, 1.0)
        if len(lines) == self.first:
            some, costs = _select(self.lines[self.first :], limit.tokens * self.share - sum(line_costs), per, 1.0)
            lines, line_costs = lines + some, line_costs + costs
        visible.update(*map(_names_in, chain.from_iterable([piece.values for piece in lines])))
        left -= sum(line_costs)
        values, value_costs = _select(_with_new_values(self.values, visible), left, per, VALUE)
        left -= sum(value_costs)
        more, more_costs = _select(self.lines[len(lines) :], left, per, 1.0)
        costs = [*accumulate(line_costs + more_costs)]
        return Offer(lines + more, costs, values, [*accumulate(value_costs)], self.first, self.first_share)


def _with_new_values(pieces: Iterable[Piece], visible: set[str]) -> Iterator[Piece]:
    """Yield the pieces that show something that neither `shown` nor a piece before them shows.

    Those that differ only in digits from several before them come last.
    """
    met: dict[tuple[str, str], int] = {}
    late = []
    for piece in pieces:
        if piece.values and visible.issuperset(piece.values):
            continue
        trait = piece.label, _letters_of(piece.text)
        met[trait] = times = met.get(trait, 0) + 1
        if times > ALIKE:
            late.append(piece)
            continue
        visible.update(*map(_names_in, piece.values))
        yield piece
    yield from late


def _select(
    offered: Iterable[Piece], tokens: float, chars_per_token: float, extra_tokens: float
) -> tuple[list[Piece], list[float]]:
    """Return as many pieces as fill the tokens, and their estimated costs."""
    pieces: list[Piece] = []
    costs: list[float] = []
    labels = {""}
    for piece in offered if tokens > 0 else ():
        cost = len(piece.text) / chars_per_token + extra_tokens
        if piece.label not in labels:
            labels.add(piece.label)
            cost += len(piece.label) / chars_per_token + LABEL
        pieces.append(piece)
        costs.append(cost)
        tokens -= cost
        if tokens <= 0:
            break
    return pieces, costs


# What one level of detail is made of: lines up to a share of the limit, then values in what is left of it.
Level = Excerpt | Pieces


def fill(label: str, level: Level, count: Count, limit: TokenLimit) -> CountedText:
    """Return the label and as many of the best pieces as fit the limit; an empty text if the label does not fit.

    Few counts are made, because each one corrects the estimated cost of the pieces.
    """
    tokens, per = limit.tokens, limit.chars_per_token / level.bias
    free = tokens - len(label) / min(LABEL_CHARS, per) - level.fixed / limit.chars_per_token
    offer = level.offer(TokenLimit(free, per))

    def render(chosen: tuple[int, int]) -> CountedText:
        text = level.render(label, offer.lines[: chosen[0]], offer.values[: chosen[1]])
        return CountedText(text, count(text))

    best = EMPTY
    tried: set[tuple[int, int]] = set()
    low, aim, high = 0.0, max(0.0, free * AIM), 2 * OFFERED * max(1.0, free)
    close = tokens * (CLOSE if tokens > SMALL else CLOSER)
    while len(tried) < TRIES:
        chosen = offer.fitting(aim, level.share)
        if chosen in tried:
            if best is not EMPTY or aim < 1.0:
                break
            high, aim = aim, aim * LESS  # the same choice again, which is too large
            continue
        tried.add(chosen)
        filled = render(chosen)
        if filled.tokens <= tokens:
            best, low = filled, aim
            if filled.tokens >= close:
                break
        else:
            high = aim
        aim *= free / max(1.0, filled.tokens - tokens + free) * AIM
        if not low < aim < high:
            aim = (low + high) / 2
    if best is EMPTY:
        few = bisect_right(offer.value_costs, free / 2)
        attempts = map(render, ((1, few), (1, 0), (0, few), (0, 0)))
        best = next((filled for filled in attempts if filled.tokens <= tokens), EMPTY)
    return best
