"""Checks of models: what an `Agent` relies on."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable
from contextlib import aclosing
from typing import Any

from sightline.agent.models import Model, ModelInfo, Reply, Request, RetryScheduled, TextDelta
from sightline.errors import ModelError
from sightline.log.stores.memory import MemoryStore
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.values.items import Kind, plain_text
from sightline.values.tokens import Estimate


def check_model(model: Model, failing: Iterable[Model] = ()) -> None:
    """Ask a model twice, and each of the `failing` ones once. The model needs two answers; none is closed here.

    It says what it is. The pieces of a reply come first, its `Reply` last, and a session can read that; the pieces are
    its text. Nothing bad happens if somebody stops reading. A model that fails raises a `ModelError`, and nothing else.

    Raises:
        AssertionError: a check failed. The message says which one.
    """
    asyncio.run(_check(model, list(failing)))


async def _check(model: Model, failing: list[Model]) -> None:
    assert isinstance(model, Model), f"{model!r} has no info, stream(request) or close()"
    info = model.info
    assert isinstance(info, ModelInfo), f"info is a ModelInfo, not {info!r}"
    assert info.name, "a model has a name"
    assert 0 < info.output <= info.window, f"{info.name}: the reply's {info.output} tokens exceed the context window"
    session = Session(MemoryStore("check"), token_counter=Estimate())
    session.user("Say one word.")
    request = Request(session.compose(Budget(info.window, output=info.output)), min(64, info.output))
    try:
        await _check_reply(model, request, session)
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{info.name}: raises {error!r} instead of replying; give it two answers") from error
    await _check_stopped(model, request)
    for other in failing:
        await _check_failure(other, request)


def _stream(model: Model, request: Request) -> AsyncGenerator[Any, None]:
    stream = model.stream(request)
    if isinstance(stream, Coroutine):
        stream.close()
    assert isinstance(stream, AsyncGenerator), (
        f"{model.info.name}: stream gives {type(stream).__name__}; write it as an async generator: async def, and yield"
    )
    return stream


async def _check_reply(model: Model, request: Request, session: Session) -> None:
    name, said, reply = model.info.name, "", None
    async with aclosing(_stream(model, request)) as pieces:
        async for piece in pieces:
            assert reply is None, f"{name}: {piece!r} comes after the Reply"
            match piece:
                case TextDelta():
                    said += "" if piece.thinking else piece.text
                case RetryScheduled():
                    said = ""
                case Reply():
                    reply = piece
                case _:
                    raise AssertionError(f"{name}: yields {piece!r}; it is a TextDelta, RetryScheduled or Reply")
    assert reply is not None, f"{name}: the stream ends without a Reply, and without an error"
    assert isinstance(reply.raw, dict), f"{name}: the raw reply is {reply.raw!r}; it is the provider's JSON object"
    try:
        session.reply(reply.raw)
    except Exception as error:
        raise AssertionError(f"{name}: a session cannot read the reply ({error}); give the provider's JSON") from error
    written = "".join(plain_text(item.parts) for item in session.items if item.kind is Kind.ASSISTANT)
    assert not said or said.strip() == written.strip(), f"{name}: says {said!r} piece by piece, but replies {written!r}"


async def _check_stopped(model: Model, request: Request) -> None:
    """Read one piece and stop."""
    try:
        async with aclosing(_stream(model, request)) as pieces:
            async for _ in pieces:
                break
    except Exception as error:
        raise AssertionError(f"{model.info.name}: stopping a reply raises {error!r}") from error


async def _check_failure(model: Model, request: Request) -> None:
    try:
        async with aclosing(_stream(model, request)) as pieces:
            async for piece in pieces:
                assert not isinstance(piece, Reply), f"{model.info.name}: it should fail, but replies"
    except ModelError:
        return
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{model.info.name}: raises {error!r}, which is no ModelError") from error
    raise AssertionError(f"{model.info.name}: it should fail, but ends without an error")
