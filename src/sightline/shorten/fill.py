"""Choosing what is kept: pieces of a text, the most worth per token first, until the room is full."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

Count = Callable[[str], int]

TRIES = 6  # exact counts made to fill a room at most; the first is close enough as a rule
AIM = 0.95  # of what should just fit: a little too much costs another count
CLOSE, CLOSER = 0.82, 0.86  # of a room and a small one: filled well enough for the price of another count
SMALL = 200  # tokens of a small room
ROOMY = 1.4  # of the room by estimate is chosen, so that there is enough where the estimate is too high
LABEL_CHARS = 3.0  # characters to a token in an item's label: much of it is numbers and signs
CHARS = 3.6  # characters to a token, where nothing better is known
VALUE = 0.3  # tokens a value costs beside its characters
GROUPED = 200  # pieces that are put in order with their labels in mind: what the largest gist has room for
LABEL = 1.5  # tokens a label costs beside its characters


class Piece(Struct, frozen=True, gc=False):
    """Something that can be kept: a line, part of one, or a value under its label."""

    place: int  # where it stands in the original
    text: str
    worth: float
    values: Sequence[str] = ()  # what it shows
    label: str = ""  # pieces of one label stand after it; the first one kept pays for it


class Filled(NamedTuple):
    """A text and its tokens."""

    text: str
    tokens: int


NOTHING = Filled("", 0)


class Room(NamedTuple):
    """How much may be said: tokens, and how many characters of this text make one."""

    tokens: float
    chars_per_token: float


class Chosen(NamedTuple):
    """Pieces, and the tokens each is thought to take."""

    pieces: list[Piece]
    costs: list[float]


class Offer(NamedTuple):
    """Lines and values in the order in which they should be kept, and what everything up to each is thought to cost."""

    lines: Sequence[Any]
    line_costs: list[float]
    values: Sequence[Any]
    value_costs: list[float]

    def taken(self, tokens: float, share: float) -> tuple[int, int]:
        """How many lines and values seem to take so much: lines for their share, values, lines in what these leave."""
        lines = min(len(self.lines), bisect_right(self.line_costs, tokens * share) + 1) if share else 0
        values = bisect_right(self.value_costs, tokens - (self.line_costs[lines - 1] if lines else 0.0))
        if values == len(self.values):
            lines = max(lines, bisect_right(self.line_costs, tokens - (self.value_costs[-1] if values else 0.0)))
        return lines, values


class Level(Protocol):
    """What one level may be made of: lines up to a share of the room, then values in what is left of it."""

    @property
    def share(self) -> float: ...

    @property
    def fixed(self) -> int:
        """Characters that stand beside the item's label whatever is chosen."""

    @property
    def bias(self) -> float:
        """Tokens that this layout takes for one that is estimated."""

    @property
    def render(self) -> Callable[[str, Any, Any], str]:
        """The text of the item's label, chosen lines and chosen values."""

    def offer(self, room: Room) -> Offer:
        """What can be chosen from, at most about what fills the room."""


def by_place(piece: Piece) -> int:
    """The order of the original."""
    return piece.place


def by_worth(pieces: Sequence[Piece], overhead: float = VALUE) -> list[Piece]:
    """Pieces that are worth anything, most of it per token first."""
    extra_tokens = overhead * CHARS
    density = [piece.worth / (len(piece.text) + extra_tokens) for piece in pieces]
    some = [i for i, found in enumerate(density) if found > 0]
    some.sort(key=density.__getitem__, reverse=True)
    return [pieces[i] for i in some]


def grouped(pieces: Sequence[Piece], overhead: float = VALUE) -> list[Piece]:
    """The best pieces anew, now that the first of a label pays for it.

    Its best pieces come when, label included, they are worth as much per token together as the next best of others.
    """
    extra_tokens, label_beside = overhead * CHARS, LABEL * CHARS
    pieces = pieces[:GROUPED]
    worths: dict[str, float] = {}
    costs: dict[str, float] = {}
    density: list[float] = []
    for piece in pieces:
        label, worth, cost = piece.label, piece.worth, len(piece.text) + extra_tokens
        density.append(worth / cost)
        if label not in costs:
            worths[label], costs[label] = worth, cost + len(label) + label_beside
        elif worth * costs[label] > worths[label] * cost:
            worths[label] += worth
            costs[label] += cost
    together = {label: worth / costs[label] for label, worth in worths.items() if label}
    for i, piece in enumerate(pieces):
        if piece.label and together[piece.label] < density[i]:
            density[i] = together[piece.label]
    return [pieces[i] for i in sorted(range(len(pieces)), key=density.__getitem__, reverse=True)]


class _Names(dict[str, tuple[str, ...]]):
    """What is visible where a value is: `app.models.User` shows `User`."""

    def __missing__(self, value: str) -> tuple[str, ...]:
        names: tuple[str, ...] = (value,)
        if "." in value or "/" in value:
            names += (*value.replace("/", ".").split("."), value.rsplit("/", 1)[-1])
        if len(self) >= 1 << 14:
            self.clear()
        self[value] = names
        return names


_names_in = _Names().__getitem__


class Excerpt(NamedTuple):
    """A level of whole lines, told by their places, and between them the values of those left out."""

    order: list[int]  # of the lines, most worth per token first
    lines: Sequence[str]
    values: list[list[str]]  # of each line
    names: list[str]  # every value, most worth per token first
    share: float
    overhead: float  # tokens a line costs beside its text: its end and half a gap
    render: Callable[[str, list[int], list[str]], str]
    shown: Iterable[str] = ()  # values that are visible whatever is chosen
    fixed: int = 0
    bias: float = 1.0

    def offer(self, room: Room) -> Offer:
        """All lines, and the values that those of their share do not show."""
        per, lines, overhead = room.chars_per_token, self.lines, self.overhead
        costs = [*accumulate([len(lines[i]) / per + overhead for i in self.order])]
        share = self.order[: bisect_right(costs, room.tokens * self.share) + 1]
        shown = {*self.shown, *chain.from_iterable([self.values[i] for i in share])}
        shown.update(*[_names_in(value) for value in shown if "." in value or "/" in value])
        names = [name for name in self.names if name not in shown]
        return Offer(self.order, costs, names, [*accumulate([len(name) / per + VALUE for name in names])])


class Pieces(NamedTuple):
    """A level of pieces below their labels. Lines and values both most worth per token first."""

    lines: list[Piece]
    values: list[Piece]
    share: float
    render: Callable[[str, list[Piece], list[Piece]], str]
    shown: Iterable[str] = ()  # values that are visible whatever is chosen
    fixed: int = 0
    bias: float = 1.0

    def offer(self, room: Room) -> Offer:
        """As many as fill a roomy room: first lines of their share, then values that show something new, more lines."""
        shown: set[str] = set()
        shown.update(*map(_names_in, self.shown))
        left = room.tokens * ROOMY
        lines = _chosen(self.lines, Room(room.tokens * self.share, room.chars_per_token), 1.0)
        shown.update(*map(_names_in, chain.from_iterable([piece.values for piece in lines.pieces])))
        left -= sum(lines.costs)
        values = _chosen(new_of(self.values, shown), Room(left, room.chars_per_token), VALUE)
        left -= sum(values.costs)
        more = _chosen(self.lines[len(lines.pieces) :], Room(left, room.chars_per_token), 1.0)
        costs = [*accumulate(lines.costs + more.costs)]
        return Offer(lines.pieces + more.pieces, costs, values.pieces, [*accumulate(values.costs)])


def new_of(pieces: Iterable[Piece], shown: set[str]) -> Iterator[Piece]:
    """The pieces that show something new, each where those before it are shown already."""
    for piece in pieces:
        values = piece.values
        if not values:
            yield piece
        elif not shown.issuperset(values):
            for value in values:
                shown.update(_names_in(value))
            yield piece


def _chosen(offered: Iterable[Piece], room: Room, overhead: float) -> Chosen:
    """As many as fill the room. The first piece of a label pays for it."""
    left, per = room
    pieces: list[Piece] = []
    costs: list[float] = []
    opened = {""}
    for piece in offered if left > 0 else ():
        cost = len(piece.text) / per + overhead
        if piece.label not in opened:
            opened.add(piece.label)
            cost += len(piece.label) / per + LABEL
        pieces.append(piece)
        costs.append(cost)
        left -= cost
        if left <= 0:
            break
    return Chosen(pieces, costs)


def fill(label: str, level: Level, count: Count, room: Room) -> Filled:
    """The label and as many of the best pieces as stay within the room; nothing if the label alone does not.

    Found with few counts: each one corrects what the pieces seem to cost.
    """
    limit, per = room.tokens, room.chars_per_token / level.bias
    free = limit - len(label) / min(LABEL_CHARS, per) - level.fixed / room.chars_per_token
    offer = level.offer(Room(free, per))
    best = NOTHING
    tried: set[tuple[int, int]] = set()
    low, aim, high = 0.0, max(0.0, free * AIM), 2 * ROOMY * max(1.0, free)
    close = limit * (CLOSE if limit > SMALL else CLOSER)
    while len(tried) < TRIES and (taken := offer.taken(aim, level.share)) not in tried:
        tried.add(taken)
        filled = _filled(label, level, offer, taken, count)
        if filled.tokens <= limit:
            best, low = filled, aim
            if filled.tokens >= close:
                break
        else:
            high = aim
        aim *= free / max(1.0, filled.tokens - limit + free) * AIM
        if not low < aim < high:
            aim = (low + high) / 2
    few = bisect_right(offer.value_costs, free / 2)
    for taken in ((1, few), (1, 0), (0, few), (0, 0)) if best is NOTHING else ():
        filled = _filled(label, level, offer, taken, count)
        if filled.tokens <= limit:
            return filled
    return best


def _filled(label: str, level: Level, offer: Offer, taken: tuple[int, int], count: Count) -> Filled:
    text = level.render(label, offer.lines[: taken[0]], offer.values[: taken[1]])
    return Filled(text, count(text))
