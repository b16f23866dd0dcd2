"""The rivals' run: what a replay costs, which facts count as shown, and what the tables say."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.quality import rivals
from benchmarks.quality.long_run import CACHED, WRITTEN, Sightline, replayed, shown, sightline_at
from benchmarks.quality.messages import count_message, count_messages, full_text
from benchmarks.quality.planted_facts import FACTS, plant_facts
from benchmarks.quality.rivals import SHORT_BUDGET, row

Json = dict[str, Any]
SIZE = 400  # messages: enough for every fact to have its place
HISTORY: list[Json] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "two"},
    {"role": "user", "content": "three"},
]


def whole(history: list[Json], query: str, budget: int) -> list[Json]:
    """Everything."""
    return list(history)


def newest(history: list[Json], query: str, budget: int) -> list[Json]:
    """The last message alone."""
    return history[-1:]


def failing(history: list[Json], query: str, budget: int) -> list[Json]:
    """Nothing at all."""
    raise ValueError("no")


def test_a_shared_prefix_is_cheap() -> None:
    """What the request before began with costs a tenth, the rest a quarter more than a token."""
    first, second = count_messages(HISTORY[:2]), count_messages(HISTORY)
    kept = sum(map(count_message, HISTORY[:2]))
    found = replayed(whole, HISTORY, 1000)
    assert found.cost == pytest.approx(WRITTEN * first + CACHED * kept + WRITTEN * (second - kept))
    assert (found.requests, found.over, found.broken, found.last) == (2, 0, 0, second)


def test_a_changed_beginning_is_paid_again() -> None:
    """A request that does not begin with the one before is written anew, and counted as broken."""
    found = replayed(newest, HISTORY, 1000)
    assert found.cost == pytest.approx(WRITTEN * (count_messages(HISTORY[1:2]) + count_messages(HISTORY[3:])))
    assert found.broken == 1


def test_requests_over_the_budget_are_counted() -> None:
    """Each request larger than the budget counts once."""
    assert replayed(whole, HISTORY, count_messages(HISTORY[:2])).over == 1


def test_every_fact_is_said_once_where_it_belongs() -> None:
    """Each value stands in one message of its role, and the agent has reported when the question comes."""
    history = plant_facts(SIZE)
    for fact in FACTS:
        (said,) = [message for message in history if fact.value in full_text(message)]
        assert said["role"] == fact.role
        assert fact.value not in fact.question
    assert len(history) == SIZE + 1
    assert history[-1]["role"] == "assistant"


def test_facts_count_only_within_the_budget() -> None:
    """Who shows everything has found all, given the room; without it nothing counts, nor for who shows the question."""
    assert all(each.found for each in shown(whole, SIZE, 10**9, lived=False))
    assert not any(each.found for each in shown(whole, SIZE, SHORT_BUDGET, lived=False))
    assert not any(each.found for each in shown(newest, SIZE, SHORT_BUDGET, lived=True))


@pytest.mark.slow
def test_sightline_keeps_the_budget_and_calls_no_model() -> None:
    """In a replay through the public API no request is over, and the same run costs the same again."""
    history = plant_facts(60)
    found = replayed(Sightline, history, SHORT_BUDGET)
    assert (found.over, found.model_calls, found.failed) == (0, 0, 0)
    assert found == replayed(Sightline, history, SHORT_BUDGET)


@pytest.mark.slow
def test_shares_of_the_budget_can_be_tried() -> None:
    """A lower target leaves shorter requests after a sweep."""
    history = plant_facts(110)
    low, high = (replayed(sightline_at(0.8, target), history, SHORT_BUDGET) for target in (0.3, 0.8))
    assert low.mean < high.mean


def test_a_composer_that_fails_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on: its cells are empty."""
    monkeypatch.setattr(rivals, "SHORT", 20)
    found = row("failing", failing, "1.0", ["short"], lambda text: None)
    assert found["short"] is None
    assert "ValueError" in found["failed"] or "no" in found["failed"]
    assert "–" in rivals.rivals_table([found]).cells[0]


def test_targets_are_judged() -> None:
    """The note under the table says of each target whether it is met."""
    short = {"cost": 59_000.0, "over": 0, "model_calls": 0, "last": 7000, "requests": 3, "broken": 1}
    long = {**short, "cost": 1_300_000.0, "over": 2}
    times = {"100": {"first": 2.0, "next": 0.5, "writing": 0.7}}
    note = rivals.rivals_table(
        [{"composer": "sightline", "version": "", "short": short, "long": long, "times": times}]
    ).note
    assert "59,000 ≤ 60,000 met" in note
    assert "1,300,000 ≤ 1,200,000 MISSED" in note
    assert "2 requests over the budget MISSED" in note
    assert "0.50 ms ≤ 1 ms at 100 messages met" in note
    assert "1.20 ms with its written form MISSED" in note


def test_rows_of_several_runs_make_one_table(tmp_path: Path) -> None:
    """Parts measured apart stand in one row, the later one where both have it, in the order of the composers."""
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    first.write_text(json.dumps([{"composer": "headroom", "short": 1}, {"composer": "sightline", "short": 2}]))
    second.write_text(json.dumps([{"composer": "headroom", "short": 3, "long": 4}]))
    found = rivals._read([first, second])
    assert found == [{"composer": "sightline", "short": 2}, {"composer": "headroom", "short": 3, "long": 4}]


@pytest.mark.parametrize(("option", "given"), [("--only", "nosuch"), ("--part", "nosuch"), ("--rows", "no/such.json")])
def test_what_does_not_exist_is_said_in_a_line(option: str, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is measured, with the choices there are."""
    with pytest.raises(SystemExit):
        rivals.main([option, given])
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"argument {option}" in said
    assert given in said
    assert {"--only": "sightline", "--part": "facts", "--rows": "no file"}[option] in said


def test_help_explains_the_parts(capsys: pytest.CaptureFixture[str]) -> None:
    """Every part and every composer stands in it."""
    with pytest.raises(SystemExit):
        rivals.main(["--help"])
    said = capsys.readouterr().out
    assert all(f"  {part}" in said for part in rivals.PARTS)
    assert all(name in said for name in (*rivals.OURS, *rivals.peers.NAMES))
