"""A plug-in of pytest for the Agents SDK's own tests: where they make a `SQLiteSession`, they get ours."""

from pathlib import Path
from typing import Any

import agents
import agents.memory

from sightline.adapters.openai_agents import SightlineSession
from sightline.log.stores.memory import MemoryStores


class SQLiteSession(SightlineSession):
    """Ours, made with the arguments of theirs: sessions are in a folder beside the file, or in memory."""

    def __init__(self, session_id: str, db_path: str | Path = ":memory:", **options: Any) -> None:
        where: Any = MemoryStores() if str(db_path) == ":memory:" else _folder(Path(db_path))
        super().__init__(session_id, sessions=where, session_settings=options.get("session_settings"))


def _folder(path: Path) -> Path:
    folder = path.with_name(path.name + ".sessions")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


agents.SQLiteSession = agents.memory.SQLiteSession = SQLiteSession  # type: ignore[misc, assignment]
