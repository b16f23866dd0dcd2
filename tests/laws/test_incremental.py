"""Law 7: work per turn is proportional to what is new and what is shown, never to the history.

No clocks: what is counted are lines of the engine carried out, lines read from the store, and texts counted.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest
from tests.conftest import SOAK

import sightline
from sightline.log import entries
from sightline.log.levels import Reader
from sightline.log.stores import Span
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call

ENGINE = str(Path(sightline.__file__).parent)
SHORT, LONG = 50, 2_000 if SOAK else 500
ROOM = Budget(10_000_000)
DECODE, ITEMS_OF = entries.decode, entries.items_of


class CountingStore(MemoryStore):
    """Knows how many lines were read back."""

    reads = 0

    def read_many(self, spans: Sequence[Span]) -> list[bytes]:
        """Some lines."""
        self.reads += len(spans)
        return super().read_many(spans)


class CountingCounter(WordCounter):
    """Knows how many texts were counted."""

    texts = 0

    def count(self, text: str) -> int:
        """One text."""
        self.texts += 1
        return super().count(text)


class Work(NamedTuple):
    """What one step took."""

    lines: int  # of the engine's source that were carried out, again for each round of a loop
    reads: int
    texts: int
    shown: int  # rows that were rendered


class Bench:
    """A session whose work is counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store, self.counter = CountingStore("counted"), CountingCounter()
        self.session = Session(self.store, token_counter=self.counter, clock=Ticking(), ids=numbered_ids())
        self._shown = 0
        parts = Reader.parts

        def counted(reader: Reader, *args: Any) -> Any:
            self._shown += 1
            return parts(reader, *args)

        monkeypatch.setattr(Reader, "parts", counted)

    def work(self, step: Callable[[], object]) -> Work:
        """What this step takes."""
        before = self.store.reads, self.counter.texts, self._shown
        with traced() as lines:
            step()
        return Work(lines[0], self.store.reads - before[0], self.counter.texts - before[1], self._shown - before[2])

    def turn(self, number: int, words: int = 5) -> None:
        """A question, a call, its result."""
        self.session.user(f"question {number} about part {number % 7}")
        self.session.assistant([Call(f"c{number}", "bash", {"command": f"run {number}"})])
        self.session.tool_result(f"c{number}", " ".join(f"w{number}x{n}" for n in range(words)))


@contextmanager
def traced() -> Iterator[list[int]]:
    """Counts the engine's lines as they are carried out."""
    lines = [0]

    def on_line(frame: FrameType, event: str, _: object) -> Any:
        lines[0] += event == "line"
        return on_line

    def on_call(frame: FrameType, _: str, __: object) -> Any:
        return on_line if frame.f_code.co_filename.startswith(ENGINE) else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        yield lines
    finally:
        sys.settrace(before)


def after(turns: int, monkeypatch: pytest.MonkeyPatch, *, words: int = 5, budget: Budget = ROOM) -> Bench:
    """A session with a history of so many turns, the last of which the model has seen."""
    bench = Bench(monkeypatch)
    for number in range(turns):
        bench.turn(number, words)
    bench.session.compose(budget)
    bench.turn(turns, words)
    bench.session.compose(budget)
    return bench


def test_a_call_between_sweeps_touches_only_new_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Composing after one more turn takes the same work after fifty turns and after many."""
    works = []
    for turns in (SHORT, LONG):
        bench = after(turns, monkeypatch)
        bench.turn(turns + 1)
        works.append(bench.work(lambda bench=bench: bench.session.compose(ROOM)))  # type: ignore[misc]
    short, long = works
    assert (long.reads, long.texts, long.shown) == (short.reads, short.texts, short.shown)
    assert long.shown <= 4
    assert long.lines <= short.lines + 20


@pytest.mark.slow
def test_what_is_said_is_taken_in_alike_after_any_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Appending a turn takes the same work after fifty turns and after many."""
    short, long = (
        bench.work(lambda bench=bench: bench.turn(9_999))  # type: ignore[misc]
        for bench in (after(turns, monkeypatch) for turns in (SHORT, LONG))
    )
    assert (long.reads, long.texts) == (short.reads, short.texts)
    assert long.lines <= short.lines * 1.1


@pytest.mark.slow
def test_a_preview_costs_what_a_call_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking ahead takes work for what is new, and the call after it no more than without."""
    works = []
    for turns in (SHORT, LONG):
        bench = after(turns, monkeypatch)
        bench.turn(turns + 1)
        ahead = bench.work(lambda bench=bench: bench.session.preview(ROOM))  # type: ignore[misc]
        call = bench.work(lambda bench=bench: bench.session.compose(ROOM))  # type: ignore[misc]
        works.append((ahead, call))
    for short, long in zip(*works, strict=True):
        assert (long.reads, long.texts, long.shown) == (short.reads, short.texts, short.shown)
        assert long.lines <= short.lines + 20


@pytest.mark.slow
def test_a_call_after_sweeps_touches_only_new_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where most of the history is left out, a call that sweeps nothing takes work for what is new."""
    budget = Budget(4_000, recall=0.0)
    works = []
    for turns in (150, 600) if SOAK else (60, 180):
        bench = Bench(monkeypatch)
        for number in range(turns):
            bench.turn(number, words=150)
            bench.session.compose(budget)
        number = turns
        while True:  # on to a call that sweeps nothing
            bench.turn(number, words=150)
            number += 1
            work = bench.work(lambda bench=bench: bench.session.compose(budget))  # type: ignore[misc]
            receipt = bench.session.receipt
            assert receipt is not None
            if not receipt.reason:
                break
        works.append(work)
    short, long = works
    assert (long.reads, long.texts, long.shown) == (short.reads, short.texts, short.shown)
    assert long.lines <= short.lines + 20


@pytest.mark.slow
def test_a_sweep_weighs_what_is_shown_not_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep late in a long session takes no more work for each unit it shows than an early one."""
    budget = Budget(1_500, recall=0.0)
    bench = Bench(monkeypatch)
    sweeps: list[tuple[float, float]] = []
    for number in range(400 if SOAK else 200):
        bench.turn(number, words=150)
        work = bench.work(lambda: bench.session.compose(budget))
        receipt, payload = bench.session.receipt, bench.session._composer.payload
        assert receipt is not None
        assert payload is not None
        if receipt.reason.startswith("sweep"):
            sweeps.append((work.lines / len(payload.plan), work.shown / len(payload.plan)))
    early, late = sweeps[20:30], sweeps[-10:]  # by then most of the history is left out
    assert max(lines for lines, _ in late) <= 1.5 * max(lines for lines, _ in early)
    assert max(shown for _, shown in late) <= max(shown for _, shown in early)


@pytest.mark.slow
@pytest.mark.parametrize("answered", ["not", "in order", "backwards", "one by one"])
def test_each_call_of_a_message_is_decoded_a_few_times(monkeypatch: pytest.MonkeyPatch, answered: str) -> None:
    """Four times the calls in one large message take four times the work, although each is looked at by itself."""
    works = []
    for calls in (100, 400):
        bench, decoded = Bench(monkeypatch), [0, 0]

        def items_of(entry: Any, decoded: list[int] = decoded) -> Any:
            items = ITEMS_OF(entry)
            decoded[0] += len(items)
            return items

        def decode(line: bytes, decoded: list[int] = decoded) -> Any:
            decoded[1] += len(line)
            return DECODE(line)

        monkeypatch.setattr("sightline.log.entries.items_of", items_of)
        monkeypatch.setattr("sightline.log.entries.decode", decode)
        results = [{"role": "tool", "tool_call_id": f"c{n}", "content": f"done {n}"} for n in range(calls)]
        commands = [f'{{"command": "run {n} {"x" * 700}"}}' for n in range(calls)]
        made = [
            {"id": f"c{n}", "type": "function", "function": {"name": "bash", "arguments": each}}
            for n, each in enumerate(commands)
        ]
        messages: list[Any] = [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": None, "tool_calls": made},
            *{"in order": results, "backwards": results[::-1]}.get(answered, []),
        ]

        def step(bench: Bench = bench, messages: list[Any] = messages, last: int = calls) -> None:
            bench.session.extend(messages)
            for number in range(last if answered == "one by one" else 0):
                bench.session.tool_result(f"c{number}", f"done {number}")
            bench.session.user("And now?")
            bench.session.compose(Budget(2_000, output=200))

        works.append((bench.work(step).lines, *decoded))
    for small, large in zip(*works, strict=True):
        assert large <= 5 * small
