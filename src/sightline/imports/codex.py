"""Reads the rollouts of Codex: one JSON object per line, `{timestamp, type, payload}`.

What the model saw are the lines of type `response_item`. Those of type `event_msg` say the same again for the screen,
and are only kept; of them, `token_count` gives the usage and `thread_rolled_back` takes turns back.
The oldest rollouts have the items themselves as lines.
"""

import sys
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec

from sightline.errors import BadInput
from sightline.imports.conversation import Compaction, Line, Step, Turn, Use, summed
from sightline.imports.harness_text import divided, is_harness_text
from sightline.imports.recorded_log import RecordedLog
from sightline.imports.source import value_of
from sightline.values.items import Message, Role, Text, Usage, plain_text
from sightline.wire import openai_responses
from sightline.wire.common import dumped

Json = dict[str, Any]

TYPES = frozenset({
    "session_meta", "response_item", "event_msg", "compacted", "turn_context", "world_state",
    "inter_agent_communication", "inter_agent_communication_metadata", "security_risk_score",
})  # fmt: skip
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_ITEMS = _OUTPUTS | {
    "message", "reasoning", "function_call", "custom_tool_call", "local_shell_call", "tool_search_call",
    "tool_search_output", "web_search_call", "image_generation_call", "agent_message",
}  # fmt: skip
"""Items that the model sees. Others, such as snapshots and encrypted compactions, are only kept."""
_KEPT_ITEMS = frozenset({"compaction", "compaction_summary", "context_compaction", "ghost_snapshot"})

_MOST_LINES = 64  # of a step that says nothing: so many are kept in memory at most


def recognises(value: Any) -> bool:
    """Whether this is a line of such a rollout."""
    match value:
        case {"type": str(kind), "payload": {}}:
            return kind in TYPES
        case {"record_type": str()}:
            return True
        case {"id": str(), "timestamp": str(), "instructions": _}:
            return "role" not in value and "type" not in value  # the first line of the oldest ones
        case _:
            return False


class CodexLog(RecordedLog):
    """The conversation of one rollout."""

    kind = "Codex"
    profile = "openai"

    @cached_property
    def _outline(self) -> "_Outline":
        return _Outline(self._source.lines())

    @property
    def key(self) -> str:
        """The id of its session: that of the thread."""
        return "codex-" + (self._outline.thread_id or self._source.stem)

    @property
    def usage(self) -> Usage | None:
        return summed(iter(self._outline.usages.values()))

    def is_active(self, number: int) -> bool:
        return not self._outline.has_taken_back(number)

    def _type_of(self, value: Any) -> str:
        kind, payload = _unwrapped(value)
        detail = payload.get("type")
        return f"{kind}/{detail}" if isinstance(detail, str) and detail != kind else kind

    def _assembly(self) -> "_Assembly":
        return _Assembly(self._outline)


def _unwrapped(value: Any) -> tuple[str, Json]:
    """Return the type and the payload of a line. In the oldest rollouts the line is the payload."""
    match value:
        case {"type": str(kind), "payload": dict(payload)} if kind not in _ITEMS:
            return kind, payload
        case {"type": str(kind)}:
            return ("response_item" if kind in _ITEMS else kind), value
        case {"record_type": str(kind)}:
            return kind, value
        case {"id": _, "timestamp": _}:
            return "session_meta", value
        case _:
            return ("unreadable" if value is None else "unknown"), {}


def _use_of(value: Any) -> Use:
    """Return what becomes of a line that says nothing in the conversation."""
    kind, payload = _unwrapped(value)
    match kind, payload.get("type"):
        case "unreadable", _:
            return Use.UNREADABLE
        case "response_item", str(item) if item in _ITEMS:
            return Use.ASIDE
        case "response_item", item if item not in _KEPT_ITEMS:
            return Use.UNKNOWN
        case _:
            is_metadata = kind in TYPES or kind in _KEPT_ITEMS or (isinstance(value, dict) and "record_type" in value)
            return Use.METADATA if is_metadata else Use.UNKNOWN


def _time(value: Any) -> str:
    return str(value.get("timestamp") or "") if isinstance(value, dict) else ""


class _Outline:
    """What has to be known about a whole rollout before its first line is read."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self.thread_id = ""
        self.first_meta = 0  # the line with the instructions; those of a fork's parent come after it
        self._taken_back: list[tuple[int, int]] = []  # first and last line of turns that were rolled back, apart
        self.usages: dict[int, Usage] = {}  # by the line that reports it
        turns: list[int] = []  # lines of the user's messages
        last: Any = None
        for line in lines:
            kind, payload = _unwrapped(value_of(line))
            match kind, payload:
                case "session_meta", _ if not self.first_meta:
                    self.first_meta = line.number
                    self.thread_id = str(payload.get("id") or payload.get("session_id") or "")
                case "response_item", {"type": "message", "role": "user", "content": content}:
                    if any(not by_harness for by_harness, _ in divided(content)):
                        turns.append(line.number)
                case "event_msg", {"type": "thread_rolled_back", "num_turns": int(count)} if turns and count > 0:
                    self._take_back(turns[-count:][0], line.number)
                    del turns[-count:]
                case "event_msg", {"type": "token_count", "info": {"last_token_usage": dict(used)} as info}:
                    if (mark := info.get("total_token_usage") or used) != last:  # the same one is reported repeatedly
                        self.usages[line.number] = _usage(used)
                    last = mark

    def _take_back(self, first: int, last: int) -> None:
        while self._taken_back and self._taken_back[-1][0] >= first:
            self._taken_back.pop()  # it lies in the new one
        self._taken_back.append((first, last))

    def has_taken_back(self, number: int) -> bool:
        """Whether a line is of a turn that was rolled back."""
        at = bisect_right(self._taken_back, (number, sys.maxsize)) - 1
        return at >= 0 and number <= self._taken_back[at][1]


def _usage(used: Json) -> Usage:
    names = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens")
    return Usage(*(count if isinstance(count := used.get(name), int) else 0 for name in names))


class _Assembly:
    """Puts lines together to steps: the items of one model call with the outputs of its calls."""

    def __init__(self, outline: _Outline) -> None:
        self._outline = outline
        self._lines: list[Line] = []
        self._items: list[tuple[int, Json]] = []  # with the place of its line
        self._usage: Usage | None = None
        self._time = self._model = self._cwd = self._branch = ""

    def add(self, line: Line, value: Any, *, is_active: bool) -> Iterator[Step]:
        """Add a line, unless it was taken back (`is_active`). Yield the steps that end before it or with it."""
        (kind, payload), time, use = _unwrapped(value), _time(value), _use_of(value)
        match kind if is_active else "", payload:
            case "session_meta", _ if line.number == self._outline.first_meta:
                self._cwd, self._branch = _text(payload.get("cwd")), _text((payload.get("git") or {}).get("branch"))
                instructions = payload.get("base_instructions") or payload.get("instructions")
                text = instructions.get("text") if isinstance(instructions, dict) else instructions
                turns = self._turns(Message(Role.SYSTEM, (Text(text),)), line, time) if text else ()
                yield Step((line._replace(use=Use.MESSAGE if text else use),), tuple(turns))
                return
            case "turn_context", {"model": str(model)}:
                yield from self.end()  # what was answered before it is the other model's
                self._model = model
            case "event_msg", {"type": "token_count"}:
                self._usage = self._outline.usages.get(line.number, self._usage)
            case "compacted", _:
                yield from self.end()
                compaction = _compaction(payload, time)
                yield Step((line._replace(use=Use.SUMMARY if compaction else use),), (), compaction)
                return
            case "response_item", {"type": "message", "role": "user" | "developer" | "system"}:
                yield from self.end()
                said = tuple(self._said(payload, line, time))
                yield Step((line._replace(use=Use.MESSAGE if said else Use.UNKNOWN),), said)
                return
            case "response_item", {"type": str(item)} if item in _ITEMS:
                answered = any(block.get("type") in _OUTPUTS for _, block in self._items)
                if item not in _OUTPUTS and (answered or self._usage is not None):
                    yield from self.end()
                self._items.append((len(self._lines), payload))
                self._time, use = self._time or time, Use.MESSAGE
            case _:
                if len(self._lines) >= _MOST_LINES and not self._items:
                    yield from self.end()
        self._lines.append(line._replace(use=use))

    def end(self) -> Iterator[Step]:
        """Yield the step of the lines so far."""
        turns: list[Turn] = []
        for message in self._messages():
            read = message
            if message.role is Role.ASSISTANT:
                read = msgspec.structs.replace(message, model=self._model, usage=self._usage)
                self._usage = None
            turns += self._turns(read, self._lines[0], self._time, len(turns) + 1)
        if self._lines:
            yield Step(tuple(self._lines), tuple(turns))
        self._lines, self._items, self._usage, self._time = [], [], None, ""

    def _messages(self) -> list[Message]:
        """Return the messages of the items so far. One that is of no known form is left out, and its line says so."""
        try:
            return openai_responses.read([block for _, item in self._items for block in _usual(item)])
        except BadInput:
            for place, item in self._items:
                if not _read([*_usual(item)]):
                    self._lines[place] = self._lines[place]._replace(use=Use.UNKNOWN)
            return _read([block for _, item in self._items for block in _usual(item)])

    def _said(self, payload: Json, line: Line, time: str) -> Iterator[Turn]:
        number = 0
        for by_harness, blocks in divided(payload.get("content") or []):
            for message in _read([{**payload, "content": blocks}]):
                number += 1
                by_program = by_harness or message.role is Role.SYSTEM
                yield from self._turns(message, line, time, number, by_program=by_program)

    def _turns(
        self, message: Message, line: Line, time: str, number: int = 1, *, by_program: bool = False
    ) -> Iterator[Turn]:
        yield Turn(
            message=message, uuid=f"{self._outline.thread_id}:{line.number}.{number}", timestamp=time,
            by_program=by_program, cwd=self._cwd, git_branch=self._branch,
        )  # fmt: skip


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _read(items: list[Json]) -> list[Message]:
    """Return the messages of items. If one of them is of no known form, those that are."""
    try:
        return openai_responses.read(items)
    except BadInput:
        return [message for item in items for message in _read([item])] if len(items) > 1 else []  # the line is kept


def _usual(item: Json) -> Iterator[Json]:
    """Yield an item in the form of the Responses API, where that of a rollout differs."""
    match item:
        case {"type": "local_shell_call", "call_id": str(call), "action": action}:
            yield {"type": "function_call", "call_id": call, "name": "local_shell", "arguments": dumped(action)}
        case {"type": "function_call_output", "output": {"content": content}}:
            yield {**item, "output": content}
        case {"type": "function_call" | "custom_tool_call" | "reasoning" | "message"}:
            yield {key: inner for key, inner in item.items() if key not in ("timestamp", "metadata")}
        case _:
            yield item


def _compaction(payload: Json, time: str) -> Compaction | None:
    """Return the compaction of a line: the history that replaced the one before it, or else its summary.

    None if that cannot be read, because it is encrypted: then the history before it stays.
    """
    history = payload.get("replacement_history") or ()
    texts = [
        plain_text(message.parts)
        for item in history
        if isinstance(item, dict) and item.get("type") == "message" and item.get("role") in ("user", "assistant")
        for message in _read([item])
    ]
    texts = [text for text in texts if text.strip() and not is_harness_text(text)]
    message = _text(payload.get("message"))
    if message.strip() and not any(message in text for text in texts):
        texts.append(message)
    text = "\n\n".join(texts)
    encrypted = any(isinstance(item, dict) and item.get("encrypted_content") for item in history)
    if not text.strip() or (encrypted and not message.strip()):
        return None
    return Compaction(summary=text, timestamp=time)
