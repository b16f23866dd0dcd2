"""What every wire must guarantee, checked over made-up histories that are the same in every run."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, pairwise
from random import Random
from typing import Any, cast

import msgspec

from sightline.values.items import (
    Blob,
    Call,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Result,
    Role,
    Text,
    ToolDefinition,
    plain_text,
)
from sightline.wire import common, registry
from sightline.wire.call_ids import pair, result_of
from sightline.wire.payload import Payload, PrefixList
from sightline.wire.wire import Json, Wire
from sightline.wire.writer import chosen_breakpoints, first_role

History = list[list[Message]]  # unit by unit

IMAGE = Image("image/png", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ")
FILE = File("application/pdf", "JVBERi0xLjQKJcOkw7zDtsOf", name="paper.pdf")
SECRET = "for-another-provider-only"
TOOLS = (
    ToolDefinition("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}),
    ToolDefinition("wait", schema={"type": "object", "properties": {}}),
)


def check_wire(wire: Wire, *, replies: Iterable[Json] = (), histories: int = 40) -> None:
    """Check a wire over as many histories, and over samples of its replies.

    Messages come back as they were; calls and results stay pairs; adding messages only adds; arguments and texts stay
    as they are; what only another provider knows is left out; and `payload.json` says what the wire writes in one go,
    however payloads grow from each other. Every reply is recognised, read and sent back.

    Raises:
        AssertionError: a check failed. The message says which one, and for which history.
    """
    made: list[tuple[str, History]] = [
        (f"history {seed}", make_history(Random(seed), wire.NAME)) for seed in range(histories)
    ]
    for name, history in made:
        for check in _CHECKS:
            _run(check, wire, history, where=f"{wire.NAME}, {name}")
    _run(_check_tools, wire, where=wire.NAME)
    for number, reply in enumerate(replies):
        _run(_check_reply, wire, reply, where=f"{wire.NAME}, reply {number}")


def _run(check: Callable[..., None], *arguments: Any, where: str) -> None:
    promised = (check.__doc__ or "").strip()
    try:
        check(*arguments)
    except AssertionError as error:
        raise AssertionError(f"{where}: {promised} {error}") from error
    except Exception as error:
        raise AssertionError(f"{where}: {promised} {type(error).__name__}: {error}") from error


def request_in_one_go(payload: Payload, wire: Wire) -> Json:
    """What `payload.json(wire)` must say: all messages written at once, without anything kept from earlier payloads."""
    places = chosen_breakpoints(payload, wire.BREAKPOINTS)
    head = wire.write_head(payload.system, payload.tools, first=first_role(payload), cached=0 in places)
    body = wire.write_messages([*pair(payload.body, wire.IDS), *payload.tail], [place for place in places if place])
    return {**head.arguments, wire.LIST: [*head.messages, *body]}


# ------------------------------------------------------------------ made-up histories


def make_history(random: Random, provider: str) -> History:
    """Units of a conversation: texts of which no two are the same, media, calls with all kinds of ids and arguments."""
    numbers = count(1)
    return [_make_unit(random, provider, numbers) for _ in range(random.randint(1, 8))]


def _make_unit(random: Random, provider: str, numbers: Iterator[int]) -> list[Message]:
    match random.choice(["user", "recall", "system", "assistant", "assistant", "assistant"]):
        case "user":
            return [Message(Role.USER, _said(random, numbers))]
        case "recall":
            asked = Message(Role.USER, _said(random, numbers))
            return [asked, Message(Role.USER, _said(random, numbers), merge_into_previous=True)]
        case "system":
            return [Message(Role.SYSTEM, (_text(numbers),))]
        case _:
            return _make_turn(random, provider, numbers)


def _make_turn(random: Random, provider: str, numbers: Iterator[int]) -> list[Message]:
    parts: list[Part] = [_text(numbers)] if random.random() < 0.7 else []
    if random.random() < 0.3:
        parts.append(Opaque("another provider", "thinking", {"type": "thinking", "thinking": SECRET}))
    if random.random() < 0.3:
        parts.append(Opaque(provider, "note", {"type": "note", "number": next(numbers), "deep": [None, {"a": 1.5}]}))
    calls = [
        Call(random.choice(["call_1", f"call_{next(numbers)}", "é/ü", "", "x" * 70]), "look", *_arguments(random))
        for _ in range(random.choice([0, 1, 1, 3]))
    ]
    results = [
        Message(Role.TOOL, (Result(call.id, _result_parts(random, numbers), random.choice(["", "", "failed"])),))
        for call in calls
    ]
    return [Message(Role.ASSISTANT, (*parts, *calls)), *results]


def _text(numbers: Iterator[int]) -> Text:
    return Text(f'text {next(numbers)}, "你好" 🙂\n\\ </end>\x00')


def _said(random: Random, numbers: Iterator[int]) -> tuple[Part, ...]:
    choices: list[tuple[Part, ...]] = [(_text(numbers),)] * 4
    choices += [(), (Text(""),), (_text(numbers), _text(numbers)), (_text(numbers), IMAGE), (FILE,), (Blob("/w=="),)]
    return random.choice(choices)


def _result_parts(random: Random, numbers: Iterator[int]) -> tuple[Any, ...]:
    return random.choice([(_text(numbers),)] * 3 + [(), (_text(numbers), IMAGE)])


def _arguments(random: Random) -> tuple[Any, str | None]:
    texts = ['{"at": "a b", "n": [1, 2.5, null]}', '{"at":"你"}', "{}", '{"cut off": "in the mid']
    call = common.call_from("", "", random.choice(texts))
    return call.input, call.raw


# ------------------------------------------------------------------ the checks


def _payload(body: Sequence[Message], **more: Any) -> Payload:
    """A payload with no plan behind it, because no wire asks for one."""
    blank = Payload((), (), body, (), (), cast(Any, None), "", 0)
    payload = replace(blank, **more)
    return replace(payload, chain=(msgspec.json.encode((payload.system, payload.tools)),))


def _written(wire: Wire, history: Iterable[list[Message]]) -> list[Json]:
    messages: list[Json] = request_in_one_go(_payload([message for unit in history for message in unit]), wire)[
        wire.LIST
    ]
    return messages


def _read_back(wire: Wire, history: Iterable[list[Message]]) -> list[Message]:
    return wire.read(_plain(_written(wire, history)))


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _check_round_trip(wire: Wire, history: History) -> None:
    """Reading what was written, and writing it again, changes nothing."""
    once = _read_back(wire, history)
    twice = _read_back(wire, [once])
    _check_same(twice, once)


def _check_texts(wire: Wire, history: History) -> None:
    """Every text is written, in order and with its role."""
    said = [(message.role, part.text) for message in _read_back(wire, history) for part in _texts(message)]
    place = 0
    for message in (message for unit in history for message in unit):
        for text in filter(str.strip, (part.text for part in _texts(message))):
            while place < len(said) and not (text in said[place][1] and _same_role(message.role, said[place][0])):
                place += 1
            assert place < len(said), f"{message.role} {text!r} is missing or not in its place"


def _texts(message: Message) -> list[Text]:
    parts = message.parts if message.role is not Role.TOOL else result_of(message).parts
    return [part for part in parts if isinstance(part, Text)]


def _same_role(role: Role, read: Role) -> bool:
    return role is Role.SYSTEM or role is read  # not every provider accepts a system message everywhere


def _check_pairs(wire: Wire, history: History) -> None:
    """Each call is directly followed by its result, in call order; ids are legal and unique."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in _read_back(wire, history):
        if message.role is Role.TOOL:
            assert waiting, f"a result without a call: {message}"
            assert result_of(message).id == waiting.pop(0), f"a result in the wrong place: {message}"
            continue
        assert not waiting, f"calls without a result: {waiting}"
        waiting = [part.id for part in message.parts if isinstance(part, Call)]
        assert len({*waiting} - seen) == len(waiting), f"ids used twice: {waiting}"
        assert all(map(wire.IDS.pattern.fullmatch, waiting)), f"illegal ids: {waiting}"
        seen.update(waiting)
    assert not waiting, f"calls without a result: {waiting}"


def _check_arguments(wire: Wire, history: History) -> None:
    """Arguments come back with the same values, and byte for byte where the format has them as text."""
    calls = [part for unit in history for part in unit[0].parts if isinstance(part, Call)]
    read = [part for message in _read_back(wire, history) for part in message.parts if isinstance(part, Call)]
    strings = [value for value in _walk(_written(wire, history)) if isinstance(value, str)]
    assert [call.name for call in read] == [call.name for call in calls], "names of calls"
    for call, found in zip(calls, read, strict=True):
        if isinstance(call.input, dict):
            assert found.input == call.input, f"{found} instead of {call}"
            same = [
                text for text in strings if text.startswith("{") and common.call_from("", "", text).input == call.input
            ]
            texts = {common.arguments_text(each) for each in calls if each.input == call.input}
            assert {*same} <= texts, f"{same} instead of {texts}"
        else:
            assert any(str(call.raw) in str(value) for value in _walk(found.input)), f"{call.raw!r} is missing"


def _check_errors(wire: Wire, history: History) -> None:
    """A failed result is not written like one that succeeded."""
    for at, unit in enumerate(history):
        for place, message in enumerate(unit):
            if message.role is Role.TOOL and result_of(message).error:
                fine = msgspec.structs.replace(message, parts=(msgspec.structs.replace(result_of(message), error=""),))
                better = [*history[:at], [*unit[:place], fine, *unit[place + 1 :]], *history[at + 1 :]]
                assert _written(wire, better) != _written(wire, history), f"{message}"


def _check_media(wire: Wire, history: History) -> None:
    """Every image and file is written, or a line of text stands in its place."""
    written = [value for value in _walk(_written(wire, history)) if isinstance(value, str)]
    for message in (message for unit in history for message in unit):
        for part in message.parts if message.role is not Role.TOOL else result_of(message).parts:
            if isinstance(part, Image | File):
                assert any(part.data in text or common.label(part) in text for text in written), f"{part} is missing"


def _check_opaque(wire: Wire, history: History) -> None:
    """What only this provider knows is written as it is; what only another one knows is left out."""
    written = _written(wire, history)
    assert SECRET not in str(written), "another provider's block"
    for part in (part for unit in history for part in unit[0].parts if isinstance(part, Opaque)):
        assert part.provider != wire.NAME or any(value == part.raw for value in _walk(written)), (
            f"{part.raw} is missing"
        )


def _check_prefix(wire: Wire, history: History) -> None:
    """Adding messages changes nothing that was written before; only the last message may grow at its end."""
    whole = [message for unit in history for message in unit]
    ends = [at for at in range(1, len(whole) + 1) if at == len(whole) or whole[at].role is not Role.TOOL]
    for short, long in pairwise(ends):
        before, after = _written(wire, [whole[:short]]), _written(wire, [whole[:long]])
        _check_same(after[: len(before) - 1], before[:-1])
        old, new = ([*_said_parts(wire.read(_plain(each)))] for each in (before, after))
        _check_same(new[: len(old)], old)


def _said_parts(messages: list[Message]) -> Iterator[tuple[Role, Part]]:
    return ((message.role, part) for message in messages for part in message.parts)


def _check_recognition(wire: Wire, history: History) -> None:
    """What was written is not taken for another format."""
    asked = [wire if each.NAME == wire.NAME else each for each in registry.known()]
    asked.append(wire)  # as an installed package's wire, which is asked last
    for message in _plain(_written(wire, history)):
        found = next((each for each in asked if each.recognises(message)), wire)
        assert found is wire, f"{message} is read as {found.NAME}"


def _check_ownership(wire: Wire, history: History) -> None:
    """What is written belongs to the caller: changing it changes nothing here."""
    kept = msgspec.json.encode(written := _written(wire, history))
    for value in [*_walk(written)]:
        if isinstance(value, dict | list):
            value.clear()
    assert msgspec.json.encode(_written(wire, history)) == kept


def _check_json(wire: Wire, history: History) -> None:
    """`payload.json` says what is written in one go, however payloads grow from each other."""
    random = Random(len(history))
    system, window = Message(Role.SYSTEM, (Text("be brief"),)), Message(Role.USER, (Text("a window"),))
    lists: list[PrefixList[Message]] = [PrefixList([])]
    made: list[Payload] = []
    for unit in history * 2:
        base = lists[-1] if random.random() < 0.7 else random.choice(lists)
        cut = random.randint(0, len(base)) if random.random() < 0.2 else len(base)
        cut = next((at for at in range(cut, len(base)) if base[at].role is not Role.TOOL), len(base))
        begun = base.grown(unit[:1]) if cut == len(base) else base.branch(cut, unit[:1])
        _payload(begun).json(wire)  # what follows may join a message that was written already
        lists += [begun, begun.grown(unit[1:])]
        body, places = lists[-1], (0, random.randint(0, len(lists[-1])), len(base), len(lists[-1]))
        tail, tools = (window,) * random.randint(0, 1), TOOLS[: random.randint(0, 2)]
        made.append(_payload(body, system=(system,), tools=tools, tail=tail, breakpoints=places))
        for payload in (made[-1], random.choice(made)):
            fast, plain = msgspec.json.decode(payload.json(wire)), _plain(request_in_one_go(payload, wire))
            _check_same(fast.pop(wire.LIST), plain.pop(wire.LIST))
            assert fast == plain, f"{fast} instead of {plain}"


_CHECKS = (
    _check_texts, _check_pairs, _check_arguments, _check_errors, _check_media, _check_recognition, _check_opaque,
    _check_round_trip, _check_prefix, _check_ownership, _check_json,
)  # fmt: skip


def _check_tools(wire: Wire) -> None:
    """Tool definitions come back as they were; another provider's own tools are left out."""
    foreign = ToolDefinition("secret", provider="another provider", raw={"type": SECRET})
    bare = wire.write_head((), (foreign,), first=None, cached=False).arguments
    assert SECRET not in str(bare), "another provider's tool"
    [(name, tools)] = wire.write_head((), (*TOOLS, foreign), first=None, cached=False).arguments.items()
    assert wire.read_tools(_plain(tools)) == TOOLS, f"{name}: {tools}"
    assert all(map(wire.recognises_tool, _plain(tools))), f"not recognised: {tools}"


def _check_reply(wire: Wire, reply: Json) -> None:
    """A reply is recognised, read as the assistant's, and sent back the same every time."""
    assert wire.recognises_reply(reply), "not recognised"
    assert wire.why_ended(reply) in ("", "length", "refused"), f"ended by {wire.why_ended(reply)!r}"
    read = wire.read_reply(_plain(reply))
    assert read.role is Role.ASSISTANT, f"{read}"
    results = [Message(Role.TOOL, (Result(part.id, (Text("ok"),)),)) for part in read.parts if isinstance(part, Call)]
    unit = [Message(Role.ASSISTANT, read.parts), *results]
    back = _read_back(wire, [unit])
    assert plain_text(read.parts) in "\n".join(plain_text(message.parts) for message in back), f"{back}"
    assert _read_back(wire, [back]) == back, f"{back}"


def _check_same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    for number, (one, other) in enumerate(zip(found, expected, strict=False)):
        assert one == other, f"[{number}] {one} instead of {other}"
    assert len(found) == len(expected), f"{len(found)} instead of {len(expected)}"


def _walk(value: Any) -> Iterator[Any]:
    """A JSON value and all values in it."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _walk(inner)
