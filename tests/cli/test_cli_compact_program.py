"""`sightline compact` with a program in the model's place, and on a terminal: waiting, failing, stopping, fitting."""

import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from rich.cells import cell_len
from test_cli_compact import RULE, SUMMARY, TIGHT
from test_cli_terminal import NOT_PRINTED, SECONDS, Terminal

from sightline import Budget, Session, Settings
from sightline.log.stores.session_folder import Folder

Run = Callable[..., Result]


# ---------------------------------------------------------------------- with a program


def test_a_program_makes_the_summary(run: Run, root: Path, command: Callable[[str], str]) -> None:
    """It reads the request as OpenAI chat JSON, the question last; what it prints is the summary."""
    code = f"request = json.load(sys.stdin)\njson.dump(request, open('asked.json', 'w'))\nprint({SUMMARY!r})"
    told = json.loads(run("compact", *TIGHT, "--with", command(code), "--json").stdout)
    assert (told["success"], told["by"]) == (True, "command")
    assert told["summary"].startswith(SUMMARY)  # a digest of what the program was not shown follows
    asked = json.loads(Path("asked.json").read_text())
    assert {message["role"] for message in asked["messages"]} == {"system", "user", "assistant", "tool"}
    assert "nine sections" in str(asked["messages"][-1])
    assert "tools" in asked
    with Session.resume("login-bug", "/shop", root=root) as session:
        shown = [str(message.parts) for message in session.preview(Budget(16_000, 1_000)).body]
    assert any(SUMMARY in text for text in shown)
    assert any(RULE in text for text in shown)  # though the summary says otherwise


def test_a_provider_s_reply_as_json_is_understood(run: Run, command: Callable[[str], str]) -> None:
    """So that a program may be no more than a request over the network."""
    reply = {"choices": [{"message": {"role": "assistant", "content": SUMMARY}}]}
    told = json.loads(run("compact", *TIGHT, "--with", command(f"print({json.dumps(reply)!r})"), "--json").stdout)
    assert told["success"]
    assert told["summary"].startswith(SUMMARY)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        ("print('no key found', file=sys.stderr); sys.exit(3)", "ended with exit code 3", "no key found"),
        ("pass", "the model's answer is empty", ""),
        ('print(\'{"error": {"message": "no quota"}}\')', "the command's answer is an error", "no quota"),
        ("print('{}')", "reply", ""),
        ("print('word ' * 100_000)", "tokens; a summary may have", ""),
        ("sys.stdout.buffer.write(b'x' * (2 << 20))", "longer than 1,048,576 bytes", ""),
        ("os.kill(os.getpid(), 9)", "ended with exit code -9", ""),
    ],
)
def test_a_program_that_fails_is_warned_of_and_a_digest_takes_its_place(
    run: Run, root: Path, command: Callable[[str], str], code: str, error: str, said: str
) -> None:
    """With why, what it said, and how to try again; the session goes on and the rules stay."""
    result = run("compact", *TIGHT, "--with", command(code))
    assert result.exit_code == 0
    assert "No summary from the command: " in result.stderr
    assert error in result.stderr
    assert said in result.stderr
    assert "sightline uncompact && sightline compact --with" in result.stderr
    assert "[Automatic compaction failed; using fallback]" in result.stdout
    assert RULE in result.stdout
    with Session.resume("login-bug", "/shop", root=root) as session:
        session.user("go on")
        session.compose(Budget(16_000, 1_000))


def test_a_program_that_takes_too_long_is_ended_with_its_children(run: Run) -> None:
    """Nothing of it runs on."""
    program = "sh -c 'sleep 600 & echo $$ $! > pids; sleep 600'"  # a shell starts at once, also on a busy machine
    told = json.loads(run("compact", *TIGHT, "--with", program, "--seconds", "3", "--json").stdout)
    assert (told["success"], told["error"]) == (False, "the model gave no answer within 3 seconds")
    for pid in map(int, Path("pids").read_text().split()):
        assert ended(pid)


def ended(pid: int) -> bool:
    """Whether a process is gone, or about to be collected by whoever started it."""
    for _ in range(100 * SECONDS):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)
    return False


def test_files_that_matter_are_included_as_they_are_now(
    run: Run, root: Path, tmp_path: Path, command: Callable[[str], str]
) -> None:
    """The model reads them with the request; which ones is told, also by a dry run and the report."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "app.py").write_text("ANSWER = 'forty-two'\n")
    with Session.new(project, root=root) as session:
        for number in range(10):
            session.user(f"change app.py for the {number}th time, please")
            session.assistant("app.py is changed, and all of it is tested again " * 10)
    code = f"assert 'forty-two' in str(json.load(sys.stdin)['messages'][-1])\nprint({SUMMARY!r})"
    args = ("--project", str(project), "compact", "--with", command(code))
    tried = json.loads(run(*args, "--dry-run", "--json").stdout)
    told = json.loads(run(*args, "--json").stdout)
    assert told["success"]
    assert told["files"] == tried["files"] == ["app.py"]
    report = run("--project", str(project), "compact", "--report").stdout
    assert "Files given to the model as they are now: app.py" in report


@pytest.mark.parametrize(
    ("configuration", "shown"),
    [
        ('[tools]\nfolders = ["open"]', ["open/a.py"]),
        ('[tools]\nfolders = ["open", ".."]\n[models.a]\nno = "model"', ["closed/b.py", "open/a.py"]),
        ('[tools]\nfolders = ["linked", "../beyond"]', []),
        ('[tools]\nfolders = "open"', []),
        ("[tools", []),
    ],
)
def test_files_are_shown_of_the_tools_folders_only(
    run: Run, root: Path, tmp_path: Path, command: Callable[[str], str], configuration: str, shown: list[str]
) -> None:
    """And never of those outside; where the file does not say which, none are, and that is told."""
    project = tmp_path / "project"
    for path in ("project/open/a.py", "project/closed/b.py", "beyond/c.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"NAME = '{path}'\n")
    (project / "linked").symlink_to("../beyond")
    (project / "sightline.toml").write_text(configuration)
    with Session.new(project, root=root, settings=Settings()) as session:
        for number in range(10):
            session.user(f"change open/a.py, closed/b.py, linked/c.py and {tmp_path}/beyond/c.py, the {number}th time")
            session.assistant("open/a.py and closed/b.py are changed, and all of it is tested again " * 10)
    for more in (["--dry-run"], []):
        result = run("--project", str(project), "compact", "--with", command(f"print({SUMMARY!r})"), "--json", *more)
        told = json.loads(result.stdout)
        assert (told["success"], sorted(told["files"])) == (True, shown)
        assert ("does not say which folders may be read" in result.stderr) == (
            not shown and "linked" not in configuration
        )


@pytest.mark.slow
def test_what_was_said_meanwhile_stays(run: Run, root: Path, folder: Folder, command: Callable[[str], str]) -> None:
    """The agent that owns the session goes on while a program works: its words stand behind what is summarised."""
    code = (
        "from sightline import Session\n"
        f"with Session.resume('login-bug', '/shop', root={str(root)!r}) as session:\n    session.user('meanwhile')\n"
        f"print({SUMMARY!r})"
    )
    result = run("compact", *TIGHT, "--with", command(code))
    assert result.exit_code == 0
    written = folder.file("login-bug").read_text()
    assert written.index('"meanwhile"') < written.index("compact_boundary")
    with Session.resume("login-bug", "/shop", root=root) as session:
        assert "meanwhile" in str(session.compose(Budget(16_000)).openai())


# ---------------------------------------------------------------------- on a terminal


@pytest.mark.slow
def test_while_it_works_a_line_says_for_how_long(root: Path, command: Callable[[str], str]) -> None:
    """With what it waits for; gone when it is done, and only on a terminal."""
    seen = root / "seen"
    program = command(f"while not os.path.exists({str(seen)!r}): time.sleep(0.05)\nprint({SUMMARY!r})")
    terminal = Terminal(*at(root), "compact", *TIGHT, "--with", program, columns=120)
    terminal.until("asking ")
    terminal.until_matches(r"0:0\d:(0[1-9]|[1-5]\d)")
    seen.touch()
    assert terminal.end() == 0
    assert "\x1b[?25h" in terminal.shown[terminal.shown.rindex("\x1b[?25l") :]
    assert SUMMARY in terminal.shown


@pytest.mark.slow
def test_json_on_a_terminal_is_json(root: Path) -> None:
    """No line of progress stands before it."""
    terminal = Terminal(*at(root), "compact", *TIGHT, "--json")
    assert terminal.end() == 0
    assert json.loads(terminal.shown)["success"]


@pytest.mark.slow
def test_no_color_is_heeded(root: Path) -> None:
    """No escape sequence sets a colour."""
    terminal = Terminal(*at(root), "compact", *TIGHT, NO_COLOR="1")
    assert terminal.end() == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]?[0-9;]*m|\x1b\[38", terminal.shown)


@pytest.mark.slow
def test_ctrl_c_ends_the_program_and_writes_nothing(root: Path, folder: Folder, command: Callable[[str], str]) -> None:
    """Exit code 130, no traceback, the log as it was."""
    before = folder.file("login-bug").read_bytes()
    pid_file = root / "pid"
    program = command(f"open({str(pid_file)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)")
    terminal = Terminal(*at(root), "compact", *TIGHT, "--with", program)
    terminal.until("asking")
    while not (pid_file.exists() and pid_file.read_text()):
        time.sleep(0.01)
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown
    assert folder.file("login-bug").read_bytes() == before
    assert ended(int(pid_file.read_text()))


def at(root: Path) -> tuple[str, ...]:
    return ("--project", "/shop", "--root", str(root))


@pytest.mark.slow("zh-80")
@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_fits_the_width(run: Run, columns: int, language: str) -> None:
    """Panel and tables stay within the screen in both languages; sentences wrap by themselves."""
    output = run("compact", *TIGHT, "--dry-run", "--lang", language, env={"COLUMNS": str(columns)}).stdout
    tables = [
        line for line in output.splitlines() if line.startswith(("│", "╭", "╰", "  ", "paths", "numbers", "路径"))
    ]
    assert len(tables) > 10
    assert all(cell_len(NOT_PRINTED.sub("", line)) <= columns for line in tables)


@pytest.mark.slow
def test_chinese_is_spoken(run: Run) -> None:
    """Everything but what the conversation itself says."""
    output = run("--lang", "zh", "compact", *TIGHT).stdout
    assert "已压缩：login-bug" in output
    assert "规则" in output
    assert "已撤销压缩" in run("uncompact", "--lang", "zh").stdout


@pytest.mark.slow
def test_what_a_model_says_cannot_act_on_the_terminal(run: Run, command: Callable[[str], str]) -> None:
    """Control characters are shown as what they are not."""
    told = run(
        "compact",
        *TIGHT,
        "--with",
        command("print('gone \\x1b[2J and done, ' + 'whatever it was that was to be done here ' * 3)"),
    ).stdout
    assert "\x1b" not in told
    assert "gone \ufffd[2J and done, " in told
