"""Files that a command cannot write or read: which one it is, and what to do, never a raw error of the system."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
COMMANDS = (("setup", "claude", "--yes"), ("hook", "install"))
FORBIDDEN = Path("/proc/1/fdinfo")  # where not even root may write


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """A folder with two lists of messages, of which the second has a role that there is not."""
    folder = tmp_path / "lists"
    folder.mkdir()
    for name, role in (("a.json", "assistant"), ("b.json", "asistant"), ("c.json", "assistant")):
        messages = [{"role": "user", "content": f"Hello from {name}"}, {"role": role, "content": "Hi"}]
        (folder / name).write_text(json.dumps(messages))
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_file_in_the_way_is_named_with_what_to_do(
    command: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that is a file."""
    home = tmp_path / "home"
    home.write_text("")
    monkeypatch.setenv("HOME", str(home))
    done = run("--root", str(home / ".sightline"), "--project", str(tmp_path), *command)
    assert done.exit_code == 1
    assert f"{home}" in done.stderr
    assert "a file is where a folder is needed" in done.stderr
    assert "Move it away" in done.stderr
    assert "[Errno" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(("language", "said"), [("en", "no permission (Permission denied)"), ("zh", "没有权限")])
def test_a_folder_without_permission_is_named_with_what_to_do(
    command: tuple[str, ...], language: str, said: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that nobody may write to."""
    monkeypatch.setenv("HOME", str(FORBIDDEN))
    done = run("--root", str(FORBIDDEN / ".sightline"), "--project", str(tmp_path), "--lang", language, *command)
    assert done.exit_code == 1
    assert done.stderr.startswith(str(FORBIDDEN))
    assert said in done.stderr
    assert "HOME" in done.stderr
    assert "[Errno" not in done.stderr


@pytest.mark.parametrize(("place", "said"), [("none", "Make the folder first"), ("file", "Move it away")])
def test_a_report_that_cannot_be_written_names_the_file_that_was_asked_for(
    place: str, said: str, lists: Path, run: Run, tmp_path: Path
) -> None:
    """And not the one that it is written to meanwhile."""
    (tmp_path / "file").write_text("")
    html = tmp_path / place / "report.html"
    done = run("report", str(lists / "a.json"), "--no-forecast", "--html", str(html))
    assert done.exit_code == 1
    assert done.stderr.startswith(f"{html}: ")
    assert said in done.stderr
    assert ".part" not in done.stderr


def test_a_replay_names_the_file_of_a_bad_message(lists: Path, run: Run) -> None:
    """Of a folder the one that was chosen."""
    done = run("replay", str(lists), "--line", "2")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"{lists / 'b.json'}: messages[1]: found role 'asistant'")


def test_a_bad_message_does_not_keep_the_rest_of_a_folder_from_being_imported(lists: Path, run: Run) -> None:
    """The file is named, the others are sessions, and the command says that something failed."""
    done = run("import", str(lists), "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert len(told["imported"]) == 2
    assert [(Path(each["file"]).name, each["error"][:11]) for each in told["refused"]] == [("b.json", "messages[1]")]


def test_an_empty_pipe_in_the_project_says_that_it_is_empty(run: Run, tmp_path: Path) -> None:
    """In words of the file, and with what happens without the line."""
    (tmp_path / "sightline.toml").write_text("strategy = []\n")
    done = run("--project", str(tmp_path), "replay", "--sample")
    assert done.exit_code == 1
    assert "sightline.toml: strategy: a pipe needs at least one strategy" in done.stderr
    assert "()" not in done.stderr


def test_a_context_says_what_its_budget_is_made_of(run: Run, tmp_path: Path) -> None:
    """The window that the agent was told of, the room for the answer, and what else stays free."""
    told = run("context", "login-bug", "--window", "128000", "--output", "8000").stdout
    assert "budget 120,000" in told
    assert "(window 128,000, less 8,000 for the answer)" in told
    list_of = tmp_path / "list.json"
    list_of.write_text(json.dumps([{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]))
    session = json.loads(run("import", str(list_of), "--profile", "anthropic", "--json").stdout)["imported"][0][
        "session"
    ]
    told = run("context", session, "--window", "200000", "--output", "8000").stdout
    assert "budget 182,857" in told
    assert (
        "(window 200,000, less 8,000 for the answer and 9,143 because the provider may count more than we do)" in told
    )
