"""Answers from a model: at an OpenAI-compatible endpoint, or in a GGUF file on this machine."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple, cast

from benchmarks.answers.prompts import Prompt
from benchmarks.answers.scores import Answer
from benchmarks.quality.composer_calls import Tick, silent
from benchmarks.quality.messages import Message
from sightline.agent.models import Model, Reply, Request
from sightline.agent.models.discovery import make_model
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.retry import RetryingModel
from sightline.agent.models.secret import Secret
from sightline.errors import ContextOverflow
from sightline.wire.payload import Payload

OUTPUT = 32  # tokens of an answer
GREEDY = {"temperature": 0}
_ROOM = 1.3  # a model may count more tokens than we do


def endpoint_model(url: str, name: str, key_env: str, environment: Mapping[str, str]) -> Model:
    """Return the model of this name at an OpenAI-compatible address. Raises BadInput: it needs a key, and has none."""
    given = environment.get(key_env, "")
    endpoint = Endpoint(name, base_url=url, key=Secret(given) if given else None, key_env=key_env, options=GREEDY)
    return RetryingModel([make_model(endpoint)])


def gguf_model(path: str, prompts: Sequence[Prompt]) -> Model:
    """Return the model in a GGUF file, with a context window for the longest of these prompts."""
    window = int(_ROOM * max((prompt["tokens"] for prompt in prompts), default=0)) + OUTPUT
    return make_model(Endpoint(Path(path).stem, "local", gguf=path, window=window, output=OUTPUT, options=GREEDY))


def ask_model(
    model: Model, prompts: Sequence[Prompt], keep: Callable[[Sequence[Answer]], None], tick: Tick = silent
) -> list[Answer]:
    """Return the answers to all prompts, shortest first. `keep` gets what there is after each, so a stop loses nothing.

    A prompt that is too long for the model has no answer. Raises ModelError: the model cannot be asked.
    """
    return asyncio.run(_ask_all(model, prompts, keep, tick))


async def _ask_all(
    model: Model, prompts: Sequence[Prompt], keep: Callable[[Sequence[Answer]], None], tick: Tick
) -> list[Answer]:
    answers: list[Answer] = []
    for done, prompt in enumerate(sorted(prompts, key=lambda each: each["tokens"])):
        tick(done, len(prompts))
        said = await _ask(model, prompt)
        about = {key: value for key, value in prompt.items() if key != "messages"}
        answers.append({**about, "model": model.info.name, "said": said})
        keep(answers)
    if close := getattr(model, "close", None):
        await close()
    return answers


async def _ask(model: Model, prompt: Prompt) -> str | None:
    request = Request(cast(Payload, _Written(prompt["messages"], prompt["tokens"])), OUTPUT)
    try:
        async with aclosing(model.stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    return "".join(_texts(piece.raw)).strip()
    except ContextOverflow:
        return None
    return None


class _Written(NamedTuple):
    """A payload whose messages are already in their provider's form: what a model asks of one."""

    messages: Sequence[Message]
    tokens: int

    def openai(self) -> dict[str, Any]:
        """Keyword arguments of the request."""
        return {"messages": list(self.messages)}


def _texts(raw: dict[str, Any]) -> Iterator[str]:
    for choice in raw["choices"][:1]:
        yield choice["message"].get("content") or ""
