"""The official async clients as models, for programs that have one already. Neither SDK is imported here."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from msgspec.structs import replace

from sightline.agent.models import Price, anthropic, errors, openai
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import MALFORMED, Chunk, ServedModel, plain
from sightline.agent.models.secret import Secret
from sightline.errors import BadInput, ModelError
from sightline.wire import common

_PROTOCOLS = {"openai": openai.OpenAiModel.protocol, "anthropic": anthropic.AnthropicModel.protocol}


class SdkModel(ServedModel):
    """An `openai.AsyncOpenAI` or `anthropic.AsyncAnthropic` client, and the name of a model, as a model.

    The client retries as often as you configured it to. Closing the model leaves the client open, because it is yours.

    Raises:
        BadInput: the client is neither.
    """

    def __init__(
        self,
        client: Any,
        name: str,
        *,
        window: int = 0,
        output: int = 0,
        native: bool = True,
        price: Price | None = None,
    ) -> None:
        provider = _provider(client)
        key, token = (_secret(getattr(client, name, None)) for name in ("api_key", "auth_token"))
        headers = {name: _secret(value) for name, value in getattr(client, "_custom_headers", {}).items()}
        endpoint = Endpoint(
            name=name,
            provider=provider,
            base_url=str(getattr(client, "base_url", "")).rstrip("/"),
            key=key or token,
            key_said="the auth_token of the client" if token and not key else "",
            headers={name: value for name, value in headers.items() if value},  # the client sends them; we hide them
            window=window,
            output=output,
            native=native,
            price=price,
        )
        self.protocol, self._client = _PROTOCOLS[provider], client
        super().__init__(endpoint)

    async def close(self) -> None:
        """Do nothing, because the client is yours."""

    async def _send(self, options: dict[str, Any]) -> AsyncGenerator[Chunk, None]:
        """Yield the SDK's chunks. What the SDK raises becomes one of our errors."""
        chat, opened = self.endpoint.provider == "openai", False
        create = self._client.chat.completions.create if chat else self._client.messages.create
        try:
            arguments = await asyncio.to_thread(plain, options)
            async with await create(model=self.endpoint.name, stream=True, **arguments) as chunks:
                opened = True
                async for chunk in chunks:
                    yield Chunk(common.plain(chunk, "chunk"))
        except Exception as error:
            model_error = _model_error(error, self.endpoint)
            if model_error is None and opened and isinstance(error, MALFORMED):
                model_error = errors.garbled(self.endpoint, error)
            if model_error is None:
                raise
            raise model_error from None


def _secret(value: Any) -> Secret | None:
    return Secret(value) if isinstance(value, str) and value else None


def _provider(client: Any) -> str:
    for kind in type(client).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in _PROTOCOLS and kind.__name__.startswith("Async"):
            return root
    raise BadInput(f"{type(client).__name__} is no client: give an openai.AsyncOpenAI or anthropic.AsyncAnthropic")


def _model_error(error: Exception, endpoint: Endpoint) -> ModelError | None:
    """Translate an SDK's error by the names of its classes, because the SDKs are not imported. None: not an SDK's."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, ModelError):
        return error
    if "APIError" in names:
        # The keys that the request really had are hidden too, because a client may fetch one for each request.
        sent = getattr(getattr(error, "request", None), "headers", {})
        keys = {name: Secret(sent[name]) for name in ("authorization", "x-api-key", "api-key") if sent.get(name)}
        endpoint = replace(endpoint, headers=endpoint.headers | keys)
    status = getattr(error, "status_code", 0) if "APIStatusError" in names else 0
    if status >= 300:  # below, it is an error inside a stream that had begun well
        return errors.failure(endpoint, status, getattr(getattr(error, "response", None), "headers", {}), _body(error))
    if names & {"APITimeoutError", "TimeoutException"}:
        return errors.silent(endpoint)
    if "APIConnectionError" in names:
        return errors.unreachable(endpoint, getattr(error, "__cause__", None) or error)
    if "TransportError" in names:
        return errors.cut_off(endpoint, error)
    return errors.failure_inside(endpoint, _body(error)) if "APIError" in names else None


def _body(error: Exception) -> str:
    if (body := getattr(error, "body", None)) is None:
        return str(error)
    if isinstance(body, dict) and "error" not in body:
        body = {"error": body}
    return body if isinstance(body, str) else common.dumped(body)
