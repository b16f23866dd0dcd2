"""Law 6: units stand in seq order; system, tools and callers' pins are never reduced; the last user message stays."""

import pytest
from checks import levels, message_of
from histories import Operation, histories
from hypothesis import given
from world import Sent, World, counters

from sightline.log.columns import HEAD, LABELLED, LEADING, REPLACING
from sightline.values.escape import escape_parts
from sightline.values.items import Kind, Lod, Opaque, Role
from sightline.wire.payload import Payload


def check(world: World, sent: Sent, foreseen: Payload | None = None) -> None:
    """Order, head, pins and the last user message of one payload."""
    check_order(world, sent)
    check_head(world, sent)
    check_pins(world, sent)
    check_last_user(world, sent)


def check_order(world: World, sent: Sent) -> None:
    """Messages stand as their units began, each unit's results in call order behind it.

    A summary stands where the first unit stood that it covers, or, where the layout wants that, before everything. What
    was recalled for a user's message stands right before it.
    """
    timeline, payload = world.session.log.timeline, sent.payload
    if world.session.settings.layout.startswith("ba-agent"):
        return
    covered = {unit: each.first for each in timeline.compactions for unit in each.summaries}
    if world.session.settings.layout == "openstarry":
        covered = dict.fromkeys(covered, -1)
    rows = [timeline.row(message.id) for message in payload.body if message.id]
    for unit in payload.plan:
        row = timeline.unit_row[unit]
        if timeline.state[row] & LEADING and (asked := timeline.led_message(payload.plan.path, row)) in payload.plan:
            covered[unit] = asked
    expected = [
        row
        for unit in sorted(payload.plan, key=lambda unit: (covered.get(unit, unit), unit not in covered, unit))
        for row in timeline.rows_of(unit)
        if timeline.kind[row] != Kind.CALL
    ]  # fmt: skip
    assert [row for row in rows if row is not None and timeline.kind[row] != Kind.WINDOW] == expected
    firsts = [timeline.seq[timeline.unit_row[unit]] for unit in payload.plan]
    assert firsts == sorted(set(firsts))


def check_head(world: World, sent: Sent) -> None:
    """Every system item is there in full, at its place; so are the tools last set. A program's notes are none."""
    timeline, payload = world.session.log.timeline, sent.payload
    everything = {message.id: message for message in (*payload.system, *payload.body)}
    rows = list(world.session.items._rows())
    replacing = [row for row in rows if timeline.state[row] & REPLACING]
    for row in rows:
        if replacing and row < replacing[-1] and timeline.state[row] & HEAD:
            assert timeline.id(row) not in everything  # something else stands in its place
        elif timeline.kind[row] == Kind.SYSTEM and not timeline.state[row] & LABELLED:
            shown = everything[timeline.id(row)]
            assert (shown.role, shown.parts) == (Role.SYSTEM, world.session.items[timeline.id(row)].parts)
            if not world.session.settings.layout.startswith("ba-agent"):
                assert (shown in payload.system) == bool(timeline.state[row] & HEAD)
    assert payload.tools == world.session.log.tools.definitions


def check_pins(world: World, sent: Sent) -> None:
    """What a caller pinned is shown in full."""
    timeline, shown = world.session.log.timeline, levels(sent.payload.plan)
    for row, mark in timeline.marked(world.session.log.path).items():
        if mark.what != "pin" or timeline.kind[row] == Kind.WINDOW or timeline.state[row] & HEAD:
            continue
        assert shown.get(row) is Lod.FULL
        message = message_of(sent.payload, timeline.id(row))
        assert message is not None
        if timeline.kind[row] != Kind.RECALL:
            parts = world.session.items[timeline.id(row)].parts
            for part, escaped in zip(parts, escape_parts(parts), strict=True):  # in the user's role, if it forges
                assert isinstance(part, Opaque) or part in message.parts or escaped in message.parts


def check_last_user(world: World, sent: Sent) -> None:
    """The user's own last words are in the payload: in full, or shortened where they are over their share.

    What a program says after them in the user's place is not the user's.
    """
    timeline, plan = world.session.log.timeline, sent.payload.plan
    users = [row for row in world.session.items._rows() if timeline.is_users_own(row)]
    if users:
        assert timeline.unit[users[-1]] in plan


@pytest.mark.slow
@given(history=histories, counting=counters)
def test_order_and_pins_hold_whatever_happened(history: list[Operation], counting: str) -> None:
    """Law 6 on every payload of a generated history."""
    world = World(counting)
    world.on_compose = check
    world.run(history)


@given(history=histories)
def test_opaque_parts_of_an_open_turn_are_untouched(history: list[Operation]) -> None:
    """While a turn is open, a provider's own blocks come back verbatim wherever their message is shown at all."""

    def untouched(world: World, sent: Sent, foreseen: Payload | None) -> None:
        timeline = world.session.log.timeline
        users = [row for row in world.session.items._rows() if timeline.kind[row] == Kind.USER]
        for message in sent.payload.body:
            row = timeline.row(message.id) if message.id else None
            if row is not None and row > max(users, default=-1) and message.role is Role.ASSISTANT:
                accepted = world.session.items[message.id].parts
                assert [p for p in accepted if isinstance(p, Opaque)] == [
                    p for p in message.parts if isinstance(p, Opaque)
                ]

    world = World()
    world.on_compose = untouched
    world.run(history)
