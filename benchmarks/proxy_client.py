"""A client that costs next to nothing: it sends bytes that are ready, and notes when the answer comes."""

import asyncio
import re
import secrets
import socket
from time import perf_counter
from types import TracebackType
from typing import NamedTuple, Self

from benchmarks.environment import Missing

KEY = f"sk-{secrets.token_hex(24)}"  # litellm asks for one; the others pass it on
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_END = b"0\r\n\r\n"


class Taken(NamedTuple):
    """Seconds after the last byte of a request was sent."""

    given: float  # until the upstream had all of it
    first: float  # until the first byte of the answer's body
    whole: float  # until its last


def head(length: int) -> bytes:
    """Return the head of a request with a body of this length."""
    lines = (
        "POST /v1/chat/completions HTTP/1.1", "host: 127.0.0.1", f"authorization: Bearer {KEY}",
        "content-type: application/json", f"content-length: {length}",
    )  # fmt: skip
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


class Client:
    """One connection that is kept open."""

    def __init__(self, port: int, upstream: int = 0) -> None:
        """`upstream`: the port of the one that says when it had a request; 0: nobody is asked."""
        self._socket = socket.create_connection(("127.0.0.1", port), 120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._upstream = socket.create_connection(("127.0.0.1", upstream), 120) if upstream else None
        self.said = b""  # the last answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        if self._upstream is not None:
            self._upstream.close()

    def ask(self, body: bytes) -> Taken:
        """Send a request, and read the whole answer. Raises Missing if it is an error."""
        self._socket.sendall(head(len(body)) + body)
        begun, first, answer = perf_counter(), 0.0, Answer()
        while not answer.is_whole:
            if not (data := self._socket.recv(1 << 20)):
                raise Missing("the connection was closed in the middle of an answer")
            answer.add(data)
            if answer.body and not first:
                first = perf_counter() - begun
        whole = perf_counter() - begun
        answer.check()
        self.said = answer.body
        return Taken(self._asked_upstream() - begun if self._upstream else 0.0, first, whole)

    def _asked_upstream(self) -> float:
        """Return when the upstream had the last request, by the clock that all processes share."""
        assert self._upstream is not None
        self._upstream.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        answer = Answer()
        while not answer.is_whole:
            answer.add(self._upstream.recv(1 << 16))
        return float(answer.body)


class Answer:
    """The bytes of an answer so far."""

    def __init__(self) -> None:
        self.head, self.body, self.is_whole = b"", b"", False

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        if b"\r\n\r\n" in self.head:
            self.body += data
        else:
            told, ended, rest = (self.head + data).partition(b"\r\n\r\n")
            self.head, self.body = told + ended, rest
        if self.head.endswith(b"\r\n\r\n"):
            length = _LENGTH.search(self.head)
            self.is_whole = len(self.body) >= int(length[1]) if length else self.body.endswith(_END)

    def check(self) -> None:
        """Raise Missing if it is an error."""
        if b" 200 " not in self.head[:20]:
            told = self.body.decode("utf-8", "replace")[:200]
            status = self.head.splitlines()[0].decode("latin-1") if self.head else "nothing"
            raise Missing(f"answered {status}: {told}")


async def stream(port: int, bodies: list[bytes]) -> list[str]:
    """Send these requests one after another by one connection. Return what went wrong with each that failed."""
    failed, writer = [], None
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for body in bodies:
            writer.write(head(len(body)) + body)
            answer = Answer()
            while not answer.is_whole:
                if not (data := await asyncio.wait_for(reader.read(1 << 16), 300)):
                    raise Missing("the connection was closed in the middle of an answer")
                answer.add(data)
            answer.check()
            if b"[DONE]" not in answer.body:
                failed.append("an answer without an end")
    except (OSError, Missing, TimeoutError) as error:
        failed.append(str(error) or type(error).__name__)
    finally:
        if writer is not None:
            writer.close()
    return failed
