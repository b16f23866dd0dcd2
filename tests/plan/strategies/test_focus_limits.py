"""When `focus` sweeps or wants a summary: each limit on both sides, with all else equal."""

from typing import Literal, TypeAlias

import pytest
from sized import FRAMING, Sized

from sightline.compose.inputs import limit_in_window
from sightline.log.columns import UNMADE, WHOLE
from sightline.plan.economies import THRIFTY_WINDOW
from sightline.plan.plan import Plan
from sightline.plan.strategies.focus import Focus
from sightline.shorten import Purpose
from sightline.values.items import Kind, Lod

LIMIT = 10_000
Economy: TypeAlias = Literal["off", "safe", "thrifty"]


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
    (6_000, True, ""), (6_001, True, "sweep: cold"), (6_001, False, ""),
])  # fmt: skip
def test_a_cold_cache_is_a_reason_above_six_tenths(tokens: int, cold: bool, reason: str) -> None:
    """Once the prefix has changed for another reason."""
    history = Sized()
    fill(history, 1_000)
    first = sent(history, command="command: test")
    fill(history, tokens - 1_000)
    assert Focus().plan(history.view(LIMIT, last=first, trigger=0.95, target=0.4, cold=cold)).reason == reason


def test_a_cold_cache_is_no_reason_while_everything_is_shown_in_full() -> None:
    """Before the first sweep nothing is shortened that fits, however old and often repeated."""
    history = Sized()
    row = history.result(500, gist=10)
    first = sent(history)
    fill(history, 8_000)
    view = history.view(LIMIT, last=first, trigger=0.95, target=0.5, cold=True, superseded=lambda _: {row})
    plan = Focus().plan(view)
    assert (plan.reason, plan.lod(row)) == ("", Lod.FULL)


@pytest.mark.parametrize(("saving", "cold", "economy", "level"), [
    (199, True, "safe", Lod.FULL), (200, True, "safe", Lod.GIST), (200, False, "safe", Lod.FULL),
    (200, True, "off", Lod.FULL),
])  # fmt: skip
def test_below_that_only_what_is_superseded_is_shortened(saving: int, cold: bool, economy: str, level: Lod) -> None:
    """If that saves enough. Other results stay as they are."""
    history = Sized()
    row, other = (history.result(500, gist=500 - saving) for _ in range(2))
    first = sent(history, command="command: test")
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


# ------------------------------------------------------------------ the thrifty window


@pytest.mark.parametrize(("economy", "window", "limit"), [
    ("safe", 1_000_000, 1_000_000), ("thrifty", 1_000_000, THRIFTY_WINDOW), ("thrifty", 50_000, 50_000),
])  # fmt: skip
def test_a_thrifty_one_works_in_a_small_window(economy: Economy, window: int, limit: int) -> None:
    history = Sized()
    history.user(100)
    assert limit_in_window(history.view(window), Focus(economy=economy).most_tokens) == limit


def test_a_small_window_has_room_for_what_was_never_shown() -> None:
    """The text of a file is shown in full once, though the next call shortens it."""
    history = Sized()
    history.user(100)
    first = Focus().plan(history.view(1_000_000))
    history.timeline.purpose[history.result(100_000, gist=10)] = Purpose.READ
    assert limit_in_window(history.view(1_000_000, last=first), THRIFTY_WINDOW) > 200_000


def test_a_small_window_has_room_for_what_must_be_shown() -> None:
    history = Sized()
    history.user(40_000)
    assert limit_in_window(history.view(1_000_000), THRIFTY_WINDOW) == 2 * (40_000 + FRAMING)


def test_what_was_imported_has_no_room_of_its_own() -> None:
    """Before the first payload everything is new, so only what must be shown counts."""
    history = Sized()
    history.user(100)
    history.timeline.purpose[history.result(100_000, gist=10)] = Purpose.READ
    assert limit_in_window(history.view(1_000_000), THRIFTY_WINDOW) == THRIFTY_WINDOW


def test_a_small_window_is_never_larger_than_the_models() -> None:
    history = Sized()
    history.user(40_000)
    assert limit_in_window(history.view(70_000), THRIFTY_WINDOW) == 70_000


# ------------------------------------------------------------------ paging


@pytest.mark.parametrize(("purpose", "full", "before", "level"), [
    (Purpose.COMMAND, 4_749, 0, Lod.FULL), (Purpose.COMMAND, 4_751, 0, Lod.SUMMARY),
    (Purpose.SEARCH, 4_751, 0, Lod.SUMMARY), (Purpose.OTHER, 4_751, 0, Lod.SUMMARY),
    (Purpose.READ, 4_751, 0, Lod.FULL), (Purpose.SHOW, 4_751, 0, Lod.FULL),
    (Purpose.COMMAND, 1_250, 8_000, Lod.FULL), (Purpose.COMMAND, 1_251, 8_000, Lod.SUMMARY),
])  # fmt: skip
def test_an_output_that_would_take_most_of_what_is_free_is_paged(
    purpose: Purpose, full: int, before: int, level: Lod
) -> None:
    """Above an eighth of the body's tokens and half of what is free below the trigger. The text of a file never is."""
    history = Sized()
    fill(history, before)
    first = sent(history)
    row = history.result(full, summary=100)
    history.timeline.purpose[row] = purpose
    view = history.view(LIMIT, last=first, trigger=0.95, target=0.5, cut=lambda _row, _tokens: True)
    assert Focus().plan(view).lod(row) is level


@pytest.mark.parametrize(("economy", "level"), [("off", Lod.FULL), ("safe", Lod.SUMMARY), ("thrifty", Lod.SUMMARY)])
def test_without_economy_an_output_that_fits_is_never_paged(economy: Economy, level: Lod) -> None:
    history = Sized()
    row = history.result(6_000, summary=100)
    view = history.view(LIMIT, cut=lambda _row, _tokens: True)
    assert Focus(economy=economy).plan(view).lod(row) is level


@pytest.mark.parametrize(("fetched_again", "level"), [(False, Lod.SUMMARY), (True, Lod.FULL)])
def test_an_output_that_was_fetched_again_is_not_paged(fetched_again: bool, level: Lod) -> None:
    history = Sized()
    row = history.result(6_000, summary=100)
    faults = frozenset({row} if fetched_again else ())
    view = history.view(LIMIT, faults=faults, cut=lambda _row, _tokens: True)
    assert Focus().plan(view).lod(row) is level


@pytest.mark.parametrize(("kind", "state", "level"), [
    (Kind.RESULT, 0, Lod.SUMMARY), (Kind.RESULT, WHOLE, Lod.FULL), (Kind.ASSISTANT, 0, Lod.FULL),
])  # fmt: skip
def test_only_an_output_is_paged_and_not_what_the_model_asked_to_see(kind: Kind, state: int, level: Lod) -> None:
    history = Sized()
    row = history.result(6_000, summary=100)
    history.timeline.kind[row] = kind
    history.timeline.state[row] |= state
    assert Focus().plan(history.view(LIMIT, cut=lambda _row, _tokens: True)).lod(row) is level


def test_nothing_is_paged_where_most_is_left_out_in_any_case() -> None:
    """The sweep pages what stays."""
    history = Sized()
    history.result(6_000, summary=100)
    fill(history, LIMIT + 1_000)
    cut: list[int] = []
    Focus(keep=0).plan(history.view(LIMIT, cut=lambda row, _tokens: bool(cut.append(row))))
    assert cut == []


def test_outputs_of_one_message_share_the_page() -> None:
    history = Sized()
    pages: dict[int, int] = {}
    rows = [history.result(4_800, summary=100) for _ in range(2)]
    Focus().plan(
        history.view(LIMIT, trigger=0.95, target=0.5, cut=lambda row, tokens: pages.setdefault(row, tokens) > 0)
    )
    assert pages == dict.fromkeys(rows, 4_750 // 2)


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


@pytest.mark.slow
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
    history.timeline.make_levels = make_levels
    Focus().plan(history.view(10_000))
    assert 0 < len(made) < 400
    assert min(made) > rows[1_500]
