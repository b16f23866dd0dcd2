"""Reads and writes provider formats: payloads, messages, replies and tools. Nothing here calls a provider.

Each format is a wire (see `wire.Wire`), a file of its own: `openai_chat`, `openai_responses`, `anthropic`, and those
that others register (see `registry`). Others import `read_messages`, `read_reply`, `read_tools`, `why_ended` and
`is_block`, which find out the format themselves, `payload.Payload`, and `registry`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from sightline.values.items import Message, Role, ToolDefinition
from sightline.wire import common, registry
from sightline.wire.wire import Wire

__all__ = ["is_block", "read_messages", "read_reply", "read_tools", "why_ended"]

# What no wire recognises is read in one of these.
USUAL = "openai"  # a message that several formats have, if no neighbour tells
UNKNOWN_BLOCKS = "anthropic"  # a message with blocks of an unknown type: this provider gets new ones
UNKNOWN_TOOLS = "responses"  # a tool of an unknown type

SHARED_BLOCKS = frozenset({"text", "refusal"})  # types of content blocks that several formats have


def read_reply(reply: object) -> Message:
    """Read a model's reply as one ASSISTANT message: a response object of an SDK, the same as a dict, or text.

    Raises:
        BadInput: it is none of these.
    """
    if isinstance(reply, str | bytes):
        return Message(Role.ASSISTANT, (common.text_part(reply),) if reply else ())
    found = common.plain(reply, "reply")
    if (wire := _wire_of_reply(found)) is not None:
        return wire.read_reply(found)
    match found:
        case {"role": "assistant"}:
            return _read_plain([found])[0]
        case _:
            raise common.bad_input(
                "reply", common.describe(found), "text, or a response of the OpenAI or Anthropic SDK as object or dict"
            )


def why_ended(reply: object) -> str:
    """Why a reply ended early: "length" (its token limit), "refused" (a content rule), or empty if it did not.

    Any word that the wires do not know is a normal end.
    """
    if isinstance(reply, str | bytes):
        return ""
    found = common.plain(reply, "reply")
    return wire.why_ended(found) if (wire := _wire_of_reply(found)) is not None else ""


def read_messages(messages: Iterable[Mapping[str, Any]], wire: str = "") -> list[Message]:
    """Read a message list in any format, or in that of the wire of this name.

    If the format is not said, each message is read in its own, and one that fits several like its neighbours. A message
    may also have the key `when`: when it was said, as text.

    Raises:
        BadInput: something in it is no message, or there is no such wire. The error says the index of the message, what
            was found and what is accepted.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise common.bad_input("messages", common.describe(messages), "a list of messages")
    plain = [common.plain(message, f"messages[{index}]") for index, message in enumerate(messages)]
    return _read_plain(plain, registry.wire(wire) if wire else None)


def _read_plain(messages: list[Any], wire: Wire | None = None) -> list[Message]:
    whens = [_pop_when(message, f"messages[{index}].when") for index, message in enumerate(messages)]
    wires = [wire or _wire_of(message) for message in messages]
    usual = next((found for found in wires if found is not None), None) or registry.wire(USUAL)
    neutral: list[Message] = []
    numbered = enumerate(found or usual for found in wires)
    for found, places in groupby(numbered, key=lambda place: place[1]):
        indexes = [index for index, _ in places]
        first, end = indexes[0], indexes[-1] + 1
        if any(whens[first:end]):
            for index in indexes:
                neutral += [replace(message, when=whens[index]) for message in found.read([messages[index]], at=index)]
        else:
            neutral += found.read(messages[first:end], at=first)
    return neutral


def _pop_when(message: Any, where: str) -> str:
    """Remove and return the time of a message, because no provider knows this key. Raises BadInput."""
    when = message.pop("when", None) if isinstance(message, dict) else None
    if when is not None and not isinstance(when, str):
        raise common.bad_input(where, common.describe(when), "text, such as an ISO time")
    return when or ""


def read_tools(tools: Sequence[ToolDefinition | Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Read tool definitions, each in any format or our own. Tools of a provider stay as they are.

    Raises:
        BadInput: something in it is no tool definition.
    """
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise common.bad_input("tools", common.describe(tools), "a list of tool definitions")
    read: list[ToolDefinition] = []
    for index, tool in enumerate(tools):  # those of an app host are of our own form
        plain = tool if isinstance(tool, ToolDefinition) else common.plain(tool, f"tools[{index}]")
        read += [plain] if isinstance(plain, ToolDefinition) else _wire_of_tool(plain).read_tools([plain])
    return tuple(read)


def is_block(value: object) -> bool:
    """Whether a value is a content block of some format. Other objects with a `type` are a tool's data."""
    return any(wire.recognises_block(value) for wire in registry.known())


# ------------------------------------------------------------------ which wire


def _wire_of(message: Any) -> Wire | None:
    """The wire of a message; None if more than one fits."""
    match message:
        case {"role": str(), "content": str() | bytes() | None, **others} if not others:
            return None
    if (wire := _find(registry.known(), lambda wire: wire.recognises(message))) is not None:
        return wire
    kinds = common.block_types(message)
    if isinstance(message, dict) and "content" in message and kinds <= SHARED_BLOCKS:
        return None  # as most are, so that installed packages need not be looked for
    if (wire := _find(registry.offered(), lambda wire: wire.recognises(message))) is not None:
        return wire
    return registry.wire(UNKNOWN_BLOCKS) if kinds - SHARED_BLOCKS else None


def _wire_of_reply(reply: Any) -> Wire | None:
    def recognises(wire: Wire) -> bool:
        return wire.recognises_reply(reply)

    found = _find(registry.known(), recognises)
    return found or (_find(registry.offered(), recognises) if isinstance(reply, dict) and "role" not in reply else None)


def _wire_of_tool(tool: Any) -> Wire:
    def recognises(wire: Wire) -> bool:
        return wire.recognises_tool(tool)

    found = _find(registry.known(), recognises) or _find(registry.offered(), recognises)
    return found or registry.wire(UNKNOWN_TOOLS)


def _find(wires: Iterable[Wire], recognises: Callable[[Wire], bool]) -> Wire | None:
    return next(filter(recognises, wires), None)
