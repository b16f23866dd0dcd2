"""A server that speaks both providers' protocols and does what its script says, one line for each request.

    with Stub([answer("Hi"), error(429, {"retry-after": "2"}), cut(answer("a long one"), after=2)]) as stub:
        … stub.url …
    stub.asked[0].body["messages"]

It is proven right by the official SDKs in test_stub.py.
"""

import asyncio
import contextlib
import json
import socket
import struct
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: Json
    connection: int  # its number, from 1


@dataclass(frozen=True)
class Line:
    """What the server does with one request."""

    pieces: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, Json], ...] = ()  # id, name, arguments
    thinking: str = ""
    usage: tuple[int, int, int] = (12, 5, 0)  # input, output, of the input cached
    stop: str = ""
    cut_after: int | None = None  # events; then the connection is cut
    ends: bool = True  # or: closes properly, without having said the end
    hang_after: int | None = None  # events; then nothing more comes
    error_after: tuple[int, Json] | None = None  # events; then this error is told
    whole: bool = False  # it ignores `stream`
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    echo: bool = False  # the error tells the request's headers
    raw: tuple[bytes, ...] | None = None  # these bytes as the stream, chunk by chunk
    drop: bytes | None = None  # these bytes instead of a response; then the connection is closed
    reset: bool = False  # or reset


def answer(
    text: str | Sequence[str] = "",
    calls: Iterable[tuple[str, str, Json]] = (),
    *,
    thinking: str = "",
    usage: tuple[int, int, int] = (12, 5, 0),
    stop: str = "",
    whole: bool = False,
) -> Line:
    """An answer, its text in pieces as given, or word by word."""
    words = text.split(" ") if isinstance(text, str) else list(text)
    pieces = tuple(word if at == 0 else f" {word}" for at, word in enumerate(words)) if isinstance(text, str) else words
    return Line(
        tuple(piece for piece in pieces if piece), tuple(calls), thinking=thinking, usage=usage, stop=stop, whole=whole
    )


def error(status: int, headers: dict[str, str] | None = None, body: str | Json = "", *, echo: bool = False) -> Line:
    """An error; `echo` repeats the request's headers in its message, as careless servers do."""
    text = body if isinstance(body, str) else json.dumps(body)
    return Line(status=status, headers=headers or {}, body=text, echo=echo)


def cut(line: Line, after: int) -> Line:
    """The connection breaks after that many events."""
    return replace(line, cut_after=after)


def unended(line: Line, after: int) -> Line:
    """The stream ends after that many events, properly, but nobody said the end."""
    return replace(line, cut_after=after, ends=False)


def hang(line: Line, after: int) -> Line:
    """Nothing more comes after that many events, until the client goes."""
    return replace(line, hang_after=after)


def failing(line: Line, after: int, told: Json) -> Line:
    """An error is told after that many events, inside the stream."""
    return replace(line, error_after=(after, told))


def raw(*chunks: bytes) -> Line:
    """These bytes are the stream."""
    return Line(raw=chunks)


def drop(sent: bytes = b"", *, reset: bool = False) -> Line:
    """These bytes instead of a response; then the connection is closed, or reset."""
    return Line(drop=sent, reset=reset)


def models(*ids: str, **more: Any) -> Line:
    """A list of models, as GET /v1/models gives it."""
    return Line(body=json.dumps({"object": "list", "data": [{"id": each, "object": "model", **more} for each in ids]}))


class Stub:
    """The server, in a thread of its own, on a port of its own."""

    def __init__(self, script: Iterable[Line]) -> None:
        self._script = iter(script)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._open: set[asyncio.Task[None]] = set()
        self.asked: list[Asked] = []
        self.hanging = threading.Event()  # all events before a hang are sent
        self.closed = threading.Event()  # the server has closed a connection
        self.left = threading.Event()  # a client went away in the middle of an answer
        self.connections = 0
        self.url = ""

    def __enter__(self) -> "Stub":
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _stop(self) -> None:
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        connection = self.connections
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while await self._one(reader, writer, connection):
                    pass
        finally:
            self._open.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()
            self.closed.set()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        path = head[0].split()[1]
        self.asked.append(Asked(path, headers, body, connection))
        line = next(self._script, None) or error(500, body="the script has no more lines")
        if line.drop is not None:
            return _drop(writer, line)
        if line.body or line.status != 200:
            return await self._plain(writer, line, headers)
        speak = _anthropic if path.endswith("/messages") else _openai
        if line.whole or not body.get("stream"):
            return await _send(writer, 200, {}, json.dumps(speak.whole(line, body)))
        try:
            return await self._stream(reader, writer, line, speak, body)
        except ConnectionError:  # it went while it was spoken to
            self.left.set()
            return False

    async def _plain(self, writer: asyncio.StreamWriter, line: Line, headers: dict[str, str]) -> bool:
        told = line.body
        if line.echo:
            shown = {key: value for key, value in headers.items() if key in ("authorization", "x-api-key")}
            told = json.dumps({"error": {"message": f"bad request, headers were {shown}", "type": "invalid"}})
        return await _send(writer, line.status, line.headers, told)

    async def _stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: Line, speak: Any, body: Json
    ) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        events = list(line.raw if line.raw is not None else speak.events(line, body))
        for number, event in enumerate(events):
            if line.cut_after == number:
                break
            if line.hang_after == number:
                await writer.drain()
                self.hanging.set()
                await reader.read()  # returns when the client goes
                self.left.set()
                return False
            if line.error_after is not None and line.error_after[0] == number:
                _chunk(writer, speak.error(line.error_after[1]))
                break
            _chunk(writer, event)
            await writer.drain()
        if line.cut_after is not None and line.ends:
            writer.transport.abort()
            return False
        _chunk(writer, b"")
        await writer.drain()
        return True


def _drop(writer: asyncio.StreamWriter, line: Line) -> bool:
    """The transport writes what is left before it closes; a linger time of zero makes it a reset."""
    writer.write(line.drop or b"")
    if line.reset:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    return False


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


async def _send(writer: asyncio.StreamWriter, status: int, headers: dict[str, str], body: str) -> bool:
    data = body.encode()
    lines = [f"HTTP/1.1 {status} Whatever", "content-type: application/json", f"content-length: {len(data)}"]
    lines += [f"{key}: {value}" for key, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + data)
    await writer.drain()
    return True


def _event(value: Json | str, name: str = "") -> bytes:
    data = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode()


class _openai:  # noqa: N801 - a format, not a kind of thing
    """Chat completions."""

    @staticmethod
    def _head(body: Json, kind: str) -> Json:
        return {"id": "chatcmpl-1", "object": kind, "created": 1700000000, "model": body["model"]}

    @staticmethod
    def _usage(line: Line) -> Json:
        given, made, cached = line.usage
        details = {"cached_tokens": cached}
        return {
            "prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made,
            "prompt_tokens_details": details,
        }  # fmt: skip

    @staticmethod
    def _stop(line: Line) -> str:
        return line.stop or ("tool_calls" if line.calls else "stop")

    @classmethod
    def whole(cls, line: Line, body: Json) -> Json:
        message: Json = {"role": "assistant", "content": "".join(line.pieces) or None}
        if line.thinking:
            message["reasoning_content"] = line.thinking
        if line.calls:
            message["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for call_id, name, arguments in line.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": cls._stop(line), "logprobs": None}
        return {**cls._head(body, "chat.completion"), "choices": [choice], "usage": cls._usage(line)}

    @classmethod
    def events(cls, line: Line, body: Json) -> Iterable[bytes]:
        def chunk(delta: Json, finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return _event({**cls._head(body, "chat.completion.chunk"), "choices": [choice], **nothing})

        counted = (body.get("stream_options") or {}).get("include_usage")
        nothing: Json = {"usage": None} if counted else {}
        yield chunk({"role": "assistant", "content": ""})
        for word in line.thinking.split():
            yield chunk({"reasoning_content": word + " "})
        for piece in line.pieces:
            yield chunk({"content": piece})
        for at, (call_id, name, arguments) in enumerate(line.calls):
            text = json.dumps(arguments)
            function = {"name": name, "arguments": ""}
            yield chunk({"tool_calls": [{"index": at, "id": call_id, "type": "function", "function": function}]})
            for piece in (text[:4], text[4:]):
                yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
        yield chunk({}, cls._stop(line))
        if counted:
            yield _event({**cls._head(body, "chat.completion.chunk"), "choices": [], "usage": cls._usage(line)})
        yield _event("[DONE]")

    @staticmethod
    def error(told: Json) -> bytes:
        return _event({"error": told})


class _anthropic:  # noqa: N801 - a format, not a kind of thing
    """Messages."""

    SIGNATURE = "c2lnbmVk"

    @staticmethod
    def _message(line: Line, body: Json, content: list[Json], stop: str | None, made: int) -> Json:
        given, _, cached = line.usage
        usage = {
            "input_tokens": given - cached, "output_tokens": made,
            "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0,
        }  # fmt: skip
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content,
            "stop_reason": stop, "stop_sequence": None, "usage": usage,
        }  # fmt: skip

    @staticmethod
    def _stop(line: Line) -> str:
        return line.stop or ("tool_use" if line.calls else "end_turn")

    @classmethod
    def _blocks(cls, line: Line) -> list[Json]:
        thought = [{"type": "thinking", "thinking": line.thinking, "signature": cls.SIGNATURE}] if line.thinking else []
        text = [{"type": "text", "text": "".join(line.pieces)}] if line.pieces else []
        calls = [
            {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
            for call_id, name, arguments in line.calls
        ]
        return [*thought, *text, *calls]

    @classmethod
    def whole(cls, line: Line, body: Json) -> Json:
        return cls._message(line, body, cls._blocks(line), cls._stop(line), line.usage[1])

    @classmethod
    def events(cls, line: Line, body: Json) -> Iterable[bytes]:
        yield _named({"type": "message_start", "message": cls._message(line, body, [], None, 1)})
        yield _named({"type": "ping"})
        for at, block in enumerate(cls._blocks(line)):
            empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
            yield _named({"type": "content_block_start", "index": at, "content_block": block | empty[block["type"]]})
            for delta in cls._deltas(line, block):
                yield _named({"type": "content_block_delta", "index": at, "delta": delta})
            yield _named({"type": "content_block_stop", "index": at})
        delta = {"stop_reason": cls._stop(line), "stop_sequence": None}
        yield _named({"type": "message_delta", "delta": delta, "usage": {"output_tokens": line.usage[1]}})
        yield _named({"type": "message_stop"})

    @classmethod
    def _deltas(cls, line: Line, block: Json) -> Iterable[Json]:
        if block["type"] == "text":
            return [{"type": "text_delta", "text": piece} for piece in line.pieces]
        if block["type"] == "thinking":
            thought = [{"type": "thinking_delta", "thinking": word + " "} for word in line.thinking.split()]
            return [*thought, {"type": "signature_delta", "signature": cls.SIGNATURE}]
        text = json.dumps(block["input"])
        return [{"type": "input_json_delta", "partial_json": piece} for piece in ("", text[:4], text[4:])]

    @staticmethod
    def error(told: Json) -> bytes:
        return _named({"type": "error", "error": told})


def _named(value: Json) -> bytes:
    return _event(value, value["type"])
