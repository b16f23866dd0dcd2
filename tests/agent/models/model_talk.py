"""What the tests of models share: every kind of model in front of the stub, and asking it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from stub import Stub

from sightline import Budget, Session
from sightline.agent.models import Model, Reply, Request, RetryScheduled, TextDelta
from sightline.agent.models.discovery import make_model
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.sdk import SdkModel
from sightline.agent.models.secret import Secret
from sightline.testing import MemoryStore, Ticking

T = TypeVar("T")
KEY = "sk-very-secret-0123456789"
KINDS = ("openai", "anthropic", "openai sdk", "anthropic sdk")
BUDGET = Budget(8_000, 500)
TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "properties": {}}}}]


def session() -> Session:
    """A session in memory."""
    return Session(MemoryStore("talk"), clock=Ticking())


def request(text: str = "Hello", **more: Any) -> Request:
    """A question, with one tool to call."""
    talk = session()
    talk.tools(TOOLS, recall=False)
    talk.system("Be brief.")
    talk.user(text)
    return Request(talk.compose(BUDGET), 300, **more)


def endpoint(kind: str, stub: Stub, **more: Any) -> Endpoint:
    """The stub as an endpoint."""
    provider = kind.split(maxsplit=1)[0]
    base_url = f"{stub.url}/v1" if provider == "openai" else stub.url
    values: dict[str, Any] = {"name": "some-model", "provider": provider, "base_url": base_url, "key": Secret(KEY)}
    return Endpoint(**{**values, "key_env": "SOME_KEY", "seconds": 5.0, **more})


@asynccontextmanager
async def opened(kind: str, stub: Stub, **more: Any) -> AsyncIterator[Model]:
    """A model of this kind in front of the stub; for an SDK, its real client."""
    if not kind.endswith("sdk"):
        model = make_model(endpoint(kind, stub, **more))
        try:
            yield model
        finally:
            await model.close()
        return
    async with _client(kind, stub, more.get("seconds", 5.0)) as client:
        yield SdkModel(client, "some-model", window=8_000)


def _client(kind: str, stub: Stub, seconds: float) -> Any:
    if kind.startswith("openai"):
        import openai

        return openai.AsyncOpenAI(api_key=KEY, base_url=f"{stub.url}/v1", timeout=seconds, max_retries=0)
    import anthropic

    return anthropic.AsyncAnthropic(api_key=KEY, base_url=stub.url, timeout=seconds, max_retries=0)


def use(kind: str, stub: Stub, do: Callable[[Model], Awaitable[T]], **more: Any) -> T:
    """Do this with the model."""

    async def main() -> T:
        async with opened(kind, stub, **more) as model:
            return await do(model)

    return asyncio.run(main())


async def pieces(model: Model, asked: Request) -> list[TextDelta | RetryScheduled | Reply]:
    """All that comes of a question."""
    return [piece async for piece in model.stream(asked)]


def ask(kind: str, stub: Stub, asked: Request | None = None, **more: Any) -> list[TextDelta | RetryScheduled | Reply]:
    """One question to a model that is closed afterwards."""
    return use(kind, stub, lambda model: pieces(model, asked or request()), **more)


def said(found: Sequence[TextDelta | RetryScheduled | Reply], *, thinking: bool = False) -> str:
    """The text that was said."""
    return "".join(piece.text for piece in found if isinstance(piece, TextDelta) and piece.thinking is thinking)


def reply(found: Sequence[TextDelta | RetryScheduled | Reply]) -> dict[str, Any]:
    """The whole answer, which must come last and once."""
    assert [isinstance(piece, Reply) for piece in found] == [False] * (len(found) - 1) + [True]
    last = found[-1]
    assert isinstance(last, Reply)
    return last.raw
