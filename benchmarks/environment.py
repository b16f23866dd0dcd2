"""The peers' environment, made once under `.cache`, and the process that measures in it."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".cache" / "bench-env"
PINS = Path(__file__).with_name("peers.txt")
PACKAGES = ("langchain", "langchain-core", "langgraph", "langgraph-checkpoint-sqlite", "openai-agents")


class Missing(Exception):
    """A peer that could not be measured, and why."""


def python() -> Path:
    """The interpreter of the peers' environment."""
    return HOME / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def prepare() -> None:
    """Install the peers, unless exactly these versions are there already. Raises Missing."""
    ready = HOME / ".ready"
    if ready.exists() and ready.read_text() == PINS.read_text():
        return
    venv.create(HOME, with_pip=True, clear=True)
    pip = [str(python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "-c", str(PINS), *PACKAGES], capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise Missing(f"pip could not install the peers: {(errors or ['no reason given'])[0]}")
    ready.write_text(PINS.read_text())


class Peers:
    """The peers' process. Asked one thing at a time, so that it is idle while we are measured."""

    def __init__(self) -> None:
        self.missing = ""
        self._process: subprocess.Popen[str] | None = None
        try:
            prepare()
        except (Missing, OSError, subprocess.SubprocessError) as error:
            self.missing = str(error)
        else:
            self._process = subprocess.Popen(
                [str(python()), "-m", "benchmarks.peers"],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip

    def ask(self, do: str, **arguments: Any) -> Any:
        """What the peers' side answers. Raises Missing if it cannot."""
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
            self._process = None
            raise Missing(f"the peers' process ended during {do!r}")
        found = json.loads(line)
        if "error" in found:
            raise Missing(found["error"])
        return found["ok"]

    def close(self) -> None:
        """Let the process end."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()


def fresh(interpreter: Path | str, code: str, *arguments: str) -> Any:
    """The JSON that a few lines print in a new process. Raises Missing if they fail."""
    command = [str(interpreter), "-c", code, *arguments]
    # Compiled modules are kept, as in any installation, whatever this shell says: compiling is not importing.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(ROOT / ".cache" / "bench-pyc")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing((done.stderr.splitlines() or ["no reason given"])[-1])
    return json.loads(done.stdout)
