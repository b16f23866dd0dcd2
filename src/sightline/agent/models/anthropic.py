"""Anthropic's messages.

Thinking is sent back as it was signed. Anthropic itself leaves out what another model signed; where an endpoint refuses
a signature instead, since another model made it or what came before it was reduced since, thinking is left out.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from sightline.agent.models import Request, TextDelta, errors
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import Told
from sightline.agent.models.served import Protocol, ServedModel
from sightline.errors import ModelRefused
from sightline.wire.anthropic import THINKING
from sightline.wire.common import dumped

Json = dict[str, Any]

VERSION = "2026-10-21"  # of the API. A gateway that knows only the one before takes `headers` in the configuration
SHAPE = "output_config"  # what holds an answer to a schema; older models do not know it
THOUGHTS = "thinking"  # of earlier answers; its signature holds for a model and for what came before it
_GROWING = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


def written(request: Request, endpoint: Endpoint, refused: set[str]) -> Json:
    """What is asked, without what was refused."""
    body: Json = {**request.payload.anthropic(), "max_tokens": request.output}
    if THOUGHTS in refused:
        body["messages"] = [_unthinking(message) for message in body["messages"]]
    if request.schema is not None and SHAPE not in refused:
        body[SHAPE] = {"format": {"type": "json_schema", "schema": request.schema}}
    return body | endpoint.options


def refused_option(error: ModelRefused, body: Mapping[str, Any], endpoint: Endpoint) -> str:
    """What the endpoint does not take of this request, and can be left out; empty: asking again would not help.

    What the configuration says is sent in any case, and what was left out is not in the request: nothing comes twice.
    """
    said = str(error).lower()
    if "signature" in said and "thinking" in said and any(_unthinking(each) != each for each in body["messages"]):
        return THOUGHTS
    shaped = SHAPE in body and SHAPE not in endpoint.options
    return SHAPE if shaped and any(word in said for word in (SHAPE, "schema", "structured output")) else ""


def _unthinking(message: Json) -> Json:
    """A message without thinking. Something remains of it: thinking never stands alone in what is written."""
    return message | {"content": [block for block in message["content"] if block["type"] not in THINKING]}


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

    def take(self, told: Told) -> list[TextDelta]:
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
            case {"type": "content_block_start" | "content_block_delta"}:  # a piece without its place would be lost
                raise errors.cut_off(self._endpoint, "a piece of a block that did not begin")
            case {"type": "error"} | {"error": _}:
                raise errors.failure_inside(self._endpoint, dumped(told.value))
        return []

    def reply(self) -> Json:
        """The whole answer.

        Raises:
            ModelBusy: it has no end.
        """
        if not self.finished:
            raise errors.cut_off(self._endpoint)
        if not self._blocks:
            return self._message
        for place, pieces in self._inputs.items():
            self._blocks[place]["input"] = _arguments("".join(pieces))
        return self._message | {"content": [self._blocks[place] for place in sorted(self._blocks)]}

    def _grow(self, place: int, delta: Json) -> list[TextDelta]:
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


def _said(block: Json) -> list[TextDelta]:
    match block:
        case {"type": "text", "text": str(text)} if text:
            return [TextDelta(text)]
        case {"type": "thinking", "thinking": str(text)} if text:
            return [TextDelta(text, thinking=True)]
        case _:
            return []


def _arguments(text: str) -> Any:
    """A call's arguments; where the answer ran out of room in the middle of them, the text as far as it came."""
    try:
        return msgspec.json.decode(text) if text.strip() else {}
    except msgspec.DecodeError:
        return text


def _key(endpoint: Endpoint) -> Json:
    return {"anthropic-version": VERSION} | ({"x-api-key": endpoint.key.reveal()} if endpoint.key else {})


PROTOCOL = Protocol(
    lambda endpoint: endpoint.base_url.rstrip("/").removesuffix("/v1") + "/v1/messages",
    _key,
    written,
    refused_option,
    Answer,
)


class AnthropicModel(ServedModel):
    """A model behind an endpoint that speaks Anthropic's messages."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint, PROTOCOL)
