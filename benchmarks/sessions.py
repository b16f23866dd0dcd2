"""Sessions of our own to measure: long histories on disk, and the same in memory."""

import os
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.histories import Message, agent_run
from sightline.log.entries import decode
from sightline.log.stores.jsonl import JsonlStore
from sightline.log.stores.memory import MemoryStore
from sightline.log.stores.session_folder import SIDE_FILES, Folder
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import Ticking

BUDGET = Budget(window=128_000, output=8_000)
LIVED = 500  # messages at a history's end that went through compose and reply, so that a log ends as real ones do
BUILT_AT = 1_700_000_000_000  # milliseconds; a clock of our own, so that a slow machine does not let caches expire


class Stored(NamedTuple):
    """A session on disk."""

    messages: int
    root: Path
    path: Path

    def resumed(self, later_seconds: int = 60, **options: Any) -> Session:
        """The session, opened this long after its last message."""
        clock = Ticking(BUILT_AT + 10 * self.messages + later_seconds * 1000, step=1)
        return Session.resume(self.path.stem, self.root, root=self.root, clock=clock, **options)


def stored(root: Path, messages: int) -> Stored:
    """Store an agent run of that many messages: imported, except for its end, which is added call by call."""
    history = agent_run(messages)
    end = max(0, messages - LIVED)
    while history[end]["role"] == "tool":  # a call and its results stay together
        end -= 1
    session = Session.new(root, root=root, session_id=f"run-{messages}", clock=Ticking(BUILT_AT, step=1))
    with session:
        session.extend(history[:end])
        live(session, history[end:])
    return Stored(messages, root, Folder(root, root).file(session.id))


@cache
def questions() -> list[str]:
    """Return user messages of another run: tasks and remarks of one to three sentences that name things."""
    return [message["content"] for message in agent_run(5_000, seed=11) if message["role"] == "user"]


def live(session: Session, messages: Iterable[Message]) -> None:
    """Add these messages as an agent would: compose before every answer."""
    for message in messages:
        match message["role"]:
            case "system":
                session.system(message["content"])
            case "user":
                session.user(message["content"])
            case "tool":
                session.tool_result(message["tool_call_id"], message["content"])
            case _:
                session.compose(BUDGET)
                session.reply(message)


def in_memory(log: Stored) -> Session:
    """The same log in a memory store."""
    source, store = JsonlStore(log.path), MemoryStore(log.path.stem)
    head = None
    for line in source.scan():
        entry = decode(line.data)
        store.append(lambda _, entry=entry: [entry], branch="", expected_head=head)  # type: ignore[misc]
        head = entry.uuid if entry.in_conversation else head
    source.close()
    return Session(store)


class Snapshot:
    """A copy of a stored session's files, to restore after each run."""

    def __init__(self, log: Stored) -> None:
        self._path, self._status = log.path, log.path.stat()
        self._aside = log.root / "aside"
        self._aside.mkdir(exist_ok=True)
        for side in self.side_files():
            shutil.copy(side, self._aside)

    def side_files(self) -> list[Path]:
        """Return the files beside the log."""
        return [path for path in self._path.parent.glob(f"{self._path.stem}.*") if path != self._path]

    def restore(self, without: tuple[str, ...] = ()) -> None:
        """Remove what was appended since, and restore the side files except those with these suffixes.

        The log's time of change too: an index is not used where its log was changed since without becoming longer.
        """
        with self._path.open("r+b") as file:
            file.truncate(self._status.st_size)
        os.utime(self._path, ns=(self._status.st_atime_ns, self._status.st_mtime_ns))
        for side in self.side_files():
            side.unlink()
        for side in self._aside.glob(f"{self._path.stem}.*"):
            if not side.suffix.startswith(without or ("\0",)):
                shutil.copy(side, self._path.parent)


def side_bytes(log: Path) -> int:
    """Return the bytes of the derived files beside a log."""
    return sum(log.with_suffix(suffix).stat().st_size for suffix in SIDE_FILES if log.with_suffix(suffix).exists())
