"""Pipes of strategies on the command line: replayed, verified, shown and used in the chat."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from booking import Server, book, texts
from click.testing import CliRunner, Result

from sightline.cli.main import app
from sightline.log.stores.session_folder import Folder
from sightline.session.session import Session

Run = Callable[..., Result]
JOINED = "rounds → sliding"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a command in the project, as if piped."""
    (tmp_path / "shop").mkdir()

    def run_(*args: str, **options: Any) -> Result:
        places = ["--project", str(tmp_path / "shop"), "--root", str(tmp_path / "home")]
        return CliRunner().invoke(app, [*places, *args], **options)

    return run_


@pytest.mark.slow
def test_a_pipe_of_the_project_is_replayed_verified_and_shown(tmp_path: Path, run: Run) -> None:
    """Under the joined names of its stages."""
    (tmp_path / "shop" / "sightline.toml").write_text('strategy = ["rounds", "sliding"]\n', encoding="utf-8")
    assert JOINED in run("strategies").stdout
    facts = json.loads(run("replay", "--sample", "data_report", "--keep", "--json").stdout)
    assert facts["strategy"] == JOINED
    assert {"sweep: rounds", "sweep: window"} <= {call["reason"] for call in facts["calls"]}
    verified = run("verify", facts["session"])
    assert verified.exit_code == 0, verified.output
    assert json.loads(run("context", facts["session"], "--json").stdout)["strategy"] == JOINED


@pytest.mark.slow
def test_a_pipe_can_be_named(run: Run) -> None:
    """With commas; what contradicts itself is refused."""
    named = run("replay", "--sample", "data_report", "--strategy", "rounds,focus", "--json")
    assert json.loads(named.stdout)["strategy"] == "rounds → focus"
    refused = run("replay", "--sample", "data_report", "--strategy", "sliding,rounds")
    assert refused.exit_code == 1
    assert "comes last" in " ".join(refused.output.split())


@pytest.mark.slow
def test_a_pipe_with_a_thrifty_stage_says_its_economy(tmp_path: Path, run: Run) -> None:
    """Its configuration is under the stage's name."""
    text = 'strategy = ["rounds", "focus"]\n[config.focus]\neconomy = "thrifty"\n'
    (tmp_path / "shop" / "sightline.toml").write_text(text, encoding="utf-8")
    done = run("replay", "--sample", "data_report", "--window", "200000", "--until", "2")
    assert done.exit_code == 0, done.output
    assert "thrifty" in done.output


@pytest.mark.slow
def test_the_chat_fills_in_the_state_of_a_stage(tmp_path: Path, run: Run) -> None:
    """The model's values are under the stage's name, and the prompt and `context` show them."""
    project = tmp_path / "shop"
    with Server({"To Oslo.": {"destination": "Oslo"}, "Book it.": {}}) as server:
        book(project, server.url)
        plugin = json.loads((project / "plugin.json").read_text(encoding="utf-8"))
        plugin["contextStrategy"] = ["rounds", plugin["contextStrategy"], "sliding"]
        (project / "plugin.json").write_text(json.dumps(plugin), encoding="utf-8")
        assert run("chat", "-p", "To Oslo.").exit_code == 0
        assert run("chat", "-c", "-p", "Book it.").stdout == "Noted.\n"
    asked = texts(server.questions()[1])
    assert asked[0].endswith('{"destination":"Oslo"}')
    assert asked[-1] == "Book it."
    assert json.loads(run("context", "--json").stdout)["state"] == {"destination": "Oslo"}
    folder = Folder(project, tmp_path / "home")
    with Session.resume(folder.sessions()[0], project, root=tmp_path / "home") as session:
        assert session.state == {"entities": {"destination": "Oslo"}}
        assert session.strategy.name == "rounds → entities → sliding"
