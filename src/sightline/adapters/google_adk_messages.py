"""The contents of Google's ADK: those of Gemini, as objects of its SDK.

A content that has responses and something else stays one content: ADK compares it with its own. What is None says
nothing.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from sightline.values.items import BY_PROGRAM, Call, Message, Opaque, Role, Text, Usage
from sightline.wire import gemini
from sightline.wire.call_ids import in_order, result_of
from sightline.wire.common import Json

NAME = gemini.NAME

_OF_AGENTS = "For context:"  # how ADK begins what it tells an agent of others, in the user's role
_BY_PROGRAM = Opaque(NAME, BY_PROGRAM, {})
_BESIDE_RESULTS = Opaque(NAME, "+message", {"beside": "results"})  # of what was one content with responses


def read(messages: list[Any], *, at: int = 0) -> list[Message]:
    """Read contents. `at` is the index of the first one, for error messages. Raises BadInput."""
    return [neutral for index, message in enumerate(messages, at) for neutral in _read(message, index)]


def read_usage(usage: Any) -> Usage | None:
    """Read the usage metadata of a response; None if the provider has not told it."""
    told = usage.model_dump(by_alias=True, exclude_none=True) if hasattr(usage, "model_dump") else usage
    return gemini.read_usage(told)


def _read(content: Any, index: int) -> list[Message]:
    neutral = gemini.read([_told(content)], at=index)
    last = neutral[-1]
    if last.role is Role.USER and isinstance(last.parts[0], Text) and last.parts[0].text.startswith(_OF_AGENTS):
        last = neutral[-1] = Message(Role.USER, (*last.parts, _BY_PROGRAM))
    if neutral[0].role is Role.TOOL and last.role is Role.USER:
        neutral[-1] = Message(Role.USER, (_BESIDE_RESULTS, *last.parts))
    return neutral


def _told(value: Any) -> Any:
    """Return values without those that are None, which say nothing."""
    if isinstance(value, dict):
        return {key: _told(inner) for key, inner in value.items() if inner is not None}
    return [_told(inner) for inner in value] if isinstance(value, list) else value


def write(messages: Sequence[Message]) -> list[Any]:
    """Return messages as contents."""
    from google.genai.types import Content

    written: list[Json] = []
    names: dict[str, str] = {}  # id of a call → the function's name
    last: Role | None = None
    for message in in_order(messages):
        names |= {part.id: part.name for part in message.parts if isinstance(part, Call)}
        parts = gemini.message_parts(message, names)
        if message.role is Role.TOOL:
            parts += gemini.media_beside(result_of(message))
        if last is Role.TOOL and (message.role is Role.TOOL or _BESIDE_RESULTS in message.parts):
            written[-1]["parts"] += parts
        else:
            written.append({"role": "model" if message.role is Role.ASSISTANT else "user", "parts": parts})
        last = message.role
    return [Content.model_validate_json(msgspec.json.encode(content)) for content in written]


def merge(one: Any, other: Any) -> Any | None:
    """Return two contents of one role as one; None if the roles differ."""
    if (one.role == "model") != (other.role == "model"):
        return None
    return type(one)(role=one.role, parts=[*(one.parts or ()), *(other.parts or ())])
