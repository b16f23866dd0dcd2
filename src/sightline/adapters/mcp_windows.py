"""The windows of a project over MCP: a client cannot show them by itself, so each answer shows the window as it is now.

They belong to one session of the project, so they are the same for every client there, and after every restart.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from os.path import abspath
from threading import Lock
from typing import Any

from sightline.apps.app import App
from sightline.apps.calls import ACTION, CREATE
from sightline.apps.outcome import Outcome
from sightline.errors import Refused
from sightline.follow.conversations import resume_or_begin
from sightline.follow.windows import open_windows
from sightline.log.stores.session_folder import Folder
from sightline.session.session import Session
from sightline.values.items import Call
from sightline.view.catalog.places import Places

SESSION = "mcp-windows"
"""The session of a project's windows; in a database, where several projects may have one, its beginning."""


class ProjectWindows:
    """The windows of these apps in a project, as text for a model. Its methods block: call them in a thread."""

    def __init__(self, places: Places, apps: Sequence[type[App]]) -> None:
        self._own, self.apps, self._lock = places.own, tuple(apps), Lock()
        path = abspath(self._own.project).encode("utf-8", "surrogatepass")  # noqa: PTH100
        of_project = "" if isinstance(self._own.stores, Folder) else f"-{blake2b(path, digest_size=6).hexdigest()}"
        self._session_id = SESSION + of_project

    def show(self) -> str:
        """Return all open windows as they are now; nothing if none is open."""
        with self._opened() as session:
            return "\n\n".join(_texts(session).values())

    def create(self, name: str, target: str, closed: str) -> str:
        """Open an app, and return what its window shows. Raises Refused, for the model to read.

        `closed`: the handle of a closed window, from whose last state it goes on.
        """
        return self._call(CREATE.name, {"name": name, "target": target, "from": closed})

    def act(self, window_id: str, action_id: str, params: Mapping[str, Any]) -> str:
        """Act on a window, and return what came of it and what the window shows now. Raises Refused."""
        return self._call(ACTION.name, {"window_id": window_id, "action_id": action_id, "params": dict(params)})

    def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        with self._opened() as session:
            outcome: Outcome = session.windows.call(Call("", tool, arguments))
            if not outcome.success:
                raise Refused(str(outcome))
            window = _texts(session).get(outcome.window, "")
            return f"{outcome}\n\n{window}" if window else str(outcome)

    @contextmanager
    def _opened(self) -> Iterator[Session]:
        """Open the session for one call: several clients may use it at once, each in a process of its own."""
        where: dict[str, Any] = {"stores": self._own.stores, "apps": self.apps}
        with self._lock, resume_or_begin(self._session_id, self._own.project, settings=None, **where) as session:
            open_windows(session)
            yield session


def _texts(session: Session) -> dict[str, str]:
    return session.windows.shown(None, lambda _id, text: session.count(text))
