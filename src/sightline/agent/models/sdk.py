"""The official async clients as models, for programs that have one already. Neither SDK is imported here."""

from collections.abc import AsyncGenerator
from typing import Any

from msgspec.structs import replace

from sightline.agent.models import ModelInfo, Price, Reply, Request, TextDelta, anthropic, errors, openai
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import ODD, Told, assembled
from sightline.agent.models.secret import Secret
from sightline.errors import BadInput, ModelError, ModelRefused
from sightline.wire import common

_PROTOCOLS = {"openai": openai.PROTOCOL, "anthropic": anthropic.PROTOCOL}


class SdkModel:
    """An `openai.AsyncOpenAI` or `anthropic.AsyncAnthropic` client, and the name of a model, as a model.

    The client asks again as often as you told it to. Closing the model leaves the client open, for it is yours.

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
        self.endpoint = Endpoint(
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
        self._client, self._protocol = client, _PROTOCOLS[provider]
        self._refused: set[str] = set()

    @property
    def info(self) -> ModelInfo:
        """What it is."""
        return self.endpoint.info

    def stream(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
        """See `Model.stream`."""
        return assembled(self.endpoint, self._protocol.answer(self.endpoint), self._told(request))

    async def close(self) -> None:
        """Nothing: the client is yours."""

    async def _told(self, request: Request) -> AsyncGenerator[Told, None]:
        """The SDK's chunks; what it raises becomes one of our errors."""
        opened = False
        try:
            async with await self._asked(request) as chunks:
                opened = True
                async for chunk in chunks:
                    yield Told(common.plain(chunk, "chunk"))
        except Exception as error:
            known = _known(error, self.endpoint)
            if known is None and opened and isinstance(error, ODD):
                known = errors.garbled(self.endpoint, error)
            if known is None:
                raise
            raise known from None

    async def _asked(self, request: Request) -> Any:
        """The stream; asked again as often as the endpoint names an option that it does not know."""
        chat = self.endpoint.provider == "openai"
        create = self._client.chat.completions.create if chat else self._client.messages.create
        while True:
            body = self._protocol.written(request, self.endpoint, self._refused)
            try:
                return await create(model=self.endpoint.name, stream=True, **body)
            except Exception as error:
                known = _known(error, self.endpoint)
                if not isinstance(known, ModelRefused):
                    raise
                unknown = self._protocol.refused_option(known, body, self.endpoint)
                if not unknown:
                    raise
                self._refused.add(unknown)


def _secret(value: Any) -> Secret | None:
    return Secret(value) if isinstance(value, str) and value else None


def _provider(client: Any) -> str:
    for kind in type(client).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in _PROTOCOLS and kind.__name__.startswith("Async"):
            return root
    raise BadInput(f"{type(client).__name__} is no client: give an openai.AsyncOpenAI or anthropic.AsyncAnthropic")


def _known(error: Exception, endpoint: Endpoint) -> ModelError | None:
    """What an SDK's error means. By the names of its classes, since the SDKs are not imported."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, ModelError):
        return error
    if "APIError" in names:
        endpoint = replace(endpoint, headers=endpoint.headers | _sent(error))
    status = getattr(error, "status_code", 0) if "APIStatusError" in names else 0
    if status >= 300:  # below, it is an error inside a stream that had begun well
        return errors.failure(endpoint, status, getattr(getattr(error, "response", None), "headers", {}), _body(error))
    if names & {"APITimeoutError", "TimeoutException"}:
        return errors.silent(endpoint)
    if "APIConnectionError" in names:
        return errors.unreachable(endpoint, getattr(error, "__cause__", None) or error)
    if "TransportError" in names:
        return errors.cut_off(endpoint, error)
    if "APIError" in names:
        return errors.failure_inside(endpoint, _body(error))
    return None


def _sent(error: Exception) -> dict[str, Secret]:
    """The keys that the request really had: a client may fetch one for each."""
    headers = getattr(getattr(error, "request", None), "headers", {})
    return {name: Secret(headers[name]) for name in ("authorization", "x-api-key", "api-key") if headers.get(name)}


def _body(error: Exception) -> str:
    body = getattr(error, "body", None)
    if body is None:
        return str(error)
    if isinstance(body, dict) and "error" not in body:
        body = {"error": body}
    return body if isinstance(body, str) else common.dumped(body)
