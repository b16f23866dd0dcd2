"""Which model to use, and the model that can be asked.

Without a choice it is looked for in this order: the configuration, a key, a server on this machine, a file, the tiny
model.
"""

import asyncio
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

from sightline.agent.config import MODEL_VARIABLE, Config, at_place, endpoint_of
from sightline.agent.models import Model
from sightline.agent.models.anthropic import AnthropicModel
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import import_optional
from sightline.agent.models.local import LocalModel
from sightline.agent.models.openai import OpenAiModel
from sightline.agent.models.retry import RetryingModel
from sightline.agent.models.tiny_model import TINY, tiny_endpoint
from sightline.errors import BadInput, NoModel
from sightline.providers.catalog import PLACES, SERVERS, Place
from sightline.providers.windows import context_window
from sightline.values.phrases import Phrases, texts

PROBE_SECONDS = 0.7  # a server on this machine answers in a few milliseconds, unless it is busy with a reply
NOT_CHAT = ("embed", "rerank", "whisper", "tts", "bge-", "clip")  # in names of models that do not chat

_SAY = Phrases(texts("agent"))
_MODELS: dict[str, Callable[[Endpoint], Model]] = {
    "openai": OpenAiModel,
    "anthropic": AnthropicModel,
    "local": LocalModel,
}


class Listening(NamedTuple):
    """A server that answered, and its models. `windows`: their context windows, where the server tells them."""

    place: Place
    models: tuple[str, ...]
    windows: Mapping[str, int]


Probe = Callable[[Sequence[Place]], Awaitable[list[Listening]]]


class Found(NamedTuple):
    """A model that could be used, and why: "variable", "configured", "key", "server", "file" or "tiny"."""

    endpoint: Endpoint
    why: str
    where: str  # the file, the variable, or the server's name


async def found(config: Config, env: Mapping[str, str], home: Path, probe: Probe | None = None) -> Found:
    """Return the model to use: the first of `candidates`. The others are not looked for.

    Raises:
        NoModel: there is none; the message tells all the ways to get one.
        BadInput: SIGHTLINE_MODEL names none.
    """
    async with aclosing(candidates(config, env, home, probe)) as all_:
        async for best in all_:
            return best
    raise NoModel(
        "no model is configured and none was found on this machine: `sightline model get` fetches a tiny one (it needs "
        f"the extra `local`); else set {' or '.join(key_variables())}; start {' or '.join(server_names())} here; "
        "name a .gguf file with --model; or "
        f"say [model] in sightline.toml, --model PROVIDER/NAME, or {MODEL_VARIABLE}"
    )


def key_variables() -> list[str]:
    """Return the variables in which a key alone is enough to have a model."""
    return [place.key_env for place in PLACES.values() if place.model]


def server_names() -> list[str]:
    """Return the names of the servers that are looked for on this machine."""
    return [place.title for place in SERVERS]


async def candidates(
    config: Config, env: Mapping[str, str], home: Path, probe: Probe | None = None
) -> AsyncGenerator[Found, None]:
    """Yield every model that could be used, the best first, in the order that the module describes."""
    if text := env.get(MODEL_VARIABLE, ""):
        endpoint = _existing(endpoint_of(text, config, env), text, config, f"{MODEL_VARIABLE} takes")
        yield Found(endpoint, "variable", MODEL_VARIABLE)
    if config.model:
        yield Found(config.models[config.model], "configured", config.file)
    for endpoint in config.models.values():
        if not endpoint.gguf and endpoint.label != config.model:
            yield Found(endpoint, "configured", config.file)
    for name, place in PLACES.items():
        if place.model and env.get(place.key_env):
            yield Found(at_place(name, place.model, env), "key", place.key_env)
    for server in await (probe or probed)(SERVERS):
        chatting = [name for name in server.models if not any(word in name.lower() for word in NOT_CHAT)]
        name = (chatting or server.models)[0]
        endpoint = Endpoint(name, base_url=server.place.base_url, window=server.windows.get(name, 0))
        yield Found(endpoint, "server", server.place.title)
    for endpoint in config.models.values():
        if endpoint.gguf and endpoint.label != config.model:
            yield Found(endpoint, "file", config.file)
    if (tiny := tiny_endpoint(home)) is not None:
        yield Found(tiny, "tiny", tiny.gguf)


def named(text: str, config: Config, env: Mapping[str, str], home: Path) -> Endpoint:
    """Return the model that `--model` names; `tiny` is the fetched one.

    Raises:
        BadInput: it names none; the message tells the forms there are.
    """
    if text.strip() != TINY or TINY in config.models:
        return _existing(endpoint_of(text, config, env), text, config, "--model and /model take")
    if (tiny := tiny_endpoint(home)) is None:
        raise NoModel("the tiny model is not here yet: sightline model get")
    return tiny


def _existing(endpoint: Endpoint, text: str, config: Config, who: str) -> Endpoint:
    """Return the endpoint. Raises BadInput if `text` is the path of a file that does not exist."""
    if endpoint.gguf and text.strip() not in config.models and not Path(endpoint.gguf).is_file():
        raise BadInput(f"no file {endpoint.gguf}: {who} the path of a model's .gguf file")
    return endpoint


async def probed(places: Sequence[Place], seconds: float = PROBE_SECONDS) -> list[Listening]:
    """Return the servers that answer within this time and have a model. All are asked at once."""
    httpx2 = import_optional("httpx2", "asking a model", "agent")
    async with httpx2.AsyncClient(timeout=seconds, trust_env=False) as client:
        answers = await asyncio.gather(*(_probe(client, place) for place in places))
    return [answer for answer in answers if answer is not None]


async def _probe(client: Any, place: Place) -> Listening | None:
    import httpx2

    try:
        listed = (await client.get(f"{place.base_url}/models")).raise_for_status().json()
    except (httpx2.HTTPError, ValueError):  # no server is there, or one that is no model's
        return None
    rows = listed.get("data") if isinstance(listed, dict) else None
    models = [row for row in rows or () if isinstance(row, dict) and isinstance(row.get("id"), str)]
    if not models:
        return None
    windows = {row["id"]: window for row in models if (window := context_window(row))}
    return Listening(place, tuple(row["id"] for row in models), windows)


# ---------------------------------------------------------------------- the model that can be asked


def make_model(endpoint: Endpoint) -> Model:
    """Return the model at this endpoint. Nothing is sent or loaded yet.

    Raises:
        BadInput: it needs a key, and there is none.
    """
    if endpoint.keyless:
        named = f" ({endpoint.key_said} names it)" if endpoint.key_said else ""
        raise BadInput(f"{endpoint.name} at {endpoint.address} wants a key: set {endpoint.key_place}{named}")
    return _MODELS[endpoint.provider](endpoint)


def retrying_model(
    endpoints: Sequence[Endpoint], locale: str = "en", *, warn: Callable[[str], object] = warnings.warn
) -> RetryingModel:
    """Return the first of these with its retries, and the others as its fallbacks, in their order.

    `warn` is called for each of the others that cannot be a fallback of the first; it is left out.

    Raises:
        BadInput: the first one needs a key, and there is none.
    """
    first, *others = endpoints
    usable = [first]
    for endpoint in others:
        if why := _why_no_fallback(endpoint, first, locale):
            warn(_SAY("no fallback", locale, name=endpoint.label or endpoint.name, why=why))
        else:
            usable.append(endpoint)
    return RetryingModel(list(map(make_model, usable)), attempts=[endpoint.attempts for endpoint in usable])


def _why_no_fallback(endpoint: Endpoint, first: Endpoint, locale: str) -> str:
    """Return why a model cannot be a fallback of the first one; empty if it can."""
    if endpoint.keyless:
        return _SAY("fallback wants key", locale, name=endpoint.key_env)
    if not first.tools:  # then requests are plain text, which every model takes
        return ""
    if not endpoint.tools:
        return _SAY("fallback without tools", locale)
    if endpoint.native != first.native:  # because a request is written before it is known which model answers
        mine, other = str(endpoint.native).lower(), f"{first.label or first.name}: {str(first.native).lower()}"
        return _SAY("fallback not native", locale, mine=mine, other=other)
    return ""
