"""AsyncSession: the surface of Session, awaited; in order, finished when cancelled, and nothing slow on the loop."""

import asyncio
import inspect
import os
import threading
from pathlib import Path

import pytest

from sightline import AsyncSession, BadInput, Budget, MemoryStore, Session
from sightline.session import async_session
from sightline.session.items import Items
from sightline.session.summaries import Summaries
from sightline.testing import ScriptedModel, calling

ROOM = Budget(4_000)
CALL = calling(("look", {"at": "the sea"}))


def test_it_has_the_surface_of_a_session() -> None:
    """Every public method is there, with the same parameters; what a session reads from disk is a method too."""
    left_out = {"inspect", "branches", "repairs", "size", "damaged", "strategy"}  # `session.session` has them
    pairs = ((Session, AsyncSession, left_out), (Items, async_session.AsyncItems, {"faults", "row", "mark"}),
             (Summaries, async_session.AsyncSummaries, {"close", "wait"}))  # fmt: skip
    for plain, awaited, without in pairs:
        public = {name for name in vars(plain) if not name.startswith("_")}
        assert public - without <= {name for name in dir(awaited) if not name.startswith("_")}
    assert inspect.signature(AsyncSession.compose) == inspect.signature(Session.compose)
    assert inspect.signature(async_session.AsyncSummaries.compact) == inspect.signature(Summaries.compact)


def test_a_turn(tmp_path: Path) -> None:
    async def run() -> None:
        async with await AsyncSession.new(tmp_path, root=tmp_path, session_id="s") as session:
            await session.system("Be brief.")
            await session.user("What is the sea like?")
            await session.compose(ROOM)
            await session.reply(CALL)
            (call,) = await session.open_calls()
            await session.tool_result(call.id, "calm")
            payload = await session.compose(ROOM)
            answer = await session.reply("Calm.")
            assert await session.items.text(answer) == "Calm."
            assert [found.text for found in await session.items.search("calm")]
            assert all(each.good for each in await session.receipts.verify())
            branch = await session.fork(answer)
            assert branch.branch != session.branch
            await branch.close()
        async with await AsyncSession.resume("s", tmp_path, root=tmp_path) as session:
            assert (await session.preview(ROOM)).tokens > payload.tokens
            with pytest.raises(BadInput):
                await session.configure(colour="blue")

    asyncio.run(run())


def test_calls_of_one_session_are_in_order() -> None:
    """Also if nobody waits for one before the next is made."""

    async def run() -> list[str]:
        session = AsyncSession(Session(MemoryStore("s")))
        await asyncio.gather(*(session.user(f"message {number}") for number in range(50)))
        return [session.session.items.text(item.id) for item in await session.items.all()]

    assert asyncio.run(run()) == [f"message {number}" for number in range(50)]


def test_what_was_begun_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancelled call ends with its work, and the next one waits for it."""
    begun, go_on = threading.Event(), threading.Event()
    user = Session.user

    def slow(self: Session, content: str) -> str:
        begun.set()
        go_on.wait()
        return user(self, content)

    async def run() -> list[str]:
        session = AsyncSession(Session(MemoryStore("s")))
        monkeypatch.setattr(async_session.AsyncSession, "slow", async_session._awaitable(slow), raising=False)
        task = asyncio.create_task(session.slow("first"))  # type: ignore[attr-defined]
        await asyncio.to_thread(begun.wait)
        later = asyncio.create_task(session.user("second"))
        task.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await later
        return [session.session.items.text(item.id) for item in await session.items.all()]

    assert asyncio.run(run()) == ["first", "second"]


def test_nothing_slow_runs_on_the_loop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Syncs, searches and counts: each is seen in a worker only."""
    threads: dict[str, set[str]] = {}

    def watched(owner: object, name: str) -> None:
        original = getattr(owner, name)

        def run(*args: object, **kwargs: object) -> object:
            threads.setdefault(name, set()).add(threading.current_thread().name)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, run)

    from sightline.recall.search.index import SearchIndex
    from sightline.values.tokens import Exact

    watched(os, "fsync")
    watched(Exact, "count")
    watched(SearchIndex, "answers")

    async def run() -> None:
        async with await AsyncSession.new(tmp_path, root=tmp_path, session_id="s") as session:
            for number in range(20):
                await session.user(f"What is pier {number} like? " + "It is long. " * 40)
                await session.compose(Budget(1_500))
                await session.reply(f"Pier {number} is fine. " * 20)

    asyncio.run(run())
    assert threads.keys() == {"fsync", "count", "answers"}
    assert all(name.startswith("sightline session") for names in threads.values() for name in names)


@pytest.mark.parametrize("awaited", [False, True])
def test_an_agent_takes_either(awaited: bool) -> None:
    from sightline.agent.agent import Agent

    async def run() -> str:
        session = Session(MemoryStore("s"))
        agent = Agent(AsyncSession(session) if awaited else session, ScriptedModel(["It is calm."]))
        return (await agent.query("What is the sea like?")).text

    assert asyncio.run(run()) == "It is calm."
