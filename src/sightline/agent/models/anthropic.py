"""Anthropic's messages.

Thinking is sent back as it was signed. Anthropic itself ignores thinking that another model signed. An endpoint may
refuse a signature instead, because another model made it or because an earlier message was shortened: then all
thinking is left out.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from sightline.agent.models import Request, TextDelta, errors
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import Chunk, HttpModel, WireProtocol, plain, written
from sightline.errors import ModelRefused
from sightline.wire.anthropic import THINKING
from sightline.wire.common import dumped

Json = dict[str, Any]

VERSION = "2026-10-21"  # of the API. A gateway that knows only the one before takes `headers` in the configuration
SHAPE = "output_config"  # the option that demands a schema; older models do not know it
THOUGHTS = "thinking"  # of earlier replies; a signature is valid for one model and for the messages before it
_GROWING = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


def request_options(request: Request, endpoint: Endpoint, refused: set[str]) -> Json:
    """Return what is sent, without what the endpoint refused."""
    body: Json = {**written(request, "anthropic"), "max_tokens": request.output}
    if THOUGHTS in refused:
        body["messages"] = [_without_thinking(message) for message in _messages(body)]
    if request.schema is not None and SHAPE not in refused:
        body[SHAPE] = {"format": {"type": "json_schema", "schema": request.schema}}
    return body | endpoint.options


def refused_option(error: ModelRefused, body: Mapping[str, Any], endpoint: Endpoint) -> str:
    """Return the dispensable part that the endpoint refuses; empty: another request would not help.

    Options of the configuration are always sent. What was refused before is not in the request, so nothing is named
    twice.
    """
    why = str(error).lower()
    if "signature" in why and "thinking" in why and any(_without_thinking(each) != each for each in _messages(body)):
        return THOUGHTS
    shaped = SHAPE in body and SHAPE not in endpoint.options
    return SHAPE if shaped and any(word in why for word in (SHAPE, "schema", "structured output")) else ""


def _messages(body: Mapping[str, Any]) -> list[Json]:
    messages: list[Json] = plain(body)["messages"]
    return messages


def _without_thinking(message: Json) -> Json:
    """Return a message without thinking. It is never empty, because no message has thinking only."""
    return message | {"content": [block for block in message["content"] if block["type"] not in THINKING]}


class MessageReply:
    """Builds from the events of one reply what the server would have sent without streaming."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._message: Json = {}
        self._blocks: dict[int, Json] = {}
        self._inputs: dict[int, list[str]] = {}  # the arguments of calls: JSON text, not yet complete
        self._ended = False

    @property
    def finished(self) -> bool:
        return self._ended and bool(self._message)

    def add(self, chunk: Chunk) -> list[TextDelta]:
        """Add an event and return its text. Events of unknown kinds are skipped.

        Raises:
            ModelBusy, ModelRefused, ContextOverflow: the event is an error.
        """
        match chunk.value:
            case {"type": "message", "content": [*blocks]}:  # the server did not stream
                self._message, self._ended = dict(chunk.value), True
                return [delta for block in blocks for delta in _text_of(block)]
            case {"type": "message_start", "message": dict(message)}:
                self._message = message
            case {"type": "content_block_start", "index": int(place), "content_block": dict(block)}:
                self._blocks[place] = block
                return _text_of(block)
            case {"type": "content_block_delta", "index": int(place), "delta": dict(delta)} if place in self._blocks:
                return self._add_delta(place, delta)
            case {"type": "message_delta"}:
                self._message |= chunk.value.get("delta") or {}
                usage = {key: value for key, value in (chunk.value.get("usage") or {}).items() if value is not None}
                self._message["usage"] = (self._message.get("usage") or {}) | usage
            case {"type": "message_stop"}:
                self._ended = True
            case {"type": "content_block_start" | "content_block_delta"}:  # it has no block that it could be added to
                raise errors.cut_off(self._endpoint, "a piece of a block that did not begin")
            case {"type": "error"} | {"error": _}:
                raise errors.failure_inside(self._endpoint, dumped(chunk.value))
        return []

    def reply(self) -> Json:
        if not self.finished:
            raise errors.cut_off(self._endpoint)
        if not self._blocks:
            return self._message
        for place, pieces in self._inputs.items():
            self._blocks[place]["input"] = _arguments("".join(pieces))
        return self._message | {"content": [self._blocks[place] for place in sorted(self._blocks)]}

    def _add_delta(self, place: int, delta: Json) -> list[TextDelta]:
        block, kind = self._blocks[place], delta.get("type")
        match delta:
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                self._inputs.setdefault(place, []).append(piece)
            case {"type": "citations_delta", "citation": citation}:
                block["citations"] = [*(block.get("citations") or ()), citation]
            case _ if kind in _GROWING:
                key = _GROWING[kind]
                block[key] = (block.get(key) or "") + (delta.get(key) or "")
                return _text_of({"type": block.get("type"), key: delta.get(key)})
        return []


def _text_of(block: Json) -> list[TextDelta]:
    match block:
        case {"type": "text", "text": str(text)} if text:
            return [TextDelta(text)]
        case {"type": "thinking", "thinking": str(text)} if text:
            return [TextDelta(text, thinking=True)]
        case _:
            return []


def _arguments(text: str) -> Any:
    """Return a call's arguments; if the reply reached its token limit in the middle of them, the text so far."""
    try:
        return msgspec.json.decode(text) if text.strip() else {}
    except msgspec.DecodeError:
        return text


class AnthropicModel(HttpModel):
    """A model behind an endpoint that speaks Anthropic's messages."""

    protocol = WireProtocol(
        url=lambda endpoint: endpoint.base_url.rstrip("/").removesuffix("/v1") + "/v1/messages",
        key_headers=lambda endpoint: (
            {"anthropic-version": VERSION} | ({"x-api-key": endpoint.key.reveal()} if endpoint.key else {})
        ),
        request_options=request_options,
        refused_option=refused_option,
        builder=MessageReply,
    )
