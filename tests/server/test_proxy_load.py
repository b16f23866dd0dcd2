"""Many streams at once, and the end of the server in the middle of them, with a real `sightline serve`."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from serve_process import ENDS, ServeProcess, assistant, last_words, shown_text
from tests.conftest import Tried
from through_proxy import HEADERS, LISTS, MODELS, PATHS, Json, answer_of, events_of
from upstream import Asked, Upstream
from upstream_script import Answer, answer, hang, slow

pytestmark = pytest.mark.slow

WIRES = list(PATHS)
OPEN_SESSIONS = 2 * 256  # of each of two providers
THREADS = 2 * min(32, (os.cpu_count() or 1) + 4) + 8  # those of sessions and of the event loop; pools fill as needed
SAME = 16 * 1024 * 1024  # bytes: what the memory of a process may differ by although it keeps nothing


def said_to(question: str) -> str:
    """The answer to a question: no two are the same."""
    return f"To {question!r}: " + "the valve opens at noon, and closes when the tank is full. " * 4


def at_once(asked: Asked) -> Answer:
    """An answer in a few pieces."""
    return slow(answer(said_to(last_words(asked.wire, asked.body))), chunk=0)


class Client:
    """One conversation that is streamed: it sends its whole list each time."""

    def __init__(self, http: httpx2.AsyncClient, wire: str, name: str) -> None:
        self.wire, self.name = wire, name
        self.open(http)
        self.list: list[Json] = []
        self.fields: Json = {"model": MODELS[wire], "stream": True}
        self.fields |= {"max_tokens": 500} if wire == "anthropic" else {"store": False} if wire == "responses" else {}
        self.questions: list[str] = []
        self.seen = b""

    def open(self, http: httpx2.AsyncClient) -> None:
        """Send requests by these connections."""
        self._http = http

    async def ask(self, url: str, at_first_byte: Callable[[], Awaitable[Any]] | None = None) -> bytes:
        """Ask the next question. Return the stream, however it ended."""
        question = f"{self.name}, question {len(self.questions)}"
        self.questions.append(question)
        self.list.append({"role": "user", "content": question})
        return await self.again(url, at_first_byte)

    async def again(self, url: str, at_first_byte: Callable[[], Awaitable[Any]] | None = None) -> bytes:
        """Send the list."""
        body = json.dumps(self.fields | {LISTS[self.wire]: self.list}).encode()
        told = HEADERS[self.wire] | {"content-type": "application/json"}
        self.seen, self.is_cut = b"", False
        try:
            async with self._http.stream("POST", url + PATHS[self.wire], content=body, headers=told) as response:
                self.status = response.status_code
                async for chunk in response.aiter_bytes():
                    if not self.seen and at_first_byte is not None:
                        await at_first_byte()
                    self.seen += chunk
        except httpx2.RemoteProtocolError:
            self.is_cut = True
        if self.is_whole:
            self.list.append(assistant(self.wire, self.text))
        return self.seen

    @property
    def is_whole(self) -> bool:
        """Whether the last answer came to its end."""
        return not self.is_cut and ENDS[self.wire] in self.seen

    @property
    def text(self) -> str:
        """The words of the last answer."""
        return shown_text(self.wire, events_of(self.seen))

    @property
    def texts(self) -> list[str]:
        """What the log of this conversation must have."""
        return [text for question in self.questions for text in (question, said_to(question))]


@asynccontextmanager
async def clients(number: int, name: str) -> AsyncIterator[list[Client]]:
    """So many conversations, on all formats in turn."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=number)
    async with httpx2.AsyncClient(timeout=120, trust_env=False, verify=False, limits=limits) as http:
        yield [Client(http, WIRES[at % 3], f"{name} {at}") for at in range(number)]


async def converse(url: str, number: int, name: str, turns: int) -> list[Client]:
    """Ask in all conversations at once, several times. Every answer must be whole."""
    async with clients(number, name) as talks:
        for _ in range(turns):
            together = asyncio.Barrier(number)  # all streams have begun before one goes on
            await asyncio.gather(*(talk.ask(url, together.wait) for talk in talks))
            for talk in talks:
                assert (talk.status, talk.is_whole) == (200, True), talk.seen
                assert talk.text == said_to(talk.questions[-1])
        return talks


def test_many_streams_at_once(tmp_path: Path, soak: bool, tried: Tried) -> None:
    """No error, every answer and every log whole. After a while neither memory nor files nor threads grow."""
    number, rounds, turns, warm = (200, 20, 3, 6) if soak else (40, 3, 2, 1)
    talks: list[Client] = []
    with Upstream(at_once, keep=False) as upstream, ServeProcess(tmp_path, upstream) as serving:
        used: list[tuple[int, int, int]] = []
        for at in range(rounds):
            talks += asyncio.run(converse(serving.url, number, f"Round {at}, talk", turns))
            used.append((serving.facts.memory_info().rss, serving.facts.num_fds(), serving.facts.num_threads()))
        serving.signal()
        assert serving.wait() == -signal.SIGTERM
        assert (upstream.invalid, upstream.count) == ([], number * rounds * turns)
        logged = [json.loads(line) for line in serving.printed if line.startswith("{")]
        assert {(line["level"], line["status"]) for line in logged} == {("info", 200)}
    print("memory, files, threads:", *used, sep="\n")
    assert max(memory for memory, _, _ in used[warm:]) < used[warm - 1][0] + SAME
    assert max(files for _, files, _ in used) < OPEN_SESSIONS + 2 * number + 40
    assert max(threads for _, _, threads in used) <= THREADS
    kept = serving.texts()
    assert {talk.texts[0]: talk.texts for talk in talks} == kept
    tried("streams", number * rounds * turns)


# ------------------------------------------------------------------ the end of the server


def half_hang(asked: Asked) -> Answer:
    """Answers that come to their end, and answers that never do."""
    question = last_words(asked.wire, asked.body)
    step = answer(said_to(question))
    return hang(step, after=7) if "never" in question else slow(step, chunk=0, pause=0.05)


def test_sigterm_in_the_middle_of_many_streams(tmp_path: Path, tried: Tried) -> None:
    """Answers that can end do so. The others end with an error that clients understand, and are logged as stopped.

    The process ends by itself, and another one goes on with each conversation.
    """
    number = 50

    async def stop(serving: ServeProcess) -> list[Client]:
        async with clients(number, "Talk") as talks:
            for at, talk in enumerate(talks):
                talk.name += " that never ends" if at % 2 else ""
            together = asyncio.Barrier(number + 1)
            answers = [asyncio.create_task(talk.ask(serving.url, together.wait)) for talk in talks]
            await together.wait()
            serving.signal()
            await asyncio.gather(*answers)
            return talks

    async def go_on(serving: ServeProcess, talks: list[Client]) -> None:
        async with httpx2.AsyncClient(timeout=120, trust_env=False, verify=False) as http:
            for talk in talks:
                talk.open(http)
                talk.name = talk.name.replace("never", "once")
                if talk.text:
                    talk.list.append(assistant(talk.wire, talk.text))
            await asyncio.gather(*(talk.ask(serving.url) for talk in talks))

    with Upstream(half_hang) as upstream, ServeProcess(tmp_path, upstream) as serving:
        talks = asyncio.run(stop(serving))
        assert serving.wait() == -signal.SIGTERM
        whole, broken = talks[0::2], talks[1::2]
        kept = serving.texts()
        for talk in whole:
            assert talk.is_whole, talk.seen
            assert kept[talk.questions[0]] == talk.texts
        for talk in broken[:3]:
            with pytest.raises((anthropic.APIError, openai.APIError, RuntimeError)):
                answer_of(talk.wire, talk.seen)
        for talk in broken:
            assert (talk.status, talk.is_cut, talk.is_whole) == (200, False, False)
            assert b"the proxy was stopped" in talk.seen
            question, said, note = kept[talk.questions[0]]
            assert said == talk.text != said_to(question)
            assert said_to(question).startswith(said)
            assert "stopped" in note
        serving.start()
        asyncio.run(go_on(serving, talks))
        assert [(talk.name, talk.status, talk.is_cut, talk.seen) for talk in talks if not talk.is_whole] == []
        kept = serving.texts()
        for talk in talks:
            assert kept[talk.questions[0]][-2:] == [talk.questions[1], said_to(talk.questions[1])]
        assert len(kept) == number
        assert upstream.invalid == []
    tried("streams", number)
