"""`--store` and `sightline store copy`: the commands on a database, as on files, and nothing that shows a password."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from postgres_server import PostgresServer, add_tenants
from sightline.cli.main import app
from sightline.documents.code.store import CodeStore
from sightline.fleet.address import read_address
from sightline.fleet.schema import MIGRATIONS
from sightline.log.stores.session_folder import Folder
from sightline.values.clock import wall_clock

Run = Callable[..., Result]


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """An address with a password, which nobody asks for."""
    return postgres.url().replace("tests@", "tests:s3cret@")


@pytest.fixture
def copied(run: Run, url: str, folder: Folder) -> str:
    """The kept session, in the database."""
    done = run("store", "copy", str(folder.path), url)
    assert (done.exit_code, "login-bug: copied" in done.output) == (0, True), done.output
    return url


def without_file(done: Result) -> dict[str, Any]:
    """What a command printed, but for the file that it read."""
    return {key: value for key, value in json.loads(done.stdout).items() if key != "recording"}


@pytest.mark.slow
def test_commands_say_the_same_of_a_session_in_a_database(run: Run, copied: str, folder: Folder) -> None:
    """What is listed, shown, composed, verified, exported and compacted is what it is in files."""
    for command in (
        ("sessions", "--json"), ("context", "login-bug", "--json"), ("verify", "--all", "--json"),
        ("sessions", "show", "login-bug", "--json"), ("compact", "login-bug", "--report", "--json"),
        ("replay", "login-bug", "--json"),
    ):  # fmt: skip
        ours, theirs = run(*command), run("--store", copied, *command)
        assert (theirs.exit_code, without_file(theirs)) == (0, without_file(ours)), command
    written = folder.path.parent / "out.jsonl"
    assert (
        run("--store", copied, "sessions", "export", "login-bug", "--format", "jsonl", "-o", str(written)).exit_code
        == 0
    )
    assert written.read_bytes() == folder.file("login-bug").read_bytes()


def test_what_came_into_a_database_is_indexed_in_the_background(
    run: Run, copied: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    """Copied and imported sessions wait in the queue, for any worker; what was there already does not."""
    waiting = "SELECT args FROM procrastinate_jobs ORDER BY id"
    with postgres.connect() as admin:
        admin.execute(f"SET search_path TO {read_address(copied).schema}".encode())
        job = {"kind": "index", "session": "login-bug", "tenant": "default"}
        assert admin.execute(waiting).fetchall() == [(job,)]
        admin.execute("DELETE FROM procrastinate_jobs")
        assert run("store", "copy", copied, str(tmp_path / "files")).exit_code == 0  # which nobody indexes
        assert "is there already" in run("store", "copy", str(tmp_path / "files"), copied).output
        log = tmp_path / "talk.json"
        log.write_text(json.dumps([{"role": "user", "content": "Fix the cart"}]))
        for _ in range(2):
            assert run("--store", copied, "import", str(log)).exit_code == 0
        [(made,)] = admin.execute(waiting).fetchall()
        assert made == job | {"session": made["session"]}
        assert made["session"] in run("--store", copied, "sessions").output


def test_the_variable_names_a_database_too(run: Run, copied: str) -> None:
    """`SIGHTLINE_STORE` is heard by every command; --store goes before it."""
    listed = run("sessions", "--json", env={"SIGHTLINE_STORE": copied})
    assert [each["id"] for each in json.loads(listed.stdout)["sessions"]] == ["login-bug"]
    assert run("sessions", "delete", "login", "--yes", env={"SIGHTLINE_STORE": copied}).exit_code == 0
    assert "No sessions" in run("sessions", env={"SIGHTLINE_STORE": copied}).output


def test_sessions_come_back_into_files(run: Run, copied: str, folder: Folder, tmp_path: Path) -> None:
    """Into a folder that is empty, byte for byte; a second time there is nothing to do. The copy can be verified."""
    (tmp_path / "back").mkdir()
    for state in ("copied", "same"):
        done = run("store", "copy", copied, str(tmp_path / "back"), "--json")
        assert [each["state"] for each in json.loads(done.stdout)["sessions"]] == [state]
    copy = tmp_path / "back" / "login-bug.jsonl"
    assert copy.read_bytes() == folder.file("login-bug").read_bytes()
    good = run("verify", "--all", "--folder", str(copy.parent), "--json")
    assert (good.exit_code, json.loads(good.stdout)["payloads"]) == (0, 23)
    lines = copy.read_bytes().splitlines(keepends=True)
    copy.write_bytes(b"".join(lines[:20] + lines[21:]))
    assert run("verify", "--all", "--folder", str(copy.parent)).exit_code == 1


def test_who_finds_no_sessions_in_a_database_is_told_of_the_tenant(run: Run, copied: str) -> None:
    """Others may have some: a backup of one tenant is none of all."""
    other = f"{copied}&tenant=other" if "?" in copied else f"{copied}?tenant=other"
    add_tenants(copied, "other")
    for command in (("sessions",), ("verify", "--all"), ("store", "copy", other, "nowhere")):
        assert "tenant other; ?tenant=NAME" in " ".join(run(*command, env={"SIGHTLINE_STORE": other}).output.split())


def test_a_session_that_cannot_be_copied_is_named(run: Run, copied: str, tmp_path: Path) -> None:
    """The others are copied, and the exit code says that one was not."""
    done = run("store", "copy", copied, str(tmp_path / "back"), "--session", "nobody", "--session", "login-bug")
    assert done.exit_code == 1
    assert "nobody: no session 'nobody'" in done.output.replace("\n", " ")
    assert "login-bug: copied" in done.output


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_database_that_cannot_be_reached_is_told_once(run: Run, shop: tuple[Path, Folder], lang: str) -> None:
    """However many sessions there are to copy."""
    project, sessions = shop
    (sessions.path / "other.jsonl").write_bytes(sessions.file("login-bug").read_bytes())
    done = run("--lang", lang, "store", "copy", str(project), "postgresql://me@127.0.0.1:1/team")
    assert (done.exit_code, done.output.count("postgresql://me@127.0.0.1:1/team")) == (1, 1), done.output


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_output_has_a_password(run: Run, copied: str, tmp_path: Path, lang: str) -> None:
    """Neither what succeeds nor what fails, nor a traceback."""
    away = "postgresql://me:s3cret@127.0.0.1:1/name?connect_timeout=1"
    for command in (
        ("--store", copied, "doctor", "--offline"), ("--store", copied, "sessions", "show", "nobody"),
        ("--store", away, "sessions"), ("--store", away, "doctor", "--offline"), ("store", "copy", away, "back"),
        ("store", "copy", copied, str(tmp_path / "back")), ("--store", f"{away}&nonsense=1", "sessions"),
        ("--store", "mysql://me:s3cret@host/name", "sessions"),
    ):  # fmt: skip
        done = CliRunner().invoke(app, ["--lang", lang, *command])
        assert "s3cret" not in done.output + str(done.exception), command
        assert done.output


def test_a_file_is_imported_into_a_database(run: Run, url: str, tmp_path: Path, folder: Folder) -> None:
    """Every line of it, once; nothing is written to files; it comes back as it was."""
    said = [("user", "u1", None, "Fix it."), ("assistant", "a1", "u1", "Done.")]
    lines = [
        {"type": kind, "uuid": own, "parentUuid": parent, "sessionId": "s1", "message": {"role": kind, "content": text}}
        for kind, own, parent, text in said
    ]
    (tmp_path / "s1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for state in ("new", "unchanged"):
        [done] = json.loads(run("--store", url, "import", "s1.jsonl", "--json").stdout)["imported"]
        assert (done["session"], done["state"]) == ("claude-s1", state)
    assert folder.sessions() == ["login-bug"]
    back = run("--store", url, "sessions", "export", "claude-s1", "--format", "source")
    assert [json.loads(each) for each in back.stdout.splitlines()] == lines


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_saved_code_is_copied_with_the_sessions(run: Run, url: str, folder: Folder, tmp_path: Path, lang: str) -> None:
    """Into the database and back, every version; a second time there is nothing to do; a conflict is told."""
    code = CodeStore(folder.path / "code", clock=wall_clock)
    code.store("code_sales", "a = 1\n", session_id="login-bug")
    code.store("code_sales", "a = 2\n", session_id="login-bug")
    code.store("code_other", "b = 1\n", session_id="another")
    back = str(tmp_path / "back")
    for source, target in ((str(folder.path), url), (url, back)):
        for states in (["copied", "copied"], ["same", "same"]):
            done = json.loads(run("store", "copy", source, target, "--json").stdout)
            assert [each["state"] for each in done["code"]] == states
    there = CodeStore(tmp_path / "back" / "code", clock=wall_clock)
    assert [there.read("code_sales", version) for version in (1, 2)] == ["a = 1\n", "a = 2\n"]
    assert there.versions("code_sales")[0].session_id == "login-bug"
    code.delete("code_sales")
    code.store("code_sales", "another\n", session_id="login-bug")
    refused = run("--lang", lang, "store", "copy", str(folder.path), url, "--session", "login-bug")
    said = refused.output.replace("\n", " ")
    assert (refused.exit_code, "code_sales" in said, "version 1 differs" in said, "code_other" in said) == (
        1, True, True, False,
    )  # fmt: skip


def copied_sessions(done: Result) -> list[tuple[str, str]]:
    """The id and state of each session that a copy tells."""
    assert done.exit_code == 0, done.output
    return [(each["id"], each["state"]) for each in json.loads(done.stdout)["sessions"]]


@pytest.fixture
def shop(root: Path, tmp_path: Path, folder: Folder) -> tuple[Path, Folder]:
    """A working folder with data of its own in lines of JSON, and its sessions: a copy of the kept one."""
    working = tmp_path / "work"
    working.mkdir()
    (working / "train.jsonl").write_text('{"role": "user", "content": "no log"}\n{"type": "user", "uuid": "u"}\n')
    sessions = Folder(working, root)
    sessions.path.mkdir(parents=True)
    (sessions.path / "login-bug.jsonl").write_bytes(folder.file("login-bug").read_bytes())
    return working, sessions


def test_data_in_a_working_folder_makes_it_no_folder_of_logs(run: Run, shop: tuple[Path, Folder]) -> None:
    """The project's sessions are copied out of it and back into it, and nothing is written among its files."""
    working, sessions = shop
    log = sessions.file("login-bug").read_bytes()
    assert copied_sessions(run("store", "copy", str(working), "backup", "--json")) == [("login-bug", "copied")]
    sessions.delete("login-bug")
    for state in ("copied", "same"):
        assert copied_sessions(run("store", "copy", "backup", str(working), "--json")) == [("login-bug", state)]
    assert sessions.file("login-bug").read_bytes() == log
    assert [each.name for each in working.iterdir()] == ["train.jsonl"]


def test_a_project_with_logs_among_its_files_is_asked_about(run: Run, shop: tuple[Path, Folder]) -> None:
    """Nobody knows which are meant: neither is copied, and it is said how to name each."""
    working, sessions = shop
    (working / "old.jsonl").write_bytes(sessions.file("login-bug").read_bytes())
    for pair in ((str(working), "backup"), (str(sessions.path), str(working))):
        refused = run("store", "copy", *pair)
        said = refused.output.replace("\n", "")
        assert (refused.exit_code, str(sessions.path) in said, "folder of their own" in said) == (1, True, True), said
    assert not (working.parent / "backup").exists()
    assert copied_sessions(run("store", "copy", str(sessions.path), "backup", "--json")) == [("login-bug", "copied")]


def test_a_place_is_not_copied_to_itself(run: Run, shop: tuple[Path, Folder], monkeypatch: pytest.MonkeyPatch) -> None:
    """However it is written: as the project, as its path, or as the folder of its sessions."""
    working, sessions = shop
    monkeypatch.chdir(working)
    for pair in (
        (".", "."),
        (".", str(working)),
        (str(sessions.path), "."),
        (".", f"{sessions.path}/../{sessions.path.name}"),
    ):
        refused = run("store", "copy", *pair)
        assert (refused.exit_code, "the same place" in refused.output) == (1, True), refused.output


def test_a_copy_that_wrote_no_line_yet_is_begun_again(run: Run, folder: Folder, tmp_path: Path) -> None:
    """What is left of it, an empty log and the texts of windows, makes the folder no project."""
    back = tmp_path / "back"
    back.mkdir()
    for name in ("login-bug.jsonl", "login-bug.blobs"):
        (back / name).touch()
    assert copied_sessions(run("store", "copy", str(folder.path), "back", "--json")) == [("login-bug", "copied")]
    assert (back / "login-bug.jsonl").read_bytes() == folder.file("login-bug").read_bytes()


def test_tables_are_made_before_servers_start(run: Run, postgres: PostgresServer) -> None:
    """By the owner, with those of background work. A second time nothing is done; without a database it says why."""
    url = postgres.url()
    for _ in range(2):
        assert json.loads(run("--store", url, "store", "migrate", "--json").stdout)["version"] == len(MIGRATIONS)
    with postgres.connect() as admin:
        made = "SELECT FROM pg_tables WHERE schemaname = %s AND tablename IN ('entry', 'procrastinate_jobs')"
        assert len(admin.execute(made, (url.partition("schema=")[2],)).fetchall()) == 2
    assert "have version" in run("--store", url, "store", "migrate").stdout
    assert "--store postgresql://" in run("store", "migrate").output
