"""Reads LangChain messages: its objects, and the three forms in which it dumps them. LangChain is not imported.

`{"type": "human", "content": …}` is `message.model_dump()`, `{"type": "human", "data": {…}}` is `messages_to_dict`, and
`{"lc": 1, "type": "constructor", "id": […, "HumanMessage"], "kwargs": {…}}` is `dumpd`. They are read only.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from sightline.values.items import Message, Usage
from sightline.wire import common
from sightline.wire.common import Json

NAME = "langchain"

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function", "chat": ""}
_FIELDS = (
    "type", "content", "tool_calls", "invalid_tool_calls", "tool_call_id", "status", "name", "role", "id",
    "usage_metadata", "response_metadata", "additional_kwargs",
)  # fmt: skip
_ATTACHED = {"response_metadata": ("model_name", "model"), "additional_kwargs": ("__openai_role__", "tool_calls")}
_DETAILS = ("cache_read", "cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
_MISSING = object()


def is_object(value: object) -> bool:
    """Whether this is a message object of LangChain: it has the attributes that all of its messages have."""
    kind = getattr(value, "type", None)
    return (
        isinstance(kind, str)
        and _type(kind) in _ROLES
        and all(hasattr(value, name) for name in ("content", "additional_kwargs", "response_metadata"))
    )


def dump(message: object) -> Json:
    """Return what is read of a message object, as `model_dump` names it. Nothing is copied.

    Of what providers and programs attach, only the keys that are read: the others may hold values of any kind.
    """
    fields = {name: value for name in _FIELDS if (value := getattr(message, name, _MISSING)) is not _MISSING}
    for name, keys in _ATTACHED.items():
        if isinstance(attached := fields.get(name), dict):
            fields[name] = {key: attached[key] for key in keys if key in attached}
    return fields


def recognises(message: Any) -> bool:
    """Whether this is a dumped message."""
    match message:
        case {"type": "constructor", "id": [*_, str(name)], "kwargs": {"content": _}}:
            return _type(name) in _ROLES
        case {"type": str(kind), "data": {"content": _}} | {"type": str(kind), "content": _}:
            return _type(kind) in _ROLES and ("role" not in message or _type(kind) == "chat")
        case _:
            return False


def read(messages: Iterable[Any], *, at: int = 0) -> list[Message]:
    """Read dumped messages. `at` is the first index, for error messages. Raises BadInput."""
    return [read for index, message in enumerate(messages, at) for read in _read(message, index)]


def _type(name: str) -> str:
    """Return the type of a message by that or by the name of its class: "HumanMessage", "AIMessageChunk"."""
    return name.removesuffix("Chunk").removesuffix("Message").lower()


def _read(message: Json, index: int) -> list[Message]:
    from sightline.wire import anthropic, openai_chat  # each is imported when it is first needed

    inner = message.get("kwargs") or message.get("data") or message
    kind = _type(message["id"][-1] if message["type"] == "constructor" else message["type"])
    more = inner.get("additional_kwargs") or {}
    role = more.get("__openai_role__") or _ROLES[kind] or inner.get("role")
    content = inner.get("content")
    if isinstance(content, list):
        content = [_block(block) for block in content]
    if kind == "tool":
        failed = {"is_error": True} if inner.get("status") == "error" else {}
        block = {"type": "tool_result", "tool_use_id": inner.get("tool_call_id"), "content": content, **failed}
        return anthropic.read([{"role": "user", "content": [block]}], at=index)
    calls = [*(inner.get("tool_calls") or ()), *(inner.get("invalid_tool_calls") or ())]
    if kind == "ai" and isinstance(content, list) and common.block_types({"content": content}) & anthropic.BLOCKS:
        said = {block.get("id") for block in content if isinstance(block, dict)}
        blocks = [*content, *(_tool_use(call) for call in calls if call.get("id") not in said)]
        read = anthropic.read([{"role": "assistant", "content": blocks}], at=index)
    else:
        written: Json = {"role": role, "content": content}
        if calls or (kind == "ai" and more.get("tool_calls")):
            written["tool_calls"] = [*map(_tool_call, calls)] or more["tool_calls"]
        if inner.get("name"):
            written["name"] = inner["name"]
        read = openai_chat.read([written], at=index)
    said_by = inner.get("response_metadata") or {}
    model = str(said_by.get("model_name") or said_by.get("model") or "")
    usage = _usage(inner.get("usage_metadata"))
    return [msgspec.structs.replace(neutral, model=model, usage=usage) if kind == "ai" else neutral for neutral in read]


def _block(block: Any) -> Any:
    """Return a block in OpenAI's or Anthropic's form; LangChain has a form of its own for media."""
    match block:
        case {"type": "image", "base64": str(data)} | {"type": "image", "source_type": "base64", "data": str(data)}:
            kind = block.get("mime_type") or "image/png"
            return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
        case {"type": "image", "url": str(url)}:
            return {"type": "image_url", "image_url": {"url": url}}
        case {"type": "file", "base64": str(data)} | {"type": "file", "source_type": "base64", "data": str(data)}:
            kind = block.get("mime_type") or "application/pdf"
            return {"type": "file", "file": {"file_data": f"data:{kind};base64,{data}"}}
        case _:
            return block


def _tool_call(call: Json) -> Json:
    arguments = call.get("args")
    return {
        "id": call.get("id") or call.get("name"),
        "type": "function",
        "function": {"name": call.get("name"), "arguments": {} if arguments is None else arguments},
    }


def _tool_use(call: Json) -> Json:
    return {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args")}


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict) or "input_tokens" not in usage:
        return None
    read, written, short, hour = common.read_counts(usage.get("input_token_details"), *_DETAILS)
    written = max(written, short + hour)  # where it is told how long they are kept, the sum may be missing
    given, made = common.read_counts(usage, "input_tokens", "output_tokens")
    return Usage(given, made, read, written, hour)
