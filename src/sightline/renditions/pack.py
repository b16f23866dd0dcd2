"""Choosing what is kept: pieces of a text, the most worth per token first, until the room is full."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from itertools import accumulate, chain, compress
from typing import NamedTuple

from msgspec import Struct

from sightline.renditions.values import Values

Count = Callable[[str], int]

TRIES = 8  # exact counts made to fill a room at most; the first or second is close enough as a rule
SMALL = 200  # tokens of a room whose estimates are off by a quarter, where others are by a tenth
FAR_OFF = 1.12  # times the room: an estimate so wrong is made again
AIM = 0.985  # of what should just fit: a little too much costs another count
CHARS = 3.6  # characters to a token, where nothing better is known
VALUE = 0.3  # tokens a value costs beside its characters
LABEL = 1.5  # tokens a label costs beside its characters


class _Habit(NamedTuple):
    """How a room is filled. What is counted slowly is aimed at with care and left when it is nearly full."""

    aim: float  # of the room by estimate, at first
    close: float  # filled well enough for the price of another count
    roomy: float  # of the room by estimate is chosen, so that there is enough where the estimate is too high


LARGE_ROOM, SMALL_ROOM = _Habit(0.97, 0.87, 1.15), _Habit(1.1, 0.9, 1.4)


class Piece(Struct, frozen=True, gc=False):
    """Something that can be kept: a line, part of one, or a value under its label."""

    place: int  # where it stands in the original
    text: str
    worth: float
    values: tuple[str, ...] = ()  # what it shows
    label: str = ""  # pieces of one label stand after it; the first one kept pays for it


class Level(NamedTuple):
    """What one level may be made of: lines up to a share of the room, then single values in what is left of it.

    Both most worth per token first.
    """

    lines: list[Piece]
    values: list[Piece]
    share: float
    render: Callable[[str, list[Piece], list[Piece]], str]  # of the item's label, chosen lines and chosen values
    overhead: float = 1.0  # tokens a line costs beside its text: its end and, where gaps are marked, half a gap
    labelled: bool = True  # values stand below their labels
    grouped: bool = False  # and so do lines
    shown: Sequence[str] = ()  # values that are visible whatever is chosen
    fixed: int = 0  # characters that stand beside the item's label whatever is chosen
    of_lines: Values | None = None  # what the lines show, where their pieces do not say


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
    """Pieces in the order in which they should be kept, with the tokens each is thought to cost."""

    pieces: list[Piece]
    costs: list[float]


def by_place(piece: Piece) -> int:
    """The order of the original."""
    return piece.place


def by_worth(pieces: list[Piece], overhead: float = VALUE) -> list[Piece]:
    """Pieces that are worth anything, most of it per token first."""
    order = [(-piece.worth / (len(piece.text) + overhead * CHARS), i) for i, piece in enumerate(pieces)]
    order.sort()
    return [pieces[i] for density, i in order if density < 0]


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


def show(values: Iterable[str], shown: set[str]) -> None:
    """Marks values as visible, with the names they are made of."""
    shown.update(*map(_names_in, values))


class _Waiting(Struct):
    """The pieces of a label that is not opened yet: together they may pay for it."""

    cost: float
    worth: float = 0.0
    pieces: list[Piece] = []


def fresh_of(pieces: list[Piece], room: Room, shown: set[str]) -> Chosen:
    """The first values that are not shown yet, as many as fill the room."""
    out = Chosen([], [])
    left, per = room.tokens, room.chars_per_token
    for piece in pieces:
        if left <= 0:
            break
        if not shown.issuperset(piece.values):
            cost = len(piece.text) / per + VALUE
            out.pieces.append(piece)
            out.costs.append(cost)
            left -= cost
            shown.update(*map(_names_in, piece.values))
    return out


class _Labelled(Struct):
    """Pieces being chosen that stand below labels.

    Those of a label wait until, label included, all that wait for it are worth as much per token as the one that comes
    now. Pieces that show nothing new are passed over, where `fresh` is asked for.
    """

    room: Room
    overhead: float
    shown: set[str]
    fresh: bool
    chosen: Chosen
    used: float = 0.0
    opened: set[str] = set()
    waiting: dict[str, _Waiting] = {}
    next: list[tuple[float, str]] = []  # labels that wait, by the worth per token of what waits

    def of(self, pieces: list[Piece]) -> Chosen:
        """As many as fill the room."""
        tokens = self.room.tokens
        for piece in pieces:
            if self.used >= tokens:
                break
            if not piece.label or piece.label in self.opened:
                self._take(piece)
            else:
                self._wait(piece)
        while self.next and self.used < tokens:
            self._open(heappop(self.next)[1])
        return self.chosen

    def _take(self, piece: Piece, label_cost: float = 0.0) -> None:
        if self.fresh and piece.values and self.shown.issuperset(piece.values):
            return
        cost = len(piece.text) / self.room.chars_per_token + self.overhead + label_cost
        self.chosen.pieces.append(piece)
        self.chosen.costs.append(cost)
        self.used += cost
        self.shown.update(*map(_names_in, piece.values))

    def _wait(self, piece: Piece) -> None:
        cost = len(piece.text) / self.room.chars_per_token + self.overhead
        group = self.waiting.get(piece.label)
        if group is None:
            group = self.waiting[piece.label] = _Waiting(self._label_cost(piece.label))
        group.pieces.append(piece)
        group.worth += piece.worth
        group.cost += cost
        heappush(self.next, (-group.worth / group.cost, piece.label))
        while self.next and self.next[0][0] <= -piece.worth / cost:
            self._open(heappop(self.next)[1])

    def _open(self, label: str) -> None:
        group = self.waiting.pop(label, None)
        if group is None:
            return
        self.opened.add(label)
        price = self._label_cost(label)
        for piece in group.pieces:
            if self.used >= self.room.tokens:
                break
            self._take(piece, price)
            price = 0.0

    def _label_cost(self, label: str) -> float:
        return len(label) / self.room.chars_per_token + LABEL


class _Tried(NamedTuple):
    """A number of pieces, and what came of it."""

    taken: int
    text: str
    tokens: int


class _Offer(NamedTuple):
    """What a level is made of at most: lines for their share, values, and lines where the values leave room."""

    level: Level
    lines: list[Piece]
    values: list[Piece]
    more: list[Piece]
    costs: list[float]  # of everything up to each piece, in this order

    def taken(self, label: str, aim: float, count: Count, least: int = 1, most: int = 1 << 30) -> _Tried:
        """The text of so many pieces as seem to cost what is aimed at."""
        taken = min(most, len(self.costs), max(least, bisect_right(self.costs, aim)))
        first, second = len(self.lines), len(self.values)
        lines = self.lines[:taken] + self.more[: max(0, taken - first - second)]
        text = self.level.render(label, lines, self.values[: max(0, taken - first)])
        return _Tried(taken, text, count(text))


def fill(label: str, level: Level, count: Count, room: Room) -> Filled:
    """The label and as many of the best pieces as stay within the room; nothing if the label alone does not."""
    limit, per = room
    free = limit - (len(label) + level.fixed) / per
    habit = SMALL_ROOM if limit <= SMALL else LARGE_ROOM
    offer = _offer(level, Room(free, per), habit.roomy)
    aim = free * habit.aim
    tried = offer.taken(label, aim, count)
    if tried.tokens > limit * FAR_OFF:  # else all that is too much would be taken from the values
        aim = free * free / (tried.tokens - limit + free)
        offer = _offer(level, Room(aim, per), habit.roomy)
        tried = offer.taken(label, aim, count)
    filled = _longest(offer, tried, label, Room(limit, free), count)
    if filled is NOTHING:
        bare = level.render(label, [], [])
        return Filled(bare, tokens) if (tokens := count(bare)) <= limit else NOTHING
    return filled


def _offer(level: Level, room: Room, roomy: float) -> _Offer:
    free, per = room
    shown: set[str] = set()
    show(level.shown, shown)
    lines = _lines(level.lines, Room(free * level.share, per), level, shown)
    left = free * roomy - sum(lines.costs)
    if level.labelled:
        values = _Labelled(Room(left, per), VALUE, shown, True, Chosen([], [])).of(level.values)
    else:
        values = fresh_of(level.values, Room(left, per), shown)
    left -= sum(values.costs)
    more = Chosen([], [])
    if left > 0 and len(lines.pieces) < len(level.lines):
        taken = {piece.place for piece in lines.pieces}
        rest = [piece for piece in level.lines if piece.place not in taken]
        more = _lines(rest, Room(left, per), level, shown)
    costs = list(accumulate(lines.costs + values.costs + more.costs))
    return _Offer(level, lines.pieces, values.pieces, more.pieces, costs)


def _lines(pieces: list[Piece], room: Room, level: Level, shown: set[str]) -> Chosen:
    """The first lines, as many as fill the room."""
    if level.grouped:
        return _Labelled(room, level.overhead, shown, False, Chosen([], [])).of(pieces)
    per, overhead = room.chars_per_token, level.overhead
    costs = [len(piece.text) / per + overhead for piece in pieces]
    enough = bisect_right(list(accumulate(costs)), room.tokens) + 1 if room.tokens > 0 else 0
    chosen = pieces[:enough]
    if level.of_lines:
        places = {piece.place for piece in chosen}
        show(compress(level.of_lines.found, map(places.__contains__, level.of_lines.lines)), shown)
    else:
        show(chain.from_iterable([piece.values for piece in chosen]), shown)
    return Chosen(chosen, costs[:enough])


def _longest(offer: _Offer, tried: _Tried, label: str, room: Room, count: Count) -> Filled:
    """The longest text that fits, found with few counts: each one corrects what the pieces seem to cost."""
    limit, free = room
    close = (SMALL_ROOM if limit <= SMALL else LARGE_ROOM).close
    best, low, high = NOTHING, 0, len(offer.costs)
    for _ in range(TRIES):
        if tried.tokens > limit:
            high = tried.taken - 1
        else:
            best, low = Filled(tried.text, tried.tokens), tried.taken
            if tried.tokens >= limit * close:
                break
        if low >= high:
            break
        aim = offer.costs[tried.taken - 1] * max(0.2, free / max(1.0, tried.tokens - limit + free)) * AIM
        tried = offer.taken(label, aim, count, low + 1, high)
    return best
