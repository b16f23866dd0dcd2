"""`sightline report`: what it prints, the page it writes, and what it says where there is nothing."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from report_logs import Log

Run = Callable[..., Result]


def session() -> Log:
    """Two calls with a pause between them, and a file that is read twice."""
    log = Log().user("fix it").read("c1", usage=(0, 20_000, 0, 10)).read("c2", usage=(0, 500, 20_000, 10))
    return log.answer("Done.", usage=(0, 21_000, 0, 10), after=900)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with a session, and a file that is none."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "s1.jsonl").write_bytes(session().data)
    (folder / "other.json").write_text('{"id": "a"}')
    return folder


def test_a_folder_is_reported_on(run: Run, logs: Path) -> None:
    """The three things that would save most come first, with figures; a file that is no session is named."""
    done = run("report", str(logs))
    assert done.exit_code == 0
    told = " ".join(done.stdout.split())
    assert "Sessions: 1. Calls of a model: 3." in told
    assert "Pauses that outlasted the provider's cache: 1. After them 20,500 tokens were processed again." in told
    assert told.index("What would save most") < told.index("What was spent")
    assert "input tokens 61,500" in told
    assert "No price is known here for claude-x" in told
    assert "/w/shop.py 2 1 0" in told
    assert "s1 fix it" in told
    assert "everything is sent" in told
    assert "economy = safe nothing would have changed" in told
    assert "Sightline would not have made these sessions cheaper" in told
    assert "other.json" in done.stderr


def test_the_figures_are_the_same_for_programs(run: Run, logs: Path) -> None:
    """One object, with the words of each piece of advice in the language that was asked for."""
    facts = json.loads(run("report", str(logs), "--json", "--lang", "zh").stdout)
    assert facts["spent"]["input"] == 61_500
    assert [each["cause"] for each in facts["sessions"][0]["breaks"]] == ["pause"]
    assert facts["words"][0]["kind"] == facts["advice"][0]["kind"]
    assert "费用" in facts["words"][0]["saving"]
    safe = facts["sessions"][0]["forecasts"][0]
    assert (safe["economy"], safe["spent"], safe["unchanged"]) == ("safe", safe["full"], 1)
    assert "economy = safe，什么都不会改变" in facts["forecast_words"][0]
    quick = json.loads(run("report", str(logs), "--json", "--no-forecast").stdout)
    assert quick["sessions"][0]["forecasts"] == []
    assert quick["spent"] == facts["spent"]


def test_prices_can_be_given(run: Run, logs: Path) -> None:
    """Three numbers, or the name of a model."""
    facts = json.loads(run("report", str(logs), "--json", "--price", "2/10/0.2").stdout)
    expected = (20_000 * 0.2 + 41_500 * 2.5 + 30 * 10) / 1e6
    assert facts["spent"]["money"] == pytest.approx(expected)
    assert facts["unpriced"] == []
    assert run("report", str(logs), "--price", "much").exit_code == 2


def test_a_page_is_written_and_not_over_another(run: Run, logs: Path, tmp_path: Path) -> None:
    """Unless that is asked for."""
    file = tmp_path / "report.html"
    assert f"The page is in {file}" in run("report", str(logs), "--html", str(file)).stdout.replace("\n", "")
    assert "61,500" in file.read_text()
    file.write_text("mine")
    assert run("report", str(logs), "--html", str(file)).exit_code == 1
    assert file.read_text() == "mine"
    assert run("report", str(logs), "--html", str(file), "--force").exit_code == 0
    assert file.read_text().startswith("<!DOCTYPE html>")


def test_without_a_folder_the_users_own_sessions_are_read(
    run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of Claude Code and Codex, where they keep them; where there are none, it says what to do."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    refused = run("report")
    assert refused.exit_code == 1
    assert "no logs in ~/.claude/projects or ~/.codex/sessions; name a folder" in " ".join(refused.stderr.split())
    shutil.copytree(logs, tmp_path / ".claude" / "projects" / "shop")
    assert json.loads(run("report", "--json").stdout)["calls"] == 3
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    assert run("report").exit_code == 1


def test_only_the_newest_files_are_read(run: Run, logs: Path) -> None:
    """So that a folder of thousands is answered soon; 0 reads all. Files that are no logs do not count."""
    for number in range(3):
        file = logs / f"old{number}.jsonl"
        file.write_bytes(session().data)
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))

    def names(newest: str) -> list[str]:
        made = json.loads(run("report", str(logs), "--json", "--no-forecast", "--newest", newest).stdout)
        return [Path(each["name"]).stem for each in made["sessions"]]

    assert names("2") == ["s1", "old2"]
    assert len(names("0")) == 4


def test_a_huge_log_is_read_only_alone(run: Run, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Because a report holds a session in memory, and others are read at the same time."""
    monkeypatch.setattr("sightline.cli.report_files._LARGEST", 5_000)
    (logs / "small.jsonl").write_bytes(Log().user("fix it").answer("Done.").data)
    facts = json.loads(run("report", str(logs), "--json", "--no-forecast").stdout)
    assert [Path(each["name"]).name for each in facts["sessions"]] == ["small.jsonl"]
    assert "name it alone" in next(each["why"] for each in facts["refused"] if each["name"].endswith("s1.jsonl"))
    assert json.loads(run("report", str(logs / "s1.jsonl"), "--json", "--no-forecast").stdout)["calls"] == 3


@pytest.mark.slow
def test_several_processes_say_the_same_as_one(run: Run, logs: Path) -> None:
    """In the order of the files, refused ones among them."""
    for number in range(3):
        (logs / f"more{number}.jsonl").write_bytes(session().user(f"thanks {number}").data)
    one, several = (run("report", str(logs), "--json", "--no-forecast", "--jobs", jobs).stdout for jobs in "12")
    assert json.loads(one) == json.loads(several)
    assert (len(json.loads(one)["sessions"]), len(json.loads(one)["refused"])) == (4, 1)


@pytest.mark.slow
def test_a_session_of_the_project_is_reported_on(run: Run) -> None:
    """By the beginning of its id. Its log has no usage, so all figures are a forecast."""
    done = run("report", "login")
    assert "all figures are a forecast" in done.stdout
    facts = json.loads(run("report", "login", "--json").stdout)
    assert facts["sessions"][0]["kind"] == "Sightline"
    assert not facts["sessions"][0]["is_reported"]
    assert facts["tools"]


@pytest.mark.slow
def test_what_is_no_session_is_refused(run: Run, tmp_path: Path) -> None:
    """With the reason, of each of the first files, and exit code 1."""
    file = tmp_path / "other.json"
    file.write_text('{"id": "a"}')
    done = run("report", str(file))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "['id']" in done.stderr
    (tmp_path / "bad.jsonl").write_text("{oops")
    told = run("report", str(tmp_path)).stderr
    assert all(f"{name}: " in told for name in ("other.json", "bad.jsonl"))
    assert "more" not in told
    for number in range(3):
        (tmp_path / f"bad{number}.jsonl").write_text("{oops")
    assert told.count("\n") < run("report", str(tmp_path)).stderr.count("\n")
    assert "and 2 more" in run("report", str(tmp_path)).stderr
    (tmp_path / "empty").mkdir()
    assert "no sessions there" in run("report", str(tmp_path / "empty")).stderr
