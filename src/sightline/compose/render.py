"""plan → payload. Pure: the same plan over the same entries gives the same bytes."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

import msgspec
from msgspec import Struct

from sightline.errors import BadInput
from sightline.log.columns import LABELLED, ORPHAN
from sightline.log.levels import Reader
from sightline.plan.plan import Plan
from sightline.plan.view import messages_of
from sightline.values.items import Kind, Lod, Message, Opaque, Part, Role, Text, ToolDefinition
from sightline.wire.payload import Payload, PrefixList

_encode = msgspec.json.encode


class Layout(Struct, frozen=True):
    """The order of the sections, as data. `stable` alone keeps the prefix from call to call.

    order: of the sections system, summary, dynamic, history and user (the open turn: what the user asked last, with
    what the program told the model right before, and all that came after).
    windows: at the "tail", each in its "place" among the messages, or together as the section "dynamic".
    """

    name: str
    order: tuple[str, ...] = ("system", "history")
    windows: str = "tail"


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("stable"),
        Layout("contextui", windows="place"),
        Layout("openstarry", order=("system", "summary", "dynamic", "history"), windows="dynamic"),
        Layout("ba-agent", order=("history", "system", "dynamic", "user"), windows="dynamic"),
    )
}


def layout(name: str) -> Layout:
    """The layout of this name. Raises BadInput with the names there are."""
    if name not in LAYOUTS:
        raise BadInput(f"unknown layout {name!r}; choose one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]


class ComposeInputs(Struct, frozen=True):
    """What a payload holds besides the plan's units: all of it decided before composing."""

    system: tuple[int, ...] = ()  # rows of the head
    tools: tuple[ToolDefinition, ...] = ()
    windows: Mapping[str, str] = {}  # id → what it shows now
    window_rows: tuple[int, ...] = ()  # open windows, in order
    breakpoints: tuple[int, ...] = (0,)  # where a provider may cache up to, besides the end of the body
    spared: Mapping[str, int] = {}  # windows that gave way → tokens that saved


def compose(reader: Reader, plan: Plan, layout: Layout, around: ComposeInputs, base: Payload | None = None) -> Payload:
    """The messages of this plan, in the order of this layout.

    Pure: the same arguments give the same bytes. `base`, an earlier payload, only saves work: blocks that stand at its
    beginning are shared and not made again.
    """
    system = tuple(_system(reader, row) for row in around.system)
    first = system if layout.order[0] == "system" else ()
    head = digest(b"", _encode((first, around.tools)))
    goes_on = base is not None and base.chain[0] == head and _appends(layout, around, base)
    same = _same_units(reader, plan, base.plan) if base is not None and goes_on else 0
    if base is not None and same:
        body, chain = _grown(base, same, plan, reader)
    else:
        body = PrefixList(list(_arranged(reader, plan, layout, around, system)))
        chain = PrefixList(list(_chained(head, body)))
    tail = tuple(_window(around, row, reader) for row in around.window_rows) if layout.windows == "tail" else ()
    end = digest(chain[-1], _encode(tail)) if tail else chain[-1]
    return Payload(
        system=first,
        tools=around.tools,
        body=body,
        tail=tail,
        breakpoints=tuple(sorted({*around.breakpoints, len(body)})),
        plan=plan,
        hash=end.hex(),
        tokens=plan.tokens,
        chain=chain,
        shown_windows=around.windows,
        spared=around.spared,
    )


def digest(before: bytes, block: bytes) -> bytes:
    """One link of the chain."""
    return blake2b(before + block, digest_size=16).digest()


def first_change(before: Sequence[bytes], after: Sequence[bytes]) -> int | None:
    """The first block that is not what it was, 0 being the head; None where `before` is a prefix of `after`."""
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        if old != new:
            return index
    return len(after) if len(after) < len(before) else None


def unit_messages(reader: Reader, plan: Plan, unit: int) -> Iterator[Message]:
    """A unit as it is shown: its message, then its results in call order."""
    timeline = reader.timeline
    first, *others = timeline.rows_of(unit)
    kind = Kind(timeline.kind[first])
    if kind is not Kind.ASSISTANT:
        yield Message(
            _ROLES[kind],
            reader.parts(first, plan.lod(first)),
            timeline.id(first),
            merge_into_previous=kind is Kind.RECALL,
        )
        return
    calls = [row for row in others if timeline.kind[row] == Kind.CALL]
    yield Message(Role.ASSISTANT, _spoken(reader, plan, first, calls), timeline.id(first))
    for row in others[len(calls) :]:
        yield Message(Role.TOOL, reader.parts(row, plan.lod(row)), timeline.id(row))


_ROLES = {Kind.SYSTEM: Role.SYSTEM, Kind.USER: Role.USER, Kind.SUMMARY: Role.USER, Kind.RECALL: Role.USER}


def _spoken(reader: Reader, plan: Plan, first: int, calls: Sequence[int]) -> tuple[Part, ...]:
    """An assistant message: what it says and its calls, in the order the model made them, each at its own level."""
    said = reader.parts(first, plan.lod(first))
    called = [part for row in calls for part in reader.parts(row, plan.lod(row))]
    if any(plan.lod(row) is not Lod.FULL for row in (first, *calls)):  # a provider's own blocks all stay or all go
        return (*(part for part in said if not isinstance(part, Opaque)), *called)
    return _original(reader, first)


def _original(reader: Reader, row: int) -> tuple[Part, ...]:
    from sightline.log.entries import parts_of

    return parts_of(reader.entry(row))


def _system(reader: Reader, row: int) -> Message:
    return Message(Role.SYSTEM, reader.item(row).parts, reader.timeline.id(row))


def _window(around: ComposeInputs, row: int, reader: Reader) -> Message:
    return Message(Role.USER, (Text(around.windows[_window_id(reader, row)]),), reader.timeline.id(row))


def _window_id(reader: Reader, row: int) -> str:
    from sightline.log import entries
    from sightline.log.annotations import WindowNote

    note: WindowNote = entries.decode_data(reader.entry(row), WindowNote)
    return note.id


def _appends(layout: Layout, around: ComposeInputs, base: Payload) -> bool:
    """Whether new units come after everything shown: not where windows stand between or sections are reordered."""
    among = layout.windows == "place" and (around.window_rows or base.shown_windows)
    return layout.order == ("system", "history") and not among


def _same_units(reader: Reader, plan: Plan, before: Plan) -> int:
    """How many units both plans show first and alike, and with them all that the engine says before the history.

    0 also where summaries stand among the units, or what is said there differs.
    """
    if plan.extends(before):
        return len(before)
    said = [(each.marker, each.preface, each.left_out and each.left_out.first) for each in (plan, before)]
    if said[0] != said[1] or reader.timeline.compactions:
        return 0
    unit = reader.timeline.unit
    changed = [unit[row] for row, _ in plan.levels().items() ^ before.levels().items() if row < before.rows]
    one, other = list(plan), list(before)
    same = bisect_left(one, min(changed, default=1 << 62))
    if one[:same] != other[:same]:
        differ = (at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs)
        same = next(differ, min(same, len(other)))
    marked = plan.left_out is None or not plan.marker or bisect_right(one, plan.left_out.first) < same
    return same if marked else 0


def _grown(base: Payload, same: int, plan: Plan, reader: Reader) -> tuple[PrefixList[Message], PrefixList[bytes]]:
    """The blocks of the units that stayed the same, and those of the others."""
    assert isinstance(base.body, PrefixList)
    assert isinstance(base.chain, PrefixList)
    more = [message for unit in plan.after(same) for message in unit_messages(reader, plan, unit)]
    if plan.extends(base.plan):
        return base.body.grown(more), base.chain.grown(list(_chained(base.chain[-1], more))[1:])
    kept = (
        bool(plan.preface) + bool(plan.marker) + sum(messages_of(reader.timeline, unit) for unit in plan.after(0, same))
    )
    links = _chained(base.chain[kept], more)
    return PrefixList([*base.body[:kept], *more]), PrefixList([*base.chain[:kept], *links])


def _chained(start: bytes, messages: Sequence[Message]) -> Iterator[bytes]:
    yield start
    for message in messages:
        start = digest(start, _encode((message.role, message.parts, message.merge_into_previous)))
        yield start


def _arranged(
    reader: Reader, plan: Plan, layout: Layout, around: ComposeInputs, system: tuple[Message, ...]
) -> Iterator[Message]:
    sections: dict[str, list[Message]] = {"system": list(system), "summary": [], "history": [], "user": []}
    sections["dynamic"] = [_window(around, row, reader) for row in around.window_rows if layout.windows == "dynamic"]
    turn = _open_turn(reader, plan) if "user" in layout.order else None
    opened = False
    for unit, message in _in_order(reader, plan, layout, around):
        opened = opened or (turn is not None and unit == turn)
        if opened:
            section = "user"
        elif unit is not None and "summary" in layout.order and reader.timeline.unit_kind(unit) is Kind.SUMMARY:
            section = "summary"
        else:
            section = "history"
        sections[section].append(message)
    skip = layout.order[0] == "system"
    for name in layout.order[skip:]:
        yield from sections[name]


def _in_order(
    reader: Reader, plan: Plan, layout: Layout, around: ComposeInputs
) -> Iterator[tuple[int | None, Message]]:
    """Every unit by seq, windows at their place where the layout wants that, one line where units are left out."""
    places = [reader.timeline.unit[row] for row in around.window_rows if layout.windows == "place"]
    windows = dict(zip(places, around.window_rows, strict=False))
    marked, prefaced = not plan.marker, not plan.preface
    stands = _stands(reader)
    for unit in _placed(reader, plan, places):
        if not prefaced and reader.timeline.unit_kind(unit) is not Kind.SUMMARY:
            yield None, Message(Role.USER, (Text(plan.preface),))
            prefaced = True
        if not marked and plan.left_out is not None and stands.get(unit, unit) > plan.left_out.first:
            yield None, Message(Role.USER, (Text(plan.marker),))
            marked = True
        if unit in windows:
            yield unit, _window(around, windows[unit], reader)
        else:
            for message in unit_messages(reader, plan, unit):
                yield unit, message
    for said, text in ((prefaced, plan.preface), (marked, plan.marker)):
        if not said:
            yield None, Message(Role.USER, (Text(text),))


def _placed(reader: Reader, plan: Plan, windows: Sequence[int]) -> Sequence[int]:
    """The units as they stand: by seq, a summary where the first unit stood that it covers."""
    first = _stands(reader)
    if not windows and not first:
        return list(plan)
    return sorted({*plan, *windows}, key=lambda unit: (first.get(unit, unit), unit not in first, unit))


def _stands(reader: Reader) -> dict[int, int]:
    """Where summaries stand: the first unit that each covers."""
    return {unit: each.first for each in reader.timeline.compactions for unit in each.summaries}


def _open_turn(reader: Reader, plan: Plan) -> int | None:
    """The unit the open turn begins with: the user's last words, or what the program told the model before them."""
    units = list(plan)
    users = [at for at, unit in enumerate(units) if reader.timeline.unit_kind(unit) is Kind.USER]
    at = next((at for at in reversed(users) if not _told(reader, units[at])), users[-1] if users else None)
    while at and reader.timeline.unit_kind(units[at - 1]) is Kind.USER and _told(reader, units[at - 1]):
        at -= 1
    return None if at is None else units[at]


def _told(reader: Reader, unit: int) -> bool:
    """Whether a user message is the program's, not the user's."""
    return bool(reader.timeline.state[reader.timeline.unit_row[unit]] & (LABELLED | ORPHAN))
