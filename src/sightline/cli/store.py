"""`sightline store copy`: sessions from files to a database, back, or between two of a kind."""

from pathlib import Path

import click

from sightline.cli.options import Place, place, shared_options, with_json
from sightline.cli.render import console, print_json, print_text, printable
from sightline.errors import BadInput, SightlineError
from sightline.log.stores import PlacedStores
from sightline.log.stores.postgres_database import is_address


@click.group()
@shared_options(hidden=True)
def store() -> None:
    """Move sessions between files and databases.

    \b
    Examples:
      sightline store copy . postgresql://me@db.example/team
      sightline store copy postgresql://me@db.example/team ~/backup
    """


@store.command("copy", short_help="Copy sessions to another place, byte for byte.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--session", "wanted", multiple=True, metavar="SESSION", help="Only this one. May be given again.")
@with_json
def copy(source: str, target: str, wanted: tuple[str, ...], as_json: bool) -> None:
    """Copy the sessions in FROM to TO: their logs byte for byte, and the texts of windows that were sent.

    Each is a project's folder, a folder with logs (*.jsonl), or a database (postgresql://user@host/name). A folder that
    does not exist yet gets the logs. Nothing in FROM is changed. What TO has already is not written again, so an
    interrupted copy is begun again with the same command. Saved code and the files of programs are not copied.

    \b
    Examples:
      sightline store copy . postgresql://me@db.example/team
      sightline store copy postgresql://me@db.example/team ~/backup
      sightline store copy . postgresql://me@db.example/team --session V1StGXR8
    """
    from sightline.log.stores.transfer import copy_session

    here, out = place(), console()
    if not is_address(source) and "://" not in source and not Path(source).exists():
        raise BadInput(f"there is no {source}: FROM is a project's folder, a folder with logs, or postgresql://…")
    ours, theirs = _stores(here, source), _stores(here, target)
    if ours.where == theirs.where and source == target:
        raise BadInput("FROM and TO are the same place")
    done: list[dict[str, object]] = []
    ids = list(wanted) or ours.sessions()
    if not ids and not as_json:
        print_text(out, here.words("store nothing", where=ours.where))
    for session_id in reversed(ids):  # the newest last, so that it is the newest there too
        try:
            copied = copy_session(ours, theirs, session_id)
            facts = {"id": session_id, "state": copied.state, "lines": copied.lines, "error": ""}
        except SightlineError as error:
            facts = {"id": session_id, "state": "failed", "lines": 0, "error": str(error)}
        done.append(facts)
        if not as_json:
            said = here.words(f"store {facts['state']}", id=session_id, lines=facts["lines"], why=facts["error"])
            print_text(out, printable(said), "red" if facts["error"] else "")
    if as_json:
        print_json({"from": ours.where, "to": theirs.where, "sessions": done})
    elif done:
        print_text(out, here.words("store done", count=len(done), source=ours.where, target=theirs.where), "dim")
    if any(each["error"] for each in done):
        click.get_current_context().exit(1)


def _stores(here: Place, given: str) -> PlacedStores:
    """The sessions of a database, of a folder with logs, or of a project."""
    from sightline.log.stores.session_folder import Folder

    if is_address(given):
        return here._replace(store=given).stores
    if "://" in given:
        raise BadInput("a database is postgresql://user@host/name")
    folder = Path(given)
    if folder.is_file():
        raise BadInput(f"{given} is a file; name the folder that it is in")
    has_logs = not folder.exists() or any(folder.glob("*.jsonl"))
    return Folder.at(folder) if has_logs else here._replace(project=given, store="").folder
