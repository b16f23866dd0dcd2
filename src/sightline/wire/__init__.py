"""Reads and writes provider formats: payloads, messages, replies and tools. Nothing here calls a provider.

Each format is a wire (see `wire.Wire`), a file of its own: `openai_chat`, `openai_responses`, `anthropic`, `gemini`,
and those that others register (see `registry`). Others import `read_messages`, `read_reply`, `read_tools`, `why_ended`,
`is_block` and `view`, which find out the format themselves, `payload.Payload`, and `registry`.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, TypeVar

from msgspec.structs import replace

from sightline.errors import BadInput, SightlineError
from sightline.values.foreign_code import described, warn_once
from sightline.values.items import Message, Role, ToolDefinition
from sightline.wire import common, langchain, registry
from sightline.wire.wire import Reader, Wire

__all__ = ["form_of", "is_block", "read_messages", "read_reply", "read_tools", "view", "why_ended"]

# What no wire recognises is read in one of these.
USUAL = "openai"  # a message that several formats have, if no neighbour tells
UNKNOWN_BLOCKS = "anthropic"  # a message with blocks of an unknown type: this provider gets new ones
UNKNOWN_TOOLS = "responses"  # a tool of an unknown type

T = TypeVar("T")

SHARED_BLOCKS = frozenset({"text", "refusal"})  # types of content blocks that several formats have


def read_reply(reply: object) -> Message:
    """Read a model's reply as one ASSISTANT message: a response object of an SDK, the same as a dict, or text.

    Raises:
        BadInput: it is none of these.
    """
    if hasattr(reply, "__await__"):
        raise BadInput(f"a reply that nobody has waited for: {type(reply).__name__}; did you forget `await`?")
    if isinstance(reply, str | bytes):
        return Message(Role.ASSISTANT, (common.text_part(reply),) if reply else ())
    plain = _plain(reply, "reply")
    if langchain.recognises(plain):
        return langchain.read([plain])[0]
    if (wire := _find("recognises_reply", plain)) is not None:
        return _read(wire, "read_reply", Message, plain)
    match plain:
        case {"role": "assistant"}:
            return _read_plain([plain])[0]
        case _:
            formats = ", ".join(registry.names())
            raise common.bad_input(
                "reply", common.describe(plain), f"text, or a response as object or dict in a known format: {formats}"
            )


def why_ended(reply: object) -> str:
    """Why a reply ended early: "length" (its token limit), "refused" (a content rule), or empty if it did not.

    Any word that the wires do not know is a normal end.
    """
    if isinstance(reply, str | bytes):
        return ""
    plain = common.plain(reply, "reply")
    return _read(wire, "why_ended", str, plain) if (wire := _find("recognises_reply", plain)) is not None else ""


def read_messages(messages: Iterable[Mapping[str, Any]], wire: str | Reader = "") -> list[Message]:
    """Read a message list in any format, LangChain's included, or in that of this wire, or of the wire of this name.

    If the format is not said, each message is read in its own, and one that fits several like its neighbours. A message
    may also have the key `when`: when it was said, as text.

    Raises:
        BadInput: something in it is no message, or there is no such wire. The error says the index of the message, what
            was found and what is accepted.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise common.bad_input("messages", common.describe(messages), "a list of messages")
    plain = [_plain(message, f"messages[{index}]") for index, message in enumerate(messages)]
    return _read_plain(plain, (registry.wire(wire) if wire else None) if isinstance(wire, str) else wire)


def form_of(messages: object) -> str:
    """Return the name of the wire whose messages these are: the first that one of them belongs to, else OpenAI's."""
    listed = messages if isinstance(messages, Sequence) and not isinstance(messages, str | bytes) else ()
    return next((found.NAME for message in listed if (found := _wire_of(message))), USUAL)


def view(message: Any) -> Any:
    """What would be read of a message, as plain values that may still be the program's own: only to be compared."""
    if isinstance(message, Mapping):
        return message
    return langchain.dump(message) if langchain.is_object(message) else common.plain(message, "message")


def _plain(value: object, where: str) -> Any:
    """A message or reply as plain JSON values. Raises BadInput."""
    return common.plain(langchain.dump(value) if langchain.is_object(value) else value, where)


def _read_plain(messages: list[Any], wire: Reader | None = None) -> list[Message]:
    whens = [_pop_when(message, f"messages[{index}].when") for index, message in enumerate(messages)]
    wires: list[Any] = [
        wire or (langchain if langchain.recognises(message) else _wire_of(message)) for message in messages
    ]
    usual = next((reader for reader in wires if reader not in (None, langchain)), None) or registry.wire(USUAL)
    neutral: list[Message] = []
    numbered = enumerate(reader or usual for reader in wires)
    for reader, places in groupby(numbered, key=lambda place: place[1]):
        indexes = [index for index, _ in places]
        first, end = indexes[0], indexes[-1] + 1
        if any(whens[first:end]):
            for index in indexes:
                neutral += [
                    replace(message, when=whens[index]) for message in _read_list(reader, messages, index, index + 1)
                ]
        else:
            neutral += _read_list(reader, messages, first, end)
    return neutral


def _read_list(wire: Reader, messages: list[Any], first: int, end: int) -> list[Message]:
    return _read(wire, "read", list, messages[first:end], at=first)


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
        if callable(tool):
            raise BadInput(
                f"tools[{index}]: found {tool!r}; pass its definition, or use Agent(tools=[…]) for functions"
            )
        plain = tool if isinstance(tool, ToolDefinition) else common.plain(tool, f"tools[{index}]")
        if isinstance(plain, ToolDefinition):
            read.append(plain)
        else:
            wire = _find("recognises_tool", plain) or registry.wire(UNKNOWN_TOOLS)
            read += _read(wire, "read_tools", tuple, [plain])
    return tuple(read)


def is_block(value: object) -> bool:
    """Whether a value is a content block of some format. Other objects with a `type` are a tool's data."""
    return _find("recognises_block", value) is not None


# ------------------------------------------------------------------ which wire


def _wire_of(message: Any) -> Wire | None:
    """The wire of a message; None if more than one fits."""
    match message:
        case {"role": str(), "content": str() | bytes() | None} if len(message) == 2:
            return None
    if (wire := _find("recognises", message)) is not None:
        return wire
    return registry.wire(UNKNOWN_BLOCKS) if common.block_types(message) - SHARED_BLOCKS else None


def _find(hook: str, value: Any) -> Wire | None:
    """The first wire that recognises a value by this hook: registered, ours, installed.

    One of others that raises is a warning, and the next one is asked, so that it breaks no other format.
    """
    for wire in chain(registry.known(), registry.offered()):
        try:
            if getattr(wire, hook)(value):
                return wire
        except Exception as error:  # a wire of others may raise anything
            if registry.is_ours(wire):
                raise
            warn_once("wire", wire, f"raised in {hook}:", error)
    return None


def _read(wire: Reader, hook: str, kind: type[T], *arguments: Any, **more: Any) -> T:
    """What a wire makes of what it has recognised. Raises BadInput that names a wire of others if that fails."""
    if registry.is_ours(wire):
        read: T = getattr(wire, hook)(*arguments, **more)
        return read
    try:
        result = getattr(wire, hook)(*arguments, **more)
    except (SightlineError, RecursionError):
        raise
    except Exception as error:
        raise BadInput(f"wire {wire.NAME!r}: {hook} raised {described(error)}") from error
    if not isinstance(result, kind):
        raise BadInput(f"wire {wire.NAME!r}: {hook} must give a {kind.__name__}, not {result!r}")
    return result
