"""Law 7 with compactions: between sweeps a call takes work for what is new, whatever was summarised before."""

import pytest
from compaction_talk import says
from test_incremental import Bench, Work

from sightline.plan.view import Budget

pytestmark = pytest.mark.slow

ROOM = Budget(1_000_000, recall=0.0)


def after(turns: int, monkeypatch: pytest.MonkeyPatch, *, ruled: bool = False) -> Bench:
    """A session with so many turns, compacted, one item back, the last of which the model has seen."""
    bench = Bench(monkeypatch)
    for number in range(turns):
        if ruled:
            bench.session.user(f"You must never change file{number}.py.")
        bench.turn(number)
    bench.session.compose(ROOM)
    bench.session.summaries.compact(model=says("Some work was done."))
    bench.session.compose(ROOM)
    bench.session.summaries.undo("2")
    bench.session.compose(ROOM)
    bench.turn(turns)
    bench.session.compose(ROOM)
    return bench


def same(short: Work, long: Work) -> None:
    """Alike, whatever the history."""
    assert (long.texts, long.shown) == (short.texts, short.shown)
    assert long.reads <= short.reads + 2  # an annotation that is no longer among the entries kept
    assert long.lines <= short.lines + 20


@pytest.mark.parametrize("ruled", [False, True])
def test_a_call_after_a_compaction_touches_only_new_units(monkeypatch: pytest.MonkeyPatch, ruled: bool) -> None:
    """The same work after fifty turns and after a thousand, with rules told and without."""
    works = []
    for turns in (50, 1_000):
        bench = after(turns, monkeypatch, ruled=ruled)
        bench.turn(turns + 1)
        works.append(bench.work(lambda bench=bench: bench.session.compose(ROOM)))  # type: ignore[misc]
    same(*works)
    assert works[1].shown <= 4


def test_a_call_before_the_sweep_that_a_summary_waits_for_touches_only_new_units(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A summary made behind costs nothing until it enters."""
    works = []
    for turns in (50, 1_000):
        bench = Bench(monkeypatch)
        for number in range(turns):
            bench.turn(number)
        tokens = bench.session.compose(ROOM).tokens
        budget = Budget(int(tokens / 0.75), recall=0.0)
        bench.turn(turns)
        bench.session.compose(budget)
        assert bench.session.summaries.in_background(says("Some work was done."))
        bench.session.summaries.wait()
        bench.turn(turns + 1)
        works.append(bench.work(lambda bench=bench, budget=budget: bench.session.compose(budget)))  # type: ignore[misc]
        assert bench.session.receipt is not None
        assert bench.session.receipt.reason == ""
    same(*works)
