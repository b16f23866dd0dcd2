"""Every endpoint that speaks OpenAI's chat completions: OpenAI, DeepSeek, vLLM, llama.cpp, Ollama, LM Studio, …"""

import re
from collections.abc import Mapping
from typing import Any

from sightline.agent.models import Request, TextDelta, errors
from sightline.agent.models.catalog import PLACES
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import Chunk, HttpModel, WireProtocol, written
from sightline.errors import ModelRefused
from sightline.wire.common import call_from, dumped

Json = dict[str, Any]

# Options that an endpoint may not know: then the request is sent again without them.
# The two names of the token limit replace each other.
LIMITS = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
DISPENSABLE = ("stream_options", "response_format", *LIMITS)
THINKING = ("reasoning_content", "reasoning")  # DeepSeek, vLLM and llama.cpp; OpenRouter and Ollama
_GROWING = frozenset({"content", "refusal", "arguments", "input", "text", "summary", *THINKING})


def request_options(request: Request, endpoint: Endpoint, refused: set[str]) -> Json:
    """Return what is sent, without the options that the endpoint refused."""
    limit = "max_completion_tokens" if endpoint.base_url == PLACES["openai"].base_url else "max_tokens"
    limit = LIMITS[limit] if limit in refused else limit
    body: Json = {**written(request, "openai"), limit: request.output, "stream_options": {"include_usage": True}}
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
        self._endpoint = endpoint
        self._head: Json = {}
        self._message: Json = {"role": "assistant", "content": None}
        self._calls: list[Json] = []
        self._finish: str | None = None
        self._done = False
        self._whole: Json | None = None

    @property
    def finished(self) -> bool:
        return self._finish not in (None, "error")

    def add(self, chunk: Chunk) -> list[TextDelta]:
        """Add a chunk and return its text.

        Raises:
            ModelBusy, ModelRefused, ContextOverflow: the chunk is an error.
        """
        if chunk.done:
            self._done = True
            return []
        if chunk.value.get("error"):
            raise errors.failure_inside(self._endpoint, dumped(chunk.value))
        self._head |= {key: value for key, value in chunk.value.items() if key != "choices" and value is not None}
        choice = next((each for each in chunk.value.get("choices") or () if not each.get("index")), None)
        if choice is None:
            return []
        deltas = self._add_delta(choice.get("message" if chunk.whole else "delta") or {})
        self._finish = choice.get("finish_reason") or self._finish  # last, because a malformed chunk is not an end
        if chunk.whole:
            self._whole = chunk.value
        return deltas

    def reply(self) -> Json:
        if self._whole is not None:
            return self._whole
        if not self.finished and not (self._done and self._finish is None):
            raise errors.cut_off(self._endpoint)
        made = []
        for number, call in enumerate(self._calls):
            id_ = call.get("id") or f"call_{self._head.get('id', '')}_{number}"  # some servers send none
            made.append({key: value for key, value in call.items() if key != "index"} | {"id": id_})
        calls = {"tool_calls": made} if made else {}
        finish = self._finish or ("tool_calls" if self._calls else "stop")
        choice = {"index": 0, "message": self._message | calls, "finish_reason": finish}
        return {**self._head, "object": "chat.completion", "choices": [choice]}

    def _add_delta(self, delta: Json) -> list[TextDelta]:
        for call in delta.get("tool_calls") or ():
            self._add_to_call(call)
        merge(self._message, {key: value for key, value in delta.items() if key not in ("tool_calls", "role")})
        thought = next((delta[key] for key in THINKING if delta.get(key)), "")
        found = (TextDelta(thought, thinking=True), TextDelta(delta.get("content") or delta.get("refusal") or ""))
        return [each for each in found if isinstance(each.text, str) and each.text]

    def _add_to_call(self, delta: Json) -> None:
        """Calls come in pieces by index. Some servers send no index, or the same one for every whole call."""
        place = delta.get("index")
        call = next((each for each in reversed(self._calls) if place is None or each["index"] == place), None)
        if call is None or _begins_another(call, delta):
            place = len(self._calls) if place is None else place
            self._calls.append(call := {"index": place, "type": "function", "function": {"arguments": ""}})
        merge(call, {key: value for key, value in delta.items() if key != "index"})


def _begins_another(call: Json, delta: Json) -> bool:
    """Whether a piece begins another call: it has another id; or it has no id but a name, and this call is complete."""
    if (given := delta.get("id")) and call.get("id"):
        return bool(given != call["id"])
    match call.get("function"), delta.get("function"):
        case {"arguments": str() | dict() as so_far}, {"name": str(name), "arguments": str() | dict() as more}:
            begins = isinstance(more, dict) or more.lstrip().startswith("{")
            return begins and isinstance(call_from("", name, so_far).input, dict)
        case _:
            return False


def merge(whole: Json, piece: Mapping[str, Any]) -> None:
    """Add a piece: growing texts are appended to, list parts are matched by their index, other values are replaced."""
    for key, value in piece.items():
        old = whole.get(key)
        match old, value:
            case _, None:
                whole.setdefault(key, None)
            case dict(), dict():
                merge(old, value)
            case list(), [*parts]:
                _merge_list(old, parts)
            case str(), str() if key in _GROWING:
                whole[key] = old + value
            case _:
                whole[key] = value


def _merge_list(whole: list[Any], parts: list[Any]) -> None:
    for part in parts:
        place = part.get("index") if isinstance(part, dict) else None
        same = (each for each in whole if isinstance(each, dict) and place is not None and each.get("index") == place)
        if (found := next(same, None)) is not None:
            merge(found, part)
        else:
            whole.append(part)


class OpenAiModel(HttpModel):
    """A model behind an endpoint that speaks chat completions."""

    protocol = WireProtocol(
        url=lambda endpoint: endpoint.base_url.rstrip("/") + "/chat/completions",
        key_headers=lambda endpoint: {"authorization": f"Bearer {endpoint.key.reveal()}"} if endpoint.key else {},
        request_options=request_options,
        refused_option=refused_option,
        builder=ChatReply,
    )
