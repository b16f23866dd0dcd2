"""Where a model is, when nobody says: the configuration, a key, a server on this machine, a file, the tiny one."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

from sightline.agent.config import MODEL_VARIABLE, Config, at_place, endpoint_of
from sightline.agent.models.catalog import PLACES, SERVERS, Place
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import needed
from sightline.agent.models.tiny_model import TINY, tiny_endpoint
from sightline.errors import BadInput, NoModel

PROBE_SECONDS = 0.7  # a server on this machine answers in a few milliseconds, unless it is busy with an answer
OTHERS = ("embed", "rerank", "whisper", "tts", "bge-", "clip")  # models on such servers that do not talk


class Listening(NamedTuple):
    """A server that answered, and the models it has. `windows`: what it says that each takes."""

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
    """The model to use: the first that `candidates` gives. What comes later is not looked for.

    Raises:
        NoModel: there is none; it says all the ways to get one.
        BadInput: SIGHTLINE_MODEL means none.
    """
    async with aclosing(candidates(config, env, home, probe)) as all_:
        async for each in all_:
            return each
    raise NoModel(
        "no model is configured and none was found on this machine: `sightline model get` fetches a tiny one; else set "
        f"{' or '.join(key_variables())}; start {' or '.join(server_names())} here; name a .gguf file with --model; or "
        f"say [model] in sightline.toml, --model PROVIDER/NAME, or {MODEL_VARIABLE}"
    )


def key_variables() -> list[str]:
    """The variables that a key alone is enough in."""
    return [place.key_env for place in PLACES.values() if place.model]


def server_names() -> list[str]:
    """The servers that are looked for on this machine."""
    return [place.title for place in SERVERS]


async def candidates(
    config: Config, env: Mapping[str, str], home: Path, probe: Probe | None = None
) -> AsyncGenerator[Found, None]:
    """Every model that could be used, the best first: chosen, keys, servers on this machine, files, the tiny one."""
    for each in _chosen(config, env):
        yield each
    for name, place in PLACES.items():
        if place.model and env.get(place.key_env):
            yield Found(at_place(name, place.model, env), "key", place.key_env)
    for server in await (probe or probed)(SERVERS):
        yield Found(_served(server), "server", server.place.title)
    for endpoint in config.models.values():
        if endpoint.gguf and endpoint.label != config.model:
            yield Found(endpoint, "file", config.file)
    if (tiny := tiny_endpoint(home)) is not None:
        yield Found(tiny, "tiny", tiny.gguf)


def named(given: str, config: Config, env: Mapping[str, str], home: Path) -> Endpoint:
    """The model that `--model` means; `tiny` is the fetched one.

    Raises:
        BadInput: it means none, and the forms there are.
    """
    if given.strip() != TINY or TINY in config.models:
        return _there(endpoint_of(given, config, env), given, config, "--model and /model take")
    tiny = tiny_endpoint(home)
    if tiny is None:
        raise NoModel("the tiny model is not here yet: sightline model get")
    return tiny


def _there(endpoint: Endpoint, given: str, config: Config, who: str) -> Endpoint:
    """The endpoint. Raises BadInput where these words are the path of a file, and there is none."""
    if endpoint.gguf and given.strip() not in config.models and not Path(endpoint.gguf).is_file():
        raise BadInput(f"no file {endpoint.gguf}: {who} the path of a model's .gguf file")
    return endpoint


def _chosen(config: Config, env: Mapping[str, str]) -> list[Found]:
    named = env.get(MODEL_VARIABLE, "")
    chosen = []
    if named:
        endpoint = _there(endpoint_of(named, config, env), named, config, f"{MODEL_VARIABLE} takes")
        chosen.append(Found(endpoint, "variable", MODEL_VARIABLE))
    if config.model:
        chosen.append(Found(config.models[config.model], "configured", config.file))
    others = (each for each in config.models.values() if not each.gguf and each.label != config.model)
    return chosen + [Found(each, "configured", config.file) for each in others]


def _served(server: Listening) -> Endpoint:
    talking = [name for name in server.models if not any(word in name.lower() for word in OTHERS)]
    name = (talking or server.models)[0]
    return Endpoint(name=name, base_url=server.place.base_url, window=server.windows.get(name, 0))


async def probed(places: Sequence[Place], seconds: float = PROBE_SECONDS) -> list[Listening]:
    """Those of these servers that answer within that time and have a model; all are asked at once."""
    httpx2 = needed()
    async with httpx2.AsyncClient(timeout=seconds, trust_env=False) as client:
        answers = await asyncio.gather(*(_probe(client, place) for place in places))
    return [answer for answer in answers if answer is not None]


async def _probe(client: Any, place: Place) -> Listening | None:
    import httpx2

    try:
        listed = (await client.get(f"{place.base_url}/models")).raise_for_status().json()
    except (httpx2.HTTPError, ValueError):  # nobody is there, or something else that speaks no such thing
        return None
    rows = listed.get("data") if isinstance(listed, dict) else None
    models = [row for row in rows or () if isinstance(row, dict) and isinstance(row.get("id"), str)]
    if not models:
        return None
    windows = {row["id"]: window for row in models if (window := _told_window(row))}
    return Listening(place, tuple(row["id"] for row in models), windows)


def _told_window(row: Mapping[str, Any]) -> int:
    """What vLLM and SGLang say of a model, or llama.cpp of how it was started."""
    meta = row.get("meta")
    told = row.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return told if isinstance(told, int) else 0
