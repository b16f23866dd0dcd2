"""The proxies that are compared, each a process of its own before the upstream of `proxy_upstream`."""

import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import IO, NamedTuple

import psutil

from benchmarks.environment import CACHE, ROOT, Environment, Missing, prepare
from benchmarks.proxy_client import KEY, Client

PINS = Path(__file__).with_name("proxy_pins")
START_SECONDS = 180  # some import for half a minute
LITELLM = Environment(CACHE / "bench-proxies" / "litellm", ("litellm[proxy]",), PINS / "litellm.txt", "")
HEADROOM = Environment(CACHE / "bench-proxies" / "headroom", ("headroom-ai[proxy]",), PINS / "headroom.txt", "")
OFFLINE = {
    "DO_NOT_TRACK": "1", "HEADROOM_OFFLINE": "1", "HEADROOM_TELEMETRY": "off", "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}  # fmt: skip

Command = tuple[Sequence[str], Mapping[str, str]]  # what is run, and variables beside our own


class Kind(NamedTuple):
    """A proxy: its name, and the command that runs it: of a folder for it, its port and the upstream's."""

    name: str
    command: Callable[[Path, int, int], Command]


def ours(name: str = "ours", *options: str) -> Kind:
    """Return our proxy, started as a user starts it."""

    def command(folder: Path, port: int, upstream: int) -> Command:
        address = f"openai=http://127.0.0.1:{upstream}/v1"
        serve = ["-m", "sightline", "--root", str(folder), "serve", "--port", str(port), "--upstream", address]
        return [sys.executable, *serve, *options], {}

    return Kind(name, command)


def plain() -> Kind:
    """Return a reverse proxy without any logic."""
    return Kind("a plain reverse proxy", lambda _folder, port, upstream: (
        [sys.executable, "-m", "benchmarks.plain_proxy", str(port), str(upstream)], {}
    ))  # fmt: skip


def litellm() -> Kind:
    """Return litellm's proxy. It asks for a key of its own."""

    def command(folder: Path, port: int, upstream: int) -> Command:
        prepare(LITELLM)
        model = {"model": "openai/*", "api_base": f"http://127.0.0.1:{upstream}/v1", "api_key": "any"}
        config = folder / "litellm.yaml"
        config.write_text(json.dumps({"model_list": [{"model_name": "*", "litellm_params": model}]}))
        options = ["--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
        program = LITELLM.python.with_name("litellm")
        return [str(program), *options], {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOG": "ERROR", **OFFLINE}

    return Kind("litellm", command)


def headroom() -> Kind:
    """Return headroom's proxy. Only its limit of 60 requests a minute is off."""

    def command(folder: Path, port: int, upstream: int) -> Command:
        prepare(HEADROOM)
        options = ["--port", str(port), "--openai-api-url", f"http://127.0.0.1:{upstream}/v1", "--no-rate-limit"]
        program = HEADROOM.python.with_name("headroom")
        return [str(program), "proxy", *options], {"HOME": str(folder), **OFFLINE}

    return Kind("headroom", command)


class Running(NamedTuple):
    """A proxy that runs, or the upstream itself."""

    name: str
    port: int
    process: psutil.Process | None

    def cpu(self) -> float:
        """Return the seconds of CPU that it has used, with those of its children."""
        return sum(sum(each.cpu_times()[:2]) for each in self._processes())

    def memory(self) -> int:
        """Return its resident bytes, with those of its children."""
        return sum(each.memory_info().rss for each in self._processes())

    def settle(self) -> None:
        """Wait until it does nothing any more, because what it does after an answer would count to the next one."""
        before, until = -1.0, monotonic() + 20
        while (now := self.cpu()) != before and monotonic() < until:
            before = now
            sleep(0.05)

    def _processes(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)] if self.process else []


@contextmanager
def upstream() -> Iterator[Running]:
    """Run the upstream."""
    command = [sys.executable, "-m", "benchmarks.proxy_upstream"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Running("direct", int(process.stdout.readline()), None)
        finally:
            process.kill()


@contextmanager
def running(kind: Kind, folder: Path, upstream_port: int) -> Iterator[Running]:
    """Run a proxy until the block ends. Raises Missing if it cannot be installed, or does not answer."""
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    command, variables = kind.command(folder, port, upstream_port)
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_BASE_URL", "_API_KEY"))}
    with ExitStack() as stack:
        output = stack.enter_context((folder / "output.txt").open("w"))
        process = _start(command, {**kept, **variables, "NO_PROXY": "127.0.0.1"}, output)
        stack.callback(_end, process)
        _wait_for_answer(kind.name, process, port)
        yield Running(kind.name, port, psutil.Process(process.pid))


def _start(command: Sequence[str], variables: Mapping[str, str], output: IO[str]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(command, cwd=ROOT, env=variables, stdout=output, stderr=subprocess.STDOUT)
    except OSError as error:
        raise Missing(f"cannot be started: {error}") from error


def _wait_for_answer(name: str, process: "subprocess.Popen[bytes]", port: int) -> None:
    until, told = monotonic() + START_SECONDS, ""
    body = json.dumps({"model": "bench", "messages": [{"role": "user", "content": secrets.token_hex(8)}]}).encode()
    while monotonic() < until and process.poll() is None:
        try:
            with Client(port) as client:
                client.ask(body)
                return
        except (OSError, Missing) as error:
            told = str(error)
            sleep(0.2)
    raise Missing(f"{name} did not answer: {told}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
