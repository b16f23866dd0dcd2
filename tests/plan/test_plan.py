"""Budgets and plans: what is in, at what level; the laws are checked when a plan is made."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import BadInput, PinnedOverflow, StrategyError
from sightline.plan.plan import Plan
from sightline.plan.view import Budget, LeftOut, Notices, View
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Lod
from sightline.values.profiles import profile

FRAMING, CALL = 4, 8  # tokens around each message and each call


def words(count: int) -> str:
    return " ".join(f"word{n}" for n in range(count))


@pytest.fixture
def session() -> Session:
    """Units: 0 a user's 10 words, 1 a call with a result of 1,000 words, 2 a user's 20 words."""
    session = Session(MemoryStore("p"), token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())
    session.user(words(10))
    session.assistant([Call("a", "read", {})])
    session.tool_result("a", words(1_000))
    session.user(words(20))
    return session


def view(session: Session, limit: int = 10_000, *, last: Plan | None = None, new: tuple[int, ...] = (0, 1, 2),
         pinned: frozenset[int] = frozenset(), fixed: int = 3) -> View:  # fmt: skip
    journal = session.log
    return View(
        journal.timeline,
        journal.path,
        profile("openai"),
        Budget(limit),
        limit,
        fixed,
        last,
        new,
        pinned,
        notices=Said(),
    )


class Said(Notices):
    """Three words for what is left out, none before the history."""

    def marker(
        self, left_out: LeftOut, shown: Collection[int] = (), index_limit: int = 0, preface: str = ""
    ) -> tuple[str, int]:
        return f"[{left_out.messages} left out]", 3 + FRAMING


# ------------------------------------------------------------------ budgets


@pytest.mark.parametrize(
    "wrong",
    [{"window": 0}, {"window": -5}, {"window": 10, "output": 10}, {"window": 10, "output": -1}, {"window": 10.5},
     {"window": 10, "trigger": 0.4}, {"window": 10, "target": 0}, {"window": 10, "recall": 2}, {"window": "many"}],
)  # fmt: skip
def test_a_budget_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    """The error says what a budget needs."""
    with pytest.raises(BadInput, match="budget"):
        Budget(**wrong)  # type: ignore[arg-type]


def test_the_limit_is_what_is_left_for_input_in_our_tokens() -> None:
    """(window - output) / (factor x (1 + margin)), rounded down."""
    assert Budget(1_000, 100).limit() == 900
    assert Budget(1_000, 100).limit(factor=1.3) == 692
    assert Budget(1_000, 100).limit(factor=1.0, margin=0.05) == 857


@given(st.integers(1, 10**9), st.floats(0.1, 10), st.floats(0, 1))
def test_the_limit_in_the_models_tokens_is_within_the_window(window: int, factor: float, margin: float) -> None:
    """However the factor rounds, what is allowed never counts for more than the window."""
    assert Budget(window).limit(factor, margin) * factor * (1 + margin) <= window * (1 + 1e-12)


# ------------------------------------------------------------------ plans


def test_the_first_plan_shows_everything_in_full(session: Session) -> None:
    """Tokens are those of the texts, four for each message, eight for each call, and what is fixed."""
    plan = Plan.extended(view(session), {}, {})
    assert list(plan) == [0, 1, 2]
    assert plan.body == (10 + FRAMING) + (0 + FRAMING + 2 + CALL + 1_000 + FRAMING) + (20 + FRAMING)
    assert plan.tokens == plan.body + 3


def test_levels_save_what_the_shorter_text_saves(session: Session) -> None:
    """Showing the result as its gist costs the gist's tokens instead of the text's."""
    rows = session.log.timeline
    full = Plan.extended(view(session), {}, {})
    gist = Plan.extended(view(session), {3: Lod.GIST}, {3: "large"})
    assert full.body - gist.body == 1_000 - rows.gist[3]
    assert [line.why for line in gist.lines()] == ["", "", "", "large", ""]


def test_an_extended_plan_adds_and_changes_nothing(session: Session) -> None:
    """It extends the one before, and both can be gone on from without disturbing each other."""
    first = Plan.extended(view(session), {3: Lod.GIST}, {})
    session.user("four words are here")
    second = Plan.extended(view(session, last=first, new=(3,)), {}, {})
    third = Plan.extended(view(session, last=first, new=(3,)), {5: Lod.FULL}, {})
    assert second.extends(first)
    assert third.extends(first)
    assert not first.extends(second)
    assert [list(plan) for plan in (first, second, third)] == [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3]]
    assert second.body == first.body + 4 + FRAMING
    assert list(second.since(first)) == [3]
    assert first.levels() == {3: Lod.GIST}


def test_a_unit_given_twice_counts_once(session: Session) -> None:
    """A strategy may collect its units in any way."""
    seen = view(session)
    assert seen.full_tokens([0, 0, 2]) == seen.full_tokens([2, 0]) == 10 + 20 + 2 * FRAMING


def test_a_plan_over_the_limit_is_refused(session: Session) -> None:
    """A strategy that only extends where it should sweep is told so."""
    with pytest.raises(StrategyError, match="over the limit of 500"):
        Plan.extended(view(session, 500), {}, {})


@pytest.mark.parametrize("make", [Plan.extended, partial(Plan.swept, units=[1, 2], reason="sweep")])
@pytest.mark.parametrize(
    ("lods", "said"),
    [
        ({0: Lod.GIST}, "row 0, which is of no unit that this plan"),  # its saving would be counted all the same
        ({99: Lod.GIST}, "row 99, which is of no unit"),
        ({-1: Lod.GIST}, "row -1, which is of no unit"),
        ({"3": Lod.GIST}, "row '3', which is of no unit"),
        ({3: 7}, r"level of row 3 is 7: pass Lod\.FULL"),
    ],
)
def test_levels_are_of_rows_that_a_plan_shows(
    session: Session, make: Callable[..., Plan], lods: Any, said: str
) -> None:
    """Else a payload would be larger than its plan says, and over the budget."""
    first = Plan.swept(view(session), [0], {}, {}, reason="sweep")
    with pytest.raises(StrategyError, match=said):
        make(view(session, last=first, new=(1, 2)), lods=lods, why={})


@pytest.mark.parametrize("units", [[99], [-1, 0], ["0"], [0.5]])
def test_a_sweep_shows_units_that_there_are(session: Session, units: list[Any]) -> None:
    """Anything else is named, before it becomes an error that says nothing."""
    with pytest.raises(StrategyError, match=r"view\.candidates\(\)|take them from the view"):
        Plan.swept(view(session), units, {}, {}, reason="sweep")
    with pytest.raises(StrategyError, match="a text, not 5"):
        Plan.swept(view(session), [0], {}, {}, reason=5)  # type: ignore[arg-type]


def test_a_sweep_must_keep_order_and_pins(session: Session) -> None:
    """Units out of order, a pinned item that is missing, or reduced: each is a breach, named."""
    with pytest.raises(StrategyError, match="seq order"):
        Plan.swept(view(session), [2, 0], {}, {}, reason="sweep")
    with pytest.raises(StrategyError, match="seq order"):
        Plan.swept(view(session), [0, 0], {}, {}, reason="sweep")
    pinned = view(session, pinned=frozenset({3}))
    with pytest.raises(StrategyError, match=r"#\d is pinned|must be in every plan"):
        Plan.swept(pinned, [0, 2], {}, {}, reason="sweep")
    with pytest.raises(StrategyError, match=r"#\d is pinned|must be in every plan"):
        Plan.swept(pinned, [0, 1, 2], {3: Lod.GIST}, {}, reason="sweep")
    assert 1 in Plan.swept(pinned, [1], {}, {}, reason="sweep")


def test_too_much_that_may_not_be_reduced_is_named(session: Session) -> None:
    """The error lists the head and the pins, and says how many tokens are too many."""
    with pytest.raises(PinnedOverflow) as caught:
        Plan.swept(view(session, 500, pinned=frozenset({3})), [1], {}, {}, reason="sweep")
    needed = 3 + FRAMING + 2 + CALL + 1_000 + FRAMING
    assert caught.value.short_by == needed - 500
    assert caught.value.pinned == ("system, tools and windows (3 tokens)", "#4 (1000 tokens)")


@pytest.mark.parametrize("note", [True, False])
def test_a_system_note_that_does_not_fit_is_named(session: Session, note: bool) -> None:
    """One that was added after the first call is shown in full wherever it stands; a user's message is not."""
    session.compose(Budget(9_000))
    large = " ".join(["word"] * 2_000)
    item = session.system(large) if note else session.user(large)
    session.user("go on")
    if not note:
        assert session.compose(Budget(600)).tokens <= 600
        return
    with pytest.raises(PinnedOverflow) as caught:
        session.compose(Budget(600))
    assert caught.value.pinned[1:] == (f"#{item} (2000 tokens)",)


def test_one_line_stands_for_what_is_left_out(session: Session) -> None:
    """Its tokens are part of the plan, and the plan knows the gaps."""
    plan = Plan.swept(view(session), [0, 2], {}, {}, reason="sweep: forced", left_out=LeftOut(2, 1_002, 1, 1))
    assert plan.marker == "[2 left out]"
    assert plan.body == (10 + FRAMING) + (20 + FRAMING) + 3 + FRAMING
    assert plan.gaps() == [(1, 1)]
    assert 1 not in plan
    assert plan.base == plan.body


def test_a_plan_prints_as_a_table(session: Session) -> None:
    """One line for each item: id, kind, level, tokens, why."""
    plan = Plan.extended(view(session), {3: Lod.GIST}, {3: "large on entry"})
    heading, *lines = str(plan).splitlines()
    assert heading == f"{plan.tokens:,} of 10,000 tokens, 3 units"
    assert [line.split()[:3] for line in lines] == [
        ["#2", "user", "full"], ["#3", "assistant", "full"], ["#3.1", "call", "full"], ["#4", "result", "gist"],
        ["#5", "user", "full"],
    ]  # fmt: skip
    assert lines[3].endswith("large on entry")
