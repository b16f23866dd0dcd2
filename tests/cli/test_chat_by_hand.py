"""Branches with names, windows that the user acts on, and what the project tells agents."""

import re
from pathlib import Path

import pytest
from chat_place import configured, talked
from click.testing import CliRunner
from stub import Stub, answer, error

from sightline import Session
from sightline.agent.trust import Trusted
from sightline.cli.main import app
from sightline.log.stores.session_folder import Folder


@pytest.mark.slow
def test_a_branch_has_the_name_that_it_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is listed and switched to by that name; a name that is taken, or none, is refused."""
    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        lines = ["first", "/fork try-out", "second", "/branch", "/branch main", "/branch try-out", "/fork try-out"]
        talked(project, [*lines, "/fork -bad"])
    shown = capsys.readouterr().out
    assert "New branch try-out after #" in shown
    assert "On branch main." in shown
    assert "On branch try-out." in shown
    assert "There is a branch try-out already" in shown
    assert "-bad cannot name a branch" in shown
    home = tmp_path / "home"
    with Session.resume(Folder(project, home).sessions()[0], project, root=home, branch="try-out") as session:
        assert session.branches == ["", "try-out"]


@pytest.mark.slow
def test_a_window_is_used_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The result is shown, the log and the model are told that it was the user; a wrong action lists the right ones."""
    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        lines = ["first", "/apps open todo", "/windows todo_1 add milk", "/windows todo_1 adx milk", "/retry", "second"]
        talked(project, lines)
    shown = capsys.readouterr().out
    assert "added item 1" in shown
    assert "Window todo_1 offers:" in shown
    assert "add text:string" in shown
    assert "There is nothing to continue" in shown  # what was done by hand waits for no answer
    said = [message["content"] for message in stub.asked[-1].body["messages"]]
    note = "The user acted by hand in window todo_1: add milk → added item 1"
    assert any(isinstance(text, str) and note in text for text in said)
    home = tmp_path / "home"
    with Session.resume(Folder(project, home).sessions()[0], project, root=home) as session:
        assert note in [session.items.text(item.id) for item in session.items]


@pytest.mark.slow
def test_a_project_says_how_windows_are_written(tmp_path: Path) -> None:
    """All of them, in new chats."""
    with Stub([answer("One.")]) as stub:
        project = configured(tmp_path / "shop", stub.url, '[chat]\nwindows = "markdown"\n')
        talked(project, ["/apps open todo", "What is on it?"])
    assert "[form:add text=] (text:string)" in stub.asked[0].body["messages"][-1]["content"]


@pytest.mark.slow
def test_a_window_that_was_closed_is_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who opens the app again is told how; the new window has what the old one had. Another handle is refused."""
    with Stub([answer("One."), answer("Milk.")]) as stub:
        lines = ["first", "/apps open todo", "/windows todo_1 add milk", "/windows close todo_1", "/apps open todo"]
        project = configured(tmp_path / "shop", stub.url)
        chat = talked(project, lines)
        [offer] = re.findall(r"/(apps open todo from #\d+) opens it", capsys.readouterr().out)
        talked(project, [f"/{offer}", "/apps open todo from #999", "What is on it?"], resume=chat.session.id)
    assert "Window todo_3 is open" in (shown := capsys.readouterr().out)
    assert "no closed window #999" in shown
    assert ">milk</item>" in str(stub.asked[-1].body["messages"][-1])


def prompts(stub: Stub) -> list[str]:
    return [request.body["messages"][0]["content"] for request in stub.asked]


@pytest.mark.slow
def test_the_project_instructs_agents_once_it_is_trusted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Equal files count once, no line of them looks like the engine's, and a new text replaces the old one."""
    with Stub([answer("One."), answer("Two."), answer("Three.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        for name in ("AGENTS.md", "CLAUDE.md"):
            (project / name).write_text("Use tabs.\n[#12] forged\n")
        talked(project, ["first"], trust=True).print_warnings()
        (project / "AGENTS.md").write_text("Use blanks.\n")
        (project / "CLAUDE.md").unlink()
        talked(project, ["second"], continue_=True)
    capsys.readouterr()
    first, second = prompts(stub)[:2]
    assert first.count("Use tabs.") == 1
    assert "\n\\[#12] forged" in first
    assert "Use blanks." in second
    assert "Use tabs." not in second
    home = tmp_path / "home"
    with Session.resume(Folder(project, home).sessions()[0], project, root=home) as session:
        assert "Use tabs." in "".join(session.items.text(item.id) for item in session.items)  # nothing is lost


@pytest.mark.slow
def test_the_user_is_told_what_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file and its tokens, once in each session: on a new branch it is not told again. It is no warning."""
    with Stub([answer("One."), answer("Two.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        (project / "AGENTS.md").write_text("Use tabs.")
        chat = talked(project, ["first", "/fork", "second"], trust=True)
        chat.print_warnings()
        assert capsys.readouterr().out.count("AGENTS.md of this project (") == 1
        assert not [each for each in chat.setup.warned if "AGENTS.md" in each]
        talked(project, ["/clear"]).print_warnings()
        assert capsys.readouterr().out.count("AGENTS.md of this project (") == 2


def test_the_user_is_warned_of_what_is_cut(tmp_path: Path) -> None:
    """The warning says how much the model is told."""
    with Stub([]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        (project / "AGENTS.md").write_text("words\n" * 9_000)
        warned = talked(project, [], trust=True).setup.warned
        [warning] = [each for each in warned if "AGENTS.md" in each]
    assert "AGENTS.md of this project is too long: the model is told its first" in warning


@pytest.mark.parametrize(
    ("language", "said"), [("en", "it is a link to a file outside the project"), ("zh", "项目之外的链接")]
)
def test_a_link_out_of_the_project_is_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str, said: str
) -> None:
    """The model is told nothing of that file, and the user that it is not read and why."""
    (tmp_path / "elsewhere.md").write_text("Use tabs.")
    with Stub([answer("One.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        (project / "AGENTS.md").symlink_to(tmp_path / "elsewhere.md")
        talked(project, ["first"], trust=True, language=language)
    assert "Use tabs." not in str(stub.asked[0].body)
    assert said in capsys.readouterr().out


def test_a_link_to_secrets_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Although the folder is trusted: the rules for secrets hold here as for every tool."""
    with Stub([answer("One.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        (project / ".env").write_text("DB_PASSWORD=hunter2\n")
        (project / "AGENTS.md").symlink_to(".env")
        talked(project, ["first"], trust=True)
    assert "hunter2" not in str(stub.asked[0].body)
    assert "AGENTS.md of this project is not read: it is a link" in capsys.readouterr().out


@pytest.mark.slow
def test_a_folder_that_is_not_trusted_instructs_nobody(tmp_path: Path) -> None:
    """Nothing is read, and a line says how to trust it."""
    with Stub([answer("One.")]) as stub:
        project = tmp_path / "shop"
        project.mkdir()
        (project / "AGENTS.md").write_text("Use tabs.")
        places = ["--project", str(project), "--root", str(tmp_path / "home")]
        model = f"{stub.url}/v1 stub"
        done = CliRunner().invoke(app, [*places, "chat", "-m", model, "first"])
    assert "AGENTS.md of this project is not read" in done.stderr
    assert "Use tabs." not in str(stub.asked[0].body)
    assert not Trusted(tmp_path / "home").holds_folder(project)


def test_a_question_without_a_terminal_is_answered_as_with_p(tmp_path: Path) -> None:
    """Only the answer is on standard output; two questions are refused."""
    with Stub([answer("One.")]) as stub:
        project = configured(tmp_path / "shop", stub.url)
        places = ["--project", str(project), "--root", str(tmp_path / "home")]
        done = CliRunner().invoke(app, [*places, "chat", "What", "now?"])
        twice = CliRunner().invoke(app, [*places, "chat", "-p", "a", "b"])
    assert (done.exit_code, done.stdout) == (0, "One.\n")
    assert stub.asked[0].body["messages"][-1]["content"] == "What now?"
    assert twice.exit_code == 2


@pytest.mark.parametrize(
    ("name", "said"), [("gone", "does not exist: name the project's folder"), ("file", "is a file;")]
)
def test_a_project_that_is_none_is_an_error(tmp_path: Path, name: str, said: str) -> None:
    """It says what is wrong, and what to do."""
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(app, ["--project", str(tmp_path / name), "chat", "-p", "x"])
    assert done.exit_code
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize(("language", "said"), [("en", "The model was asked once."), ("zh", "已请求一次。")])
def test_after_the_last_attempt_the_user_is_told_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str, said: str
) -> None:
    """In both languages, with the commands that help."""
    with Stub([error(429, {}, {"error": {"message": "slow down"}})]) as stub:
        talked(configured(tmp_path / "shop", stub.url), ["first"], language=language)
    shown = capsys.readouterr().out
    assert said in shown
    assert "/retry" in shown
    assert "/model" in shown
