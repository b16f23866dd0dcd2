"""When `focus` sweeps, shortens on entry or wants a summary: each limit on both sides, with all else equal."""

import pytest
from sized import FRAMING, Sized

from sightline.log.columns import WHOLE
from sightline.plan.plan import Plan
from sightline.plan.strategies.focus import Focus
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
    (5_000, True, ""), (5_001, True, "sweep: cold"), (5_001, False, ""),
])  # fmt: skip
def test_a_cold_cache_is_a_reason_above_the_target(tokens: int, cold: bool, reason: str) -> None:
    history = Sized()
    fill(history, 1_000)
    first = sent(history)
    fill(history, tokens - 1_000)
    assert Focus().plan(history.view(LIMIT, last=first, trigger=0.95, target=0.5, cold=cold)).reason == reason


@pytest.mark.parametrize(("saving", "reason"), [(399, ""), (400, "sweep: cold")])
def test_below_the_target_a_cold_cache_is_a_reason_if_a_tenth_is_saved(saving: int, reason: str) -> None:
    history = Sized()
    history.assistant(1_000 - FRAMING, gist=1_000 - FRAMING - saving)
    first = sent(history)
    fill(history, 3_000)
    assert Focus().plan(history.view(LIMIT, last=first, trigger=0.95, target=0.5, cold=True)).reason == reason


def calls_until_it_pays(filled: int, *, long: int = 1_000, keep: int = 1) -> int:
    """After how many calls a result of 1,000 tokens that can save 990 is shortened; 0: not within 60."""
    history = Sized()
    fill(history, filled - long - 100)
    first = history.view(LIMIT)
    last = Focus(keep=keep).plan(first)
    history.result(long - 4 * FRAMING, gist=long - 4 * FRAMING - 900)
    fill(history, 100)  # the newest unit, which is kept
    for call in range(1, 61):
        last = Focus(keep=keep).plan(history.view(LIMIT, last=last))
        if last.reason:
            assert last.reason == "sweep: pays"
            return call
    return 0


def test_a_sweep_pays_when_reading_has_cost_as_much_as_writing_again() -> None:
    """Reading 900 tokens costs 90 a call, on average half, counted twice; writing 2,500 - 900 again costs 1,840."""
    assert calls_until_it_pays(2_500) == 20


@pytest.mark.parametrize(("filled", "pays"), [(2_499, False), (2_500, True)])
def test_nothing_is_shortened_for_its_price_below_a_quarter(filled: int, pays: bool) -> None:
    assert bool(calls_until_it_pays(filled)) is pays


def test_what_the_last_sweep_has_kept_is_shortened_by_the_next() -> None:
    """The newest unit at a sweep is kept whole. Once it is older, the next sweep that pays takes it too."""
    history = Sized()
    fill(history, 2_000)
    kept = history.assistant(900, gist=10)
    first = Focus().plan(history.view(LIMIT, command="command: test"))
    assert first.lod(kept) is Lod.FULL
    fill(history, 500)
    last = first
    for _ in range(60):
        last = Focus().plan(history.view(LIMIT, last=last))
        if last.reason:
            break
    assert last.reason == "sweep: pays"
    assert last.lod(kept) is Lod.GIST


# ------------------------------------------------------------------ on entry


@pytest.mark.parametrize(("limit", "full", "level"), [
    (10_000, 500, Lod.FULL), (10_000, 501, Lod.SUMMARY),  # a twentieth
    (1_000, 200, Lod.FULL), (1_000, 201, Lod.SUMMARY),  # but 200 tokens always
    (100_000, 2_000, Lod.FULL), (100_000, 2_001, Lod.SUMMARY),  # and never more than `entry`
])  # fmt: skip
def test_results_up_to_a_limit_appear_in_full(limit: int, full: int, level: Lod) -> None:
    history = Sized()
    rows = [history.result(full, summary=100), history.call(full, summary=100)]
    plan = Focus().plan(history.view(limit))
    assert [plan.lod(row) for row in rows] == [level, level]


@pytest.mark.parametrize("kind", ["page", "message", "fault"])
@pytest.mark.parametrize(("full", "level"), [(2_500, Lod.FULL), (2_501, Lod.SUMMARY)])
def test_pages_messages_and_what_was_fetched_again_appear_in_full_up_to_a_quarter(
    kind: str, full: int, level: Lod
) -> None:
    history = Sized()
    row = history.assistant(full, summary=100) if kind == "message" else history.result(full, summary=100)
    if kind == "page":
        history.timeline.state[row] |= WHOLE
    faults = frozenset({row} if kind == "fault" else ())
    assert Focus().plan(history.view(LIMIT, faults=faults)).lod(row) is level


@pytest.mark.parametrize(("summary", "level"), [(5_000, Lod.SUMMARY), (5_001, Lod.GIST)])
def test_a_summary_of_more_than_half_is_not_used_on_entry(summary: int, level: Lod) -> None:
    history = Sized()
    row = history.result(6_000, summary=summary, gist=100)
    assert Focus().plan(history.view(LIMIT)).lod(row) is level


@pytest.mark.parametrize(("before", "question", "level"), [
    (6_000, 5_000, Lod.FULL), (6_000, 5_001, Lod.SUMMARY),  # half, for which older units are reduced
    (2_000, 8_000 - FRAMING, Lod.FULL), (2_000, 8_001, Lod.SUMMARY),  # or all that is free
])  # fmt: skip
def test_a_question_appears_in_full_up_to_half_or_what_is_free(before: int, question: int, level: Lod) -> None:
    history = Sized()
    for _ in range(before // 1_000):
        history.assistant(1_000 - FRAMING, gist=100)
    first = sent(history)
    row = history.user(question, summary=1_000)
    assert Focus().plan(history.view(LIMIT, last=first)).lod(row) is level


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
