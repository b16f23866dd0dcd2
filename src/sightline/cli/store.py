"""`sightline store copy`: sessions and saved code from files to a database, back, or between two of a kind."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import click

from sightline.apps.shared_windows import SharedPlace
from sightline.cli.index_jobs import want_indexes
from sightline.cli.options import Place, place, shared_options, with_json
from sightline.cli.render import console, print_json, print_result, print_text, printable
from sightline.documents.code.store import INDEX, CodeStore
from sightline.documents.code.transfer import code_ids, copy_code
from sightline.errors import BadInput, SightlineError
from sightline.fleet.address import is_address
from sightline.fleet.code_store import CODE, code_store
from sightline.fleet.postgres import PostgresStores
from sightline.fleet.schema import MIGRATIONS
from sightline.imports.conversation import Line
from sightline.imports.sightline_log import recognises
from sightline.imports.source import value_of
from sightline.log.stores import PlacedStores
from sightline.log.stores.session_folder import SIDE_FILES, Folder
from sightline.log.stores.transfer import copy_session
from sightline.values.clock import wall_clock

_LOOKED_AT = 20  # lines of a file, before it is said that it is no log: the first ones may be damaged


@click.group()
@shared_options(hidden=True)
def store() -> None:
    """Move sessions and saved code between files and databases.

    \b
    Examples:
      sightline store copy . postgresql://me@db.example/team
      sightline store copy postgresql://me@db.example/team ~/backup
    """


@store.command("copy", short_help="Copy sessions to another place, byte for byte.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option(
    "--session",
    "wanted",
    multiple=True,
    metavar="SESSION",
    help="Only this one, and the code that was saved in it. May be given again.",
)
@with_json
def copy(source: str, target: str, wanted: tuple[str, ...], as_json: bool) -> None:
    """Copy the sessions in FROM to TO: their logs byte for byte, and the texts of windows that were sent.

    Windows that sessions share are copied too, unless --session is given, and so is code that the model saved, with all
    its versions; in a folder they are in `windows` and `code`. Each of FROM and TO is a project's folder, a folder with
    logs (*.jsonl), or a database (postgresql://user@host/name). A folder that does not exist yet, or is empty, gets the
    logs. Nothing in FROM is changed. What TO has already is not written again, so an interrupted copy is begun again
    with the same command. What differs there is told, and left as it is, and the exit code is 1, as where there is
    nothing to copy. The files of programs that a model ran are not copied.

    \b
    Examples:
      sightline store copy . postgresql://me@db.example/team
      sightline store copy postgresql://me@db.example/team ~/backup
      sightline store copy . postgresql://me@db.example/team --session V1StGXR8
    """
    here = place()
    if not is_address(source) and "://" not in source and not Path(source).exists():
        raise BadInput(here.words("store no source", source=source))
    ours, theirs = _stores(here, source), _stores(here, target, is_target=True)
    if source == target or _is_same(ours, theirs):
        raise BadInput(here.words("store same place"))
    theirs.sessions()  # a database that cannot be reached says so once, not for each session
    told = _Told(here, as_json)
    ids = list(wanted) or ours.sessions()
    sessions = [_copy_session(told, ours, theirs, id_) for id_ in reversed(ids)]  # the newest is the newest there too
    want_indexes(theirs, [str(copy["id"]) for copy in sessions if copy["state"] in ("copied", "grown")])
    windows = _copy_windows(here, told, ours, theirs) if not wanted else []
    code = _copy_code(here, told, ours, theirs, wanted)
    if as_json:
        print_json({"from": ours.where, "to": theirs.where, "sessions": sessions, "windows": windows, "code": code})
    elif sessions or code:
        counts = {"count": len(sessions), "code": len(code)}
        print_text(console(), here.words("store done", **counts, source=ours.where, target=theirs.where), "dim")
    else:
        print_text(console(), here.words("store nothing", where=here.described(ours)))
    is_nothing = not sessions and not code  # a name was misspelt, it may be: a backup of nothing is none
    if is_nothing or any(copy["error"] for copy in (*sessions, *windows, *code)):
        click.get_current_context().exit(1)


class _Told(NamedTuple):
    """Says what was done with each, as it is done."""

    here: Place
    as_json: bool

    def __call__(self, key: str, facts: dict[str, object]) -> dict[str, object]:
        if not self.as_json:
            said = self.here.words(f"store {key}", **{"why": facts["error"], **facts})
            print_text(console(), printable(said), "red" if facts["error"] else "")
        return facts


def _copy_windows(here: Place, told: _Told, ours: PlacedStores, theirs: PlacedStores) -> list[dict[str, object]]:
    """Copy the logs of the windows that sessions share. They are told only if there are any."""
    source, target = (SharedPlace.of(stores, here.project) for stores in (ours, theirs))
    names = source.names_in(target)
    return [_copy_session(told, source.stores, target.stores, name, renamed) for name, renamed in names.items()]


def _copy_session(
    told: _Told, ours: PlacedStores, theirs: PlacedStores, session_id: str, name: str = ""
) -> dict[str, object]:
    try:
        copied = copy_session(ours, theirs, session_id, name=name)
        facts = {"id": session_id, "state": copied.state, "lines": copied.lines, "error": ""}
    except SightlineError as error:
        facts = {"id": session_id, "state": "failed", "lines": 0, "error": str(error)}
    return told(str(facts["state"]), facts)


def _copy_code(
    here: Place, told: _Told, ours: PlacedStores, theirs: PlacedStores, sessions: Sequence[str]
) -> list[dict[str, object]]:
    """Copy the code that the model saved, all or that of these sessions. Codes are told only if there are any."""

    def code_of(stores: PlacedStores) -> CodeStore:
        folder = stores.path / CODE if isinstance(stores, Folder) else Path(CODE)
        return code_store(stores, folder, clock=wall_clock, locale=here.words.language)

    source, target, done = code_of(ours), code_of(theirs), []
    for code_id in code_ids(source, sessions):
        try:
            copied = copy_code(source, target, code_id)
            facts = {"id": code_id, "state": copied.state, "versions": copied.versions, "error": ""}
        except SightlineError as error:
            facts = {"id": code_id, "state": "failed", "versions": 0, "error": str(error)}
        state = facts["state"]
        done.append(told(f"code {state}" if state in ("copied", "grown") else str(state), facts))
    return done


@store.command(short_help="Make the tables of a database, or bring them forward.")
@with_json
def migrate(as_json: bool) -> None:
    """Make the tables of the database, and those of background work, or bring them to this version.

    Servers do so by themselves if their role may. Where it may not, run this as the owner of the tables: before the
    first server starts, and before the first one of a newer version. What is done already is not done again.

    \b
    Examples:
      sightline --store postgresql://owner@db.example/team store migrate
      SIGHTLINE_STORE=postgresql://owner@db.example/team sightline store migrate --json
    """
    here = place()
    stores = here.database  # which makes our own tables
    if not isinstance(stores, PostgresStores):
        raise BadInput(here.words("store no database"))
    stores.database.check_work()
    facts = {"where": stores.where, "version": len(MIGRATIONS)}
    print_result(here.words("store migrated", **facts), facts, as_json=as_json)


def _stores(here: Place, where: str, *, is_target: bool = False) -> PlacedStores:
    """The sessions of a database, of a project, or of a folder with logs. An empty folder gets logs.

    Raises:
        BadInput: it is none of them, or both a project with sessions and a folder with logs.
    """
    if is_address(where):
        return here._replace(store=where).stores
    if "://" in where:
        raise BadInput(here.words("store bad address"))
    folder = Path(where)
    if folder.is_file():
        raise BadInput(here.words("store is file", file=where))
    if not folder.exists():
        return Folder.at(folder)
    own = here._replace(project=where, store="").folder
    is_project = bool(own.sessions()) or _has_code(own.path)
    if _has_code(folder) or any(map(_is_log, folder.glob("*.jsonl"))):
        if is_project:
            raise BadInput(here.words("store ambiguous", folder=where, sessions=own.path))
        return Folder.at(folder)
    if is_target and not is_project and all(map(_is_begun, folder.iterdir())):
        return Folder.at(folder)
    return own


def _has_code(folder: Path) -> bool:
    return (folder / CODE / INDEX).exists()


def _is_log(file: Path) -> bool:
    """Whether a file is the log of a session, and not data of the project: some of its first lines say so."""
    with suppress(OSError):  # not to be read, or deleted since
        if file.is_file():  # a pipe would be waited for
            with file.open("rb") as lines:
                return any(recognises(value_of(Line(1, line))) for line in islice(lines, _LOOKED_AT))
    return False


def _is_begun(file: Path) -> bool:
    """Whether an interrupted copy may have left this file before it wrote the first line of a log."""
    return file.suffix in SIDE_FILES or (file.suffix == ".jsonl" and not file.stat().st_size)


def _is_same(ours: PlacedStores, theirs: PlacedStores) -> bool:
    """Whether two folders are one, however they are written."""
    both = isinstance(ours, Folder) and isinstance(theirs, Folder)
    return both and Path(ours.where).resolve() == Path(theirs.where).resolve()
