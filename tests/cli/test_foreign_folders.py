"""Reading never moves, renames or writes what is another program's: every command, over folders of three programs."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import click
import pytest
from click.testing import CliRunner, Result
from log_samples import CLAUDE, CODEX, as_file
from mcp import Client
from rest_server import RestServer

from sightline.adapters.mcp import create_server
from sightline.cli.main import app
from sightline.log.stores.session_folder import escape_project_path
from sightline.origins.clawdcode import ContextMessage, PersistentStore
from sightline.view.catalog.places import Places

SESSION = "s1"
LOG = "{log}"  # in a command line: the log of the other program
FOLDER = "{folder}"  # the folder of that log
OUT = "{out}"  # a folder of the user's own

READING: dict[str, list[list[str]]] = {
    "apps": [[]],
    "apps run": [["apps", "run", "todo"]],
    "compact": [["compact", SESSION, "--dry-run"], ["compact", SESSION, "--report"]],
    "completion": [["completion", "bash"]],
    "context": [["context"], ["context", SESSION, "--json"]],
    "doctor": [["doctor", "--offline"]],
    "find": [["find", "Hello"], ["find", "Hello", "--errors", "--json"]],
    "savings": [["savings"], ["savings", "--days", "3", "--json"]],
    "hook status": [["hook", "status"]],
    "model list": [["model", "list"]],
    "replay": [["replay", LOG, "--delay", "0"], ["replay", LOG, "--json"]],
    "report": [["report"], ["report", LOG], ["report", FOLDER, "--json"], ["report", LOG, "--html", f"{OUT}/r.html"]],
    "sessions": [["sessions"], ["sessions", "--all", "--json"]],
    "sessions export": [["sessions", "export", SESSION], ["sessions", "export", SESSION, "--format", "jsonl"]],
    "sessions list": [["sessions", "list", "--all"]],
    "setup": [["setup"], ["setup", "--json"]],
    "sessions show": [["sessions", "show", SESSION], ["sessions", "show", SESSION, "--json"]],
    "store copy": [["store", "copy", "--to", f"{OUT}/copy"]],
    "strategies": [["strategies"]],
    "verify": [["verify"], ["verify", "--all"], ["verify", "--all", "--folder", FOLDER]],
}
"""The command lines of every command that only reads; what it writes goes where the user says."""

SERVERS = {"inspect", "mcp"}  # they only read too, but run until they are stopped
WRITING = {
    "audit", "chat", "hook install", "hook run", "hook uninstall", "import", "model get", "serve", "sessions delete",
    "sessions fork", "store migrate", "tenant create", "tenant delete", "tenant list", "tenant prune", "tenant set",
    "token create", "token list", "token revoke", "trust", "uncompact", "worker", "wrap",
}  # fmt: skip
"""Commands that write where they are told to, or that read only a database."""


def commands(group: click.Group = app, *names: str) -> Iterator[str]:
    """The names of every command of the program, and of those of its groups."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
            if not command.invoke_without_command:
                continue
        yield " ".join((*names, name))


def test_every_command_is_known_to_read_or_to_write() -> None:
    """A new one is put into a table of this file: one that only reads is then tried over foreign folders."""
    assert sorted(commands()) == sorted({*READING, *SERVERS, *WRITING})


def claude(root: Path, project: Path) -> Path:
    """The folder that Claude Code has for a project, with sessions, a torn line and what it remembers."""
    folder = root / "projects" / escape_project_path(project)
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "MEMORY.md").write_text("The user likes tea.\n")
    lines = [line | {"cwd": str(project)} if isinstance(line, dict) and "cwd" in line else line for line in CLAUDE]
    (folder / f"{SESSION}.jsonl").write_bytes(as_file(lines) + b'{"type":"user","uuid":"torn')
    (folder / "s2.jsonl").write_bytes(as_file(lines).rstrip(b"\n"))
    (root / "settings.json").write_text("{}")
    return folder / f"{SESSION}.jsonl"


def codex(root: Path, project: Path) -> Path:
    """The sessions of Codex by date, whose folder may be called as that of our projects."""
    for folder in (root / "sessions" / "2026" / "11" / "01", root / "projects" / escape_project_path(project)):
        folder.mkdir(parents=True)
        (folder / f"{SESSION}.jsonl").write_bytes(as_file(CODEX))
    return root / "sessions" / "2026" / "11" / "01" / f"{SESSION}.jsonl"


def document(root: Path, project: Path) -> Path:
    """The sessions of a program that was built after the ClawdCode document, in the document's own lines."""
    folder = root / "projects" / escape_project_path(project)
    folder.mkdir(parents=True)
    lines = [
        {"uuid": "1", "parentUuid": None, "sessionId": SESSION, "timestamp": "2026-11-01T10:00:00.000Z", "type": "user",
         "cwd": str(project), "version": "1", "message": {"role": "user", "content": "hello"}},
        {"uuid": "2", "parentUuid": "1", "sessionId": SESSION, "timestamp": "2026-11-01T10:00:01.000Z",
         "type": "assistant", "message": {"role": "assistant", "content": "Hi."}},
    ]  # fmt: skip
    (folder / f"{SESSION}.jsonl").write_bytes(as_file(lines).rstrip(b"\n"))
    return folder / f"{SESSION}.jsonl"


def stored(root: Path, project: Path) -> Path:
    """The sessions of the document's own store, which is ours, without the file of its user."""
    store = PersistentStore(project, root=root)
    for number in range(3):
        store.save_message(SESSION, ContextMessage(str(number), "user", f"question {number}", 1_700_000_000_000))
    store.close()
    return root / "projects" / escape_project_path(project) / f"{SESSION}.jsonl"


PROGRAMS: list[Callable[[Path, Path], Path]] = [claude, codex, document, stored]


class Foreign:
    """The folder of another program, and what lay in it at first."""

    def __init__(self, folder: Path, program: Callable[[Path, Path], Path]) -> None:
        self.root, self.project, self.out = folder / "theirs", folder / "shop", folder / "out"
        for made in (self.root, self.project, self.out):
            made.mkdir()
        self.log = program(self.root, self.project)
        self._contents = self._look()

    def run(self, arguments: list[str]) -> Result:
        """Run `sightline` with the folder as the place of all sessions."""
        replaced = [
            word.replace(LOG, str(self.log)).replace(FOLDER, str(self.log.parent)).replace(OUT, str(self.out))
            for word in arguments
        ]
        return CliRunner().invoke(app, ["--project", str(self.project), "--root", str(self.root), *replaced])

    def check(self) -> None:
        """Every name, byte and time is as it was."""
        assert self._look() == self._contents

    def _look(self) -> dict[str, tuple[bytes, int]]:
        return {
            str(path.relative_to(self.root)): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
            for path in self.root.rglob("*")
        }


@pytest.fixture(params=PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def foreign(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Foreign:
    """A folder of each program. The user has no other sessions."""
    made = Foreign(tmp_path, request.param)
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "SIGHTLINE_HOME"):
        monkeypatch.setenv(name, str(made.root))
    monkeypatch.chdir(made.project)
    return made


@pytest.mark.slow(
    "claude-apps run",
    "claude-model list",
    "claude-report",
    "codex-apps run",
    "codex-model list",
    "codex-report",
    "document-apps run",
    "document-model list",
    "stored-apps run",
    "stored-model list",
    "stored-report",
)
@pytest.mark.parametrize("command", READING)
def test_a_command_that_reads_changes_nothing(foreign: Foreign, command: str) -> None:
    """Whether it can read the folder or says that it cannot."""
    for arguments in READING[command]:
        result = foreign.run(arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        foreign.check()


def test_a_listing_leaves_the_sessions_where_they_are(foreign: Foreign) -> None:
    """So that the program that wrote them finds them."""
    foreign.run(["sessions"])
    foreign.check()


def test_the_page_changes_nothing(foreign: Foreign) -> None:
    """Its list, a search, and a look at every session that the list has."""
    with RestServer(foreign.project, everywhere=True) as server:
        for session in server.get("/api/sessions")["sessions"]:
            for view in ("", "/items", "/calls", "/llm-input", "/tokens", "/items/search?q=hello"):
                server.client.get(f"/api/sessions/{session['id']}{view}")
        server.client.get("/api/sessions?q=hello")
        foreign.check()
    foreign.check()


def test_the_mcp_server_changes_nothing(foreign: Foreign) -> None:
    """A search, which says what sessions there are; a look into a log of Claude Code or Codex copies it to our home."""

    async def work() -> None:
        async with Client(create_server(Places(foreign.project, everywhere=True))) as client:
            await client.call_tool("search_sessions", {"words": "failing test hello question"})
            await client.list_resources()

    anyio.run(work)
    foreign.check()


def test_the_documents_store_still_has_its_sessions(tmp_path: Path) -> None:
    """After a listing by the command, and with every message."""
    made = Foreign(tmp_path, stored)
    assert json.loads(made.run(["sessions", "--json"]).stdout)["total"] == 0
    store = PersistentStore(made.project, root=made.root)
    assert store.list_sessions() == [SESSION]
    assert [message.content for message in store.load_conversation(SESSION)] == [f"question {at}" for at in range(3)]
    store.close()


def test_a_line_without_newline_is_read_and_ended_by_the_next_message(tmp_path: Path) -> None:
    """Reading a log of the document's form leaves it as it is; a message that is added stands on its own line."""
    made = Foreign(tmp_path, document)
    store = PersistentStore(made.project, root=made.root)
    assert [message.content for message in store.load_conversation(SESSION)] == ["hello", "Hi."]
    made.check()
    store.save_message(SESSION, ContextMessage("3", "user", "and now?", 1_700_000_000_000))
    store.close()
    lines: list[Any] = [json.loads(line) for line in made.log.read_text().splitlines()]
    assert [line["uuid"] for line in lines] == ["1", "2", "3"]
