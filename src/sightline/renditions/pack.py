"""Choosing what is kept: pieces of a text, the most worth per token first, until the room is full."""

from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple

Count = Callable[[str], int]

TRIES = 7  # exact counts made to fill a room; each one halves what is still open
CLOSE = 0.98  # filled well enough: another count would gain a word
LAST_COST = 3  # tokens of one of the last pieces, which are single values
ROOMY = 1.5  # pieces are ranked until they fill this much of the room by estimate, which may be off by a third
AGAIN = 0.04  # a value shown a second time is worth little, but more than an empty line


class Piece(NamedTuple):
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
    render: Callable[[list[Piece], list[Piece]], str]
    overhead: float = 1.0  # tokens a line costs beside its text: its end and, where gaps are marked, half a gap


class Filled(NamedTuple):
    """A text and its tokens."""

    text: str
    tokens: int


NOTHING = Filled("", 0)


class Room(NamedTuple):
    """How much may be said: tokens, and how many characters of this text make one."""

    tokens: int
    chars_per_token: float


def ranked(
    pieces: list[Piece], weights: Mapping[str, float], room: Room, overhead: float, shown: set[str]
) -> list[Piece]:
    """The pieces in the order in which they should be kept, most new worth per token first, until the room is full.

    `shown` grows by what they show. Worth only falls as others are chosen, so an entry reckoned anew that is still on
    top is the best; it rises only when a label is opened, and then the pieces of that label are put in again.
    """
    per = room.chars_per_token
    cost = [len(piece.text) / per + overhead for piece in pieces]
    under: dict[str, list[int]] = {}
    for i, piece in enumerate(pieces):
        if piece.label:
            under.setdefault(piece.label, []).append(i)
    heap = [
        (-_gain(piece, weights, shown) / (cost[i] + (len(piece.label) / per + 1 if piece.label else 0)), i)
        for i, piece in enumerate(pieces)
    ]
    heapify(heap)
    order: list[Piece] = []
    taken: set[int] = set()
    used, opened = 0.0, {""}
    while heap and used < room.tokens:
        density, i = heappop(heap)
        piece = pieces[i]
        if density >= 0:
            break
        if i in taken:
            continue
        price = cost[i] + (0 if piece.label in opened else len(piece.label) / per + 1)
        now = -_gain(piece, weights, shown) / price
        if heap and now > heap[0][0] and now > density:
            heappush(heap, (now, i))
            continue
        taken.add(i)
        order.append(piece)
        used += price
        show(piece.values, shown)
        if piece.label not in opened:
            opened.add(piece.label)
            for other in under[piece.label]:
                heappush(heap, (-_gain(pieces[other], weights, shown) / cost[other], other))
    return order


def show(values: Iterable[str], shown: set[str]) -> None:
    """Marks values as visible, with the names they are made of: `app.models.User` shows `User`."""
    for value in values:
        if value not in shown:
            shown.add(value)
            if "." in value or "/" in value:
                shown.update(value.replace("/", ".").split("."))
                shown.add(value.rsplit("/", 1)[-1])


def fill(header: str, level: Level, weights: Mapping[str, float], count: Count, room: Room) -> Filled:
    """The header and as many of the best pieces as stay within the room; nothing if the header alone does not."""
    used = count(header)
    if used > room.tokens:
        return NOTHING
    free = room.tokens - used
    shown: set[str] = set()
    lines = ranked(level.lines, weights, room._replace(tokens=int(free * level.share)), level.overhead, shown)
    left = (
        [piece for piece in level.values if not all(value in shown for value in piece.values)]
        if lines
        else level.values
    )
    values = ranked(left, weights, room._replace(tokens=int(free * (ROOMY - level.share))), 0.4, shown)
    total = len(lines) + len(values)

    def text_of(taken: int) -> str:
        body = level.render(lines[:taken], values[: max(0, taken - len(lines))])
        return f"{header}\n{body}" if body else header

    guess = len(lines) + int(len(values) / (ROOMY - level.share) * (1 - level.share))
    return _longest(text_of, total, guess, Filled(header, used), room.tokens, count)


def _longest(text_of: Callable[[int], str], total: int, guess: int, bare: Filled, limit: int, count: Count) -> Filled:
    """The text of the most pieces that fits, found with few counts: first by what a piece costs, then by halves."""
    best, low, high, taken = bare, 0, total, min(total, max(1, guess))
    for tries in range(TRIES):
        if low >= high:
            break
        text = text_of(taken)
        found = count(text)
        if found > limit:
            high = taken - 1
        else:
            best, low = Filled(text, found), taken
            if found >= limit * CLOSE:
                break
        aim = taken + (limit - found) // LAST_COST if tries < TRIES // 2 else (low + high + 1) // 2
        taken = min(high, max(low + 1, aim))
    return best


def _gain(piece: Piece, weights: Mapping[str, float], shown: set[str]) -> float:
    gain = piece.worth
    for value in piece.values:
        worth = weights.get(value, 0.0)
        gain += worth * AGAIN if value in shown else worth
    return gain
