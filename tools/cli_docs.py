"""Writes the outputs in docs/cli.md and docs/tutorial.md: every `$ sightline …` and `$ python …` there is run.

The chapters of cli.md are independent: each begins with a project that has one session, the same every time. The
tutorial is one story, which begins in an empty folder; its programs are saved as the page says.

Run it after changing a command or what the engine decides: python tools/cli_docs.py. A test tells who forgot.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from docs_page import save  # noqa: E402 - what the tests run the other examples with
from sightline import Budget, Session, samples  # noqa: E402
from sightline.cli.main import app  # noqa: E402
from sightline.log.stores.session_folder import Folder  # noqa: E402
from sightline.testing import Ticking, numbered_ids  # noqa: E402
from sightline.view.replay.formats import recorded  # noqa: E402
from sightline.view.replay.replay import replay  # noqa: E402

PAGES = tuple(ROOT / "docs" / name for name in ("cli.md", "tutorial.md"))
PROJECT = "/shop"
_BLOCK = re.compile(r"(```console\n)(.*?)(```\n)", re.DOTALL)
_RANDOM_ID = re.compile(r"(?<![\w-])(?=[\w-]*[A-Z])[\w-]{21}(?![\w-])")  # one that was drawn while the commands ran
_NOW = re.compile(r"(?!2026-01-01 00:00)20\d\d-\d\d-\d\d \d\d:\d\d  ")  # when a command did something
_DAYS = re.compile(r"From 20\d\d-\d\d-\d\d to 20\d\d-\d\d-\d\d")  # of a session that was made while they ran
_PART = re.compile(r"(.*?)(?: \| (head|tail) -(\d+))?")
_WRITTEN = 1_767_225_600  # the session's time on disk: the first second of 2026
_MORE = "…\n"


def current(page: Path) -> str:
    """The page with the output of every command as it is now."""
    text = page.read_text(encoding="utf-8")
    with _empty_folder() as folder:
        if page.name == "tutorial.md":
            save(page)
            return _run(text, folder / "home", [])
        home = _kept(folder / "home")
        return "".join(_chapter(chapter, home) for chapter in re.split(r"(?m)^(?=## )", text))


def _chapter(text: str, home: Path) -> str:
    """Run the commands of one chapter. The next chapter does not see what they change."""
    with TemporaryDirectory() as directory:
        root = Path(shutil.copytree(home, Path(directory) / "home"))
        return _run(text, root, ["--project", PROJECT])


def _run(text: str, root: Path, options: list[str]) -> str:
    return _BLOCK.sub(lambda block: block[1] + "".join(_outputs(block[2], root, options)) + block[3], text)


def _outputs(block: str, root: Path, options: list[str]) -> Iterator[str]:
    for line in block.splitlines():
        if line.startswith("$ "):
            yield f"{line}\n"
            yield _output(line.removeprefix("$ "), root, options)


def _output(command: str, root: Path, options: list[str]) -> str:
    """Return what a command prints. `| head -20` and `| tail -20` are understood; an ellipsis replaces the rest."""
    match = _PART.fullmatch(command)
    assert match is not None
    program, *args = shlex.split(match[1])
    assert program in ("sightline", "python"), command
    printed = (
        _printed_by_python(args, root) if program == "python" else _printed([*options, "--root", str(root), *args])
    )
    lines = [re.sub(r" +\n", "\n", line) for line in _stable(printed).splitlines(keepends=True)]
    count = min(int(match[3] or len(lines)), len(lines))
    more = _MORE if count < len(lines) else ""
    return more + "".join(lines[-count:]) if match[2] == "tail" else "".join(lines[:count]) + more


def _printed(args: list[str]) -> str:
    result = CliRunner(env={"COLUMNS": "110"}).invoke(app, args, prog_name="sightline")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def _printed_by_python(args: list[str], root: Path) -> str:
    """Run a program of the current folder, which keeps its sessions where the commands look for them."""
    environment = {**os.environ, "SIGHTLINE_HOME": str(root), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, *args], env=environment, capture_output=True, check=True, encoding="utf-8"
    ).stdout


def _stable(output: str) -> str:
    """The output without what differs from run to run: ids that were drawn, and the time."""
    output = _NOW.sub("2026-01-02 10:00  ", _RANDOM_ID.sub("V1StGXR8_Z5jdHi6B-myT", output))
    return _DAYS.sub("From 2026-01-02 to 2026-01-02", output)


@contextmanager
def _empty_folder() -> Iterator[Path]:
    """A folder to write to, which is the current one, in a time zone that is the same everywhere."""
    before, zone = Path.cwd(), os.environ.get("TZ")
    with TemporaryDirectory() as directory:
        os.chdir(directory)
        os.environ["TZ"] = "UTC"
        time.tzset()
        try:
            yield Path(directory)
        finally:
            os.chdir(before)
            os.environ.pop("TZ") if zone is None else os.environ.update(TZ=zone)
            time.tzset()


def _kept(root: Path) -> Path:
    """A root with a project that has one session."""
    sample = samples.load("login_bug")
    recording = recorded({"system": sample.system, "tools": sample.tools, "messages": sample.messages})
    now = Ticking(start=int(time.time() * 1000), step=0)  # just now: the provider still knows the prefix
    with Session.new(PROJECT, root=root, session_id="login-bug", clock=now, ids=numbered_ids()) as session:
        for _ in replay(session, recording, Budget(16_000, 1_000)):
            pass
    os.utime(Folder(PROJECT, root).file("login-bug"), (_WRITTEN, _WRITTEN))
    return root


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(current(page), encoding="utf-8")
