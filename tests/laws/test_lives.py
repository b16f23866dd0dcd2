"""All laws at once on lives in which sessions are compacted, by rule and by models of every character, and undone."""

import re
from typing import Any

import msgspec
import pytest
import test_budget
import test_nothing_lost
import test_order_and_pins
import test_pairs
import test_purity
import test_text_is_only_text
from checks import recount
from histories import Again, Compact, Configure, Mark, Operation, Replace, Uncompact
from hypothesis import example, given, settings
from lives import Life, lives, plain_lives
from test_prefix import Calls
from world import STORES, Sent, World, counters, kinds, over

from sightline.compaction.loss import Loss
from sightline.compose.verify import verify
from sightline.errors import PinnedOverflow
from sightline.log import entries as log
from sightline.plan.view import Budget, body_unit, messages_of
from sightline.session.session import Session
from sightline.shorten.rules.short_form import short_form
from sightline.values.items import Call, Kind, plain_text
from sightline.wire.payload import Payload

long = settings(max_examples=max(20, settings.default.max_examples // 10))  # type: ignore[union-attr]
"""A life is long: with as many of them as of histories the soak would not end."""


class Laws:
    """What must hold of every payload of a life."""

    def __init__(self, *, only_sweeps: bool = False) -> None:
        self._calls = Calls(only_sweeps=only_sweeps)

    def __call__(self, world: World, sent: Sent, foreseen: Payload | None) -> None:
        """Each law that one payload can break."""
        test_budget.check(world, sent)
        test_pairs.check(world, sent)
        self._calls(world, sent)
        test_purity.came_true(world, sent, foreseen)
        test_order_and_pins.check(world, sent)
        test_text_is_only_text.check(world, sent)
        check_preface(world, sent)
        check_marker(world, sent)


def check_preface(world: World, sent: Sent) -> None:
    """Constraints take at most a quarter of the limit or 400 tokens, and each line says one that the user said."""
    plan = sent.payload.plan
    if sent.receipt.plan is not None:  # between sweeps it stays, though the window may have shrunk
        assert plan.preface_tokens <= max(0.25 * plan.limit, 400)
    said = [each.text for each in world.session.items.constraints()] if plan.preface else []
    short = {short_form(text) for text in said}
    for line in plan.preface.split("\n")[1:]:
        if not line.startswith(("- older ones: #", "- 更早的：#")):
            text = re.sub(r"^- (?:#[\d.]+: )?|(?: \(revoked later\)|（后来已取消）)$", "", line)
            assert text in said or text in short


def check_marker(world: World, sent: Sent) -> None:
    """The line for what is out counts every message that is neither shown nor covered, and summaries without room."""
    journal, plan = world.session.log, sent.payload.plan
    timeline, held = journal.timeline, journal.timeline.compacted(journal.path)
    if sent.receipt.plan is None or plan.left_out is None:  # between sweeps it stays
        return
    every = [unit for unit in timeline.units_between(journal.path, 0, plan.rows) if body_unit(timeline, unit)]
    kinds = {unit: timeline.kind[timeline.unit_row[unit]] for unit in every}
    said = [unit for unit in every if kinds[unit] not in (Kind.SUMMARY, Kind.RECALL)]
    open_to_see = [unit for unit in said if not any(each.first <= unit <= each.last for each in held)]
    summaries = [unit for each in held for unit in each.summaries]
    out = [unit for unit in (*open_to_see, *summaries) if unit not in plan]
    assert plan.left_out.messages == sum(messages_of(timeline, unit) for unit in out)
    assert (plan.left_out.first <= min(out), plan.left_out.last >= max(out)) == (True, True)


def check_loss(session: Session, loss: Loss, budget: Budget) -> None:
    """A report is in the log and names nothing that could be read now."""
    after = session._composer.preview(budget, command="command: compact")
    messages = (*after.system, *after.body, *after.tail)
    calls = [part for message in messages for part in message.parts if isinstance(part, Call)]
    text = "\n".join([*(plain_text(message.parts) for message in messages), *map(str, calls)])
    for kind in (loss.constraints, loss.errors):
        assert not [value for value in kind.named if value in text]
    entries = [log.decode(line.data) for line in session.log.store.scan()]
    assert loss in [msgspec.json.decode(entry.data, type=Loss) for entry in entries if entry.subtype == "loss"]


@pytest.mark.slow
@long
@example(
    history=Life(262661102), counting="estimate", kind="memory"
)  # an undone summary that somebody wanted back was swept out
@example(
    history=Life(297924), counting="words", kind="memory"
)  # a pinned message that looks like one of the engine's lines
@example(
    history=Life(2_202_981_749), counting="estimate", kind="memory"
)  # what was recalled for a message that is covered now
@example(
    history=Life(46_287), counting="estimate", kind="memory"
)  # a summary made to measure for one budget was shown for another, without a sweep
@example(
    history=Life(3_809_652_590), counting="estimate", kind="memory"
)  # a sweep made room for something that was not recalled after all
@example(
    history=Life(476_555_111), counting="o200k_base", kind="memory"
)  # a recall without handles has more tokens, because its lines are indented
@example(history=Life(2386), counting="estimate", kind="memory")  # a strategy that counts nothing went before focus
@example(history=Life(242), counting="o200k_base", kind="memory")
@given(history=lives, counting=counters, kind=kinds)
def test_every_payload_of_a_compacted_life_is_lawful(history: list[Operation], counting: str, kind: str) -> None:
    """Budget, pairs, prefix, purity, order, pins, text; nothing lost; rules within their share; true loss reports."""
    with over(kind, counting) as world:
        live_lawfully(world, history)


def live_lawfully(world: World, history: list[Operation]) -> None:
    """Carry out a life, and check every law on the way and at its end."""
    world.before_compose, world.on_compose = test_purity.foresee, Laws()
    for operation in history:
        refused, compacted = len(world.overflows), len(world.compacted)
        session, budget = world.session, world.session._composer.budget or Budget(4_000)
        world.apply(operation)
        if len(world.overflows) > refused:
            test_budget.check_overflow(world)
        if len(world.compacted) > compacted:
            check_loss(session, world.compacted[-1][1].loss, budget)
    for session in world.branches.values():
        test_nothing_lost.check_kept(session, dict(world.accepted))
    if world.sent and world.sent[-1].branch == world.session.branch:
        test_nothing_lost.check_recallable(world.session, world.sent[-1].payload)


@pytest.mark.slow
@long
@given(history=plain_lives, counting=counters)
def test_what_is_summarised_behind_changes_what_was_sent_only_by_a_sweep(
    history: list[Operation], counting: str
) -> None:
    """An agent that has summaries made in the background breaks its prefix at sweeps and at nothing else."""
    world = World(counting)
    world.on_compose = Calls(only_sweeps=True)
    world.run(history)


@pytest.mark.slow
@long
@given(history=lives, kind=kinds)
def test_a_compacted_life_can_be_taken_up_from_its_log_at_any_point(history: list[Operation], kind: str) -> None:
    """After every compaction, undoing, mark, fork or change of settings the log alone tells the next payload and its
    reason; at the end it gives back the last one, and every one that was ever sent.
    """
    with over(kind) as world:
        take_up(world, history)


def take_up(world: World, history: list[Operation]) -> None:
    """Carry out a life, and open its log anew on the way and at its end."""
    for operation in history:
        if operation == ("overflowed",):
            continue  # what a provider refused, only the running one knows
        world.apply(operation)
        if isinstance(operation, Compact | Uncompact | Mark | Replace | Again | Configure) and world.log():
            live, budget = world.session, world.session._composer.budget or Budget(1_000)
            with world.reopened(live.branch) as again:
                assert foreseen(again, budget) == foreseen(live, budget)
    for name, session in world.branches.items():
        last = next((sent for sent in reversed(world.sent) if sent.branch == name), None)
        if last is not None and session.receipt == last.receipt:
            test_purity.check_restored(world.reopened(name), last)
    if world.sent:
        world.resume()
        made = list(verify(world.session.log))
        assert len(made) == len(world.sent)
        assert [one for one in made if not one.good] == []


@pytest.mark.slow("postgres")
@pytest.mark.parametrize("kind", sorted(STORES))
def test_a_life_is_the_same_over_each_store(kind: str, soak: bool) -> None:
    """Not left to chance: over each store every law holds, and payloads and log are those of a session in memory."""
    for seed in range(20 if soak else 1):
        with over("memory") as known, over(kind) as world:
            for each in (known, world):
                live_lawfully(each, Life(seed))
            assert [sent.payload.hash for sent in world.sent] == [sent.payload.hash for sent in known.sent]
            assert world.log() == known.log()
        with over(kind) as world:
            take_up(world, Life(seed))


def foreseen(session: Session, budget: Budget) -> tuple[str, str]:
    """The next payload and its reason."""
    try:
        payload = session.preview(budget)
    except PinnedOverflow:
        return "overflow", ""
    return payload.hash, payload.plan.reason


@pytest.mark.slow
def test_lives_are_lively() -> None:
    """What the laws are tried on: among fifty lives compactions are shown, undone, made behind, rules are told."""
    met: dict[str, int] = dict.fromkeys(("summaries", "prefaces", "markers", "undone", "behind", "faults", "forks"), 0)

    def look(world: World, sent: Sent, _: Any) -> None:
        timeline, plan = world.session.log.timeline, sent.payload.plan
        summaries = {unit for each in timeline.compactions for unit in each.summaries}
        met["summaries"] += bool(summaries & set(plan))
        met["prefaces"] += bool(plan.preface)
        met["markers"] += bool(plan.marker)
        assert recount(world.session, sent.payload) <= sent.payload.tokens

    for seed in range(50):
        world = World()
        world.on_compose = look
        world.run(Life(seed))
        more = world.session.log.timeline
        met["undone"] += sum(bool(each.undone) for each in more.compactions)
        met["behind"] += sum(not each.manual for each in more.compactions)
        met["faults"] += len(more.faults)
        met["forks"] += len(world.branches) - 1
        if min(met.values()) > 0:
            return
    pytest.fail(f"not among them: {met}")
