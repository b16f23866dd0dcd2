"""How a model acts on windows: two tools, and the documents' `<tool_call>` in text. Both make the same calls."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from sightline.items import Call, ToolDefinition

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
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
    for match in _CALL.finditer(_without_code(text)):
        call = _read(match[1])
        if call is not None:
            yield call


def _read(text: str) -> Call | None:
    """`{"name": …, "arguments": {…}}`, the keys in any case; None for anything else."""
    try:
        said = msgspec.json.decode(text.strip().encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    fields = {str(name).lower(): value for name, value in said.items()}
    name, arguments = fields.get("name"), fields.get("arguments", {})
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        return None
    return Call("", name, {str(key).lower(): value for key, value in arguments.items()})


def _without_code(text: str) -> str:
    """The text without what stands in fences or between backticks: there it is quoted, not said."""
    kept, fence = [], ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if found:
            fence = found[1]
        else:
            kept.append(line)
    return _CODE.sub("", "\n".join(kept))


def parameters(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a call of `action` says besides the window and the action. Some models write the object as text."""
    params = arguments.get("params")
    if isinstance(params, str):
        try:
            params = msgspec.json.decode(params.encode("utf-8", "replace"))
        except msgspec.DecodeError:
            params = None
    return params if isinstance(params, dict) else {}
