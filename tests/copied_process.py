"""New processes without the seconds that imports take: copies of one that has imported what programs here need.

A copy has its own folder, environment, files and terminal, and shares nothing with the others. A program that must be
seen to start by itself is not for this.
"""

import json
import os
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from open_resources import lasting

COMPOSED = """
from sightline import Budget, MemoryStore, Session
with Session(MemoryStore("any")) as session:
    session.user("Please never write to the disk, and read app.py first.")
    for number in range(8):
        called = {"name": "read", "arguments": '{"path": "app.py"}'}
        call = {"id": str(number), "type": "function", "function": called}
        session.reply({"role": "assistant", "content": None, "tool_calls": [call]})
        session.tool_result(str(number), "def total(rows): return sum(rows)\\n" * 40)
        session.compose(Budget(2_000))
    session.user("What was in app.py?")
    session.compose(Budget(2_000))
"""
"""More to do with the imports: shorten a conversation once, which compiles patterns and loads a vocabulary."""

_PROGRAM = """
import atexit, fcntl, gc, json, os, runpy, sys, termios, threading, traceback
exec(sys.argv[1], {})
gc.freeze()
for line in iter(sys.stdin.readline, ""):
    job = json.loads(line)
    if "wait" in job:
        print(os.waitstatus_to_exitcode(os.waitpid(job["wait"], 0)[1]), flush=True)
        continue
    files = [os.open(each, os.O_RDWR | os.O_CREAT | os.O_NOCTTY, 0o600) for each in job["files"]]
    if child := os.fork():
        for each in files:
            os.close(each)
        print(child, flush=True)
        continue
    os.setsid()
    for number, each in enumerate(files):
        os.dup2(each, number)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", buffering=1, closefd=False)
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", buffering=1, closefd=False)
    sys.argv, sys.path[:0] = job["command"], job["paths"]
    break
else:
    sys.exit()
code = 0
try:
    if sys.argv[0] == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
        runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    if code and not isinstance(end.code, int):
        print(end.code, file=sys.stderr)
except BaseException:
    traceback.print_exc()
    code = 1
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
os._exit(code)  # to take down hundreds of modules one by one would take longer than most programs here
"""


class Copier:
    """A process that has done some imports, and makes copies of itself."""

    def __init__(self, imports: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, imports], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def start(self, command: list[str], folder: Path, environment: dict[str, str], files: list[str]) -> int:
        """Start a copy that runs a command of Python, and return its process id.

        `files`: the paths of its standard input, output and error, which are opened to read and write.
        """
        paths = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
        return self._ask(
            {"command": command, "folder": str(folder), "environment": environment, "files": files, "paths": paths}
        )

    def wait(self, process: int) -> int:
        """Wait for the end of a copy, and return its exit code."""
        return self._ask({"wait": process})

    def _ask(self, job: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def run(self, command: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command of Python in a copy, and return what it printed."""
        printed = [folder / f".printed-{name}" for name in ("output", "error")]
        code = self.wait(self.start(command, folder, environment, [os.devnull, *map(str, printed)]))
        output, error = (each.read_text(encoding="utf-8") for each in printed)
        for each in printed:
            each.unlink()
        return subprocess.CompletedProcess(command, code, output, error)


class CopiedProcess:
    """A copy that runs a command of Python. Has what is used of `subprocess.Popen` with a pipe for standard error."""

    def __init__(self, imports: str, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._copier, pipe = copier(imports), folder / ".error"
        os.mkfifo(pipe)
        self.pid = self._copier.start(command, folder, environment, [os.devnull, os.devnull, str(pipe)])
        self.stderr = pipe.open(encoding="utf-8")
        pipe.unlink()
        self._facts, self._code = psutil.Process(self.pid), None

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """Return its exit code; None while it runs."""
        if self._code is None and self._facts.status() == psutil.STATUS_ZOMBIE:  # the copier has not looked at it yet
            self._code = self._copier.wait(self.pid)
        return self._code

    def wait(self, seconds: float = 60) -> int:
        """Wait for its end, and return its exit code."""
        end = time.monotonic() + seconds
        while (code := self.poll()) is None:
            assert time.monotonic() < end, f"process {self.pid} does not end"
            time.sleep(0.01)
        return code


@cache
def copier(imports: str) -> Copier:
    """Return the process that has done these imports, one for all tests. It ends with the tests."""
    with lasting():
        return Copier(imports)
