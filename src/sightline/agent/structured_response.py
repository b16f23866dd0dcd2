"""The structured response: the JSON with which a model answers if its calls are not native.

The form is BA-Agent's. It is read leniently, because models are not exact. What is wrong with it is listed, so that the
model can correct it once.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from sightline.values.items import ToolDefinition
from sightline.values.phrases import Phrases
from sightline.wire.common import valid

MOST_CALLS = 6  # in one response
LEAST_ANALYSIS = 10  # characters
_BRACES = 200  # places in a text where an object may begin; a text with more is code, not an answer


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
    """A response, and what is wrong with it; nothing if it can be acted on."""

    response: StructuredResponse
    problems: tuple[str, ...] = ()


def parse(text: str, tools: Sequence[str] | None = None, locale: str = "en") -> Parsed:
    """Read a model's text: the whole of it as JSON, perhaps in a fence; else the text is the report.

    An object between other words may be a quotation: if it is complete its report is read, but its calls and code are
    not acted on. A text without a response is itself the report. `tools`: the names of the tools there are. No text
    makes it raise.
    """
    why = ""
    for found, whole in objects(text):
        if "action" not in found and "task_analysis" not in found:
            continue
        try:
            response = msgspec.convert(_without_nulls(found), StructuredResponse, strict=False)
        except (msgspec.ValidationError, RecursionError) as error:
            why = why or str(error)
            continue
        only_reports = response.action.type == "complete" and response.report and not response.action.code_blocks
        if whole or only_reports:
            return Parsed(response, tuple(_problems(response, tools)))
        why = "calls and code count only where the JSON object is the whole answer, without words around it"
        break
    raw = Action(content=text.strip(), recommended_questions=(_say("what is needed", locale),))
    return Parsed(StructuredResponse(action=raw), (why or 'it is no JSON object with an "action"',))


def objects(text: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the JSON objects in a text, in order, none of them inside another.

    With each comes whether it is the whole text, perhaps in a fence.
    """
    fenced = _FENCED.fullmatch(text)
    text, end = (fenced["inside"] if fenced else text).strip(), 0
    for _ in range(_BRACES):
        if (at := text.find("{", end)) < 0:
            return
        try:
            found, end = _DECODER.raw_decode(text, at)
            found = valid(found)
        except (ValueError, RecursionError):
            end = at + 1
            continue
        yield found, end - at == len(text)


_FENCED = re.compile(r"\s*```(?:json|JSON)?[ \t]*\r?\n(?P<inside>.*)```\s*", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)  # not strict, because models put real line breaks into strings
_say = Phrases(
    {
        "what is needed": ("Please say again what you need", "请重新描述您的需求"),
        "not in form": (
            "[your last response is not in the form asked for]\n{listed}\n"
            "Answer with one JSON object in that form, and nothing else.",
            "[你的上一条回复不符合要求的 JSON 格式]\n{listed}\n请只返回一个符合格式的 JSON 对象。",
        ),
    }
)


def _without_nulls(found: dict[str, Any]) -> dict[str, Any]:
    """Return the object without nulls, because a model writes null for what it leaves out."""
    action = found.get("action")
    if isinstance(action, dict):
        found = found | {"action": {key: value for key, value in action.items() if value is not None}}
    return {key: value for key, value in found.items() if value is not None}


def _problems(response: StructuredResponse, tools: Sequence[str] | None) -> Iterator[str]:
    if len(response.task_analysis.strip()) < LEAST_ANALYSIS:
        yield f"task_analysis has fewer than {LEAST_ANALYSIS} characters"
    if "R1" not in response.execution_plan:
        yield "execution_plan does not name its rounds, as in R1: …; R2: …"
    if response.current_round < 1:
        yield "current_round counts from 1"
    yield from _problems_of_action(response.action, tools)
    for block in response.action.code_blocks:
        if not block.code_id.startswith("code_"):
            yield f"code_id {block.code_id[:60]!r} does not begin with code_"
        if not block.code.strip():
            yield f"the code of {block.code_id[:60]!r} is empty"


def _problems_of_action(action: Action, tools: Sequence[str] | None) -> Iterator[str]:
    match action:
        case Action(type="complete", content=str(report), code_blocks=blocks):
            if not report.strip() and not blocks:
                yield "the report is empty"
        case Action(type="complete"):
            yield 'with action.type "complete", content is the report as text'
        case Action(content=tuple(calls)) if calls:
            if len(calls) > MOST_CALLS:
                yield f"{len(calls)} calls; at most {MOST_CALLS} in one response"
            unknown = [call.tool_name[:60] for call in calls if tools is not None and call.tool_name not in tools]
            if unknown:
                yield f"no tool {', '.join(unknown)}; there are: {', '.join(tools or ()) or 'none'}"
        case _:
            yield 'with action.type "tool_call", content is a list of calls'


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
            "task_analysis": {"type": "string", "minLength": LEAST_ANALYSIS, "maxLength": 400},
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
        shared.update((f"{tool.name}.{name}", each) for name, each in arguments.pop(key, {}).items())
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
