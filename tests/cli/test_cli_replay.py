"""`sightline replay`: the library's steps, one row each, and the sum at the end."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sightline import Budget, MemoryStore, Session, samples
from sightline.log.stores.session_folder import Folder
from sightline.plan.strategies import STRATEGIES
from sightline.view.replay.formats import recorded
from sightline.view.replay.replay import Totals, replay

Run = Callable[..., Result]


def totals_of(name: str, window: int) -> Totals:
    sample = samples.load(name)
    recording = recorded({"system": sample.system, "tools": sample.tools, "messages": sample.messages})
    totals = Totals()
    for step in replay(Session(MemoryStore("x")), recording, Budget(window, 1000)):
        totals = totals.plus(step)
    return totals


@pytest.mark.slow
def test_a_window_that_costs_more_than_it_saves_is_said_to(run: Run) -> None:
    """The line is there if the whole cost is more than that of the full history, and only then."""
    for sample, is_more in (("data_report", True), ("login_bug", False)):
        assert ("a larger one (--window) costs less" in run("replay", "--sample", sample).stdout) is is_more


def test_what_costs_more_is_named_for_what_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The three tools, whatever their share is, or the economy: in a larger window it would cost the same."""
    short = run("replay", "--sample", "--until", "1").stdout
    assert "168%" in short
    assert "a little" not in short
    assert "the difference is the tools `expand`, `recall` and `look`" in short
    monkeypatch.setattr("sightline.plan.strategies.focus.THRIFTY_WINDOW", 3_500)
    thrifty = run("replay", "--sample", "data_report", "--economy", "thrifty").stdout
    assert "the 3,500 tokens of economy = thrifty do not pay" in thrifty
    assert "--window) costs less" not in thrifty


@pytest.mark.slow
def test_the_sample_is_replayed_with_several_sweeps(run: Run) -> None:
    """What `make run` shows: an explanation, a row for each call, the sum, and what to try next."""
    result = run("replay", "--sample")
    assert result.exit_code == 0
    rows = [line for line in result.stdout.splitlines() if line[:4].strip().isdigit()]
    assert [int(row[:4]) for row in rows] == list(range(1, 24))
    assert sum("budget full" in row or "saves money" in row for row in rows) >= 2
    assert "Each row is one call to the model" in result.stdout
    assert "requests that a provider would refuse: 0" in result.stdout
    assert "Try next" in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("economy", ["off", "thrifty"])
def test_the_project_s_strategy_is_used(run: Run, tmp_path: Path, economy: str) -> None:
    """With its configuration, and it is said which file says so; an option that names another one comes first."""
    text = f'strategy = "focus"\n[config]\neconomy = "{economy}"\n'
    (tmp_path / "sightline.toml").write_text(text, encoding="utf-8")
    there = ("--project", str(tmp_path), "replay", "--sample", "--until", "2")
    facts = json.loads(run(*there, "--json").stdout)
    assert (facts["strategy"], facts["config"]) == ("focus", {"economy": economy})
    assert facts["chosen_in"].endswith("sightline.toml")
    assert f"Strategy focus (economy = {economy}), as " in run(*there).stdout
    other = json.loads(run(*there, "--strategy", "sliding", "--json").stdout)
    assert (other["strategy"], other["config"], other["chosen_in"]) == ("sliding", {}, "")


def test_an_economy_can_be_named(run: Run, tmp_path: Path) -> None:
    """It replaces the one in the project's file, whose other keys stay; another strategy has no economy."""
    (tmp_path / "sightline.toml").write_text(
        'strategy = "focus"\n[config]\nkeep = 3\neconomy = "off"\n', encoding="utf-8"
    )
    there = ("--project", str(tmp_path), "replay", "--sample", "--until", "1", "--economy", "thrifty", "--json")
    facts = json.loads(run(*there).stdout)
    assert (facts["strategy"], facts["config"]) == ("focus", {"keep": 3, "economy": "thrifty"})
    (tmp_path / "sightline.toml").write_text('strategy = "summary"\n', encoding="utf-8")
    assert json.loads(run(*there).stdout)["config"] == {"economy": "thrifty"}
    refused = run(*there, "--strategy", "sliding")
    assert (refused.exit_code, "name one of the two" in refused.stderr) == (2, True)


def test_a_budget_below_the_window_is_explained(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an economy does not use still holds the full history; a margin is named with its reason."""
    monkeypatch.setattr("sightline.plan.strategies.focus.THRIFTY_WINDOW", 4_000)
    args = ("replay", "--sample", "--until", "6", "--window", "42000", "--profile", "anthropic")
    thrifty = " ".join(run(*args, "--economy", "thrifty").stdout.split())
    assert "allows 39,047 tokens: 42,000 less 1,000 for the answer and a margin of 5%" in thrifty
    assert "The budget is 4,000 of 39,047 tokens: economy = thrifty" in thrifty
    assert " budget 4,000 " in thrifty
    assert "budget full" in thrifty
    assert "would not have fitted" not in thrifty
    usual = run("replay", "--sample", "--until", "1").stdout
    assert "margin" not in usual
    assert "The budget is" not in usual


def test_a_strategy_that_is_not_loaded_is_told(run: Run, tmp_path: Path) -> None:
    """On standard error, with what is replayed instead and why; one that was asked for is not."""
    (tmp_path / "sightline.toml").write_text('strategy = "mine.py"\n', encoding="utf-8")
    (tmp_path / "mine.py").write_text("raise SystemExit('nobody allowed it')\n", encoding="utf-8")
    there = ("--project", str(tmp_path), "replay", "--sample", "--until", "1", "--json")
    done = run(*there)
    assert json.loads(done.stdout)["strategy"] == "focus"
    said = " ".join(done.stderr.split())
    assert "Replaying with strategy focus" in said
    assert "chooses mine.py" in said
    assert "--strategy" in said
    assert "以策略 focus 重放" in run("--lang", "zh", *there).stderr
    assert run(*there, "--strategy", "focus").stderr == ""


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_that_is_listed_is_replayed(run: Run, tmp_path: Path, name: str) -> None:
    """Named by the project or in the command line. Of one that shows what a model writes, it is said that none does."""
    config = '[config]\nschema = { date = "string" }\n' if name == "entities" else ""
    (tmp_path / "sightline.toml").write_text(f'strategy = "{name}"\n{config}', encoding="utf-8")
    there = ("--project", str(tmp_path), "replay", "--sample", "--until", "1")
    for args in (there, (*there, "--strategy", name)):
        done = run(*args, "--json")
        assert (json.loads(done.stdout)["strategy"], done.stderr) == (name, "")
    told = "A replay calls no model" in run(*there).stdout
    assert told is (name in ("summary", "entities"))


def test_a_strategy_that_nobody_has_is_refused_with_those_there_are(run: Run) -> None:
    """Alone, or as a stage."""
    for name in ("nope", "rounds,nope"):
        done = run("replay", "--sample", "--strategy", name)
        assert done.exit_code == 2
        assert all(listed in done.stderr for listed in ("'nope' is not one of", *STRATEGIES))


@pytest.mark.slow
def test_the_numbers_are_the_library_s(run: Run) -> None:
    """The totals of --json are those of `sightline.view.replay.replay`."""
    facts = json.loads(run("replay", "--sample", "--json").stdout)
    totals = totals_of("login_bug", 12_000)
    assert facts["totals"] == {
        **totals._asdict(), "breaks": dict(totals.breaks), "real_cost": totals.real_cost,
        "paid": totals.paid._asdict(), "full_paid": totals.full_paid._asdict(),
    }  # fmt: skip
    assert [call["call"] for call in facts["calls"]] == list(range(1, totals.calls + 1))
    assert sum(call["tokens"] for call in facts["calls"]) == totals.tokens
    assert facts["session"] is None


@pytest.mark.parametrize("delay", ["nan", "inf", "-1"])
def test_nobody_waits_for_what_is_no_time(run: Run, delay: str) -> None:
    """It is refused in a sentence, before anything is replayed."""
    refused = run("replay", "--sample", "--delay", delay)
    assert (refused.exit_code, "--delay" in refused.output, "in total" in refused.output) == (2, True, False)


@pytest.mark.slow
def test_money_is_shown_with_prices(run: Run) -> None:
    """Those that are given, those of a model that is named, or those of the model that answered; else none."""
    sample = ("replay", "--sample", "--json")
    assert json.loads(run(*sample).stdout)["money"] is None
    facts = json.loads(run(*sample, "--price", "2/10/0.2").stdout)
    paid = facts["totals"]["paid"]
    spent = (paid["cached"] * 0.2 + paid["written"] * 2.5 + paid["output"] * 10) / 1_000_000
    assert facts["money"]["sent"] == pytest.approx(spent)
    assert facts["money"]["full"] > 0
    assert json.loads(run(*sample, "--price", "claude-sonnet-5").stdout)["money"] == facts["money"]
    assert "in money" in run("replay", "--sample", "--price", "2/10/0.2").stdout
    for impossible in ("1/2/nan", "-1/2/3", "1/inf/1"):
        assert "three numbers from 0 on" in " ".join(run(*sample, "--price", impossible).output.split())
    refused = run(*sample, "--price", "two")
    assert (refused.exit_code, "2/10/0.2" in refused.stderr) == (2, True)
    usage = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}
    answer = {"type": "ai", "content": "hi", "usage_metadata": usage, "response_metadata": {"model": "claude-sonnet-5"}}
    Path("known.json").write_text(json.dumps([{"type": "human", "content": "hello"}, answer]))
    known = json.loads(run("replay", "known.json", "--json").stdout)
    assert known["window"] == 1_000_000  # the model's own
    assert json.loads(run("replay", "known.json", "--window", "9000", "--json").stdout)["window"] == 9_000
    assert known["money"]["price"] == facts["money"]["price"]
    answer["response_metadata"] = {"model": "claude-of-tomorrow"}
    Path("unknown.json").write_text(json.dumps([{"type": "human", "content": "hi"}, answer]))
    assert "no price of claude-of-tomorrow is known" in " ".join(run("replay", "unknown.json").stdout.split())
    assert known["totals"]["paid"]["output"] == 3


@pytest.mark.slow("long_chat")
@pytest.mark.parametrize("name", samples.names())
def test_every_sample_has_a_window_it_outgrows(run: Run, name: str) -> None:
    """Whatever a newcomer picks, there is a sweep to see, and no request is invalid."""
    totals = json.loads(run("replay", "--sample", name, "--json").stdout)["totals"]
    assert totals["sweeps"] >= 1
    assert totals["outgrown"] > 0
    assert totals["invalid"] == 0


def test_samples_are_named(run: Run) -> None:
    """With their titles; as JSON, with what they are about."""
    listed = json.loads(run("replay", "--list-samples", "--json").stdout)["samples"]
    assert [sample["name"] for sample in listed] == samples.names()
    assert all(name in run("replay", "--list-samples").stdout for name in samples.names())


def test_until_stops_there(run: Run) -> None:
    """Calls after it are not made."""
    assert len(json.loads(run("replay", "--sample", "--until", "5", "--json").stdout)["calls"]) == 5


def test_a_file_and_standard_input_are_replayed_alike(run: Run) -> None:
    """The name aside, the facts are equal."""
    data = json.dumps([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}])
    Path("messages.json").write_text(data)
    from_file = json.loads(run("replay", "messages.json", "--json").stdout)
    from_input = json.loads(run("replay", "-", "--json", input=data).stdout)
    assert from_file.pop("recording") == "messages.json"
    assert from_input.pop("recording") == "-"
    assert from_file == from_input
    assert from_file["window"] == 128_000


def test_how_a_replay_differs_from_a_report_is_said(run: Run) -> None:
    """In both languages, of what was recorded; a sample is nobody's session."""
    Path("messages.json").write_text(json.dumps([{"role": "user", "content": "hello"}]))
    assert "Unlike `sightline report`, a replay counts only" in run("replay", "messages.json").stdout
    assert "与 `sightline report` 不同" in run("--lang", "zh", "replay", "messages.json").stdout
    assert "Unlike" not in run("replay", "--sample", "--until", "1").stdout


@pytest.mark.slow
def test_kept_replays_are_sessions_like_any_other(run: Run, folder: Folder) -> None:
    """They are listed, can be looked at, and verify."""
    kept = json.loads(run("replay", "--sample", "data_report", "--keep", "--json").stdout)["session"]
    assert kept in folder.sessions()
    assert json.loads(run("verify", kept, "--json").stdout)["good"]
    assert f"Stored as session {folder.sessions()[0]}" not in run("replay", "--sample", "data_report").stdout
    assert "Stored as session" in run("replay", "--sample", "data_report", "--keep").stdout


@pytest.mark.slow
def test_a_session_s_own_log_can_be_replayed(run: Run, folder: Folder) -> None:
    """With the budget it was made with, the same tokens are sent again."""
    args = ("replay", str(folder.file("login-bug")), "--window", "16000", "--output", "1000", "--json")
    assert json.loads(run(*args).stdout)["totals"]["tokens"] == totals_of("login_bug", 16_000).tokens


@pytest.mark.slow
def test_strategy_and_profile_are_heeded(run: Run) -> None:
    """Sliding breaks the prefix under its own reason; an unknown vocabulary leaves a margin."""
    sliding = json.loads(run("replay", "--sample", "--strategy", "sliding", "--json").stdout)
    assert set(sliding["totals"]["breaks"]) == {"sweep: window"}
    margin = json.loads(run("replay", "--sample", "--profile", "anthropic", "--until", "1", "--json").stdout)
    assert margin["calls"][0]["limit"] < 15_000


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["replay"], 2, "--list-samples"),
        (["replay", "--sample", "login_bug", "x.json"], 2, "name a FILE or SESSION"),
        (["replay", "--sample", "nope"], 1, "login_bug"),
        (["replay", "empty.json"], 1, "holds no messages"),
        (["replay", "bad.json"], 1, "line 1 is no JSON"),
        (["replay", "--sample", "--window", "0"], 2, "0 <= output < window"),
    ],
)
def test_what_cannot_be_replayed_is_told(run: Run, args: list[str], code: int, told: str) -> None:
    """In one line, with what would do."""
    Path("empty.json").write_text("[]")
    Path("bad.json").write_text("{oops")
    result = run(*args)
    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr


@pytest.mark.slow
def test_chinese_words_are_shown_where_asked_for(run: Run) -> None:
    """Before or after the command, and in what is said of a wrong id."""
    before, after = run("--lang", "zh", "replay", "--sample").stdout, run("replay", "--sample", "--lang", "zh").stdout
    assert "每一行是对模型的一次调用" in before
    assert before == after
    assert "没有会话 'nope'" in run("--lang", "zh", "context", "nope").stderr


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 60, 80, 100, 120, 200])
def test_rows_fit_the_width(run: Run, columns: int) -> None:
    """Columns are left away before anything is wider than the screen."""
    from rich.cells import cell_len

    output = run("replay", "--sample", "login_bug", env={"COLUMNS": str(columns)}).stdout
    rows = [line for line in output.splitlines() if line[:4].strip().isdigit()]
    assert len(rows) == 23
    if columns >= 80:
        assert all(cell_len(row) <= columns for row in rows)
