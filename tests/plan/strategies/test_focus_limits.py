"""When `focus` sweeps or wants a summary: each limit on both sides, with all else equal."""

from typing import Literal

import pytest
from sized import FRAMING, Sized

from sightline.log.columns import UNKNOWN, UNMADE
from sightline.plan.plan import Plan
from sightline.plan.strategies.focus import Focus
from sightline.plan.strategies.sweep import ENTERED, Sweep
from sightline.shorten import Purpose
from sightline.values.items import Lod

LIMIT = 10_000


def fill(history: Sized, tokens: int) -> None:
    """Messages of the assistant, together of so many tokens, framing included, that have no lower level."""
    while tokens > 0:
        history.assistant(min(tokens, 1_000) - FRAMING)
        tokens -= min(tokens, 1_000)


def sent(history: Sized, **more: float) -> Plan:
    """The plan of a call that shows what was added so far."""
    return Focus().plan(history.view(LIMIT, **more))


# ------------------------------------------------------------------ when


@pytest.mark.parametrize(("tokens", "reason"), [(9_500, ""), (9_501, "sweep: forced")])
def test_a_sweep_is_forced_above_the_trigger(tokens: int, reason: str) -> None:
    history = Sized()
    fill(history, tokens)
    assert sent(history, trigger=0.95, target=0.5).reason == reason


@pytest.mark.parametrize(("tokens", "cold", "reason"), [
    (7_500, True, ""), (7_501, True, "sweep: cold"), (7_501, False, ""),
])  # fmt: skip
def test_a_cold_cache_is_a_reason_above_three_quarters(tokens: int, cold: bool, reason: str) -> None:
    history = Sized()
    fill(history, 1_000)
    first = sent(history)
    fill(history, tokens - 1_000)
    assert Focus().plan(history.view(LIMIT, last=first, trigger=0.95, target=0.5, cold=cold)).reason == reason


@pytest.mark.parametrize(("saving", "cold", "economy", "level"), [
    (199, True, "safe", Lod.FULL), (200, True, "safe", Lod.GIST), (200, False, "safe", Lod.FULL),
    (200, True, "off", Lod.FULL),
])  # fmt: skip
def test_below_that_only_what_is_superseded_is_shortened(saving: int, cold: bool, economy: str, level: Lod) -> None:
    """If that saves enough. Other results stay as they are."""
    history = Sized()
    row, other = (history.result(500, gist=500 - saving) for _ in range(2))
    first = sent(history)
    fill(history, 3_000)
    view = history.view(LIMIT, last=first, trigger=0.95, target=0.5, cold=cold, superseded=lambda _: {row})
    plan = Focus(economy=economy).plan(view)
    assert (plan.lod(row), plan.lod(other)) == (level, Lod.FULL)


@pytest.mark.parametrize(("economy", "level"), [("off", Lod.FULL), ("safe", Lod.GIST)])
def test_a_command_takes_what_is_superseded_and_nothing_else(economy: str, level: Lod) -> None:
    history = Sized()
    row, other = (history.result(500, gist=10) for _ in range(2))
    fill(history, 3_000)
    view = history.view(LIMIT, trigger=0.95, target=0.1, command="command: test", superseded=lambda _: {row})
    plan = Focus(economy=economy).plan(view)
    assert (plan.lod(row), plan.lod(other)) == (level, Lod.FULL)


@pytest.mark.parametrize(("tokens", "cold", "economy", "reason"), [
    (30_401, False, "thrifty", "sweep: pays"), (30_400, False, "thrifty", ""), (30_401, False, "safe", ""),
    (24_001, True, "thrifty", "sweep: cold"), (24_000, True, "thrifty", ""), (24_001, True, "safe", ""),
])  # fmt: skip
def test_a_thrifty_one_sweeps_as_in_a_small_window(tokens: int, cold: bool, economy: str, reason: str) -> None:
    """Above the trigger of 32,000 tokens, or three quarters of them if the cache is cold, whatever room there is."""
    history = Sized()
    row = history.result(10_000, gist=10)
    first = Focus().plan(history.view(128_000))
    fill(history, tokens - first.body)
    view = history.view(128_000, last=first, trigger=0.95, target=0.5, cold=cold)
    plan = Focus(economy=economy).plan(view)
    assert (plan.reason, plan.lod(row)) == (reason, Lod.GIST if reason else Lod.FULL)


@pytest.mark.parametrize(("grown", "reason"), [(12_800, ""), (12_801, "sweep: pays")])
def test_a_thrifty_sweep_is_repeated_only_after_so_much_more(grown: int, reason: str) -> None:
    """If the last one could not shorten enough, it waits for four tenths of that room, not for a few tokens."""
    history = Sized()
    fill(history, 40_000)
    history.result(2_000, gist=10)
    fill(history, 1_000)
    last = Focus().plan(history.view(128_000, command="command: test"))
    assert last.base == last.body > 40_000
    fill(history, grown)
    plan = Focus(economy="thrifty").plan(history.view(128_000, last=last, trigger=0.95, target=0.5))
    assert plan.reason == reason


def test_a_thrifty_sweep_that_would_save_nothing_is_not_tried_at_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks at the whole history, so it is tried again only after a tenth of that room."""
    tried: list[float] = []

    def economise(_: Sweep, __: int, ___: str, target: float) -> None:
        tried.append(target)

    monkeypatch.setattr(Sweep, "economise", economise)
    history, plan = Sized(), None
    for _ in range(60):
        fill(history, 1_000)
        plan = Focus(economy="thrifty").plan(history.view(128_000, last=plan, trigger=0.95, target=0.5))
    assert len(tried) == 10  # above 30,400 tokens, then every 3,200


@pytest.mark.parametrize(("purpose", "levels"), [
    (Purpose.OTHER, (Lod.FULL, Lod.FULL, Lod.GIST)), (Purpose.READ, (Lod.GIST, Lod.FULL, Lod.FULL)),
])  # fmt: skip
def test_what_is_not_worked_on_keeps_a_share_beside_what_is(purpose: Purpose, levels: tuple[Lod, ...]) -> None:
    """A file that is being worked on stays, and though it is larger than the target it does not drive out all else."""
    history = Sized()
    older, other = history.result(10_000, gist=10), history.result(5_000, gist=10)
    large = history.result(15_000, gist=10)
    history.timeline.purpose[large] = purpose
    first = Focus().plan(history.view(128_000))
    for _ in range(3):
        history.assistant(200)
    plan = Focus(economy="thrifty").plan(history.view(128_000, last=first, trigger=0.95, target=0.5))
    assert (plan.lod(older), plan.lod(other), plan.lod(large)) == levels


# ------------------------------------------------------------------ on entry


@pytest.mark.parametrize(("purpose", "full", "limit", "level"), [
    (Purpose.COMMAND, 2_000, 100_000, Lod.FULL), (Purpose.COMMAND, 2_001, 100_000, Lod.SUMMARY),
    (Purpose.READ, 2_001, 100_000, Lod.FULL), (Purpose.OTHER, 2_001, 100_000, Lod.FULL),
    (Purpose.COMMAND, 1_000, 16_000, Lod.FULL), (Purpose.COMMAND, 1_001, 16_000, Lod.SUMMARY),
    (Purpose.COMMAND, 500, 4_000, Lod.FULL), (Purpose.COMMAND, 501, 4_000, Lod.SUMMARY),
])  # fmt: skip
def test_only_output_of_commands_appears_as_its_summary(purpose: Purpose, full: int, limit: int, level: Lod) -> None:
    """Above 2,000 tokens, or a sixteenth of a small window, but never below 500."""
    history = Sized()
    row = history.result(full, summary=100)
    history.timeline.purpose[row] = purpose
    assert Focus().plan(history.view(limit)).lod(row) is level


@pytest.mark.parametrize(("economy", "level"), [("off", Lod.FULL), ("safe", Lod.SUMMARY), ("thrifty", Lod.SUMMARY)])
def test_without_economy_output_appears_in_full_too(economy: Literal["off", "safe", "thrifty"], level: Lod) -> None:
    history = Sized()
    row = history.result(3_000, summary=100)
    history.timeline.purpose[row] = Purpose.COMMAND
    assert Focus(economy=economy).plan(history.view(LIMIT)).lod(row) is level


@pytest.mark.parametrize(("fetched_again", "level"), [(False, Lod.SUMMARY), (True, Lod.FULL)])
def test_output_that_was_fetched_again_appears_in_full(fetched_again: bool, level: Lod) -> None:
    history = Sized()
    row = history.result(3_000, summary=100)
    history.timeline.purpose[row] = Purpose.COMMAND
    faults = frozenset({row} if fetched_again else ())
    assert Focus().plan(history.view(LIMIT, faults=faults)).lod(row) is level


# ------------------------------------------------------------------ summaries by a model


@pytest.mark.parametrize(("tokens", "wanted"), [(6_999, False), (7_000, True)])
def test_a_summary_is_wanted_from_seventy_percent_on(tokens: int, wanted: bool) -> None:
    history = Sized()
    fill(history, tokens)
    assert (Focus().wants(history.view(LIMIT)) is not None) is wanted


def test_a_fifth_of_the_messages_is_not_summarised() -> None:
    history = Sized()
    for _ in range(20):
        history.assistant(400)
    assert Focus().wants(history.view(LIMIT)) == (0, 15)


# ------------------------------------------------------------------ what is not looked at


def command_outputs(history: Sized, count: int) -> list[int]:
    """Results of so many commands, each large enough to be shortened when it first appears."""
    rows = [history.result(3_000, summary=800, gist=50) for _ in range(count)]
    for row in rows:
        history.timeline.purpose[row] = Purpose.COMMAND
    return rows


def test_entry_levels_asked_for_late_give_the_same_plan() -> None:
    """Far over the limit, a sweep asks only for the levels of what may stay. That decides nothing else."""
    history = Sized()
    rows = command_outputs(history, 1_500)
    history.user(200)
    view = history.view(10_000, trigger=0.9, target=0.6)
    at_once = dict.fromkeys(rows, Lod.SUMMARY)
    expected = Sweep(view, at_once, dict.fromkeys(rows, ENTERED)).reduce(2, "sweep: forced")
    plan = Focus().plan(view)
    assert len(plan) < 300
    assert [*plan.lines()] == [*expected.lines()]
    assert (plan.body, plan.left_out, plan.reason) == (expected.body, expected.left_out, expected.reason)


def test_no_levels_are_made_for_what_is_left_out_in_any_case() -> None:
    """Of a long history that is far over the limit, only the newest part is shortened."""
    history = Sized()
    rows = command_outputs(history, 2_000)
    made: list[int] = []

    def make_levels(row: int, _: Lod) -> dict[Lod, int]:
        made.append(row)
        return {Lod.SUMMARY: 800, Lod.GIST: 50}

    for row in rows:
        history.timeline.summary[row] = history.timeline.gist[row] = UNMADE
        history.timeline.unit_least[history.timeline.unit[row]] = UNKNOWN
    history.timeline.make_levels = make_levels
    Focus().plan(history.view(10_000))
    assert 0 < len(made) < 400
    assert min(made) > rows[1_500]
