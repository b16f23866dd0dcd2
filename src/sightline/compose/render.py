"""Renders a plan as a payload. Pure: the same plan over the same entries gives the same bytes."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TypeVar

import msgspec
from msgspec import Struct

from sightline.errors import BadInput
from sightline.log import entries
from sightline.log.columns import HEAD, LEADING
from sightline.log.levels import Reader
from sightline.plan.plan import Plan
from sightline.plan.view import messages_of
from sightline.values.items import COMPACTIONS, FULL, Kind, Message, Opaque, Part, Role, Text, ToolDefinition
from sightline.values.recall_tools import offered
from sightline.wire.payload import Payload, PrefixList

_encode = msgspec.json.encode
T = TypeVar("T")

_ASSISTANT, _CALL, _RECALL = Kind.ASSISTANT, Kind.CALL, Kind.RECALL  # looked up once: a class does it slowly
_ROLES = {Kind.SYSTEM: Role.SYSTEM, Kind.USER: Role.USER, Kind.SUMMARY: Role.USER, Kind.RECALL: Role.USER}


class Layout(Struct, frozen=True):
    """The order of a payload's sections. Only `stable` keeps the prompt prefix from call to call.

    order: of the sections system, summary, dynamic, history and user. The section user is the open turn: the last user
    message, the program's notes right before it, and everything after it.
    windows: at the "tail", each in its "place" among the messages, or together as the section "dynamic".
    states: what the program itself tells the model, such as the list of code, is a system message.
    system_first: the system messages of all sections come before the others, for providers that want them so.
    constraints: those that are hidden stand before the "history", or before the "question", which moves them each turn.
    """

    name: str
    order: tuple[str, ...] = ("system", "history")
    windows: str = "tail"
    states: bool = False
    system_first: bool = False
    constraints: str = "history"


_DOCUMENT = ("history", "system", "dynamic", "user")  # BA-Agent's
LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("stable"),
        Layout("contextui", windows="place"),
        Layout("openstarry", order=("system", "summary", "dynamic", "history"), windows="dynamic"),
        Layout("ba-agent", order=_DOCUMENT, windows="dynamic", states=True),
        Layout("ba-agent-system-first", order=_DOCUMENT, windows="dynamic", states=True, system_first=True),
    )
}


def layout(name: str) -> Layout:
    """Return the layout of this name. Raises BadInput that lists the names."""
    if name not in LAYOUTS:
        raise BadInput(f"unknown layout {name!r}; choose one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]


def arrange(layout: Layout, sections: Mapping[str, Sequence[T]], is_system: Callable[[T], bool]) -> list[T]:
    """Return the messages of the sections in the order of the layout; those of sections it does not name are left out.

    `is_system`: whether a message is a system message.
    """
    messages = [message for name in layout.order for message in sections.get(name, ())]
    return sorted(messages, key=lambda message: not is_system(message)) if layout.system_first else messages


class ComposeInputs(Struct, frozen=True):
    """What a payload holds besides the plan's units. All of it is decided before rendering."""

    system: tuple[int, ...] = ()  # rows of the head
    tools: tuple[ToolDefinition, ...] = ()
    windows: Mapping[str, str] = {}  # id → what it shows now
    window_rows: tuple[int, ...] = ()  # open windows, in order
    breakpoints: tuple[int, ...] = (0,)  # cache breakpoints besides the end of the body
    spared: Mapping[str, int] = {}  # windows shown at a lower level → tokens saved by it
    output: int = 0  # tokens that the reply may have; 0: not said


def render(reader: Reader, plan: Plan, layout: Layout, inputs: ComposeInputs, base: Payload | None = None) -> Payload:
    """Return the messages of this plan in the order of this layout.

    Pure: the same arguments give the same bytes. `base`, an earlier payload, only saves work: the blocks that both have
    at their beginning are shared, not made again.
    """
    if base is None:
        reader.prefetch(row for unit in plan for row in plan.timeline.rows_of(unit) if plan.lod(row) is FULL)
    system, head = _head(reader, inputs, base)
    extends = base is not None and base.chain[0] == head and _only_appends(layout, inputs, base)
    same = _same_units(reader, plan, base.plan) if base is not None and extends else 0
    if base is not None and same:
        first, (body, chain) = system, _extend(base, same, plan, reader, offered(inputs.tools))
    else:
        messages = arrange(layout, _sections(reader, plan, layout, inputs, system), _is_system)
        leading = sum(map(_is_system, messages)) if layout.system_first else len(system)
        count = leading if layout.system_first or layout.order[0] == "system" else 0
        first, body = tuple(messages[:count]), PrefixList(messages[count:])
        chain = PrefixList(list(hash_chain(digest(b"", _encode((first, inputs.tools))), body)))
    tail = tuple(_window(inputs, row, reader) for row in inputs.window_rows) if layout.windows == "tail" else ()
    end = digest(chain[-1], _encode(tail)) if tail else chain[-1]
    return Payload(
        system=first,
        tools=inputs.tools,
        body=body,
        tail=tail,
        breakpoints=tuple(sorted({*inputs.breakpoints, len(body)})),
        plan=plan,
        hash=end.hex(),
        tokens=plan.tokens,
        chain=chain,
        shown_windows=inputs.windows,
        spared=inputs.spared,
        output=inputs.output,
    )


def _head(reader: Reader, inputs: ComposeInputs, base: Payload | None) -> tuple[tuple[Message, ...], bytes]:
    """Return the system messages and the first link of the hash chain, which is of them and the tools."""
    ids = [reader.timeline.id(row) for row in inputs.system]
    if base is not None and base.tools == inputs.tools and [message.id for message in base.system] == ids:
        return base.system, base.chain[0]
    system = tuple(Message(Role.SYSTEM, reader.item(row).parts, reader.timeline.id(row)) for row in inputs.system)
    return system, digest(b"", _encode((system, inputs.tools)))


def digest(before: bytes, block: bytes) -> bytes:
    """Return the next link of the hash chain."""
    return blake2b(before + block, digest_size=16).digest()


def first_change(before: Sequence[bytes], after: Sequence[bytes]) -> int | None:
    """Return the index of the first changed block, 0 being the head; None if `before` is a prefix of `after`."""
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        if old != new:
            return index
    return len(after) if len(after) < len(before) else None


def _led_message(plan: Plan, unit: int) -> int:
    """Return the unit of the user message that a recall stands before; -1 if this unit is no such recall."""
    row = plan.timeline.unit_row[unit]
    return plan.timeline.led_message(plan.path, row) if plan.timeline.state[row] & LEADING else -1


def _reading_order(plan: Plan, units: Sequence[int]) -> Iterator[tuple[int, int, bool]]:
    """Yield these units as they are read: the place of each, the unit, and whether it continues the message before it.

    What was recalled for a user message stands before its words, in one message with them and at its place. A recall of
    another kind continues the user message before it.
    """
    recalls: dict[int, list[int]] = {}
    for unit in units:
        if (message := _led_message(plan, unit)) >= 0:
            recalls.setdefault(message, []).append(unit)
    leading = {recall for message in recalls.keys() & {*units} for recall in recalls[message]}
    for unit in units:
        if unit not in leading:
            parts = [*recalls.get(unit, ()), unit]
            yield unit, parts[0], plan.timeline.unit_kind(unit) is _RECALL and _led_message(plan, unit) < 0
            yield from ((unit, part, True) for part in parts[1:])


def unit_messages(
    reader: Reader, plan: Plan, unit: int, tools: Collection[str], *, continues: bool = False
) -> Iterator[Message]:
    """Yield the messages of a unit as the plan shows them: its message, then its results in call order.

    They name only those of our tools that the payload has. `continues`: the first is part of the message before it.
    """
    timeline = reader.timeline
    first, *others = timeline.rows_of(unit)
    kind = timeline.unit_kind(unit)
    if kind is not _ASSISTANT:
        yield Message(_ROLES[kind], reader.parts(first, plan.lod(first), tools), timeline.id(first), continues)
        return
    calls = [row for row in others if timeline.kind[row] == _CALL]
    yield Message(Role.ASSISTANT, _assistant_parts(reader, plan, first, calls, tools), timeline.id(first))
    for row in others[len(calls) :]:
        same = plan.unchanged.get(row)
        parts = reader.unchanged_parts(row, same.source) if same else reader.parts(row, plan.lod(row), tools)
        yield Message(Role.TOOL, parts, timeline.id(row))


def _assistant_parts(
    reader: Reader, plan: Plan, first: int, calls: Sequence[int], tools: Collection[str]
) -> tuple[Part, ...]:
    """Return the parts of an assistant message: its text and its calls in order, each at its own level."""
    if all(plan.lod(row) is FULL for row in (first, *calls)):  # opaque blocks all stay or all go
        return entries.parts_of(reader.entry(first))
    spoken = reader.parts(first, plan.lod(first), tools)
    called = [part for row in calls for part in reader.parts(row, plan.lod(row), tools)]
    return (*(part for part in spoken if not isinstance(part, Opaque) or part.kind in COMPACTIONS), *called)


def _window(inputs: ComposeInputs, row: int, reader: Reader) -> Message:
    note = reader.window(row)
    role = Role.SYSTEM if (note.options or {}).get("plain") else Role.USER
    return Message(role, (Text(inputs.windows[note.id]),), reader.timeline.id(row))


def _only_appends(layout: Layout, inputs: ComposeInputs, base: Payload) -> bool:
    """Return whether new units come after everything shown: not if windows stand between or sections are reordered."""
    among = layout.windows == "place" and (inputs.window_rows or base.shown_windows)
    return layout.order == ("system", "history") and layout.constraints == "history" and not among


def _same_units(reader: Reader, plan: Plan, before: Plan) -> int:
    """Return how many units both plans show first and at the same levels, after the same notices of the engine.

    0 also if there are summaries, or if the notices differ.
    """
    if plan.extends(before):
        return _whole_messages(plan, len(before))
    notices = [
        (shown_plan.marker, shown_plan.preface, shown_plan.left_out and shown_plan.left_out.first)
        for shown_plan in (plan, before)
    ]
    if notices[0] != notices[1] or reader.timeline.compactions:
        return 0
    unit = reader.timeline.unit
    differing = (plan.levels().items() ^ before.levels().items()) | (plan.unchanged.items() ^ before.unchanged.items())
    changed = [unit[row] for row, _ in differing if row < before.rows]
    one, other = list(plan), list(before)
    same = bisect_left(one, min(changed, default=1 << 62))
    if one[:same] != other[:same]:
        differ = (at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs)
        same = next(differ, min(same, len(other)))
    marked = plan.left_out is None or not plan.marker or bisect_right(one, plan.left_out.first) < same
    return min(_whole_messages(shown_plan, same) for shown_plan in (plan, before)) if marked else 0


def _whole_messages(plan: Plan, count: int) -> int:
    """Return how many of the first `count` units are whole messages: one that a later recall stands before is not."""
    later = plan.after(count)
    led = [message for unit in later if 0 <= (message := _led_message(plan, unit)) < later[0] and message in plan]
    return bisect_left(list(plan), min(led)) if led else count


def _extend(
    base: Payload, same: int, plan: Plan, reader: Reader, tools: Collection[str]
) -> tuple[PrefixList[Message], PrefixList[bytes]]:
    """Return the body and hash chain of `base` up to the last unchanged unit, and those of all later units after it."""
    assert isinstance(base.body, PrefixList)
    assert isinstance(base.chain, PrefixList)
    more = [
        message
        for _, unit, continues in _reading_order(plan, plan.after(same))
        for message in unit_messages(reader, plan, unit, tools, continues=continues)
    ]
    if same == len(base.plan) and plan.extends(base.plan):
        return base.body.grown(more), base.chain.grown(list(hash_chain(base.chain[-1], more))[1:])
    kept = (
        bool(plan.preface) + bool(plan.marker) + sum(messages_of(reader.timeline, unit) for unit in plan.after(0, same))
    )
    links = hash_chain(base.chain[kept], more)
    return base.body.branch(kept, more), PrefixList([*base.chain[:kept], *links])


def hash_chain(start: bytes, messages: Sequence[Message]) -> Iterator[bytes]:
    """Yield the link that the messages follow, and one for each of them."""
    yield start
    for message in messages:
        start = digest(start, _encode((message.role, message.parts, message.merge_into_previous)))
        yield start


def _is_system(message: Message) -> bool:
    return message.role is Role.SYSTEM


def _sections(
    reader: Reader, plan: Plan, layout: Layout, inputs: ComposeInputs, system: tuple[Message, ...]
) -> dict[str, list[Message]]:
    sections: dict[str, list[Message]] = {"system": list(system), "summary": [], "history": [], "user": []}
    sections["dynamic"] = [_window(inputs, row, reader) for row in inputs.window_rows if layout.windows == "dynamic"]
    turn = _open_turn(reader, plan) if "user" in layout.order else None
    opened = False
    for unit, message in _in_order(reader, plan, layout, inputs):
        opened = opened or (turn is not None and unit == turn)
        if opened:
            section = "user"
        elif unit is not None and "summary" in layout.order and reader.timeline.unit_kind(unit) is Kind.SUMMARY:
            section = "summary"
        else:
            section = "history"
        sections[section].append(message)
    return sections


def _in_order(
    reader: Reader, plan: Plan, layout: Layout, inputs: ComposeInputs
) -> Iterator[tuple[int | None, Message]]:
    """Yield the messages by seq: windows at their place if the layout wants that, notices where units are left out."""
    places = [reader.timeline.unit[row] for row in inputs.window_rows if layout.windows == "place"]
    windows = dict(zip(places, inputs.window_rows, strict=False))
    marked, prefaced = not plan.marker, not plan.preface
    # A summary stands at the place of the first unit that it covers.
    stands = {unit: compaction.first for compaction in reader.timeline.compactions for unit in compaction.summaries}
    units, tools = list(plan), offered(inputs.tools)
    turn = _open_turn(reader, plan) if layout.constraints == "question" else None
    if places or stands:
        units = sorted({*units, *places}, key=lambda unit: (stands.get(unit, unit), unit not in stands, unit))
    for place, unit, continues in _reading_order(plan, units):
        if not prefaced and (reader.timeline.unit_kind(unit) is not Kind.SUMMARY if turn is None else unit == turn):
            yield None, Message(Role.USER, (Text(plan.preface),))
            prefaced = True
        if not marked and plan.left_out is not None and stands.get(unit, unit) > plan.left_out.first:
            yield None, Message(Role.USER, (Text(plan.marker),))
            marked = True
        if unit in windows:
            yield unit, _window(inputs, windows[unit], reader)
        else:
            for message in unit_messages(reader, plan, unit, tools, continues=continues):
                yield place, message
    for said, text in ((prefaced, plan.preface), (marked, plan.marker)):
        if not said:
            yield None, Message(Role.USER, (Text(text),))


def _open_turn(reader: Reader, plan: Plan) -> int | None:
    """Return the first unit of the open turn: the last user message, or the program's notes right before it.

    Notes of before the system prompt are not among them: they belong to a conversation that was imported.
    """
    units = list(plan)
    users = [at for at, unit in enumerate(units) if reader.timeline.unit_kind(unit) is Kind.USER]
    at = next((at for at in reversed(users) if not _is_note(reader, units[at])), users[-1] if users else None)
    while at and _is_note(reader, units[at - 1]) and not _head_between(plan, units[at - 1], units[at]):
        at -= 1
    return None if at is None else units[at]


def _is_note(reader: Reader, unit: int) -> bool:
    """Return whether a message is the program's, not the user's."""
    timeline = reader.timeline
    said = timeline.unit_kind(unit) in (Kind.USER, Kind.SYSTEM)
    return said and timeline.is_by_program(timeline.unit_row[unit])


def _head_between(plan: Plan, one: int, other: int) -> bool:
    """Return whether a system prompt of this branch was set between two units."""
    timeline = plan.timeline
    rows = timeline.rows_on(plan.path, range(timeline.unit_row[one] + 1, timeline.unit_row[other]))
    return any(timeline.state[row] & HEAD for row in rows)
