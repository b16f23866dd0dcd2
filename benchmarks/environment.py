"""The peers' environments, each made once under `.cache`, and the processes that measure in them."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
PACKAGES = ("langchain", "langchain-core", "langgraph", "langgraph-checkpoint-sqlite", "openai-agents")


class Missing(Exception):
    """A peer that could not be measured, and why."""


class Environment(NamedTuple):
    """Peers that are installed together, and the module that runs them."""

    home: Path
    packages: tuple[str, ...]
    pins: Path  # pip's constraints: what is installed, and everything it pulls in, by version only
    module: str
    variables: Mapping[str, str] = {}  # of its process, beside our own

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return python_of(self.home)


def python_of(home: Path) -> Path:
    """The interpreter of a virtual environment."""
    return home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


SPEED = Environment(CACHE / "bench-env", PACKAGES, Path(__file__).with_name("peers.txt"), "benchmarks.peers")


def python() -> Path:
    """The interpreter of the environment whose speed is measured."""
    return SPEED.python


def prepare(environment: Environment = SPEED) -> None:
    """Install the packages of an environment, unless it has exactly these versions already. Raises Missing."""
    ready = environment.home / ".ready"
    if ready.exists() and ready.read_text() == environment.pins.read_text():
        return
    venv.create(environment.home, with_pip=True, clear=True)
    pip = [str(environment.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "-c", str(environment.pins), *environment.packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise Missing(f"pip could not install the peers: {(errors or ['no reason given'])[0]}")
    ready.write_text(environment.pins.read_text())


class Peers:
    """The process of one environment. It gets one request at a time, so that it is idle while Sightline is measured."""

    def __init__(self, environment: Environment = SPEED) -> None:
        self.missing = ""
        self._process: subprocess.Popen[str] | None = None
        try:
            prepare(environment)
        except (Missing, OSError, subprocess.SubprocessError) as error:
            self.missing = str(error)
        else:
            self._process = subprocess.Popen(
                [str(environment.python), "-m", environment.module],
                cwd=ROOT, env={**os.environ, **environment.variables},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip

    def ask(self, do: str, **arguments: Any) -> Any:
        """Send a request and return the answer. Raises Missing if there is none."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise Missing(self.missing or "the peers' process has ended")
        try:
            process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            self.close()
            raise Missing(f"the peers' process ended during {do!r}")
        found = json.loads(line)
        if "error" in found:
            raise Missing(found["error"])
        return found["ok"]

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None or process.stdin is None or process.stdout is None:
            return
        with suppress(OSError):  # it may have ended before it read everything
            process.stdin.close()
        process.stdout.close()
        process.wait()


def fresh(interpreter: Path | str, code: str, *arguments: str) -> Any:
    """Run a few lines in a new process and return the JSON they print. Raises Missing if they fail."""
    command = [str(interpreter), "-c", code, *arguments]
    # Compiled modules are kept, as in any installation, whatever this shell says: compiling is not importing.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(CACHE / "bench-pyc")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing((done.stderr.splitlines() or ["no reason given"])[-1])
    return json.loads(done.stdout)
