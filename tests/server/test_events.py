"""Live events: who follows gets each once, in order, or is told that some were missed."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from rest_server import ROOM, SHOWS_TOKEN, RestServer

from sightline import Session
from sightline.server.events import Event, Followed, Hub, TooManyFollowers, as_sse


async def take(hub: Hub, count: int, **options: Any) -> list[Followed | None]:
    """The next so many that somebody who follows gets."""
    found: list[Followed | None] = []
    async for each in hub.follow(**options):
        found.append(each)
        if len(found) == count:
            break
    return found


def numbers(found: list[Followed | None]) -> list[Any]:
    """The numbers in the events, or their kinds where they have none."""
    return [None if each is None else each.event.data.get("n", each.event.kind) for each in found]


def publish(hub: Hub, count: int, first: int = 0, session: str = "s") -> None:
    for number in range(first, first + count):
        hub.publish(Event("append", session, data={"n": number}))


def test_events_come_in_order_from_any_thread() -> None:
    """Whoever follows gets what is published after that, of its own session or of all."""

    async def run() -> None:
        hub = Hub()
        publish(hub, 3)
        both = asyncio.gather(take(hub, 20), take(hub, 10, session="other"))
        await asyncio.sleep(0)
        threads = [threading.Thread(target=publish, args=(hub, 10, 10, each)) for each in ("s", "other")]
        for each in threads:
            each.start()
        for each in threads:
            await asyncio.to_thread(each.join)
        everything, other = await both
        assert len({each.id for each in everything if each}) == 20
        assert numbers(other) == list(range(10, 20))

    asyncio.run(run())


def test_a_client_goes_on_where_its_connection_was_cut() -> None:
    """After the id that it has; after one that is no longer kept, or of another run, it is told to read all anew."""

    async def run() -> None:
        hub = Hub(kept=5)
        following = asyncio.ensure_future(take(hub, 2))
        await asyncio.sleep(0)
        publish(hub, 4)
        [_, second] = await following
        assert second is not None
        assert numbers(await take(hub, 2, after=second.id)) == [2, 3]
        publish(hub, 5, 4)
        assert numbers(await take(hub, 1, after=second.id)) == ["reset"]
        for strange in ("0000-1", "x", f"{second.id}9999", "-", "é-1", second.id.replace("-", "-٣")):
            assert numbers(await take(hub, 1, after=strange)) == ["reset"]

    asyncio.run(run())


def test_who_reads_slowly_is_told_and_goes_on() -> None:
    """The hub keeps a bounded number of events, however slow anybody is; after a reset the new ones come."""

    async def run() -> None:
        hub = Hub(kept=10)
        following = hub.follow()
        publish(hub, 1)
        assert numbers([await anext(following)]) == [0]
        publish(hub, 1000, 2)
        assert numbers([await anext(following)]) == ["reset"]
        publish(hub, 2, 5000)
        assert numbers([await anext(following), await anext(following)]) == [5000, 5001]

    asyncio.run(run())


def test_silence_is_filled_and_an_end_is_an_end() -> None:
    """A heartbeat while nothing happens; closing the hub ends every stream, after the last events."""

    async def run() -> None:
        hub = Hub()
        assert numbers(await take(hub, 2, heartbeat=0.001)) == [None, None]
        following = asyncio.ensure_future(take(hub, 100))
        await asyncio.sleep(0)
        publish(hub, 2)
        hub.close()
        publish(hub, 1, 7)
        assert numbers(await following) == [0, 1]
        assert await take(hub, 1) == []

    asyncio.run(run())


def test_so_many_may_follow() -> None:
    """One more is refused; when one leaves there is room again."""

    async def run() -> None:
        hub = Hub(followers=1)
        following = hub.follow(heartbeat=0.001)
        await anext(following)
        with pytest.raises(TooManyFollowers, match="close one"):
            await take(hub, 1)
        await following.aclose()
        assert await take(hub, 1, heartbeat=0.001) == [None]

    asyncio.run(run())


def test_no_text_can_break_out_of_its_event() -> None:
    """Line ends in data are escaped, so nobody's text is an event of its own."""

    async def run() -> bytes:
        async def one() -> Any:
            yield Followed("a-1", Event("error", data={"message": "x\n\nevent: payload\ndata: {}\r\n"}))
            yield None

        return b"".join([piece async for piece in as_sse(one())])

    text = asyncio.run(run())
    assert text.count(b"\nevent:") == 1
    assert text.endswith(b": nothing new\n\n")


def lines_of(response: httpx2.Response) -> Iterator[str]:
    return (line for line in response.iter_lines() if line)


def test_what_happens_is_streamed(project: Path) -> None:
    """Pins, windows, new and deleted sessions, in order and with ids; the stream ends when the server stops."""
    with Session.new(project, session_id="apps", apps=["todo"]) as session:
        window = session.windows.open("todo")
        session.user("Hi")
        session.compose(ROOM)
    seen: list[Event] = []
    ended = threading.Event()
    server = RestServer(project)
    with server:
        ready = threading.Event()

        def follow() -> None:
            with httpx2.stream(  # not the server's own client, which is closed before the server
                "GET", f"{server.url}/api/events", headers=SHOWS_TOKEN, timeout=60, trust_env=False, verify=False
            ) as response:
                assert response.headers["content-type"].startswith("text/event-stream")
                for line in lines_of(response):
                    ready.set()
                    if line.startswith("data: "):
                        seen.append(msgspec.json.decode(line[6:], type=Event))
            ended.set()

        reader = threading.Thread(target=follow)
        reader.start()
        assert ready.wait(60)
        server.post("/api/sessions/talk/items/3/pin")
        server.post(f"/api/sessions/apps/windows/{window}/actions/add", {"params": {"text": "milk"}})
        server.post(f"/api/sessions/apps/windows/{window}/actions/close")
        server.post("/api/sessions", {"id": "new"}, 201)
        server.client.delete("/api/sessions/new")
    reader.join(60)
    assert ended.is_set()
    kinds = [each.kind for each in seen]
    assert kinds == ["mark", "window_updated", "window_closed", "session_created", "session_deleted"]
    assert seen[0] == Event("mark", "talk", data={"item": "3", "mark": "pin"})
    assert "milk" not in repr(seen)


def test_a_client_that_has_gone_makes_room(server: RestServer) -> None:
    """Its stream ends without waiting for the next event."""
    with server.client.stream("GET", "/api/events") as response:
        lines = lines_of(response)
        assert next(lines).startswith(":")
        assert followers_become(server, 1)
    assert followers_become(server, 0)


def followers_become(server: RestServer, count: int) -> bool:
    """Whether so many follow, after the server's loop has had some turns."""
    return any(server.get("/healthz") and server.hub.followers == count for _ in range(1000))


def test_one_session_can_be_followed_from_an_id(server: RestServer) -> None:
    """`session` and `Last-Event-ID` choose; a stranger's id is answered with a reset."""
    headers = {"last-event-id": "other-7"}
    with server.client.stream("GET", "/api/events?session=talk", headers=headers) as response:
        lines = lines_of(response)
        found = [next(lines) for _ in range(4)]
    assert found[2].startswith("id: ")
    assert found[3] == "event: reset"
