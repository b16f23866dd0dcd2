"""A scripted upstream, as strict as the providers: Anthropic Messages, OpenAI Chat Completions and Responses.

    with Upstream([answer(think("Let me see."), call("read", {"path": "a.py"})), answer("Done.")]) as upstream:
        client = anthropic.Anthropic(base_url=upstream.anthropic_url, api_key="any")
        …
    assert upstream.invalid == []

Each request is checked as the provider would, and refused in its words and shape; a refused request takes no step of
the script. `upstream.asked` has all that came. A script may also be a function of the request (`Asked`) that gives a
step. It is proven right by the official SDKs in test_upstream.py.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import upstream_chat as chat
import upstream_messages as messages
import upstream_messages_answer as messages_answer
import upstream_responses as responses
import upstream_responses_answer as responses_answer
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from upstream_delivery import Transports, deliver
from upstream_rules import Bill, Cache, Json, Meter, Refused, Segment, make_id
from upstream_script import Answer, Failure, Script, Step

WINDOW = 200_000  # tokens
MODELS = ("claude-sonnet-4-5", "claude-opus-4-6", "gpt-5.2", "gpt-4.1")
WIRES = {"/v1/messages": "anthropic", "/v1/chat/completions": "chat", "/v1/responses": "responses"}
OUT_OF_STEPS = "the script has no more steps"


@dataclass
class Asked:
    """A request as it came, and what became of it."""

    method: str
    path: str
    query: str
    headers: dict[str, str]  # names in lower case
    raw: bytes
    body: Json = field(default_factory=dict)
    wire: str = ""  # "anthropic", "chat", "responses", or nothing
    verdict: str = ""  # why it was refused; empty: it was not
    overflow: bool = False  # it was refused because it was too long
    bill: Bill | None = None
    answer: list[Json] = field(default_factory=list)  # the blocks, tool calls or items that it was answered with


class Upstream:
    """The server, in a thread of its own, on a free port of loopback."""

    def __init__(
        self, script: Script, *, window: int = WINDOW, cache_minimum: int = 1024, fail_in_stream: bool = False
    ) -> None:
        self._answer = script if callable(script) else _steps(script)
        self._window, self._fail_in_stream = window, fail_in_stream
        self._meter, self._cache = Meter(), Cache(cache_minimum)
        self._issued: dict[str, list[Json]] = {}  # Anthropic: id of a call → the content that it was part of
        self._memory = responses.Memory()
        self.asked: list[Asked] = []
        self.hanging = threading.Event()  # all events before a hang are sent
        self.left = threading.Event()  # a client went away before its answer was complete
        self._server = _Server(self._app())

    def __enter__(self) -> "Upstream":
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def anthropic_url(self) -> str:
        """The base URL of Anthropic's clients."""
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def openai_url(self) -> str:
        """The base URL of OpenAI's clients."""
        return f"{self.anthropic_url}/v1"

    @property
    def invalid(self) -> list[str]:
        """What was wrong with each request that a provider would have refused, overflow and unknown paths included."""
        return [f"{asked.path}: {asked.verdict}" for asked in self.asked if asked.verdict]

    @property
    def calls(self) -> list[Asked]:
        """The requests that were answered by the model."""
        return [asked for asked in self.asked if asked.bill is not None]

    # -------------------------------------------------------------- routes

    def _app(self) -> Starlette:
        methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
        return Starlette(routes=[Route("/{path:path}", self._serve, methods=methods)])

    async def _serve(self, request: Request) -> Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Asked(request.method, request.url.path, request.url.query, headers, await request.body())
        self.asked.append(asked)
        asked.wire = WIRES.get(asked.path, "")
        try:
            self._check_key(asked)
            return self._route(request, asked)
        except Refused as refused:
            asked.verdict = refused.message
            return self._refusal(asked, refused)

    def _route(self, request: Request, asked: Asked) -> Response:
        match asked.method, asked.path:
            case "GET", "/v1/models":
                return _json(_models(asked))
            case "GET", path if path.startswith("/v1/models/"):
                found = [each for each in _models(asked)["data"] if each["id"] == path.removeprefix("/v1/models/")]
                if not found:
                    raise Refused(f"The model '{path.removeprefix('/v1/models/')}' does not exist", status=404)
                return _json(found[0])
            case "POST", "/v1/messages/count_tokens":
                asked.body = _parse(asked)
                messages.check(asked.body, asked.headers, self._issued, counting=True)
                return _json({"input_tokens": _total(messages_answer.measure(asked.body, self._meter))})
            case "POST", "/v1/embeddings":
                data = [{"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}]
                return _json({"object": "list", "data": data, "model": "embed", "usage": {"prompt_tokens": 1}})
            case "POST", _ if asked.wire:
                asked.body = _parse(asked)
                return self._model(request, asked)
        raise Refused(f"Invalid URL ({asked.method} {asked.path})", status=404)

    def _check_key(self, asked: Asked) -> None:
        if not (asked.headers.get("authorization") or asked.headers.get("x-api-key")):
            raise Refused("Missing API key: send `x-api-key` or `Authorization: Bearer`", status=401)

    def _refusal(self, asked: Asked, refused: Refused) -> Response:
        if _is_anthropic(asked):
            return _json(messages_answer.error(refused.status, refused.message), refused.status)
        return _json(chat.error(refused.status, refused.message, refused.param, refused.code), refused.status)

    # -------------------------------------------------------------- the model

    def _model(self, request: Request, asked: Asked) -> Response:
        """The next step of the script, if the request is valid and fits. Raises Refused."""
        items: list[Json] = []
        if asked.wire == "anthropic":
            messages.check(asked.body, asked.headers, self._issued)
            segments = messages_answer.measure(asked.body, self._meter)
        elif asked.wire == "chat":
            chat.check(asked.body)
            segments = chat.measure(asked.body, self._meter)
        else:
            items = responses.check(asked.body, self._memory)
            segments = responses.measure(asked.body, items, self._meter)
        if (response := self._check_window(asked, _total(segments), request)) is not None:
            return response
        step = self._answer(asked)
        if isinstance(step, Failure):
            return self._failure(request, asked, step)
        read, written = self._cache.look(asked.body["model"], segments, explicit=asked.wire == "anthropic")
        made, thought = chat.output_tokens(step, self._meter)
        asked.bill = Bill(_total(segments), read, written, made, thought)
        body, events, error_event = self._speak(asked, step, items)
        streams = bool(asked.body.get("stream"))
        return deliver(request, step, events if streams else None, body, error_event, self)

    def _check_window(self, asked: Asked, tokens: int, request: Request) -> Response | None:
        if tokens <= self._window:
            return None
        asked.overflow = True
        if asked.wire == "anthropic":
            raise Refused(messages_answer.overflow(tokens, self._window))
        speak, param = (chat, "messages") if asked.wire == "chat" else (responses, "input")
        message, code = speak.overflow(tokens, self._window), "context_length_exceeded"
        if not (self._fail_in_stream and asked.wire == "responses" and asked.body.get("stream")):
            raise Refused(message, param=param, code=code)
        asked.verdict = message
        events = responses_answer.failed_events(responses_answer.start(asked.body), code, message)
        return deliver(request, Answer(), events, b"", responses_answer.error_event, self)

    def _speak(self, asked: Asked, step: Answer, items: list[Json]) -> tuple[bytes, Iterable[bytes], Any]:
        """The answer whole, as events, and how an error is told in its stream."""
        body, bill = asked.body, asked.bill
        assert bill is not None
        if asked.wire == "anthropic":
            asked.answer = messages_answer.blocks_of(step)
            self._issued.update((each["id"], asked.answer) for each in asked.answer if each["type"] == "tool_use")
            events = messages_answer.events(step, body, asked.answer, bill)
            return _dump(messages_answer.whole(step, body, asked.answer, bill)), events, messages_answer.error_event
        if asked.wire == "chat":
            message = chat.message_of(step)
            asked.answer = message.get("tool_calls", [])
            return (
                _dump(chat.whole(step, body, message, bill)),
                chat.events(step, body, message, bill),
                chat.error_event,
            )
        asked.answer = responses_answer.items_of(step, body)
        begun = responses_answer.start(body)
        ended = responses_answer.whole(step, begun, asked.answer, bill)
        self._memory.note(ended, items)
        return _dump(ended), responses_answer.events(begun, ended), responses_answer.error_event

    def _failure(self, request: Request, asked: Asked, step: Failure) -> Response:
        error = messages_answer.error if _is_anthropic(asked) else chat.error
        body = _dump(error(step.status)) if step.body is None else step.body
        return deliver(request, step, None, body, chat.error_event, self)


def _steps(script: Iterable[Step]) -> Any:
    left: Iterator[Step] = iter(script)

    def following(asked: Asked) -> Step:
        step = next(left, None)
        if step is None:
            asked.verdict = OUT_OF_STEPS
            return Failure(500, body=_dump({"error": {"type": "api_error", "message": OUT_OF_STEPS}}))
        return step

    return following


def _total(segments: list[Segment]) -> int:
    return sum(each.tokens for each in segments)


def _is_anthropic(asked: Asked) -> bool:
    return asked.path.startswith("/v1/messages") or "anthropic-version" in asked.headers


def _parse(asked: Asked) -> Json:
    try:
        body = json.loads(asked.raw)
    except ValueError as error:
        raise Refused(f"We could not parse the JSON body of your request: {error}") from error
    if not isinstance(body, dict):
        raise Refused("We could not parse the JSON body of your request: it is no object")
    return body


def _dump(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _json(value: Json, status: int = 200) -> Response:
    headers = {"request-id": make_id("req"), "x-request-id": make_id("req")}
    return Response(_dump(value), status, headers=headers, media_type="application/json")


def _models(asked: Asked) -> Json:
    if _is_anthropic(asked):
        made = "2026-01-01T00:00:00Z"
        data = [{"type": "model", "id": each, "display_name": each, "created_at": made} for each in MODELS]
        return {"data": data, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
    listed = [{"id": each, "object": "model", "created": 1790000000, "owned_by": "upstream"} for each in MODELS]
    return {"object": "list", "data": listed}


class _Server(uvicorn.Server):
    """uvicorn in a thread: started when `start` returns, gone when `stop` does, without waiting for ticks."""

    def __init__(self, app: Starlette) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        super().__init__(
            uvicorn.Config(
                Transports(app), log_level="critical", ws="none", lifespan="off", timeout_graceful_shutdown=0
            )
        )
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self.run, args=([self._socket],), daemon=True)

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(30), "the upstream did not start"

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)
        assert not self._thread.is_alive(), "the upstream did not stop"

    async def main_loop(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._end.wait()
