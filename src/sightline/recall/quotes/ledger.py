"""The ledger: of many turns the values worth keeping, each once, as spans within a room."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from sightline.recall.quotes.turn_values import Quote, joined, values
from sightline.recall.quotes.value import Value

READ = 48  # characters read for each token of room, a Chinese one as two: what was settled early counts as well
AGREED = 2  # what is said in a second turn counts so many times: somebody took it up
COMMON = 0.2  # worth of plain words: that they are said again means nothing
MISSES = 16  # lines in a row that do not fit, after which the room is full
SEPARATOR = " … "


class Read(NamedTuple):
    """One turn, and the values it states."""

    text: str
    values: tuple[Value, ...]


class Choice(NamedTuple):
    """A value of a turn, what it is worth, and the tokens it takes there."""

    value: Value
    worth: float
    tokens: int


def ledger(
    turns: Iterable[tuple[int, str]], room: int, count: Callable[[str], int], overhead: int
) -> list[tuple[int, list[Quote]]]:
    """What the turns settled: spans of them by row, ascending, each value once, within `room` tokens.

    Turns come newest first as (row, text); of a long history only as many are read as the room could quote. A row is
    shown as one line: its handle (`overhead` tokens), a blank, its spans with SEPARATOR between them, a line break.
    """
    page = _Page(_read(turns, room), room, count, overhead)
    page.fill()
    page.label()
    return sorted(page.shown.items())


def _read(turns: Iterable[tuple[int, str]], room: int) -> dict[int, Read]:
    """The newest turns that state anything, as many as the room is worth."""
    read: dict[int, Read] = {}
    left = room * READ
    for row, text in turns if room > 0 else ():
        if found := values(text):
            read[row] = Read(text, found)
        left -= len(text) if text.isascii() else len(text) * 2
        if left < 0:
            break
    return read


def _worths(read: Mapping[int, Read]) -> dict[str, float]:
    """What each value is worth, if anything: by its best mention, and more if a second turn mentions it."""
    worths: dict[str, float] = {}
    first: dict[str, int] = {}
    agreed: set[str] = set()
    for row, turn in read.items():
        for value in turn.values:
            if first.setdefault(value.key, row) != row:
                agreed.add(value.key)
            if value.worth > worths.get(value.key, 0.0):
                worths[value.key] = value.worth
    return {key: worth * AGREED if key in agreed and worth > COMMON else worth for key, worth in worths.items()}


class _Page:
    """The lines chosen so far, and the room left."""

    def __init__(self, read: Mapping[int, Read], room: int, count: Callable[[str], int], overhead: int) -> None:
        self.read, self.left, self.count, self.overhead = read, room, count, overhead
        self.shown: dict[int, list[Quote]] = {}
        self.taken: dict[int, list[Value]] = {}
        self.price: dict[int, int] = {}
        self.keys: set[str] = set()
        self.choices = self._choices()

    def fill(self) -> None:
        """Takes what is worth most for its tokens, again and again, until nothing more fits."""
        offers = {row: self._offer(row) for row in self.read}
        heap = [(-rate, -row) for row, (rate, offered) in offers.items() if offered]
        heapify(heap)
        misses = 0
        while heap and misses < MISSES:
            row = -heappop(heap)[1]
            offered = offers[row][1]
            if not self.keys.isdisjoint([value.key for value in offered]):  # something of it is shown by now
                pass
            elif self._show(row, [*self.taken.get(row, ()), *offered]):
                misses = 0
                self.taken.setdefault(row, []).extend(offered)
                self.keys.update([value.key for value in offered])
            else:
                misses += 1
                continue
            offers[row] = rate, offered = self._offer(row)
            if offered:
                heappush(heap, (-rate, -row))

    def label(self) -> None:
        """Spends the room left on labels, the newest first."""
        for row in sorted(self.taken, reverse=True):
            if self.left > 0 and any(value.label < value.first for value in self.taken[row]):
                self._show(row, [Quote(value.label, value.end) for value in self.taken[row]])

    def _choices(self) -> dict[int, list[Choice]]:
        """By row its values, each once, what brings most for its tokens first."""
        worths, tokens = _worths(self.read), dict[str, int]()
        choices = {}
        for row, (text, found) in self.read.items():
            ranked: list[tuple[float, int, Choice]] = []
            for value in {value.key: value for value in reversed(found) if value.key in worths}.values():
                said = text[value.first : value.end]
                if said not in tokens:
                    tokens[said] = self.count(" " + said) + 1
                choice = Choice(value, worths[value.key], tokens[said])
                ranked.append((-choice.worth / choice.tokens, value.first, choice))
            choices[row] = [choice for _, _, choice in sorted(ranked)]
        return choices

    def _offer(self, row: int) -> tuple[float, list[Value]]:
        """What to show next of a row: its best values, as many as raise what each token brings; and what it brings."""
        gain, cost, rate = 0.0, 0 if row in self.taken else self.overhead + 1, 0.0
        offered: list[Value] = []
        for value, worth, tokens in self.choices[row]:
            if value.key in self.keys:
                continue
            gain, cost = gain + worth, cost + tokens
            if gain <= rate * cost:
                break
            rate = gain / cost
            offered.append(value)
        return rate, offered

    def _show(self, row: int, parts: Sequence[Value | Quote]) -> bool:
        """Shows these parts of a row, if they fit."""
        text = self.read[row].text
        spans = joined(text, parts)
        line = SEPARATOR.join([text[first:end] for first, end in spans])
        price = self.overhead + self.count(" " + line) + 1
        more = price - self.price.get(row, 0)
        if more > self.left:
            return False
        self.left -= more
        self.price[row], self.shown[row] = price, spans
        return True
