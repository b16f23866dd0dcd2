"""How large the context window of a model is, asked of the server that runs it.

The list of models tells it at vLLM, SGLang, OpenRouter and others. Ollama, llama.cpp and LM Studio tell it under paths
of their own, which are asked only if the list does not tell it.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from sightline.agent.models.endpoint import Endpoint, login_of
from sightline.agent.models.http import import_optional
from sightline.agent.models.openai import OpenAiModel

ASK_SECONDS = 3.0  # for all questions: a server elsewhere may be slow, and a chat should begin without delay
# vLLM and SGLang; LM Studio, what is loaded before what the model could have; OpenRouter; others.
_KEYS = (
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_context_length",
    "n_ctx",
)
_LEAST, _MOST = 256, 1_000_000_000  # tokens of a context window
_KNOWN_PATHS = ("", "/", "/v1")  # below which these servers have their models
_OLLAMA_SETTING = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)


async def with_window(endpoint: Endpoint, seconds: float = ASK_SECONDS) -> Endpoint:
    """Return the endpoint with the context window that its server tells, unless one is set; unchanged if it tells none.

    The server that gets the requests is asked, with the same key. A provider whose models are known is not asked.
    """
    is_known = endpoint.window or (endpoint.hosted and endpoint.window_known)
    if is_known or endpoint.provider != "openai" or endpoint.keyless or not endpoint.base_url:
        return endpoint
    httpx2 = import_optional("httpx2", "asking a model", "agent")
    hidden = {name: value.reveal() for name, value in endpoint.headers.items()}
    headers = OpenAiModel.protocol.key_headers(endpoint) | hidden
    auth, trust = login_of(endpoint.base_url), not endpoint.on_this_machine
    try:
        async with asyncio.timeout(seconds), httpx2.AsyncClient(headers=headers, auth=auth, trust_env=trust) as client:
            window = await _ask(client, endpoint)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError):  # the first request will say what is wrong
        return endpoint
    return replace(endpoint, window=window) if window else endpoint


async def _ask(client: Any, endpoint: Endpoint) -> int:
    """Return the first context window that the server tells; 0: none."""
    import httpx2

    base, name = httpx2.URL(endpoint.base_url.rstrip("/")).copy_with(userinfo=b""), endpoint.name
    own = str(base).removesuffix("/v1")

    async def ask(address: str, **body: str) -> Any:
        response = await (client.post(address, json=body) if body else client.get(address))
        try:
            return response.json() if response.is_success else None
        except (ValueError, RecursionError):
            return None

    if window := listed_window(_rows(await ask(f"{base}/models"), "data"), name):
        return window
    if endpoint.hosted or base.path not in _KNOWN_PATHS:  # no such server: its other paths may do anything
        return 0
    if window := listed_window(_rows(await ask(f"{own}/api/v0/models"), "data"), name):  # LM Studio
        return window
    props = _object(await ask(f"{own}/props"))  # llama.cpp
    if window := context_window(_object(props.get("default_generation_settings"))) or context_window(props):
        return window
    if window := listed_window(_rows(await ask(f"{own}/api/ps"), "models"), name):  # Ollama, if it is loaded
        return window
    settings = _object(await ask(f"{own}/api/show", model=name)).get("parameters")  # Ollama, what its file sets
    setting = _OLLAMA_SETTING.search(settings) if isinstance(settings, str) else None
    return _sane(int(setting[1])) if setting else 0


def context_window(row: Mapping[str, Any]) -> int:
    """Return a model's context window, as its server describes the model; 0: not told."""
    told = [row.get(key) for key in _KEYS] + [_object(row.get("meta")).get("n_ctx")]
    return next(filter(None, map(_sane, told)), 0)


def _sane(tokens: object) -> int:
    """Return a number of tokens that a context window can have; 0 for anything else."""
    return tokens if type(tokens) is int and _LEAST <= tokens <= _MOST else 0


def listed_window(rows: Iterable[Mapping[str, Any]], name: str) -> int:
    """Return the context window of the model of this name in a list of models; 0: not told. Ollama adds ":latest"."""
    names = (name, f"{name}:latest")
    own = [row for row in rows if row.get("id", row.get("name")) in names]
    return next((window for row in own if (window := context_window(row))), 0)


def _rows(answer: Any, key: str) -> list[Mapping[str, Any]]:
    rows = _object(answer).get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
