"""What a conversation settled: the values of its turns, each once, quoted within a room."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from sightline.recall.overview import chinese, english
from sightline.recall.overview.english import Value

LONGEST = 4_000  # characters of a turn that are read: what is longer is a document, and found by searching
COMMON = 0.02  # of all turns: what more of them say is no value of any of them
COMMON_FROM = 4  # turns, at least
AGREED = 2  # what a second turn says too counts so many times: somebody took it up
DONE = 2  # so does what a call was made with that did something
CORRECTED = 6  # turns before a correction in which what it corrects is looked for
STRETCHES, SHARE = 10, 0.25  # of the conversation; of the room that one stretch may take before all others had theirs
STRETCH = 20  # turns of one at least
FLOOR = 0.25  # worth of a token, below which the words around what is shown are worth more
LEAST = 0.05  # worth of a token, below which nothing is quoted
GAP = 4  # characters between two quotes that are shown as they are: they cost no more than the mark between quotes
MISSES = 16  # clauses in a row that do not fit, after which the room is full
SEPARATOR = " … "

HAN = re.compile("[\u3400-\u9fff]")
LETTERS = 4  # Latin letters to one Chinese character: beyond it an English turn names something in Chinese
PIECES = re.compile(r"[^\W\d_a-zA-Z]+|[^\W\d_]+")
CLAUSE = re.compile(r"(?:[^.!?;,，。！？；\n]|[.,](?=\S))+")
CORRECTS = re.compile(
    r"\b(?:instead|actually|rather|change (?:it|that|to)|make (?:it|that)|on second thought)\b|改[成为到]|换成|不对",
    re.IGNORECASE,
)
VARIES = re.compile(r"\d+(?:[:.]\d+)?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?<=[周期拜])[一二三四五六日天]")


class Turn(NamedTuple):
    """One row of a conversation."""

    row: int
    text: str
    weight: float = 1.0  # DONE for a call that did something, and for its result


class Quote(NamedTuple):
    """Characters first..end of a turn, within a line."""

    first: int
    end: int


class Clause(NamedTuple):
    """A part of a turn, and the values in it."""

    at: int  # the place of its turn
    span: Quote
    values: list[Value]


def quotes(turns: Sequence[Turn], room: int, count: Callable[[str], int], overhead: int) -> dict[int, list[Quote]]:
    """Return spans of the turns that state what was settled, by row, ascending, within `room` tokens.

    Turns come in order. Each value is quoted once, where most others stand beside it; one that was corrected is not. A
    row is shown as one line: its handle (`overhead` tokens), a blank, its spans with SEPARATOR between them, a line
    break.
    """
    page = _Page(turns, room, count, overhead)
    page.fill(FLOOR, int(room * SHARE))
    page.fill(FLOOR, room)
    page.widen()
    page.fill(LEAST, room)
    page.widen()
    page.widen(whole=True)
    return {turns[at].row: page.shown[at] for at in sorted(page.shown)}


# --- Reading ------------------------------------------------------------------------------------------------------


def _read(turns: Sequence[Turn]) -> list[list[Value]]:
    """Return the values of each turn, with what they are worth among all turns."""
    used: Counter[str] = Counter()
    for turn in turns:
        used.update(_pieces(turn.text[:LONGEST]))
    limit = max(COMMON_FROM, COMMON * len(turns))

    def is_common(piece: str) -> bool:
        return used[piece] > limit

    read = [_values(turn.text[:LONGEST], is_common) for turn in turns]
    for at, turn in enumerate(turns):
        if CORRECTS.search(turn.text[:LONGEST]):
            _correct(read, at)
    worths: dict[str, float] = {}
    first: dict[str, int] = {}
    agreed: set[str] = set()
    for at, values in enumerate(read):
        for value in values:
            worths[value.key] = max(worths.get(value.key, 0.0), value.worth * turns[at].weight)
            if first.setdefault(value.key, at) != at:
                agreed.add(value.key)
    for key in agreed:
        worths[key] *= AGREED
    return [[value._replace(worth=worths[value.key]) for value in values if worths[value.key]] for values in read]


def _pieces(text: str) -> set[str]:
    """Return the words of a text, and of Chinese its pairs of characters."""
    pieces: set[str] = set()
    for run in PIECES.findall(text.lower()):
        pieces.update([run] if run.isascii() else [run[at : at + 2] for at in range(len(run) - 1)])
    return pieces


def _values(text: str, is_common: Callable[[str], bool]) -> list[Value]:
    latin = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    if latin < (len(text) - latin) * LETTERS and HAN.search(text):
        return list(chinese.values(text, is_common))
    return list(english.values(text, is_common))


def _correct(read: list[list[Value]], at: int) -> None:
    """Drop the times and figures shortly before a correction that it replaces: those of the same form."""
    said = {value.key for value in read[at]}
    forms = {form for key in said if (form := VARIES.sub("0", key)) != key}
    for before in range(max(0, at - CORRECTED), at):
        read[before] = [v for v in read[before] if v.key in said or VARIES.sub("0", v.key) not in forms]


# --- Choosing -----------------------------------------------------------------------------------------------------


class _Page:
    """The quotes chosen so far, and the room left."""

    def __init__(self, turns: Sequence[Turn], room: int, count: Callable[[str], int], overhead: int) -> None:
        self.turns, self.left, self.count, self.overhead = turns, room, count, overhead
        self.shown: dict[int, list[Quote]] = {}  # by place of the turn
        self.price: dict[int, int] = {}
        self.taken: Counter[int] = Counter()  # tokens of each stretch
        self.known: set[str] = set()  # keys of what is shown
        self.tokens: dict[str, int] = {}
        self.clauses = [clause for at, values in enumerate(_read(turns)) for clause in self._split(at, values)]

    def fill(self, least: float, share: int) -> None:
        """Take what is worth most for its tokens, as long as it is worth `least`, up to `share` tokens a stretch."""
        heap = [(-rate, -at) for at, clause in enumerate(self.clauses) if (rate := self._offer(clause)[0]) > least]
        heapify(heap)
        misses = 0
        while heap and misses < MISSES:
            place = -heappop(heap)[1]
            clause = self.clauses[place]
            rate, offered = self._offer(clause)
            if rate <= least or self.taken[self._stretch(clause.at)] >= share:
                continue
            if heap and -rate > heap[0][0]:  # some of it is shown by now
                heappush(heap, (-rate, -place))
            elif self._show(clause.at, [Quote(value.first, value.end) for value in offered]):
                self.known.update([value.key for value in offered])
                heappush(heap, (-rate, -place))
                misses = 0
            else:
                misses += 1

    def widen(self, *, whole: bool = False) -> None:
        """Spend room on the clauses around what is shown, or on whole turns of one line, the cheapest first."""
        spans = {(at, Quote(0, len(self.turns[at].text)) if whole else span) for at, span, _ in self.clauses}
        wider = []
        for at, span in spans:
            inside = [quote for quote in self.shown.get(at, ()) if span.first <= quote.first < span.end]
            if inside and self.turns[at].text[span.first : span.end].isprintable():
                wider.append((span.end - span.first - sum(end - first for first, end in inside), -at, span))
        for _, at, span in sorted(wider):
            self._show(-at, [span])

    def _split(self, at: int, values: Sequence[Value]) -> list[Clause]:
        """Return the clauses of a turn that hold values."""
        clauses: list[Clause] = []
        for match in CLAUSE.finditer(self.turns[at].text, 0, LONGEST) if values else ():
            if inside := [value for value in values if match.start() <= value.first < match.end()]:
                first = match.end() - len(match[0].lstrip())
                clauses.append(Clause(at, Quote(min(first, inside[0].first), max(match.end(), inside[-1].end)), inside))
        return clauses

    def _offer(self, clause: Clause) -> tuple[float, list[Value]]:
        """Return which values of a clause to show next, as many as raise what each token brings; and what that is."""
        text, ranked = self.turns[clause.at].text, []
        for value in {value.key: value for value in clause.values if value.key not in self.known}.values():
            said = text[value.first : value.end]
            if said not in self.tokens:
                self.tokens[said] = self.count(" " + said) + 1
            ranked.append((-value.worth / self.tokens[said], value.first, self.tokens[said], value))
        gain, cost, rate = 0.0, 0 if clause.at in self.shown else self.overhead + 1, 0.0
        offered: list[Value] = []
        for _, _, tokens, value in sorted(ranked):
            gain, cost = gain + value.worth, cost + tokens
            if gain <= rate * cost:
                break
            rate = gain / cost
            offered.append(value)
        return rate, offered

    def _stretch(self, at: int) -> int:
        return at * STRETCHES // max(len(self.turns), STRETCHES * STRETCH)

    def _show(self, at: int, more: Iterable[Quote]) -> bool:
        """Show more of a turn, if it fits."""
        text = self.turns[at].text
        spans = joined(text, [*self.shown.get(at, ()), *more])
        price = self.overhead + self.count(" " + SEPARATOR.join([text[first:end] for first, end in spans])) + 1
        extra = price - self.price.get(at, 0)
        if extra > self.left:
            return False
        self.left -= extra
        self.taken[self._stretch(at)] += extra
        self.price[at], self.shown[at] = price, spans
        return True


def joined(text: str, parts: Iterable[Quote]) -> list[Quote]:
    """Return the parts in order; those that overlap or stand close together are one."""
    spans: list[Quote] = []
    for first, end in sorted(parts):
        if spans and first - spans[-1].end <= GAP and text[spans[-1].end : first].isprintable():
            spans[-1] = Quote(spans[-1].first, max(end, spans[-1].end))
        else:
            spans.append(Quote(first, end))
    return spans
