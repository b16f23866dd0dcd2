"""What the command prints and writes, on a few invented sessions."""

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from benchmarks.quality import jobs, overview, page, peers, plots, tables
from benchmarks.quality.__main__ import main
from benchmarks.quality.composer_calls import Failed
from benchmarks.quality.headlines import headline_table
from benchmarks.quality.jobs import JOBS, PARTS, Asked, done
from benchmarks.quality.svg import Scale
from hypothesis import given
from hypothesis import strategies as st


def session(path: Path, answers: int) -> None:
    """A log of a coding agent that reads file after file and goes back to the first."""
    rows: list[Any] = [{"type": "user", "message": {"content": "Read them all."}}]
    for number in range(answers):
        name = f"src/module_{number % (answers - 1)}.py"
        used = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file": name}}
        told = f"contents of {name}: see src/module_{number + 1}.py\n" + f"value_{number} = 1\n" * 250
        rows.append({"type": "assistant", "message": {"id": f"m{number}", "content": [used]}})
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": told}
        rows.append({"type": "user", "message": {"content": [result]}})
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


class Ran(NamedTuple):
    """One run of the command: its rows, the folder it wrote to, and what it said."""

    rows: list[Any]
    folder: Path
    out: str
    err: str


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one dataset, invented."""
    root = tmp_path_factory.mktemp("data")
    folder = root / "claude_code_sessions"
    folder.mkdir()
    for number in range(2):
        session(folder / f"{number}.jsonl", 12)
    return root


@pytest.fixture(scope="module")
def ran(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A run on it. The halves are the rule's own: splits.json knows none of these sessions."""
    folder = tmp_path_factory.mktemp("written")
    out, md = folder / "rows.json", folder / "docs" / "quality.md"
    said, told = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(told):
        patch.setattr("benchmarks.quality.splits._KNOWN", {})
        main(["--data", str(recorded), "--jobs", "1", "--part", "b", "--out", str(out), "--md", str(md)])
    return Ran(json.loads(out.read_text())["rows"], folder, said.getvalue(), told.getvalue())


@pytest.fixture(scope="module")
def rows(ran: Ran) -> list[Any]:
    """Its rows."""
    return ran.rows


def test_without_data_it_says_where_they_are_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That is no failure: the benchmark is run anywhere."""
    main(["--data", str(tmp_path)])
    said = capsys.readouterr().out
    assert "SIGHTLINE_DATA" in said
    assert "docs/quality-tables.md" in said


def test_a_composer_that_does_not_exist_is_named(recorded: Path) -> None:
    """Before anything is measured."""
    with pytest.raises(SystemExit, match=r"no\.such:thing"):
        main(["--data", str(recorded), "--composer", "no.such:thing"])


def test_a_run_measures_all_and_writes_two_pages(ran: Ran) -> None:
    """Every composer at every budget; the second page has all tables, and the prefix law stands in it."""
    assert {"full", "sliding", "step_mask", "bm25+recent", "sightline"} <= {row["composer"] for row in ran.rows}
    assert {row["half"] for row in ran.rows} == {"dev", "heldout"}
    first, second = (ran.folder / "docs" / name for name in ("quality.md", "quality-tables.md"))
    lead, rest = first.read_text(encoding="utf-8"), second.read_text(encoding="utf-8")
    assert "<!--" not in lead + rest
    assert "**sightline**" in rest
    assert "all with a reason" in rest
    assert str(ran.folder) not in lead + rest
    for name in page.PICTURES:
        assert name in lead + rest
        ElementTree.parse(ran.folder / "docs" / "pictures" / name)
    assert "prefix breaks" in ran.out
    assert "b claude_code" in ran.err


def test_the_first_page_leads_with_answers_and_edits_and_is_short(ran: Ran, tmp_path: Path) -> None:
    """Without answers of a model it says so; each table has few rows; it leads to the second page."""
    about = {"id": "q", "composer": "sightline", "budget": 2000, "form": "sent", "kind": "one", "question": "?"}
    (tmp_path / "answers.json").write_text(json.dumps([{**about, "answers": ["cat"], "tokens": 9, "said": "cat"}]))
    out, md = str(ran.folder / "rows.json"), tmp_path / "quality.md"
    main(["--rows", out, "--answers", str(tmp_path / "answers.json"), "--md", str(md)])
    without, written = ((path / "quality.md").read_text(encoding="utf-8") for path in (ran.folder / "docs", tmp_path))
    assert "No model was asked" in without
    assert "| **sightline** | 2000 | 1 | 9 | - | 100.0 ± 0.0 |" in written
    headings = [line for line in written.splitlines() if line.startswith("## ")]
    assert headings[:2] == ["## Answers of a real model", "## Edits that could be made"]
    assert "(quality-tables.md)" in written
    assert written.count("\n") < 130


@pytest.mark.parametrize(
    ("edits", "figure", "cell"), [(30, "edits %", "50.0 at 0.40"), (3, "needed %", "90.0 at 0.40")]
)
def test_edits_lead_where_there_are_some(edits: int, figure: str, cell: str) -> None:
    """In runs that edit by shell commands, what their calls need is shown in their place, at the same cost."""
    row = {"part": "b", "dataset": "d", "half": "dev", "budget": 8000, "n": 150, "invalid": 0.0, "rel_cost_real": 0.4}
    known = {**row, "edits": 0.5, "edits_n": edits, "needed": 0.9}
    table = overview.edits_table([{**known, "composer": "sightline"}, {**known, "composer": "sliding", "invalid": 0.5}])
    assert table is not None
    assert table.headings[2:] == ["figure", "sightline", "sliding"]
    assert table.cells == [["d", "8000", figure, cell, f"{cell} (50.0 % invalid)"]]


def long_run(composer: str, budget: int | None, **figures: Any) -> Any:
    """A row of one long run, of twenty edits and twenty values that are far."""
    sums = {"edits": 19, "edits_n": 20, "needed": 18.0, "needed_n": 20, "far": 8.0, "far_n": 10, "real_faults": 3}
    run = {**sums, "cost": 1e6, "cost_real": 2e6}
    place = {"part": "b", "dataset": "long_runs", "half": "dev", "composer": composer, "budget": budget, "n": 50}
    return {**place, "edits": 0.95, "needed_far": 0.8, "rel_cost_real": 0.3, "by_run": {"cli-1": run}, **figures}


def test_the_first_table_says_what_a_user_feels() -> None:
    """Edits, bill and answers, in at most eight rows: ours, the thrifty, a plain window, and everything."""
    ours = [long_run("sightline", budget) for budget in (128_000, 200_000)]
    others = [long_run("step_window", 128_000, edits=0.9), long_run("full", None, edits=1.0, rel_cost_real=1.0)]
    thrifty = [long_run("sightline thrifty", 128_000, rel_cost_real=0.1)]
    hides = [
        {**row, "dataset": name, "budget": 200_000, "hidden": share}
        for row, name, share in ((ours[0], "claude_code", 0.0), (ours[0], "entire_codex", 0.25))
    ]
    answers = tables.Lines(
        "", ["composer", "budget", "F1"], [["sightline", "8000", "37 ± 2"], ["full", "none", "17 ± 1"]]
    )
    table = overview.felt_table([*ours, *others, *thrifty, *hides], answers)
    assert table is not None
    assert table.headings == ["figure", "window", "sightline", "thrifty", "plain window", "everything"]
    assert len(overview.FELT) + 1 <= 8
    found = {(title, window): figures for title, window, *figures in table.cells}
    assert found["edits whose text can be read, %", "128,000"] == ["95.0", "95.0", "90.0", "100.0"]
    assert found["the bill, everything sent = 1", "128,000"] == ["0.30", "0.10", "0.30", "1.00"]
    assert found["the bill, everything sent = 1", "200,000"] == ["0.30", "-", "-", "1.00"]
    assert found["hidden although everything fits, % of the tokens", "200,000"] == ["25.0", "-", "-", "-"]
    assert table.cells[-1] == ["answers of a real model about a long chat, F1", "8,000", "37", "-", "-", "17"]
    assert overview.felt_table([], None) is None


def test_long_runs_are_shown_one_by_one() -> None:
    """With the bill in millions and relative to the full history of that run; other composers are left out."""
    rows = [long_run("full", None), long_run("sightline", 64_000), long_run("sliding", 64_000)]
    table = tables.one_by_one(rows, "long_runs")
    assert table is not None
    assert [cells[:3] for cells in table.cells] == [["full", "none", "cli-1 dev"], ["sightline", "64000", "cli-1 dev"]]
    assert table.cells[1][3:] == ["1.00", "2.00", "2.00", "3", "95.0", "90.0", "80.0"]


def test_what_is_hidden_is_named_with_its_reason() -> None:
    """Each tool and reason once, with the number of items."""
    items = [{"tool": "Bash", "reason": "command output"}] * 2 + [{"tool": "", "reason": ""}]
    hides = long_run("sightline", 200_000, fits_n=50, hides_n=9, hidden=0.1, hidden_items=items)
    fine = long_run("sightline", 1_000_000, fits_n=50, hides_n=0, hidden=0.0, hidden_items=[])
    table = tables.hidden_items([hides, fine, long_run("sightline", 9, fits_n=0)])
    assert table is not None
    assert [cells[2:] for cells in table.cells] == [
        ["50", "9", "10.0", "Bash: command output (2), text: no reason (1)"],
        ["50", "0", "0", "nothing"],
    ]


def test_the_first_page_says_what_is_taken_for_a_constraint() -> None:
    """Beside what stays readable, of ours and of the best other."""
    row = {"part": "f", "dataset": "t", "half": "dev", "budget": 200, "invalid": 0.0}
    shown = [("sightline plain", 0.1), ("sightline compact", 0.2), ("bm25", 0.3), ("sliding", 0.25)]
    found = {"part": "g", "half": "dev", "composer": "sightline", "n": 9, "per_hundred": None, "precision": None}
    rows: list[Any] = [{**row, "composer": name, "readable": share} for name, share in shown]
    rows += [{**found, "per_hundred": 8.93}, {**found, "precision": 0.9, "recall": 0.5}]
    table = overview.constraints_table(rows)
    assert table is not None
    assert table.cells == [["t", "200", "10.0", "20.0", "30.0 bm25"]]
    assert "8.9 constraints are found" in table.note
    assert "90.0 % of what is taken for one is one, and 50.0 % of them are found" in table.note


def test_the_command_on_the_page_is_the_one_that_was_given(ran: Ran) -> None:
    """Nothing that nobody said, and no file or folder of the one who ran it."""
    about = json.loads((ran.folder / "rows.json").read_text())["about"]
    assert about["command"] == "python -m benchmarks.quality --jobs 1 --part b"


@pytest.mark.parametrize(
    ("option", "given", "expected"),
    [
        ("--rows", "no/such.json", "no file no/such.json"),
        ("--scale", "0", "0 is not a number above 0"),
        ("--scale", "nan", "nan is not a number above 0"),
        ("--jobs", "0.5", "0.5 is not a whole number above 0"),
        ("--peers", "nosuch", "no peer nosuch; there are lc_trim"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(
    option: str, given: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is measured."""
    with pytest.raises(SystemExit):
        main([option, given])
    assert f"argument {option}: {expected}" in capsys.readouterr().err.splitlines()[-1]


def test_help_says_what_the_parts_are_and_names_the_peers(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each part."""
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(f"\n  {part}  " in said for part in PARTS)
    assert all(name in said for name in peers.NAMES)


def test_rows_can_be_reported_again(ran: Ran, tmp_path: Path) -> None:
    """Rows of several runs make one page; the same row twice is there once."""
    out, again = str(ran.folder / "rows.json"), tmp_path / "again.json"
    main(["--rows", out, out, "--out", str(again)])
    assert json.loads(again.read_text())["rows"] == ran.rows


@pytest.mark.slow
def test_rows_of_several_runs_are_ordered_by_composer_and_budget(ran: Ran, tmp_path: Path) -> None:
    """So that a benchmark which was split over machines reads like one run."""
    about, again = json.loads((ran.folder / "rows.json").read_text())["about"], tmp_path / "again.json"
    paths = [tmp_path / f"{number}.json" for number in (0, 1)]
    budgets = sorted({row["budget"] for row in ran.rows if row["budget"]})
    for path, some in zip(paths, (budgets[1:], budgets[:1]), strict=True):
        own = [row for row in ran.rows if not row["budget"] or row["budget"] in some]
        path.write_text(json.dumps({"about": about, "rows": own}))
    main(["--rows", *map(str, paths), "--out", str(again)])
    found = [(row["composer"], row["budget"], row["half"]) for row in json.loads(again.read_text())["rows"]]
    assert found == [(row["composer"], row["budget"], row["half"]) for row in ran.rows]


class Broken:
    """A peer that runs out of luck in the middle of a run."""

    def start(self, session: str) -> None:
        """Begin."""

    def compose(self, history: list[Any], query: str, budget: int) -> list[Any]:
        """Fail when it gets long."""
        if len(history) > 9:
            raise OSError("gone")
        return list(history)


@pytest.mark.slow
def test_a_peer_that_fails_is_left_out(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are measured all the same, and it is said what failed; our own failing is an error."""
    monkeypatch.setitem(sys.modules, "benchmarks.quality.peers", SimpleNamespace(composer=lambda name: Broken))
    monkeypatch.setattr("benchmarks.quality.splits._KNOWN", {})
    (job,) = [job for job in JOBS if job.dataset == "claude_code"]
    found = done(job, Asked(recorded, peers=("gone",)))
    assert {"full", "sliding"} <= {row["composer"] for row in found.rows}
    assert "gone" not in {row["composer"] for row in found.rows}
    (said,) = found.failed
    assert said.startswith("composer gone failed")
    with pytest.raises(Failed, match="gone"):
        done(job, Asked(recorded, composers=(f"gone={__name__}:Broken",)))


def test_tables_have_a_row_for_each_composer_and_budget(rows: list[Any]) -> None:
    """Both halves stand in one cell; the naive window, which knows no budget, stands there once."""
    (table,) = [each for _, found in tables.by_part(rows) for each in found]
    assert [cells[0] for cells in table.cells].count("last_n20") == 1
    assert all(len(cells) == len(table.headings) for cells in table.cells)
    assert all(" / " in cells[2] for cells in table.cells)
    assert "|" not in tables.markdown(table).splitlines()[0]


def test_worse_is_said_as_plainly_as_better(rows: list[Any]) -> None:
    """Where another composer's figure is better, the row says so and names it."""
    ours = [row for row in rows if row["composer"] == "sightline"]
    others = [{**row, "composer": "other", "needed": 1.1, "invalid": 0.0} for row in ours]
    found = headline_table([*ours, *others])
    assert found is not None
    needed = [cells for cells in found.cells if cells[2] == "needed %"]
    assert {cells[-1] for cells in needed} == {"worse"}
    assert all(cells[-2].startswith("other") for cells in needed)
    assert {cells[-1] for cells in found.cells if cells[2] == "real cost"} == {"equal"}


def test_pictures_of_nothing_are_empty() -> None:
    """A run without agent runs has no session to draw, and an empty first picture."""
    assert plots.one_session([]) == ""
    ElementTree.fromstring(plots.cost_against_recall([]))


def test_one_session_is_drawn_where_most_composers_can_be_compared() -> None:
    """Not in the widest window, in which few are measured."""
    places = [
        ("sightline", 1_000_000),
        ("sightline", 64_000),
        ("sliding", 64_000),
        ("sightline", 32_000),
        ("full", None),
    ]
    rows = [long_run(name, budget, series=[(9, 3), (8, 4)], total_tokens=17) for name, budget in places]
    assert "64000 tokens" in plots.one_session(rows)


@given(st.floats(0, 1e5), st.floats(0.01, 1e5), st.floats(-1e6, 1e6))
def test_scales_keep_within_their_ends(low: float, span: float, value: float) -> None:
    """A point never leaves its picture, and ticks lie on the scale."""
    scale = Scale(low, low + span, 10, 90)
    assert 10 <= scale(value) <= 90 + 1e-9
    assert all(low - 1e-6 * span <= tick <= low + span * (1 + 1e-5) for tick in scale.ticks())


def test_thrifty_is_measured_on_long_runs_unless_others_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is where it saves something."""
    found: list[tuple[str, ...]] = []

    def measured(dataset: str, records: Any, who: Any, budgets: Any, n: int, **options: Any) -> list[Any]:
        found.append(tuple(who))
        return []

    monkeypatch.setitem(jobs._MEASURES, "b", ({"long_runs": lambda _: []}, measured))
    (job,) = [job for job in JOBS if job.dataset == "long_runs"]
    done(job, Asked(Path(), composers=jobs.OURS, baselines=False))
    done(job, Asked(Path(), composers=jobs.OURS[:1], baselines=False, budgets=(9,)))
    assert found[0] == ("full", "sightline", "sightline thrifty")
    assert found[-1] == ("full", "sightline")
