"""Applications within a server: made once, kept while they are used, closed when they are not, never too many."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette

from sightline.errors import StoreError
from sightline.server.applications import Applications, TooManyApplications


class Made:
    """Notes which applications were begun and ended."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.streams: list[str] = []
        self.fails = 0

    async def make(self, tenant: str) -> Starlette:
        """Make one, which takes a while."""
        await asyncio.sleep(0)
        if self.fails:
            self.fails -= 1
            raise StoreError("the database is away")

        @asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            self.begun.append(tenant)
            task = asyncio.current_task()
            yield
            assert asyncio.current_task() is task  # what a lifespan begins may have to end in the same task
            self.ended.append(tenant)

        app = Starlette(lifespan=lifespan)
        app.state.end_streams = lambda: self.streams.append(tenant)
        return app


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run it, for a minute at most."""
    asyncio.run(asyncio.wait_for(work, 60))


def test_requests_at_once_make_one_application() -> None:
    """And the next request gets the same."""

    async def work() -> None:
        made = Made()
        applications: Applications[str] = Applications(made.make)

        async def ask() -> Starlette:
            async with applications.use("one") as app:
                await asyncio.sleep(0)
                return app

        first = await asyncio.gather(*(ask() for _ in range(50)))
        assert {*first, await ask()} == {first[0]}
        assert (made.begun, made.ended) == (["one"], [])
        await applications.close()
        assert made.ended == ["one"]

    run(work())


def test_one_that_nobody_uses_is_closed_and_made_again() -> None:
    """A request that still runs, such as a stream, keeps it open however long it takes."""

    async def work() -> None:
        made = Made()
        applications: Applications[str] = Applications(made.make, idle_seconds=0.01)
        async with applications.use("stream"):
            async with applications.use("one"):
                pass
            while made.ended != ["one"]:
                await asyncio.sleep(0.001)
            async with applications.use("one"):
                assert made.begun == ["stream", "one", "one"]
        await applications.close()
        assert sorted(made.ended) == ["one", "one", "stream"]

    run(work())


def test_there_are_never_too_many() -> None:
    """The one that was used longest ago makes room; if all are in use, the next one is refused."""

    async def work() -> None:
        made = Made()
        applications: Applications[str] = Applications(made.make, most=2)
        for tenant in ("one", "two", "one", "three"):
            async with applications.use(tenant):
                pass
        while made.ended != ["two"]:
            await asyncio.sleep(0.001)
        async with AsyncExitStack() as stack:
            for tenant in ("one", "three"):
                await stack.enter_async_context(applications.use(tenant))
            with pytest.raises(TooManyApplications):
                await stack.enter_async_context(applications.use("four"))
            assert len(applications.open_now()) == 2
        async with applications.use("four"):
            pass
        await applications.close()
        assert len(made.ended) == len(made.begun) == 4

    run(work())


def test_one_that_cannot_be_made_is_tried_again() -> None:
    """All who wait are told why, and the next request tries anew."""

    async def work() -> None:
        made = Made()
        made.fails = 1
        applications: Applications[str] = Applications(made.make)

        async def ask() -> None:
            async with applications.use("one"):
                pass

        answers = await asyncio.gather(ask(), ask(), return_exceptions=True)
        assert [type(each) for each in answers] == [StoreError, StoreError]
        await ask()
        assert made.begun == ["one"]
        await applications.close()

    run(work())


def test_a_server_that_stops_ends_streams() -> None:
    """Those in use are closed too: their requests were given their time before."""

    async def work() -> None:
        made = Made()
        applications: Applications[str] = Applications(made.make)
        async with applications.use("one"):
            applications.end_streams()
            assert made.streams == ["one"]
            async with applications.use("two"):  # for a request that was on its way
                assert made.streams == ["one", "two"]
            await applications.close()
            assert sorted(made.ended) == ["one", "two"]
            with pytest.raises(TooManyApplications):
                async with applications.use("three"):
                    pass

    run(work())
