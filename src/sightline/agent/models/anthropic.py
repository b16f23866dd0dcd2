"""Anthropic's messages.

Thinking is sent back as it was signed. Anthropic itself ignores thinking that another model signed. An endpoint may
refuse a signature instead, because another model made it or because an earlier message was shortened: then all
thinking is left out.
"""

from collections.abc import Mapping
from typing import Any

from sightline.agent.models import Request, TextDelta, errors
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import Chunk, HttpModel, WireProtocol, plain, written
from sightline.errors import BadInput, ModelRefused
from sightline.wire.anthropic import THINKING
from sightline.wire.common import dumped
from sightline.wire.streams.messages import MessageEvents

Json = dict[str, Any]

VERSION = "2026-10-21"  # of the API. A gateway that knows only the one before takes `headers` in the configuration
SHAPE = "output_config"  # the option that demands a schema; older models do not know it
THOUGHTS = "thinking"  # of earlier replies; a signature is valid for one model and for the messages before it


def request_options(request: Request, endpoint: Endpoint, refused: set[str]) -> Json:
    """Return what is sent, without what the endpoint refused."""
    body: Json = written(request, "anthropic")
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
    refuses_thinking = "signature" in why and "thinking" in why
    if refuses_thinking and any(_without_thinking(message) != message for message in _messages(body)):
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
        self._endpoint, self._events = endpoint, MessageEvents()

    @property
    def finished(self) -> bool:
        return self._events.finished

    def add(self, chunk: Chunk) -> list[TextDelta]:
        """Add an event and return its text.

        Raises:
            ModelBusy, ModelRefused, ContextOverflow: the event is an error.
        """
        if chunk.value.get("type") == "error" or chunk.value.get("error"):
            raise errors.failure_inside(self._endpoint, dumped(chunk.value))
        try:
            return [TextDelta(*piece) for piece in self._events.add(chunk.value)]
        except BadInput as error:
            raise errors.cut_off(self._endpoint, error) from None

    def reply(self) -> Json:
        if not self.finished:
            raise errors.cut_off(self._endpoint)
        return self._events.reply()


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
