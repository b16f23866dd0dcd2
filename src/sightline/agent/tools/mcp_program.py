"""An MCP server that is a program: its lines become messages.

Nothing that it writes can fill our memory or disk, or stop our reading: a line has a limit, of its error output only
the end is kept, and a line that cannot be read fails the call that it answers, with the reason.
"""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

MOST_LINE = 16_000_000  # bytes of a message: all the pictures that a result may have, three times over
MOST_UNREADABLE = 1000  # lines that are no message, such as a program's greeting, until it is ended
KEPT = 2000  # bytes of its error output: the last line is shown
LEAVING = 2.0  # seconds for each way of ending it, from the kindest to the hardest

_BLOCK = 1 << 16
_MOST_TOKENS = 200_000  # of a line that cannot be read: nothing else is done meanwhile
# A string, which also ends where the line ends: else each quote in it would begin another. Brackets, as many as follow.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]++|[\]}]++', re.S)
_ID = re.compile(rb"\s*+:\s*+(\d{1,15}|\"[^\"\\]{1,100}\")")


class Program:
    """A program and how it went. `error_output` is the end of what it wrote to its error output."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], mended: Callable[[], object]) -> None:
        self._command, self._env, self._mended = command, env, mended
        self._process: asyncio.subprocess.Process | None = None
        self.error_output = b""
        self.fault = ""  # why it was ended: what it did that no server may do

    @asynccontextmanager
    async def streams(self) -> "AsyncIterator[TransportStreams]":
        """Start the program, and yield the streams of its messages. It ends with the block. Raises OSError."""
        import anyio
        from mcp.client.stdio import get_default_environment

        process = self._process = await asyncio.create_subprocess_exec(
            *self._command, env={**get_default_environment(), **self._env}, start_new_session=True,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        received, incoming = anyio.create_memory_object_stream[Any](0)
        outgoing, sent = anyio.create_memory_object_stream[Any](0)
        work = [
            asyncio.create_task(task)
            for task in (self._read(process, received), self._write(process, sent), self._listen(process))
        ]
        try:
            yield incoming, outgoing
        finally:
            for stream in (incoming, outgoing, received, sent):
                stream.close()
            await self._end(process)
            await asyncio.wait(work[-1:], timeout=LEAVING)  # for its last words
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            with suppress(Exception):
                process._transport.close()  # type: ignore[attr-defined]  # else it warns when it is collected

    async def _read(self, process: asyncio.subprocess.Process, received: Any) -> None:
        """Hand on each message; end when there are no more, or when they are not to be read any further."""
        assert process.stdout is not None
        unreadable = 0
        try:
            async for line in _lines(process.stdout):
                message = self._message(line)
                if message is not None:
                    await received.send(message)
                elif line.strip() and (unreadable := unreadable + 1) > MOST_UNREADABLE:
                    raise ValueError(f"it wrote {MOST_UNREADABLE} lines that are no messages")
        except ValueError as error:
            self.fault = str(error)
        finally:
            received.close()  # every call that waits fails now
        while await process.stdout.read(_BLOCK):  # so that it does not block, and can end
            pass

    def _message(self, line: bytes) -> "SessionMessage | None":
        """Return the message of a line; that the call failed, if it answers one and cannot be read; else None."""
        from mcp.shared.message import SessionMessage
        from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

        with suppress(ValueError):
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        try:
            # Python's reader takes half a character, which others send when they cut a text.
            text = json.dumps(json.loads(line.decode("utf-8", "replace")), ensure_ascii=False)
            message = jsonrpc_message_adapter.validate_json(text.encode("utf-8", "replace"), by_name=False)
        except (ValueError, RecursionError):
            depth, call = _outline(line)
            if call is None:
                return None
            why = f"its answer is nested too deeply ({depth:,} levels)" if depth > 100 else "its answer is no message"
            failed = JSONRPCError(jsonrpc="2.0", id=call, error=ErrorData(code=INTERNAL_ERROR, message=why))
            return SessionMessage(failed)
        self._mended()
        return SessionMessage(message)

    async def _write(self, process: asyncio.subprocess.Process, sent: Any) -> None:
        assert process.stdin is not None
        with suppress(OSError):  # it has ended, which the reader notices
            async for request in sent:
                process.stdin.write(request.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await process.stdin.drain()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while block := await process.stderr.read(_BLOCK):
            self.error_output = (self.error_output + block)[-KEPT:]

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """End it and the programs that it started: close its input, ask, kill."""
        assert process.stdin is not None
        process.stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, number)
            until = asyncio.get_running_loop().time() + LEAVING
            while process.returncode is None and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(0.01)  # not `wait`, which also waits for others that hold its output
            if process.returncode is not None:
                break
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # what it left behind


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the lines of a stream; each byte is copied a few times at most. Raises ValueError for a line too long."""
    pieces: list[bytes] = []
    size = 0
    while block := await stream.read(_BLOCK):
        *whole, rest = block.split(b"\n")
        for line in whole:
            yield b"".join([*pieces, line])
            pieces, size = [], 0
        pieces.append(rest)
        size += len(rest)
        if size > MOST_LINE:
            raise ValueError(f"it wrote a message of more than {MOST_LINE:,} bytes")


def _outline(line: bytes) -> tuple[int, int | str | None]:
    """Return how deeply a line of JSON is nested, and the id of the call that it answers, without reading the rest."""
    depth, deepest, call_id = 0, 0, None
    for token in islice(_TOKEN.finditer(line), _MOST_TOKENS):
        match token[0][:1]:
            case b"[" | b"{":
                depth += len(token[0])
                deepest = max(deepest, depth)
            case b"]" | b"}":
                depth -= len(token[0])
            case _ if depth == 1 and token[0] == b'"id"' and (named := _ID.match(line, token.end())):
                call_id = json.loads(named[1].decode("utf-8", "replace"))
    return deepest, call_id
