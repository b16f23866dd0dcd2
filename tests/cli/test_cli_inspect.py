"""`sightline inspect` and the address that `sightline serve` prints: started as a person starts them."""

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from click.testing import CliRunner
from stub import Stub, models

from sightline import Session, samples
from sightline.cli import inspect_command
from sightline.cli.main import app
from sightline.cli.options import Place
from sightline.cli.phrases import LANGUAGES, Phrases
from sightline.cli.serve import PORT
from sightline.cli.worker import find_summarizer
from sightline.errors import BadInput
from sightline.inspector import pages
from sightline.log.stores.session_folder import Folder
from sightline.server.access_token import Token
from sightline.server.config import Config
from sightline.server.sign_in import SignIn
from sightline.view.catalog.places import SAMPLES


@contextmanager
def started(folder: Path, *command: str) -> Iterator[tuple[str, str]]:
    """Run the program until the block ends. Gives the inspector's address, and what was printed until then."""
    program = [sys.executable, "-m", "sightline", "--project", str(folder), "--root", str(folder / "home"), *command]
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as child:
        printed = ""
        assert child.stderr is not None
        while not (found := re.search(r"http://\S+/inspector/(?:#token=\S+)?", printed)):
            line = child.stderr.readline()
            assert line, printed
            printed += line
        try:
            yield found.group(), printed
        finally:
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=60)


def sessions_at(address: str) -> Any:
    """The list of sessions, as the page asks for it that was opened at this address."""
    page, _, token = address.partition("/?log=")[0].partition("#token=")
    shows = {"x-sightline-token": token}
    answer = httpx2.get(page.replace("inspector/", "api/sessions"), headers=shows, trust_env=False)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.slow
def test_inspect_shows_the_samples_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address that is printed serves the page and lists the sample sessions; they are kept once.

    Who does not ask for them has only sessions of their own in the list.
    """
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nobody"))
    with started(tmp_path, "inspect", "--samples", "--no-browser", "--port", "0") as (address, printed):
        assert "Ctrl-C ends it" in printed
        assert "<title>Sightline inspector</title>" in httpx2.get(address, trust_env=False).text
        listed = sessions_at(address)
        assert {row["name"] for row in listed["sessions"]} == {
            "data-report", "login-bug", "long-chat", "ops-incident", "travel-zh",
        }  # fmt: skip
    written = sorted(path.stat().st_mtime_ns for path in (tmp_path / "home").rglob("*.jsonl"))
    with started(tmp_path, "inspect", "--samples", "--no-browser", "--port", "0"):
        pass
    assert sorted(path.stat().st_mtime_ns for path in (tmp_path / "home").rglob("*.jsonl")) == written
    with started(tmp_path, "inspect", "--no-browser", "--port", "0") as (address, _):
        assert sessions_at(address)["sessions"] == []


@pytest.mark.slow
def test_a_price_that_is_given_is_that_of_every_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The samples name no model, so they have no price of their own. One that is no price is told."""
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))

    def costs(*options: str) -> tuple[object, object, object]:
        with started(tmp_path, "inspect", "--samples", "--no-browser", "--port", "0", *options) as (address, _):
            server, _, token = address.partition("inspector/#token=")
            [row] = [each for each in sessions_at(address)["sessions"] if each["name"] == "login-bug"]
            below = f"{server}api/sessions/{quote(row['id'])}"

            def ask(path: str) -> Any:
                return httpx2.get(
                    f"{below}/{path}", headers={"x-sightline-token": token}, timeout=60, trust_env=False
                ).json()

            call = ask("calls/3")
            return ask("timeline")["calls"][2]["cost"], call["call"]["cost"], ask("report")["report"]["spent"]["money"]

    assert costs() == (None, None, None)
    given = costs("--price", "2/10/0.2")
    assert given[0] == given[1]
    assert [isinstance(each, float) and 0 < each < 10 for each in given] == [True] * 3
    wrong = CliRunner().invoke(app, ["inspect", "--no-browser", "--price", "cheap"])
    assert (wrong.exit_code, "such as 2/10/0.2" in wrong.output) == (2, True)


@pytest.mark.slow
def test_a_named_file_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log at any place is in the list, and the address opens it. That of a folder opens the list."""
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nobody"))
    log = tmp_path / "mine.jsonl"
    message = {"role": "user", "content": "My own question"}
    entry = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s1", "cwd": "/w", "version": "2.0.1"}
    entry |= {"timestamp": "2026-11-01T10:00:00.000Z", "message": message}
    log.write_text(json.dumps(entry) + "\n", encoding="utf-8")
    with started(tmp_path, "inspect", "--no-browser", "--port", "0", str(log)) as (address, _):
        listed = sessions_at(address)
        assert address.endswith(f"/?log={quote(str(log))}")
    assert [(row["title"], row["state"]) for row in listed["sessions"]] == [("My own question", "file")]
    with started(tmp_path, "inspect", "--no-browser", "--port", "0", str(tmp_path)) as (address, _):
        assert "?" not in address
        assert sessions_at(address)["sessions"] == listed["sessions"]


def test_a_session_that_is_listed_is_opened_and_not_copied(tmp_path: Path) -> None:
    """Its log was named. One of another project has its place in the address; a copy elsewhere is another log."""
    home = tmp_path / "home"
    opened = []
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        with Session.new(tmp_path / name, root=home, session_id="s1") as session:
            session.user("Hello")
        file = Folder(tmp_path / name, home).file("s1").resolve()
        config = Config(folder=tmp_path / "mine", root=home, everywhere=True, offered=(file,))
        opened.append(inspect_command._place_of(config))
    assert opened[0] == "/s/s1/context"
    assert re.fullmatch(r"/s/s1%40\w{8}/context", opened[1])
    copy = tmp_path / "s1.jsonl"
    copy.write_bytes(file.read_bytes())
    for offered, place in (((copy,), f"/?log={copy}"), ((copy, file), ""), ((tmp_path,), "")):
        assert inspect_command._place_of(Config(folder=tmp_path, root=home, offered=offered)) == place


@pytest.mark.slow
def test_serve_prints_the_address_of_the_inspector(tmp_path: Path) -> None:
    """Who runs the proxy learns where to look."""
    with started(tmp_path, "serve", "--port", "0") as (address, printed):
        assert "See what the models saw" in printed
        assert httpx2.get(address, trust_env=False).status_code == 200
        assert sessions_at(address)["total"] == 0
        refused = httpx2.get(address.partition("inspector/")[0] + "api/sessions", trust_env=False)
        assert (refused.status_code, refused.json()["error"]["type"]) == (401, "no_token")
        assert httpx2.get(address.partition("inspector/")[0] + "metrics", trust_env=False).status_code == 200


@pytest.mark.slow
def test_a_chosen_token_is_not_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sets SIGHTLINE_TOKEN knows it, and logs do not: the page asks for it, programs send it."""
    monkeypatch.setenv("SIGHTLINE_TOKEN", chosen := "chosen-by-hand-0123456789")
    with started(tmp_path, "serve", "--port", "0") as (address, printed):
        assert "#token" not in address
        assert chosen not in printed
        assert sessions_at(f"{address}#token={chosen}")["total"] == 0


def test_a_browser_gets_a_code_and_the_terminal_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A token that the user has chosen is not printed. Without a token that is known here, the page asks for it."""
    opened: list[str] = []
    monkeypatch.setattr(inspect_command.webbrowser, "open", opened.append)
    here = Place(project=str(tmp_path), root=str(tmp_path), words=Phrases("en"))
    tokens = (Token("", "made-now", is_new=True), Token("", "chosen"), Token("hash"))
    for token, host in zip(tokens, ("::1", "127.0.0.1", "127.0.0.1"), strict=True):
        sign_in = SignIn(token.text)
        inspect_command._announce(here, host, 99, token, True, sign_in if token.text else None, "/?log=a%20b")
        address, _, code = opened[-1].removesuffix("/?log=a%20b").partition("#code=")
        assert sign_in.exchange(code) == token.text
    assert [each.partition("code=")[0] for each in opened] == [
        "http://[::1]:99/inspector/#", "http://127.0.0.1:99/inspector/#", "http://127.0.0.1:99/inspector/#/?log=a%20b",
    ]  # fmt: skip
    assert "made-now" not in str(opened) + address
    printed = "".join(capsys.readouterr().err.split())  # lines are as wide as the terminal
    assert "http://[::1]:99/inspector/#token=made-now/?log=a%20b" in printed
    assert "chosen" not in printed


def test_pages_that_are_not_built_are_told_before_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who opens the address would find nothing there."""
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    for language in LANGUAGES:
        here = Place(project=str(tmp_path), root=str(tmp_path), words=Phrases(language))
        inspect_command._announce(here, "127.0.0.1", 99, Token("", "chosen"), False, None)
        told, _, after = capsys.readouterr().err.partition("http://")
        assert "make pages" in " ".join(told.split())
        assert "make pages" not in after


def test_a_port_that_is_taken_is_no_obstacle() -> None:
    """If another program has the usual port, any free one is used."""
    with socket.socket() as taken:
        try:
            taken.bind(("127.0.0.1", PORT))
            taken.listen()
        except OSError:
            pass  # another program of this machine has it already: as good
        assert inspect_command._free_port("127.0.0.1") == 0


@pytest.mark.parametrize(
    ("variables", "expected"), [({}, False), ({"DISPLAY": ":0"}, True), ({"WAYLAND_DISPLAY": "w"}, True)]
)
def test_a_browser_is_opened_only_where_there_is_a_screen(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: bool
) -> None:
    """Over ssh or in a container the address is printed, and no browser of the terminal takes it over."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(inspect_command.webbrowser, "get", lambda: object())
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert inspect_command._has_browser() is expected


@pytest.mark.parametrize("command", [["inspect", "--no-browser"], ["serve"], ["mcp", "--http"]])
def test_a_port_in_use_is_told_with_what_would_do(tmp_path: Path, command: list[str]) -> None:
    """In one line, before anything is kept."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        places = ["--project", str(tmp_path), "--root", str(tmp_path / "home")]
        done = CliRunner().invoke(app, [*places, *command, "--port", str(port)])
    assert (done.exit_code, done.stderr) == (1, f"port {port} is in use; --port 0 takes a free one\n")


def test_a_model_of_a_cloned_project_gets_no_key_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its server is not even asked for the context window: the page says how the file is allowed."""
    with Stub([models("m")]) as stub:
        (tmp_path / "sightline.toml").write_text(
            f'[models.m]\nname = "m"\nbase_url = "{stub.url}/v1"\nkey_env = "OPENAI_API_KEY"\n', encoding="utf-8"
        )
        monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
        here = Place(str(tmp_path), str(tmp_path / "home"), Phrases("en"))
        assert "`sightline chat` there asks" in str(inspect_command._find_model(here, None))
        with pytest.raises(BadInput, match="was not allowed to"):
            inspect_command._find_model(here, "m")
        with pytest.raises(BadInput, match="`sightline chat` there asks"):
            find_summarizer(here, "m")
        assert stub.asked == []


@pytest.mark.slow
def test_a_sample_has_one_window(tmp_path: Path) -> None:
    """In the inspector it is the one in which `sightline replay` shows it."""
    here = Place(str(tmp_path), str(tmp_path / "home"), Phrases("en"))
    inspect_command.keep_samples(here)
    for name in samples.names():
        shown = CliRunner().invoke(app, ["replay", "--sample", name, "--until", "1", "--json"])
        with Session.inspect(name.replace("_", "-"), stores=Folder.at(here.home / SAMPLES)) as session:
            assert session.budget is not None
            window = session.budget.window + samples.OUTPUT  # a receipt has what the window leaves for the prompt
            assert window == json.loads(shown.stdout)["window"] == samples.load(name).window
