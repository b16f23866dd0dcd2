"""`sightline chat` on a pseudo-terminal, and what a person does there."""

import fcntl
import os
import re
import signal
import struct
import termios
from contextlib import suppress
from pathlib import Path
from time import sleep

import pexpect
from pexpect import fdpexpect

from copied_process import COMPOSED, copier

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[=>]|\r")
WHERE = "\x1b[6n"  # a program asks where the cursor is
SIZE = (40, 100)  # lines, columns
SECONDS = 240  # that anything may take on a busy machine: a real model reads a long prompt


IMPORTS = """
import httpx2, prompt_toolkit, rich.markdown
import sightline.cli.apps, sightline.cli.chat.chat, sightline.cli.chat.command, sightline.cli.doctor
"""


class Terminal:
    """`sightline chat` on a pseudo-terminal. `starts_anew`: it does its imports itself."""

    def __init__(self, project: Path, *args: str, starts_anew: bool = False) -> None:
        env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        env |= {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
        command = ["-m", "sightline", "chat", *args]
        self._copier = copier("" if starts_anew else IMPORTS + COMPOSED)
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", *SIZE, 0, 0))
        self._process = self._copier.start(command, project, env, [os.ttyname(slave)] * 3)
        os.close(slave)
        self._child = fdpexpect.fdspawn(master, timeout=SECONDS, encoding="utf-8")
        self.shown = ""  # with colours and all
        self._answered = self._at = 0

    def until(self, text: str) -> str:
        """Wait until this is shown, colours aside; everything shown before it since the last wait."""
        while (found := self._plain().find(text, self._at)) < 0:
            try:
                self.shown += self._child.read_nonblocking(4096, SECONDS)
            except (pexpect.TIMEOUT, pexpect.EOF) as error:
                raise AssertionError(f"waited for {text!r} after {self._plain()[self._at :][-2000:]!r}") from error
            self._tell_where()
        before, self._at = self._plain()[self._at : found], found + len(text)
        return before

    def _plain(self) -> str:
        return ESCAPES.sub("", self.shown)

    def _tell_where(self) -> None:
        """Answer as a terminal does who is asked where its cursor is: at the top."""
        for _ in range(self.shown.count(WHERE) - self._answered):
            self._child.send("\x1b[1;1R")
            self._answered += 1

    def prompt(self, strategy: str = "focus") -> None:
        """Wait for a new prompt: the line below it is drawn after it."""
        self.until("❯ ")
        self.until(f" · {strategy}")

    def type(self, keys: str) -> None:
        """Press keys, as soon as a person could: a program that has just asked may still be changing its terminal."""
        sleep(0.05)
        self._child.send(keys)

    def kill(self) -> None:
        """Pull the plug."""
        os.kill(self._process, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """Let go of the terminal."""
        self._child.close()  # hangs up
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        self._copier.wait(self._process)

    def end(self) -> int:
        """Wait for its end; the exit code."""
        with suppress(pexpect.EOF):
            while True:
                self.shown += self._child.read_nonblocking(4096, SECONDS)
                self._tell_where()
        self._child.close()
        return self._copier.wait(self._process)
