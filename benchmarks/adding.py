"""Adding messages: one by one, a turn at a time, a whole history at once, and in 200 sessions of one event loop.

In CPU time, so that neither the disk nor other processes count.
"""

import asyncio
import gc
import tempfile
from asyncio import events
from collections.abc import Sequence
from pathlib import Path
from threading import get_ident
from time import process_time, thread_time

from benchmarks.histories import Message, agent_run, chat_turns
from benchmarks.measure import Row, Spread, seconds_text, spread, spread_text
from sightline.log.stores.memory import MemoryStore
from sightline.plan.view import Budget
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.values.tokens import counter
from sightline.wire import read_messages

MESSAGES = 600
TURNS, TURN_BYTES = 150, 4096
HISTORY = 10_000
SESSIONS, SESSION_TURNS = 200, 4
SMALL = Budget(window=32_000, output=2_000)
APPEND_TARGET = 0.35e-3
TURN_TARGET = {0.0: 1.5e-3, SMALL.recall: 5e-3}
EXTEND_TARGET = 4.5
LOOP_TARGET = 5e-3


def adding(root: Path) -> list[Row]:
    """Measure the ways in. `root`: where sessions are stored."""
    agent, chat = agent_run(MESSAGES), chat_turns(MESSAGES // 2, TURN_BYTES)
    counter().count("\n".join(str(message["content"]) for message in agent))  # loads the vocabulary
    return [
        *(_appended(root, kind, history) for kind, history in (("agent run", agent), ("chat", chat))),
        *(_turns(root, share) for share in TURN_TARGET),
        *_extended("agent run", agent_run(HISTORY)),
        *_extended("chat", chat_turns(HISTORY // 2, 1_000)),
        *_many(root),
    ]


def _stored(root: Path) -> Session:
    return Session.new(root, root=tempfile.mkdtemp(dir=root))


def _appended(root: Path, kind: str, history: Sequence[Message]) -> Row:
    samples = []
    with _stored(root) as session:
        for message in read_messages(history):
            begun = process_time()
            session.add(message)
            samples.append(process_time() - begun)
    mean = sum(samples) / len(samples)
    what = f"append a message of {'an' if kind[0] in 'ae' else 'a'} {kind}"
    return Row("adding", what, seconds_text(mean), mean, "≤ 0.35 ms", mean <= APPEND_TARGET, note="mean")


def _turns(root: Path, share: float) -> Row:
    history, samples = chat_turns(TURNS, TURN_BYTES), []
    budget = Budget(window=32_000, output=2_000, recall=share)
    with _stored(root) as session:
        for asked, answered in zip(history[::2], history[1::2], strict=True):
            begun = process_time()
            session.user(asked["content"])
            session.compose(budget)
            session.reply(answered["content"])
            samples.append(process_time() - begun)
    found, target = spread(samples[TURNS // 3 :]), TURN_TARGET[share]
    what = f"a durable turn: user, compose at 32,000 tokens, reply; {'with' if share else 'without'} recall"
    return _against_target(what, found, target)


def _extended(kind: str, history: Sequence[Message]) -> list[Row]:
    session = Session(MemoryStore("history"))
    begun = process_time()
    session.extend(history)
    extended = process_time()
    session.compose(SMALL)
    composed = process_time()
    session.reply("Fine.")
    session.user("And what did the tests say before that?")
    asked = process_time()
    session.compose(SMALL)
    next_turn, whole = process_time() - asked, composed - begun
    note = f"extend {seconds_text(extended - begun)}, compose {seconds_text(composed - extended)}"
    what = f"{len(history):,} messages of {'an' if kind[0] in 'ae' else 'a'} {kind}"
    return [
        Row(
            "adding",
            f"extend by {what} and the first compose at 32,000 tokens",
            seconds_text(whole),
            whole,
            "≤ 4.5 s",
            whole <= EXTEND_TARGET,
            note=note,
        ),
        Row("adding", f"the next user's message after {what}", seconds_text(next_turn), next_turn),
    ]


def _against_target(what: str, found: Spread, target: float) -> Row:
    return Row("adding", what, spread_text(found), found.median, f"≤ {seconds_text(target)}", found.median <= target)


# ---------------------------------------------------------------------- an event loop


def _many(root: Path) -> list[Row]:
    """Measure sessions that all take turns at once: the longest step of the loop's thread, and open files after it.

    Collections of garbage are part of the step in which they happen, because a user waits for them too. They are most
    of the longest one, so the note says how long it would be without them.
    """
    steps: list[float] = []
    collections: list[float] = []  # CPU time of each: when it began, then how long it was
    own: list[float] = []  # steps without their collections
    thread, history = get_ident(), chat_turns(SESSION_TURNS, TURN_BYTES)
    plain = events.Handle._run

    def timed(handle: events.Handle) -> None:
        collections.clear()
        begun = thread_time()
        plain(handle)
        steps.append(thread_time() - begun)
        own.append(steps[-1] - sum(collections))

    def watch(phase: str, _: object) -> None:
        if get_ident() == thread:
            now = thread_time()
            collections.append(now) if phase == "start" else collections.append(now - collections.pop())

    gc.collect()
    gc.freeze()  # what was measured before must not be collected in a step of the loop
    gc.callbacks.append(watch)
    events.Handle._run = timed  # type: ignore[method-assign]
    try:
        begun = process_time()
        descriptors = asyncio.run(_take_turns(root, history))
        taken = process_time() - begun
    finally:
        events.Handle._run = plain  # type: ignore[method-assign]
        gc.callbacks.remove(watch)
        gc.unfreeze()
    longest, topic = max(steps), f"{SESSIONS} sessions of one event loop at once"
    note = (
        f"{seconds_text(max(own))} without collections of garbage; {len(steps):,} steps; "
        f"{SESSIONS * SESSION_TURNS} turns took {seconds_text(taken)} of CPU in all threads"
    )
    return [
        Row(
            topic, "the longest step of the loop", seconds_text(longest), longest, "≤ 5 ms", longest <= LOOP_TARGET,
            note=note,
        ),
        Row(topic, "open files of an idle session", f"{descriptors:.2f}", descriptors, "1", descriptors <= 1),
    ]  # fmt: skip


async def _take_turns(root: Path, history: Sequence[Message]) -> float:
    """Let all sessions take their turns. Return the descriptors that each has open then."""
    before = _open_files()
    folder = tempfile.mkdtemp(dir=root)
    sessions = [await AsyncSession.new(root, root=folder) for _ in range(SESSIONS)]

    async def take_turns(session: AsyncSession) -> None:
        for asked, answered in zip(history[::2], history[1::2], strict=True):
            await session.user(asked["content"])
            await session.compose(SMALL)
            await session.reply(answered["content"])

    await asyncio.gather(*map(take_turns, sessions))
    descriptors = (_open_files() - before) / SESSIONS
    for session in sessions:
        await session.close()
    return descriptors


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
