"""`sightline setup`: an agent's own configuration gets our address, and every byte of it comes back."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sightline.adapters.agent_settings import file_of
from sightline.providers.agents import AGENTS

Run = Callable[..., Result]
SET_UP = [name for name, agent in AGENTS.items() if agent.settings]
OPENCODE = '{\n  // mine\n  "theme": "dark", // keep\n}\n'
CLINE = '{"providers":{"anthropic":{"settings":{"apiKey":"sk-secret","model":"m"}}}}'
THERE = {
    "claude": '{"theme":"dark","env":{"A":"1"}}', "codex": '# mine\nmodel = "m"\n\n[tui]\nopenai_base_url = 1\n',
    "gemini": "A=1", "qwen": "{}", "opencode": OPENCODE, "pi": '{\n\t"providers": {}\n}\n',
    "aider": "# mine\ndark-mode: true", "cline": CLINE,
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without agents, on a system that starts nothing at login."""
    for name in list(os.environ):
        if name.endswith(("_BASE_URL", "_API_KEY", "_HOME", "_DIR", "_API_BASE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    return tmp_path


def configuration(home: Path, name: str, text: str | None = None) -> Path:
    """The file of an agent, with this text in it."""
    file = file_of(AGENTS[name].files, {"HOME": str(home)})
    assert file is not None
    if text is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return file


def test_every_agent_that_can_be_set_up_is_tried_here() -> None:
    assert sorted(THERE) == sorted(SET_UP)


@pytest.mark.parametrize("name", SET_UP)
def test_every_byte_comes_back(name: str, home: Path, run: Run) -> None:
    """Also where nobody has written a last newline; what the user wrote stands beside our address meanwhile."""
    file = configuration(home, name, THERE[name])
    done = run("setup", name, "--yes")
    assert done.exit_code == 0, done.output
    written = file.read_text()
    assert "http://127.0.0.1:8787/" in written
    assert all(line.strip(" ,{}") in written for line in THERE[name].splitlines() if len(line) < 40)
    assert "set up already" in run("setup", name, "--yes").output
    assert run("setup", name, "--undo").exit_code == 0
    assert file.read_text() == THERE[name]


@pytest.mark.parametrize("name", [name for name in SET_UP if name != "cline"])
def test_a_file_that_was_not_there_is_gone_again(name: str, home: Path, run: Run) -> None:
    """With the folder that was made for it."""
    folders = set(home.rglob("*"))
    assert run("setup", name, "--yes").exit_code == 0
    assert configuration(home, name).exists()
    assert "as it was before" in run("setup", "--undo").output
    file = configuration(home, name)
    assert not file.exists()
    assert file.parent in (home, *folders) or not file.parent.exists()


@pytest.mark.parametrize(
    ("name", "add", "left"),
    [
        ("opencode", ("{\n", '{\n  "model": "x", // new\n'), '{\n  "model": "x", // new\n' + OPENCODE[2:]),
        ("codex", ("# mine\n", "# mine\nother = 1\n"), THERE["codex"].replace("# mine\n", "# mine\nother = 1\n")),
        ("aider", ("# mine\n", "# mine\nother: 1\n"), "# mine\nother: 1\ndark-mode: true\n"),
    ],
)
def test_of_a_file_that_was_changed_since_only_our_address_goes(
    name: str, add: tuple[str, str], left: str, home: Path, run: Run
) -> None:
    """Comments and what was written meanwhile stay, and a sentence says so."""
    file = configuration(home, name, THERE[name])
    run("setup", name, "--yes")
    file.write_text(file.read_text().replace(*add, 1))
    assert "was changed since" in run("setup", name, "--undo").output
    assert file.read_text() == left


def test_an_earlier_address_is_where_the_server_sends_requests(home: Path, run: Run) -> None:
    """Also when the agent is set up again; then it comes back, and another agent cannot have another one."""
    before = '{"env":{"OPENAI_BASE_URL":"https://gate.example/v1"}}'
    file = configuration(home, "qwen", before)
    for _ in range(2):
        assert "--upstream openai=https://gate.example/v1" in " ".join(run("setup", "qwen", "--yes").output.split())
    refused = run("setup", "codex", "--yes")
    assert refused.exit_code == 1
    assert "one server has one address for each provider" in refused.output
    assert not configuration(home, "codex").exists()
    file.write_text(file.read_text() + "\n")
    run("setup", "--undo")
    assert json.loads(file.read_text()) == json.loads(before)


def test_nothing_is_written_without_a_yes(home: Path, run: Run) -> None:
    """What would be is shown, but for what looks like a key."""
    configuration(home, "cline", CLINE)
    done = run("setup", "cline")
    assert done.exit_code == 1
    assert '"baseUrl":"http://127.0.0.1:8787/anthropic"' in done.output
    assert "sk-secret" not in done.output
    assert configuration(home, "cline").read_text() == CLINE


def test_without_the_packages_of_the_server_nothing_is_written(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No agent is sent to a server that cannot be started here; it is said what to install."""
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = run("setup", "claude", "--yes")
    assert (done.exit_code, configuration(home, "claude").exists()) == (1, False)
    assert "sightline setup needs uvicorn: pip install 'sightline-context[server]'" in done.stderr


def test_a_link_is_not_followed(home: Path, run: Run) -> None:
    """Neither of a file nor of its folder."""
    other = home / "other"
    other.mkdir()
    (other / "settings.json").write_text("{}")
    file = configuration(home, "claude")
    file.parent.mkdir()
    file.symlink_to(other / "settings.json")
    assert "is a link" in run("setup", "claude", "--yes").output
    file.unlink()
    file.parent.rmdir()
    file.parent.symlink_to(other)
    assert "is a link" in run("setup", "claude", "--yes").output
    assert (other / "settings.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("codex", 'model_provider = "azure"\n', "chooses 'azure'"),
        ("codex", 'profile = "x"\n[profiles.x]\nmodel_provider = "azure"\n', "chooses 'azure'"),
        ("cline", '{"providers":{}}', "choose one"),
        ("claude", '{"env": 1}', "is no object"), ("claude", "{", "it was left as it is"),
        ("codex", "a = = 1\n", "no TOML"), ("aider", "{a: 1}\n", "changed safely"),
        ("aider", "# mine\n  dark-mode: true\n", "changed safely"),
        ("aider", "openai-api-base: &a\n  https://gate.example/v1\n", "changed safely"),
        ("continue", "a: 1\n", "yourself (http://127.0.0.1:8787/anthropic, http://127.0.0.1:8787/openai/v1)"),
        ("nobody", None, "no agent that is known"),
    ],
)  # fmt: skip
def test_what_cannot_be_set_up_says_why(name: str, text: str | None, why: str, home: Path, run: Run) -> None:
    """And nothing is changed."""
    file = configuration(home, name, text) if text is not None else None
    done = run("setup", name, "--yes")
    assert done.exit_code == 1
    assert why in " ".join(done.output.split())
    assert done.output.count("cannot be read") <= 1
    assert file is None or file.read_text() == text


@pytest.mark.parametrize("text", [
    "model: m\nset-env:\n  - FOO=bar\n  # more\n\n  - BAZ=1\nread:\n- a\n", "set-env:\n- FOO=bar\n",
    "set-env: [\n  FOO=bar]\n",
])  # fmt: skip
def test_a_list_of_several_lines_stays_one(text: str, home: Path, run: Run) -> None:
    """What the user has to add to it is said in one line, and the rest of the file is changed."""
    file = configuration(home, "aider", text)
    told = " ".join(run("setup", "aider", "--yes").output.split())
    assert "set-env is not changed" in told
    assert "add ANTHROPIC_API_BASE=http://127.0.0.1:8787/anthropic" in told
    assert file.read_text() == f"{text}openai-api-base: http://127.0.0.1:8787/openai/v1\n"
    run("setup", "aider", "--undo")
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("aider", "openai-api-base:\n  https://gate.example/v1  # mine\n", "openai-api-base: {}/openai/v1\n"),
        ("aider", "openai-api-base: >-\n  https://gate.example/v1\n", "openai-api-base: {}/openai/v1\n"),
        ("aider", "'openai-api-base': 'https://gate.example/v1'\n", "openai-api-base: {}/openai/v1\n"),
        ("gemini", "  GOOGLE_GEMINI_BASE_URL=https://gate.example/v1\n", "GOOGLE_GEMINI_BASE_URL={}/gemini\n"),
    ],
)
def test_a_value_is_replaced_as_a_whole(name: str, value: str, written: str, home: Path, run: Run) -> None:
    """However it is written; the server goes where it led, and it comes back where the file was changed since."""
    file = configuration(home, name, f"{value}\n# the end\n")
    assert "=https://gate.example/v1" in "".join(run("setup", name, "--yes").output.split())
    text = file.read_text()
    assert text.startswith(written.format("http://127.0.0.1:8787") + "\n# the end\n")
    file.write_text(f"# more\n{text}")
    run("setup", name, "--undo")
    assert file.read_text() == f"# more\n{value}\n# the end\n"


def test_a_last_line_without_an_end_comes_back_as_a_line(home: Path, run: Run) -> None:
    """Where more stands behind it by now."""
    file = configuration(home, "aider", "openai-api-base: https://gate.example/v1")
    run("setup", "aider", "--yes")
    file.write_text(f"{file.read_text()}model: m\n")
    run("setup", "aider", "--undo")
    assert file.read_text() == "openai-api-base: https://gate.example/v1\nmodel: m\n"


def test_of_a_key_that_is_there_twice_the_one_that_counts_is_changed(home: Path, run: Run) -> None:
    """That is the last one."""
    twice = "GOOGLE_GEMINI_BASE_URL=https://a.example\nGOOGLE_GEMINI_BASE_URL=https://b.example\n"
    file = configuration(home, "gemini", twice)
    assert "gemini=https://b.example" in "".join(run("setup", "gemini", "--yes").output.split())
    assert file.read_text() == twice.replace("https://b.example", "http://127.0.0.1:8787/gemini")


def test_the_file_that_was_changed_is_known_without_the_variable_that_named_it(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is listed and taken back; meanwhile no other file of that agent is changed."""
    before = '{"env":{"ANTHROPIC_BASE_URL":"https://gate.example"}}'
    file = home / "own" / "settings.json"
    file.parent.mkdir()
    file.write_text(before)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(file.parent))
    assert run("setup", "claude", "--yes").exit_code == 0
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    assert "Claude Code: set up in" in run("setup").output
    again = run("setup", "claude", "--yes")
    assert (again.exit_code, configuration(home, "claude").exists()) == (1, False)
    assert "take that back first" in " ".join(again.output.split())
    assert "as it was before" in run("setup", "--undo").output
    assert file.read_text() == before
    assert run("setup", "claude", "--yes").exit_code == 0


@pytest.mark.parametrize("trouble", ["link", "broken"])
def test_what_cannot_be_taken_back_is_said_and_not_forgotten(trouble: str, home: Path, run: Run) -> None:
    """The other agents are; until the user has taken our address out, the server keeps what it has to know."""
    file, qwen = configuration(home, "claude", "{}"), configuration(home, "qwen", "{}")
    for name in ("claude", "qwen"):
        run("setup", name, "--yes")
    real, written = home / "real.json", file.read_text()
    if trouble == "link":
        file.rename(real)
        file.symlink_to(real)
    else:
        file.write_text(written + "}")
    assert "Claude Code: set up in" in run("setup").output
    done = run("setup", "--undo")
    assert done.exit_code == 1
    assert ("is a link" if trouble == "link" else "is no JSON") in " ".join(done.output.split())
    assert qwen.read_text() == "{}"
    [state] = home.rglob("setup/server.json")
    assert list(json.loads(state.read_text())["agents"]) == ["claude"]
    file.write_text("{}")
    assert "No agent is set up" in run("setup", "--undo").output
    assert not state.exists()


def test_a_file_that_its_user_may_not_write_is_left_alone(home: Path, run: Run) -> None:
    """What to do is said."""
    file = configuration(home, "claude", "{}")
    file.chmod(0o444)
    done = run("setup", "claude", "--yes")
    assert (done.exit_code, file.read_text()) == (1, "{}")
    assert "make it writable" in " ".join(done.output.split())


def test_an_agent_of_several_providers_is_told_those_it_has_a_key_for(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the environment, its own logins, or what was asked for: else it would offer models that it cannot call."""
    run("setup", "opencode", "--yes")
    assert set(json.loads(configuration(home, "opencode").read_text())["provider"]) == {"anthropic"}
    run("setup", "--undo")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert "--provider" in run("setup", "opencode", "--yes").output
    logins = home / ".local" / "share" / "opencode" / "auth.json"
    logins.parent.mkdir(parents=True)
    logins.write_text('{"google": {"type": "api"}}')
    run("setup", "opencode", "--yes")
    assert set(json.loads(configuration(home, "opencode").read_text())["provider"]) == {"google"}


def test_the_list_says_what_is_there_and_how_it_is_reached(home: Path, run: Run) -> None:
    """In words, and as JSON."""
    configuration(home, "claude", "{}")
    run("setup", "claude", "--yes")
    configuration(home, "codex", "")
    told = run("setup").output
    assert "Claude Code: set up in" in told
    assert "Codex: not set up" in told
    assert "Not found on this machine: Gemini CLI" in told
    assert "No server answers at http://127.0.0.1:8787" in told
    rows = {row["name"]: row for row in json.loads(run("setup", "--json").output)["agents"]}
    assert rows["claude"]["address"] == "http://127.0.0.1:8787/anthropic"
    assert (rows["codex"]["there"], rows["codex"]["address"]) == (True, "")


def test_systemd_opens_the_port_at_login(home: Path, run: Run) -> None:
    """Two units of the user, which are gone with the last agent; systemd is told of both."""
    (home / "bin").mkdir()
    systemctl = home / "bin" / "systemctl"
    systemctl.write_text(f'#!/bin/sh\necho "$@" >> {home}/told\n')
    systemctl.chmod(0o755)
    assert "this system starts no server" not in run("setup", "claude", "--yes", "--port", "8899").output
    folder = home / ".config" / "systemd" / "user"
    assert "ListenStream=127.0.0.1:8899" in (folder / "sightline.socket").read_text()
    assert '"serve" "--port" "8899"' in (folder / "sightline.service").read_text()
    assert "--user enable sightline.socket" in (home / "told").read_text()
    assert "no longer started" in run("setup", "--undo").output
    assert "--user disable --now sightline.socket" in (home / "told").read_text()
    assert not any(folder.iterdir())


@pytest.mark.parametrize(("name", "is_told"), [("pi", False), ("qwen", True)])
def test_wrap_is_named_where_it_reaches_an_agent(name: str, is_told: bool, home: Path, run: Run) -> None:
    """In the list, and by `wrap` itself before it starts one that reads its address elsewhere."""
    (home / "bin").mkdir()
    program = home / "bin" / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    [line] = [line for line in run("setup").output.splitlines() if f"setup {name}`" in line]
    assert (f"wrap -- {name}" in line) is is_told
    assert ("own configuration only" in " ".join(run("wrap", "--", name).output.split())) is not is_told
