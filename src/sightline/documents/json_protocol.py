"""Calls, results and tool definitions as text, for a model that takes no tools.

A payload is written as text, and the calls of a structured response are read from text.
The text has more tokens than the payload that was composed, and it must fit the token budget too.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

import msgspec
from msgspec.structs import replace

from sightline.agent.call_protocol import CallProtocol, Reading, Sent
from sightline.agent.models import Reply, Request
from sightline.agent.toolbox import MOST_CALLS
from sightline.agent.tools.files.read import ALIAS, call_id
from sightline.documents.code.phrases import one_line
from sightline.documents.code.versions import is_code_id
from sightline.documents.code_window import CODE_LIST
from sightline.documents.structured_response import CodeBlock, Parsed, StructuredResponse, again, parse, schema
from sightline.errors import PinnedOverflow
from sightline.plan import Budget
from sightline.session.session import Session
from sightline.shorten import READ_ID
from sightline.shorten import READERS as FILE_READERS
from sightline.shorten.outline.languages import LANGUAGES
from sightline.values.clock import Ids
from sightline.values.escape import escape, plain_label
from sightline.values.items import (
    Call,
    File,
    Image,
    Kind,
    Lod,
    Message,
    Opaque,
    Part,
    Result,
    Role,
    Text,
    ToolDefinition,
    plain_text,
)
from sightline.values.phrases import Phrases, say, texts
from sightline.values.profiles import Profile, media_tokens, opaque_tokens, profile
from sightline.wire import read_reply
from sightline.wire.common import arguments_object
from sightline.wire.payload import Payload

READER, EXPAND = "file_reader", "expand"  # the tools that show code again
SHORT_CODE = 200  # characters: about as long as the note that replaces longer code
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")  # characters that no provider takes in a tool's name
_LONGEST_NAME = 64
_DOCUMENT = "ba-agent"  # the beginning of the names of the document's layouts
_SPARE = 1.25  # times the extra tokens of the text, because the next messages are written as text too
_say = Phrases(texts("json_protocol"))


class JsonProtocol(CallProtocol):
    """Calls as JSON in the model's text. Of a response that cannot be acted on the model is told once what is wrong."""

    streams_text = False

    def __init__(self, session: Session, ids: Ids) -> None:
        super().__init__(session, ids)
        self._reserve = 0  # tokens of the budget that are kept free for what the text adds to a payload

    def compose(self, budget: Budget) -> Sent:
        """See `CallProtocol`."""
        sent = compose_text(self.session, budget, self._as_text, self._reserve)
        self._reserve = _reserve_after(sent)
        return sent

    def request(self, sent: Sent, output: int) -> Request:
        return Request(sent.written, output, schema(sent.payload.tools))

    def read(self, reply: Reply, sent: Sent, *, is_second: bool) -> Reading:
        """See `CallProtocol`. Some models call natively all the same."""
        parts, locale = read_reply(reply.raw).parts, self.session.settings.locale
        if any(isinstance(part, Call) for part in parts):
            return Reading(reply.raw)
        names = [tool.name for tool in sent.payload.tools]
        parsed = parse(plain_text(parts), [*names, *([ALIAS] if READER in names else [])], locale)
        response = parsed.response
        if parsed.problems and not is_second:
            return Reading(reply.raw, response=response, again=again(parsed.problems, locale))
        raw = with_calls(reply.raw, parsed, self.ids)
        return Reading(raw, response.report, response, warnings=(*parsed.warnings, *parsed.problems))

    def summary_budget(self, budget: Budget) -> Budget:
        """See `CallProtocol`."""
        return _less(budget, self._reserve)

    def summary_payload(self, payload: Payload) -> Payload:
        """See `CallProtocol`."""
        return self._as_text(payload, form=False)

    def _as_text(self, payload: Payload, form: bool = True) -> Payload:
        settings, stores = self.session.settings, CODE_LIST in self.session.windows.apps
        if settings.layout.startswith(_DOCUMENT):
            payload = _with_short_gists(payload)
        return as_text(payload, settings.locale, form=form, stores=stores)


# ---------------------------------------------------------------------- the text must fit the budget too


def compose_text(session: Session, budget: Budget, write: Callable[[Payload], Payload], reserve: int = 0) -> Sent:
    """Return a payload whose text, as `write` makes it, is within the budget. `reserve`: the last one's.

    If it is not, it is composed again with more tokens kept free: at most some twenty times, because each time half as
    many again are kept free.

    Raises:
        PinnedOverflow: it cannot be made small enough.
    """
    most, reason = budget.window - budget.output, ""
    while True:
        payload = session.compose(_less(budget, reserve))
        receipt = session.receipt
        assert receipt is not None, "composing leaves one"
        written, left = write(payload), max(most - reserve, 1)
        written = replace(written, tokens=tokens_of(written, session))
        reason = reason or receipt.reason  # also of a payload that was not sent, because the next continues it
        limit = receipt.limit * most // left  # as the session would set it for the whole budget
        sent = Sent(payload, written, min(limit, most), reason)
        if sent.tokens <= sent.limit:
            return sent
        if left == 1:
            raise PinnedOverflow(["the form of answers and the list of tools"], sent.tokens - sent.limit)
        reserve = max(_reserve_after(sent), reserve + reserve // 2, 64)


def _reserve_after(sent: Sent) -> int:
    """Return the tokens to keep free in the next payload."""
    return max(0, round(sent.extra_tokens * _SPARE))


def _less(budget: Budget, reserve: int) -> Budget:
    """Return a budget with so many tokens less, but at least one."""
    return replace(budget, window=max(budget.window - reserve, budget.output + 1))


def tokens_of(payload: Payload, session: Session) -> int:
    """Count the tokens of a payload without tools, as this session counts them."""
    rules = profile(session.settings.profile)
    messages = (*payload.system, *payload.body, *payload.tail)
    parts = (_part_tokens(part, session, rules) for message in messages for part in message.parts)
    return rules.request_tokens + rules.message_tokens * len(messages) + sum(parts)


def _part_tokens(part: Part, session: Session, rules: Profile) -> int:
    match part:
        case Image() | File():
            return media_tokens(part, rules)
        case Opaque():
            return opaque_tokens(part, rules, session.count)
        case _:
            return session.count(plain_text((part,)))


# ---------------------------------------------------------------------- payloads as text


def as_text(payload: Payload, locale: str, *, form: bool = True, stores: bool = False) -> Payload:
    """Return the payload without tools: calls are in the assistant's text, results are messages with the user role.

    With `form` a system message explains how to answer and lists the tools: the message of the conversation that is
    `prompt`, or one at the end of the head. The tools are not in the log, so another model can continue natively.
    `stores`: the code of responses is stored, so file_reader can read it.
    """
    names: dict[str, str] = {}  # of calls by id, for their results
    ways = {tool.name for tool in payload.tools} & ({READER, EXPAND} if stores else {EXPAND})
    system, body = payload.system, [_message_as_text(message, names, ways, locale) for message in payload.body]
    if form:
        instructions = prompt(locale)
        if not any(_says(instructions, message) for message in (*system, *body)):
            system = (*system, Message(Role.SYSTEM, (Text(instructions),)))
        full = (Text(prompt(locale, payload.tools)),)
        system = tuple(replace(message, parts=full) if _says(instructions, message) else message for message in system)
        body = [replace(message, parts=full) if _says(instructions, message) else message for message in body]
    return replace(payload, system=system, tools=(), body=body)


def _with_short_gists(payload: Payload) -> Payload:
    """Return the payload with only the first line of each gist of a file: that line is the document's gist."""
    gists = {
        line.id for line in payload.plan.lines() if line.lod is Lod.GIST and line.kind is Kind.RESULT
    }  # fmt: skip
    body = [_first_line(message) if message.id in gists else message for message in payload.body]
    return replace(payload, body=body)


def _first_line(message: Message) -> Message:
    match message.parts:
        case (Result() as result,) if result.id.startswith(READ_ID):
            line = plain_text(result.parts).partition("\n")[0]
            return replace(message, parts=(replace(result, parts=(Text(line),)),))
        case _:
            return message


def _says(prompt: str, message: Message) -> bool:
    return message.role is Role.SYSTEM and plain_text(message.parts) == prompt


def _message_as_text(message: Message, names: dict[str, str], ways: Set[str], locale: str) -> Message:
    if message.role is Role.TOOL:
        return Message(
            Role.USER, tuple(part for result in message.parts for part in _result_as_text(result, names, locale))
        )
    if message.role is Role.ASSISTANT:
        message = _without_code(message, ways, locale)
    calls = [part for part in message.parts if isinstance(part, Call)]
    names.update({call.id: call.name for call in calls})
    if not calls:
        return message
    text = plain_text(message.parts)
    if any(f'"{call.name}"' not in text for call in calls):  # a shortened text, or native calls of another model
        content = [
            {"tool_name": call.name, "tool_call_id": call.id, "arguments": arguments_object(call)} for call in calls
        ]
        action = {"type": "tool_call", "content": content}
        text = _json({"task_analysis": text, "execution_plan": "R1", "current_round": 1, "action": action})
    return Message(Role.ASSISTANT, (Text(text),))


def _without_code(message: Message, ways: Set[str], locale: str) -> Message:
    """Return a response whose long code is replaced by a note on how to see it, if the model has a tool for that.

    This is so from the first payload on, because then the prompt prefix stays the same.
    """
    text = plain_text(message.parts)
    response = (parse(text) if ways and '"code_blocks"' in text else Parsed(StructuredResponse())).response
    blocks = tuple(_without_long_code(block, message.id, ways, locale) for block in response.action.code_blocks)
    if blocks == response.action.code_blocks:
        return message
    response = replace(response, action=replace(response.action, code_blocks=blocks))
    others = tuple(part for part in message.parts if not isinstance(part, Text))
    return replace(message, parts=(Text(msgspec.json.encode(response).decode()), *others))


def _without_long_code(block: CodeBlock, item: str, ways: Set[str], locale: str) -> CodeBlock:
    ids = ({READER: block.code_id} if is_code_id(block.code_id) else {}) | {EXPAND: item}
    tools = [_say(tool, locale, id=id_) for tool, id_ in ids.items() if tool in ways]
    if len(block.code) <= SHORT_CODE or not tools:
        return block
    joined = _say("or", locale).join(tools)
    return replace(block, code=_say("long code", locale, lines=block.code.count("\n") + 1, ways=joined))


def _result_as_text(result: Part, names: dict[str, str], locale: str) -> Iterator[Part]:
    """Yield a result as message text. None of its lines can be taken for one of the engine's."""
    if not isinstance(result, Result):
        return
    name = plain_label(one_line(result.name or names.get(result.id, ""), _LONGEST_NAME))
    text = escape(plain_text(result.parts))
    yield Text(say("call failed" if result.error else "call result", locale, name=name, message=text))
    yield from (part for part in result.parts if not isinstance(part, Text | Opaque))


def with_calls(raw: dict[str, Any], parsed: Parsed, ids: Ids) -> dict[str, Any]:
    """Return a model's reply with the calls of its text as native calls, because the log pairs those with results.

    The id of a file reader's call shows that it is one. A name that no provider takes is written as one that all take.
    """
    calls = []
    for call in parsed.response.calls:
        name = _NOT_IN_NAMES.sub("_", call.tool_name)[:_LONGEST_NAME] or "unnamed"
        id_ = call_id(ids()) if name in FILE_READERS else f"call_{name[:30]}_{ids()[:12]}"
        calls.append((id_, name, call.arguments))
    match raw:
        case {"choices": [{"message": dict(message)} as choice, *rest]} if calls:
            made = [
                {"id": id_, "type": "function", "function": {"name": name, "arguments": _json(arguments)}}
                for id_, name, arguments in calls
            ]
            return raw | {"choices": [choice | {"message": message | {"tool_calls": made}}, *rest]}
        case {"content": [*blocks], "role": "assistant"} if calls:
            uses = [{"type": "tool_use", "id": id_, "name": name, "input": arguments} for id_, name, arguments in calls]
            return raw | {"content": [*blocks, *uses]}
        case _:
            return raw


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def prompt(locale: str, tools: Iterable[ToolDefinition] = ()) -> str:
    """Return the instructions for the model: the form of a response, the rules for calls and code, the languages.

    At their end the tools are listed, if there are any.
    """
    languages = ", ".join(language.name for language in LANGUAGES)
    said = _say("prompt", locale, most=MOST_CALLS, languages=languages, form=_FORM)
    listed = [
        _json({"tool_name": tool.name, "description": tool.description, "arguments": tool.schema}) for tool in tools
    ]
    return "\n".join([said, _say("tools", locale), *listed]) if listed else said


_FORM = """{
  "task_analysis": "…",
  "execution_plan": "R1: …; R2: …",
  "current_round": 1,
  "action": {
    "type": "tool_call",
    "content": [{"tool_name": "…", "tool_call_id": "call_…", "arguments": {}}]
  }
}
{
  "task_analysis": "…",
  "execution_plan": "R1: …; R2: …",
  "current_round": 2,
  "action": {
    "type": "complete",
    "content": "…",
    "recommended_questions": ["…"],
    "download_links": [],
    "code_blocks": [{"code_id": "code_…", "language": "python", "description": "…", "code": "…"}]
  }
}"""
