"""Claude Code itself with our hooks: a rule outlives its compactions, and the meter is on its screen."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pexpect
import pytest
from coding_agents import LAST, SUMMARY, TASK, EditAll, Programs, Project, install, make_project, run_claude
from upstream import Asked, Upstream

from sightline.adapters.claude_entries import program

ROOT = Path(__file__).parent.parent.parent
RULE = "Never touch the file part_99.py."
SETTINGS = '{\n   "hooks": {"PreCompact": [ {"hooks": [{"type": "command", "command": "true"}]} ]},\n   "env": {}}\n'

pytestmark = pytest.mark.soak


@pytest.fixture(scope="session")
def programs() -> Programs:
    """Claude Code, installed once."""
    return install(ROOT / ".cache" / "agents")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project, and a home whose settings have our entries among others."""
    project = make_project(tmp_path, files=24, lines=40)  # small ones: some are shown again after a compaction
    settings = home(project) / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS)
    sightline(project, "hook install")
    return project


def home(project: Project) -> Path:
    return project.folder.parent / "home"


def sightline(project: Project, words: str) -> str:
    """Run a command of ours as the user would, with nothing on the PATH."""
    done = subprocess.run(
        f"{program()} {words}", shell=True, cwd=project.folder, capture_output=True, text=True, check=False,
        env={"HOME": str(home(project)), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def given_back(asked: Asked) -> int:
    """How often a request has the rule as we give it back."""
    return json.dumps(asked.body, ensure_ascii=False).count(f"\\n- {RULE}\\n")


def check_uninstall(project: Project) -> None:
    """Nothing went wrong, and the settings are as they were, byte for byte."""
    assert "No errors." in sightline(project, "hook status")
    sightline(project, "hook uninstall")
    assert (home(project) / ".claude" / "settings.json").read_bytes() == SETTINGS.encode()


def test_a_rule_outlives_a_compaction_by_hand(programs: Programs, project: Project) -> None:
    """The summary does not have it; the request after the compaction has it once, and so has one after a resume."""
    with Upstream(EditAll(project, "claude")) as upstream:
        run_claude(programs, project, upstream.anthropic_url, task=f"{TASK} {RULE}")
        assert not any(map(given_back, upstream.calls))
        run_claude(programs, project, upstream.anthropic_url, "--continue", task="/compact")
        for task in ("Say bye.", "Say bye again."):
            run_claude(programs, project, upstream.anthropic_url, "--continue", task=task)
            last = upstream.calls[-1]
            assert task in json.dumps(last.body)
            assert SUMMARY in json.dumps(last.body)
            assert given_back(last) == 1
    assert upstream.invalid == []
    assert project.is_done()
    check_uninstall(project)


def test_a_rule_outlives_compactions_in_the_middle_of_the_work(programs: Programs, project: Project) -> None:
    """Claude Code compacts by itself when its window is full; every later request has the rule, to the last one."""
    small = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "40"}
    with Upstream(EditAll(project, "claude")) as upstream:
        said = run_claude(programs, project, upstream.anthropic_url, task=f"{TASK} {RULE}", **small)
    compacted = [SUMMARY in json.dumps(asked.body) for asked in upstream.calls]
    assert any(compacted)
    assert [given_back(asked) > 0 for asked in upstream.calls] == compacted
    assert upstream.invalid == []
    assert said == LAST
    check_uninstall(project)


def test_the_meter_is_on_the_screen(programs: Programs, project: Project) -> None:
    """In a terminal, after an answer. Of the settings, which Claude Code has written anew since, our entries go."""
    accepted: dict[str, Any] = {
        "hasCompletedOnboarding": True, "theme": "dark",
        "bypassPermissionsModeAccepted": True,  # Claude Code moves it to the settings: it writes the file anew
        "customApiKeyResponses": {"approved": ["any"], "rejected": []},
        "projects": {str(project.folder): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }  # fmt: skip
    (home(project) / ".claude.json").write_text(json.dumps(accepted))
    with Upstream(EditAll(project, "claude")) as upstream:
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(home(project)), "TERM": "xterm-256color",
            "ANTHROPIC_BASE_URL": upstream.anthropic_url, "ANTHROPIC_API_KEY": "any", "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }  # fmt: skip
        agent = pexpect.spawn(
            str(programs.claude), ["--allowedTools", "Read,Edit", "--permission-mode", "acceptEdits"], timeout=90,
            cwd=project.folder, env=environment, dimensions=(50, 160), encoding="utf-8",
        )  # fmt: skip
        try:
            agent.expect(r"0/[\d.]+[kM] 0%")
            agent.send("Begin")
            agent.send("\r")
            agent.expect(r"(\d+)k/[\d.]+[kM] \d+% .* \d+% cached")
            assert int(agent.match[1]) > 10
        finally:
            agent.close(force=True)
    sightline(project, "hook uninstall")
    left = json.loads((home(project) / ".claude" / "settings.json").read_text())
    assert left == {**json.loads(SETTINGS), "skipDangerousModePermissionPrompt": True}
