"""`sightline trust`, and what a chat asks and says before it trusts a folder."""

import json
import os
from pathlib import Path

import pytest
from chat_place import configured
from chat_terminal import Terminal
from click.testing import CliRunner, Result
from stub import Stub, answer

from sightline.agent.config import read_config
from sightline.agent.trust import Trusted, reaches
from sightline.cli.main import app

SERVER = '[mcp.x]\ncommand = "serve"\nenv = {PATH = "/evil", TOKEN = "secret"}\n'


def run(root: Path, *args: str) -> Result:
    return CliRunner().invoke(app, ["--root", str(root), *args])


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project whose file and folder are trusted."""
    project, home = tmp_path / "shop", Trusted(tmp_path / "home", clock=lambda: 1_767_225_600_000)
    project.mkdir()
    (project / "sightline.toml").write_text(SERVER, encoding="utf-8")
    config = read_config(project, {})
    home.add(config, reaches(config, project, {}))
    home.add_folder(project)
    return project


def test_what_is_trusted_is_listed(tmp_path: Path, shop: Path) -> None:
    """The folder, since when, and what: for people in their language, and as one object. No secret is shown."""
    lines = run(tmp_path / "home", "trust").stdout.splitlines()
    assert lines[0] == str(shop)
    assert lines[1].endswith("AGENTS.md and CLAUDE.md are part of the system prompt")
    assert lines[2].endswith("sightline.toml, as it was then:")
    assert lines[3] == "    starts a program as you, not confined: mcp.x: serve (env PATH=/evil, TOKEN)"
    assert "--withdraw" in lines[4]
    assert "以你的身份启动程序" in run(tmp_path / "home", "--lang", "zh", "trust").stdout
    texts, file = json.loads(run(tmp_path / "home", "trust", "--json").stdout)["trusted"]
    assert texts == {
        "folder": str(shop), "since": 1_767_225_600, "file": None, "reaches": [], "instructions": True,
    }  # fmt: skip
    assert (file["file"], file["instructions"], len(file["reaches"])) == ("sightline.toml", None, 1)


def test_trust_is_withdrawn(tmp_path: Path, shop: Path) -> None:
    """For the folder as a whole, its file and its instructions; a folder that is not trusted is an error."""
    home = tmp_path / "home"
    assert "no longer trusted" in run(home, "trust", "--withdraw", str(shop)).stdout
    assert run(home, "trust").stdout.startswith("No folder is trusted.")
    again = run(home, "trust", "--withdraw", str(shop), "--json")
    assert (again.exit_code, again.stderr.count("\n")) == (1, 1)
    assert "`sightline trust`" in again.stderr


@pytest.mark.slow
def test_trust_by_option_says_that_it_is_remembered(tmp_path: Path) -> None:
    """Once, with the command that withdraws it."""
    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        chat = ["--project", str(project), "chat", "--trust", "-p", "Hello"]
        first, second = (run(tmp_path / "home", *chat) for _ in range(2))
    assert f"`sightline trust --withdraw {project}`" in first.stderr
    assert "withdraw" not in second.stderr
    assert (first.stdout, second.stdout) == ("One.\n", "Two.\n")


def test_a_no_says_what_is_not_used(tmp_path: Path) -> None:
    """The question names all that is asked for, also the instructions for agents; nothing is remembered."""
    project = configured(tmp_path / "shop", "http://127.0.0.1:9", SERVER)
    (project / "AGENTS.md").write_text("Use tabs.")
    terminal = Terminal(project)
    terminal.until("[y/N]: ")
    shown = " ".join(terminal.shown.split())
    assert "starts a program as you, not confined: mcp.x: serve (env PATH=/evil, TOKEN)" in shown
    assert "in the system prompt: AGENTS.md" in shown
    terminal.type("n\r")
    terminal.until("is not used")
    assert terminal.end() == 1
    assert not list(tmp_path.rglob("trusted.json"))


@pytest.mark.slow
@pytest.mark.parametrize("reply", ["y", "n"])
def test_instructions_for_agents_are_asked_about_once(tmp_path: Path, reply: str) -> None:
    """Also where there is nothing else to ask; the answer is remembered, whether it is yes or no."""
    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        (project / "AGENTS.md").write_text("Use tabs.")
        terminal = Terminal(project)
        terminal.until("[y/N]: ")
        assert "AGENTS.md (3 tokens)" in " ".join(terminal.shown.split())
        terminal.type(f"{reply}\r")
        terminal.until("--withdraw" if reply == "y" else "AGENTS.md of this project is not read")
        terminal.prompt()
        terminal.type("Hello\r")
        terminal.until("One.")
        terminal.prompt()
        terminal.type("\x04")
        assert terminal.end() == 0
        again = Terminal(project)
        again.prompt()
        again.type("\x04")
        assert again.end() == 0
        assert "[y/N]" not in again.shown
        if reply == "n":
            assert "as you decided" in " ".join(again.shown.split())
            assert "--trust" not in terminal.shown + again.shown  # nobody is urged to what they have refused
    assert ("Use tabs." in str(stub.asked[0].body)) == (reply == "y")


@pytest.mark.slow
def test_the_question_names_the_files_of_the_folders_above(tmp_path: Path) -> None:
    """Up to the root of the repository; each of the folders is trusted then, and the nearest speaks last."""
    home = Trusted(tmp_path / "home")
    with Stub([answer("One.")]) as stub:
        repository = tmp_path / "repository"
        (repository / ".git").mkdir(parents=True)
        (repository / "AGENTS.md").write_text("Use tabs.")
        (tmp_path / "AGENTS.md").write_text("Use a typewriter.")
        project = configured(repository / "shop", stub.url)
        config = read_config(project, os.environ)
        home.add(config, reaches(config, project, os.environ))
        (project / "AGENTS.md").write_text("Use commas.")
        terminal = Terminal(project, "Hello")
        terminal.until("[y/N]: ")
        assert "../AGENTS.md (3 tokens) & AGENTS.md (" in " ".join(terminal.shown.split())
        terminal.type("y\r")
        terminal.until("One.")
        terminal.prompt()
        terminal.type("\x04")
        assert terminal.end() == 0
    told = stub.asked[0].body["messages"][0]["content"]
    assert told.index("../AGENTS.md") < told.index("Use tabs.") < told.index("Use commas.")
    assert "typewriter" not in str(stub.asked[0].body)
    assert home.holds_folder(repository)
    assert home.holds_folder(project)
