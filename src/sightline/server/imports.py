"""Imports that a page asks for: one after another, in the background, with their progress as events."""

import asyncio
import logging
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from sightline.errors import SightlineError
from sightline.imports.importer import Imported
from sightline.server.events import Event, Hub
from sightline.server.rest_operation import Busy
from sightline.server.rest_values import ImportedSession, ImportFacts, ImportState
from sightline.view.catalog.imported_files import ImportedFiles, ImportStopped
from sightline.view.catalog.offered_files import Offered

_REMEMBERED = 100  # imports whose outcome can be asked for
_WAITING = 200  # imports that may wait for their turn: each upload lies on the disk until then

_log = logging.getLogger("sightline.server")


Check = Callable[[], None]


def _no_check() -> None:
    return None


class _Upload(NamedTuple):
    folder: Path
    check: Check
    ended: Check


class Imports:
    """The imports of a server. For one event loop."""

    def __init__(self, files: ImportedFiles, hub: Hub, want_index: Callable[[str], None] | None = None) -> None:
        """`want_index` is called with each session that got something, so that it is indexed before it is used."""
        self._files, self._hub, self._want_index = files, hub, want_index
        self._known: dict[str, ImportFacts] = {}  # in the order in which they were begun
        self._is_closed = False
        self._turn = asyncio.Lock()  # one at a time: each reads and writes much
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, offered: Offered) -> ImportFacts:
        """Begin to import a file that the list offers."""
        return self._begin(offered.path, offered.path.name, offered, None)

    def begin_upload(
        self, folder: Path, name: str, *, check: Check = _no_check, ended: Check = _no_check
    ) -> ImportFacts:
        """Begin to import the one file in this folder, which is deleted afterwards; then `ended` is called.

        `check` is called in a thread before each piece is written. What it raises ends the import.
        """
        return self._begin(folder / name, name, None, _Upload(folder, check, ended))

    def get(self, import_id: str) -> ImportFacts | None:
        """Return an import; None if it is not known any more."""
        return self._known.get(import_id)

    def all(self) -> list[ImportFacts]:
        """Return the last imports, the newest first."""
        return [*reversed(self._known.values())]

    async def close(self) -> None:
        """Stop the import that runs, wait until it has stopped, and begin no other.

        What it has written stays, and the next import of the same file goes on after it.
        """
        self._is_closed = True
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, file: Path, name: str, offered: Offered | None, upload: _Upload | None) -> ImportFacts:
        path = "" if offered is None else str(offered.path)
        running = [facts for facts in self._known.values() if facts.state == "running"]
        for facts in running:
            if path and facts.path == path:
                return facts  # somebody else has just asked for it
        if self._is_closed or len(running) >= _WAITING:
            why = "the server is being stopped" if self._is_closed else f"{len(running)} imports are waiting already"
            raise Busy(why)
        made = ImportFacts(f"im-{secrets.token_hex(6)}", name, path, "running")
        self._known[made.id] = made
        self._forget_old()
        task = asyncio.get_running_loop().create_task(self._run(made.id, file, offered, upload))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return made

    def _forget_old(self) -> None:
        """Forget the oldest imports that have ended. One that has not can always be asked for."""
        ended = [facts.id for facts in self._known.values() if facts.state != "running"]
        for import_id in ended[: max(len(self._known) - _REMEMBERED, 0)]:
            del self._known[import_id]

    async def _run(self, import_id: str, file: Path, offered: Offered | None, upload: _Upload | None) -> None:
        loop, check = asyncio.get_running_loop(), upload.check if upload is not None else _no_check

        def tick(share: float) -> None:
            with suppress(RuntimeError):  # the server has stopped meanwhile
                loop.call_soon_threadsafe(self._change, import_id, "running", share)

        try:
            async with self._turn:
                if self._is_closed:
                    raise ImportStopped
                done = await asyncio.to_thread(
                    self._files.bring_in, file, offered, tick, lambda: self._is_closed, check
                )
            sessions = [_described(*session) for session in zip(done.ids, done.imported, strict=True)]
            self._change(import_id, "done", 1.0, sessions, done.refused)
            if self._want_index is not None:
                for imported in done.imported:
                    if imported.state != "unchanged":
                        self._want_index(imported.session)
            for session in sessions:
                if session.state == "new":  # other servers of the database list it, too
                    self._hub.publish(Event("session_created", session.id))
        except ImportStopped:
            self._change(import_id, "failed", 1.0, error="the server was stopped; import the file again to go on")
        except (SightlineError, OSError) as error:
            self._change(import_id, "failed", 1.0, error=str(error).replace(str(file), file.name))
        except BaseException as error:  # of any file: an import that failed must not look as if it went on
            self._change(import_id, "failed", 1.0, error=f"the file cannot be read ({type(error).__name__})")
            if not isinstance(error, Exception):
                raise
            _log.warning("an import failed", exc_info=True)
        finally:
            if upload is not None:
                await asyncio.to_thread(shutil.rmtree, upload.folder, ignore_errors=True)
                upload.ended()

    def _change(
        self,
        import_id: str,
        state: ImportState,
        share: float,
        sessions: list[ImportedSession] | None = None,
        error: str = "",
    ) -> None:
        before = self._known.get(import_id)
        if before is None or before.state != "running":
            return
        now = replace(before, state=state, share=share, sessions=sessions or [], error=error)
        self._known[import_id] = now
        ids = [session.id for session in now.sessions]
        data = {"import": now.id, "name": now.name, "state": state, "share": share, "sessions": ids, "error": error}
        self._hub.publish(Event("import", data=data))


def _described(full_id: str, done: Imported) -> ImportedSession:
    return ImportedSession(full_id, done.state, done.lines, done.added, done.messages, done.types, done.usage)
