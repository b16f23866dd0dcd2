"""What a sweep protects, and how far it goes. Each limit is tried on both sides, with all else equal."""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace
from sized import FRAMING, Sized

from sightline.log.columns import OPAQUE
from sightline.plan.plan import INDEX, Plan
from sightline.plan.strategies.focus import Focus
from sightline.plan.strategies.sweep import Sweep
from sightline.plan.view import Budget, View
from sightline.shorten import Purpose
from sightline.values.items import Lod


def assistants(history: Sized, count: int, tokens: int = 100) -> list[int]:
    """Messages of so many tokens, framing included, that have no lower level."""
    return [history.assistant(tokens - FRAMING) for _ in range(count)]


# ------------------------------------------------------------------ how far


def pressed(history: Sized, saving: int = 1, **more: Any) -> View:
    """A view in which a sweep must save so many tokens of what everything in full takes."""
    view = history.view(10_000, **more)
    share = (view.full_tokens(view.new) - saving) / 10_000
    return replace(view, budget=Budget(10_000, trigger=share, target=share))


def test_units_are_left_out_down_to_the_target() -> None:
    """Of 5,000 tokens to reach, 800 are for the index lines."""
    history = Sized()
    assistants(history, 100)
    plan = Sweep(history.view(10_000, trigger=0.9, target=0.5), {}).reduce(0, "sweep: test")
    assert len(plan) == 42
    assert INDEX == 0.08


def test_levels_go_down_to_the_target() -> None:
    """Of 20,000 tokens 11,000 are the target; the items would save 90 each."""
    history = Sized()
    rows = [history.assistant(186, gist=96) for _ in range(90)]
    plan = Sweep(history.view(20_000, trigger=0.8, target=0.55), {}).reduce(0, "sweep: test")
    assert len(plan) == 90
    assert 11_000 - 90 < plan.body <= 11_000
    assert plan.lod(rows[0]) is Lod.GIST
    assert plan.lod(rows[-1]) is Lod.FULL


@pytest.mark.parametrize(("full", "stays"), [(1_000, 6), (5_000, 3), (8_000, 1)])
def test_one_large_result_does_not_erase_everything_older(full: int, stays: int) -> None:
    """Beside the newest units, older ones keep four tenths of the target, or a quarter of it if those are large."""
    history = Sized()
    rows = [history.assistant(500 - FRAMING, gist=10) for _ in range(20)]
    history.result(full, summary=800)
    plan = Sweep(history.view(10_000, trigger=0.95, target=0.5), {}).reduce(1, "sweep: test")
    assert sum(plan.lod(row) is Lod.FULL for row in rows) >= stays
    assert all(history.shows(plan, row) for row in rows)


@pytest.mark.parametrize(("size", "level"), [(6_000, Lod.FULL), (8_000, Lod.SUMMARY)])
def test_the_working_set_is_reduced_only_above_seven_tenths(size: int, level: Lod) -> None:
    """Below that the target is missed for it."""
    history = Sized()
    row = history.result(size, summary=500)
    history.timeline.purpose[row] = Purpose.READ
    history.assistant(500, gist=10)
    plan = Sweep(history.view(10_000, trigger=0.5, target=0.2), {}).reduce(0, "sweep: test", to_target=True)
    assert plan.lod(row) is Lod.SUMMARY  # a budget with such a trigger has no room for it
    history.seen = 0
    plan = Sweep(history.view(10_000, trigger=0.95, target=0.2), {}).reduce(0, "sweep: test")
    assert plan.lod(row) is level


def test_where_it_fits_only_what_is_shown_again_is_shortened() -> None:
    """What is new stays as it is, and nothing is left out."""
    history = Sized()
    repeated, old = history.result(900, gist=10), history.result(900, gist=10)
    first = Focus().plan(history.view(10_000))
    new = history.result(900, gist=10)
    view = history.view(10_000, last=first, asked=-1, superseded=lambda _: {repeated, new})
    plan = Sweep(view, {}).shorten_repeated(0, "sweep: test")
    assert plan is not None
    assert [plan.lod(row) for row in (repeated, old, new)] == [Lod.GIST, Lod.FULL, Lod.FULL]
    assert len(plan) == 3


@pytest.mark.parametrize(("units", "whole"), [(10, True), (11, False)])
def test_the_newest_part_of_the_room_is_shortened_last(units: int, whole: bool) -> None:
    """Twelve of a hundred tokens: of 10,000 those are 10 units of 112, framing included."""
    history = Sized()
    for _ in range(60):
        history.result(296, gist=6)
    rows = [history.result(96, gist=6) for _ in range(21)]
    plan = Sweep(history.view(10_000, trigger=0.9, target=0.23), {}).reduce(0, "sweep: test")
    row = rows[-units]
    assert (history.shows(plan, row) and plan.lod(row) is Lod.FULL) is whole


def test_the_users_messages_have_a_share_of_their_own() -> None:
    """Of 4,200 tokens to reach, 40 % hold the user's newest 16 messages though 150 newer ones wait. The task stays."""
    history = Sized()
    users = [history.user(96) for _ in range(40)]
    others = assistants(history, 150, 80)
    plan = Sweep(history.view(10_000, trigger=0.9, target=0.5, asked=-1), {}).reduce(0, "sweep: test")
    assert [row for row in users if history.shows(plan, row)] == [users[0], *users[-16:]]
    assert [row for row in others if history.shows(plan, row)] == others[-31:]


@pytest.mark.parametrize("target", [0.2, 0.5])  # below .5, not even gists of everything fit
@pytest.mark.parametrize("works", [False, True])
def test_an_old_question_is_left_out_with_its_answer(works: bool, target: float) -> None:
    """Otherwise a long chat would be a row of questions that look open. A task, worked on with tools, stays."""
    history = Sized()
    history.user(10)
    history.assistant(10)
    turns = []
    for _ in range(40):
        question = history.user(10)
        if works:
            history.result(0)
        turns.append((question, history.assistant(186)))
    history.user(10)
    plan = Sweep(history.view(5_000, trigger=0.9, target=target), {}).reduce(2, "sweep: test")
    shown = [(history.shows(plan, question), history.shows(plan, answer)) for question, answer in turns]
    assert shown[-1] == (True, True)
    assert (False, False) in shown or works
    assert ((True, False) in shown) is works
    assert plan.body == history.view(5_000).full_tokens(plan)


@pytest.mark.parametrize("room", range(0, 200, 20))
def test_an_answer_stays_only_with_its_question(room: int) -> None:
    """A short answer has room where its long question has none: neither is shown, and the tokens are counted once."""
    history = Sized()
    turns = [(history.user(190), history.assistant(10)) for _ in range(40)]
    history.user(10)
    view = history.view(2_000 + room, trigger=0.9, target=0.5)
    plan = Sweep(view, {}).reduce(0, "sweep: test")
    assert all(history.shows(plan, question) or not history.shows(plan, answer) for question, answer in turns)
    assert plan.body <= view.budget.target * view.body_limit


@pytest.mark.parametrize(("question", "level"), [(5_000, Lod.FULL), (5_001, Lod.SUMMARY)])
def test_a_question_of_more_than_half_is_shortened_before_a_unit_is_left_out(question: int, level: Lod) -> None:
    """Once it was shown in full."""
    history = Sized()
    asked = history.user(question - FRAMING, summary=1_000, gist=10)
    first = Focus().plan(history.view(10_000))
    others = assistants(history, 46)
    plan = Sweep(history.view(10_000, last=first, trigger=0.9, target=0.6), {}).reduce(0, "sweep: test")
    assert plan.lod(asked) is level
    assert all(history.shows(plan, row) for row in others) is (level is Lod.SUMMARY)


# ------------------------------------------------------------------ what is protected


@pytest.mark.parametrize(("question", "kept"), [(False, 2), (True, 3)])
def test_the_newest_two_units_are_protected_and_the_answer_before_a_question(question: bool, kept: int) -> None:
    history = Sized()
    history.user(10)
    rows = [history.assistant(1_000, gist=10) for _ in range(9)]
    rows.append(history.user(1_000, gist=10) if question else history.assistant(1_000, gist=10))
    plan = Focus().plan(history.view(10_000, trigger=0.9, target=0.1))
    assert plan.reason == "sweep: forced"
    assert [plan.lod(row) for row in rows] == [Lod.GIST] * (10 - kept) + [Lod.FULL] * kept


@pytest.mark.parametrize("keep", [0, 1])
def test_the_task_is_protected(keep: int) -> None:
    """The user's first message stays whole and a later one is shortened; with `keep` 0 the first is, which is older."""
    history = Sized()
    task, later = history.user(1_000, gist=10), history.user(1_000, gist=10)
    history.user(1_000)
    plan = Sweep(history.view(5_000, target=0.5, trigger=0.5, asked=-1), {}).reduce(keep, "sweep: test")
    assert (plan.lod(task), plan.lod(later)) == ((Lod.FULL, Lod.GIST) if keep else (Lod.GIST, Lod.FULL))


def fetched_again(history: Sized, *, full: int = 300, newer: int = 5) -> tuple[int, Plan]:
    """A sweep over a result that was fetched again and so many newer units; keeps the newest."""
    row = history.result(full, gist=10)
    history.timeline.faults.append(row)
    assistants(history, newer)
    return row, Sweep(pressed(history), {}).reduce(1, "sweep: test")


@pytest.mark.parametrize(("newer", "level"), [(30, Lod.FULL), (31, Lod.GIST)])
def test_what_was_fetched_again_is_protected_for_thirty_units(newer: int, level: Lod) -> None:
    row, plan = fetched_again(Sized(), newer=newer)
    assert plan.lod(row) is level


@pytest.mark.parametrize(("full", "level"), [(2_500, Lod.FULL), (2_501, Lod.GIST)])
def test_what_was_fetched_again_is_protected_up_to_a_quarter(full: int, level: Lod) -> None:
    row, plan = fetched_again(Sized(), full=full)
    assert plan.lod(row) is level


def test_what_was_fetched_again_and_is_superseded_is_not_protected() -> None:
    history = Sized()
    row = history.result(300, gist=10)
    history.timeline.faults.append(row)
    assistants(history, 5)
    plan = Sweep(history.view(10_000, superseded=lambda _: {row}), {}).reduce(1, "sweep: test")
    assert plan.lod(row) is Lod.GIST


@pytest.mark.parametrize(("results", "asked"), [(20, True), (100, False)])
def test_nothing_is_done_for_what_does_not_fit_in_any_case(results: int, asked: bool) -> None:
    """The oldest result is compared with newer ones only if gists of all units fit: else it is not shown."""
    compared: list[int] = []

    def superseded(rows: Iterable[int]) -> set[int]:
        compared.extend(rows)
        return set()

    history = Sized()
    history.user(10)
    oldest, *_, newest = (history.result(400, gist=10) for _ in range(results))
    Sweep(history.view(3_000, superseded=superseded), {}).reduce(0, "sweep: test")
    assert (oldest in compared) is asked
    assert newest in compared


def test_protected_units_are_reduced_in_order_if_the_limit_demands_it() -> None:
    """First the task, then the newest unit, then the question, which is never left out but only shortened."""
    found = []
    for limit in (1_000, 510, 220, 90):
        history = Sized()
        task, asked = history.user(300, gist=10), history.user(100, gist=10)
        newest = history.assistant(300, gist=10)
        plan = Sweep(history.view(limit), {}).reduce(1, "sweep: test")
        found.append([plan.lod(row) if history.shows(plan, row) else None for row in (task, newest, asked)])
    full, gist = Lod.FULL, Lod.GIST
    assert found == [[full, full, full], [gist, full, full], [gist, gist, full], [None, None, gist]]


@pytest.mark.parametrize("old", [0, 200])
def test_the_task_stays_longer_than_what_is_large_and_new(old: int) -> None:
    """However long ago it was given: what does not fit beside it is left out first, but never the newest."""
    history = Sized()
    task = history.user(40)
    assistants(history, old)
    history.user(10)
    second, newest = history.result(800, gist=60), history.result(800, gist=60)
    plan = Sweep(history.view(220), {}).reduce(2, "sweep: test")
    assert [history.shows(plan, row) for row in (task, second, newest)] == [True, False, True]


@pytest.mark.parametrize(("older", "stays"), [(0, True), (400, False)])
def test_the_newest_stays_where_nothing_else_is_left_out(older: int, stays: bool) -> None:
    """Tokens for the line that marks what is left out are kept only if something is."""
    history = Sized()
    if older:
        history.assistant(older)
    history.user(10)
    newest = history.result(400, gist=60)
    plan = Sweep(history.view(100), {}).reduce(1, "sweep: test")
    assert history.shows(plan, newest) == stays


@pytest.mark.parametrize(("file", "level", "others"), [(1_200, Lod.FULL, None), (1_500, Lod.GIST, Lod.FULL)])
def test_what_a_large_step_makes_needless_is_given_back(file: int, level: Lod, others: Lod | None) -> None:
    """The file being worked on is shortened last. If it must be, and that alone is enough, the others stay whole."""
    history = Sized()
    older = [history.result(300, gist=10) for _ in range(3)]
    row = history.result(file, gist=10)
    history.timeline.purpose[row] = Purpose.READ
    history.assistant(1)
    plan = Sweep(history.view(2_000, target=0.5), {}).reduce(1, "sweep: test")
    assert plan.lod(row) is level
    assert [plan.lod(each) if history.shows(plan, each) else None for each in older] == [others] * 3
    assert not any(plan.why.get(each) for each in older)


@pytest.mark.parametrize(("question", "level"), [(470, Lod.FULL), (490, Lod.GIST)])
def test_the_line_for_the_newest_takes_no_tokens_from_the_question(question: int, level: Lod) -> None:
    """If the newest does not fit beside a pinned item, the question stays whole, and our line goes if it must."""
    history = Sized()
    pinned = history.assistant(120 - FRAMING)
    asked = history.user(question, gist=20)
    history.assistant(200, gist=100)
    plan = Sweep(history.view(600, pinned=frozenset([pinned])), {}).reduce(1, "sweep: test")
    assert plan.lod(asked) is level
    assert plan.tokens <= 600


@pytest.mark.parametrize("newest", [20, 90])
def test_what_is_left_out_is_counted_once(newest: int) -> None:
    """Of a history that does not fit even as gists, beside newest items that do not fit either: the rest still does."""
    history = Sized()
    assistants(history, 20, 25)
    pinned = history.assistant(100)
    history.user(5)
    for _ in range(2):
        history.assistant(newest)
    view = history.view(250, pinned=frozenset([pinned]), target=0.9)
    sweep = Sweep(view, {})
    plan = sweep.reduce(2, "sweep: test")
    assert sweep.body == plan.body == view.full_tokens(plan) > 100


@pytest.mark.parametrize(("newest", "level"), [(700, Lod.FULL), (2_000, Lod.GIST)])
def test_what_does_not_fit_takes_no_room_from_others(newest: int, level: Lod) -> None:
    """A new result that fits is whole and takes the place of others. One that must be shortened leaves them theirs."""
    history = Sized()
    history.user(10)
    older = [history.assistant(100, gist=10) for _ in range(6)]
    row = history.result(newest, gist=20)
    plan = Sweep(history.view(1_000), {}).reduce(1, "sweep: test")
    whole = [plan.lod(each) is Lod.FULL for each in older if history.shows(plan, each)]
    assert plan.lod(row) is level
    assert sum(whole) >= (3 if level is Lod.GIST else 0)
    assert plan.tokens <= 1_000


@pytest.mark.parametrize(("open_turn", "level"), [(True, Lod.FULL), (False, Lod.GIST)])
def test_a_providers_own_blocks_stay_while_their_turn_is_open(open_turn: bool, level: Lod) -> None:
    history = Sized()
    history.user(10)
    row = history.assistant(1_000, gist=10)
    history.timeline.state[row] |= OPAQUE
    if not open_turn:
        history.user(10)
    plan = Sweep(pressed(history), {}).reduce(0, "sweep: test")
    assert plan.lod(row) is level
