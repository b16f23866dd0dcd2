"""Opens the journal of a session: a new log or an existing one, in the project's folder or in other stores."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from sightline.apps.shared_windows import SharedLogs
from sightline.errors import BadInput, Damaged, StoreError
from sightline.files.project import place
from sightline.log.journal import Journal
from sightline.log.stores import Store, Stores, check_session_id, check_store, check_stores
from sightline.log.stores.jsonl import Fsync
from sightline.log.stores.session_folder import Folder
from sightline.plan.strategies.project_choice import chosen, shared_apps
from sightline.session import accept
from sightline.values.clock import nanoid, wall_clock
from sightline.values.settings import Settings

SESSION_OPTIONS = ("apps", "windows", "strategy", "clock", "folders", "shared")  # the others are the journal's
T = TypeVar("T")
_OPTIONS = frozenset({*SESSION_OPTIONS, "token_counter", "ids"})


def find_stores(stores: Stores | None, project: str | Path, root: str | Path | None, fsync: Fsync | None) -> Stores:
    """The stores that were given, or else the project's folder. Raises BadInput if both are."""
    if stores is None:
        return Folder(project, root, fsync=fsync or "turn")
    if root is not None or fsync is not None:
        raise BadInput("root and fsync are of sessions in files; a session in other stores takes stores= alone")
    check_stores(stores)
    return stores


def share_windows(options: dict[str, Any], stores: Stores, project: str | Path) -> dict[str, Any]:
    """Return the options with the logs of the windows that this project's sessions share.

    Their apps are those that `shared` names; without it, those that the project names in its `sightline.toml`.

    Raises BadInput if `shared` is no list of names.
    """
    names = options.get("shared")
    if isinstance(names, SharedLogs):
        return options
    if names is None:
        apps = cache(partial(shared_apps, project))
    elif isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise BadInput(f'shared are the names of apps, such as shared=["notebook"], not {names!r}')
    else:
        apps = cache(partial(frozenset, names))
    clock, ids = options.get("clock", wall_clock), options.get("ids", nanoid)
    return options | {"shared": SharedLogs(stores, project, apps, clock=clock, ids=ids)}


def begin_journal(
    stores: Stores,
    project: str | Path,
    session_id: str | None,
    settings: Settings | None,
    options: Mapping[str, Any],
) -> Journal:
    """Begin the journal of a new session. Raises BadSessionId, BadInput."""
    if settings is None:
        choice = chosen(project)
        settings = Settings(strategy=choice.name, config=choice.config)
    accept.check_settings(settings)
    if session_id is None:  # without dashes: people type it, and a leading dash would read as an option
        session_id = str(options.get("ids", nanoid)()).replace("-", "_")
    return _open_journal(lambda: stores.create(session_id), project, settings, options)


def resume_with(
    stores: Stores, project: str | Path, session_id: str, options: Mapping[str, Any], make: Callable[[Journal], T]
) -> T:
    """Open the journal of an earlier session and return what `make` builds on it.

    Raises BadSessionId, SessionNotFound, StoreError.
    """
    check_options(options)
    check_session_id(session_id)

    def opened() -> T:
        return make(_open_journal(lambda: stores.open(session_id), project, None, options))

    try:
        return opened()
    except Damaged:  # opening has discarded the column cache that knew a line which is damaged now: try without it
        return opened()
    except BadInput as error:
        raise StoreError(
            f"session {session_id!r} was written with settings that this version does not have; "
            f"open it with the version that wrote it: {error}"
        ) from error


def _open_journal(
    open_store: Callable[[], Store], project: str | Path, settings: Settings | None, options: Mapping[str, Any]
) -> Journal:
    check_options(options)
    check_store(store := open_store())
    try:
        return Journal(
            store,
            settings=settings,
            clock=options.get("clock", wall_clock),
            ids=options.get("ids", nanoid),
            token_counter=accept.check_counter(options.get("token_counter")),
            where=place(project),
        )
    except BaseException:
        store.close()
        raise


def check_options(options: Mapping[str, Any]) -> None:
    """Raise BadInput for an option that a session does not take."""
    if unknown := set(options) - _OPTIONS:
        raise BadInput(f"unknown options: {', '.join(sorted(unknown))}; choose among {', '.join(sorted(_OPTIONS))}")
    accept.check_strategy(options.get("strategy"))
