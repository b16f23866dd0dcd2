"""The structured response: the JSON with which a model answers if its calls are not native.

The form is BA-Agent's. It is read leniently, because models are not exact: one part that cannot be read does not cost
the others. If it cannot be acted on at all, what is wrong is listed, so that the model can correct it once.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from sightline.agent.json_objects import objects
from sightline.agent.toolbox import MOST_CALLS
from sightline.documents.code.phrases import one_line
from sightline.documents.code.phrases import say as say_code
from sightline.documents.code.versions import is_code_id
from sightline.values.decoders import convert
from sightline.values.items import ToolDefinition
from sightline.values.phrases import Phrases, texts


class CodeBlock(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of code to store."""

    code_id: str = ""
    language: str = "python"
    description: str = ""
    code: str = ""


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    tool_name: str
    tool_call_id: str = ""
    arguments: dict[str, Any] = {}


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the model does: call tools, or give the user the final report."""

    type: Literal["tool_call", "complete"] = "complete"
    content: tuple[ToolCall, ...] | str = ""
    recommended_questions: tuple[str, ...] = ()
    download_links: tuple[str, ...] = ()
    code_blocks: tuple[CodeBlock, ...] = ()


class StructuredResponse(msgspec.Struct, frozen=True):
    """One response of the model."""

    task_analysis: str = ""
    execution_plan: str = ""
    current_round: int = 1
    action: Action = Action()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return self.action.content if isinstance(self.action.content, tuple) else ()

    @property
    def report(self) -> str:
        """The text for the user."""
        return self.action.content if isinstance(self.action.content, str) else ""


class Parsed(NamedTuple):
    """A response, what is wrong with it, and what could not be read of it.

    Without `problems` it can be acted on. `warnings` are about parts of no consequence for the others.
    """

    response: StructuredResponse
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def parse(text: str, tools: Sequence[str] | None = None, locale: str = "en") -> Parsed:
    """Read a model's text: the whole of it as JSON, perhaps in a fence; else the text is the report.

    A part that cannot be read is left out with a warning, and the others count. An object between other words may be a
    quotation: if it is complete its report is read, but its calls and code are not acted on. A text without a response
    is itself the report. `tools`: the names of the tools there are. No text makes it raise.
    """
    why = ""
    for answer, whole in objects(text):
        is_response = "action" in answer or "task_analysis" in answer
        if not is_response or not isinstance(answer.get("action") or {}, dict):
            continue
        try:
            read = _read(answer, tools, locale)
        except RecursionError as error:
            why = why or str(error)
            continue
        action = read.response.action
        only_reports = action.type == "complete" and read.response.report and not action.code_blocks
        if whole or (only_reports and not read.problems):
            return read
        why = _say("quoted", locale)
        break
    raw = Action(content=text.strip(), recommended_questions=(_say("what is needed", locale),))
    return Parsed(StructuredResponse(action=raw), (why or _say("no response", locale),))


_say = Phrases(texts("structured_response"))


def _without_nulls(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the object without nulls, because a model writes null for what it leaves out."""
    action = answer.get("action")
    if isinstance(action, dict):
        answer = answer | {"action": {key: value for key, value in action.items() if value is not None}}
    return {key: value for key, value in answer.items() if value is not None}


def _read(answer: dict[str, Any], tools: Sequence[str] | None, locale: str) -> Parsed:
    """Read an object as a response, part by part."""
    answer = _without_nulls(answer)
    action: dict[str, Any] = answer.pop("action", {})
    unread: list[str] = []
    fields = _fields(StructuredResponse, answer, "", unread)
    response = StructuredResponse(**fields, action=Action(**_fields(Action, action, "action.", unread)))
    problems = list(_problems(response.action, tools, locale))
    if "action.type" in unread:
        unread.remove("action.type")
        problems.append(_say("type", locale, given=str(action["type"])[:60]))
    warnings = [_say("unread", locale, part=part) for part in unread]
    if response.current_round < 1:
        warnings.append(_say("unread", locale, part="current_round"))
    return Parsed(response, tuple(problems), tuple(warnings))


def _fields(kind: type[msgspec.Struct], values: dict[str, Any], where: str, unread: list[str]) -> dict[str, Any]:
    """Return the fields that can be read; the names of those that cannot go to `unread`.

    Of a list everything is returned that can be read. Content that is neither text nor calls is shown as JSON.
    """
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        name, value = field.name, values.get(field.name)
        if value is None:
            continue
        if (read := _convert(value, field.type)) is not None:
            fields[name] = read
            continue
        items = [_convert(item, _ITEMS[name]) for item in value] if name in _ITEMS and isinstance(value, list) else []
        if kept := tuple(item for item in items if item is not None):
            fields[name] = kept
            unread += [f"{where}{name}[{at}]" for at, item in enumerate(items) if item is None]
        elif name == "content":
            fields[name] = json.dumps(value, ensure_ascii=False)
        else:
            unread.append(f"{where}{name}")
    return fields


_ITEMS: dict[str, Any] = {
    "content": ToolCall, "code_blocks": CodeBlock, "recommended_questions": str, "download_links": str,
}  # fmt: skip


def _convert(value: Any, kind: Any) -> Any:
    """Return the value as one of this kind; None if it is none."""
    try:
        return convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return None


def is_storable(block: CodeBlock) -> bool:
    """Return whether a code store takes this code."""
    return is_code_id(block.code_id) and bool(block.code.strip())


def not_saved(block: CodeBlock, error: str, locale: str = "en") -> str:
    """Return the warning that code was not saved, because of what is wrong with it or else of this error."""
    why = error if is_storable(block) else say_code("no code" if is_code_id(block.code_id) else "bad id", locale)
    return say_code("not saved", locale, code_id=one_line(block.code_id, 60), why=why)


def _problems(action: Action, tools: Sequence[str] | None, locale: str) -> Iterator[str]:
    match action:
        case Action(type="complete", content=str(report), code_blocks=blocks):
            if not report.strip() and not any(map(is_storable, blocks)):
                yield _say("empty", locale)
        case Action(type="complete"):
            yield _say("complete", locale)
        case Action(content=tuple(calls)) if calls:
            if len(calls) > MOST_CALLS:
                yield _say("too many", locale, count=len(calls), most=MOST_CALLS)
            unknown = [call.tool_name[:60] for call in calls if tools is not None and call.tool_name not in tools]
            if len(unknown) == len(calls):  # else each of them fails by itself, and the others are run
                there = ", ".join(tools or ()) or _say("none", locale)
                yield _say("unknown", locale, named=", ".join(unknown), there=there)
        case _:
            yield _say("tool_call", locale)


def again(problems: Sequence[str], locale: str = "en") -> str:
    """Return what the model is told if its response cannot be acted on."""
    return _say("not in form", locale, listed="\n".join(f"- {problem}" for problem in problems))


def schema(tools: Sequence[ToolDefinition]) -> dict[str, Any]:
    """Return the JSON Schema of a response that calls these tools, for endpoints that can demand one."""
    shared: dict[str, Any] = {}  # definitions that the tools' schemas refer to; they must be at the top level
    calls = [_call_schema(tool, shared) for tool in tools]
    actions = [_COMPLETE]
    if calls:
        content = {"type": "array", "items": {"anyOf": calls}, "minItems": 1, "maxItems": MOST_CALLS}
        actions.insert(0, _object({"type": {"const": "tool_call"}, "content": content}))
    return _object(
        {
            "task_analysis": {"type": "string", "minLength": 1, "maxLength": 400},
            "execution_plan": {"type": "string", "pattern": '^R1: [^"]{1,200}$'},
            "current_round": {"type": "integer", "minimum": 1, "maximum": 99},
            "action": {"anyOf": actions},
        }
    ) | ({"$defs": shared} if shared else {})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_REFERENCE = re.compile(r'(?<="\$ref": ")#/(?:\$defs|definitions)/')


def _call_schema(tool: ToolDefinition, shared: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a call. The definitions of the tool's schema go to `shared`, under names with the tool's."""
    written = json.dumps(tool.schema or {"type": "object"})
    arguments = json.loads(_REFERENCE.sub(lambda _: f"#/$defs/{tool.name}.", written))
    for key in ("$defs", "definitions"):
        shared.update((f"{tool.name}.{name}", definition) for name, definition in arguments.pop(key, {}).items())
    return _object({"tool_name": {"const": tool.name}, "arguments": arguments})


def _several(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": MOST_CALLS}


_TEXT = {"type": "string", "maxLength": 8000}
_ID = {"type": "string", "pattern": "^code_[a-z_]{3,40}$"}
_BLOCK = _object({"code_id": _ID, "language": _TEXT, "description": _TEXT, "code": _TEXT})
_COMPLETE = _object(
    {
        "type": {"const": "complete"},
        "content": _TEXT,
        "recommended_questions": _several(_TEXT),
        "download_links": _several(_TEXT),
        "code_blocks": _several(_BLOCK),
    }
)
