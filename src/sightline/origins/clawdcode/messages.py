"""The document's messages and the core's entries, both ways."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from sightline import wire
from sightline.errors import BadInput
from sightline.log import entries
from sightline.log.entries import Entry
from sightline.log.journal import Journal
from sightline.origins.clawdcode.values import ContextMessage, ContextRole
from sightline.values.clock import milliseconds
from sightline.values.items import Call, Kind, Message, Part, Result, Role, Text, arguments, plain_text
from sightline.wire.common import call_from

_ROLES: dict[str, ContextRole] = {"tool_use": "assistant", "tool_result": "tool"}
SUMMARY = "isCompactSummary"  # in a message's metadata
_MESSAGES = (Kind.SYSTEM, Kind.USER, Kind.ASSISTANT, Kind.RESULT, Kind.SUMMARY)


def is_message(journal: Journal, row: int) -> bool:
    """Whether a row is a message of the journal's branch, and not one of its calls, a window or a recall."""
    timeline = journal.timeline
    return timeline.kind[row] in _MESSAGES and journal.path.holds(timeline.branch[row], row)


def as_chat(message: ContextMessage) -> dict[str, Any]:
    """The message in OpenAI's form, in which its metadata speaks of tools."""
    chat = {"role": message.role, "content": message.content}
    metadata = message.metadata or {}
    if message.role == "tool":
        chat["tool_call_id"] = metadata.get("tool_call_id", message.id)
    elif message.role == "assistant" and "tool_calls" in metadata:
        chat["tool_calls"] = metadata["tool_calls"]
    return chat


def neutral(message: ContextMessage) -> Message:
    """The message as the core has it. Raises BadInput for tool calls that are none."""
    return wire.openai_chat.read([as_chat(message)])[0]


def kept_metadata(message: ContextMessage) -> Raw:
    """What the entry itself does not say. Raises BadInput for what is no JSON."""
    spoken = {"tool": "tool_call_id", "assistant": "tool_calls"}.get(message.role)
    rest = {key: value for key, value in (message.metadata or {}).items() if key != spoken}
    try:
        return Raw(msgspec.json.encode({"metadata": rest} if rest else None))
    except (TypeError, UnicodeEncodeError) as error:
        raise BadInput(f"a message's metadata must be JSON values: {error}") from error


def message_of(entry: Entry) -> ContextMessage:
    """A conversation entry as the document's message: the inverse of saving one."""
    parts = entries.parts_of(entry)
    data: Any = msgspec.json.decode(entry.data)
    metadata = {**(data.get("metadata", {}) if isinstance(data, dict) else {}), **_spoken_metadata(parts)}
    if entry.is_compact_summary:
        metadata[SUMMARY] = True
    role = _ROLES.get(entry.type) or msgspec.convert(entry.type, ContextRole)
    return ContextMessage(entry.uuid, role, plain_text(parts), milliseconds(entry.timestamp), metadata or None)


def _spoken_metadata(parts: tuple[Part, ...]) -> dict[str, Any]:
    if parts and isinstance(parts[0], Result):
        return {"tool_call_id": parts[0].id}
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": arguments(part)}}
        for part in parts
        if isinstance(part, Call)
    ]
    return {"tool_calls": calls} if calls else {}


# ------------------------------------------------------------------ messages in either form


def chat_of(message: Any) -> Mapping[str, Any]:
    """A message in OpenAI's form, whichever of the two it has; nothing, if it is neither."""
    if isinstance(message, Mapping):
        return message
    return as_chat(message) if isinstance(message, ContextMessage) else {}


def role_of(message: Any) -> str:
    """Who speaks."""
    return str(chat_of(message).get("role") or "")


def calls_of(message: Any) -> list[dict[str, Any]]:
    """The calls an assistant message makes, as far as they have an id."""
    calls = chat_of(message).get("tool_calls") if role_of(message) == "assistant" else None
    return [call for call in calls or () if isinstance(call, dict) and isinstance(call.get("id"), str)]


def call_ids(message: Any) -> list[str]:
    """Their ids."""
    return [call["id"] for call in calls_of(message)]


def result_id(message: Any) -> str | None:
    """The id of the call that a tool message says it answers; None for every other message."""
    said = message.metadata or {} if isinstance(message, ContextMessage) else chat_of(message)
    return str(said.get("tool_call_id") or "") or None if role_of(message) == "tool" else None


def is_summary(message: Any) -> bool:
    """Whether a message is the summary of an earlier compaction."""
    metadata = message.metadata if isinstance(message, ContextMessage) else chat_of(message).get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get(SUMMARY))


def readable(message: Any) -> Message:
    """What a message says and calls, as the core has it. Whatever it holds, it does not raise."""
    chat = chat_of(message)
    content, calls = chat.get("content"), chat.get("tool_calls")
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in blocks]
    parts: list[Part] = [Text(text) for text in texts if isinstance(text, str)]
    for call in calls if isinstance(calls, list) else ():
        match call:
            case {"function": {"name": str(name), "arguments": str() | dict() as given}}:
                parts.append(call_from("", name, given))
            case _:
                pass
    return Message(Role.ASSISTANT, tuple(parts))
