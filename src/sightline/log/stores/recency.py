"""Which sessions of a folder were written to last, so that a folder of many is listed without looking at each of them.

The file `.recent` has an id in each line: in the last line that of the session written to last. It is made when a
folder with many sessions is listed, and can be lost at any time. In a folder of few sessions there is none. A program
that does not note what it writes, such as an older version, is noticed if its session is among the newest few.
"""

import os
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path

from sightline.errors import Locked
from sightline.files.private_files import locked_in_place, read_whole, replace_whole

_WAIT = 1.0  # seconds for the lock: the order is worth no more
_WASTE = 4  # lines for each session that the file may have before it is written anew


class Recency:
    """The order in which the sessions of one folder were written to. Who changes the file has its lock."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / ".recent"
        self._noted = (0, 0)  # inode and size of the file when this handle wrote to it

    def note(self, session_id: str) -> None:
        """Note that a session was written to, unless it is the last one noted. Costs a stat; raises nothing."""
        with suppress(OSError, ValueError, Locked):  # there is no such file; ValueError: a NUL in the path
            if _state(os.stat(self._path)) == self._noted:  # noqa: PTH116 - for each append, so without a detour
                return
            with self._locked() as file:
                os.write(file, f"{session_id}\n".encode())
                self._noted = _state(os.fstat(file))

    def read(self, ids: Collection[str]) -> list[str]:
        """Return those of these sessions that were noted, the one written to last first."""
        lines, noted = self._read(ids)
        if lines > _WASTE * len(noted) + _WASTE:
            self.write(lambda: self._read(ids)[1])
        return noted

    def forget(self) -> None:
        """Delete the file, because times were changed: whoever lists the folder next looks at each session."""
        with suppress(OSError, ValueError, Locked), self._locked():
            self._path.unlink(missing_ok=True)

    def _read(self, ids: Collection[str]) -> tuple[int, list[str]]:
        lines = read_whole(self._path).decode("ascii", "replace").split("\n")
        return len(lines), list(dict.fromkeys(line for line in reversed(lines) if line in ids))

    def write(self, find: Callable[[], list[str]]) -> list[str]:
        """Replace the file by the ids that are found, the one written to last first, and return them.

        A session that is written to meanwhile is noted afterwards. If others have the lock, nothing is replaced.
        """
        with ExitStack() as stack:
            is_ours = True
            try:
                stack.enter_context(self._locked())
            except FileNotFoundError:
                pass
            except (OSError, ValueError, Locked):
                is_ours = False
            session_ids = find()
            if is_ours:
                replace_whole(self._path, "".join(f"{session_id}\n" for session_id in reversed(session_ids)).encode())
        return session_ids

    def _locked(self) -> AbstractContextManager[int]:
        """The file, locked and open at its end. Raises OSError, Locked."""
        return locked_in_place(self._path, os.O_APPEND, wait=_WAIT)


def _state(status: os.stat_result) -> tuple[int, int]:
    return status.st_ino, status.st_size
