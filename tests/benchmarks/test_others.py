"""The comparison with others: what counts as kept of a run, and how a row tells what could not be had."""

import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.environment import Missing
from benchmarks.quality.planted_facts import FACTS

from benchmarks import first_list, others

Json = dict[str, Any]
SIZE = 120  # messages: enough for every fact to have its place


def whole(history: list[Json], query: str, budget: int) -> list[Json]:
    """Everything."""
    return list(history)


def torn(history: list[Json], query: str, budget: int) -> list[Json]:
    """The newest messages, wherever that cuts."""
    return history[-2:]


def test_who_sends_everything_keeps_all_facts_and_the_whole_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for it; what a budget below that refuses is no answer to a question."""
    monkeypatch.setattr(others, "BUDGET", 10**9)
    found = others.kept(whole, SIZE)
    assert (found.over, found.pairs, found.rewritten) == (0, 0, 0)
    assert found.readable == found.recoverable == found.asked == len(FACTS)
    assert found.cached > 0.9
    monkeypatch.setattr(others, "BUDGET", 4_000)
    found = others.kept(whole, SIZE)
    assert (found.readable, found.asked) == (len(FACTS), 0)
    assert found.over > 0


def test_broken_pairs_and_a_rewritten_prefix_are_counted() -> None:
    """Two messages without what was before them."""
    found = others.kept(torn, SIZE)
    assert found.pairs > 0
    assert found.rewritten > found.requests // 2
    assert found.readable == 0


@pytest.mark.slow
def test_sightline_brings_every_fact_back() -> None:
    """By a call of the model, and when the user asks, within the budget."""
    found = others.kept(others.Sightline, 300)
    assert (found.over, found.pairs) == (0, 0)
    assert found.readable < len(FACTS)
    assert found.recoverable == found.asked == len(FACTS)


@pytest.mark.slow
def test_one_list_is_fitted_in_a_process_of_its_own(tmp_path: Path) -> None:
    """It reports seconds and bytes, and the hosts that were asked for: none."""
    home = tmp_path / "env"
    (home / "bin").mkdir(parents=True)
    python = home / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    try:
        found = others.started("sightline", home, 20)
    except Missing:
        pytest.skip("the network cannot be cut here")
    assert found["hosts"] == []
    assert found["fit"] > 0
    assert found["fit_memory"] >= found["import_memory"] > 1_000_000


def test_what_fails_says_so_instead_of_a_figure(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In the process and in the table; figures that there are stay."""
    failed = {"import": 0.5, "import_memory": 2e7, "failed": "needs a server", "hosts": ["a.example"]}
    rows: list[Json] = [
        {"name": "away", "failed": "pip: no such package"},
        {
            "name": "half",
            "version": "1",
            "packages": 2,
            "bytes": 3_000_000,
            **dict.fromkeys(map(str, others.SIZES), failed),
        },
    ]
    away, half = others.start_table(rows).cells
    assert away[1:3] == ["", "–"]
    assert away[-1] == "no: pip: no such package"
    assert half[2:6] == ["2", "3", "0.50", "20"]
    assert half[-1] == "no: needs a server; asked for a.example"
    with pytest.raises(RuntimeError, match="needs a running server"):
        first_list._needs("a running server")([], 0)


def test_every_package_that_is_started_has_its_function() -> None:
    """No row is measured by a name that `first_list` does not know."""
    assert {other.starts for other in others.OTHERS} - {None} == {*first_list.OF}
    assert [other.name for other in others.OTHERS if other.pins and not other.pins.exists()] == []
