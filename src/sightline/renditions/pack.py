"""Choosing what is kept: pieces of a text, the most worth per token first, until the room is full."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from itertools import accumulate, repeat
from typing import NamedTuple

from msgspec import Struct

Count = Callable[[str], int]

TRIES = 8  # exact counts made to fill a room at most; the second or third is close enough as a rule
CLOSE = 0.93  # filled well enough for the price of another count
SMALL = 200  # tokens of a room that is counted so quickly that every word of it is worth using
CLOSER = 0.97
ROOMY = 1.3  # pieces are ranked until they fill this much of the room by estimate, which may be off by a quarter
AGAIN = 0.04  # a value shown a second time is worth little, but more than an empty line
VALUE = 0.7  # tokens a value costs beside its characters: names are harder on a vocabulary than sentences
AIM = 0.985  # of what should just fit: a little too much costs another count
PATIENCE = 0.8  # share of the present worth per token from which a label is opened

_NONE = repeat(0.0)


class Piece(Struct, frozen=True, gc=False):
    """Something that can be kept: a line, part of one, or a value under its label."""

    place: int  # where it stands in the original
    text: str
    values: tuple[str, ...] = ()
    worth: float = 0.0  # beside its values
    label: str = ""  # pieces of one label stand after it; the first one kept pays for it


class Level(NamedTuple):
    """What one level may be made of: lines up to a share of the room, then single values in what is left of it."""

    lines: list[Piece]
    values: list[Piece]
    share: float
    render: Callable[[str, list[Piece], list[Piece]], str]  # of the item's label, chosen lines and chosen values
    overhead: float = 1.0  # tokens a line costs beside its text: its end and, where gaps are marked, half a gap
    labelled: bool = True  # values stand below their labels
    shown: tuple[str, ...] = ()  # values that are visible whatever is chosen


class Filled(NamedTuple):
    """A text and its tokens."""

    text: str
    tokens: int


NOTHING = Filled("", 0)


class Room(NamedTuple):
    """How much may be said: tokens, and how many characters of this text make one."""

    tokens: float
    chars_per_token: float


class Ranked(NamedTuple):
    """Pieces in the order in which they should be kept, with the tokens each is thought to cost."""

    pieces: list[Piece]
    costs: list[float]


def by_place(piece: Piece) -> int:
    """The order of the original."""
    return piece.place


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


_names_in = _Names()


def show(values: Iterable[str], shown: set[str]) -> None:
    """Marks values as visible, with the names they are made of."""
    for value in values:
        if value not in shown:
            shown.update(_names_in[value])


def ranked(pieces: list[Piece], weights: Mapping[str, float], room: Room, overhead: float, shown: set[str]) -> Ranked:
    """Lines in the order in which they should be kept, most new worth per token first, until the room is full.

    `shown` grows by what they show. Worth only falls as others are chosen, so an entry reckoned anew that is still on
    top is the best; it rises only when a label is opened, and then the pieces of that label are put in again.
    """
    per, weigh = room.chars_per_token, weights.get
    cost = [len(piece.text) / per + overhead for piece in pieces]
    under: dict[str, list[int]] = {}
    heap = []
    for i, piece in enumerate(pieces):
        price = cost[i]
        if piece.label:
            under.setdefault(piece.label, []).append(i)
            price += len(piece.label) / per + 1
        heap.append((-(piece.worth + sum(map(weigh, piece.values, _NONE))) / price, i))
    heapify(heap)
    out = Ranked([], [])
    taken: set[int] = set()
    used, opened = 0.0, {""}
    while heap and used < room.tokens:
        density, i = heappop(heap)
        if density >= 0:
            break
        if i in taken:
            continue
        piece = pieces[i]
        price = cost[i] if piece.label in opened else cost[i] + len(piece.label) / per + 1
        now = -_gain(piece, weights, shown) / price
        if heap and now > heap[0][0] and now > density:
            heappush(heap, (now, i))
            continue
        taken.add(i)
        out.pieces.append(piece)
        out.costs.append(price)
        used += price
        show(piece.values, shown)
        if piece.label not in opened:
            opened.add(piece.label)
            for other in under[piece.label]:
                heappush(heap, (-_gain(pieces[other], weights, shown) / cost[other], other))
    return out


def _gain(piece: Piece, weights: Mapping[str, float], shown: set[str]) -> float:
    gain = piece.worth
    for value in piece.values:
        worth = weights.get(value, 0.0)
        gain += worth * AGAIN if value in shown else worth
    return gain


class _Waiting(Struct):
    """The pieces of a label that is not opened yet: together they may pay for it."""

    cost: float
    gain: float = 0.0
    pieces: list[Piece] = []
    costs: list[float] = []


class _List(Struct):
    """Values chosen so far, and those that wait for their label."""

    shown: set[str]
    chosen: Ranked
    used: float = 0.0
    opened: set[str] = set()
    waiting: dict[str, _Waiting] = {}
    next: list[tuple[float, str]] = []  # labels that wait, by the worth per token of what waits

    def take(self, piece: Piece, cost: float) -> None:
        if not piece.values or not self.shown.issuperset(piece.values):
            self.chosen.pieces.append(piece)
            self.chosen.costs.append(cost)
            self.used += cost
            show(piece.values, self.shown)

    def wait(self, piece: Piece, cost: float, gain: float, label_cost: float) -> None:
        group = self.waiting.get(piece.label)
        if group is None:
            group = self.waiting[piece.label] = _Waiting(label_cost)
        group.pieces.append(piece)
        group.costs.append(cost)
        group.gain += gain
        group.cost += cost
        heappush(self.next, (-group.gain / group.cost, piece.label))

    def open(self, density: float) -> None:
        """Opens every label whose pieces, label included, are worth so much per token (negative, as in the heap)."""
        while self.next and self.next[0][0] <= density:
            _, label = heappop(self.next)
            group = self.waiting.pop(label, None)
            if group:
                self.opened.add(label)
                group.costs[0] += group.cost - sum(group.costs)  # the first one pays for the label
                for piece, cost in zip(group.pieces, group.costs, strict=True):
                    self.take(piece, cost)


def listed(
    pieces: list[Piece], weights: Mapping[str, float], room: Room, shown: set[str], labelled: bool = True
) -> Ranked:
    """Values in the order in which they should be kept, until the room is full.

    Taken in order of worth per token. Those of a label wait until, label included, all that wait for it are worth as
    much per token as what is taken now.
    """
    per, weigh = room.chars_per_token, weights.get
    entries = []
    for i, piece in enumerate(pieces):
        cost = len(piece.text) / per + VALUE
        entries.append((-(piece.worth + sum(map(weigh, piece.values, _NONE))) / cost, cost, i))
    entries.sort()
    out = _List(shown, Ranked([], []), opened={""})
    for density, cost, i in entries:
        if out.used >= room.tokens or density >= 0:
            break
        piece = pieces[i]
        if not labelled or piece.label in out.opened:
            out.take(piece, cost)
        else:
            out.wait(piece, cost, -density * cost, len(piece.label) / per + 1.5)
        if out.next and out.next[0][0] <= density * PATIENCE:
            out.open(density * PATIENCE)
    while out.next and out.used < room.tokens:
        out.open(out.next[0][0])
    return out.chosen


def fill(label: str, level: Level, weights: Mapping[str, float], count: Count, room: Room) -> Filled:
    """The label and as many of the best pieces as stay within the room; nothing if the label alone does not."""
    text = level.render(label, [], [])
    bare = Filled(text, count(text))
    free = room.tokens - bare.tokens
    if free < 0:
        return NOTHING
    shown: set[str] = set()
    show(level.shown, shown)
    lines = ranked(level.lines, weights, room._replace(tokens=free * level.share), level.overhead, shown)
    left = ROOMY * free - sum(lines.costs)
    values = listed(level.values, weights, room._replace(tokens=left), shown, level.labelled)

    def text_of(taken: int) -> str:
        return level.render(label, lines.pieces[:taken], values.pieces[: max(0, taken - len(lines.pieces))])

    return _longest(text_of, list(accumulate(lines.costs + values.costs)), bare, room.tokens, count)


def _longest(text_of: Callable[[int], str], costs: list[float], bare: Filled, limit: float, count: Count) -> Filled:
    """The text of the most pieces that fits, found with few counts: each one corrects what the pieces seem to cost."""
    best, low, high, aim = bare, 0, len(costs), limit - bare.tokens
    close = CLOSER if limit <= SMALL else CLOSE
    for _ in range(TRIES):
        if low >= high:
            break
        taken = min(high, max(low + 1, bisect_right(costs, aim)))
        text = text_of(taken)
        found = count(text)
        if found > limit:
            high = taken - 1
        else:
            best, low = Filled(text, found), taken
            if found >= limit * close:
                break
        aim = costs[taken - 1] * max(0.2, (limit - bare.tokens) / max(1, found - bare.tokens)) * AIM
    return best
