"""Claude Code and Codex themselves, in forty calls of their own tools: no request of theirs is refused."""

from pathlib import Path

import pytest
from coding_agents import LAST, EditAll, Programs, install, make_project, run_claude, run_codex
from upstream import Upstream

ROOT = Path(__file__).parent.parent.parent
FILES = 20  # two calls for each

pytestmark = pytest.mark.soak


@pytest.fixture(scope="session")
def programs() -> Programs:
    """Both agents, installed once."""
    return install(ROOT / ".cache" / "agents")


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_an_agent_does_its_task(agent: str, programs: Programs, tmp_path: Path) -> None:
    """Every file is changed, the last words are said, and the strict upstream refused nothing."""
    project = make_project(tmp_path, files=FILES, lines=150)
    with Upstream(EditAll(project, agent)) as upstream:
        if agent == "claude":
            said = run_claude(programs, project, upstream.anthropic_url)
        else:
            said = run_codex(programs, project, upstream.openai_url)
        assert upstream.invalid == []
    assert project.is_done()
    assert said == LAST
    assert len(upstream.calls) == 2 * FILES + 1
