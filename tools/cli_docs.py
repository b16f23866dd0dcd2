"""Writes the outputs in docs/cli.md: every `$ sightline …` there is run, in a project that is the same every time.

Run it after changing a command or what the engine decides: python tools/cli_docs.py. A test tells who forgot.
"""

import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from sightline import Budget, Session, samples
from sightline.cli.main import app
from sightline.log.stores.session_folder import Folder
from sightline.testing import Ticking, numbered_ids
from sightline.view.replay.formats import recorded
from sightline.view.replay.replay import replay

DOCS = Path(__file__).parent.parent / "docs" / "cli.md"
PROJECT = "/shop"
_BLOCK = re.compile(r"(```console\n)(.*?)(```\n)", re.DOTALL)
_RANDOM_ID = re.compile(r"(?<![\w-])(?=[\w-]*[A-Z])[\w-]{21}(?![\w-])")  # one that was drawn while the commands ran
_NOW = re.compile(r"(?m)^20\d\d-\d\d-\d\d \d\d:\d\d  ")  # when a command did something
_DAYS = re.compile(r"From 20\d\d-\d\d-\d\d to 20\d\d-\d\d-\d\d")  # of a session that was made while they ran
_WRITTEN = 1_767_225_600  # the session's time on disk: the first second of 2026
_MORE = "…\n"


def current(text: str) -> str:
    """The document with the output of every command as it is now."""
    with _project() as home:
        return "".join(_section(section, home) for section in re.split(r"(?m)^(?=## )", text))


def _section(text: str, home: Path) -> str:
    """Run the commands of one chapter. The next chapter does not see what they change."""
    with TemporaryDirectory() as directory:
        root = Path(shutil.copytree(home, Path(directory) / "home"))
        return _BLOCK.sub(lambda block: block[1] + "".join(_outputs(block[2], root)) + block[3], text)


def _outputs(block: str, root: Path) -> Iterator[str]:
    for line in block.splitlines():
        if line.startswith("$ "):
            yield f"{line}\n"
            yield _output(line.removeprefix("$ "), root)


def _output(command: str, root: Path) -> str:
    """Return what a command prints. `| head -20` is understood; an ellipsis replaces the rest."""
    command, _, head = command.partition(" | head -")
    program, *args = shlex.split(command)
    assert program == "sightline", command
    result = CliRunner(env={"COLUMNS": "110"}).invoke(
        app, ["--project", PROJECT, "--root", str(root), *args], prog_name="sightline"
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    output = _NOW.sub("2026-01-02 10:00  ", _RANDOM_ID.sub("V1StGXR8_Z5jdHi6B-myT", result.output))
    output = _DAYS.sub("From 2026-01-02 to 2026-01-02", output)
    lines = output.splitlines(keepends=True)
    shown = [re.sub(r" +\n", "\n", line) for line in (lines[: int(head)] if head else lines)]
    return "".join(shown) + (_MORE if len(shown) < len(lines) else "")


@contextmanager
def _project() -> Iterator[Path]:
    """A directory to write to, and a project with one session in it, the same every time."""
    before, zone = Path.cwd(), os.environ.get("TZ")
    with TemporaryDirectory() as directory:
        os.chdir(directory)
        os.environ["TZ"] = "UTC"
        time.tzset()
        try:
            yield _kept(Path(directory) / "home")
        finally:
            os.chdir(before)
            os.environ.pop("TZ") if zone is None else os.environ.update(TZ=zone)
            time.tzset()


def _kept(root: Path) -> Path:
    sample = samples.load("login_bug")
    recording = recorded({"system": sample.system, "tools": sample.tools, "messages": sample.messages})
    now = Ticking(start=int(time.time() * 1000), step=0)  # just now: the provider still knows the prefix
    with Session.new(PROJECT, root=root, session_id="login-bug", clock=now, ids=numbered_ids()) as session:
        for _ in replay(session, recording, Budget(16_000, 1_000)):
            pass
    os.utime(Folder(PROJECT, root).file("login-bug"), (_WRITTEN, _WRITTEN))
    return root


if __name__ == "__main__":
    DOCS.write_text(current(DOCS.read_text(encoding="utf-8")), encoding="utf-8")
