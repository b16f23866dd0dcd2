"""How a model acts on windows: with two tools, or with `<tool_call>` in its text. Both make the same calls."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from sightline.values.escape import MARGIN
from sightline.values.items import Call, ToolDefinition
from sightline.values.logger import log_warning
from sightline.values.pattern import pattern

# A code fence, also in a list or a quotation. The line of a fence of backticks has no further backtick.
_FENCE = pattern(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(`{3,}(?![^\n]*`)|~{3,})")
# Whichever begins first, because a call may have backticks in its arguments and code may show a call.
_CODE_OR_CALL = pattern(r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)*?(?<!`)\1(?!`)|<tool_call>", re.DOTALL)
_TAG, _END = "<tool_call>", "</tool_call>"
_LINE_END = pattern(r"([\n\r\x0b\x0c\x1c-\x1e])")  # none of them can stand in a JSON text
# What may stand before a call that is only quoted: a `>`, also behind what nobody sees, or an indent that makes code.
_QUOTED_LINE = pattern(rf"{MARGIN}(?:(?:[-*+]|\d+[.)])[ \t]+)*[>\uff1e]")
_INDENTED_CODE = pattern(r"(?: {4}| {0,3}\t)\s*\Z")
_PARAGRAPH_END = pattern(r"\n[ \t]*\n|\Z")
# Where a quotation may begin. A mark after a figure or a word is none: 5" is a length.
_OPENING = pattern(
    r"(?<![A-Za-z0-9.,!?;)])[\"\uff02\u201d]|(?<!\w)'(?=\S)|[“„‟«»‹›‘‚「『《〈｢〝]|<(blockquote|pre|code|samp|q)\b[^<>]*>",
    re.I,
)
_STRAIGHT = r"(?<=\S)[\"\uff02]|[\"\uff02](?!\S)"
_CLOSING = {
    mark: pattern(closing)
    for mark, closing in {
        '"': _STRAIGHT, "\uff02": _STRAIGHT, "'": r"(?<=\S)'(?!\w)", "“": "”", "”": "”", "„": "[“”]", "‟": "”",
        "«": "»", "»": "[«»]", "‹": "›", "›": "[‹›]", "‘": r"’(?!\w)", "‚": "[‘’]", "「": "」", "『": "』", "《": "》",
        "〈": "〉", "｢": "｣", "〝": "[〞〟]",
        **{f"<{tag}": rf"(?i)</{tag}\s*>" for tag in ("blockquote", "pre", "code", "samp", "q")},
    }.items()
}  # fmt: skip
_PLACE = "\x00"
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
            "from": {"type": "string", "description": "A closed window, such as #412: go on from its last state."},
        },
        "required": [] if LAUNCHER in apps else ["name"],
    }
    return ToolDefinition(CREATE.name, "\n".join(lines), schema)


_ACT = "Do something in an open window: one of the actions it lists, with the parameters it names."
ACTION = ToolDefinition(
    "action",
    f"{_ACT} Every window also takes lod(level: gist|summary|full|out), which says how much it shows.",
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


def action_tool(usages: Mapping[str, str]) -> ToolDefinition:
    """Return the tool that acts on windows, with what each app's windows can do, where they do not say so."""
    return replace(
        ACTION, description="\n".join([ACTION.description, *(f"{app}: {told}" for app, told in usages.items())])
    )


def is_ours(tool: ToolDefinition) -> bool:
    """Return whether this is our `create` or `action` tool, made with whichever apps by whichever version."""
    begins = {CREATE.name: CREATE.description, ACTION.name: _ACT}.get(tool.name)
    return begins is not None and tool.description.startswith(begins)


def read_calls(text: str) -> Iterator[Call | None]:
    """Return the calls of each `<tool_call>` outside code and quotations, in order; None for one that cannot be read.

    A call ends where its JSON ends, whatever the JSON holds. After one that is never closed, no other is read. Those in
    code and quotations are only counted, in the log of the program.
    """
    written, at = text.count(_TAG), 0
    text = _without_quoted_lines(text).replace(_PLACE, "") if written else ""
    prose: list[str] = []  # without code, and with a mark in the place of each call
    calls: list[tuple[Call | None, int, bool]] = []  # each with the tags in it, and whether its line is no quotation
    while (match := _CODE_OR_CALL.search(text, at)) is not None:
        prose.append(text[at : match.start()])
        at = match.end()
        if match[1] is None:
            *lines, line = f"{prose[-1]}|".splitlines()
            begins_line = bool(lines) or len(prose) == 1
            is_meant = not (begins_line and (_QUOTED_LINE.match(line) or _INDENTED_CODE.match(line[:-1])))
            value, at = _read_json(text, at)
            calls.append((_call(value), text.count(_TAG, match.start(), at), is_meant))
            prose.append(_PLACE)
    quoted = _are_quoted("".join([*prose, text[at:]]))
    meant = [call for call, is_quoted in zip(calls, quoted, strict=True) if call[2] and not is_quoted]
    if not_meant := written - sum(tags for _, tags, _ in meant):
        log_warning("%d <tool_call> in code or in a quotation: not carried out", not_meant)
    return (call for call, _, _ in meant)


def _are_quoted(prose: str) -> Iterator[bool]:
    """Yield of each call in a text whether a quotation that began before it ends after it."""
    quotations = _quotations(prose)
    first, end = next(quotations, (len(prose), len(prose)))
    at = prose.find(_PLACE)
    while at >= 0:
        while end <= at:
            first, end = next(quotations, (len(prose), len(prose)))
        yield first < at
        at = prose.find(_PLACE, at + 1)


def _quotations(prose: str) -> Iterator[tuple[int, int]]:
    """Yield where each quotation begins and ends; one that never ends is none. Single quotes end with a paragraph."""
    next_ends: dict[str, int] = {}  # where each kind ends next

    def next_end(kind: str, closing: re.Pattern[str], start: int) -> int:
        if next_ends.get(kind, -1) < start:
            close = closing.search(prose, start)
            next_ends[kind] = close.end() if close else len(prose) + 1
        return next_ends[kind]

    at = 0
    while (opening := _OPENING.search(prose, at)) is not None:
        kind, at = f"<{opening[1].lower()}" if opening[1] else opening[0], opening.end()
        end = next_end(kind, _CLOSING[kind], at)
        if end <= len(prose) and (kind != "'" or end <= next_end("paragraph", _PARAGRAPH_END, at)):
            yield opening.start(), end
            at = end


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


def _without_quoted_lines(text: str) -> str:
    """Remove fenced code and lines after `>`, with those that go on after them: a call in them is only quoted."""
    outside, fence, is_quoted = [], "", False
    pieces = _LINE_END.split(text)
    for line, end in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        fence_line = _FENCE.match(line)
        if fence:
            if fence_line and fence_line[1].startswith(fence) and not line.strip(f" \t\r>{fence[0]}"):
                fence = ""
            continue
        if fence_line:
            fence, is_quoted = fence_line[1], False
            continue
        is_quoted = bool(line.strip()) and (is_quoted or _QUOTED_LINE.match(line) is not None)
        outside += [end] if is_quoted else [line, end]
    return "".join(outside)


def parameters(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the action's parameters in a call of `action`; None if `params` is no object.

    A model may also leave `params` out and write the parameters next to the ids.
    """
    if arguments.get("params") is None:
        return {name: value for name, value in arguments.items() if name not in ("window_id", "action_id", "params")}
    return _object(arguments["params"])
