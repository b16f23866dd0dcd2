"""The benchmarks' pure parts: what samples say, how figures are written, how rows are reported."""

import json
from math import log
from pathlib import Path

import pytest
from benchmarks.measure import (
    Row,
    Spread,
    beyond_n_log_n,
    bytes_text,
    seconds_text,
    spread,
    spread_text,
    times,
    times_text,
)
from benchmarks.report import as_json, facts, markdown, summary
from benchmarks.sessions import Snapshot, stored
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import durability
from sightline.log import column_cache
from sightline.log.stores.jsonl import JsonlStore

ROWS = [
    Row("one topic", "quick", "1.00 ms", 0.001, "≤ 2 ms", True, "0.50×"),
    Row("one topic", "slow | wide", "3.00 ms", 0.003, "≤ 2 ms", False, "1.50×", "a note"),
    Row("another", "a peer", "missing", note="no network"),
]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200))
def test_spread_lies_within_its_samples(samples: list[float]) -> None:
    """Low, median and high stand in order, between the smallest and the largest sample, whatever their order."""
    found = spread(samples)
    assert min(samples) <= found.low <= found.median <= found.high <= max(samples)
    assert found == spread(sorted(samples, reverse=True))
    assert found.samples == len(samples)


def test_spread_leaves_outliers_out() -> None:
    """One sample in twenty that is far away does not show."""
    assert spread([1.0] * 19 + [1000.0]) == Spread(1.0, 1.0, 1.0, 20)


def test_spread_of_nothing_is_refused() -> None:
    """No samples are an error, not a zero."""
    with pytest.raises(ValueError, match="nothing was measured"):
        spread([])


def test_work_is_timed_as_often_as_asked() -> None:
    """Each run gives one sample, none negative."""
    runs: list[int] = []
    samples = times(lambda: runs.append(1), 5)
    assert len(runs) == len(samples) == 5
    assert min(samples) >= 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.50 s"), (123.4, "123 s"), (0.0123, "12.3 ms"), (0.00031, "310 µs"), (4e-8, "40 ns"), (0.0, "0 ns")],
)
def test_seconds_have_three_digits_and_a_unit(seconds: float, text: str) -> None:
    """A time is written in the unit that suits it."""
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(12, "12 B"), (4096, "4.10 kB"), (271_000_000, "271 MB"), (2_500_000_000, "2.50 GB")]
)
def test_bytes_have_three_digits_and_a_unit(count: int, text: str) -> None:
    """A size is written in the unit that suits it."""
    assert bytes_text(count) == text


def test_ratios_and_spreads_are_readable() -> None:
    """A ratio says times; a spread shows its median first, then where most samples lie."""
    assert times_text(338.2) == "338×"
    assert spread_text(Spread(0.002, 0.001, 0.004, 9)) == "2.00 ms (1.00 ms – 4.00 ms)"


@given(st.integers(8, 10_000), st.integers(2, 50), st.floats(1e-6, 10))
def test_growth_is_measured_against_n_log_n(first: int, factor: int, unit: float) -> None:
    """Times that grow as n log n give 1; quadratic ones give more."""
    sizes = [first, first * factor]
    assert beyond_n_log_n(sizes, [unit * n * log(n) for n in sizes]) == pytest.approx(1)
    assert beyond_n_log_n(sizes, [unit * n * n for n in sizes]) > 1


def test_summary_counts_what_was_promised() -> None:
    """Rows without a promise count neither way, and missing rows are said."""
    assert summary(ROWS) == "1 of 2 targets met; 1 rows missing"
    assert summary(ROWS[:1]) == "1 of 1 targets met"


def test_page_shows_every_row_under_its_topic() -> None:
    """The page names the command, has a heading for each topic and keeps a bar in a cell from breaking its table."""
    about = facts("2025-01-02", "python -m benchmarks --quick", {"langchain": "1.2"})
    page = markdown(ROWS, about)
    assert "`python -m benchmarks --quick`" in page
    assert "langchain 1.2" in page
    assert (
        page.index("## One topic") < page.index("slow \\| wide") < page.index("## Another") < page.index("no network")
    )
    assert "| quick | 1.00 ms | ≤ 2 ms | ✓ | 0.50× |  |" in page


def test_json_holds_every_figure() -> None:
    """What is written for programs has the numbers themselves, not their texts only."""
    read = json.loads(as_json(ROWS, {"date": "2025-01-02"}))
    assert read["about"] == {"date": "2025-01-02"}
    assert [row["value"] for row in read["rows"]] == [0.001, 0.003, None]
    assert [row["met"] for row in read["rows"]] == [True, False, None]


@pytest.mark.slow
def test_the_memory_of_a_process_is_measured(tmp_path: Path) -> None:
    """Both ways to a long session have a figure, and a resumed one has what the imported one wrote."""
    rows = durability.memory(tmp_path, 60)
    assert [row.what.split(",")[0] for row in rows] == ["imported", "resumed"]
    assert all(row.value is not None and 10e6 < row.value < 400e6 and row.met is None for row in rows)


def test_a_restored_session_has_its_indexes(tmp_path: Path) -> None:
    """Each run begins as the first did. If the column index were not used, every entry would be read again."""
    log = stored(tmp_path, 40)
    snapshot = Snapshot(log)
    with log.resumed() as session:
        session.user("One more.")
    snapshot.restore()
    assert column_cache.load(JsonlStore(log.path)) is not None
    snapshot.restore(without=(".idx",))
    assert column_cache.load(JsonlStore(log.path)) is None
