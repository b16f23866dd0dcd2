"""Many open windows, one of which changes each turn: how much of the prompt a provider's cache can keep."""

from time import perf_counter
from typing import NamedTuple

from benchmarks.measure import Row, spread, spread_text
from sightline.apps import Page
from sightline.apps.builtin.todo import Todo
from sightline.log.stores.memory import MemoryStore
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.values.items import Lod, Message, plain_text
from sightline.values.settings import Settings
from sightline.wire.payload import Payload

WINDOWS, ITEMS, TURNS = 50, 8, 60
TOPIC = f"{WINDOWS} open windows, one changed each turn"


class Counted(Todo):
    """A to-do list that counts how often it is rendered."""

    name = "counted"
    drawn = 0

    def view(self, lod: Lod) -> Page:
        """As its own."""
        Counted.drawn += 1
        return super().view(lod)


class Lived(NamedTuple):
    """The sums over a session with windows."""

    cached: float  # share of each prompt that begins like the one before
    fixed: float  # the same of head and body alone
    drawn: float  # windows built per turn
    seconds: list[float]
    tokens: int


def windows() -> list[Row]:
    """Measure the same session with its windows at the tail, and in their place."""
    rows = []
    for layout, what in (("stable", "windows at the end of the payload"), ("contextui", "each window at its place")):
        lived = live(layout)
        note = f"{lived.fixed:.1%} of head and body; {lived.drawn:.2f} windows built per turn; {lived.tokens:,} tokens"
        rows.append(Row(TOPIC, f"{what}: cached share of the prompt", f"{lived.cached:.1%}", lived.cached, note=note))
        rows.append(Row(TOPIC, f"{what}: compose", spread_text(found := spread(lived.seconds)), found.median))
    return rows


def live(layout: str, turns: int = TURNS) -> Lived:
    """Open the windows, then act on one of them before each call."""
    session = Session(MemoryStore("windows"), settings=Settings(layout=layout), apps=[Counted])
    session.system("You keep the lists of a harbour office. " * 20)
    ids = [_filled(session, number) for number in range(WINDOWS)]
    budget = Budget(window=128_000)
    before = session.compose(budget)
    Counted.drawn = 0
    shares, fixed, seconds = [], [], []
    for turn in range(turns):
        session.reply(f"I have noted it down on list {turn}.")
        session.user(f"Ship {turn} is in; note what it needs.")
        session.windows.act(ids[turn * 7 % WINDOWS], "add", text=f"water for ship {turn}")
        begun = perf_counter()
        now = session.compose(budget)
        seconds.append(perf_counter() - begun)
        shares.append(_shared(session, _blocks(before), _blocks(now)))
        fixed.append(
            _shared(session, _blocks(before)[: -len(before.tail) or None], _blocks(now)[: -len(now.tail) or None])
        )
        before = now
    return Lived(sum(shares) / turns, sum(fixed) / turns, Counted.drawn / turns, seconds, before.tokens)


def _filled(session: Session, number: int) -> str:
    window = session.windows.open("counted")
    for item in range(ITEMS):
        session.windows.act(window, "add", text=f"list {number}: rope {item}, {item * 3} metres")
    return window


def _blocks(payload: Payload) -> list[Message]:
    return [*_fixed(payload), *payload.tail]


def _fixed(payload: Payload) -> list[Message]:
    """Head and body."""
    return [*payload.system, *payload.body]


def _shared(session: Session, before: list[Message], now: list[Message]) -> float:
    """Return the tokens of the blocks that both payloads begin with, as a share of the later payload."""
    sizes = [session.count(plain_text(message.parts)) for message in now]
    same = next(
        (at for at, (one, other) in enumerate(zip(before, now, strict=False)) if one != other),
        min(len(before), len(now)),
    )
    return sum(sizes[:same]) / sum(sizes)
