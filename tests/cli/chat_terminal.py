"""`sightline chat` on a pseudo-terminal, and what a person does there."""

import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pexpect

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[=>]|\r")
WHERE = "\x1b[6n"  # a program asks where the cursor is
SECONDS = 240  # that anything may take on a busy machine: a real model reads a long prompt


class Terminal:
    """`sightline chat` on a pseudo-terminal."""

    def __init__(self, project: Path, *args: str) -> None:
        env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        env |= {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
        self._child = pexpect.spawn(
            sys.executable, ["-m", "sightline", "chat", *args], cwd=str(project), env=env, encoding="utf-8",
            dimensions=(40, 100), timeout=SECONDS,
        )  # fmt: skip
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
        """Press keys."""
        self._child.send(keys)

    def kill(self) -> None:
        """Pull the plug."""
        self._child.kill(signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """Let go of the terminal."""
        self._child.close(force=True)

    def end(self) -> int:
        """Wait for its end; the exit code."""
        with suppress(pexpect.EOF):
            while True:
                self.shown += self._child.read_nonblocking(4096, SECONDS)
                self._tell_where()
        self._child.close()
        return int(self._child.exitstatus)
