"""`sightline serve` as a process of its own, before an upstream.

with Upstream(script) as upstream, ServeProcess(tmp_path, upstream) as serving:
    … serving.url …
"""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import psutil
from through_proxy import LISTS, Json
from upstream import Upstream

from copied_process import CopiedProcess
from sightline.session.session import Session

_GIVE = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
os.execv(sys.argv[2], sys.argv[2:])
"""
ENDS = {"anthropic": b"message_stop", "chat": b"[DONE]", "responses": b"response.completed"}


IMPORTS = """
import sightline.cli.serve, sightline.fleet.postgres, sightline.server.app, sightline.fleet.tenant_server
import httpx2, uvicorn.lifespan.on, uvicorn.loops.auto, uvicorn.protocols.http.auto
"""


class ServeProcess:
    """It serves while the block runs. `stop` and `start` put another process over the same folder."""

    def __init__(self, folder: Path, upstream: Upstream, *options: str, at: socket.socket | None = None) -> None:
        """`at`: it gets this socket to listen on, as from systemd."""
        self._folder, self._upstream, self._options, self._at = folder, upstream, options, at
        self.printed: list[str] = []  # on standard error
        self._process: CopiedProcess | subprocess.Popen[str]

    def __enter__(self) -> "ServeProcess":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reader.join()

    def start(self) -> None:
        """Start, and wait for the address."""
        upstreams = [f"anthropic={self._upstream.anthropic_url}", f"openai={self._upstream.openai_url}"]
        named = [argument for each in upstreams for argument in ("--upstream", each)]
        command = [sys.executable, "-m", "sightline", "--root", "logs", "serve", "--port", "0", *named, *self._options]
        environment = {**os.environ, "HOME": str(self._folder)}
        if self._at is None:
            self._process = CopiedProcess(IMPORTS, command[1:], self._folder, environment)
        else:
            given = (self._at.fileno(),)
            command = [sys.executable, "-c", _GIVE, str(*given), *command]
            self._process = subprocess.Popen(
                command, cwd=self._folder, env=environment, text=True, stderr=subprocess.PIPE, pass_fds=given
            )
        assert self._process.stderr is not None
        self.before: list[str] = []  # printed before the address
        while not (found := re.search(r"http://[\d.]+:\d+", line := self._process.stderr.readline())):
            assert line, f"the server did not say its address: {self.before}"
            self.before.append(line)
        self.url = found[0]
        self._reader = threading.Thread(target=self._read, args=(self._process.stderr,))
        self._reader.start()
        self.facts = psutil.Process(self._process.pid)

    def _read(self, printed: IO[str]) -> None:
        with printed:
            self.printed.extend(printed)

    def signal(self, number: int = signal.SIGTERM) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def wait(self, seconds: float = 60) -> int:
        """Wait for the end of the process, and return its exit status."""
        status = self._process.wait(seconds)
        self._reader.join()
        return status

    def texts(self) -> dict[str, list[str]]:
        """The texts of the items of every session, by the session's first text."""
        found = {}
        for name in {path.stem for path in (self._folder / "logs").rglob("proxy-*.jsonl")}:
            with Session.inspect(name, self._folder, root=self._folder / "logs") as session:
                texts = [session.items.text(item.id) for item in session.items]
            found[texts[0]] = texts
        return found


def last_words(wire: str, body: Json) -> str:
    """What the user said last in a request."""
    return str([each["content"] for each in body[LISTS[wire]] if each.get("role") == "user"][-1])


def shown_text(wire: str, events: list[Json]) -> str:
    """The words in the events of a streamed answer."""
    match wire:
        case "anthropic":
            return "".join(each["delta"].get("text", "") for each in events if each["type"] == "content_block_delta")
        case "chat":
            choices = [each["choices"][0]["delta"] for each in events if each.get("choices")]
            return "".join(each.get("content") or "" for each in choices)
        case _:
            return "".join(each["delta"] for each in events if each["type"] == "response.output_text.delta")


def assistant(wire: str, text: str) -> Json:
    """An answer as a client puts it into its list."""
    if wire == "responses":
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return {"role": "assistant", "content": text}
