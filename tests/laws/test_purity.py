"""Law 5: composing reads only entries and the windows handed in: the same inputs give the same bytes."""

import pytest
from histories import Compose, Operation, Say, histories, large
from hypothesis import example, given
from world import Sent, World, counters, kinds, over

from sightline.compose.verify import verify
from sightline.errors import PinnedOverflow
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.values.items import Role
from sightline.wire.payload import Payload


def foresee(world: World, budget: Budget) -> Payload | None:
    """A preview, which must leave no trace."""
    before = world.log()
    try:
        payload = world.session.preview(budget)
    except PinnedOverflow:
        payload = None
    assert world.log() == before
    return payload


def came_true(world: World, sent: Sent, foreseen: Payload | None) -> None:
    """What was foreseen was sent, unless something was recalled for it."""
    assert foreseen is not None
    recalled = sent.payload.plan.rows != foreseen.plan.rows
    if not recalled:
        assert sent.payload.hash == foreseen.hash
        assert sent.payload.openai() == foreseen.openai()


@example(  # a question that finds nothing, too long to be shown in full
    history=[Say(Role.USER, "first"), Compose(200, False, 0.0), Say(Role.USER, large("prose", 6_000)),
             Compose(1_000, True, 0.0)],
    counting="estimate",
)  # fmt: skip
@given(history=histories, counting=counters)
def test_a_preview_writes_nothing_and_comes_true(history: list[Operation], counting: str) -> None:
    """`preview` leaves every byte of the log alone, and `compose` then gives the same payload."""
    world = World(counting)
    world.before_compose, world.on_compose = foresee, came_true
    world.run(history)


@pytest.mark.slow
@given(history=histories, counting=counters)
def test_the_same_history_gives_the_same_log(history: list[Operation], counting: str) -> None:
    """Two sessions with the same clock, ids and operations write the same bytes and send the same payloads."""
    one, other = World(counting).run(history), World(counting).run(history)
    assert one.log() == other.log()
    assert [sent.payload.hash for sent in one.sent] == [sent.payload.hash for sent in other.sent]


@pytest.mark.slow
@given(history=histories, counting=counters, kind=kinds)
def test_every_payload_can_be_made_again_from_the_log(history: list[Operation], counting: str, kind: str) -> None:
    """`verify` finds the same hash for everything that was ever sent, on every branch."""
    with over(kind, counting) as world:
        world.run(history)
        if world.sent:
            world.resume()
            made = list(verify(world.session.log))
            assert len(made) == len(world.sent)
            assert [one for one in made if not one.good] == []


@pytest.mark.slow
@given(history=histories, counting=counters, kind=kinds)
def test_a_resumed_session_stands_where_it_stood(history: list[Operation], counting: str, kind: str) -> None:
    """Opened again from the log, a session's last payload is the one that was sent."""
    with over(kind, counting) as world:
        world.run(history)
        for name, session in world.branches.items():
            last = next((sent for sent in reversed(world.sent) if sent.branch == name), None)
            if last is not None and session.receipt == last.receipt:
                check_restored(world.reopened(name), last)


def check_restored(session: Session, last: Sent) -> None:
    """The session goes on from what was sent last."""
    session._composer._restore(last.budget)
    restored = session._composer.payload
    assert restored is not None
    assert list(restored.body) == list(last.payload.body)
    assert restored.hash == last.payload.hash
    assert restored.plan.body == last.payload.plan.body
    session.close()
