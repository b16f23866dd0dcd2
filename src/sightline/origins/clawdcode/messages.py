"""The document's messages in OpenAI's form and as entries of the log, and back."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from sightline import wire
from sightline.errors import BadInput
from sightline.log import entries
from sightline.log.entries import Entry
from sightline.origins.clawdcode.values import ContextMessage, ContextRole
from sightline.origins.exchanges import calls_by_id
from sightline.values.clock import milliseconds
from sightline.values.items import Call, Message, Result, Role, arguments, plain_text

SUMMARY = "isCompactSummary"  # in the metadata of a message that is a summary

_ROLES: dict[str, ContextRole] = {"tool_use": "assistant", "tool_result": "tool"}
_IN_ENTRY = {"tool": "tool_call_id", "assistant": "tool_calls"}  # the metadata that an entry has fields for, by role


def chat_of(message: Any) -> Mapping[str, Any]:
    """Return a message in OpenAI's form: a mapping as it is, a `ContextMessage` converted, anything else empty."""
    if not isinstance(message, ContextMessage):
        return message if isinstance(message, Mapping) else {}
    chat = {"role": message.role, "content": message.content, "metadata": message.metadata}
    key, metadata = _IN_ENTRY.get(message.role, ""), message.metadata or {}
    return chat | {key: metadata[key]} if key in metadata else chat


def role_of(message: Any) -> str:
    return str(chat_of(message).get("role") or "")


def calls_of(message: Any) -> dict[str, Mapping[str, Any]]:
    """Return the tool calls of an assistant message by their ids. Calls without an id are left out."""
    return calls_by_id(chat_of(message))


def result_id(message: Any) -> str | None:
    """Return the id of the call that a tool message answers; None for a message that answers none."""
    return str(chat_of(message).get("tool_call_id") or "") or None if role_of(message) == "tool" else None


def is_summary(message: Any) -> bool:
    """Whether a message is the summary of an earlier compaction."""
    metadata = chat_of(message).get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get(SUMMARY))


def neutral(message: Any) -> Message:
    """Return the core's form of a message, without its metadata. A tool message without a call id gets its own id.

    Raises:
        BadInput: a role, content or tool call that cannot be read.
    """
    chat = {key: value for key, value in chat_of(message).items() if key not in ("id", "metadata")}
    if chat.get("role") == "tool" and not chat.get("tool_call_id"):
        chat["tool_call_id"] = getattr(message, "id", "none")
    return wire.openai_chat.read([chat])[0]


def readable(message: Any) -> Message:
    """Return the core's form of a message; one that says nothing if it cannot be read. Never raises."""
    try:
        return neutral(message)
    except BadInput:
        return Message(Role.USER, ())


def other_metadata(message: ContextMessage) -> Raw:
    """Return the metadata that the entry has no fields for, as the entry's data. Raises BadInput if it is no JSON."""
    rest = {key: value for key, value in (message.metadata or {}).items() if key != _IN_ENTRY.get(message.role)}
    try:
        return Raw(msgspec.json.encode({"metadata": rest} if rest else None))
    except (TypeError, UnicodeEncodeError) as error:
        raise BadInput(f"a message's metadata must be JSON values: {error}") from error


def message_of(entry: Entry) -> ContextMessage:
    """Return the document's message of a conversation entry."""
    parts = entries.parts_of(entry)
    data: Any = msgspec.json.decode(entry.data)
    metadata: dict[str, Any] = dict(data.get("metadata", {})) if isinstance(data, dict) else {}
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": arguments(part)}}
        for part in parts
        if isinstance(part, Call)
    ]
    if calls:
        metadata["tool_calls"] = calls
    if parts and isinstance(parts[0], Result):
        metadata["tool_call_id"] = parts[0].id
    if entry.is_compact_summary:
        metadata[SUMMARY] = True
    role = _ROLES.get(entry.type) or msgspec.convert(entry.type, ContextRole)
    return ContextMessage(entry.uuid, role, plain_text(parts), milliseconds(entry.timestamp), metadata or None)
