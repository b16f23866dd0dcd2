"""Running calls: side by side, within their time, and work that was given up keeps nobody waiting."""

import asyncio
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sightline.agent.toolbox import Output, Toolbox
from sightline.agent.tools import Tool
from sightline.agent.tools.files.find import list_files, search, search_files
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.in_thread import GivenUp, go_on, in_thread
from sightline.values.items import Call, ToolDefinition

SECONDS = 30  # that nothing here takes, unless it hangs


def tool(run: Any, seconds: float = SECONDS) -> Toolbox:
    """One tool, called `slow`."""

    async def called(arguments: Mapping[str, Any]) -> Any:
        return await run()

    return Toolbox([Tool(ToolDefinition("slow", "", {"type": "object"}), called, seconds=seconds)])


CALL = Call(id="c1", name="slow", input={})


def test_slow_calls_take_no_thread_from_others() -> None:
    """However many hang: what needs a thread then has one, and the program ends without waiting for them."""
    hanging = threading.Event()
    box = tool(lambda: in_thread(hanging.wait, SECONDS), seconds=0.01)

    async def all_of_them() -> list[Output]:
        outputs = await asyncio.gather(*(box.run(CALL) for _ in range(40)))
        async with asyncio.timeout(SECONDS):
            assert await asyncio.to_thread(lambda: 1) == 1
            assert await in_thread(lambda: 2) == 2
        return outputs

    outputs = asyncio.run(all_of_them())
    assert all(output.failed for output in outputs)
    hanging.set()


def test_a_call_that_is_cancelled_lets_go_of_its_thread() -> None:
    """As after Ctrl-C: the work is told, ends, and the next call is not behind it."""
    began, ended = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        try:
            while True:
                go_on()
                time.sleep(0.001)
        except GivenUp:
            ended.set()

    async def cancelled() -> None:
        task = asyncio.create_task(tool(lambda: in_thread(work)).run(CALL))
        while not began.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert ended.wait(SECONDS)


def test_what_a_thread_gives_and_raises_arrives() -> None:
    """Values, errors, and nothing of an error that nobody waits for."""

    def fails() -> None:
        raise ValueError("no")

    def times_out() -> None:
        raise TimeoutError(110, "Connection timed out", "/far/away")

    assert asyncio.run(in_thread(divmod, 7, 2)) == (3, 1)
    assert asyncio.run(in_thread(int, "11", base=2)) == 3
    with pytest.raises(ValueError, match="no"):
        asyncio.run(in_thread(fails))
    with pytest.raises(TimeoutError, match="/far/away") as raised:  # asyncio would make a new one without its file
        asyncio.run(in_thread(times_out))
    assert raised.traceback[-1].name == "times_out"
    go_on()  # outside of such work there is nobody to give it up


def test_a_walk_that_was_given_up_ends(tmp_path: Path) -> None:
    """At the next name, in whatever folder: so a list, a search, and the search for a name like a missing one."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("x")
    seen, given_up, ended = threading.Event(), threading.Event(), threading.Event()

    def walk() -> None:
        names = Folders([tmp_path]).walk()
        next(names)
        seen.set()
        given_up.wait(SECONDS)
        try:
            next(names)
        except GivenUp:
            ended.set()

    async def cancelled() -> None:
        task = asyncio.create_task(in_thread(walk))
        while not seen.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait([task])
        given_up.set()

    asyncio.run(cancelled())
    assert ended.wait(SECONDS)


def test_a_pattern_that_takes_for_ever_ends_when_it_is_given_up(tmp_path: Path) -> None:
    """Its process is ended at once, not when its time is over."""
    (tmp_path / "a.txt").write_text("a" * 200 + "!")
    began, ended = threading.Event(), threading.Event()

    def hopeless() -> None:
        began.set()
        try:
            search(Folders([tmp_path]), {"query": "(a+)+$", "regex": True})
        finally:
            ended.set()

    async def cancelled() -> None:
        task = asyncio.create_task(in_thread(hopeless))
        await asyncio.to_thread(began.wait)
        await asyncio.sleep(0.3)
        assert not ended.is_set()
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(cancelled())
    assert ended.wait(10)  # half of the time that a search has


def test_what_is_said_after_the_time_is_over_is_true() -> None:
    """That the answer is lost, not that nothing was done; and a tool's own time limit is the tool's own failure."""

    async def own() -> None:
        raise TimeoutError("the database did not answer")

    late = asyncio.run(tool(lambda: asyncio.sleep(SECONDS), seconds=0.01).run(CALL))
    assert late.failed
    assert late.value == (
        "slow took longer than 0.01 seconds and was told to stop; "
        "its answer is lost, and what it began may be done or not"
    )
    early = asyncio.run(tool(own).run(CALL))
    assert early == Output("TimeoutError: the database did not answer", failed=True)


def test_tools_work_in_threads_of_their_own(tmp_path: Path) -> None:
    """A listing and a search are done where all of asyncio's threads hang."""
    (tmp_path / "a.txt").write_text("word")
    hanging = threading.Event()
    folders = Folders([tmp_path])

    async def extra_tokens() -> list[Any]:
        busy = [asyncio.ensure_future(asyncio.to_thread(hanging.wait, SECONDS)) for _ in range(40)]
        try:
            async with asyncio.timeout(SECONDS):
                return [await list_files(folders).run({}), await search_files(folders).run({"query": "word"})]
        finally:
            hanging.set()
            await asyncio.wait(busy)

    assert asyncio.run(extra_tokens()) == ["a.txt (4B)", "a.txt:1: word"]
