"""Law 1: every entry ever acknowledged is in the log after a crash; what is left out or shortened can be recalled."""

from pathlib import Path

import pytest
from checks import reduced_ids
from histories import Compose, Operation, histories
from hypothesis import given
from hypothesis import strategies as st
from world import World, counters, given_back, kinds, over

from sightline.errors import PinnedOverflow
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.wire.payload import Payload


def check_kept(session: Session, accepted: dict[str, object]) -> None:
    """Every item of the branch that was handed in reads back byte for byte."""
    for item in session.items:
        if item.id in accepted:
            assert given_back(item) == accepted[item.id]
            assert session.items[item.id] == item


def check_recallable(session: Session, payload: Payload, most: int = 6) -> None:
    """What the payload does not show in full can be had page by page, by its handle."""
    for item_id in reduced_ids(session, payload)[:most]:
        assert pages(session, item_id) == session.log.reader.lines(session.items.row(item_id))


def pages(session: Session, item_id: str) -> list[str]:
    """All lines of an item, as `expand` gives them out."""
    lines: list[str] = []
    while True:
        label, *shown = session.items.expand(f"#{item_id}", start=len(lines) + 1).split("\n")
        lines += shown
        if "start=" not in label:
            return lines


@given(history=histories, counting=counters, kind=kinds)
def test_every_item_reads_back_as_it_was_handed_in(history: list[Operation], counting: str, kind: str) -> None:
    """After any history, on every branch, live and opened again, items are what they were when they were accepted."""
    with over(kind, counting) as world:
        world.run(history)
        for name, session in list(world.branches.items()):
            check_kept(session, dict(world.accepted))
            if world.log():
                with world.reopened(name) as again:
                    check_kept(again, dict(world.accepted))
        assert len(world.accepted) <= len({item.id for session in world.branches.values() for item in session.items})


@pytest.mark.slow
@given(history=histories, counting=counters)
def test_what_is_not_shown_in_full_can_be_expanded(history: list[Operation], counting: str) -> None:
    """Every item that the last payload leaves out or shortens comes back whole by its handle."""
    world = World(counting).run(history)
    world.apply(Compose(1_000))
    if world.sent and world.sent[-1].branch == world.session.branch:
        check_recallable(world.session, world.sent[-1].payload)


@pytest.mark.slow
@given(history=histories, cut=st.floats(0, 1))
def test_a_crash_loses_nothing_that_was_written(history: list[Operation], cut: float) -> None:
    """A log cut at any byte opens again, holds every item whose write was complete, and goes on."""
    with over("jsonl") as world:
        world.run(history)
        log = world.log()
        if not log:
            return
        size = round(cut * len(log))
        survivors = {item: said for item, said in world.accepted.items() if world.sizes[item] <= size}
        branches = {item_id: world.written_on(item_id) for item_id in survivors}
        world.close()
        _crash(world.file, log[:size])
        for item_id, said in survivors.items():
            session = world.reopened(branches[item_id])
            assert given_back(session.items[item_id]) == said
            session.close()
        _goes_on(world)


def _crash(file: Path, left: bytes) -> None:
    """Only the cut log is left; what is derived from it may be as old or as new as it likes."""
    file.write_bytes(left)


def _goes_on(world: World) -> None:
    with world.reopened("") as session:
        session.user("what now?")
        session.interrupt()
        try:
            session.compose(Budget(50_000))
        except PinnedOverflow:
            return
        ids = [item.id for item in session.items]
        assert len(set(ids)) == len(ids)
