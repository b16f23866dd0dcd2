"""Differences between two results of part (b), run by run."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.quality.bootstrap import compare, main, table


def run(edits: int, cost: float) -> Any:
    """The sums of a run with ten edits and no values that are far."""
    return {"edits": edits, "edits_n": 10, "needed": 9.0, "needed_n": 10, "far": 0.0, "far_n": 0, "cost_real": cost}


def row(composer: str, *runs: Any) -> Any:
    """A row of runs that are called by their number."""
    place = {"part": "b", "dataset": "d", "half": "dev", "budget": 8000, "composer": composer}
    return {**place, "by_run": {str(number): each for number, each in enumerate(runs)}}


def test_a_difference_in_every_run_is_sure() -> None:
    """It has an interval on one side of nothing; what is equal has none; what nobody counted is left out."""
    first = {str(n): run(5, 100.0 + n) for n in range(8)}
    second = {str(n): run(7, 50.0 + n / 2) for n in range(8)}
    edits, needed, cost = compare(first, second)
    assert (edits.first, edits.second) == (0.5, 0.7)
    assert edits.low == edits.high == edits.difference == pytest.approx(0.2)
    assert needed.low == needed.high == 0
    assert (cost.figure.title, cost.difference) == ("real cost M", pytest.approx(-0.5))


def test_a_difference_in_one_run_of_many_is_not_sure() -> None:
    """Draws without that run have no difference; the same results give the same interval."""
    first = {str(n): run(5, 100.0) for n in range(8)}
    edits, *_ = compare(first, {**first, "3": run(10, 100.0)})
    assert edits.low == 0 < edits.difference < edits.high
    assert compare(first, {**first, "3": run(10, 100.0)})[0] == edits


def test_only_runs_of_both_results_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One run has no interval; two composers of one result can be compared too."""
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_text(json.dumps({"rows": [row("sightline", run(5, 2e6), run(1, 1e6)), row("other", run(6, 1e6))]}))
    two.write_text(json.dumps({"rows": [row("sightline", run(7, 1e6)), {"composer": "sightline", "budget": 1}]}))
    main([str(one), str(two)])
    said = capsys.readouterr().out
    assert "50.0" in said
    assert "+20.0" in said
    assert "-50.0" in said
    assert " to " not in said
    main([str(one), "--composer", "sightline", "other"])
    assert "+10.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "expected"),
    [(["no.json"], "no file no.json"), (["a", "b", "c"], "two at most"), (["ROWS", "--composer", "x"], "nothing that")],
)
def test_what_cannot_be_compared_is_said(
    given: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line."""
    (tmp_path / "rows.json").write_text('{"rows": []}')
    with pytest.raises(SystemExit):
        main([str(tmp_path / "rows.json") if each == "ROWS" else each for each in given])
    assert expected in capsys.readouterr().err.splitlines()[-1]


def test_without_rows_in_common_there_is_no_table() -> None:
    """Other datasets, other budgets, or results that have no sums by run."""
    assert table([row("a", run(1, 1.0))], [{**row("b", run(1, 1.0)), "budget": 9}], ("a", "b")) is None
