"""What a model is to the agent: a payload goes in, pieces of the answer come out as they are made, then all of it."""

from collections.abc import AsyncGenerator
from typing import Any, Protocol

from msgspec import Struct

from sightline.wire.payload import Payload


class Price(Struct, frozen=True):
    """Money for a million tokens, in the currency of whoever sends the bill."""

    input: float = 0.0
    cached: float = 0.0  # read from the provider's cache
    written: float = 0.0  # into it
    output: float = 0.0


class ModelInfo(Struct, frozen=True):
    """What must be known of a model before it is asked."""

    name: str
    provider: str  # "openai" for every endpoint that speaks its chat completions, "anthropic", "local"
    window: int = 128_000
    output: int = 8_000
    native: bool = True  # it takes tool definitions; else calls are asked for as JSON
    tools: bool = True  # it can be trusted with tools at all; else it is talked to in plain text
    capable: bool = True  # its words can be trusted with a summary
    price: Price | None = None


class Request(Struct, frozen=True):
    """What a model is asked."""

    payload: Payload
    output: int  # tokens of an answer at most
    schema: dict[str, Any] | None = None  # of the answer, where the endpoint can hold it to one


class TextDelta(Struct, frozen=True):
    """A piece of the answer. `thinking` is not part of it, and may be shown apart."""

    text: str
    thinking: bool = False


class RetryScheduled(Struct, frozen=True):
    """The model could not be asked, and will be again."""

    model: str
    why: str
    seconds: float  # until then
    again: int  # the number of the coming attempt: from 2 on, and 1 of a fallback
    fallback: str = ""  # the model that is asked instead


class Reply(Struct, frozen=True):
    """The whole answer, as the provider's own JSON: what `Session.reply` takes. Who answered may be a fallback."""

    model: str
    raw: dict[str, Any]
    price: Price | None = None  # of the model that answered; None: not known
    stop: str = ""  # why it ended: "length" (it had no more room), "refused" (it may not say this), else empty


class Model(Protocol):
    """Answers requests. Closing the generator early stops the answer."""

    @property
    def info(self) -> ModelInfo:
        """What it is."""
        ...

    def stream(self, request: Request) -> AsyncGenerator[TextDelta | RetryScheduled | Reply, None]:
        """The answer piece by piece, its `Reply` last. Nothing of an answer that was cut off counts as one.

        Raises:
            ModelBusy: it may work later: too many requests, a server's own failure, no connection, cut off, too slow.
            ModelRefused: it would not work later either: no such model, no permission, a request it does not take.
            ContextOverflow: it takes less than it was sent.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
