"""Anthropic's messages."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec

from sightline.agent.models import Facts, Reply, Request, Said, failing
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.posting import Connection, Told, assembled, headers_of
from sightline.errors import ModelRefused

Json = dict[str, Any]

VERSION = "2026-10-21"  # of the API. A gateway that knows only the one before takes `headers` in the configuration
SHAPE = "output_config"  # what holds an answer to a schema; older models do not know it
_GROWING = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


class AnthropicModel:
    """A model behind an endpoint that speaks Anthropic's messages."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        key = {"x-api-key": endpoint.key.reveal()} if endpoint.key else {}
        self._connection = Connection(endpoint, headers_of(endpoint, {"anthropic-version": VERSION, **key}))
        self._url = endpoint.base_url.rstrip("/").removesuffix("/v1") + "/v1/messages"
        self._shapes = True  # until it refuses them

    @property
    def facts(self) -> Facts:
        """What it is."""
        return self.endpoint.facts

    def stream(self, request: Request) -> AsyncGenerator[Said | Reply, None]:
        """See `Model.stream`."""
        return assembled(self.endpoint.name, Answer(self.endpoint), self._told(request))

    async def close(self) -> None:
        """Let go of connections."""
        await self._connection.close()

    async def _told(self, request: Request) -> AsyncGenerator[Told, None]:
        """The answer's values; asked again without a schema where the model does not take one."""
        while True:
            body = {"model": self.endpoint.name, **written(request, self.endpoint, shaped=self._shapes), "stream": True}
            try:
                async with aclosing(self._connection.post(self._url, body)) as told:
                    async for each in told:
                        yield each
                return
            except ModelRefused as error:
                if SHAPE not in body or not refuses_shape(error):
                    raise
                self._shapes = False


def written(request: Request, endpoint: Endpoint, *, shaped: bool) -> Json:
    """What is asked."""
    body: Json = {**request.payload.anthropic(), "max_tokens": request.output}
    if request.schema is not None and shaped:
        body[SHAPE] = {"format": {"type": "json_schema", "schema": request.schema}}
    return body | endpoint.options


def refuses_shape(error: ModelRefused) -> bool:
    """Whether it is the schema that the endpoint does not take."""
    said = str(error)
    return SHAPE in said or "schema" in said or "structured output" in said.lower()


class Answer:
    """The events of one answer, put together into what the server would have said at once."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._message: Json = {}
        self._blocks: dict[int, Json] = {}
        self._inputs: dict[int, list[str]] = {}  # the arguments of calls, as text that is not yet whole
        self._ended = False

    @property
    def finished(self) -> bool:
        """Whether the model has said that this is all."""
        return self._ended and bool(self._message)

    def take(self, told: Told) -> list[Said]:
        """One more event; what it says. Events of kinds unknown here say nothing.

        Raises:
            ModelBusy, ModelRefused, ContextOverflow: it is an error.
        """
        match told.value:
            case {"type": "message", "content": [*blocks]}:  # the server did not stream
                self._message, self._ended = dict(told.value), True
                return [said for block in blocks for said in _said(block)]
            case {"type": "message_start", "message": dict(message)}:
                self._message = message
            case {"type": "content_block_start", "index": int(place), "content_block": dict(block)}:
                self._blocks[place] = block
                return _said(block)
            case {"type": "content_block_delta", "index": int(place), "delta": dict(delta)} if place in self._blocks:
                return self._grow(place, delta)
            case {"type": "message_delta"}:
                self._message |= told.value.get("delta") or {}
                usage = {key: value for key, value in (told.value.get("usage") or {}).items() if value is not None}
                self._message["usage"] = (self._message.get("usage") or {}) | usage
            case {"type": "message_stop"}:
                self._ended = True
            case {"type": "error"} | {"error": _}:
                raise failing.failure_inside(self._endpoint, msgspec.json.encode(told.value).decode())
        return []

    def reply(self) -> Json:
        """The whole answer.

        Raises:
            ModelBusy: it has no end.
        """
        if not self.finished:
            raise failing.cut_off(self._endpoint)
        if not self._blocks:
            return self._message
        for place, pieces in self._inputs.items():
            self._blocks[place]["input"] = _arguments("".join(pieces))
        return self._message | {"content": [self._blocks[place] for place in sorted(self._blocks)]}

    def _grow(self, place: int, delta: Json) -> list[Said]:
        block, kind = self._blocks[place], delta.get("type")
        match delta:
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                self._inputs.setdefault(place, []).append(piece)
            case {"type": "citations_delta", "citation": citation}:
                block["citations"] = [*(block.get("citations") or ()), citation]
            case _ if kind in _GROWING:
                key = _GROWING[kind]
                block[key] = (block.get(key) or "") + (delta.get(key) or "")
                return _said({"type": block.get("type"), key: delta.get(key)})
        return []


def _said(block: Json) -> list[Said]:
    match block:
        case {"type": "text", "text": str(text)} if text:
            return [Said(text)]
        case {"type": "thinking", "thinking": str(text)} if text:
            return [Said(text, thinking=True)]
        case _:
            return []


def _arguments(text: str) -> Any:
    """A call's arguments; where the answer ran out of room in the middle of them, the text as far as it came."""
    try:
        return msgspec.json.decode(text) if text.strip() else {}
    except msgspec.DecodeError:
        return text
