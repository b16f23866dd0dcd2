"""Checks of wires: the replies that a wire reads, and that it leaves to others what is not its own."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sightline.testing.wire_histories import IMAGE, SECRET
from sightline.testing.wire_requests import TOOLS, plain, read_back, walk, write, write_tools
from sightline.values.items import Call, Message, Part, Result, Role, Text, ToolDefinition, Usage, plain_text
from sightline.wire import common, registry
from sightline.wire.wire import Json, Wire

CALLED = [
    [
        Message(Role.ASSISTANT, (Text("so"), Call("call_1", "look", {"at": "a"}))),
        Message(Role.TOOL, (Result("call_1", (Text("seen"),)),)),
    ]
]
SHOWN = [[Message(Role.USER, (Text("see"), IMAGE))]]  # which no format has as one plain text
REPLIES: dict[str, Json] = {
    "openai": {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]},
    "responses": {
        "object": "response",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}],
    },
    "anthropic": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}]},
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP"}]},
}
NO_REPLIES: tuple[Any, ...] = (
    None, "hi", [], {}, {"role": "assistant", "content": "hi"}, {"error": {"message": "overloaded"}},
)  # fmt: skip
NO_BLOCKS: tuple[Any, ...] = (None, 5, "text", [], {}, {"type": "order", "id": 5}, {"temperature": 20})
_SAVED = re.compile(r"cache(?!.*(creat|writ|miss))", re.IGNORECASE)  # counts of tokens that were read from a cache
EARLY = ("", "length", "refused")


# ------------------------------------------------------------------ what is whose


def check_recognition(wire: Wire) -> None:
    """What belongs to this format is recognised, and nothing else."""
    own = plain(write(wire, CALLED))
    assert any(map(wire.recognises, own)), (
        f"recognises says no to all of {own}, so a session takes them for another format; say yes to a call or a result"
    )
    for message in ({"role": "user", "content": "hi"}, *_written_by_others(wire)):
        assert not wire.recognises(message), f"recognises says yes to {message}, which is not of this format only"
    for value in NO_BLOCKS:
        assert not wire.recognises_block(value), f"recognises_block says yes to {value}, which is a tool's own data"
    contents = [message.get("content") for message in plain(write(wire, SHOWN))]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    assert not blocks or any(map(wire.recognises_block, blocks)), f"recognises_block says no to all of {blocks}"
    others = [reply for name, reply in REPLIES.items() if name != wire.NAME]
    for reply in (*NO_REPLIES, *others):
        assert not wire.recognises_reply(plain(reply)), f"recognises_reply says yes to {reply}, which is no such reply"


def _written_by_others(wire: Wire) -> Iterator[Any]:
    for name in registry.OURS:
        if name != wire.NAME:
            yield from plain(write(registry.wire(name), CALLED))


def check_tools(wire: Wire) -> None:
    """Tool definitions come back as they were; another provider's own tools are left out."""
    foreign = ToolDefinition("secret", provider="another provider", raw={"type": SECRET})
    for tools in ((foreign,), (*TOOLS, foreign)):
        written = wire.write_head((), tools, first=None, cached=False, output=0).arguments
        assert SECRET not in str(written), "another provider's tool"
    written_tools = write_tools(wire)
    assert all(map(wire.recognises_tool, written_tools)), f"recognises_tool says no to one of {written_tools}"
    for name in registry.OURS:
        for tool in write_tools(registry.wire(name)) if name != wire.NAME else ():
            own = tool in written_tools  # several formats may define tools in one form
            assert own or not wire.recognises_tool(tool), f"recognises_tool says yes to {tool}, which is {name}'s"


# ------------------------------------------------------------------ replies


def check_reply(wire: Wire, reply: Json) -> None:
    """A reply is recognised, read whole as the assistant's, and sent back the same every time."""
    assert wire.recognises_reply(plain(reply)), "it is not recognised; see recognises_reply"
    assert wire.why_ended(plain(reply)) in EARLY, f"ended by {wire.why_ended(reply)!r}; why_ended is one of {EARLY}"
    for word in _ends(reply):
        end = wire.why_ended(plain(reply))
        assert end == common.STOPS[word], f"why_ended says {end!r}, but {word!r} is {common.STOPS[word]!r}"
    read = wire.read_reply(plain(reply))
    assert read.role is Role.ASSISTANT, f"{read}"
    _check_whole(wire, reply, read)
    results = [Message(Role.TOOL, (Result(part.id, (Text("ok"),)),)) for part in read.parts if isinstance(part, Call)]
    unit = [Message(Role.ASSISTANT, read.parts), *results]
    back = read_back(wire, [unit])
    assert plain_text(read.parts) in "\n".join(plain_text(message.parts) for message in back), f"{back}"
    assert read_back(wire, [back]) == back, f"{back}"


def check_cut_off(wire: Wire, reply: Json) -> None:
    """A reply that ended at its token limit says so."""
    reason = wire.why_ended(plain(reply))
    assert reason == "length", f"why_ended says {reason!r}; it must say 'length'"


def _check_whole(wire: Wire, reply: Json, read: Message) -> None:
    """What `read` finds in the message of a reply, `read_reply` finds too; and its model and usage."""
    expected = _parts_in(wire, reply)
    calls, calls_read = _arguments(expected), _arguments(read.parts)
    assert calls_read == calls, f"read_reply gives the calls {calls_read}, but there are {calls}"
    for part in expected:
        assert not isinstance(part, Text) or part.text in plain_text(read.parts), f"read_reply drops {part.text!r}"
    names = [value for key, value in reply.items() if key.lower().startswith("model") and isinstance(value, str)]
    assert read.model or not any(names), f"read_reply drops the model: {names}"
    _check_usage(reply, read.usage or Usage(0, 0))


def _check_usage(reply: Json, usage: Usage) -> None:
    """The counts that a provider names as those of its input, its output and its cache are read as such."""
    fields = [(key, value) for key, value in _fields(reply) if "token" in key.lower() and type(value) is int and value]
    counts = dict(fields)
    assert usage.input_tokens or usage.output_tokens or not counts, f"read_reply drops the usage: {counts}"
    for name, tokens, begins in (
        ("input", usage.input_tokens, ("input", "prompt")),
        ("output", usage.output_tokens, ("output", "completion", "candidates")),
    ):
        named = [(key, value) for key, value in fields if key.lower().startswith(begins)]
        for key, value in named[:1]:  # the outermost, because others count parts of it; a wire may add what was cached
            assert tokens >= value, f"read_reply gives {tokens} {name} tokens, but {key!r} is {value}"
    cached = {key: value for key, value in fields if _SAVED.search(key)}
    assert usage.cached_tokens or not cached, f"read_reply drops the cached tokens: {cached}"


def _parts_in(wire: Wire, reply: Json) -> Sequence[Part]:
    """The texts and calls of the first message in a reply that the wire can read as an assistant's."""
    for value in walk(reply):
        if isinstance(value, dict | list):
            try:
                read = wire.read(plain(value if isinstance(value, list) else [value]))
            except Exception:  # it is no message
                continue
            said = [part for message in read if message.role is Role.ASSISTANT for part in message.parts]
            if parts := [part for part in said if isinstance(part, Text | Call)]:
                return parts
    return []


def _arguments(parts: Iterable[Part]) -> list[tuple[str, str]]:
    return [(part.name, common.arguments_text(part)) for part in parts if isinstance(part, Call)]


def _ends(reply: Json) -> list[str]:
    """The words in a reply that say it ended early, if they are those of a provider that we know."""
    words = [value.lower() for key, value in _fields(reply) if "reason" in key.lower() and isinstance(value, str)]
    return [word for word in words if word in common.STOPS]


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    return ((key, inner) for block in walk(value) if isinstance(block, dict) for key, inner in block.items())
