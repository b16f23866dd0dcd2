"""`sightline import`: what it prints, what it refuses, and what comes back."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sightline import Session
from sightline.log.stores.session_folder import Folder
from sightline.view.call_rows import call_rows, usual_budget
from sightline.view.catalog.listed_sessions import Wanted
from sightline.view.catalog.places import Places
from sightline.view.catalog.session_catalog import SessionCatalog

Run = Callable[..., Result]

CHAT = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
CLAUDE = [
    {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s1", "message": {"role": "user", "content": "hi"}},
    {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "sessionId": "s1",
     "message": {"id": "m1", "role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "hello"}],
                 "usage": {"input_tokens": 4, "cache_read_input_tokens": 6, "output_tokens": 5}}},
    {"type": "ai-title", "sessionId": "s1", "aiTitle": "Greeting"},
]  # fmt: skip
CODEX = [
    {"timestamp": "2026-11-01T10:00:00.000Z", "type": "session_meta", "payload": {"id": "t1"}},
    {"timestamp": "2026-11-01T10:00:01.000Z", "type": "response_item",
     "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}},
    {"timestamp": "2026-11-01T10:00:02.000Z", "type": "response_item",
     "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}},
]  # fmt: skip


def by_line(name: str, values: list[dict[str, object]]) -> None:
    text = "".join(json.dumps(value) + "\n" for value in values)
    Path(name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


def test_an_import_tells_what_it_read_and_can_be_looked_at(run: Run) -> None:
    """The counts of each type and the usage; a second one says that nothing is new."""
    by_line("s1.jsonl", CLAUDE)
    told = run("import", "s1.jsonl").stdout
    assert "s1.jsonl (Claude Code) is now session claude-s1: 3 lines, 2 messages." in told
    rows = [line.split() for line in told.splitlines()]
    assert ["line", "type", "lines", "messages", "metadata"] in rows
    assert [row for row in rows if row[:1] in (["user"], ["ai-title"])] == [["user", "1", "1"], ["ai-title", "1", "1"]]
    assert ["all,", "each", "kept", "3", "2", "1"] in rows
    assert "10 read (6 from the cache, 0 written to it), 5 answered" in told
    assert "nothing is new" in run("import", "s1.jsonl").stdout
    assert json.loads(run("context", "claude-s1", "--json").stdout)["session"] == "claude-s1"
    back = run("sessions", "export", "claude-s1", "--format", "source").stdout
    assert [json.loads(each) for each in back.splitlines()] == CLAUDE
    refused = run("sessions", "export", "login-bug", "--format", "source")
    assert (refused.exit_code, "was not imported" in refused.stderr) == (1, True)


def test_a_folder_is_imported_and_what_is_none_is_named(run: Run) -> None:
    """With exit code 0, because nobody said that every file is a conversation."""
    Path("logs/deep").mkdir(parents=True)
    by_line("logs/deep/rollout.jsonl.gz", CODEX)
    by_line("logs/s1.jsonl", CLAUDE)
    Path("logs/other.json").write_text('{"id": "a", "question": "what?"}')
    done = run("import", "logs", "--json")
    facts = json.loads(done.stdout)
    assert done.exit_code == 0
    assert [each["session"] for each in facts["imported"]] == ["claude-s1", "codex-t1"]
    assert [Path(each["file"]).name for each in facts["refused"]] == ["other.json"]
    assert "['id', 'question']" in run("import", "logs").stderr


@pytest.mark.parametrize("command", ["import", "replay"])
def test_a_file_that_is_none_is_refused(run: Run, command: str) -> None:
    """With what was found, and exit code 1."""
    Path("other.json").write_text('{"id":"a","question":"what?"}')
    Path("broken.jsonl.gz").write_bytes(gzip.compress(json.dumps(CHAT).encode())[:30])
    for name, told in (("other.json", "['id', 'question']"), ("broken.jsonl.gz", "damaged or cut off")):
        done = run(command, name)
        assert (done.exit_code, done.stdout) == (1, "")
        assert told in " ".join(done.stderr.split())


@pytest.mark.parametrize(("name", "values"), [("s1.jsonl", CLAUDE), ("rollout.jsonl.gz", CODEX)])
def test_other_agents_logs_are_replayed(run: Run, name: str, values: list[dict[str, object]]) -> None:
    """One call each, with what the user said."""
    by_line(name, values)
    [call] = json.loads(run("replay", name, "--json").stdout)["calls"]
    assert [came["text"] for came in call["came"]] == ["hi"]


def test_one_of_several_conversations_is_chosen(run: Run) -> None:
    """Without --line the choices are listed; of a folder too."""
    by_line("many.jsonl", [{"messages": CHAT}, {"messages": [*CHAT, *CHAT]}])
    refused = run("replay", "many.jsonl")
    assert refused.exit_code == 1
    assert "--line 2" in refused.stderr
    assert len(json.loads(run("replay", "many.jsonl", "--line", "2", "--json").stdout)["calls"]) == 2
    assert len(json.loads(run("import", "many.jsonl", "--line", "2", "--json").stdout)["imported"]) == 1
    assert json.loads(run("replay", ".", "--line", "1", "--json").stdout)["calls"]


def dated(name: str, times: list[str]) -> None:
    """A log of Claude Code with a message of each of these times."""
    by_line(f"logs/{name}.jsonl", [
        {"type": "user", "uuid": f"{name}{at}", "parentUuid": f"{name}{at - 1}" if at else None, "sessionId": name,
         "timestamp": time, "message": {"role": "user", "content": "hi"}}
        for at, time in enumerate(times)
    ])  # fmt: skip


def test_an_imported_session_is_as_old_as_its_talk(run: Run) -> None:
    """The newest is the one whose last message is, whatever the files are called; what grew moves up.

    Without times it is as old as its file.
    """
    Path("logs").mkdir()
    dated("a", ["2026-03-01T10:00:00Z", "2026-03-05T10:00:00Z"])
    dated("b", ["2026-03-04T10:00:00Z"])
    Path("logs/c.json").write_text(json.dumps(CHAT))
    os.utime("logs/c.json", (1_700_000_000, 1_700_000_000))
    run("import", "logs")
    listed = {each["id"]: each["written"] for each in json.loads(run("sessions", "--json").stdout)["sessions"]}
    imported = [each for each in listed if each != "login-bug"]
    assert imported[:2] == ["claude-a", "claude-b"]
    assert [listed[each] for each in imported] == [1772704800, 1772618400, 1_700_000_000]
    dated("b", ["2026-03-04T10:00:00Z", "2026-03-06T10:00:00Z"])
    run("import", "logs")
    again = json.loads(run("sessions", "--json").stdout)["sessions"]
    assert next(each["id"] for each in again if each["id"] != "login-bug") == "claude-b"


def test_an_old_talk_is_not_the_newest_of_many_sessions(run: Run, root: Path) -> None:
    """Also in a folder that is listed by its file of recent sessions."""
    folder = Folder("/shop", root)
    for number in range(201):
        folder.file(f"s{number}").write_bytes(b"{}\n")
    assert folder.sessions()
    Path("logs").mkdir()
    dated("a", ["2020-03-01T10:00:00Z"])
    run("import", "logs")
    assert folder.sessions()[-1] == "claude-a"


@pytest.mark.parametrize(("values", "profile"), [(CLAUDE, "anthropic"), (CODEX, "openai")])
def test_tokens_and_prices_are_those_of_the_provider_that_was_recorded(
    run: Run, root: Path, values: list[dict[str, object]], profile: str
) -> None:
    """An imported session and a replay have its profile, unless --profile names another; so has a replay of it."""
    by_line("log.jsonl", values)
    [done] = json.loads(run("import", "log.jsonl", "--json").stdout)["imported"]
    with Session.inspect(done["session"], "/shop", root=root) as session:
        assert session.settings.profile == profile
    assert json.loads(run("replay", "log.jsonl", "--json").stdout)["profile"] == profile
    assert json.loads(run("replay", done["session"], "--json").stdout)["profile"] == profile
    assert json.loads(run("replay", "log.jsonl", "--profile", "local", "--json").stdout)["profile"] == "local"
    run("sessions", "delete", done["session"], "--yes")
    run("import", "log.jsonl", "--profile", "local")
    with Session.inspect(done["session"], "/shop", root=root) as session:
        assert session.settings.profile == "local"


def test_messages_with_blocks_of_anthropic_are_counted_as_its(run: Run) -> None:
    """Other lists of messages are counted as OpenAI counts, as before."""
    block = {"type": "tool_use", "id": "t", "name": "run", "input": {}}
    Path("theirs.json").write_text(json.dumps([CHAT[0], {"role": "assistant", "content": [block]}]))
    Path("other.json").write_text(json.dumps(CHAT))
    assert json.loads(run("replay", "theirs.json", "--json").stdout)["profile"] == "anthropic"
    assert json.loads(run("replay", "other.json", "--json").stdout)["profile"] == "openai"


def test_a_stored_session_is_replayed_by_its_id(run: Run) -> None:
    """The beginning of the id is enough; what is neither a file nor a session is an error that says so."""
    facts = json.loads(run("replay", "login", "--json").stdout)
    assert facts["calls"]
    refused = run("replay", "nowhere.json")
    assert refused.exit_code == 1
    assert "nowhere.json is no file, and no session of this project" in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["<command-name>/clear</command-name>", "<ide_opened_file>a.py</ide_opened_file>", "Fix a.py"], "Fix a.py"),
        (["<command-name>/review</command-name>\n<command-args>the parser</command-args>"], "/review the parser"),
    ],
)
def test_the_list_shows_the_persons_first_words(run: Run, texts: list[str], shown: str) -> None:
    """Not what a harness wrote in their place; where they only typed a command, the command."""
    by_line("s9.jsonl", [
        {"type": "user", "uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else None, "sessionId": "s9",
         "message": {"role": "user", "content": text}}
        for at, text in enumerate(texts)
    ])  # fmt: skip
    run("import", "s9.jsonl")
    listed = {each["id"]: each["words"] for each in json.loads(run("sessions", "--json").stdout)["sessions"]}
    assert listed["claude-s9"] == shown


@pytest.mark.parametrize(("sent", "window"), [(9_000, 200_000), (450_000, 1_000_000)])
def test_an_imported_log_has_the_window_of_its_model(run: Run, folder: Folder, sent: int, window: int) -> None:
    """In the list of calls, in "What if", in context, replay and report: as its name says, or as large as what it took.

    An answer that no model gave, which Claude Code writes where a call fails, says nothing of it.
    """
    own = {
        "id": "m1",
        "role": "assistant",
        "model": "claude-sonnet-4-20250514",
        "content": [{"type": "text", "text": "x"}],
    }
    answer = {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "sessionId": "s1"}
    failed = {
        "id": "m2",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": "API Error"}],
    }
    by_line("s1.jsonl", [
        CLAUDE[0],
        answer | {"message": own | {"usage": {"input_tokens": sent, "output_tokens": 5}}},
        CLAUDE[0] | {"uuid": "u2", "parentUuid": "a1"},
        answer | {"uuid": "a2", "parentUuid": "u2", "message": failed | {"usage": {"input_tokens": 0}}},
    ])  # fmt: skip
    run("import", "s1.jsonl")
    assert json.loads(run("context", "claude-s1", "--json").stdout)["window"] == window
    for named in ("s1.jsonl", "claude-s1"):
        assert json.loads(run("replay", named, "--json").stdout)["window"] == window
        told = json.loads(run("report", named, "--json").stdout)["sessions"][0]["forecasts"]
        assert {forecast["window"] for forecast in told} == {window}
    with Session.inspect("claude-s1", stores=folder) as session:
        assert [row.limit for row in call_rows(session, 0, 9)[0]] == [window, None]
        assert usual_budget(session).window == usual_budget(session, 1).window == window


def test_a_session_is_of_the_project_that_its_log_names(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the command line, where it may be the newest, and on the page, which does not list its file besides.

    Of a project that is not on this machine it becomes a session of this one.
    """
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root.parent / "claude"))
    logs, shop = root.parent / "claude" / "projects" / "x", root.parent / "shop"
    logs.mkdir(parents=True)
    shop.mkdir()
    for name, cwd in (("s1", str(shop)), ("s2", "/nowhere/at/all")):
        by_line(str(logs / f"{name}.jsonl"), [line | {"sessionId": name, "cwd": cwd} for line in CLAUDE])
    told = run("import", str(logs)).stdout
    assert told.count("It is of the project") == 1
    assert f"--project {shop} shows it" in told
    assert Folder(shop, root).sessions() == ["claude-s1"]
    assert set(Folder("/shop", root).sessions()) == {"login-bug", "claude-s2"}
    assert json.loads(run("--project", str(shop), "context", "--json").stdout)["session"] == "claude-s1"
    listed = SessionCatalog(Places("/shop", root=root, everywhere=True)).page(Wanted()).rows
    assert {(row.name, row.state) for row in listed} == {
        (name, "session") for name in ("login-bug", "claude-s1", "claude-s2")
    }
    assert len(listed) == 3
    assert "nothing is new" in run("import", str(logs / "s1.jsonl")).stdout
