"""Reads lists of messages in any provider's form and in LangChain's: one JSON document, or one message per line."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import Any

import msgspec

from sightline import wire
from sightline.errors import BadInput
from sightline.imports.conversation import FileMark, Line, Step, Turn, Use, summed
from sightline.imports.source import Source, value_of
from sightline.values.items import Message, Usage
from sightline.wire import anthropic, langchain, registry
from sightline.wire.common import describe

ACCEPTED = (
    'messages in the form of OpenAI, Anthropic or LangChain, as a JSON list, as an object with "messages", or one per '
    "line; one conversation per line; a log of Claude Code, Codex or Sightline; each also compressed as .gz"
)
_ITEMS = re.compile(r"message|item_reference|reasoning|compaction|.*_call|.*_call_output")  # of the Responses API
_PLACE = re.compile(r"^(?:messages|input)\[(\d+)\]")
_LOOKED_AT = 200  # messages at most, before it is said whose format this is
_NAMES = ("id", "session_id", "conversation_id", "thread_id", "uuid")  # what a conversation may be known by

Json = dict[str, Any]


class MessageList:
    """One conversation that is a list of messages. `Conversation` says what its methods promise."""

    kind = "messages"
    modified = 0.0
    mark: FileMark | None = None

    def __init__(
        self,
        name: str,
        lines: Callable[[], Iterator[Line]],
        *,
        format: str = "",  # noqa: A002 - the command line's word for it
        envelope: Json | None = None,
        is_list: bool = True,
        key: str = "",
    ) -> None:
        """`lines` gives the messages, one by line; `envelope` are the other fields of the object they were in."""
        self.name, self.is_list, self.envelope, self._format, self._key = name, is_list, envelope, format, key
        self._lines = lines
        self.tools = tuple((envelope or {}).get("tools") or ())

    @classmethod
    def of(cls, value: Any, name: str, format: str = "", *, in_line: bool = False) -> "MessageList | None":  # noqa: A002
        """Return the conversation that a JSON value is; None if it is none.

        `in_line`: it is one of several, which are told apart by what they say, if they have no id.
        """
        match value:
            case [*messages]:
                envelope = None
            case {"messages": [*messages]} | {"input": [*messages]}:
                envelope = {key: inner for key, inner in value.items() if inner is not messages}
                envelope["messages" if "messages" in value else "input"] = None  # their place
            case {"role": _} | {"type": _} if _is_message(value, format):
                messages, envelope = [value], None
            case _:
                return None
        key = next((str(value[key]) for key in _NAMES if isinstance(value, dict) and value.get(key)), "")
        if in_line or key:
            key = _digest([key.encode() or msgspec.json.encode(value)])
        encoded = [Line(number, msgspec.json.encode(message)) for number, message in enumerate(messages, start=1)]
        return cls(name, lambda: iter(encoded), format=format, envelope=envelope, key=key)

    @property
    def key(self) -> str:
        """The id of its session: made of its own id, or else of its beginning, up to the first message of the user."""
        if not self._key:
            first: list[bytes] = [msgspec.json.encode(self.envelope)]
            for line in self._lines():
                first.append(line.data)
                if isinstance(value := value_of(line), dict) and _is_users(value):
                    break
            self._key = _digest(first)
        return f"import-{self._key}"

    @cached_property
    def profile(self) -> str:
        """That of Anthropic, if its format was named or a message has blocks that only Anthropic has."""
        first = islice(self._lines(), _LOOKED_AT)
        named = self._format == anthropic.NAME
        return anthropic.NAME if named or any(anthropic.recognises(value_of(line)) for line in first) else ""

    @property
    def usage(self) -> Usage | None:
        return summed(turn.message.usage for step in self.steps() for turn in step.turns if turn.message.usage)

    def lines(self) -> Iterator[Line]:
        return self._lines()

    def is_active(self, number: int) -> bool:  # noqa: ARG002 - the protocol's
        return True

    def steps(self, after: int = 0) -> Iterator[Step]:
        system = (self.envelope or {}).get("system") or (self.envelope or {}).get("instructions")
        if system and not after:
            head = wire.read_messages([{"role": "system", "content": system}])
            yield Step((), tuple(Turn(message=message, uuid=f"{self.key}:0") for message in head))
        run: list[tuple[Line, Any]] = []
        for line in self._lines():
            if line.number > after:
                value = self._checked(line)
                if run and _begins_step(run[-1][1], value):
                    yield self._step(run)
                    run = []
                run.append((line._replace(type=_type_of(value), use=Use.MESSAGE), value))
        if run:
            yield self._step(run)

    def _checked(self, line: Line) -> Any:
        value = value_of(line)
        if value is None and line.data != b"null":
            raise BadInput(f"line {line.number} is no JSON; what can be read: {ACCEPTED}")
        if not _is_message(value, self._format):
            raise BadInput(f"{self._place(line.number)}: found {describe(value)}; what can be read: {ACCEPTED}")
        return value

    def _place(self, number: int) -> str:
        return f"messages[{number - 1}]" if self.is_list else f"line {number}"

    def _step(self, run: list[tuple[Line, Any]]) -> Step:
        lines = [line for line, _ in run]
        try:
            read = wire.read_messages([value for _, value in run], self._format)
        except BadInput as error:
            place = lambda match: self._place(lines[int(match[1])].number)  # noqa: E731 - used once
            raise BadInput(_PLACE.sub(place, str(error))) from error
        return Step(tuple(lines), tuple(self._turns(read, lines[0].number, run[0][1])))

    def _turns(self, messages: Iterable[Message], first: int, value: Any) -> Iterator[Turn]:
        time = value.get("timestamp") if isinstance(value, dict) else ""
        for number, message in enumerate(messages, start=1):
            timestamp = time if isinstance(time, str) and time[:4].isdigit() else ""
            yield Turn(message=message, uuid=f"{self.key}:{first}.{number}", timestamp=timestamp)


def by_lines(source: Source, format: str = "") -> MessageList:  # noqa: A002
    """Return the conversation of a file with one message per line."""
    return MessageList(source.name, source.lines, format=format, is_list=False)


def _digest(pieces: Iterable[bytes]) -> str:
    return blake2b(b"\n".join(pieces), digest_size=8).hexdigest()


def _is_message(value: Any, format: str) -> bool:  # noqa: A002
    """Whether a value can be read as a message. In a format that was named, the wire says so itself."""
    match value:
        case {"role": str()}:
            return True
        case {"type": str(kind)}:
            return bool(format) or langchain.recognises(value) or _ITEMS.fullmatch(kind) is not None
        case dict():
            others = (adapter for adapter in (*registry.known(), *registry.offered()) if not registry.is_ours(adapter))
            return bool(format) or any(adapter.recognises(value) for adapter in others)
        case _:
            return False


def _begins_step(before: Any, value: Any) -> bool:
    """Whether a message belongs to another step than the one before: the user's, or the model's after results."""
    return _is_result(before) != _is_result(value) if _is_result(before) else _is_users(value)


def _is_users(value: Any) -> bool:
    return value.get("role", value.get("type")) in ("user", "human") and not _is_result(value)


def _is_result(value: Any) -> bool:
    match value:
        case {"role": "tool" | "function"} | {"type": "tool"} | {"id": [*_, "ToolMessage"]}:
            return True
        case {"role": "user", "content": [{"type": "tool_result"}, *_]}:
            return True
        case {"type": "function_call_output" | "custom_tool_call_output"}:
            return True
        case _:
            return False


def _type_of(value: Any) -> str:
    match value:
        case {"role": str(kind)} | {"type": "constructor", "id": [*_, str(kind)]} | {"type": str(kind)}:
            return kind
        case _:
            return "message"
