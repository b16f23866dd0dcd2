"""What Claude Code is answered: what is kept before a compaction, given back after it, and the status line."""

import json
import os
import re
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from claude_log import WrittenLog

from sightline.adapters import claude_code, claude_hooks
from sightline.adapters.claude_code import give_back, keep, mcp_server
from sightline.adapters.claude_status import SAVINGS, status_line
from sightline.adapters.mcp_memory import SessionMemory
from sightline.imports.log_part import LogPart
from sightline.view.catalog.places import Places

RULE = "Never touch the tests."


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WrittenLog:
    """A log in which the user laid something down. Nothing outside the test's folder is looked at."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "SIGHTLINE_HOME", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    log = WrittenLog(tmp_path / "log.jsonl")
    log.user(f"Make the functions faster. {RULE}")
    log.assistant("I begin.")
    return log


def call(event: str, given: Any, monkeypatch: pytest.MonkeyPatch, **options: str) -> None:
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(data)))
    claude_hooks.run(event, {f"--{name}": value for name, value in options.items()})


def test_what_the_user_laid_down_is_given_back_after_a_compaction(
    log: WrittenLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As Claude Code calls us: nothing is said before the compaction; after it, one JSON object with the rule."""
    call("pre-compact", log.facts(trigger="auto"), monkeypatch, root=str(tmp_path / "home"))
    assert capsys.readouterr().out == ""
    call("session-start", log.facts(source="compact"), monkeypatch, root=str(tmp_path / "home"))
    added = json.loads(capsys.readouterr().out)["hookSpecificOutput"]
    assert added["hookEventName"] == "SessionStart"
    assert f"\n- {RULE}\n" in added["additionalContext"]
    assert claude_hooks.read_log(str(tmp_path / "home" / "claude-code")) == []


@pytest.mark.parametrize("source", ["startup", "clear", "other"])
def test_a_session_that_begins_is_told_nothing(source: str, log: WrittenLog, tmp_path: Path) -> None:
    """Nothing was lost."""
    keep(log.facts(), tmp_path)
    assert give_back(log.facts(source=source), tmp_path) == ""


def test_nothing_was_kept_before_the_compaction(log: WrittenLog, tmp_path: Path) -> None:
    """The hook was installed later, or it failed: the log still says everything."""
    assert RULE in give_back(log.facts(source="compact"), tmp_path)


def test_a_resume_gives_back_only_what_is_not_shown(log: WrittenLog, tmp_path: Path) -> None:
    """Nothing if the session was not compacted, or if what we added then is in the log; all of it if it is not."""
    keep(log.facts(), tmp_path)
    resumed = log.facts(source="resume")
    assert give_back(resumed, tmp_path) == ""
    given = give_back(log.facts(source="compact"), tmp_path)
    log.compact("This session is being continued. The user wants speed.")
    assert RULE in give_back(resumed, tmp_path)
    log.add_context(given)
    assert give_back(resumed, tmp_path) == ""


def test_what_the_summary_quotes_is_not_said_again(log: WrittenLog, tmp_path: Path) -> None:
    """Where the log has the summary already, each sentence is looked for in it."""
    log.user("Always use tabs.")
    keep(log.facts(), tmp_path)
    log.compact(f"This session is being continued. The user said: {RULE}")
    given = give_back(log.facts(source="resume"), tmp_path)
    assert "- Always use tabs." in given
    assert f"- {RULE}" not in given


def test_a_file_that_says_the_same_is_not_the_user(log: WrittenLog, tmp_path: Path) -> None:
    """Files that Claude Code shows again after a compaction hide nothing."""
    keep(log.facts(), tmp_path)
    log.compact("This session is being continued.")
    content = {"type": "text", "file": {"content": RULE}}
    log.write("attachment", attachment={"type": "file", "filename": "a.md", "content": content})
    assert f"- {RULE}" in give_back(log.facts(source="resume"), tmp_path)


def test_only_what_is_new_is_read_at_the_next_compaction(
    log: WrittenLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in bytes. What was laid down before the first one still counts."""
    first = keep(log.facts(), tmp_path)
    log.compact("This session is being continued.")
    log.user("Always use tabs.")
    starts: list[int] = []

    class Watched(LogPart):
        def __init__(self, path: Path, start: int = 0) -> None:
            super().__init__(path, start)
            starts.append(start)

    monkeypatch.setattr(claude_code, "LogPart", Watched)
    again = keep(log.facts(), tmp_path)
    assert starts == [first.place]
    assert again.place == log.path.stat().st_size
    assert again.reminder.in_force() == ["Always use tabs.", RULE]


def test_what_was_taken_back_is_forgotten(log: WrittenLog, tmp_path: Path) -> None:
    """A rewind to before a message: what it laid down does not hold. Then the whole log is read again."""
    before = log.last
    log.user("Always answer in German.")
    keep(log.facts(), tmp_path)
    log.last = before
    log.user("Always answer in French.")
    assert keep(log.facts(), tmp_path).reminder.in_force() == ["Always answer in French.", RULE]


def test_another_log_of_the_same_session_is_read_whole(log: WrittenLog, tmp_path: Path) -> None:
    """It was replaced."""
    keep(log.facts(), tmp_path)
    log.path.write_text("")
    log.last = None
    log.user("Always use tabs.")
    assert keep(log.facts(), tmp_path).reminder.in_force() == ["Always use tabs."]


@pytest.mark.slow
def test_what_is_given_back_is_bounded(log: WrittenLog, tmp_path: Path) -> None:
    """In tokens and in characters, because Claude Code would put more into a file; the newest rules are there."""
    for number in range(400):
        log.user(f"Never delete the file number_{number}_{'x' * 60}.txt without asking me.")
    keep(log.facts(), tmp_path)
    given = give_back(log.facts(source="compact"), tmp_path)
    assert len(given) <= 10_000
    assert claude_code.Cautious().count(given) <= claude_code.MOST_TOKENS
    assert "number_399_" in given


def test_it_is_in_the_user_s_language(log: WrittenLog, tmp_path: Path) -> None:
    """Or in the one that was chosen at the install."""
    for _ in range(3):
        log.user("不要修改测试目录下的任何文件。")
    keep(log.facts(), tmp_path)
    assert give_back(log.facts(source="compact"), tmp_path).startswith("此对话已被压缩。")
    assert give_back(log.facts(source="compact"), tmp_path, "en").startswith("This conversation was compacted.")


@pytest.mark.slow
def test_how_the_rest_is_found_is_what_there_is(log: WrittenLog, tmp_path: Path) -> None:
    """Our MCP server's tools if Claude Code knows it, in any of its files; else commands, which really do it."""
    command = give_back(log.facts(source="compact"), tmp_path).rsplit("\n", 1)[1]
    assert "mcp__" not in command
    importing, showing = (each for each in command.split("`") if "import" in each or "sessions show" in each)
    environment = {**os.environ, "SIGHTLINE_HOME": str(tmp_path / "sessions"), "PATH": ""}
    for line in (importing, showing):
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert "Make the functions faster" in done.stdout


def test_the_session_that_is_named_is_the_one_that_our_mcp_server_knows(log: WrittenLog, tmp_path: Path) -> None:
    """What stands in the log before the compaction is found with the arguments that the model is told."""
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"memory": {"command": "/x/sightline", "args": ["mcp"]}}}')
    own = tmp_path / ".claude" / "projects" / "-w" / f"{log.session}.jsonl"
    own.parent.mkdir(parents=True)
    log.path.rename(own)
    log.path = own
    told = give_back(log.facts(source="compact", cwd=str(tmp_path)), tmp_path)
    named = re.search(r'mcp__memory__recall\(session="([^"]+)"', told)
    assert named is not None
    places = Places(tmp_path, root=tmp_path / "sessions", everywhere=True)
    assert RULE in SessionMemory(places).recall(named[1], "functions faster")


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ({"mcpServers": {"sightline": {"command": "sightline", "args": ["mcp"]}}}, "sightline"),
        ({"projects": {"/w": {"mcpServers": {"s": {"command": "uvx", "args": ["sightline", "mcp"]}}}}}, "s"),
        ({"projects": {"/other": {"mcpServers": {"s": {"command": "sightline", "args": ["mcp"]}}}}}, ""),
        ({"mcpServers": {"sightline": {"type": "http", "url": "https://example.org"}}}, ""),
        ({"mcpServers": {"far": {"type": "http", "url": "http://127.0.0.1:8788/api/mcp"}}}, "far"),
        ({"mcpServers": []}, ""),
        ("no object", ""),
    ],
)
def test_our_server_is_known_by_its_command(
    own: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is called; in another project, or of another program, it is not ours."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    (tmp_path / ".claude.json").write_text(json.dumps(own))
    assert mcp_server("/w") == name


def test_the_line_is_utf_8_whatever_the_terminal_s_encoding_is(tmp_path: Path) -> None:
    """Claude Code reads that."""
    done = subprocess.run(
        [sys.executable, "-m", "sightline", "hook", "run", "status-line"], input=b"{}", capture_output=True, check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "SIGHTLINE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert "▏0/200k 0%" in done.stdout.decode()


def test_nobody_reads_what_is_printed(tmp_path: Path) -> None:
    """Claude Code stops a status line that is no longer wanted: no error is left behind."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "sightline", "hook", "run", "status-line"], input=b"{}", stdout=writing, check=False,
        stderr=subprocess.PIPE, env={**os.environ, "SIGHTLINE_HOME": str(tmp_path)},
    )  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert claude_hooks.read_log(str(tmp_path / "claude-code")) == []


@pytest.mark.parametrize("event", ["pre-compact", "session-start", "status-line", "other"])
@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"session_id": "../../x", "transcript_path": "/nowhere", "source": "compact"}',
    ],
)
def test_an_error_is_a_line_in_a_file_and_nothing_else(
    event: str, given: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Claude Code goes on: no exception, nothing on standard error, nothing outside our folder."""
    for _ in range(3):
        call(event, given, monkeypatch, root=str(tmp_path / "home"))
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "Traceback" not in printed.out
    lines = claude_hooks.read_log(str(tmp_path / "home" / "claude-code"))
    assert len(lines) <= 1  # the same error is told once
    assert all(f" {event}: " in line for line in lines)
    if event in ("pre-compact", "other"):
        assert len(lines) == 1
    assert {each.name for each in tmp_path.iterdir()} <= {"home"}


def test_the_file_of_errors_stays_small(tmp_path: Path) -> None:
    """The older half goes."""
    for number in range(400):
        claude_hooks.log_error(str(tmp_path), f"error {number} {'x' * 300}")
    lines = claude_hooks.read_log(str(tmp_path))
    assert (tmp_path / claude_hooks.LOG).stat().st_size < 100_000
    assert "error 399 " in lines[-1]


def test_what_is_kept_is_the_owner_s_alone_and_old_files_go(log: WrittenLog, tmp_path: Path) -> None:
    """After three months."""
    folder = tmp_path / "claude-code"
    keep(log.facts(), folder)
    [file] = (folder / "sessions").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    old = folder / "sessions" / "old.json"
    old.touch()
    os.utime(old, (0, 0))
    keep(log.facts(), folder)
    assert [*(folder / "sessions").iterdir()] == [file]


# ---------------------------------------------------------------------- the status line

WINDOW = {
    "context_window_size": 200_000,
    "current_usage": {
        "input_tokens": 1_000, "cache_creation_input_tokens": 9_000, "cache_read_input_tokens": 80_000,
    },
}  # fmt: skip


def test_the_line_says_how_full_the_window_is() -> None:
    """Tokens, share and bar; what was cached; the cost; what was read again, and compactions."""
    facts = {"context_window": WINDOW, "cost": {"total_cost_usd": 1.234}}
    line = status_line(facts, {"rereads": 3, "compactions": 1}, colour=False)
    assert line == "▕████▌     ▏90k/200k 45% · 89% cached · $1.23 · 3 re-reads · 1 compaction"
    assert status_line(facts, {"rereads": 1, "is_behind": True}, "zh", colour=False) == (
        "▕████▌     ▏90k/200k 45% · 缓存 89% · $1.23 · 重复读取 1+"
    )


def test_what_claude_code_does_not_say_is_counted_in_the_log() -> None:
    """Older versions tell no usage; a new session has none."""
    assert status_line({}, {}, colour=False) == "▕          ▏0/200k 0%"
    counts = {"input_tokens": 50_000, "cached_tokens": 25_000}
    assert status_line({"context_window": None}, counts, colour=False) == "▕██▌       ▏50k/200k 25% · 50% cached"
    million = {"context_window": {"context_window_size": 1_000_000, "current_usage": {"input_tokens": 1_250_000}}}
    assert status_line(million, {}, colour=False).startswith("▕██████████▏1.2M/1M 125%")


@pytest.mark.parametrize(("tokens", "code"), [(10_000, 32), (130_000, 33), (190_000, 31)])
def test_the_colour_says_how_near_the_end_is(tokens: int, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Green, yellow, red; none if it is not wanted."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    facts = {"context_window": {"context_window_size": 200_000, "current_usage": {"input_tokens": tokens}}}
    assert f"\033[{code}m" in status_line(facts, {})
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033" not in status_line(facts, {})


def test_the_log_is_counted_between_calls(
    log: WrittenLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What one call counted the next one knows."""
    for _ in range(2):
        log.call("Read", {"file_path": "/w/a.py"}, "A line of text that is long enough to count.\n" * 5)
        call("status-line", log.facts(), monkeypatch, root=str(tmp_path / "home"))
    log.compact("This session is being continued.")
    call("status-line", log.facts(), monkeypatch, root=str(tmp_path / "home"))
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("1 re-read") for line in lines] == [0, 1, 1]
    assert [line.count("1 compaction") for line in lines] == [0, 0, 1]


@pytest.mark.parametrize(
    ("kept", "shown"),
    [('{"dollars": 4.456}', "$4.46 saved in all"), ('{"dollars": -1.0}', ""), ('{"dollars": "x"}', ""), ("torn", "")],
)
def test_what_all_sessions_have_saved_is_told(
    kept: str,
    shown: str,
    log: WrittenLog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As `sightline savings`, or the page, has counted it last."""
    home = tmp_path / "home"
    home.mkdir()
    (home / SAVINGS).write_text(kept)
    call("status-line", log.facts(), monkeypatch, root=str(home))
    line = capsys.readouterr().out
    assert (shown in line) if shown else ("saved" not in line)


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        ("cat > given.json; echo mine", ["mine"]),
        ("printf 'one\\ntwo'", ["one", "two"]),
        ("exit 3", []),
        ("no-such-program", []),
    ],
)
def test_another_status_line_is_shown_above_ours(
    before: str,
    shown: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It has the same input; if it fails, ours is shown all the same."""
    monkeypatch.chdir(tmp_path)
    call("status-line", {"context_window": WINDOW}, monkeypatch, root=str(tmp_path), before=before)
    *above, ours = capsys.readouterr().out.splitlines()
    assert above == shown
    assert "90k/200k" in ours
    if shown == ["mine"]:
        assert json.loads((tmp_path / "given.json").read_text()) == {"context_window": WINDOW}


def test_the_status_line_imports_little(log: WrittenLog, tmp_path: Path) -> None:
    """It runs again and again beside an agent: no command line, no rules; if the log has not grown, next to nothing."""
    code = (
        "import atexit, sys; sys.argv = ['sightline', 'hook', 'run', 'status-line'];"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
        "from sightline.cli import main; main()"
    )
    seen = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], input=json.dumps(log.facts()), capture_output=True, text=True, check=True,
            env={**os.environ, "SIGHTLINE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)},
        )  # fmt: skip
        assert "0/200k" in done.stdout
        seen.append(set(done.stderr.split()))
    for modules in seen:
        assert modules.isdisjoint({"click", "rich", "sightline.shorten.rules", "sightline.session", "splintr"})
    assert "msgspec" in seen[0]
    assert seen[1].isdisjoint({"msgspec", "pathlib", "hashlib", "sightline.imports"})
