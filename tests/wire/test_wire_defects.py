"""The suite that others run over their wires finds each defect, and passes what only differs from ours."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from test_wire_detection import CHAT

from sightline.testing import check_wire
from sightline.values.items import Call, Message, Opaque, Role, Text, Usage
from sightline.wire import anthropic, common, openai_chat
from sightline.wire.call_ids import result_of
from sightline.wire.wire import Head

Json = dict[str, Any]


def with_defect(defect: Callable[[list[Message]], Sequence[Message]]) -> SimpleNamespace:
    """OpenAI's chat format, which does this to the messages before it writes them."""

    def write_messages(messages: Sequence[Message], breakpoints: Any = ()) -> list[Json]:
        return openai_chat.write_messages(defect([*messages]), breakpoints)

    return SimpleNamespace(**vars(openai_chat) | {"write_messages": write_messages})


def changed(name: str, value: Any) -> SimpleNamespace:
    """OpenAI's chat format with another hook."""
    return SimpleNamespace(**vars(openai_chat) | {name: value})


def spaced(messages: list[Message]) -> list[Json]:
    """Arguments with other spaces than the model's."""
    written = openai_chat.write_messages(messages)
    for call in (call for message in written for call in message.get("tool_calls", ())):
        call["function"]["arguments"] = call["function"]["arguments"].replace(":", " : ")
    return written


def numbered(messages: Sequence[Message], breakpoints: Any = ()) -> list[Json]:
    """Every message with its number among those that are written with it."""
    written = openai_chat.write_messages(messages)
    return [{**message, "name": f"n{number}"} for number, message in enumerate(written)]


def counted(messages: Sequence[Message], breakpoints: Any = ()) -> list[Json]:
    """Every message with how many there are after it."""
    written = openai_chat.write_messages(messages)
    return [{**message, "name": f"n{len(written) - number}"} for number, message in enumerate(written)]


def forgiven(messages: list[Message]) -> list[Message]:
    """Failed results as if they had succeeded."""
    return [
        replace(each, parts=(replace(result_of(each), error=""),)) if each.role is Role.TOOL else each
        for each in messages
    ]


def without(messages: list[Message], role: Role) -> list[Message]:
    """All messages but those of a role."""
    return [each for each in messages if each.role is not role]


def leaked(messages: list[Message]) -> list[Message]:
    """Blocks of other providers as if they were this one's."""
    parts = [
        tuple(replace(part, provider="openai") if isinstance(part, Opaque) else part for part in each.parts)
        for each in messages
    ]
    return [replace(each, parts=own) for each, own in zip(messages, parts, strict=True)]


@pytest.mark.slow("sightline.wire.openai_chat-A reply is recognised0")
@pytest.mark.parametrize(
    ("defective", "said"),
    [
        (with_defect(lambda messages: without(messages, Role.SYSTEM)), "Every text"),
        (with_defect(lambda messages: without(messages, Role.TOOL)), "Every text|Each call"),
        (with_defect(lambda messages: messages[::-1]), "Every text"),
        (with_defect(forgiven), "A failed result"),
        (changed("write_messages", lambda messages, _=(): spaced(messages)), "Arguments come back"),
        (changed("write_messages", counted), "Adding messages|changes nothing"),
        (changed("write_messages", numbered), "says what is written in one go"),
        (with_defect(leaked), "another one knows"),
        (SimpleNamespace(**vars(anthropic) | {"NAME": "twin"}), "taken for another format|not of this format only"),
        (changed("recognises_reply", lambda _: False), "A reply is recognised"),
        (changed("why_ended", lambda _: "stop"), "A reply is recognised"),
        (changed("read_tools", lambda _: ()), "Tool definitions"),
    ],
)  # fmt: skip
def test_a_defect_is_found(defective: Any, said: str) -> None:
    """A wire that breaks one guarantee fails, and the message names that guarantee."""
    with pytest.raises(AssertionError, match=said):
        check_wire(defective, replies=[CHAT])


REPLY_WITH_CALL: Json = {
    "model": "m",
    "choices": [
        {
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
            },
            "finish_reason": "tool_calls",
        }
    ],
}
COUNTED_REPLY: Json = CHAT | {
    "usage": {
        "prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23, "prompt_tokens_details": {"cached_tokens": 2},
    }
}  # fmt: skip
CUT_REPLY: Json = CHAT | {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "length"}]}


def texts_changed(change: Callable[[str], str]) -> SimpleNamespace:
    """OpenAI's chat format, which does this to every text that it writes."""

    def parts(message: Message) -> tuple[Any, ...]:
        return tuple(
            replace(part, text=change(part.text)) if isinstance(part, Text) else part for part in message.parts
        )

    return with_defect(lambda messages: [replace(each, parts=parts(each)) for each in messages])


def head_changed(base: Any, **fixed: Any) -> SimpleNamespace:
    """A format whose head is always written with these arguments."""

    def write_head(system: Any, tools: Any, **more: Any) -> Any:
        given = {"system": system, "tools": tools} | more
        given |= {name: change(given[name]) for name, change in fixed.items()}
        return base.write_head(given.pop("system"), given.pop("tools"), **given)

    return SimpleNamespace(**vars(base) | {"write_head": write_head})


def marked(places: Callable[[int, Any], Any]) -> SimpleNamespace:
    """Anthropic's format with cache markers at other places."""

    def write_messages(messages: Sequence[Message], breakpoints: Any = ()) -> list[Json]:
        return anthropic.write_messages(messages, places(len(messages), breakpoints))

    return SimpleNamespace(**vars(anthropic) | {"write_messages": write_messages})


def reply_changed(**fields: Any) -> SimpleNamespace:
    """OpenAI's chat format, which reads replies with other fields."""
    return changed("read_reply", lambda reply: replace(openai_chat.read_reply(reply), **fields))


def without_windows(messages: list[Message]) -> list[Message]:
    """All messages but windows, which have no other message with them."""
    return [] if len(messages) == 1 and "window" in str(messages[0].parts) else messages


def but(module: Any, *names: str) -> SimpleNamespace:
    """A format without these names."""
    return SimpleNamespace(**{name: value for name, value in vars(module).items() if name not in names})


def named_by_id(messages: list[Message]) -> list[Message]:
    """Every result with the id of its call in the place of the function's name."""
    return [
        replace(each, parts=(replace(result_of(each), name=result_of(each).id),)) if each.role is Role.TOOL else each
        for each in messages
    ]


def without_fields(messages: list[Message]) -> list[Message]:
    """Calls without what only their provider knows of them."""
    return [
        replace(each, parts=tuple(part for part in each.parts if getattr(part, "kind", "") != "+call"))
        for each in messages
    ]


LOST: dict[str, tuple[Any, str]] = {
    "no system prompt": (head_changed(openai_chat, system=lambda _: ()), "write_head drops '  rule 1"),
    "only the first system prompt": (head_changed(openai_chat, system=lambda each: each[:1]), "drops 'rule 2 '"),
    "no token limit": (head_changed(openai_chat, output=lambda _: 0), "output=64321 writes it 0 times"),
    "a lower token limit": (
        head_changed(openai_chat, output=lambda limit: min(limit, 8_192)),
        "output=64321 writes it 0 times",
    ),
    "results named by their ids": (with_defect(named_by_id), "a result of 'look' is written as one of 'call'"),
    "no further fields of calls": (with_defect(without_fields), "are further fields of a call"),
    "swapped counts": (reply_changed(usage=Usage(3, 20, 2)), "gives 3 input tokens, but 'prompt_tokens' is 20"),
    "no output counted": (reply_changed(usage=Usage(20, 0, 2)), "gives 0 output tokens, but 'completion_tokens' is 3"),
    "no cached tokens": (reply_changed(usage=Usage(20, 3)), "drops the cached tokens: {'cached_tokens': 2}"),
    "no windows": (with_defect(without_windows), "Windows are written after everything"),
    "no breakpoints": (marked(lambda *_: ()), r"breakpoints \[1\] of 6 messages change 0"),
    "a breakpoint everywhere": (marked(lambda length, _: range(1, length + 1)), r"breakpoints \[1\] of 6 messages"),
    "a breakpoint too late": (marked(lambda _, places: [at + 1 for at in places]), "the breakpoint after message 1"),
    "no breakpoint in the head": (head_changed(anthropic, cached=lambda _: False), "cached=True sets no breakpoint"),
    "stripped texts": (texts_changed(str.strip), "is missing, changed or not in its place"),
    "texts cut": (texts_changed(lambda text: text[:5_000]), "long texts: .* missing, changed"),
    "no calls of a reply": (reply_changed(parts=(Text("hi"),)), "read_reply gives the calls .*, but there are .*look"),
    "no usage": (reply_changed(usage=None), "drops the usage: {'prompt_tokens': 20"),
    "no model": (reply_changed(model=""), "drops the model: .'m'"),
    "a normal end": (changed("why_ended", lambda _: ""), "why_ended says '', but 'length' is 'length'"),
    "recognises nothing": (changed("recognises", lambda _: False), "recognises says no to all of"),
    "recognises everything": (changed("recognises", lambda _: True), "recognises says yes to .*'hi'"),
    "every block": (changed("recognises_block", lambda _: True), "recognises_block says yes to"),
    "every reply": (changed("recognises_reply", lambda _: True), "recognises_reply says yes to"),
    "every tool": (changed("recognises_tool", lambda _: True), "recognises_tool says yes to .*anthropic's"),
    "no read_reply": (but(openai_chat, "read_reply", "why_ended"), "the wire has no read_reply, why_ended"),
    "no recognises_block": (but(openai_chat, "recognises_block"), "the wire has no recognises_block"),
    "no name": (but(openai_chat, "NAME"), "the wire has no NAME"),
    "a class": (type("Mine", (), vars(openai_chat)), "is a class; pass an object of it: Mine"),
    "a list of breakpoints": (changed("BREAKPOINTS", [1]), "BREAKPOINTS = .* a whole number"),
}


@pytest.mark.parametrize("name", LOST)
def test_what_is_lost_is_found(name: str) -> None:
    """Each of these gives a session or a provider less than it was given; the message says which hook to change."""
    defective, said = LOST[name]
    with pytest.raises(AssertionError, match=said):
        check_wire(defective, replies=[COUNTED_REPLY, REPLY_WITH_CALL, CUT_REPLY], histories=8)


def test_a_cut_off_reply_says_so_in_the_words_of_any_provider() -> None:
    """Whoever runs the suite says which reply was cut off, because the word for it is the provider's own."""
    words = CHAT | {"choices": [CUT_REPLY["choices"][0] | {"finish_reason": "FULL"}]}
    knows = changed("why_ended", lambda reply: "length" if "FULL" in str(reply) else openai_chat.why_ended(reply))
    check_wire(knows, cut_off=[words], histories=1)
    with pytest.raises(AssertionError, match="A reply that ended at its token limit says so"):
        check_wire(openai_chat, cut_off=[words], histories=1)


@pytest.mark.slow
def test_arguments_may_be_written_byte_for_byte() -> None:
    """Also those that are no JSON, though our own formats put them in an object; their loss is found."""

    def writing(text: Callable[[Call], str]) -> SimpleNamespace:
        def write_messages(messages: Sequence[Message], breakpoints: Any = ()) -> list[Json]:
            written = openai_chat.write_messages(messages, breakpoints)
            calls = iter([part for each in messages for part in each.parts if isinstance(part, Call)])
            for made in (made for each in written for made in each.get("tool_calls", ())):
                made["function"]["arguments"] = text(next(calls))
            return written

        return changed("write_messages", write_messages)

    check_wire(writing(common.arguments_text), replies=[CHAT])
    with pytest.raises(AssertionError, match=r"cut off.* is missing: keep it in an object"):
        check_wire(writing(lambda call: common.arguments_text(call) if isinstance(call.input, dict) else "{}"))


def test_a_head_may_say_more_than_tools() -> None:
    """Such as how a tool is chosen, before or after the tools, or in one object with them."""

    def heading(more: Callable[[Json], Json]) -> SimpleNamespace:
        def write_head(system: Any, tools: Any, **given: Any) -> Head:
            head = openai_chat.write_head(system, tools, **given)
            return Head(head.messages, more(head.arguments) if head.arguments else {})

        return changed("write_head", write_head)

    for more in (
        lambda tools: tools | {"tool_choice": "auto"},
        lambda tools: {"stop": ["\n"], "tool_choice": {"mode": "auto"}} | tools,
        lambda tools: {"toolConfig": tools},
    ):
        check_wire(heading(more), replies=[CHAT], histories=2)
    with pytest.raises(AssertionError, match="read_tools finds no list"):
        check_wire(heading(lambda _: {"tool_choice": "auto"}), histories=2)
