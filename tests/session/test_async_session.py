"""AsyncSession: the surface of Session, awaited; in order, finished when cancelled, and nothing slow on the loop."""

import asyncio
import gc
import inspect
import os
import threading
import weakref
from functools import partial
from pathlib import Path

import pytest

from sightline import AsyncSession, BadInput, Budget, MemoryStore, Session
from sightline.apps.host import Host
from sightline.session import async_session
from sightline.session.items import Items
from sightline.session.receipts import Receipts
from sightline.session.summaries import Summaries
from sightline.testing import ScriptedModel, calling
from sightline.values.items import Item

ROOM = Budget(4_000)
CALL = calling(("look", {"at": "the sea"}))


def test_it_has_the_surface_of_a_session() -> None:
    """Every public name is there, with the same parameters; what is read from the log is a method too."""
    pairs: tuple[tuple[type, type, set[str]], ...] = (
        (Session, AsyncSession, set()),
        (Items, async_session.AsyncItems, {"row", "mark"}),  # of the log's columns: the session's own
        (Summaries, async_session.AsyncSummaries, {"close"}),  # the session does it
        (Receipts, async_session.AsyncReceipts, set()),
        (Host, async_session.AsyncWindows, set()),
    )
    for plain, awaited, without in pairs:
        public = {name for name in vars(plain) if not name.startswith("_")}
        assert public - without <= {name for name in dir(awaited) if not name.startswith("_")}
        assert hasattr(plain, "__iter__") == hasattr(awaited, "__aiter__")
        assert not hasattr(plain, "__len__") or hasattr(awaited, "count")
    assert inspect.signature(AsyncSession.compose) == inspect.signature(Session.compose)
    assert inspect.signature(async_session.AsyncSummaries.compact) == inspect.signature(Summaries.compact)


@pytest.mark.slow
def test_what_is_read_and_what_is_gone_through() -> None:
    """Facts of the log are awaited, and collections are gone through with `async for`, as those of `Session`."""
    plain = Session(MemoryStore("s"))
    session = AsyncSession(plain)

    async def run() -> None:
        for number in range(300):
            await session.user(f"message {number}")
        await session.compose(ROOM)
        await session.summaries.compact(ROOM)
        await session.summaries.wait(1)
        assert [item.id async for item in session.items] == [item.id for item in plain.items]
        assert [each async for each in session.receipts] == list(plain.receipts)
        assert [each async for each in session.summaries] == list(plain.summaries)
        assert await session.items.count() == len(plain.items) > 300
        assert await session.receipts.count() == len(plain.receipts) == 1
        assert await session.receipts.damaged_lines() == []
        assert await session.items.faults() == plain.items.faults
        assert await session.branches() == plain.branches
        assert await session.size() == plain.size
        assert await session.windows.get("nothing") is None

    asyncio.run(run())


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
            branch = await session.fork(answer, name="try-out")
            assert (session.branch, branch.branch) == ("", "try-out")
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


@pytest.mark.slow
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


def test_a_session_outlives_its_loop() -> None:
    """Calls meet on one loop, then on another; a loop that is closed while a call runs leaves nothing waiting."""
    session = AsyncSession(Session(MemoryStore("s")))

    async def meet() -> None:
        await asyncio.gather(*(session.user("Hello.") for _ in range(5)))

    asyncio.run(meet())
    asyncio.run(meet())
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        go_on.wait(10)

    loop = asyncio.new_event_loop()
    left = loop.create_task(session._worker.run(slow))
    loop.run_until_complete(asyncio.sleep(0))
    assert begun.wait(10)
    loop.close()
    go_on.set()
    asyncio.run(asyncio.wait_for(meet(), 10))
    assert not left.done()
    left._log_destroy_pending = False  # type: ignore[attr-defined]
    assert len(session.session.items) == 15


@pytest.mark.slow
def test_what_a_call_returned_is_freed_with_its_last_holder() -> None:
    """No call leaves a cycle: neither its result nor its error waits for a collection, which would stop the loop."""

    class Kept:
        """What a call returns, or what an error holds."""

    session, seen = AsyncSession(Session(MemoryStore("s"))), []

    def work(fails: bool) -> Kept:
        kept = Kept()
        seen.append(weakref.ref(kept))
        if fails:
            raise ValueError(kept)
        return kept

    async def call() -> None:
        assert isinstance(await session._worker.run(partial(work, False)), Kept)
        with pytest.raises(ValueError, match="Kept"):
            await session._worker.run(partial(work, True))
        for _ in range(100):  # the thread lets go of a job after it has told the loop
            if not any(each() for each in seen):
                return
            await asyncio.sleep(0.01)

    gc.collect()
    gc.disable()
    try:
        asyncio.run(call())
    finally:
        gc.enable()
    assert [each() for each in seen] == [None, None]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    """A session that was used before the fork works in the child."""
    session = AsyncSession(Session(MemoryStore("s")))
    asyncio.run(session.user("before"))
    if (child := os.fork()) == 0:
        try:
            asyncio.run(asyncio.wait_for(session.user("after"), 10))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("how", ["new", "resume", "open", "inspect", "fork"])
def test_what_nobody_receives_is_closed(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is cancelled after it has begun closes the session that it made."""
    begun, go_on = threading.Event(), threading.Event()
    closed: list[Session] = []
    original, close = getattr(Session, how), Session.close

    def slow(*args: object, **options: object) -> object:
        begun.set()
        go_on.wait(10)
        return original(*args, **options)

    def closing(session: Session) -> None:
        closed.append(session)
        close(session)

    first = Session.new(tmp_path, root=tmp_path, session_id="s")
    item = first.user("Hello.")
    first.flush()
    monkeypatch.setattr(Session, how, slow)
    monkeypatch.setattr(Session, "close", closing)

    async def run() -> None:
        if how == "fork":
            task = asyncio.create_task(AsyncSession(first).fork(item))
        else:
            name = ("s",) if how in ("resume", "inspect") else ()
            task = asyncio.create_task(getattr(AsyncSession, how)(*name, tmp_path, root=tmp_path))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert len(closed) == 1
    close(first)


def test_an_agent_reads_no_item_on_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a tool returned is read from the log in a thread."""
    from sightline.agent.agent import Agent

    threads, get = set(), Items.__getitem__

    def watched(self: Items, item_id: str | int) -> Item:
        threads.add(threading.current_thread())
        return get(self, item_id)

    def look(at: str) -> str:
        """Look."""
        return at

    async def run() -> None:
        agent = Agent(AsyncSession(Session(MemoryStore("s"))), ScriptedModel([CALL, "It is calm."]), tools=[look])
        await agent.query("What is the sea like?")

    monkeypatch.setattr(Items, "__getitem__", watched)
    asyncio.run(run())
    assert threads
    assert threading.main_thread() not in threads
