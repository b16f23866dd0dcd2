"""`sightline doctor`: each thing that can be wrong is found, said in both languages, and told what to do about."""

import json
import os
import re
import shutil
import socket
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner, Result
from rest_server import RestServer
from rich.console import Console
from stub import Stub, error

from sightline import Session, __version__
from sightline.cli import doctor, doctor_checks
from sightline.cli.main import app
from sightline.cli.phrases import Phrases
from sightline.inspector import pages
from sightline.log.stores.session_folder import Folder
from sightline.server.access_token import load_or_create_token


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of the user's own, and no server on this machine."""
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name == "SIGHTLINE_MODEL":
            monkeypatch.delenv(name)


class Shop(NamedTuple):
    """A project with one session, where its sessions are stored, and a free port."""

    project: Path
    root: Path
    port: int

    def run(self, *args: str) -> Result:
        """Run the doctor on it."""
        options = ["--project", str(self.project), "--root", str(self.root)]
        return CliRunner().invoke(app, [*options, "doctor", "--port", str(self.port), *args])

    def checks(self, *args: str, broken: bool = False) -> dict[str, dict[str, Any]]:
        """What it finds, by what is checked. `broken`: whether something must be."""
        done = self.run("--json", *(args or ("--offline",)))
        assert done.exit_code == int(broken), done.stdout + done.stderr
        found = json.loads(done.stdout)
        assert found["good"] is not broken
        return {each["check"]: each for each in found["checks"]}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A healthy one."""
    project, root = tmp_path / "shop", tmp_path / "root"
    project.mkdir()
    with Session.new(project, root=root, session_id="one") as session:
        session.user("Hi")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return Shop(project, root, port)


def test_a_healthy_place_has_nothing_broken(shop: Shop) -> None:
    """Exit 0, in both languages; what is only a note breaks nothing. No file is left behind."""
    before = sorted(shop.root.rglob("*"))
    done = shop.run("--offline")
    assert done.exit_code == 0, done.stdout
    assert "Nothing is broken." in done.stdout
    zh = shop.run("--offline", "--lang", "zh").stdout
    assert "没有故障" in zh
    assert "故障 " not in zh
    assert {each["state"] for each in shop.checks().values()} <= {"good", "note"}
    assert sorted(shop.root.rglob("*")) == before


def test_nothing_that_is_said_is_cut_off(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program gets a finding and its advice in a line each. A terminal gets them wrapped, below their title."""

    def fails(*_: object) -> None:
        raise RuntimeError("unexpected " * 60)

    monkeypatch.setattr(doctor_checks, "chosen", fails)
    lines = shop.run("--offline").stdout.splitlines()
    for each in shop.checks(broken=True).values():
        assert any(line.endswith(each["found"].strip()) for line in lines), each
        assert any(line.endswith(each["what_to_do"]) for line in lines), each
    assert max(map(len, lines)) > 600
    printed = StringIO()
    out = Console(width=60, force_terminal=True, color_system=None, file=printed)
    facts = {"folder": " ".join(f"folder{n}" for n in range(20)), "free": "1 kB"}
    broken = doctor_checks.Check("store", "broken", "store full", "make space", facts)
    doctor._print(out, Phrases("en", "doctor"), [broken], 1)
    shown = printed.getvalue().splitlines()
    assert max(map(len, shown)) <= 60
    assert f"{facts['folder']}: only 1 kB free" in " ".join(" ".join(shown).split())
    assert all(line.startswith(" " * 24) for line in shown[2:-1])


def test_a_bad_configuration_is_shown_with_its_place(shop: Shop) -> None:
    """The file and the key; the other checks are still made."""
    (shop.project / "sightline.toml").write_text("[tools]\nfolder = 3\n")
    found = shop.checks(broken=True)
    assert "folder" in found["configuration"]["found"]
    assert found["configuration"]["what_to_do"]
    assert found["store"]["state"] == "good"


def test_a_store_that_cannot_be_written_is_broken(shop: Shop) -> None:
    """Here a file is where its folder should be."""
    shutil.rmtree(shop.root)
    shop.root.mkdir()
    (shop.root / "projects").write_text("in the way")
    found = shop.checks(broken=True)
    assert "--root" in found["store"]["what_to_do"]


@pytest.mark.parametrize(
    ("free", "state"), [(doctor_checks.LEAST_SPACE - 1, "broken"), (doctor_checks.LEAST_SPACE, "note")]
)
def test_little_space_is_said(shop: Shop, monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    """A note while something can be written, then broken."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9 - free, free))
    assert shop.checks(broken=state == "broken")["store"]["state"] == state


def test_a_damaged_session_is_found(shop: Shop) -> None:
    """A changed byte of the newest log; `verify` is named."""
    log = Folder(shop.project, shop.root).file("one")
    log.write_bytes(log.read_bytes().replace(b'"Hi"', b'"Ho"'))
    found = shop.checks(broken=True)["newest session"]
    assert found["state"] == "broken"
    assert "sightline verify one" in found["what_to_do"]


def test_the_model_is_looked_at(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is a note; one without its key is broken; a window that is not known is a note; a known one is good."""
    assert shop.checks()["model"]["state"] == "note"
    monkeypatch.setenv("SIGHTLINE_MODEL", "anthropic/claude-sonnet-5-5")
    assert "ANTHROPIC_API_KEY" in shop.checks(broken=True)["model"]["what_to_do"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-very-secret")
    done = shop.run("--offline")
    assert "1,000,000" in done.stdout
    assert "very-secret" not in done.stdout
    monkeypatch.setenv("SIGHTLINE_MODEL", "http://gpu.example:1/v1 house-model")
    assert "window" in shop.checks()["model"]["what_to_do"]


def test_upstreams_are_reached_without_a_key(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any answer will do, also a refusal; no key is sent; one that does not answer is broken if it was named."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with Stub([error(401), error(404)]) as stub:
        found = shop.checks("--upstream", f"{stub.url}/v1")
        assert found["upstream"]["state"] == "good"
        assert shop.checks("--upstream", f"openai={stub.url}/v1")["upstream"]["state"] == "good"  # as for `serve`
        assert [name for asked in stub.asked for name in asked.headers if name in ("authorization", "x-api-key")] == []
    found = shop.checks("--upstream", f"http://127.0.0.1:{shop.port}/v1", broken=True)
    assert found["upstream"]["state"] == "broken"
    assert "network" in found["upstream"]["what_to_do"]
    assert shop.checks("--upstream", "ftp://x", broken=True)["upstream"]["state"] == "broken"


def test_a_server_of_ours_at_the_port_is_fine(shop: Shop) -> None:
    """It is what the port is for: its version is said, and the exit code is 0. Also if it needs a token."""
    with RestServer(shop.project) as server:
        found = shop._replace(port=server.listener.port).checks()["port"]
    assert (found["state"], __version__ in found["found"]) == ("good", True)


def test_a_server_of_others_at_the_port_is_said(shop: Shop) -> None:
    """Also if it answers where ours does."""

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"status": "ok", "version": "9.9"}')

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert "--port" in shop._replace(port=server.server_port).checks(broken=True)["port"]["what_to_do"]


def test_a_port_that_is_taken_is_said(shop: Shop) -> None:
    """With how to choose another."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", shop.port))
        taken.listen()
        assert "--port" in shop.checks(broken=True)["port"]["what_to_do"]


def test_a_token_that_others_can_read_is_said(shop: Shop) -> None:
    """Only if there is one."""
    assert "token" not in shop.checks()
    load_or_create_token(shop.root)
    assert shop.checks()["token"]["state"] == "good"
    (shop.root / "server-token").chmod(0o644)
    assert "chmod 600" in shop.checks(broken=True)["token"]["what_to_do"]


def test_missing_extras_are_notes(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs them; so is a missing tokenizer."""
    real = doctor_checks.find_spec
    missing = ("mcp", "tree_sitter", "splintr")
    monkeypatch.setattr(doctor_checks, "find_spec", lambda name: None if name in missing else real(name))
    found = shop.checks()
    assert "sightline-context[code,mcp]" in found["extras"]["what_to_do"]
    assert found["tokenizer"]["state"] == "note"


def test_pages_that_are_not_built_are_a_note(shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The inspector needs them, and a copy of the repository has none until they are built."""
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    found = shop.checks()["inspector"]
    assert (found["state"], "make pages" in found["what_to_do"]) == ("note", True)
    (tmp_path / "index.html").touch()
    assert shop.checks()["inspector"]["state"] == "good"


def test_every_extra_that_all_brings_is_looked_for() -> None:
    """Or it would be said that all are installed when one is not. Who reads this has `cli`."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [every] = project["optional-dependencies"]["all"]
    assert {"cli", *doctor_checks.EXTRAS} == set(re.findall(r"[a-z-]+", every)) - {project["name"]}


def test_a_check_that_fails_is_a_finding(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it raises, the others are made."""

    def fails(*_: object) -> None:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(doctor_checks, "chosen", fails)
    found = shop.checks(broken=True)
    assert "unexpected" in found["check"]["found"]
    assert found["store"]["state"] == "good"


def test_the_addresses_are_those_that_serve_would_use(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a variable names another one."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:2")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:3")
    checks = json.loads(shop.run("--json").stdout)["checks"]
    addresses = [check["found"].split(" ")[0] for check in checks if check["check"] == "upstream"]
    assert addresses == ["http://127.0.0.1:2", "http://127.0.0.1:1/v1", "http://127.0.0.1:3"]
