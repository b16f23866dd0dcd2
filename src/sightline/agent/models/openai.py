"""Every endpoint that speaks OpenAI's chat completions: OpenAI, DeepSeek, vLLM, llama.cpp, Ollama, LM Studio, …"""

from collections.abc import Mapping
from typing import Any

from sightline.agent.models import Request, TextDelta, errors
from sightline.agent.models.catalog import PLACES
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import Told
from sightline.agent.models.served import Protocol, ServedModel
from sightline.errors import ModelRefused
from sightline.wire.common import call_from, dumped

Json = dict[str, Any]

# What an endpoint may not know; it is then asked again without. The two names of the same limit replace each other.
LIMITS = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
DISPENSABLE = ("stream_options", "response_format", *LIMITS)
THINKING = (
    "reasoning_content",
    "reasoning",
)  # DeepSeek, vLLM and llama.cpp say the first, OpenRouter and Ollama the other
_GROWING = frozenset({"content", "refusal", "arguments", "input", "text", "summary", *THINKING})


def written(request: Request, endpoint: Endpoint, refused: set[str]) -> Json:
    """What is asked, without the options that were refused."""
    limit = "max_completion_tokens" if endpoint.base_url == PLACES["openai"].base_url else "max_tokens"
    limit = LIMITS[limit] if limit in refused else limit
    body: Json = {**request.payload.openai(), limit: request.output, "stream_options": {"include_usage": True}}
    if request.schema is not None:
        shape = {"name": "answer", "schema": request.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    return {key: value for key, value in body.items() if key not in refused} | endpoint.options


def refused_option(error: ModelRefused, body: Mapping[str, Any], endpoint: Endpoint) -> str:
    """The dispensable option of this request that the endpoint's error names; empty: asking again would not help.

    What the configuration says is sent in any case, so it is not dispensable. What `written` has left out is not in the
    request, so no option is named twice.
    """
    ours = (option for option in DISPENSABLE if option in body and option not in endpoint.options)
    return next((option for option in ours if _names(str(error), option)), "")


def _names(message: str, option: str) -> bool:
    words = message.replace("'", " ").replace('"', " ").replace("`", " ").replace(".", " ").replace(":", " ").split()
    return option in words


class Answer:
    """The chunks of one answer, put together into what the server would have said at once."""

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
        """Whether the model has said that this is all."""
        return self._finish not in (None, "error")

    def take(self, told: Told) -> list[TextDelta]:
        """One more chunk; what it says.

        Raises:
            ModelBusy, ModelRefused, ContextOverflow: it is an error.
        """
        if told.done:
            self._done = True
            return []
        if told.value.get("error"):
            raise errors.failure_inside(self._endpoint, dumped(told.value))
        self._head |= {key: value for key, value in told.value.items() if key != "choices" and value is not None}
        choice = next((each for each in told.value.get("choices") or () if not each.get("index")), None)
        if choice is None:
            return []
        said = self._grow(choice.get("message" if told.whole else "delta") or {})
        self._finish = choice.get("finish_reason") or self._finish  # only now: a chunk that is odd is no end
        if told.whole:
            self._whole = told.value
        return said

    def reply(self) -> Json:
        """The whole answer.

        Raises:
            ModelBusy: it has no end.
        """
        if self._whole is not None:
            return self._whole
        if not self.finished and not (self._done and self._finish is None):
            raise errors.cut_off(self._endpoint)
        calls = {"tool_calls": [self._whole_call(number) for number in range(len(self._calls))]} if self._calls else {}
        finish = self._finish or ("tool_calls" if self._calls else "stop")
        choice = {"index": 0, "message": self._message | calls, "finish_reason": finish}
        return {**self._head, "object": "chat.completion", "choices": [choice]}

    def _whole_call(self, number: int) -> Json:
        call = {key: value for key, value in self._calls[number].items() if key != "index"}
        return call | {"id": call.get("id") or f"call_{self._head.get('id', '')}_{number}"}  # some servers give none

    def _grow(self, delta: Json) -> list[TextDelta]:
        for call in delta.get("tool_calls") or ():
            self._grow_call(call)
        merge(self._message, {key: value for key, value in delta.items() if key not in ("tool_calls", "role")})
        thought = next((delta[key] for key in THINKING if delta.get(key)), "")
        said = delta.get("content") or delta.get("refusal") or ""
        return [
            *([TextDelta(thought, thinking=True)] if isinstance(thought, str) and thought else ()),
            *([TextDelta(said)] if isinstance(said, str) and said else ()),
        ]

    def _grow_call(self, delta: Json) -> None:
        """Calls come in pieces by index. Some servers say no index, or the same one for every whole call."""
        place = delta.get("index")
        call = next((each for each in reversed(self._calls) if place is None or each["index"] == place), None)
        if call is None or _is_another(call, delta):
            call = {
                "index": len(self._calls) if place is None else place,
                "type": "function",
                "function": {"arguments": ""},
            }
            self._calls.append(call)
        merge(call, {key: value for key, value in delta.items() if key != "index"})


def _is_another(call: Json, delta: Json) -> bool:
    """Whether a piece begins another call: its id says so; or it has none but a name, and this call is whole."""
    if (said := delta.get("id")) and call.get("id"):
        return bool(said != call["id"])
    match call.get("function"), delta.get("function"):
        case {"arguments": str() | dict() as so_far}, {"name": str(name), "arguments": str() | dict() as more}:
            begins = isinstance(more, dict) or more.lstrip().startswith("{")
            return begins and isinstance(call_from("", name, so_far).input, dict)
        case _:
            return False


def merge(whole: Json, piece: Mapping[str, Any]) -> None:
    """Add what a piece says: texts that grow are appended to, lists by the index of their parts, the rest replaced."""
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


def _key(endpoint: Endpoint) -> Json:
    return {"authorization": f"Bearer {endpoint.key.reveal()}"} if endpoint.key else {}


PROTOCOL = Protocol(
    lambda endpoint: endpoint.base_url.rstrip("/") + "/chat/completions", _key, written, refused_option, Answer
)


class OpenAiModel(ServedModel):
    """A model behind an endpoint that speaks chat completions."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint, PROTOCOL)
