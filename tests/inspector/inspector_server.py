"""The whole server, as `sightline inspect` starts it, in a thread of its own."""

import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sightline import Session
from sightline.server.access_token import hash_token
from sightline.server.app import create_app
from sightline.server.config import Config
from sightline.server.listener import Listener

TOKEN = "the-token-of-the-inspector-in-tests"


class InspectorServer:
    """A server of one folder's sessions on a free port."""

    def __init__(self, folder: Path, root: Path | None = None, *, model: Any = None, **settings: Any) -> None:
        self.folder, self.root = folder, root or folder / "home"
        config = Config(**{"folder": folder, "root": self.root, "token_hash": hash_token(TOKEN)} | settings)
        app = create_app(config, model=model)
        self.listener = Listener(app, on_stop=app.state.hub.close)
        self._started = threading.Event()
        self.listener.on_start = lambda _port: self._started.set()
        self._thread = threading.Thread(target=self.listener.run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(60)
        self.address = f"http://127.0.0.1:{self.listener.port}"
        self.url = f"{self.address}/inspector/"
        return self

    def calls(self, session_id: str) -> int:
        """How many payloads a session has sent."""
        with Session.inspect(session_id, self.folder, root=self.root) as session:
            return session.receipt.number if session.receipt is not None else 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.listener.should_exit = True
        self._thread.join(60)
        assert not self._thread.is_alive()
