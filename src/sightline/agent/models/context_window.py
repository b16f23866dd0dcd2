"""How large the context window of a model is, asked of the server that runs it.

The list of models tells it at vLLM, SGLang, OpenRouter and others. Ollama, llama.cpp and LM Studio tell it under paths
of their own, which are asked only if the list does not tell it.
"""

import asyncio
import re
from typing import Any

from msgspec.structs import replace

from sightline.agent.models.endpoint import Endpoint, login_of
from sightline.agent.models.http import import_optional
from sightline.agent.models.openai import OpenAiModel
from sightline.providers.windows import as_object, context_window, listed_window, rows_of, sane

ASK_SECONDS = 3.0  # for all questions: a server elsewhere may be slow, and a chat should begin without delay
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

    if window := listed_window(rows_of(await ask(f"{base}/models"), "data"), name):
        return window
    if endpoint.hosted or base.path not in _KNOWN_PATHS:  # no such server: its other paths may do anything
        return 0
    if window := listed_window(rows_of(await ask(f"{own}/api/v0/models"), "data"), name):  # LM Studio
        return window
    props = as_object(await ask(f"{own}/props"))  # llama.cpp
    if window := context_window(as_object(props.get("default_generation_settings"))) or context_window(props):
        return window
    if window := listed_window(rows_of(await ask(f"{own}/api/ps"), "models"), name):  # Ollama, if it is loaded
        return window
    settings = as_object(await ask(f"{own}/api/show", model=name)).get("parameters")  # Ollama, what its file sets
    setting = _OLLAMA_SETTING.search(settings) if isinstance(settings, str) else None
    return sane(int(setting[1])) if setting else 0
