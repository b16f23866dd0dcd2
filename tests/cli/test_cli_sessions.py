"""`sightline sessions`: what it lists and shows is what the log holds, and looking changes nothing."""

import fcntl
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from sightline import Session, Settings, samples
from sightline.cli.phrases import LANGUAGES
from sightline.log.stores.session_folder import Folder
from sightline.view.replay.formats import recorded
from sightline.wire import read_messages

Run = Callable[..., Result]


def said(folder: Folder, session_id: str, *messages: str) -> None:
    """A small session beside the kept one."""
    with Session(_store(folder, session_id)) as session:
        for text in messages:
            session.user(text)


def _store(folder: Folder, session_id: str) -> Any:
    from sightline import JsonlStore

    return JsonlStore(folder.file(session_id))


def everything(folder: Folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.path.iterdir()}


def test_sessions_are_listed_newest_first(run: Run, folder: Folder) -> None:
    """Each with its facts, and the first words of its user."""
    said(folder, "older", "what is\nthe  weather")
    os.utime(folder.file("older"), (1_000_000_000, 1_000_000_000))
    listed = json.loads(run("sessions", "--json").stdout)
    assert [session["id"] for session in listed["sessions"]] == ["login-bug", "older"]
    older = listed["sessions"][1]
    assert older == {
        "id": "older", "written": 1_000_000_000, "size": folder.file("older").stat().st_size, "entries": 2,
        "branches": 1, "words": "what is the weather", "error": "",
    }  # fmt: skip
    rows = run("sessions", "list").stdout.splitlines()
    assert [row.split()[0] for row in rows] == ["session", "login-bug", "older"]
    assert rows[2].endswith("what is the weather")


def test_only_the_newest_are_listed_unless_all_are_asked_for(run: Run, folder: Folder) -> None:
    """What is not listed is counted."""
    for number in range(24):
        said(folder, f"s{number:02}", "hello")
    assert "5 older sessions: add --all" in run("sessions").stdout
    assert len(json.loads(run("sessions", "--json").stdout)["sessions"]) == 20
    assert len(json.loads(run("sessions", "--all", "--json").stdout)["sessions"]) == 25


def test_a_project_without_sessions_says_how_to_make_one(run: Run, folder: Folder) -> None:
    """That is no error. If other projects have sessions, it says how to find those."""
    Path("elsewhere").mkdir()
    result = run("--project", "elsewhere", "sessions")
    assert (result.exit_code, "replay --sample --keep" in result.stdout) == (0, True)
    assert json.loads(run("sessions", "--project", "elsewhere", "--json").stdout) == {"sessions": [], "total": 0}
    assert "Other projects have sessions" in result.stdout
    assert "--project 目录" in run("--project", "elsewhere", "--lang", "zh", "sessions").stdout
    folder.delete("login-bug")
    assert "Other projects" not in run("--project", "elsewhere", "sessions").stdout


def test_a_session_that_cannot_be_read_hides_no_other(run: Run, folder: Folder) -> None:
    """It is listed with the reason."""
    (folder.path / "no id.jsonl").write_text("{}")  # the name is no session's
    older = re.sub(r',"crc":"\w{8}"', "", folder.file("login-bug").read_text())
    newer = re.sub(r'"data":\{\}', '"data":{"format":999}', older, count=1)
    folder.file("newer").write_text(newer)
    result = run("sessions", "--json")
    listed = {session["id"]: session["error"] for session in json.loads(result.stdout)["sessions"]}
    assert listed["login-bug"] == ""
    assert "format 999" in listed["newer"]
    assert "no id" not in listed


@pytest.mark.slow
def test_looking_changes_nothing(run: Run, folder: Folder) -> None:
    """No command that shows something writes a byte, not even beside the log."""
    before = everything(folder)
    for args in (
        ["sessions"], ["sessions", "show"], ["sessions", "show", "--item", "8"], ["sessions", "export"], ["context"],
        ["context", "--window", "4000", "--output", "100"], ["verify"],
    ):  # fmt: skip
        assert run(*args).exit_code == 0
    assert everything(folder) == before


def test_show_lists_every_item_with_its_tokens_at_three_levels(run: Run, root: Path) -> None:
    """The ids are the session's, and the sizes those of its timeline."""
    shown = json.loads(run("sessions", "show", "--json").stdout)
    with Session.resume("login-bug", "/shop", root=root) as session:
        assert [item["id"] for item in shown["items"]] == [item.id for item in session.items]
        for item in shown["items"]:
            tokens = item["tokens"]
            assert tokens["full"] >= (tokens["summary"] or 0) >= (tokens["gist"] or 0) or tokens["summary"] is None
    assert (shown["session"], shown["branch"], shown["branches"]) == ("login-bug", "main", ["main"])
    rows = run("sessions", "show", "--last", "3").stdout.splitlines()
    assert [row.split()[0] for row in rows[2:]] == [f"#{item['id']}" for item in shown["items"][-3:]]


def test_show_names_a_pipe_as_everything_else_does(run: Run, folder: Folder) -> None:
    """Its stages, joined."""
    with Session(_store(folder, "pipe"), settings=Settings(strategy=["rounds", "sliding"])) as session:
        session.user("Hello.")
    assert "strategy rounds → sliding" in run("sessions", "show", "pipe").stdout


@pytest.mark.slow
def test_one_item_is_printed_byte_for_byte(run: Run, root: Path) -> None:
    """What a pipe receives is what was said, without a newline of our own."""
    with Session.resume("login-bug", "/shop", root=root) as session:
        for item in list(session.items)[:12]:
            assert run("sessions", "show", "--item", item.id).stdout_bytes == session.items.text(item.id).encode()
            facts = json.loads(run("sessions", "show", "--item", item.id, "--json").stdout)
            assert (facts["id"], facts["text"]) == (item.id, session.items.text(item.id))


def test_an_item_that_is_written_as_an_argument_is_told_how_to_be_named(run: Run) -> None:
    """In both languages, with the command to type."""
    for language in LANGUAGES:
        refused = run("--lang", language, "sessions", "show", "login-bug", "12")
        assert (refused.exit_code, "sessions show login-bug --item 12`" in refused.stderr) == (2, True)


def test_the_beginning_of_an_id_is_enough(run: Run, folder: Folder) -> None:
    """Where several begin so, all of them are named; where none does, it says so."""
    said(folder, "login-other", "hello")
    assert run("sessions", "show", "login-b").exit_code == 0
    several = run("sessions", "show", "login")
    assert several.exit_code == 1
    assert "login-bug" in several.stderr
    assert "login-other" in several.stderr
    assert "no session 'nope'" in run("sessions", "show", "nope").stderr


def test_an_error_is_one_line_and_exit_code_1(run: Run) -> None:
    """It says what to do; nothing stands on standard output."""
    result = run("sessions", "show", "--item", "999999", "--json")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert "no item #999999" in result.stderr


def test_bad_usage_is_exit_code_2(run: Run) -> None:
    """As every command line does it."""
    assert run("sessions", "--nonsense").exit_code == 2
    assert run("sessions", "fork").exit_code == 2


def test_every_option_branch_takes_the_name_of_a_fork(run: Run, folder: Folder) -> None:
    """The whole name is enough where others begin with it, and the beginning where only one does."""
    items = json.loads(run("sessions", "show", "--json").stdout)["items"]
    at = next(item["id"] for item in items if item["kind"] == "assistant" and "." not in item["id"])
    for name in ("try", "try-two", "other"):
        assert run("sessions", "fork", "--at", at, "--branch", "main", "--name", name).exit_code == 0
    for given, meant in (("try", "try"), ("try-", "try-two"), ("o", "other"), ("main", "main")):
        assert json.loads(run("sessions", "show", "--branch", given, "--json").stdout)["branch"] == meant
        assert json.loads(run("context", "--branch", given, "--json").stdout)["branch"] == meant
    refused = run("sessions", "fork", "--at", at, "--name", "try")
    assert (refused.exit_code, "there is a branch 'try' already" in refused.stderr) == (1, True)
    assert run("context", "--branch", "t").exit_code == 1


def test_a_fork_shares_what_came_before_and_is_current(run: Run, folder: Folder) -> None:
    """The log only grows, and both branches can be shown."""
    before = folder.file("login-bug").read_bytes()
    shown = json.loads(run("sessions", "show", "--json").stdout)["items"]
    at = next(item["id"] for item in shown if item["kind"] == "assistant" and "." not in item["id"])
    forked = json.loads(run("sessions", "fork", "--at", at, "--json").stdout)
    assert folder.file("login-bug").read_bytes().startswith(before)
    now = json.loads(run("sessions", "show", "--json").stdout)
    assert now["branch"] == forked["branch"]
    assert now["branches"] == ["main", forked["branch"]]
    assert now["items"] == shown[: forked["items"]]
    assert json.loads(run("sessions", "show", "--branch", "main", "--json").stdout)["items"] == shown
    assert run("sessions", "show", "--branch", "nowhere").exit_code == 1
    assert json.loads(run("verify", "--json").stdout)["good"]


@pytest.mark.parametrize("name", samples.names())
def test_an_exported_conversation_reads_back_as_what_was_said(run: Run, root: Path, name: str) -> None:
    """In the sample's own format nothing is lost: messages, tools and system are those that were put in."""
    sample = samples.load(name)
    with Session.new("/shop", root=root, session_id="whole") as session:
        session.system(sample.system)
        session.tools(sample.tools)
        session.extend(sample.messages)
    exported = json.loads(run("sessions", "export", "whole", "--format", sample.format).stdout)
    original = {"system": sample.system, "messages": sample.messages}
    assert recorded(exported).messages == recorded(original).messages
    assert len(exported["tools"] if sample.tools else []) == len(sample.tools)


@pytest.mark.parametrize("format_", ["openai", "anthropic", "responses"])
def test_every_provider_s_form_holds_the_same_conversation(run: Run, format_: str) -> None:
    """Whoever reads it back finds as many messages with the same roles, recalled pieces not among them."""
    sample = samples.load("login_bug")
    result = run("sessions", "export", "login-bug", "--format", format_, "-o", "out.json", "--json")
    told = json.loads(result.stdout)
    data = Path("out.json").read_bytes()
    assert told == {
        "session": "login-bug", "format": format_, "file": "out.json", "bytes": len(data),
        "messages": len(sample.messages) + 1,
    }  # fmt: skip
    roles = [message.role for message in recorded(json.loads(data)).messages]
    assert roles == ["system", *(message.role for message in read_messages(sample.messages))]


def test_the_log_is_exported_byte_for_byte(run: Run, folder: Folder) -> None:
    """To standard output and to a file alike."""
    log = folder.file("login-bug").read_bytes()
    assert run("sessions", "export", "--format", "jsonl").stdout_bytes == log
    assert "(jsonl" in run("sessions", "export", "--format", "jsonl", "-o", "copy.jsonl").stdout
    assert Path("copy.jsonl").read_bytes() == log


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("sessions show nobody", "此项目中没有会话 'nobody'"),
        ("sessions show --branch nobody", "'nobody' 对应 0 个分支"),
        ("sessions show --item 9999", "没有第 #9999 项"),
        ("uncompact", "没有压缩"),
        ("store copy nowhere backup", "nowhere 不存在"),
        ("replay", "请指定要重放的 FILE"),
    ],
)
def test_what_is_not_there_is_said_in_the_language_of_the_user(run: Run, command: str, words: str) -> None:
    """The errors that people meet first: a wrong id, a wrong place, an argument that is missing."""
    refused = run("--lang", "zh", *command.split())
    assert refused.exit_code in (1, 2)
    assert words in refused.output.replace("\n", "")


@pytest.mark.parametrize(("lang", "words"), [("en", "there is no folder"), ("zh", "没有文件夹")])
def test_an_export_into_no_folder_names_the_folder(run: Run, lang: str, words: str) -> None:
    """And no file whose name nobody gave."""
    refused = run("--lang", lang, "sessions", "export", "-o", "nowhere/x.json")
    assert refused.exit_code == 1
    assert words in refused.output
    assert "nowhere" in refused.output
    assert ".part" not in refused.output


def test_export_tells_facts_only_about_a_file(run: Run) -> None:
    """On standard output the conversation itself is the JSON object."""
    assert run("sessions", "export", "--json").exit_code == 2


def test_a_file_that_cannot_be_written_is_an_error_of_one_line(run: Run) -> None:
    """The disk's reason is told."""
    result = run("sessions", "export", "-o", "no/such/place.json")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


def test_delete_removes_the_session_and_what_is_derived(run: Run, folder: Folder) -> None:
    """Nothing of it stays in the folder."""
    assert json.loads(run("sessions", "delete", "login-bug", "--yes", "--json").stdout) == {"deleted": "login-bug"}
    assert list(folder.path.iterdir()) == []


def test_delete_names_who_has_the_session_open(run: Run, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says who it is and what to do, and everything is still there."""
    monkeypatch.setattr("sightline.values.file_lock.WAIT_SECONDS", 0.05)
    before = everything(folder)
    with folder.file("login-bug").open("rb") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        result = run("sessions", "delete", "login-bug", "--yes")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert f"cannot delete session login-bug: process {os.getpid()} (" in result.stderr
    assert "has it open; close it and try again" in result.stderr
    assert everything(folder) == before


def test_delete_needs_yes_where_nobody_can_be_asked(run: Run, folder: Folder) -> None:
    """In a script it is bad usage, and nothing is deleted."""
    assert run("sessions", "delete", "login-bug", input="y\n").exit_code == 2
    assert run("sessions", "delete", "login-bug", "--json").exit_code == 2
    assert folder.sessions() == ["login-bug"]


def test_what_a_log_says_cannot_act_on_the_terminal(run: Run, folder: Folder) -> None:
    """Escape sequences and direction marks are shown as U+FFFD."""
    said(folder, "bad", "red \x1b[31malert\x07 \u202egnorw")
    for args in (["sessions"], ["sessions", "show", "bad"], ["context", "bad"]):
        output = run(*args).stdout
        assert not {"\x1b", "\x07", "\u202e"} & set(output)
        assert "\ufffd[31malert" in output


def test_windows_and_pictures_have_words_too(run: Run, folder: Folder) -> None:
    """An item without text is named by what it is."""
    with Session(_store(folder, "seen")) as session:
        session.user([{"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}])
        session.windows.show("clock")
    words = [item["words"] for item in json.loads(run("sessions", "show", "seen", "--json").stdout)["items"]]
    assert words == ["[image]", "[clock]"]


def test_damaged_lines_are_counted(run: Run, folder: Folder) -> None:
    """They are passed over, and the reader is told."""
    log = folder.file("login-bug")
    log.write_bytes(log.read_bytes() + b"{nonsense}\n")
    assert "Damaged lines of the log that are ignored: 1\n" in run("sessions", "show").stdout


def test_changed_lines_are_counted_and_their_items_named(run: Run, folder: Folder) -> None:
    """The lines are shown as they are now, and the reader is told. An untouched log has none."""
    assert "were changed" not in run("sessions", "show").stdout
    log = folder.file("login-bug")
    log.write_bytes(log.read_bytes().replace(b"Good find.", b"Good fine."))
    log.with_suffix(".idx").unlink(missing_ok=True)
    shown = run("sessions", "show").stdout
    assert re.search(r"were changed after they were written, used as they are now: 1 \(items #\d+\)\n", shown)
    assert "Good fine." in shown


def test_the_list_shows_every_id_whole(run: Run, root: Path) -> None:
    """However long it is and however narrow the screen, because people paste it into another command."""
    long = "claude-" + "0123456789abcdef" * 3
    with Session.new("/shop", root=root, session_id=long) as session:
        session.user("A question")
    listed = run("sessions", env={"COLUMNS": "80"}).stdout.splitlines()
    ids = [line.split()[0] for line in listed[1:]]
    assert ids == [long, "login-bug"]
    assert run("sessions", "show", ids[0]).exit_code == 0
