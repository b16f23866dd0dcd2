"""What makes a request illegal, and that the baselines make none."""

from typing import Any

import pytest
from benchmarks.histories import agent_run
from benchmarks.quality.baselines import BASELINES, units
from benchmarks.quality.messages import count_messages, identity
from benchmarks.quality.validity import mandatory, problems
from quality_talk import REPLY, SYSTEM, USER, Json, call, tool

HISTORY = [SYSTEM, USER, call("1"), tool("1", "first " * 60), call("2"), tool("2", "second")]
LAST = [call("2"), tool("2", "second")]
PLENTY = 10**6


def test_the_whole_history_is_legal() -> None:
    """What was recorded is itself a valid request, if the budget allows it."""
    assert problems(HISTORY, HISTORY, PLENTY) == []
    assert problems(HISTORY, HISTORY, 60) == ["over_budget"]


@pytest.mark.parametrize(
    ("composed", "problem"),
    [
        ([], "empty"),
        ([SYSTEM, USER, tool("1"), *LAST], "orphan_tool"),
        ([SYSTEM, USER, call("1"), *LAST], "orphan_call"),
        ([SYSTEM, USER, call("1"), tool("1"), tool("1"), *LAST], "dup_tool"),
        ([USER, SYSTEM, *LAST], "system_not_first"),
        ([USER, *LAST], "system_lost"),
        ([SYSTEM, *LAST], "last_user_lost"),
        (HISTORY[:-2], "tail_lost"),
        ([SYSTEM, USER, {"role": "human", "content": "x"}, *LAST], "role"),
        ([SYSTEM, USER, {"role": "assistant", "content": " "}, *LAST], "empty_message"),
    ],
)
def test_each_problem_is_named(composed: list[Json], problem: str) -> None:
    """A request with one thing wrong is refused for that."""
    assert problem in problems(composed, HISTORY, PLENTY)


def test_a_budget_that_nothing_could_keep_is_waived() -> None:
    """Where what must be kept is larger than the budget, being over it is no fault."""
    assert problems([SYSTEM, USER, *LAST], HISTORY, 5) == []


def test_the_newest_exchange_is_mandatory() -> None:
    """System text, last user message, and the calls of the newest answers must be there."""
    assert mandatory(HISTORY) == [0, 1, 4, 5]
    assert mandatory([SYSTEM, USER, REPLY]) == [0, 1, 2]


@pytest.mark.parametrize("name", ["sliding", "obs_mask10", "step_window", "step_mask", "bm25+recent"])
def test_baselines_make_legal_requests_within_the_budget(name: str) -> None:
    """A baseline that knows about budgets keeps them and all rules, at every call of a run."""
    run: list[Any] = agent_run(120)
    for end in range(4, len(run), 5):
        if run[end]["role"] == "assistant":
            for budget in (4000, 9000):
                composed = BASELINES[name](run[:end], "the question", budget)
                assert problems(composed, run[:end], budget) == []


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_are_pure(name: str) -> None:
    """The same history gives the same request, and is left as it was."""
    run: list[Any] = agent_run(60)
    before = list(map(identity, run))
    first, second = (list(map(identity, BASELINES[name](run, "why?", 3000))) for _ in range(2))
    assert first == second
    assert list(map(identity, run)) == before


def test_units_hold_a_call_and_its_answers() -> None:
    """Units follow each other without a gap, and none begins with an answer."""
    found = units(HISTORY)
    assert [at for unit in found for at in range(*unit)] == list(range(len(HISTORY)))
    assert all(HISTORY[start]["role"] != "tool" for start, _ in found)


def test_counting_knows_about_calls() -> None:
    """A request's tokens are its texts and arguments, and fixed framing."""
    assert count_messages([]) == 3
    assert count_messages([{"role": "user", "content": ""}]) == 7
    assert count_messages([call("1", "")]) == 3 + 4 + 8 + 1
