"""Environments of their own, for tests with other versions of a framework than those that `make test` has."""

import fcntl
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from copied_process import COMPOSED

ROOT = Path(__file__).parent.parent.parent
_CORE: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
_FOLDERS = ("tests", "tests/adapters", "tests/server", "tests/agent/models")  # where helpers of tests are


def make_environment(factory: pytest.TempPathFactory, name: str, requirements: Sequence[str]) -> Path:
    """Make an environment with Sightline, what it needs and these packages, once in a run. Return its Python."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "environments" / name
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers may want the same one
        if not (folder / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", str(folder)], check=True)
            pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "--quiet"]
            done = subprocess.run([*pip, *_CORE, *requirements], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[-3000:]
            [packages] = (folder / "lib").glob("python*/site-packages")
            (packages / "sightline.pth").write_text(f"{ROOT / 'src'}\n")
            (folder / "ready").touch()
    return folder / "bin" / "python"


def run_in(python: Path, *command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of Python in a folder, with the helpers of the tests."""
    home = {"HOME": str(folder), "SIGHTLINE_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    paths = {"PYTHONPATH": ":".join(str(ROOT / each) for each in _FOLDERS)}
    return subprocess.run(
        [str(python), *command], cwd=folder, env=home | paths, capture_output=True, text=True, check=False
    )


def run_tests(python: Path, *files: str, folder: Path, without: str = "") -> str:
    """Run test files of ours there, and return how it ended. Warnings of other versions are no failures.

    `without`: names of tests that are left out, as pytest's `-k` has them.
    """
    command = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(ROOT),
        "-c",
        str(ROOT / "pyproject.toml"),
    ]
    done = run_in(
        python,
        *command,
        "-o",
        "filterwarnings=default",
        *(["-k", f"not ({without})"] if without else []),
        *(str(ROOT / each) for each in files),
        folder=folder,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


_IMPORTS_ONCE = """
import os, sys, traceback
composed, program, *runs = sys.argv[1:]
imports, _, rest = program.strip().partition("\\n\\n")
names = {}
exec(imports, names)
exec(composed, {})
for number, run in enumerate(runs):
    folder, *arguments = run.split("|")
    if not (child := os.fork()):
        os.chdir(folder)
        os.environ["SIGHTLINE_HOME"] = f"{folder}/home"
        sys.argv[1:] = arguments
        try:
            with open(f"printed-{number}", "w", encoding="utf-8") as sys.stdout:
                exec(rest, names)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"failed: {run}")
"""


def run_program(program: str, *runs: tuple[Path, *tuple[str, ...]]) -> list[str]:
    """Run the text of a program several times, each time in a new process. Return what each run prints.

    A run is the folder that its home and its project are in, and the arguments. A program begins with its imports and
    an empty line. They are done once, because those of a framework take seconds: each process is a copy of one that has
    done nothing else, but for a small conversation in memory.
    """
    for folder, *_ in runs:
        (folder / "project").mkdir(parents=True, exist_ok=True)
    home = {"PYTHONPATH": ":".join(str(ROOT / each) for each in _FOLDERS), "HOME": str(runs[0][0])}
    given = ["|".join(map(str, run)) for run in runs]
    command = [sys.executable, "-W", "ignore", "-c", _IMPORTS_ONCE, COMPOSED, program, *given]
    done = subprocess.run(command, env=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [(run[0] / f"printed-{number}").read_text(encoding="utf-8") for number, run in enumerate(runs)]
