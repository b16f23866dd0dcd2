"""Requests for the checks of wires: a payload of these messages, and what a wire writes of it in one go."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from sightline.values.items import Message, Result, Role, Text, ToolDefinition
from sightline.wire.call_ids import odd_names, pair, result_of
from sightline.wire.payload import Payload
from sightline.wire.wire import Json, Wire
from sightline.wire.writer import chosen_breakpoints, first_role

TOOLS = (
    ToolDefinition("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}),
    ToolDefinition("wait", schema={"type": "object", "properties": {}}),
)


def request_in_one_go(payload: Payload, wire: Wire) -> Json:
    """What `payload.json(wire)` must say: all messages written at once, without anything kept from earlier payloads."""
    places = chosen_breakpoints(payload, wire.BREAKPOINTS)
    head = wire.write_head(
        payload.system, payload.tools, first=first_role(payload), cached=0 in places, output=payload.output
    )
    paired = pair(payload.body, wire.IDS, odd_names(payload.tools))
    body = wire.write_messages([*paired, *payload.tail], [place for place in places if place])
    return {**head.arguments, wire.LIST: [*head.messages, *body]}


def make_payload(body: Sequence[Message], **more: Any) -> Payload:
    """A payload with no plan behind it, because no wire asks for one."""
    blank = Payload((), (), body, (), (), cast(Any, None), "", 0)
    payload = replace(blank, **more)
    return replace(payload, chain=(msgspec.json.encode((payload.system, payload.tools)),))


def write(wire: Wire, history: Iterable[list[Message]]) -> list[Json]:
    """What a wire writes of a history."""
    body = [message for unit in history for message in unit]
    messages: list[Json] = request_in_one_go(make_payload(body), wire)[wire.LIST]
    return messages


def read_back(wire: Wire, history: Iterable[list[Message]]) -> list[Message]:
    """What a wire reads of what it has written."""
    return wire.read(plain(write(wire, history)))


def plain(value: Any) -> Any:
    """A copy of JSON values, as a provider receives them."""
    return msgspec.json.decode(msgspec.json.encode(value))


def walk(value: Any) -> Iterator[Any]:
    """A JSON value and all values in it."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(inner)


def strings(value: Any) -> list[str]:
    """All texts in a JSON value."""
    return [inner for inner in walk(value) if isinstance(inner, str)]


def texts_of(message: Message) -> list[str]:
    """The texts of a message, or of the result that it holds."""
    parts: Sequence[Any] = message.parts
    if message.role is Role.TOOL:
        result: Result = result_of(message)
        parts = result.parts
    return [part.text for part in parts if isinstance(part, Text)]


def write_tools(wire: Wire) -> list[Any]:
    """The list of definitions that a wire writes of `TOOLS`, wherever it stands among the arguments."""
    arguments = plain(wire.write_head((), TOOLS, first=None, cached=False, output=0).arguments)
    for value in walk(arguments):
        if isinstance(value, list) and value and _reads_tools(wire, value):
            return value
    raise AssertionError(f"read_tools finds no list in {arguments} that gives them back")


def _reads_tools(wire: Wire, value: list[Any]) -> bool:
    try:
        return wire.read_tools(plain(value)) == TOOLS
    except Exception:  # another argument, such as a choice of tools
        return False
