"""Law 2: a payload never exceeds its budget; only what may not be reduced can be too large; one huge item composes."""

import pytest
from checks import least, recount
from histories import Answer, Ask, Compose, Operation, Say, histories, large
from hypothesis import given
from hypothesis import strategies as st
from world import Sent, World, counters

from sightline.compose import inputs
from sightline.values.items import Call, Role
from sightline.wire.payload import Payload


def check(world: World, sent: Sent, foreseen: Payload | None = None) -> None:
    """The plan's own sum is within the limit, and no smaller than what is really said."""
    payload = sent.payload
    assert payload.tokens <= payload.plan.limit
    assert payload.tokens * sent.receipt.factor <= sent.budget.window
    assert recount(world.session, payload) <= payload.tokens


def check_overflow(world: World) -> None:
    """The last refusal was right: what must be shown does not fit."""
    session, budget, error, counting = world.overflows[-1]
    composer = session._composer
    around = composer._inputs(composer._window_texts(budget), budget)
    fixed = inputs.fixed_tokens(session.log, around, session.log.tools.tokens, session.count)
    limit = counting.limit(budget, session.log.reader.profile)
    assert error.short_by > 0
    assert least(session, fixed) > limit


@given(history=histories, counting=counters)
def test_no_payload_is_over_its_budget(history: list[Operation], counting: str) -> None:
    """Law 2 on every payload of a generated history; a refusal is right about what does not fit."""
    world = World(counting)
    world.on_compose = check
    for operation in history:
        refused = len(world.overflows)
        world.apply(operation)
        if len(world.overflows) > refused:
            check_overflow(world)


@pytest.mark.slow
@given(
    size=st.sampled_from([5_000, 50_000, 400_000]),
    kind=st.sampled_from(["prose", "log", "json array", "one line"]),
    role=st.sampled_from([Role.USER, Role.ASSISTANT, Role.TOOL]),
    counting=counters,
    window=st.integers(300, 2_000),
)
def test_one_item_larger_than_the_window_composes(size: int, kind: str, role: Role, counting: str, window: int) -> None:
    """Whoever says something far larger than the whole window, there is a payload, and the question is in it."""
    world = World(counting)
    text = large(kind, size)
    if role is Role.TOOL:
        world.run([Say(Role.USER, "look"), Ask("", (Call("c1", "bash", {}),)), Answer(0, text)])
    else:
        world.run([Say(Role.USER, "look"), Say(role, text)])
    world.on_compose = check
    world.apply(Compose(window))
    assert world.sent
    asked = 1 if role is Role.USER else 0
    assert world.item_ids()[asked] in {message.id for message in world.sent[-1].payload.body}
