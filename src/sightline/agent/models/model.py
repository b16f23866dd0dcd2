"""The protocol of models: a payload goes in, the reply comes out piece by piece, then whole."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from sightline.errors import ModelError
from sightline.providers.prices import Price
from sightline.wire.payload import Payload


class ModelInfo(Struct, frozen=True):
    """What must be known about a model before it gets a request."""

    name: str
    provider: str  # "openai" for every endpoint that speaks its chat completions, "anthropic", "local"
    window: int = 128_000
    output: int = 8_000
    native: bool = True  # it takes tool definitions; else its calls are JSON in its text
    tools: bool = True  # it can use tools at all; else requests are plain text
    capable: bool = True  # it can be trusted to write a summary
    price: Price | None = None


class Request(Struct, frozen=True):
    payload: Payload
    output: int  # tokens that the reply may have
    schema: dict[str, Any] | None = None  # of the reply, for endpoints that can demand one


class TextDelta(Struct, frozen=True):
    """A piece of the reply's text. `thinking` is not part of the reply, and may be shown apart."""

    text: str
    thinking: bool = False


class RetryScheduled(Struct, frozen=True):
    """A request failed and will be sent again. Text of the failed reply does not count."""

    model: str
    why: str
    seconds: float  # until the next attempt
    again: int  # the number of the next attempt: from 2 on, and 1 for a fallback
    fallback: str = ""  # the model that gets the request instead
    attempts: int = 0  # how many there are in all; 0: not known, or another model is asked
    kind: str = ""  # see `TransientFailure`; empty: only `why` says what happened
    detail: str = ""


class Reply(Struct, frozen=True):
    """The whole reply, as the provider's own JSON: what `Session.reply` takes."""

    model: str  # that answered: it may be a fallback
    raw: dict[str, Any]
    price: Price | None = None  # of that model; None: not known
    stop: str = ""  # why it ended: "length" (the token limit), "refused" (it may not answer this), else empty


@runtime_checkable
class Model(Protocol):
    """Answers requests, any number at a time. Closing the generator early stops the reply and raises nothing.

    The pieces are the reply's text, in order; the `Reply` has all of it in the form of a provider that
    `wire.read_reply` knows. Every failure is a `ModelError`. `sightline.testing.check_model` proves what is promised
    here.
    """

    @property
    def info(self) -> ModelInfo:
        """What is known about it."""

    def stream(self, request: Request) -> AsyncGenerator[TextDelta | RetryScheduled | Reply, None]:
        """Yield the reply piece by piece, its `Reply` last. A reply that was cut off has no `Reply`.

        Raises:
            ModelBusy: it may work later: too many requests, a server's own failure, no connection, cut off, too slow.
            ModelRefused: it would not work later either: no such model, no permission, a request it does not take.
            ContextOverflow: the request is larger than its context window.
        """

    async def close(self) -> None:
        """Close its connections."""


async def full_reply(
    model: Model, request: Request, say: Callable[[TextDelta | RetryScheduled], None] | None = None
) -> Reply:
    """Return the model's reply. `say` gets its pieces as they come."""
    async with aclosing(model.stream(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Reply):
                return piece
            if say is not None:
                say(piece)
    raise ModelError(f"{model.info.name} ended without an answer")
