"""A program on the SDKs of OpenAI and Anthropic that holds its list itself: whole, streamed, or on an event loop."""

import asyncio
import re
from pathlib import Path
from typing import Any

import anthropic
import openai
from anthropic.types import Message
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from through_proxy import Talk
from upstream import Asked, Upstream
from upstream_script import Answer, answer, call

import sightline as sl
from sightline.log.stores.session_folder import Folder
from sightline.values.items import plain_text

WIRES = ("anthropic", "chat", "responses")
LIMITS = {"chat": "max_completion_tokens", "responses": "max_output_tokens", "anthropic": "max_tokens"}
TYPES = {"anthropic": Message, "chat": ChatCompletion, "responses": Response}
WINDOW, TURNS = 6_000, 60
Json = dict[str, Any]


def client_of(wire: str, upstream: Upstream, *, is_async: bool = False, **options: Any) -> Any:
    """A client of the provider's SDK."""
    if wire == "anthropic":
        kind: Any = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return kind(base_url=upstream.anthropic_url, api_key="any", max_retries=0, **options)
    kind = openai.AsyncOpenAI if is_async else openai.OpenAI
    return kind(base_url=upstream.openai_url, api_key="any", max_retries=0, **options)


class Program(Talk):
    """A program that holds its list itself and calls the model by an SDK: whole, streamed, or on an event loop."""

    def __init__(self, wire: str, client: Any, mode: str = "create") -> None:
        super().__init__(None, wire, **{LIMITS[wire]: 500})  # type: ignore[arg-type]
        self.client, self.mode = client, mode
        self.loop = asyncio.new_event_loop() if mode.startswith("async") else None

    def ask(self, **changed: Any) -> Json:
        body = self.body(**changed)
        if self.loop is not None:
            reply = self.loop.run_until_complete(self._ask_async(body))
        else:
            reply = self._stream(body) if self.mode == "stream" else self._create(body)
        assert isinstance(reply, TYPES[self.wire])
        dumped: Json = reply.model_dump(mode="json", exclude_none=True, exclude={"parsed_output"})
        self.list += _said(self.wire, dumped)
        return dumped

    def close(self) -> None:
        if self.loop is None:
            self.client.close()
        else:
            self.loop.run_until_complete(self.client.close())
            self.loop.close()

    @property
    def _resource(self) -> Any:
        gpt = self.client
        return {
            "anthropic": lambda: gpt.messages, "chat": lambda: gpt.chat.completions, "responses": lambda: gpt.responses,
        }[self.wire]()  # fmt: skip

    def _create(self, body: Json) -> Any:
        return self._resource.create(**body)

    def _stream(self, body: Json) -> Any:
        if self.wire == "chat":  # the SDK's `stream` wants strict tools
            state = ChatCompletionStreamState()
            for chunk in self._resource.create(**body, stream=True, stream_options={"include_usage": True}):
                state.handle_chunk(chunk)
            return state.get_final_completion()
        with self._resource.stream(**body) as stream:
            return stream.get_final_message() if self.wire == "anthropic" else stream.get_final_response()

    async def _ask_async(self, body: Json) -> Any:
        if self.mode == "async":
            return await self._resource.create(**body)
        if self.wire == "chat":
            state = ChatCompletionStreamState()
            async for chunk in await self._resource.create(**body, stream=True):
                state.handle_chunk(chunk)
            return state.get_final_completion()
        async with self._resource.stream(**body) as stream:
            return await (stream.get_final_message() if self.wire == "anthropic" else stream.get_final_response())


def _said(wire: str, reply: Json) -> list[Json]:
    """What a program puts at the end of its list."""
    if wire == "anthropic":
        return [{"role": "assistant", "content": reply["content"]}]
    if wire == "chat":
        message = reply["choices"][0]["message"]
        kept = {key: message[key] for key in ("role", "content", "tool_calls") if key in message}
        calls = [
            {"id": each["id"], "type": "function", "function": _function(each)} for each in kept.get("tool_calls", [])
        ]
        return [kept | ({"tool_calls": calls} if calls else {})]
    drop = ("status", "parsed_arguments")
    return [_without({key: each for key, each in item.items() if key not in drop}) for item in reply["output"]]


def _function(each: Json) -> Json:
    return {key: each["function"][key] for key in ("name", "arguments")}


def _without(item: Json) -> Json:
    if isinstance(item.get("content"), list):
        item["content"] = [{key: each for key, each in part.items() if key != "parsed"} for part in item["content"]]
    return item


def reading(count: int = TURNS) -> Any:
    """A model that reads so many files one after another, and then says so."""
    left = iter(range(count))

    def respond(_asked: Asked) -> Answer:
        number = next(left, None)
        return answer("Done.") if number is None else answer(call("read", {"path": f"part_{number}.py"}))

    return respond


def names(folder: Path) -> list[str]:
    return [path.stem for path in Folder(folder, None).path.glob("*.jsonl")]


def texts(folder: Path, name: str = "", branch: str | None = None) -> list[str]:
    with sl.Session.inspect(name or names(folder)[0], folder, branch=branch) as session:
        return [plain_text(item.parts) for item in session.items if plain_text(item.parts)]


def without_ids(raw: bytes) -> bytes:
    return re.sub(rb'"(toolu|call|fc|msg|rs)_[\w-]+"', b'""', raw)
