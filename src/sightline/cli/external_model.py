"""A program that writes summaries instead of a model: it reads the request and prints the summary."""

import os
import shlex
import shutil
import signal
import subprocess
import threading
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, Any

import click
import msgspec

from sightline.compaction.prompt import NoSummary
from sightline.errors import BadInput
from sightline.wire.payload import Payload

_MOST = 1 << 20  # bytes of an answer: no summary is longer, and a program that never stops must not fill the memory
_STDERR = 400  # bytes kept of its standard error: the last ones say why it failed


class Program:
    """Any program that reads a request as OpenAI chat JSON and writes a summary. It runs once."""

    def __init__(self, command: str) -> None:
        """Raises UsageError if `command` is no command line, BadInput if there is no such program."""
        try:
            self._args = shlex.split(command)
        except ValueError as error:
            raise click.UsageError(f"--with {command!r} is no command line: {error}") from error
        if not self._args:
            raise click.UsageError("--with needs a command, as in --with 'python summarise.py'")
        if shutil.which(self._args[0]) is None:
            why = "check its name, give its path, or write --with \"sh -c '…'\" for what only a shell knows"
            raise BadInput(f"no program {self._args[0]!r} can be run: {why}")
        self.command, self.stderr = command, ""
        self._lock, self._stopped = threading.Lock(), False
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, request: Payload) -> Any:
        """Run the program and return its answer: text, or an object if it is a provider's reply as JSON.

        Raises:
            NoSummary: the program failed, or its answer says that it did.
            OSError: it could not be run.
        """
        with TemporaryFile() as question, TemporaryFile() as errors:
            question.write(msgspec.json.encode(request.openai()))
            question.seek(0)
            answer, code = self._run(question, errors)
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _STDERR))
            self.stderr = errors.read().decode("utf-8", "replace").strip()
        if len(answer) > _MOST:
            raise NoSummary(f"the command's answer is longer than {_MOST:,} bytes")
        if code:
            raise NoSummary(f"the command ended with exit code {code}")
        return self._read(answer.decode("utf-8", "replace").strip())

    def _run(self, question: IO[bytes], errors: IO[bytes]) -> tuple[bytes, int]:
        with self._lock:
            if self._stopped:
                raise NoSummary("the command was stopped before it began")
            # In its own session, so that its children can be ended with it and none of them waits for the terminal.
            self._process = process = subprocess.Popen(
                self._args, stdin=question, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        assert process.stdout is not None
        with process.stdout:
            answer = process.stdout.read(_MOST + 1)
        if len(answer) > _MOST:
            self.stop()
        return answer, process.wait()

    def _read(self, answer: str) -> Any:
        """Decode a provider's reply, which is a JSON object; anything else is the summary itself."""
        if not answer.startswith("{"):
            return answer
        with suppress(msgspec.DecodeError):
            reply = msgspec.json.decode(answer)
            if reply.get("error"):
                self.stderr = msgspec.json.encode(reply["error"]).decode()[:_STDERR]
                raise NoSummary("the command's answer is an error")
            return reply
        return answer

    def stop(self) -> None:
        """End the program and its children, if it still runs."""
        with self._lock:
            self._stopped = True
            if self._process is not None and self._process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
