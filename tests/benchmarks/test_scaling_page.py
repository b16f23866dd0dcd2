"""The page about scaling: written from its template, and its figures follow from what was measured."""

import re
from pathlib import Path

import pytest
from benchmarks.scaling.database import Counts
from benchmarks.scaling.fleet import Load, percentile
from benchmarks.scaling.forecast import BUSY, compare, costs_of, needed_databases, plan, shape_of, turn_cpu
from benchmarks.scaling.limits import Appends, Notices
from benchmarks.scaling.page import TEMPLATE, fill
from benchmarks.scaling.picture import draw
from benchmarks.scaling.simulation import Costs, Failure, Fleet, Shape
from benchmarks.scaling.tables import fleet_rows, table, terabytes, trouble_table, turns_table

ROOT = Path(__file__).parents[2]


def load(processes: int, *, moves: bool = False, cpu: float = 0.010, commits: float = 5.0) -> Load:
    """A load as it might be measured."""
    database = Counts(0.001, 4_000.0, 2.5, 0.004, commits)
    return Load(processes, moves, 24, 192, 2.0, [0.1, 0.2, 0.3], cpu, 0.002, database, 4.0, 0.5)


LOADS = [load(1), load(2), load(2, moves=True, cpu=0.014, commits=12.0)]
APPENDS = [Appends(1, 500.0, 0.002, Counts(0.0003, 2_600.0, 1.0, 0.0015, 1.0))]
NOTICES = [Notices(1, 8_000.0, 0.00006), Notices(101, 600.0, 0.00106)]


def test_the_page_has_every_sentence_of_its_template() -> None:
    """So whoever changes a sentence changes it in the template, and the next run keeps it."""
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    pattern = "(.+?)".join(re.escape(piece) for piece in re.split(r"<!-- [a-z]+ -->", TEMPLATE.read_text("utf-8")))
    assert re.fullmatch(pattern, page, re.DOTALL), "docs/scaling.md: run python -m benchmarks.scaling --docs"
    assert (ROOT / "docs" / "pictures" / "scaling.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_mark_that_is_left_or_unknown_is_an_error() -> None:
    """No page comes out with a hole."""
    assert fill("a <!-- b --> c", {"b": "2"}) == "a 2 c"
    with pytest.raises(ValueError, match="not replaced"):
        fill("a <!-- b -->", {})
    with pytest.raises(ValueError, match="has no <!-- b -->"):
        fill("a", {"b": "2"})


def test_costs_are_taken_from_what_was_measured() -> None:
    """What an append, a read, an event and a listener cost add up to the database's CPU of a turn."""
    costs = costs_of(LOADS, APPENDS, NOTICES)
    assert costs.server == 0.010
    assert costs.moved == pytest.approx(0.004)
    assert (costs.reads, costs.reads_moved) == (1, 7)
    assert costs.listener == pytest.approx(0.00001)
    assert costs.flush == pytest.approx(0.0015)
    assert turn_cpu(costs) == pytest.approx(LOADS[0].database.cpu, rel=0.05)


def test_the_arithmetic_of_a_fleet() -> None:
    """Rates, cores and databases of a fleet by hand."""
    costs = Costs(server=0.01, append=0.0002, read=0.0001, reads=2, notify=0.0002)
    assert turn_cpu(costs) == pytest.approx(0.001)
    assert needed_databases(1000, costs) == 6  # 50,000 turns a second are 50 cores, of which each has 9.6 to give
    fleet = plan(1000, costs, LOADS[0].database, 4.0)
    assert (fleet.rate, fleet.databases) == (pytest.approx(50_000), 6)
    assert fleet.cores == pytest.approx(50)
    assert fleet.wal == pytest.approx(50_000 * 4_000 / 6)
    assert fleet.entries_a_day == pytest.approx(50_000 * 4 * 86_400)
    assert shape_of(3, 1, costs).talks == round(BUSY / 0.01 * 2)


def test_other_programs_are_taken_into_account() -> None:
    """The simulation that is compared with a measurement has as much of the machine as that one had."""
    costs = costs_of(LOADS, APPENDS, NOTICES)
    free, shared = (
        compare([LOADS[0]._replace(foreign=foreign)], costs, 2, seconds=2.0)[0].simulated for foreign in (0.0, 1.0)
    )
    assert shared == pytest.approx(free / 2, rel=0.1)


def test_tables_say_what_was_measured() -> None:
    """Every load has its line, in the page and in `make bench`."""
    assert table(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    lines = turns_table(LOADS).splitlines()[2:]
    assert [line.split(" | ")[2] for line in lines] == ["96", "96", "96"]
    assert [row.value for row in fleet_rows(LOADS)] == [96.0] * 3
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert (terabytes(2.5e12), terabytes(5e9)) == ("2.50 TB", "5.00 GB")


def test_the_picture_shows_the_failures() -> None:
    """And the table beside it counts what was lost: nothing."""
    fleet = Fleet(Shape(servers=2, talks=4, think=1.0), Costs(), [Failure(1.0, "server", 0, 1.0)]).run(60)
    drawn = draw(fleet)
    assert "2 servers killed" in drawn
    assert "database fails over" in drawn
    assert "| of these lost | 0 |" in trouble_table(fleet)
    assert "| doubled | 0 |" in trouble_table(fleet)
