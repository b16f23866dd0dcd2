"""`python -m benchmarks.proxy_upstream`: a model's server that does next to nothing. Prints its port, ends with stdin.

It speaks chat completions: every request gets the same answer, as a stream, or whole with a call of a tool. It reads
a body by its length and looks for `"stream":true` only, so that what is measured before it is the proxy. A stream of a
model whose name begins with "slow" has a pause between two events. A request without a body is told when the last one
with a body was here.
"""

import asyncio
import json
import re
import sys
from time import perf_counter

ANSWER = "I have read it. The next step is to look at the rows that the import left out."
CALL = "call_00000000"  # each answer has a number of its own here
PIECES, PAUSE = 40, 0.01
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_STREAM = re.compile(rb'"stream": ?true')
_SLOW = re.compile(rb'"model": ?"(?:openai/)?slow')


def _dump(value: object) -> bytes:
    return json.dumps(value).encode()


def message_with_call(name: str) -> dict[str, object]:
    """Return the answer with a call of this id."""
    call = {"id": name, "type": "function", "function": {"name": "read_rows", "arguments": '{"first": 100}'}}
    return {"role": "assistant", "content": ANSWER, "tool_calls": [call]}


def _whole() -> bytes:
    message = message_with_call(CALL)
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    body = _dump({
        "id": "c1", "object": "chat.completion", "created": 1790000000, "model": "bench",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": usage,
    })  # fmt: skip
    return _plain(body)


def _plain(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def _event(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    value = {"id": "c1", "object": "chat.completion.chunk", "created": 1790000000, "model": "bench"}
    return b"data: " + _dump(value | {"choices": [choice]}) + b"\n\n"


def _events() -> list[bytes]:
    size = -(-len(ANSWER) // PIECES)
    parts = [ANSWER[at : at + size] for at in range(0, len(ANSWER), size)]
    first = _event({"role": "assistant", "content": parts[0]})
    return [first, *(_event({"content": part}) for part in parts[1:]), _event({}, "stop") + b"data: [DONE]\n\n"]


WHOLE, EVENTS = _whole(), _events()
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n" % len(data) + data + b"\r\n"


_AT_ONCE = _HEAD + b"".join(map(_chunk, EVENTS)) + b"0\r\n\r\n"


class Connection(asyncio.Protocol):
    """One connection of a proxy or client."""

    answered = 0
    got = 0.0  # when the last request was here, on any connection

    def __init__(self) -> None:
        self._head, self._left = b"", -1  # bytes of the body that still come; -1: the head is not whole
        self._answer = self._slow = b""
        self._streaming: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        if self._left < 0:
            self._head += data
            head, whole, data = self._head.partition(b"\r\n\r\n")
            if not whole:
                return
            found = _LENGTH.search(head)
            self._left, self._head = int(found[1]) if found else 0, b""
            if not found:
                self._left = -1
                self._transport.write(_plain(repr(Connection.got).encode()))
                return
            self._is_stream = self._is_slow = False
        self._left -= len(data)
        # The fields that matter stand at the beginning or the end of a body, which are in its first or last piece.
        self._is_stream = self._is_stream or _STREAM.search(data) is not None
        self._is_slow = self._is_slow or _SLOW.search(data) is not None
        if self._left <= 0:
            self._left, Connection.got = -1, perf_counter()
            self._say()

    def _say(self) -> None:
        if not self._is_stream:
            Connection.answered += 1
            self._transport.write(WHOLE.replace(CALL.encode(), b"call_%08d" % Connection.answered))
        elif not self._is_slow:
            self._transport.write(_AT_ONCE)
        else:
            self._streaming = asyncio.ensure_future(self._stream())

    async def _stream(self) -> None:
        self._transport.write(_HEAD)
        for event in EVENTS:
            self._transport.write(_chunk(event))
            await asyncio.sleep(PAUSE)
        self._transport.write(b"0\r\n\r\n")


async def serve() -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
