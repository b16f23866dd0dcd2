"""The document's messages and the core's entries, both ways."""

from typing import Any

import msgspec
from msgspec import Raw

from sightline import log, wire
from sightline.clock import milliseconds
from sightline.errors import BadInput
from sightline.items import Call, Kind, Message, Part, Result, plain_text
from sightline.journal import Journal
from sightline.log import Entry
from sightline.origins.clawdcode.values import ContextMessage, ContextRole
from sightline.reader import arguments

_ROLES: dict[str, ContextRole] = {"tool_use": "assistant", "tool_result": "tool"}
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
    return wire.openai.read([as_chat(message)])[0]


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
    parts = log.parts_of(entry)
    data: Any = msgspec.json.decode(entry.data)
    metadata = {**(data.get("metadata", {}) if isinstance(data, dict) else {}), **_spoken_metadata(parts)}
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
