"""The program itself: on a terminal, in a pipe, interrupted, without its packages."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "sightline"]
NOT_PRINTED = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SECONDS = 240  # that anything may take on a busy machine


def environment(**more: str) -> dict[str, str]:
    """This process's, without what would change how things look. A further PYTHONPATH stands before its own."""
    own = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    if "PYTHONPATH" in more and "PYTHONPATH" in own:
        more["PYTHONPATH"] += os.pathsep + own["PYTHONPATH"]
    return own | {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"} | more


class Terminal:
    """A program on a pseudo-terminal of this width."""

    def __init__(self, *args: str, columns: int = 100, **env: str) -> None:
        self._primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            [*COMMAND, *args], stdin=secondary, stdout=secondary, stderr=secondary, env=environment(**env),
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a run in the background ignores it
        )  # fmt: skip
        os.close(secondary)
        self.poll = select.poll()  # select takes no descriptor above 1023
        self.poll.register(self._primary, select.POLLIN)
        self.shown = ""

    def until(self, text: str) -> None:
        """Read until this is shown."""
        self.until_matches(re.escape(text))

    def until_matches(self, pattern: str) -> None:
        """Read until something is shown that matches this pattern. A program that does not show it is ended."""
        while not re.search(pattern, self.shown):
            if not self._read():
                self.process.kill()
                self.process.wait()
                pytest.fail(f"waited for {pattern!r} after {self.shown[-500:]!r}")

    def _read(self) -> bool:
        """Read what is shown next. False: the program has ended, or shows nothing for too long."""
        if not self.poll.poll(SECONDS * 1000):
            return False
        try:
            data = os.read(self._primary, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self.shown += data.decode("utf-8", "replace")
        return bool(data)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._primary, text.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        os.close(self._primary)
        return self.process.wait(SECONDS)


def test_on_a_terminal_there_are_colours_and_a_progress_bar() -> None:
    """Rows are printed above the bar, within the width of the screen."""
    terminal = Terminal("replay", "--sample", "data_report", "--delay", "0", columns=90)
    assert terminal.end() == 0
    assert "\x1b[" in terminal.shown
    assert "replaying" in terminal.shown
    lines = NOT_PRINTED.sub("", terminal.shown).replace("\r", "\n").splitlines()
    rows = [line for line in lines if line[:4].strip().isdigit()]
    assert len(rows) == 12
    assert all(len(row) <= 90 for row in rows)


def test_no_color_is_heeded_on_a_terminal() -> None:
    """Nothing is coloured: no escape sequence sets a colour."""
    terminal = Terminal("replay", "--sample", "data_report", "--delay", "0", NO_COLOR="1")
    assert terminal.end() == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]?[0-9;]*m|\x1b\[38", terminal.shown)


def test_ctrl_c_is_quiet() -> None:
    """Exit code 130, the cursor back, no traceback."""
    terminal = Terminal("replay", "--sample", "--delay", "5")
    terminal.until("user: tests")  # the first row is there: it is waiting for the next
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown
    assert terminal.shown.rindex("\x1b[?25h") > terminal.shown.rindex("\x1b[?25l")


@pytest.mark.parametrize(("answer", "code", "left"), [("n\n", 1, 1), ("y\n", 0, 0)])
def test_delete_asks_on_a_terminal(root: Path, answer: str, code: int, left: int) -> None:
    """Only a yes deletes."""
    terminal = Terminal("--project", "/shop", "--root", str(root), "sessions", "delete", "login-bug")
    terminal.until("for good?")
    terminal.type(answer)
    assert terminal.end() == code
    assert len(list(root.rglob("*.jsonl"))) == left


def test_an_item_on_a_terminal_cannot_act_on_it(root: Path) -> None:
    """What a pipe gets byte for byte is made harmless on a screen."""
    from sightline import Session

    with Session.new("/shop", root=root, session_id="bad") as session:
        item = session.user("\x1b[2Jgone")
    terminal = Terminal("--project", "/shop", "--root", str(root), "sessions", "show", "bad", "--item", item)
    assert terminal.end() == 0
    assert "\x1b[2J" not in terminal.shown
    assert "[2Jgone" in terminal.shown


def test_json_on_a_terminal_cannot_act_on_it(root: Path) -> None:
    """Control characters and those that turn a line around are written as JSON can: the object is the same."""
    from sightline import Session

    odd = 'a\x1b[2J\x9b2J\x7f\u061c\u2028\u2029\u202e\u2066 "文\\'
    with Session.new("/shop", root=root, session_id="bad") as session:
        item = session.user(odd)
    shown = ["--project", "/shop", "--root", str(root), "sessions", "show", "bad", "--item", item, "--json"]
    terminal = Terminal(*shown)
    assert terminal.end() == 0
    assert not re.search("[\x1b\x7f-\x9f\u061c\u2028\u2029\u202e\u2066]", terminal.shown)
    assert json.loads(terminal.shown) == json.loads(piped(*shown).stdout)
    assert json.loads(terminal.shown)["text"] == odd


def piped(*args: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *args], capture_output=True, text=True, encoding="utf-8", env=environment(**env), check=False
    )


def test_the_module_runs_as_a_program() -> None:
    """`python -m sightline` says its version; errors leave standard output empty."""
    from sightline import __version__

    assert piped("--version").stdout.strip() == f"sightline, version {__version__}"
    failed = piped("context")
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (1, "", 1)
    assert "\x1b" not in failed.stderr


def test_debug_shows_the_traceback() -> None:
    """Before or after the command."""
    for args in (["--debug", "context"], ["context", "--debug"]):
        assert "Traceback" in piped(*args).stderr


def test_a_reader_that_stops_early_is_no_error() -> None:
    """`sightline … | head -1` prints no traceback."""
    process = subprocess.Popen(
        [*COMMAND, "replay", "--sample", "long_chat", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait()


@pytest.mark.parametrize("package", ["click", "rich"])
def test_without_its_packages_it_says_which_to_install(package: str) -> None:
    """One line with the command that installs them."""
    code = f"import sys; sys.modules[{package!r}] = None; from sightline.cli import main; main()"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert failed.stderr.strip().endswith("pip install 'sightline-context[cli]'")


def test_every_command_is_listed_and_described_without_the_packages_of_other_extras() -> None:
    """`sightline` alone lists them all where only the extra `cli` is installed, and each has its `--help`."""
    code = """
import sys
from click.testing import CliRunner
from sightline.cli.doctor_checks import EXTRAS
sys.modules.update(dict.fromkeys(package for packages in EXTRAS.values() for package in packages))
from sightline.cli.main import COMMANDS, app
said = {name: CliRunner().invoke(app, args) for name, args in [("", []), *((it, [it, "--help"]) for it in COMMANDS)]}
print([name for name, done in said.items() if "Usage" not in done.output], set(COMMANDS) - set(said[""].output.split()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[] set()\n", "")


def test_importing_the_package_needs_neither() -> None:
    """The library stands without its command line."""
    absent = "import sys; sys.modules['click'] = sys.modules['rich'] = None"
    code = f"{absent}; import sightline; sightline.Session; import sightline.view.replay.replay"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
