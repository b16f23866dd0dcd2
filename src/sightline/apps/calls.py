"""How a model acts on windows: with two tools, or with `<tool_call>` in its text. Both make the same calls."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from sightline.values.items import Call, ToolDefinition
from sightline.values.pattern import pattern

# A code fence, also in a list or a quotation. The line of a fence of backticks has no further backtick.
_FENCE = pattern(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(`{3,}(?![^\n]*`)|~{3,})")
# Whichever begins first, because a call may have backticks in its arguments and code may show a call.
_CODE_OR_CALL = pattern(r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)*?(?<!`)\1(?!`)|<tool_call>", re.DOTALL)
_END = "</tool_call>"
_SPACE = pattern(r"\s*")

LAUNCHER = "launcher"  # the app that `create` opens without a name
CREATE = ToolDefinition("create", "Open an app in a window.")


def create_tool(apps: Mapping[str, str]) -> ToolDefinition:
    """Return the tool that opens these apps, given with what each is for. Without a name it opens the launcher."""
    lines = [CREATE.description, *(f"{name}: {about}" for name, about in apps.items())]
    if LAUNCHER in apps:
        lines.insert(1, f"Without a name, {LAUNCHER}.")
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "enum": list(apps), "description": "The app's name."},
            "target": {"type": "string", "description": "What to open it for, such as a file."},
        },
        "required": [] if LAUNCHER in apps else ["name"],
    }
    return ToolDefinition(CREATE.name, "\n".join(lines), schema)


ACTION = ToolDefinition(
    "action",
    "Do something in an open window: one of the actions it lists, with the parameters it names.",
    {
        "type": "object",
        "properties": {
            "window_id": {"type": "string"},
            "action_id": {"type": "string"},
            "params": {
                "type": "object",
                "additionalProperties": True,
                "description": "The action's parameters by name.",
            },
        },
        "required": ["window_id", "action_id"],
    },
)


def is_ours(tool: ToolDefinition) -> bool:
    """Return whether this is our `create` or `action` tool, with whichever apps it was made."""
    return tool == ACTION or (tool.name == CREATE.name and tool.description.startswith(CREATE.description))


def read_calls(text: str) -> Iterator[Call | None]:
    """Return the calls of each `<tool_call>` outside code, in order; None for one that cannot be read.

    A call ends where its JSON ends, whatever the JSON holds. After one that is never closed, no other is read.
    """
    text, at = _without_fences(text), 0
    while (found := _CODE_OR_CALL.search(text, at)) is not None:
        at = found.end()
        if found[1] is None:
            value, at = _read_json(text, at)
            yield _call(value)


def _read_json(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value that begins here, or None, and where the text goes on after the closing tag."""
    from json import JSONDecoder  # few replies have calls in their text

    try:
        value, end = JSONDecoder().raw_decode(text, _SPACE.match(text, start).end())  # type: ignore[union-attr]
    except (ValueError, RecursionError):
        value, end = None, start
    closed = text.find(_END, end)
    if closed < 0:
        return None, len(text)
    return value if not text[end:closed].strip() else None, closed + len(_END)


def _call(value: Any) -> Call | None:
    """Read `{"name": …, "arguments": {…}}`, the keys in any case; None for anything else."""
    fields = {str(name).lower(): field for name, field in value.items()} if isinstance(value, dict) else {}
    name, arguments = fields.get("name"), _object(fields.get("arguments") or {})
    if not isinstance(name, str) or not name or arguments is None:
        return None
    return Call("", name, {str(key).lower(): argument for key, argument in arguments.items()})


def _object(value: Any) -> dict[str, Any] | None:
    """Return an object, which some models write as JSON text; None for anything else."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value.strip().encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _without_fences(text: str) -> str:
    """Remove fenced code, because a call in it is only quoted."""
    outside, fence = [], ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip(f" \t\r>{fence[0]}"):
                fence = ""
        elif found:
            fence = found[1]
        else:
            outside.append(line)
    return "\n".join(outside)


def parameters(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the action's parameters in a call of `action`; None if `params` is no object.

    A model may also leave `params` out and write the parameters next to the ids.
    """
    if arguments.get("params") is None:
        return {name: value for name, value in arguments.items() if name not in ("window_id", "action_id", "params")}
    return _object(arguments["params"])
