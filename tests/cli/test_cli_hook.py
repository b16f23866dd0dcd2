"""`sightline hook`: as the guide shows it, in both languages, and what people are told when something is in the way."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from claude_log import WrittenLog
from click.testing import CliRunner, Result

from sightline.adapters.claude_code import give_back, keep
from sightline.adapters.claude_hooks import log_error
from sightline.adapters.claude_status import status_line
from sightline.cli.main import app

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "guides" / "claude-code.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home and a project of its own."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "me" / ".claude").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "SIGHTLINE_HOME", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def run(command: str) -> Result:
    """Run a command line of `sightline`."""
    assert command.startswith("sightline ")
    return CliRunner(env={"COLUMNS": "1000"}).invoke(app, shlex.split(command)[1:])


def settings(tmp_path: Path) -> Path:
    return tmp_path / "me" / ".claude" / "settings.json"


def test_the_guide_is_what_happens(tmp_path: Path) -> None:
    """Its commands, in order, print what it says."""
    shown = "".join(re.findall(r"```console\n(.*?)```", GUIDE, re.DOTALL))
    printed = ""
    for command in re.findall(r"^\$ (.*)$", shown, re.MULTILINE):
        printed += f"$ {command}\n{run(command).output}"
    assert printed.replace(str(tmp_path / "me"), "/home/me").replace(str(tmp_path / "shop"), "/srv/shop") == shown


def test_the_guide_s_texts_are_what_is_said(tmp_path: Path) -> None:
    """What the model is given, up to its last line, and the status line."""
    told, line = re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)
    log = WrittenLog(tmp_path / "log.jsonl")
    first, current = (re.search(f"- {name} request: (.*)", told) for name in ("First", "Current"))
    assert first is not None
    assert current is not None
    log.user(first[1])
    log.call("TodoWrite", {"todos": [{"content": "measure the logout page", "status": "pending"}]})
    log.user(current[1])
    keep(log.facts(), tmp_path)
    assert give_back(log.facts(source="compact"), tmp_path).rpartition("\n\n")[0] == told.rstrip()
    usage = {"input_tokens": 1_000, "cache_creation_input_tokens": 9_000, "cache_read_input_tokens": 80_000}
    facts = {"context_window": {"current_usage": usage}, "cost": {"total_cost_usd": 1.234}}
    assert status_line(facts, {"rereads": 3, "compactions": 1}, colour=False) == line.rstrip()


def test_the_readme_s_line_runs(tmp_path: Path) -> None:
    """As it stands in the table of frameworks."""
    row = re.search(r"^\| Claude Code \| `(.*?)` \|", README, re.MULTILINE)
    assert row is not None
    assert run(row[1]).exit_code == 0
    assert "hook run pre-compact" in settings(tmp_path).read_text()


def test_install_and_uninstall_say_what_they_did(tmp_path: Path) -> None:
    """Also for programs; a second time there is nothing to do."""
    settings(tmp_path).write_text("{}")
    said: list[Any] = []
    for command in ("install", "install", "uninstall", "uninstall"):
        done = run(f"sightline hook {command} --json")
        assert done.exit_code == 0
        said.append(json.loads(done.output))
    assert [each["changed"] for each in said] == [True, False, True, False]
    assert {each["file"] for each in said} == {str(settings(tmp_path))}
    assert settings(tmp_path).read_text() == "{}"


@pytest.mark.parametrize(("scope", "name"), [("project", "settings.json"), ("local", "settings.local.json")])
def test_a_project_has_settings_of_its_own(scope: str, name: str, tmp_path: Path) -> None:
    """The user's are not touched; the sentence names the command that takes it back."""
    done = run(f"sightline hook install --scope {scope}")
    assert f"`sightline hook uninstall --scope {scope}`" in done.output
    assert (tmp_path / "shop" / ".claude" / name).exists()
    assert not settings(tmp_path).exists()
    assert f"{scope}: {tmp_path / 'shop' / '.claude' / name}: installed" in run("sightline hook status").output
    assert run(f"sightline --project {tmp_path / 'shop'} hook uninstall --scope {scope}").exit_code == 0
    assert not (tmp_path / "shop" / ".claude").exists()


def test_the_hooks_know_the_root_and_the_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the install, because Claude Code may be started elsewhere; by option or by variable."""
    run("sightline --root 'my sessions' --lang zh hook install")
    command = json.loads(settings(tmp_path).read_text())["statusLine"]["command"]
    assert shlex.split(command)[-4:] == ["--root", str(tmp_path / "shop" / "my sessions"), "--lang", "zh"]
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "sessions"))
    run("sightline hook install")
    command = json.loads(settings(tmp_path).read_text())["statusLine"]["command"]
    assert shlex.split(command)[-2:] == ["--root", str(tmp_path / "sessions")]


def test_settings_that_cannot_be_read_stay(tmp_path: Path) -> None:
    """One line says which file, why, and what to do; `status` shows it and goes on."""
    settings(tmp_path).write_text('{"model": ')
    for command in ("install", "uninstall"):
        done = run(f"sightline hook {command}")
        assert done.exit_code == 1
        assert "correct it, then try again" in done.output
    shown = run("sightline hook status")
    assert shown.exit_code == 0
    assert "it is no JSON" in shown.output
    assert json.loads(run("sightline hook status --json").output)["settings"][0]["error"]
    assert settings(tmp_path).read_text() == '{"model": '


def test_status_says_what_is_in_the_way(tmp_path: Path) -> None:
    """Hooks that are switched off, a program that is gone, changes since, and errors."""
    settings(tmp_path).write_text('{"disableAllHooks": true}')
    assert "disableAllHooks" in run("sightline hook install").output
    text = settings(tmp_path).read_text()
    command = json.loads(text)["statusLine"]["command"].partition(" ")[0]
    settings(tmp_path).write_text(text.replace(command, "/gone/sightline"))
    log_error(str(tmp_path / "me" / ".sightline" / "claude-code"), "pre-compact: OSError: the disk is full")
    shown = run("sightline hook status").output
    assert "disableAllHooks" in shown
    assert "/gone/sightline is not there any more" in shown
    assert "changed since" in shown
    assert "the disk is full" in shown
    facts = json.loads(run("sightline hook status --json").output)
    assert facts["settings"][0]["hooks_off"] is True
    assert facts["errors"][0].endswith("the disk is full")


def test_what_claude_code_calls_is_a_command_too(tmp_path: Path) -> None:
    """The same as without the rest of the command line."""
    done = CliRunner().invoke(app, ["hook", "run", "status-line", "--lang", "zh", "--before", "echo mine"], input="{}")
    assert done.exit_code == 0
    assert done.output.splitlines()[0] == "mine"
    assert "0/200k" in done.output
    assert CliRunner().invoke(app, ["hook", "run", "pre-compact"], input="nonsense").exit_code == 0
