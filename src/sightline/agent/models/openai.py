"""Every endpoint that speaks OpenAI's chat completions: OpenAI, DeepSeek, vLLM, llama.cpp, Ollama, LM Studio, …"""

import re
from collections.abc import Mapping
from typing import Any

from sightline.agent.models import Request, TextDelta, errors
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import Chunk, HttpModel, WireProtocol, written
from sightline.errors import ModelRefused
from sightline.providers.catalog import PLACES
from sightline.wire.common import dumped
from sightline.wire.streams.chat import ChatChunks

Json = dict[str, Any]

# Options that an endpoint may not know: then the request is sent again without them.
# The two names of the token limit replace each other.
LIMITS = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
DISPENSABLE = ("stream_options", "response_format", *LIMITS)


def request_options(request: Request, endpoint: Endpoint, refused: set[str]) -> Json:
    """Return what is sent, without the options that the endpoint refused."""
    usual = "max_completion_tokens" if endpoint.base_url == PLACES["openai"].base_url else "max_tokens"
    body: Json = {**written(request, "openai"), "stream_options": {"include_usage": True}}
    if (limit := body.pop("max_completion_tokens", None)) is not None:
        body[LIMITS[usual] if usual in refused else usual] = limit
    if request.schema is not None:
        shape = {"name": "answer", "schema": request.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    return {key: value for key, value in body.items() if key not in refused} | endpoint.options


def refused_option(error: ModelRefused, body: Mapping[str, Any], endpoint: Endpoint) -> str:
    """Return the dispensable option that the endpoint's error names; empty: another request would not help.

    Options of the configuration are always sent, so they are not dispensable. What was refused
    before is not in the request, so no option is named twice.
    """
    ours = (option for option in DISPENSABLE if option in body and option not in endpoint.options)
    words = re.split(r"""['"`.:\s]+""", str(error))
    return next((option for option in ours if option in words), "")


class ChatReply:
    """Builds from the chunks of one reply what the server would have sent without streaming."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint, self._chunks = endpoint, ChatChunks()

    @property
    def finished(self) -> bool:
        return self._chunks.finished

    def add(self, chunk: Chunk) -> list[TextDelta]:
        """Add a chunk and return its text.

        Raises:
            ModelBusy, ModelRefused, ContextOverflow: the chunk is an error.
        """
        if chunk.done:
            self._chunks.done = True
            return []
        if chunk.value.get("error"):
            raise errors.failure_inside(self._endpoint, dumped(chunk.value))
        return [TextDelta(*piece) for piece in self._chunks.add(chunk.value, whole=chunk.whole)]

    def reply(self) -> Json:
        if not self._chunks.complete:
            raise errors.cut_off(self._endpoint)
        return self._chunks.reply()


class OpenAiModel(HttpModel):
    """A model behind an endpoint that speaks chat completions."""

    protocol = WireProtocol(
        url=lambda endpoint: endpoint.base_url.rstrip("/") + "/chat/completions",
        key_headers=lambda endpoint: {"authorization": f"Bearer {endpoint.key.reveal()}"} if endpoint.key else {},
        request_options=request_options,
        refused_option=refused_option,
        builder=ChatReply,
    )
