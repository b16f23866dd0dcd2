"""What a sweep protects, and how far it goes. Each limit is tried on both sides, with all else equal."""

import pytest
from sized import FRAMING, Sized

from sightline.log.columns import OPAQUE
from sightline.plan.plan import INDEX, Plan
from sightline.plan.strategies.focus import Focus
from sightline.plan.strategies.sweep import Sweep
from sightline.values.items import Lod


def assistants(history: Sized, count: int, tokens: int = 100) -> list[int]:
    """Messages of so many tokens, framing included, that have no lower level."""
    return [history.assistant(tokens - FRAMING) for _ in range(count)]


# ------------------------------------------------------------------ how far


@pytest.mark.parametrize(("saving", "level"), [(99, Lod.FULL), (100, Lod.GIST)])
def test_recent_items_become_gists_if_that_saves_enough(saving: int, level: Lod) -> None:
    history = Sized()
    rows = [history.assistant(200, gist=200 - saving), history.result(200, gist=200 - saving)]
    said = history.user(200, gist=10)
    plan = Sweep(history.view(10_000, asked=-1), {}, {}).shorten_recent(0, "sweep: test")
    assert [plan.lod(row) for row in rows] == [level, level]
    assert plan.lod(said) is Lod.FULL


@pytest.mark.parametrize(("more", "left"), [(0, 76), (1, 48)])
def test_units_are_left_out_above_two_thirds_between_target_and_trigger(more: int, left: int) -> None:
    """Of 10,000 tokens: above 5,000 + 0.67 × 4,000 - 80, down to 5,000 + 0.35 × 4,000 - 80 - 1,500 for index lines."""
    history = Sized()
    assistants(history, 75)
    assistants(history, 1, 100 + more)
    plan = Sweep(history.view(10_000, trigger=0.9, target=0.5), {}, {}).reduce(0, "sweep: test")
    assert len(plan) == left


@pytest.mark.parametrize(("more", "left"), [(0, 61), (1, 48)])
def test_where_units_are_left_out_already_their_index_lines_count(more: int, left: int) -> None:
    """The 1,500 tokens that these lines may take are not there for units."""
    history = Sized()
    assistants(history, 77)
    first = Sweep(history.view(10_000, trigger=0.9, target=0.5), {}, {}).reduce(0, "sweep: test")
    assert len(first) == 48
    assistants(history, 12)
    assistants(history, 1, 100 + more)
    second = Sweep(history.view(10_000, last=first, trigger=0.9, target=0.5), {}, {}).reduce(0, "sweep: test")
    assert len(second) == left
    assert INDEX == 0.15


def test_levels_go_down_to_the_target_before_a_unit_is_left_out() -> None:
    """Of 20,000 tokens 10,000 - 80 are the target; the items would save 90 each."""
    history = Sized()
    rows = [history.assistant(186, gist=96) for _ in range(90)]
    plan = Sweep(history.view(20_000, trigger=0.8, target=0.5), {}, {}).reduce(0, "sweep: test")
    assert len(plan) == 90
    assert 10_000 - 80 - 90 < plan.body <= 10_000 - 80
    assert plan.lod(rows[0]) is Lod.GIST
    assert plan.lod(rows[-1]) is Lod.FULL


def test_the_users_messages_have_a_share_of_their_own() -> None:
    """Of 4,820 tokens to reach, 40 % hold the user's newest 19 messages though 100 newer ones wait. The task stays."""
    history = Sized()
    users = [history.user(96) for _ in range(40)]
    others = assistants(history, 100)
    plan = Sweep(history.view(10_000, trigger=0.9, target=0.5, asked=-1), {}, {}).reduce(0, "sweep: test")
    assert [row for row in users if history.shows(plan, row)] == [users[0], *users[-19:]]
    assert [row for row in others if history.shows(plan, row)] == others[-47:]


@pytest.mark.parametrize(("question", "level"), [(5_000, Lod.FULL), (5_001, Lod.SUMMARY)])
def test_a_question_of_more_than_half_is_shortened_before_a_unit_is_left_out(question: int, level: Lod) -> None:
    history = Sized()
    others = assistants(history, 40)
    asked = history.user(question - FRAMING, summary=1_000, gist=10)
    plan = Sweep(history.view(10_000, trigger=0.9, target=0.5), {}, {}).reduce(0, "sweep: test")
    assert plan.lod(asked) is level
    assert all(history.shows(plan, row) for row in others) is (level is Lod.SUMMARY)


# ------------------------------------------------------------------ what is protected


@pytest.mark.parametrize(("question", "kept"), [(False, 1), (True, 2)])
def test_the_newest_unit_is_protected_and_the_answer_before_a_question(question: bool, kept: int) -> None:
    history = Sized()
    history.user(10)
    rows = [history.assistant(1_000, gist=10) for _ in range(9)]
    rows.append(history.user(1_000, gist=10) if question else history.assistant(1_000, gist=10))
    plan = Focus(entry=10_000).plan(history.view(10_000, trigger=0.9, target=0.5))
    assert plan.reason == "sweep: forced"
    assert [plan.lod(row) for row in rows] == [Lod.GIST] * (10 - kept) + [Lod.FULL] * kept


@pytest.mark.parametrize("keep", [0, 1])
def test_the_task_is_protected(keep: int) -> None:
    """The user's first message stays whole and a later one is shortened; with `keep` 0 the first is, which is older."""
    history = Sized()
    task, later = history.user(1_000, gist=10), history.user(1_000, gist=10)
    history.assistant(1_000)
    plan = Sweep(history.view(5_000, target=0.5, trigger=0.5, asked=-1), {}, {}).reduce(keep, "sweep: test")
    assert (plan.lod(task), plan.lod(later)) == ((Lod.FULL, Lod.GIST) if keep else (Lod.GIST, Lod.FULL))


def fetched_again(history: Sized, *, full: int = 300, newer: int = 5) -> tuple[int, Plan]:
    """A sweep over a result that was fetched again and so many newer units; keeps the newest."""
    row = history.result(full, gist=10)
    history.timeline.faults.append(row)
    assistants(history, newer)
    view = history.view(10_000, trigger=0.5, target=0.5)
    return row, Sweep(view, {}, {}).reduce(1, "sweep: test")


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
    history.timeline.subjects.append("a.py")
    history.timeline.subject_row.append(row + 1)
    history.timeline.subject[row] = 0
    history.timeline.faults.append(row)
    assistants(history, 5)
    plan = Sweep(history.view(10_000), {}, {}).reduce(1, "sweep: test")
    assert plan.lod(row) is Lod.GIST


def test_protected_units_are_reduced_in_order_if_the_limit_demands_it() -> None:
    """First the task, then the newest unit, then the question, which is never left out but only shortened."""
    found = []
    for limit in (1_000, 510, 220, 90):
        history = Sized()
        task, asked = history.user(300, gist=10), history.user(100, gist=10)
        newest = history.assistant(300, gist=10)
        plan = Sweep(history.view(limit), {}, {}).reduce(1, "sweep: test")
        found.append([plan.lod(row) if history.shows(plan, row) else None for row in (task, newest, asked)])
    full, gist = Lod.FULL, Lod.GIST
    assert found == [[full, full, full], [gist, full, full], [None, gist, full], [None, None, gist]]


@pytest.mark.parametrize(("open_turn", "level"), [(True, Lod.FULL), (False, Lod.GIST)])
def test_a_providers_own_blocks_stay_while_their_turn_is_open(open_turn: bool, level: Lod) -> None:
    history = Sized()
    history.user(10)
    row = history.assistant(1_000, gist=10)
    history.timeline.state[row] |= OPAQUE
    if not open_turn:
        history.user(10)
    plan = Sweep(history.view(10_000), {}, {}).reduce(0, "sweep: test")
    assert plan.lod(row) is level
