"""Sightline in LiteLLM: a callback that composes requests, in the proxy, a `Router` and `litellm.acompletion`.

    litellm_settings:
      callbacks: sightline.adapters.litellm.hook

The conversation of each request is found and followed as by Sightline's own proxy, by the same code. Needs the
extra `litellm`.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import msgspec

from sightline.adapters.version import check_version
from sightline.errors import SightlineError
from sightline.follow.call import FollowedCall
from sightline.follow.model_request import FORMATS, Format, Json, parse
from sightline.follow.turns import FollowSettings, Turns
from sightline.providers.agents import SESSION_HEADERS
from sightline.values.finish import finish
from sightline.wire import common

check_version("litellm", oldest=(1, 106), before=2)

import litellm  # noqa: E402
from litellm.integrations.custom_logger import CustomLogger  # noqa: E402

__all__ = ["SightlineHook", "hook"]

_log = logging.getLogger(__name__)

_CALL_TYPES = {
    "acompletion": "/v1/chat/completions",
    "completion": "/v1/chat/completions",
    "anthropic_messages": "/v1/messages",
    "aresponses": "/v1/responses",
    "responses": "/v1/responses",
}
_FIELDS = (  # what is read of a request
    "model", "messages", "input", "system", "instructions", "tools", "tool_choice", "n", "max_tokens",
    "max_completion_tokens", "max_output_tokens", "previous_response_id", "conversation",
)  # fmt: skip
_OWNER = ("user_api_key_hash", "user_api_key_user_id", "user_api_key_team_id")  # who asks a proxy, in the metadata
_SESSION_HEADERS = ("x-litellm-session-id", *SESSION_HEADERS)
_LOCKS = 64
_MOST_CALLS = 10_000  # that wait for their answer


class _Waiting(NamedTuple):
    """A call that is being answered."""

    call: FollowedCall
    is_stream: bool


class SightlineHook(CustomLogger):  # type: ignore[misc]
    """A `CustomLogger` of LiteLLM that composes requests and logs answers: `litellm.callbacks = [SightlineHook()]`.

    Chat completions, Responses and Anthropic's messages are composed, whole or streamed, just before they go to the
    deployment that was chosen. A request goes up as it came until its conversation no longer fits. If something of ours
    fails, it goes up as it came too. In a proxy, conversations of different keys never meet.
    """

    def __init__(self, *, project: str | Path = ".", window: int | None = None) -> None:
        """`project`: the folder whose sessions they are.

        `window`: the context window in tokens; without one, that of the model, which LiteLLM knows.
        """
        super().__init__()
        upstreams = dict.fromkeys(("openai", "anthropic"), "litellm")
        self._has_window = window is not None
        self._turns = Turns(FollowSettings(folder=Path(project), window=window, recall=False, upstreams=upstreams))
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()  # by the id of the call
        self._locks = [Lock() for _ in range(_LOCKS)]  # by conversation

    def close(self) -> None:
        """Close the sessions that were opened here. The next call opens them again."""
        self._turns.close()

    # ------------------------------------------------------------------ what LiteLLM calls

    async def async_pre_call_deployment_hook(self, kwargs: Json, call_type: Any) -> Json | None:
        """Put the messages that fit into a request."""
        format_ = _format_of(call_type)
        if format_ is None or format_.messages not in kwargs:
            return None
        try:
            changed = await finish(asyncio.to_thread(self._prepare, format_, kwargs))
        except (SightlineError, OSError, ValueError, TypeError) as error:
            _log.warning("a request goes to the model as it came: %s", error)
            return None
        return {**kwargs, **changed} if changed else None

    async def async_post_call_success_deployment_hook(self, request_data: Json, response: Any, call_type: Any) -> None:
        """Log an answer. That of a stream is told later."""
        if _format_of(call_type) is not None and not hasattr(response, "__anext__"):
            await self._log_reply(request_data, response)

    async def async_log_success_event(self, kwargs: Json, response_obj: Any, start_time: Any, end_time: Any) -> None:  # noqa: ARG002
        """Log the answer of a stream. LiteLLM tells it after its end, when it has put it together."""
        if not hasattr(response_obj, "__anext__"):
            await self._log_reply(kwargs, response_obj)

    async def async_post_call_failure_deployment_hook(
        self,
        request_data: Mapping[str, Any],
        exception: Exception,
        call_type: Any,  # noqa: ARG002
        fallback_depth: int | None = None,  # noqa: ARG002
    ) -> None:
        """Learn from a refusal as too long: the next attempt, LiteLLM's or the client's, is smaller."""
        if (waiting := self._waiting.pop(_id_of(request_data), None)) is None:
            return
        status, told = getattr(exception, "status_code", 400) or 400, str(exception).encode("utf-8", "replace")
        await finish(asyncio.to_thread(waiting.call.refused, status, told))

    # ------------------------------------------------------------------ the log

    def _prepare(self, format: Format, kwargs: Json) -> Json:  # noqa: A002
        """Take in what is new in a request. Return what is sent instead; nothing if it goes up as it came."""
        told = {name: common.plain(kwargs[name], name) for name in _FIELDS if kwargs.get(name) is not None}
        if not self._has_window and (window := _window_of(kwargs)):
            self._turns.know_window(str(told.get("model", "")), window)
        body = msgspec.json.encode(common.valid(told))
        request = self._turns.names.find(parse(format, body, _headers_of(kwargs)))
        with self._at(request.name):
            # The list of a conversation that goes on has the answers of its streams, also those that are not told yet.
            for call_id, waiting in self._waiting.copy().items():
                if waiting.is_stream and waiting.call.name == request.name:
                    self._waiting.pop(call_id, None)
            call = FollowedCall(self._turns, request, self._turns.prepare(request))
            self._waiting[_id_of(kwargs)] = _Waiting(call, bool(kwargs.get("stream")))
        while len(self._waiting) > _MOST_CALLS:
            self._waiting.popitem(last=False)
        if call.body == body:
            return {}
        return {format.messages: msgspec.json.decode(call.body)[format.messages]}

    async def _log_reply(self, request: Json, reply: Any) -> None:
        if (call_id := _id_of(request)) in self._waiting:
            try:
                await finish(asyncio.to_thread(self._add, call_id, common.plain(reply, "reply")))
            except (SightlineError, OSError, ValueError, TypeError) as error:  # the client gets it all the same
                _log.warning("an answer was not logged: %s", error)

    def _add(self, call_id: str, reply: Json) -> None:
        if (waiting := self._waiting.get(call_id)) is None:
            return
        with self._at(waiting.call.name):  # no request of this conversation comes between the two steps
            if self._waiting.pop(call_id, None) is not None:
                waiting.call.log(reply)
                waiting.call.finish()

    def _at(self, name: str) -> Lock:
        return self._locks[hash(name) % len(self._locks)]


def _format_of(call_type: Any) -> Format | None:
    return FORMATS.get(_CALL_TYPES.get(str(getattr(call_type, "value", call_type)), ""))


def _id_of(request: Mapping[str, Any]) -> str:
    return str(request.get("litellm_call_id") or "")


def _window_of(kwargs: Json) -> int:
    """Return the context window that LiteLLM knows of the model of a request; 0: none."""
    name = str(kwargs.get("model") or "")
    costs = litellm.model_cost.get(name) or litellm.model_cost.get(name.partition("/")[2]) or {}
    return int(costs.get("max_input_tokens") or 0)


def _headers_of(kwargs: Json) -> dict[str, str]:
    """Return the headers by which the conversation of a request is found: its session, for each who asks a proxy."""
    metadata = {**(kwargs.get("litellm_metadata") or {}), **(kwargs.get("metadata") or {})}
    headers = {
        str(name).lower(): str(value)
        for source in (metadata.get("headers"), (kwargs.get("proxy_server_request") or {}).get("headers"))
        for name, value in (source or {}).items()
    }
    named = (kwargs.get("litellm_session_id"), metadata.get("litellm_session_id"), metadata.get("session_id"))
    session = next((str(session_id) for session_id in (*named, *map(headers.get, _SESSION_HEADERS)) if session_id), "")
    owner = "".join(str(metadata.get(name) or "") + "\0" for name in _OWNER).strip("\0")
    if not session and not owner:
        return {}
    return {"thread-id": blake2b(f"{owner}\0{session}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()}


hook = SightlineHook()
"""For the configuration of a proxy: sessions are those of the folder in which it is started."""
