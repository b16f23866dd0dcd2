"""The open sessions of a server: opened once, shared, closed when nobody uses them."""

import asyncio
from pathlib import Path

import pytest
from rest_server import converse

from sightline import MemoryStores
from sightline.errors import BadInput, SessionClosed, SessionNotFound
from sightline.server.events import Hub
from sightline.server.sessions import InUse, OpenSessions


def test_a_branch_is_opened_once_for_all(project: Path) -> None:
    """Many at once get the same object; another branch is another; unknown ones are not opened."""

    async def run() -> None:
        sessions = OpenSessions(project)
        many = await asyncio.gather(*(sessions.get("talk") for _ in range(20)), sessions.get("talk", None))
        assert len(set(map(id, many))) == 1
        fork = await sessions.adopt(await many[0].fork("3", name="other"))
        assert await sessions.get("talk", "other") is fork
        assert await sessions.get("talk", None) is fork
        assert sessions.names() == [("talk", ""), ("talk", "other")]
        with pytest.raises(SessionNotFound):
            await sessions.get("none")
        with pytest.raises(BadInput):
            await sessions.get("talk", "nowhere")
        assert len(sessions.names()) == 2
        await sessions.close()
        assert sessions.names() == []
        with pytest.raises(SessionClosed):
            await sessions.get("talk")

    asyncio.run(run())


def test_so_many_are_open_at_a_time(project: Path) -> None:
    """The one that was unused for longest is closed first; those in use stay, also beyond the limit."""
    for number in range(3):
        converse(project, f"s{number}", turns=1, lines=1)

    async def run() -> None:
        sessions = OpenSessions(project, most=2)
        async with sessions.use("s0") as first:
            async with sessions.use("s1"), sessions.use("s2"):
                assert len(sessions.names()) == 3
            assert sessions.names() == [("s0", ""), ("s1", "")]  # s2 was unused while the others were in use
            await first.user("still open")
        async with sessions.use("s2"):
            pass
        assert sessions.names() == [("s0", ""), ("s2", "")]  # s0 was used after s1
        await sessions.close()

    asyncio.run(run())


def test_idle_sessions_are_closed_and_opened_again(project: Path) -> None:
    """What was written is there; a session in use is not idle."""

    async def run() -> None:
        sessions = OpenSessions(project, idle_seconds=0.01)
        async with sessions.use("talk") as session:
            await session.user("before it was closed")
            await asyncio.sleep(0.05)
            assert sessions.names() == [("talk", "")]
        while sessions.names():
            await asyncio.sleep(0.005)
        async with sessions.use("talk") as again:
            assert again is not session
            assert (await again.items.all())[-1].parts[0].text == "before it was closed"  # type: ignore[union-attr]
        await sessions.close()

    asyncio.run(run())


def test_sessions_are_created_and_deleted_in_any_store() -> None:
    """Each is told to who follows; one in use stays."""

    async def run() -> None:
        hub = Hub()
        sessions = OpenSessions(stores=MemoryStores(), hub=hub)
        events = hub.follow()
        next_event = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        made = await sessions.create("new")
        with pytest.raises(BadInput):
            await sessions.create("new")
        await made.user("Hi")
        async with sessions.use("new") as same:
            assert same is made
            with pytest.raises(InUse):
                await sessions.delete("new")
        await sessions.delete("new")
        first, second = await next_event, await anext(events)
        assert first is not None
        assert second is not None
        assert [first.event.kind, second.event.kind] == ["session_created", "session_deleted"]
        with pytest.raises(SessionNotFound):
            await sessions.get("new")
        await sessions.close()

    asyncio.run(run())
