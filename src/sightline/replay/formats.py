"""Reads recorded conversations: message lists of any provider, one message per line, or Sightline logs."""

from collections.abc import Iterator
from typing import Any

import msgspec

from sightline import wire
from sightline.errors import BadInput
from sightline.log import entries as log
from sightline.log.annotations import ToolsNote
from sightline.log.fold import GrowingTimeline
from sightline.log.stores import Span
from sightline.values.items import Kind, Message, Opaque, Role
from sightline.values.recall_tools import RECALL_TOOLS
from sightline.wire import registry

AUTO = "auto"  # the format that means: find out
_ACCEPTED = 'a JSON list of messages, an object with "messages", one message per line, or a Sightline log'


class Recording(msgspec.Struct, frozen=True):
    """A conversation to replay. `tools` are definitions in any provider's form."""

    messages: tuple[Message, ...]
    tools: tuple[Any, ...] = ()


def read_recording(data: bytes, format: str = AUTO) -> Recording:  # noqa: A002 - the command line's word for it
    """Read a recording from a file's bytes. The format is that of a wire, by its name, or "auto".

    It may be a JSON list of messages; an object with `messages` (or `input`) and optionally `system` (or
    `instructions`) and `tools`; one message per line; or a log, of which the current branch is read.

    Raises:
        BadInput: it is none of these, or there is no such wire. The message says what was found and where.
    """
    if format != AUTO and format not in (names := registry.names()):
        raise BadInput(f"unknown format {format!r}; choose one of {', '.join((AUTO, *names))}")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        value = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return _from_lines(data, format)
    return _from_lines(data, format) if _is_entry(value) else recorded(value, format)


def recorded(value: Any, format: str = AUTO) -> Recording:  # noqa: A002
    """Read a recording from JSON values: a list of messages, or an object that contains one. Raises BadInput."""
    match value:
        case [{"messages": _}, *_]:
            raise BadInput("every line holds a whole conversation; put the one to replay into a file of its own")
        case [*messages]:
            return Recording(_messages(messages, None, format))
        case {"role": _}:
            return Recording(_messages([value], None, format))
        case {"messages": [*messages]} | {"input": [*messages]}:
            system = value.get("system") or value.get("instructions")
            return Recording(_messages(messages, system, format), tuple(value.get("tools") or ()))
        case _:
            raise BadInput(f"this is not a conversation; what can be replayed: {_ACCEPTED}")


def _messages(messages: list[Any], system: Any, format: str) -> tuple[Message, ...]:  # noqa: A002
    head = [{"role": "system", "content": system}] if system else []
    return tuple(wire.read_messages([*head, *messages], "" if format == AUTO else format))


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and "sessionId" in value


def _from_lines(data: bytes, format: str) -> Recording:  # noqa: A002
    lines = {number: line for number, line in enumerate(data.splitlines(), start=1) if line.strip()}
    values = {number: _json_value(line) for number, line in lines.items()}
    if any(map(_is_entry, values.values())):
        entries = [number for number, value in values.items() if _is_entry(value) and not value.get("isSidechain")]
        return _from_log([lines[number] for number in entries])  # without those of another conversation
    for number, value in values.items():
        if value is None:
            raise BadInput(f"line {number} is no JSON; what can be replayed: {_ACCEPTED}")
    return recorded(list(values.values()), format)


def _json_value(line: bytes) -> Any:
    """Return the value of a line; None if it is no JSON."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None


# ---------------------------------------------------------------------- logs


def _from_log(lines: list[bytes]) -> Recording:
    """Read the conversation of a log's current branch. Lines that are no entry are skipped, as everywhere."""
    # Sizes and subjects are not known, because only which items there are matters here.
    timeline = GrowingTimeline(measure=lambda entry: [0] * len(log.items_of(entry)), subject_of=lambda _: "")
    entries: list[log.Entry] = []
    seq = 0
    for line in lines:
        try:
            entry = log.decode(line)
        except msgspec.DecodeError:
            continue
        seq = entry.seq or seq + 1
        entries.append(msgspec.structs.replace(entry, seq=seq))
        timeline.fold(entries[-1], Span(len(entries) - 1, 1))
    path = timeline.path(timeline.current)
    messages: list[Message] = []
    for row in range(len(timeline)):
        if not timeline.sub[row] and path.holds(timeline.branch[row], row):
            messages += _entry_messages(entries[timeline.offset[row]])
    tools = timeline.placed(timeline.tools, path)
    return Recording(tuple(messages), tuple(_tools(entries[tools.offset])) if tools is not None else ())


def _entry_messages(entry: log.Entry) -> list[Message]:
    """Return what an entry adds to the conversation: nothing, if the engine wrote it."""
    kind = log.kind_of(entry)
    if kind in (Kind.RECALL, Kind.WINDOW, Kind.SUMMARY):
        return []
    parts = log.parts_of(entry)
    if entry.message is not None and any(isinstance(part, Opaque) and not part.provider for part in parts):
        content = msgspec.json.decode(entry.message.content)  # another program's log has blocks in its provider's form
        return wire.read_messages([{"role": entry.message.role, "content": content}])
    roles = {Kind.SYSTEM: Role.SYSTEM, Kind.USER: Role.USER, Kind.ASSISTANT: Role.ASSISTANT, Kind.RESULT: Role.TOOL}
    return [Message(roles[kind], parts)] if kind in roles else []


def _tools(entry: log.Entry) -> Iterator[dict[str, Any]]:
    """Yield the tool definitions of an entry without `expand` and `recall`, which a replay adds again."""
    note: ToolsNote = log.decode_data(entry, ToolsNote)
    own = {tool.name for tool in RECALL_TOOLS}
    for tool in note.definitions:
        if tool.name not in own:
            yield tool.raw or {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
