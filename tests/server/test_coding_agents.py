"""Coding agents themselves, in forty calls of their own tools: no request of theirs is refused."""

import signal
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from coding_agents import (
    LAST,
    REST,
    EditAll,
    ListAll,
    Programs,
    Project,
    asks_aside,
    install,
    install_newest,
    item_of,
    make_project,
    run_claude,
    run_cline,
    run_codex,
    run_continue,
    run_gemini,
    run_qwen,
)
from loopback import Server
from serve_process import ServeProcess
from test_proxy_windows import windows_in
from through_proxy import asked_names
from upstream import Upstream

from sightline.compose.verify import verify
from sightline.log.stores.session_folder import Folder
from sightline.server.app import create_app
from sightline.server.config import Config
from sightline.session.session import Session

ROOT = Path(__file__).parent.parent.parent
FILES = 20  # two calls for each
# Tokens: Claude Code begins with 17,500, Codex 7,800, Gemini CLI 9,700, Qwen Code 16,400, Cline 4,600
# and Continue with 1,900; the files are 50,000.
WINDOW = 32_000

pytestmark = pytest.mark.soak


@pytest.fixture(scope="session")
def programs() -> Programs:
    """The agents, installed once."""
    return install(ROOT / ".cache" / "agents")


AGENTS = ["claude", "claude newest", "codex", "gemini", "qwen", "cline", "continue"]


def tools_of(agent: str) -> str:
    """Whose tools an agent has."""
    return agent.partition(" ")[0]


def run(agent: str, programs: Programs, project: Project, address: str, *options: str) -> str:
    """Run an agent whose provider has this address."""
    match agent:
        case "claude":
            return run_claude(programs, project, address, *options)
        case "claude newest":
            return run_claude(install_newest(ROOT / ".cache"), project, address, *options)
        case "qwen":
            return run_qwen(programs, project, f"{address}/v1")
        case "cline":
            return run_cline(programs, project, address)
        case "continue":
            return run_continue(programs, project, address)
        case "gemini":
            return run_gemini(programs, project, address, *options)
        case _:
            return run_codex(programs, project, f"{address}/v1", *options)


def noting(app: Any, bodies: list[bytes]) -> Any:
    """An application that notes the bodies of its requests."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        pieces: list[bytes] = []

        async def noted() -> Any:
            message = await receive()
            pieces.append(message.get("body", b""))
            return message

        await app(scope, noted, send)
        bodies.append(b"".join(pieces))

    return call


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_does_its_task(agent: str, programs: Programs, tmp_path: Path) -> None:
    """Without a proxy: every file is changed, the last words are said, and the strict upstream refused nothing."""
    project = make_project(tmp_path, files=FILES, lines=150)
    with Upstream(EditAll(project, tools_of(agent))) as upstream:
        said = run(agent, programs, project, upstream.anthropic_url)
    assert upstream.invalid == []
    assert project.is_done()
    assert said == LAST
    assert len([asked for asked in upstream.calls if not asks_aside(asked)]) == 2 * FILES + 1


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_does_its_task_through_the_proxy_in_a_small_window(
    agent: str, programs: Programs, tmp_path: Path
) -> None:
    """Several sweeps later no request was refused, none was over the window, every file is changed, all is in the log.

    Before the first sweep every body went up as the agent had written it.
    """
    project = make_project(tmp_path, files=FILES, lines=250)
    with Upstream(EditAll(project, tools_of(agent)), window=WINDOW) as upstream:
        upstreams = {
            "anthropic": upstream.anthropic_url, "openai": upstream.openai_url, "gemini": upstream.gemini_url,
        }  # fmt: skip
        config = Config(folder=tmp_path, root=tmp_path / "sessions", upstreams=upstreams, window=WINDOW)
        app = create_app(config)
        came: list[bytes] = []
        with Server(noting(app, came)) as server:
            said = run(agent, programs, project, server.url)
        assert upstream.invalid == []
    whole = [*takewhile(lambda asked: "expand" not in asked_names(asked), upstream.calls)]
    assert 0 < len(whole) < len(upstream.calls)
    assert {asked.raw for asked in whole} <= {*came}
    assert project.is_done()
    assert said == LAST
    assert app.state.totals.sweeps >= 2
    assert app.state.totals.unlogged == 0
    assert max(asked.bill.given for asked in upstream.calls if asked.bill) <= WINDOW
    sessions = [_texts(tmp_path, each) for each in Folder(tmp_path, tmp_path / "sessions").sessions()]
    assert len(sessions) == 1 or agent == "gemini"  # it asks aside
    texts = "\n".join(max(sessions, key=len))
    assert all(f"# line 249 of part {number}:" in texts for number in range(FILES))


@pytest.mark.parametrize(
    ("agent", "goes_on"), [("claude", ("--continue",)), ("codex", ("resume", "--last"))], ids=["claude", "codex"]
)
def test_a_list_in_a_window_outlives_sweeps_a_kill_and_a_restart(
    agent: str, goes_on: tuple[str, ...], programs: Programs, tmp_path: Path
) -> None:
    """An agent keeps a list over forty calls. In the middle it ends, and the proxy is killed; both start again.

    The agent never sees the list, no request was refused, and at the end the model sees every item.
    """
    project = make_project(tmp_path, files=FILES, lines=250)
    options = ("--apps", "todo", "--window", str(WINDOW))
    with (
        Upstream(ListAll(project, agent), window=WINDOW) as upstream,
        ServeProcess(tmp_path, upstream, *options) as serving,
    ):
        assert run(agent, programs, project, serving.url) == REST
        serving.signal(signal.SIGKILL)
        serving.wait()
        serving.start()
        assert run(agent, programs, project, serving.url, *goes_on) == LAST
        assert upstream.invalid == []
    assert project.is_done()
    assert len(upstream.calls) >= 3 * FILES
    assert max(asked.bill.given for asked in upstream.calls if asked.bill) <= WINDOW
    assert any("look" in asked_names(asked) for asked in upstream.calls)  # it was swept
    wire = "anthropic" if agent == "claude" else "responses"
    [window] = windows_in(wire, upstream.calls[-1].body)
    assert all(item_of(number) in window for number in range(FILES))
    [kept] = Folder(tmp_path, tmp_path / "logs").sessions()
    with Session.inspect(kept, tmp_path, root=tmp_path / "logs") as session:
        assert all(payload.good for payload in verify(session.log))


def _texts(folder: Path, session_id: str) -> list[str]:
    with Session.inspect(session_id, folder, root=folder / "sessions") as session:
        return [session.items.text(item.id) for item in session.items]
