"""What a scripted upstream is told to answer: blocks, stop reasons, and faults on demand."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Thought:
    """Thinking. It is signed by the upstream; `hidden` thinking has no readable text."""

    text: str
    hidden: bool = False


@dataclass(frozen=True)
class Call:
    """A call of the client's tool; the upstream makes up an id if there is none."""

    name: str
    arguments: Json
    id: str = ""


@dataclass(frozen=True)
class Raw:
    """A block (Anthropic) or an output item (Responses) as it is, such as a server tool's."""

    block: Json


Block = str | Thought | Call | Raw


@dataclass(frozen=True)
class Answer:
    """One answer, and what goes wrong with it. Events are those of the stream, counted from 0."""

    blocks: tuple[Block, ...] = ()
    stop: str = ""  # the provider's own word; empty: the usual one
    cut_after: int | None = None  # events, or half of the body: then the connection breaks
    ends: bool = True  # False: it is closed properly instead, though nobody said the end
    hang_after: int | None = None  # events; then nothing comes until the client goes
    garbage_after: int | None = None  # events; then come bytes that are no events
    error_after: tuple[int, Json] | None = None  # events; then this error is told inside the stream
    chunk: int = 0  # bytes; the body comes in pieces of this size, however characters and events fall
    pause: float = 0.0  # seconds before each event
    zipped: bool = False  # gzip, if the client takes it
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """An error instead of an answer. Without a body it has the provider's shape."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    zipped: bool = False
    drop: bool = False  # no response at all: the connection breaks


Step = Answer | Failure
Script = Iterable[Step] | Callable[[Any], Step]
"""A list, one step for each valid request; or a function of the request (`upstream.Asked`)."""


def answer(*blocks: Block, stop: str = "", headers: dict[str, str] | None = None) -> Answer:
    """An answer of these blocks: texts, `think(…)`, `call(…)`, `Raw(…)`."""
    return Answer(tuple(blocks), stop=stop, headers=headers or {})


def think(text: str, *, hidden: bool = False) -> Thought:
    """Thinking, signed by the upstream."""
    return Thought(text, hidden)


def call(name: str, arguments: Json | None = None, *, id: str = "") -> Call:  # noqa: A002 - the providers' word
    """A call of a tool."""
    return Call(name, arguments or {}, id)


def fail(
    status: int, headers: dict[str, str] | None = None, body: bytes | None = None, *, zipped: bool = False
) -> Failure:
    """An error with this status; without a body, in the provider's shape and words."""
    return Failure(status, headers or {}, body, zipped)


def drop() -> Failure:
    """No response: the connection breaks."""
    return Failure(0, drop=True)


def cut(step: Answer, after: int) -> Answer:
    """The connection breaks after that many events (not streamed: in the middle of the body)."""
    return replace(step, cut_after=after)


def unended(step: Answer, after: int) -> Answer:
    """The stream is closed properly after that many events, though nobody said the end."""
    return replace(step, cut_after=after, ends=False)


def hang(step: Answer, after: int = 0) -> Answer:
    """Nothing more comes after that many events, until the client goes."""
    return replace(step, hang_after=after)


def garble(step: Answer, after: int = 0) -> Answer:
    """After that many events come bytes that mean nothing (not streamed: the whole body is that)."""
    return replace(step, garbage_after=after)


def break_off(step: Answer, after: int, error: Json) -> Answer:
    """An error is told inside the stream after that many events."""
    return replace(step, error_after=(after, error))


def slow(step: Answer, *, chunk: int = 7, pause: float = 0.0) -> Answer:
    """The body comes in pieces of `chunk` bytes, with `pause` seconds before each event."""
    return replace(step, chunk=chunk, pause=pause)


def zip_body(step: Answer) -> Answer:
    """The body is compressed, if the client takes gzip."""
    return replace(step, zipped=True)
