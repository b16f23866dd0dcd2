"""`sightline savings`: what all sessions used, and what was saved, in words and as JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sightline import Budget, Session, Settings
from sightline.cli.main import app
from sightline.testing import calling

Run = Callable[..., Result]
MODEL = "claude-sonnet-5"


@pytest.fixture
def savings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `sightline … savings …` in a home with sessions of two projects, one of which was shortened."""
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, turns in (("shop", 8), ("mill", 1)):
        folder = tmp_path / name
        folder.mkdir()
        with Session.new(folder, settings=Settings(profile="anthropic")) as session:
            session.user(f"Look at the {name} [bold]\x1b[31m.")
            for turn in range(turns):
                session.compose(Budget(8_000, 500))
                usage = {"prompt_tokens": 900_000, "completion_tokens": 10}
                session.reply(calling(("read_file", {"path": f"{turn}.py"})) | {"model": MODEL, "usage": usage})
                session.tool_result(session.open_calls[0].id, f"step {turn}\n" * 500)
    return lambda *words: CliRunner().invoke(app, [*words])


def facts(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    read: dict[str, Any] = json.loads(result.stdout)
    return read


@pytest.mark.slow
def test_what_was_used_and_saved_is_told(savings: Run, tmp_path: Path) -> None:
    told = facts(savings("savings", "--json"))
    assert (told["total"]["sessions"], told["total"]["calls"], told["pending"]) == (2, 9, 0)
    text = savings("savings").stdout
    assert "Sightline has composed 9 calls" in text
    assert f"{told['total']['cost']:,.2f}" in text
    assert "What cost most" in text
    assert "of the input was not in the cache" in text
    assert "\x1b" not in text
    one = facts(savings("--project", str(tmp_path / "mill"), "savings", "--json"))
    assert one["total"]["sessions"] == 1
    assert facts(savings("savings", "--days", "1", "--json")) == told


@pytest.mark.slow
def test_it_speaks_chinese(savings: Run) -> None:
    assert "费用最高的会话" in savings("--lang", "zh", "savings").stdout


def test_without_sessions_it_says_how_to_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    told = CliRunner().invoke(app, ["savings"])
    assert told.exit_code == 0
    assert "sightline wrap" in told.stdout
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_logs_that_are_no_sessions_are_told_with_what_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By each command that has only sessions to show. When the logs are imported, none of them says it."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "SIGHTLINE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    logs, project = tmp_path / ".claude" / "projects" / "my shop", tmp_path / "shop"
    logs.mkdir(parents=True)
    project.mkdir()
    for number in range(2):
        entry = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": f"s{number}", "cwd": str(project)}
        message = {"role": "user", "content": "Why is the basket empty?"}
        entry |= {"timestamp": "2026-11-01T10:00:00.000Z", "version": "2.0.1", "message": message}
        (logs / f"s{number}.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")

    def told(*words: str, at: Path = project) -> str:
        result = CliRunner().invoke(app, ["--project", str(at), *words])
        return " ".join((result.stdout + result.stderr).split())

    command = f"sightline import '{logs}'"
    for words in (("savings",), ("context",), ("sessions",)):
        assert f"no sessions yet: 2. `{command}`" in told(*words), words
        assert command not in told(*words, at=tmp_path), words  # of another project
    told("import", str(logs))
    for words in (("savings",), ("context",), ("sessions",)):
        assert command not in told(*words), words
