"""Claude Code and Codex themselves, in forty calls of their own tools: no request of theirs is refused."""

from pathlib import Path

import pytest
from coding_agents import LAST, EditAll, Programs, install, make_project, run_claude, run_codex
from place import PLACES, open_place
from upstream import Upstream

ROOT = Path(__file__).parent.parent.parent
FILES = 20  # two calls for each
WINDOW = 32_000  # tokens: Claude Code begins with 17,500, Codex with 7,800; the files are 50,000

pytestmark = pytest.mark.soak


@pytest.fixture(scope="session")
def programs() -> Programs:
    """Both agents, installed once."""
    return install(ROOT / ".cache" / "agents")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_an_agent_does_its_task(agent: str, place: str, programs: Programs, tmp_path: Path) -> None:
    """Every file is changed, the last words are said, and the strict upstream refused nothing.

    Through the proxy the window is so small that it must sweep several times; the agent does not know.
    """
    project = make_project(tmp_path, files=FILES, lines=150)
    window = {"window": WINDOW} if place == "proxied" else {}
    with (
        Upstream(EditAll(project, agent), **window) as upstream,
        open_place(place, upstream, tmp_path, **window) as url,
    ):
        said = run_claude(programs, project, url) if agent == "claude" else run_codex(programs, project, f"{url}/v1")
    assert upstream.invalid == []
    assert project.is_done()
    assert said == LAST
    assert len(upstream.calls) == 2 * FILES + 1
