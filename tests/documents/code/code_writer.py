"""A program that uses a code store, so that it can be killed, doubled, or be an ordinary user.

code_writer.py read FOLDER                  every version of every code, as JSON
code_writer.py share FOLDER NAME COUNT      stores so many codes of its own, and versions of a common one
code_writer.py readonly FOLDER              does everything, as an ordinary user
code_writer.py crash TEMPLATE ROOT OPERATION EVERY
                                            dies at every step of an operation, each time in a copy of TEMPLATE
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from sightline.documents.code import files
from sightline.documents.code.store import CodeStore
from sightline.errors import SightlineError

OURS = str(Path(files.__file__).parent)
NOBODY = 65534
OPERATIONS: dict[str, Callable[[CodeStore], object]] = {
    "first": lambda store: store.store("code_fresh_start", "first = 1\n", description="fresh", session_id="s"),
    "again": lambda store: store.store("code_kept_report", "new = 2\n", description="new", session_id="s"),
    "other": lambda store: store.store("code_kept_report", "let x = 2\n", language="javascript", session_id="s"),
    "same": lambda store: store.store("code_kept_report", "old = 1\n", description="same", session_id="s"),
    "delete": lambda store: store.delete("code_kept_report"),
    "rebuild": lambda store: store.rebuild(),
}


def opened(folder: str | Path) -> CodeStore:
    """A store whose clock stands still."""
    return CodeStore(folder, clock=lambda: 1_700_000_000_000)


def read(folder: str) -> object:
    """See above."""
    store = opened(folder)
    versions = [each for code in store.list() for each in store.versions(code.code_id)]
    return [[each.code_id, each.version, store.read(each.code_id, each.version)] for each in versions]


def share(folder: str, name: str, count: str) -> object:
    """See above."""
    store = opened(folder)
    for number in range(int(count)):
        store.store(f"code_of_{name}_{number}", f"{name} = {number}\n", session_id=name)
        store.store("code_common_part", f"{name} = {number}\n", session_id=name)
    return "done"


def readonly(folder: str) -> object:
    """See above."""
    store = opened(folder)
    store.list()
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    store = opened(folder)
    said = []
    for action in (lambda: store.store("code_new_one", "x"), lambda: store.delete("code_kept_report"), store.rebuild):
        try:
            action()
        except SightlineError as error:
            said.append(f"{type(error).__name__}: {error}")
    return [store.read("code_kept_report"), said]


# ---------------------------------------------------------------------- dying


def at_every_line(act: Callable[[int], None]) -> None:
    """Call `act` with a running number before every line of the store's own code."""
    number = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal number
        if event == "line":
            number += 1
            act(number)
        return line

    sys.settrace(lambda frame, event, argument: line if frame.f_code.co_filename.startswith(OURS) else None)


def state(folder: Path) -> list[tuple[str, int, int, int]]:
    """What is on the disk."""
    found = []
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        found.append((str(path), facts.st_ino, facts.st_size, facts.st_mtime_ns))
    return found


def steps(folder: Path, operation: str, every: bool) -> list[int]:
    """The lines before which the disk has changed, and the first; with `every`, all lines."""
    numbers: list[int] = []
    states: list[object] = [None]

    def look(number: int) -> None:
        now = state(folder)
        if every or now != states[-1]:
            numbers.append(number)
            states.append(now)

    store = opened(folder)
    at_every_line(look)
    OPERATIONS[operation](store)
    sys.settrace(None)
    return numbers


def crash(template: str, root: str, operation: str, every: str) -> object:
    """See above."""
    os.fsync = lambda fd: None  # what a killed process has written is there
    rehearsal = Path(root) / "rehearsal"
    shutil.copytree(template, rehearsal)
    numbers = steps(rehearsal, operation, every == "1")
    for number in numbers:
        folder = Path(root) / str(number)
        shutil.copytree(template, folder)
        child = os.fork()
        if child == 0:
            store = opened(folder)
            at_every_line(lambda line, number=number: os.kill(os.getpid(), signal.SIGKILL) if line == number else None)
            OPERATIONS[operation](store)
            os._exit(0)  # it never came so far
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status)
    return numbers


if __name__ == "__main__":
    mode, *arguments = sys.argv[1:]
    modes: dict[str, Callable[..., object]] = {"read": read, "share": share, "readonly": readonly, "crash": crash}
    print(json.dumps(modes[mode](*arguments)))
