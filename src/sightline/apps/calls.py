"""How a model acts on windows: two tools, and the documents' `<tool_call>` in text. Both make the same calls."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from sightline.values.items import Call, ToolDefinition

# A fence, also one in a list or a quotation; what backticks open has no further backtick in its line.
_FENCE = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(`{3,}(?![^\n]*`)|~{3,})")
# Whichever begins first: a call is no code because of what its arguments say, code is no call because of what it shows.
_CODE_OR_CALL = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)*?(?<!`)\1(?!`)|<tool_call>", re.DOTALL)
_END = "</tool_call>"
_JSON, _SPACE = json.JSONDecoder(), re.compile(r"\s*")
_OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}

LAUNCHER = "launcher"  # the app that opens where nobody says which
CREATE = ToolDefinition("create", "Open an app in a window.")


def create_tool(apps: Mapping[str, str], launcher: str) -> ToolDefinition:
    """The tool that opens these apps, each with what it is for. Without a name it opens `launcher`, if that is one."""
    lines = [CREATE.description, *(f"{name}: {about}" for name, about in apps.items())]
    if launcher in apps:
        lines.insert(1, f"Without a name, {launcher}.")
    properties = {
        "name": {"type": "string", "enum": list(apps), "description": "The app's name."},
        "target": {"type": "string", "description": "What to open it for, such as a file."},
    }
    required = [] if launcher in apps else ["name"]
    return ToolDefinition(
        CREATE.name, "\n".join(lines), {"type": "object", "properties": properties, "required": required}
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


def is_ours(tool: ToolDefinition) -> bool:
    """Whether a definition is one of ours, whichever apps there were when it was made."""
    return tool == ACTION or (tool.name == CREATE.name and tool.description.startswith(CREATE.description))


def spoken(text: str) -> Iterator[Call]:
    """The calls in an assistant's text, outside code, in order. What is no call is only text."""
    return (call for call in tagged(text) if call is not None)


def tagged(text: str) -> Iterator[Call | None]:
    """What each `<tool_call>` outside code says, in order; None for one that is no call.

    A call ends where its JSON does, whatever stands in it. One that is never closed takes the rest with it.
    """
    text, at = _without_fences(text), 0
    while (found := _CODE_OR_CALL.search(text, at)) is not None:
        at = found.end()
        if found[1] is None:
            said, at = _said(text, at)
            yield _call(said)


def _said(text: str, start: int) -> tuple[Any, int]:
    """The JSON of a call that begins here, None where it is none, and where the text goes on."""
    try:
        said, end = _JSON.raw_decode(text, _SPACE.match(text, start).end())  # type: ignore[union-attr]
    except (ValueError, RecursionError):
        said, end = None, start
    closed = text.find(_END, end)
    if closed < 0:
        return None, len(text)
    return said if not text[end:closed].strip() else None, closed + len(_END)


def _call(said: Any) -> Call | None:
    """`{"name": …, "arguments": {…}}`, the keys in any case; None for anything else."""
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


def parameters(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a call of `action` says besides the window and the action; None where that is no object.

    A model that leaves `params` out and writes them beside the ids means the same.
    """
    if arguments.get("params") is None:
        return {name: value for name, value in arguments.items() if name not in ("window_id", "action_id", "params")}
    return _object(arguments["params"])
