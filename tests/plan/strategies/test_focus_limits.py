"""When `focus` sweeps or wants a summary: each limit on both sides, with all else equal."""

from typing import Literal

import pytest
from sized import FRAMING, Sized

from sightline.plan.plan import Plan
from sightline.plan.strategies.focus import Focus
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


def calls_until_it_pays(filled: int, *, economy: str = "thrifty") -> int:
    """After how many calls a body of so many tokens, of which results can save 1,000, is swept; 0: not within 60."""
    history = Sized()
    for _ in range(2):
        history.result(500 + 10 - FRAMING * 4, gist=10)
    fill(history, filled - 2 * 510)
    last = None
    for call in range(1, 61):
        last = Focus(economy=economy).plan(history.view(LIMIT, last=last, target=0.5, trigger=0.95))
        if last.reason:
            assert last.reason == "sweep: pays"
            return call
    return 0


def test_a_sweep_pays_when_reading_has_cost_as_much_as_writing_again() -> None:
    """Half of 4,000 tokens: reading them costs 200 a call, on average half, counted twice; writing the rest 2,300."""
    assert calls_until_it_pays(4_000) == 12


@pytest.mark.parametrize(("filled", "pays"), [(2_500, False), (2_501, True)])
def test_nothing_is_shortened_for_its_price_below_a_quarter(filled: int, pays: bool) -> None:
    assert bool(calls_until_it_pays(filled)) is pays


def test_only_a_thrifty_one_shortens_for_its_price() -> None:
    assert calls_until_it_pays(4_000, economy="safe") == 0


# ------------------------------------------------------------------ on entry


@pytest.mark.parametrize(("purpose", "full", "level"), [
    (Purpose.COMMAND, 2_000, Lod.FULL), (Purpose.COMMAND, 2_001, Lod.SUMMARY), (Purpose.READ, 2_001, Lod.FULL),
    (Purpose.OTHER, 2_001, Lod.FULL),
])  # fmt: skip
def test_only_output_of_commands_appears_as_its_summary(purpose: Purpose, full: int, level: Lod) -> None:
    history = Sized()
    row = history.result(full, summary=100)
    history.timeline.purpose[row] = purpose
    assert Focus().plan(history.view(LIMIT)).lod(row) is level


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
