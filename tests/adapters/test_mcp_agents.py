"""Claude Code and Codex themselves call the tools of `sightline mcp`, added by the one line that the README shows."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from coding_agents import Programs, Project, install, make_project, run_claude, run_codex
from mcp_home import Home
from upstream import Asked, Upstream
from upstream_script import Answer, Block, Raw, answer, call

ROOT = Path(__file__).parent.parent.parent
LAST = "It was ACME."
STEPS = 30  # at most, until the server has started

pytestmark = pytest.mark.soak


@pytest.fixture(scope="session")
def programs() -> Programs:
    """Both agents, installed once."""
    return install(ROOT / ".cache" / "agents")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project of a user who settled something in a session with Claude Code, long ago."""
    made = make_project(tmp_path, files=1, lines=3)
    (tmp_path / "home").mkdir()
    home = Home(tmp_path / "home", monkeypatch)
    home.claude = tmp_path / "home" / ".claude"
    home.claude_log("old", "Which certificate for the heron host?", "We decided: ACME, renewed weekly.")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return made


class Remember:
    """The script: search, expand what was found, and a last word. While the server starts, the agent waits for it."""

    def __init__(self, agent: str) -> None:
        self._agent, self.steps, self.seen = agent, 0, ""

    def __call__(self, asked: Asked) -> Answer:
        """The next step."""
        self.steps += 1
        names = [tool.get("name") or "" for tool in asked.body.get("tools", [])]
        text = json.dumps(asked.body)
        if self.steps > STEPS:
            return answer("The server did not start.")
        if not any(name.startswith("mcp__sightline") for name in names):
            return answer(self._wait())
        if found := re.search(r"session (file-\w+) .*?   id (L\d+\.\d+)", text):
            if f"From session {found[1]}: [#" in text:
                self.seen = text
                return answer(LAST)
            return self._call("expand", session=found[1], id=found[2])
        return self._call("search_sessions", words="which certificate was decided")

    def _wait(self) -> Block:
        if self._agent == "claude":
            return call("WaitForMcpServers", {})
        return call("exec_command", {"cmd": "sleep 1"})

    def _call(self, name: str, **given: str) -> Answer:
        if self._agent == "claude":
            return answer(call(f"mcp__sightline__{name}", given))
        item = {
            "type": "function_call", "id": f"fc_{self.steps}", "call_id": f"call_{self.steps}", "name": name,
            "namespace": "mcp__sightline", "arguments": json.dumps(given), "status": "completed",
        }  # fmt: skip
        return answer(Raw(item))


def added(program: Path, project: Project, variables: dict[str, str]) -> None:
    """Add the server as the README says."""
    line = re.search(r"`claude (mcp add sightline -- sightline mcp)`", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert line
    done = subprocess.run(
        [program, *line[1].split()], cwd=project.folder, capture_output=True, text=True, check=False, timeout=120,
        env={"PATH": os.environ["PATH"], "HOME": str(project.folder.parent / "home"), **variables},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_claude_code_remembers(programs: Programs, project: Project) -> None:
    """It searches and reads a session that nobody imported, and gets what was said there."""
    script = Remember("claude")
    added(programs.claude, project, {})
    with Upstream(script) as upstream:
        tools = ("--allowedTools", "mcp__sightline__search_sessions,mcp__sightline__expand")
        assert run_claude(programs, project, upstream.anthropic_url, *tools) == LAST
    assert upstream.invalid == []
    assert "> We decided: ACME, renewed weekly." in script.seen


def test_claude_code_remembers_over_http(programs: Programs, project: Project) -> None:
    """The line that `sightline mcp --http` prints adds the server, with its token."""
    variables = {"PATH": os.environ["PATH"], "HOME": str(project.folder.parent / "home")}
    with subprocess.Popen(
        ["sightline", "mcp", "--http", "--port", "0"], cwd=project.folder, stderr=subprocess.PIPE, text=True,
        env=variables,
    ) as server:  # fmt: skip
        try:
            assert server.stderr
            line = next(line for line in server.stderr if line.strip().startswith("claude mcp add"))
            done = subprocess.run(
                [programs.claude, *shlex.split(line)[1:]], cwd=project.folder, env=variables, capture_output=True,
                text=True, check=False, timeout=120,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            script = Remember("claude")
            with Upstream(script) as upstream:
                tools = ("--allowedTools", "mcp__sightline__search_sessions,mcp__sightline__expand")
                assert run_claude(programs, project, upstream.anthropic_url, *tools) == LAST
        finally:
            server.terminate()
    assert "> We decided: ACME, renewed weekly." in script.seen


def test_codex_remembers(programs: Programs, project: Project) -> None:
    """The same: what Claude Code was told, Codex finds."""
    script = Remember("codex")
    home = project.folder.parent / "codex"
    home.mkdir()
    added(programs.codex, project, {"CODEX_HOME": str(home)})
    config = (home / "config.toml").read_text()
    assert "[mcp_servers.sightline]" in config
    options = ("-c", 'mcp_servers.sightline={command="sightline", args=["mcp"]}')  # the run below writes its own file
    with Upstream(script) as upstream:
        assert run_codex(programs, project, upstream.openai_url, *options) == LAST
    assert upstream.invalid == []
    assert "> We decided: ACME, renewed weekly." in script.seen
