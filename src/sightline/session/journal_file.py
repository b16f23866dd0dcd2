"""Opens the journal of a session: a new file in the project's folder, or an existing one."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from sightline.errors import BadInput, Damaged, StoreError
from sightline.files.project import place
from sightline.log.journal import Journal
from sightline.log.stores.jsonl import Fsync
from sightline.log.stores.session_folder import Folder
from sightline.plan.strategies.project_choice import chosen
from sightline.session import accept
from sightline.values.clock import nanoid, wall_clock
from sightline.values.settings import Settings

SESSION_OPTIONS = ("apps", "windows", "strategy", "clock", "folders")  # the others are the journal's
T = TypeVar("T")
_OPTIONS = frozenset({*SESSION_OPTIONS, "token_counter", "ids"})


def begin_journal(
    project: str | Path,
    root: str | Path | None,
    session_id: str | None,
    settings: Settings | None,
    fsync: Fsync,
    options: Mapping[str, Any],
) -> Journal:
    """Begin the journal of a new session. Raises BadSessionId, BadInput."""
    if settings is None:
        choice = chosen(project)
        settings = Settings(strategy=choice.name, config=choice.config)
    accept.check_settings(settings)
    if session_id is None:  # without dashes: people type it, and a leading dash would read as an option
        session_id = str(options.get("ids", nanoid)()).replace("-", "_")
    path = Folder(project, root).file(session_id)
    if os.path.lexists(path):
        raise BadInput(f"session {path.stem!r} exists already; Session.resume({path.stem!r}) opens it")
    return _open_journal(path, project, fsync, settings, options)


def resume_with(
    project: str | Path,
    root: str | Path | None,
    session_id: str,
    fsync: Fsync,
    options: Mapping[str, Any],
    make: Callable[[Journal], T],
) -> T:
    """Open the journal of an earlier session and return what `make` builds on it.

    Raises BadSessionId, SessionNotFound, StoreError.
    """
    path = Folder(project, root).existing(session_id)
    check_options(options)
    try:
        return make(_open_journal(path, project, fsync, None, options))
    except Damaged:  # opening has deleted the index that knew a line which is damaged now: try once more without it
        return make(_open_journal(path, project, fsync, None, options))
    except BadInput as error:
        raise StoreError(
            f"{path} was written with settings that this version does not have; "
            f"open it with the version that wrote it: {error}"
        ) from error


def _open_journal(
    path: Path, project: str | Path, fsync: Fsync, settings: Settings | None, options: Mapping[str, Any]
) -> Journal:
    check_options(options)
    return Journal.open_file(
        path,
        fsync=fsync,
        settings=settings,
        clock=options.get("clock", wall_clock),
        ids=options.get("ids", nanoid),
        token_counter=options.get("token_counter"),
        where=place(project),
    )


def check_options(options: Mapping[str, Any]) -> None:
    """Raise BadInput for an option that a session does not take."""
    if unknown := set(options) - _OPTIONS:
        raise BadInput(f"unknown options: {', '.join(sorted(unknown))}; choose among {', '.join(sorted(_OPTIONS))}")
    accept.check_strategy(options.get("strategy"))
