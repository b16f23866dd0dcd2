"""Composing, sweeping, a giant result, importing: how long they take, and how long the peers take for the like."""

import gc
import sys
from collections.abc import Callable, Sequence
from itertools import count
from time import process_time
from typing import NamedTuple

from msgspec.structs import replace

from benchmarks.environment import Missing, Peers, fresh, python
from benchmarks.histories import agent_stream
from benchmarks.measure import (
    Row,
    Spread,
    alone,
    beyond_n_log_n,
    noise,
    seconds_text,
    spread,
    spread_text,
    times,
    times_text,
)
from benchmarks.sessions import BUDGET, Stored, in_memory, questions
from sightline.log.stores.memory import MemoryStore
from sightline.plan.plan import Plan
from sightline.plan.strategies.focus import Focus
from sightline.plan.view import View, body_unit
from sightline.session.session import Session

TURNS = 60  # composes between sweeps that are timed
STEP_TARGET = 0.25e-3
QUESTION_TARGET = 8e-3  # at 10,000 messages: a search is part of it
BYTES_TARGET = 0.6e-3  # of a payload of some 1,150 messages, after one more
GROWTH_TARGET = 1.5  # of 100,000 messages against 1,000
PEER_TARGET = 100.0
SWEEP_TARGET = 50e-3
SWEEP_UNITS = (2_500, 5_000, 10_000, 20_000)
GIANT = 10_000_000
GIANT_TARGET = 0.1
IMPORT_TARGET, SESSION_TARGET = 0.15, 0.12


# ---------------------------------------------------------------------- composing the next turn, warm


class Warm(NamedTuple):
    """Composes of one session between sweeps."""

    seconds: Spread
    sweeps: int  # that happened meanwhile and are not counted


def step(session: Session, number: int) -> None:
    """Add a small step of an agent: one call and its result."""
    call = {"id": f"bench_{number}", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    session.reply({"role": "assistant", "content": None, "tool_calls": [call]})
    session.tool_result(f"bench_{number}", f"{number} lines, nothing unusual")


def question(session: Session, number: int) -> None:
    """Add a small user turn: an answer and the next message, which triggers a recall."""
    session.reply(f"Done, see line {number} of the report.")
    session.user(questions()[number % len(questions())])


def warm(session: Session, turn: Callable[[Session, int], None], *, write: bool = False) -> Warm:
    """Time `compose` turn by turn, until there are enough times without a sweep; or writing its payload as bytes."""
    samples: list[float] = []
    sweeps = 0
    for number in count():
        turn(session, number)
        begun = process_time()
        payload = session.compose(BUDGET)
        if write:
            begun = process_time()
            payload.json("openai")
        taken = process_time() - begun
        if payload.plan.reason:
            sweeps += 1
        else:
            samples.append(taken)
        if len(samples) == TURNS or sweeps == TURNS:
            break
    return Warm(spread(samples), sweeps)


class Composed(NamedTuple):
    """What composing one session took."""

    first: float  # seconds; indexes are built by it
    step: Warm
    question: Warm
    as_bytes: Warm
    openai: Spread
    shown: int  # messages


def compose_all(log: Stored) -> Composed:
    """Compose the next turns of a session, of each kind."""
    session = in_memory(log)
    session.user(questions()[-1])
    first = times(lambda: session.compose(BUDGET), 1)[0]
    gc.collect()
    step_, question_, as_bytes = warm(session, step), warm(session, question), warm(session, step, write=True)
    payload = session.compose(BUDGET)
    return Composed(first, step_, question_, as_bytes, spread(times(payload.openai, 20)), len(payload.body))


def composing(logs: Sequence[Stored], peers: Peers, say: Callable[[str], None]) -> list[Row]:
    """Measure composing the next turn: ours by size and kind of turn, `payload.openai()`, and the peers'."""
    topic = "composing the next turn, warm"
    rows: list[Row] = []
    composed: dict[int, Composed] = {}
    for log in logs:
        say(f"composing at {log.messages:,} messages")
        composed[log.messages] = found = alone(compose_all, log)
        size, shown = f"{log.messages:,}", f"{found.shown:,} messages shown"
        rows += [
            Row(topic, f"{size}: first compose, indexes built", seconds_text(found.first), found.first),
            _warm_row(topic, f"{size}: after an agent's step", found.step, STEP_TARGET),
            _warm_row(topic, f"{size}: after a user's message", found.question, QUESTION_TARGET),
            Row(topic, f"{size}: payload.openai()", spread_text(found.openai), found.openai.median, note=shown),
            _bytes_row(topic, log.messages, found.as_bytes, shown),
        ]
    rows += _growth(topic, "step", {size: found.step.seconds.median for size, found in composed.items()})
    rows += _growth(topic, "user's message", {size: found.question.seconds.median for size, found in composed.items()})
    for log in logs:
        say(f"peers at {log.messages:,} messages")
        ours = {"an agent's step": composed[log.messages].step, "a user's message": composed[log.messages].question}
        rows += _peers_composing(topic, log.messages, ours, peers)
    return rows


def _warm_row(topic: str, what: str, found: Warm, target: float) -> Row:
    median = found.seconds.median
    note = f"{found.sweeps} sweeps not counted" if found.sweeps else ""
    met, text = median <= target, f"≤ {seconds_text(target)}"
    return Row(topic, what, spread_text(found.seconds), median, text, met, times_text(median / target), note)


def _bytes_row(topic: str, messages: int, found: Warm, note: str) -> Row:
    median = found.seconds.median
    target, met = ("≤ 0.6 ms", median <= BYTES_TARGET) if messages == 10_000 else ("", None)
    what = f"{messages:,}: payload as bytes, after one more message"
    return Row(topic, what, spread_text(found.seconds), median, target, met, note=note)


def _growth(topic: str, what: str, medians: dict[int, float]) -> list[Row]:
    largest = max(medians)
    if largest <= 1000 or 1000 not in medians:
        return []
    ratio = medians[largest] / medians[1000]
    target, met = (f"≤ {GROWTH_TARGET}×", ratio <= GROWTH_TARGET) if largest == 100_000 else ("", None)
    name = f"{largest:,} against 1,000 messages, {what}"
    return [Row(topic, name, times_text(ratio), ratio, target, met)]


def _peers_composing(topic: str, messages: int, ours: dict[str, Warm], peers: Peers) -> list[Row]:
    repeats = 3 if messages > 10_000 else 7
    requests = {
        "LangChain trim_messages": ("trim", {"messages": messages, "tokens": 120_000, "repeats": repeats}),
        "LangChain ContextEditingMiddleware, below its trigger": ("edit", {"messages": messages, "repeats": repeats}),
    }
    rows = []
    for name, (do, arguments) in requests.items():
        what = f"{messages:,}: {name}"
        try:
            found = spread(peers.ask(do, **arguments))
        except Missing as missing:
            rows.append(Row(topic, what, "missing", note=str(missing)))
            continue
        rows += [_against(topic, what, found, turn, each, promised=messages == 10_000) for turn, each in ours.items()]
    return rows


def _against(topic: str, what: str, peer: Spread, turn: str, ours: Warm, *, promised: bool) -> Row:
    """Compare a peer's time to compose with ours after one kind of turn."""
    ratio = peer.median / ours.seconds.median
    target, met = (f"≥ {PEER_TARGET:.0f}× ours", ratio >= PEER_TARGET) if promised else ("", None)
    return Row(topic, what, spread_text(peer), peer.median, target, met, times_text(ratio), f"ours after {turn}")


# ---------------------------------------------------------------------- a full sweep


class _Watching:
    """The default strategy, and the last view it was given."""

    name = "focus"

    def __init__(self) -> None:
        self.view: View | None = None

    def plan(self, view: View) -> Plan:
        self.view = view
        return Focus().plan(view)


def sweeping(log: Stored) -> list[Row]:
    """Measure a sweep over the first units of a long log: only the plan, from columns in memory; nothing is written."""
    topic, watching = "a full sweep", _Watching()
    with log.resumed(strategy=watching) as session:
        session.preview(BUDGET)
        assert watching.view is not None
        timeline = watching.view.timeline
        units = [unit for unit in range(len(timeline.unit_row)) if body_unit(timeline, unit)]
        sizes = [size for size in SWEEP_UNITS if size <= len(units)]
        medians, rows = [], []
        for size in sizes:
            view = replace(watching.view, last=None, new=units[:size], asked=units[size - 1], command="sweep: bench")
            found = spread(times(lambda view=view: Focus().plan(view), 7))  # type: ignore[misc]
            medians.append(found.median)
            target, met = ("< 50 ms", found.median < SWEEP_TARGET) if size == 10_000 else ("", None)
            rows.append(Row(topic, f"{size:,} units", spread_text(found), found.median, target, met))
    if len(sizes) < len(SWEEP_UNITS):
        rows.append(
            Row(topic, "larger sweeps", "missing", note=f"the log has {len(units):,} units; run without --quick")
        )
    if len(sizes) > 1:
        ratio = beyond_n_log_n(sizes, medians)
        what = f"growth from {sizes[0]:,} to {sizes[-1]:,} units, against n log n"
        rows.append(Row(topic, what, times_text(ratio), ratio, "≤ 1.5×", ratio <= 1.5))
    return rows


# ---------------------------------------------------------------------- a giant result, and importing


def giant_text(size: int) -> str:
    """Return the tool results of a long run, joined, up to this many characters."""
    pieces, taken = [], 0
    for message in agent_stream(1_000_000):
        if message["role"] == "tool":
            pieces.append(message["content"])
            taken += len(message["content"])
            if taken >= size:
                break
    return "".join(pieces)[:size]


def giant() -> list[Row]:
    """Measure adding a tool result of 10 MB, and composing it within the token budget."""
    topic, text = "a tool result of 10 MB", giant_text(GIANT)
    appended, composed, tokens = [], [], 0
    for _ in range(5):
        session = Session(MemoryStore("giant"))
        session.user("Show me everything.")
        session.compose(BUDGET)
        call = {"id": "all", "type": "function", "function": {"name": "get_all", "arguments": "{}"}}
        session.reply({"role": "assistant", "content": None, "tool_calls": [call]})
        appended += times(lambda session=session: session.tool_result("all", text), 1)  # type: ignore[misc]
        composed += times(lambda session=session: session.compose(BUDGET), 1)  # type: ignore[misc]
        tokens = session.preview(BUDGET).tokens
    taking, composing = spread(appended), spread(composed)
    met = composing.median <= GIANT_TARGET
    return [
        Row(topic, "append", spread_text(taking), taking.median),
        Row(
            topic, "compose", spread_text(composing), composing.median, "≤ 0.1 s", met,
            times_text(composing.median / GIANT_TARGET), f"{tokens:,} tokens sent",
        ),
    ]  # fmt: skip


IMPORT = """
import json, sys, time
begun, before = time.process_time(), set(sys.modules)
{work}
print(json.dumps([time.process_time() - begun, len(set(sys.modules) - before)]))
"""


def importing() -> list[Row]:
    """Measure the CPU time of importing in fresh processes."""
    topic, session = "importing", "from sightline import Session"
    rows = [
        _imported(topic, "import sightline", sys.executable, "import sightline", IMPORT_TARGET),
        _imported(topic, "import sightline, and its Session", sys.executable, session, SESSION_TARGET),
    ]
    if python().exists():
        rows += [
            _imported(topic, "langchain.agents", str(python()), "import langchain.agents"),
            _imported(topic, "agents (OpenAI Agents SDK)", str(python()), "import agents"),
        ]
    return rows


def _imported(topic: str, what: str, interpreter: str, work: str, target: float | None = None) -> Row:
    try:
        runs = [fresh(interpreter, IMPORT.format(work=work)) for _ in range(11)][1:]  # the first one compiles
    except Missing as missing:
        return Row(topic, what, "missing", note=str(missing))
    found, modules = spread([seconds for seconds, _ in runs]), runs[0][1]
    met = None if target is None else found.median < target
    text = "" if target is None else f"< {seconds_text(target)}"
    return Row(topic, what, spread_text(found), found.median, text, met, note=f"{modules} modules")


def machine() -> Row:
    """Measure how much this machine's times vary by themselves right now."""
    found = noise()
    what = "noise: the same fixed work, repeated"
    return Row("the machine", what, spread_text(found), found.median, ratio=times_text(found.high / found.low))
