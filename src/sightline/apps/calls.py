"""How a model acts on windows: two tools, and the documents' `<tool_call>` in text. Both make the same calls."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from sightline.items import Call, ToolDefinition

# A fence, also one in a list or a quotation; what backticks open has no further backtick in its line.
_FENCE = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(`{3,}(?![^\n]*`)|~{3,})")
# Whichever begins first: a call is no code because of what its arguments say, code is no call because of what it shows.
# A tag that is never closed takes the rest with it, so that thousands of them take no longer than one.
_CODE_OR_CALL = re.compile(
    r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)*?(?<!`)\1(?!`)|<tool_call>(?:(?P<call>.*?)</tool_call>|.*)", re.DOTALL
)
_OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}

CREATE = ToolDefinition(
    "create",
    "Open an app in a window. Without a name, the launcher, which lists the apps.",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The app's name."},
            "target": {"type": "string", "description": "What to open it for, such as a file."},
        },
    },
)
ACTION = ToolDefinition(
    "action",
    "Do something in an open window: one of the actions it lists, with the parameters it names.",
    {
        "type": "object",
        "properties": {
            "window_id": {"type": "string"},
            "action_id": {"type": "string"},
            "params": {**_OBJECT, "description": "The action's parameters by name."},
        },
        "required": ["window_id", "action_id"],
    },
)


def spoken(text: str) -> Iterator[Call]:
    """The calls in an assistant's text, outside code, in order. What is no call is only text."""
    return (call for call in tagged(text) if call is not None)


def tagged(text: str) -> Iterator[Call | None]:
    """What each `<tool_call>` outside code says, in order; None for one that is no call."""
    for match in _CODE_OR_CALL.finditer(_without_fences(text)):
        if match["call"] is not None:
            yield _read(match["call"])


def _read(text: str) -> Call | None:
    """`{"name": …, "arguments": {…}}`, the keys in any case; None for anything else."""
    said = _decoded(text)
    if not isinstance(said, dict):
        return None
    fields = {str(name).lower(): value for name, value in said.items()}
    name, arguments = fields.get("name"), _object(fields.get("arguments") or {})
    if not isinstance(name, str) or not name or arguments is None:
        return None
    return Call("", name, {str(key).lower(): value for key, value in arguments.items()})


def _object(value: Any) -> dict[str, Any] | None:
    """An object; some models write it as text."""
    value = _decoded(value) if isinstance(value, str) else value
    return value if isinstance(value, dict) else None


def _decoded(text: str) -> Any:
    """What JSON says; None for what is none."""
    try:
        return msgspec.json.decode(text.strip().encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None


def _without_fences(text: str) -> str:
    """The text without what stands in fences: there it is quoted, not said."""
    kept, fence = [], ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip(f" \t\r>{fence[0]}"):
                fence = ""
            continue
        if found:
            fence = found[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def parameters(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a call of `action` says besides the window and the action."""
    return _object(arguments.get("params")) or {}
