"""What every wire must guarantee, checked over made-up histories that are the same in every run."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import msgspec

from sightline.errors import BadInput
from sightline.testing.failures import raised
from sightline.testing.wire_histories import LONG, SECRET, History, make_history, make_long_history
from sightline.testing.wire_replies import check_cut_off, check_recognition, check_reply, check_tools
from sightline.testing.wire_requests import (
    TOOLS,
    make_payload,
    plain,
    read_back,
    request_in_one_go,
    strings,
    texts_of,
    walk,
    write,
)
from sightline.values.items import Call, File, Image, Message, Opaque, Part, Role, Text
from sightline.wire import common, registry
from sightline.wire.call_ids import result_of
from sightline.wire.payload import Payload, PrefixList
from sightline.wire.wire import Json, Wire

__all__ = ["check_wire", "request_in_one_go"]


def check_wire(
    wire: Wire | str, *, replies: Iterable[Json] = (), cut_off: Iterable[Json] = (), histories: int = 40
) -> None:
    """Check a wire, or the one of this name, over as many histories and over samples of its replies, one at least.

    The system messages, texts and windows are all written, and come back as they were; calls and results stay pairs,
    with the function's name; adding messages only adds; arguments and further fields of calls stay as they are; the
    token limit is written; cache breakpoints stand where they should; what only another provider knows is left out;
    only what is of this format is recognised; and `payload.json` says what the wire writes in one go, however payloads
    grow from each other.
    Every reply is recognised, read and sent back, with the calls, model and usage that are in it. Those that were
    `cut_off` at their token limit say so too.

    Raises:
        AssertionError: a check failed. The message says which one, and for which history.
    """
    assert not isinstance(replies, Mapping), "replies is one reply; pass a list: replies=[reply]"
    assert not isinstance(cut_off, Mapping), "cut_off is one reply; pass a list: cut_off=[reply]"
    try:
        wire = registry.wire(wire) if isinstance(wire, str) else wire
        registry.check(wire, "the wire")
    except BadInput as error:
        raise AssertionError(str(error)) from error
    name = wire.NAME
    for check in _CHECKS_ONCE:
        _run(check, wire, where=name)
    _run(_check_texts, wire, make_long_history(), where=f"{name}, long texts")
    for seed in range(histories):
        history = make_history(Random(seed), name)
        for of_history in _CHECKS:
            _run(of_history, wire, history, where=f"{name}, history {seed}")
    cut = list(cut_off)
    samples = [*replies, *cut]
    for number, reply in enumerate(samples):
        _run(check_reply, wire, reply, where=f"{name}, reply {number}")
    for number, reply in enumerate(cut):
        _run(check_cut_off, wire, reply, where=f"{name}, cut-off reply {number}")
    assert samples, f"{name}: no reply was checked; pass replies=[…], responses of the provider as it sends them"


def _run(check: Callable[..., None], *arguments: Any, where: str) -> None:
    promised = (check.__doc__ or "").strip()
    try:
        check(*arguments)
    except AssertionError as error:
        raise AssertionError(f"{where}: {promised} {error}") from error
    except Exception as error:
        raise AssertionError(f"{where}: {promised} {raised(error)}") from error


# ------------------------------------------------------------------ what needs no history


def _check_head(wire: Wire) -> None:
    """Every system message is written, in order and in full."""
    rules = [("  rule 1\n",), ("rule 2 ", "rule 3"), (f"rule 4 {LONG}",)]
    system = [Message(Role.SYSTEM, tuple(map(Text, texts))) for texts in rules]
    for first in (Role.USER, Role.ASSISTANT, None):
        head = wire.write_head(system, (), first=first, cached=False, output=0)
        written, place = "\n".join(strings([head.arguments, head.messages])), 0
        for text in (text for texts in rules for text in texts):
            place = written.find(text, place)
            assert place >= 0, f"write_head drops {text[:40]!r}, or changes it, or writes it in another place"


def _check_breakpoints(wire: Wire) -> None:
    """A cache breakpoint stands after each message that has one, and nowhere else."""
    roles = [Role.USER, Role.ASSISTANT] * 3
    messages = [Message(role, (Text(f"text {number} of them"),)) for number, role in enumerate(roles, 1)]
    bare = plain(wire.write_messages(messages, ()))
    for places in ([1], [6], [2, 5], [1, 2, 3, 6]) if wire.BREAKPOINTS else ():
        wanted = places[: wire.BREAKPOINTS]
        marked = plain(wire.write_messages(messages, wanted))
        changed = [at for at, message in enumerate(marked) if message not in bare]
        assert len(changed) == len(wanted), (
            f"breakpoints {wanted} of 6 messages change {len(changed)} messages: {marked}"
        )
        for at, place in zip(changed, wanted, strict=True):
            said = "\n".join(strings(marked[: at + 1]))
            here = f"text {place} of them" in said and f"text {place + 1} of them" not in said
            assert here, f"the breakpoint after message {place} stands elsewhere: {marked}"
        _check_same(wire.read(marked), wire.read(plain(bare)))
    if wire.BREAKPOINTS:
        system = [Message(Role.SYSTEM, (Text("be brief"),))]
        without, cached = (
            wire.write_head(system, TOOLS, first=Role.USER, cached=cached, output=0) for cached in (False, True)
        )
        assert plain(without) != plain(cached), "write_head with cached=True sets no breakpoint, or always sets one"


def _check_limit(wire: Wire) -> None:
    """The token limit of the reply is written, and nothing else depends on it."""
    none, some, other = (
        plain(wire.write_head((), TOOLS, first=Role.USER, cached=False, output=output)) for output in (0, 64_321, 77)
    )
    limits = [value for value in walk(some) if value == 64_321]
    assert len(limits) == 1, f"write_head with output=64321 writes it {len(limits)} times: {some}"
    written = [msgspec.json.encode(head).replace(b"64321", b"77") for head in (some, other)]
    assert written[0] == written[1], f"another limit changes more than the limit: {some}, {other}"
    assert none[0] == some[0], f"the limit changes the messages: {none[0]}, {some[0]}"


_CHECKS_ONCE = (_check_head, _check_breakpoints, check_tools, check_recognition, _check_limit)


# ------------------------------------------------------------------ what needs one


def _check_round_trip(wire: Wire, history: History) -> None:
    """Reading what was written, and writing it again, changes nothing."""
    once = read_back(wire, history)
    twice = read_back(wire, [once])
    _check_same(twice, once)


def _check_texts(wire: Wire, history: History) -> None:
    """Every text is written, in order and with its role. Only blanks at the end of an assistant's may be left out."""
    _check_said(read_back(wire, history), [message for unit in history for message in unit])


def _check_windows(wire: Wire, history: History) -> None:
    """Windows are written after everything else, each with its role."""
    body = [message for unit in history for message in unit]
    tail = [Message(role, (Text(text),), str(10_000 + at)) for at, (role, text) in enumerate(_WINDOWS)]
    written = msgspec.json.decode(make_payload(body, tail=tuple(tail)).json(wire))[wire.LIST]
    _check_said(wire.read(written), [*body, *tail])


_WINDOWS = ((Role.USER, "a window"), (Role.SYSTEM, " a plain one \n"), (Role.USER, "a window below it\n"))


def _check_said(read: Sequence[Message], expected: Sequence[Message]) -> None:
    said = [(message.role, text) for message in read for text in texts_of(message)]
    place = 0
    for message in expected:
        for whole in filter(str.strip, texts_of(message)):
            text = whole.rstrip() if message.role is Role.ASSISTANT else whole
            while place < len(said) and not (text in said[place][1] and _same_role(message.role, said[place][0])):
                place += 1
            assert place < len(said), f"{message.role} {_cut(text)!r} is missing, changed or not in its place"


def _cut(text: str) -> str:
    return text if len(text) < 200 else f"{text[:80]} … {text[-80:]}"


def _same_role(role: Role, read: Role) -> bool:
    return role is Role.SYSTEM or role is read  # not every provider accepts a system message everywhere


def _check_pairs(wire: Wire, history: History) -> None:
    """Each call is directly followed by its result, in call order; ids are legal and unique."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in read_back(wire, history):
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


def _check_names(wire: Wire, history: History) -> None:
    """A result names the function of its call, if the format has a name there."""
    read = read_back(wire, history)
    names = {part.id: part.name for message in read for part in message.parts if isinstance(part, Call)}
    for result in (result_of(message) for message in read if message.role is Role.TOOL):
        name = names[result.id]
        assert result.name in ("", name), f"a result of {name!r} is written as one of {result.name!r}"


def _check_arguments(wire: Wire, history: History) -> None:
    """Arguments come back with the same values, and byte for byte where the format has them as text.

    Text that is no object, such as one that was cut off, comes back whole: inside an object, or as it is.
    """
    calls = [part for unit in history for part in unit[0].parts if isinstance(part, Call)]
    read = [part for message in read_back(wire, history) for part in message.parts if isinstance(part, Call)]
    texts_written = strings(write(wire, history))
    assert [call.name for call in read] == [call.name for call in calls], "names of calls"
    for call, call_read in zip(calls, read, strict=True):
        if isinstance(call.input, dict):
            assert call_read.input == call.input, f"{call_read} instead of {call}"
            same = [
                text
                for text in texts_written
                if text.startswith("{") and common.call_from("", "", text).input == call.input
            ]
            texts = {common.arguments_text(equal) for equal in calls if equal.input == call.input}
            assert {*same} <= texts, f"{same} instead of {texts}"
        else:
            whole = any(str(call.raw) in str(value) for value in walk([call_read.input, call_read.raw]))
            assert whole, f"{call.raw!r} is missing: keep it in an object, or write common.arguments_text(call)"


def _check_errors(wire: Wire, history: History) -> None:
    """A failed result is neither written nor read like one that succeeded."""
    for at, unit in enumerate(history):
        for place, message in enumerate(unit):
            if message.role is Role.TOOL and result_of(message).error:
                fine = msgspec.structs.replace(message, parts=(msgspec.structs.replace(result_of(message), error=""),))
                better = [*history[:at], [*unit[:place], fine, *unit[place + 1 :]], *history[at + 1 :]]
                assert write(wire, better) != write(wire, history), f"{message}"
                assert read_back(wire, better) != read_back(wire, history), f"read drops the failure of {message}"


def _check_media(wire: Wire, history: History) -> None:
    """Every image and file is written, or a line of text stands in its place."""
    written = strings(write(wire, history))
    for message in (message for unit in history for message in unit):
        for part in message.parts if message.role is not Role.TOOL else result_of(message).parts:
            if isinstance(part, Image | File):
                assert any(part.data in text or common.label(part) in text for text in written), f"{part} is missing"


def _check_opaque(wire: Wire, history: History) -> None:
    """What only this provider knows is written as it is; what only another one knows is left out."""
    written = write(wire, history)
    assert SECRET not in str(written), "another provider's block"
    own = [
        part for unit in history for part in unit[0].parts if isinstance(part, Opaque) and part.provider == wire.NAME
    ]
    for part in own:
        if part.kind == "+call":
            kept = any(isinstance(value, dict) and part.raw.items() < value.items() for value in walk(written))
            assert kept, f"{part.raw} are further fields of a call: write them with it; see common.visible_parts"
        else:
            assert any(value == part.raw for value in walk(written)), f"{part.raw} is missing"


def _check_prefix(wire: Wire, history: History) -> None:
    """Adding messages changes nothing that was written before; only the last message may grow at its end."""
    whole = [message for unit in history for message in unit]
    ends = [at for at in range(1, len(whole) + 1) if at == len(whole) or whole[at].role is not Role.TOOL]
    for short, long in pairwise(ends):
        before, after = write(wire, [whole[:short]]), write(wire, [whole[:long]])
        _check_same(after[: len(before) - 1], before[:-1])
        old, new = ([*_said_parts(wire.read(plain(messages)))] for messages in (before, after))
        _check_same(new[: len(old)], old)


def _said_parts(messages: list[Message]) -> Iterator[tuple[Role, Part]]:
    return ((message.role, part) for message in messages for part in message.parts)


def _check_foreign(wire: Wire, history: History) -> None:
    """What was written is not taken for another format."""
    wires = [wire if other.NAME == wire.NAME else other for other in registry.known()]
    wires.append(wire)  # as an installed package's wire, which is asked last
    for message in plain(write(wire, history)):
        reader = next((other for other in wires if other.recognises(message)), wire)
        assert reader is wire, f"{message} is read as {reader.NAME}"


def _check_ownership(wire: Wire, history: History) -> None:
    """What is written belongs to the caller: changing it changes nothing here."""
    kept = msgspec.json.encode(written := write(wire, history))
    for value in [*walk(written)]:
        if isinstance(value, dict | list):
            value.clear()
    assert msgspec.json.encode(write(wire, history)) == kept


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
        make_payload(begun).json(wire)  # what follows may join a message that was written already
        lists += [begun, begun.grown(unit[1:])]
        body, places = lists[-1], (0, random.randint(0, len(lists[-1])), len(base), len(lists[-1]))
        tail, tools = (window,) * random.randint(0, 1), TOOLS[: random.randint(0, 2)]
        made.append(make_payload(body, system=(system,), tools=tools, tail=tail, breakpoints=places))
        for payload in (made[-1], random.choice(made)):
            fast, slow = msgspec.json.decode(payload.json(wire)), plain(request_in_one_go(payload, wire))
            _check_same(fast.pop(wire.LIST), slow.pop(wire.LIST))
            assert fast == slow, f"{fast} instead of {slow}"


_CHECKS = (
    _check_texts, _check_windows, _check_pairs, _check_arguments, _check_errors, _check_media, _check_foreign,
    _check_opaque, _check_round_trip, _check_prefix, _check_ownership, _check_json, _check_names,
)  # fmt: skip


def _check_same(actual: Sequence[Any], expected: Sequence[Any]) -> None:
    for number, (one, other) in enumerate(zip(actual, expected, strict=False)):
        assert one == other, f"[{number}] {one} instead of {other}"
    assert len(actual) == len(expected), f"{len(actual)} instead of {len(expected)}"
