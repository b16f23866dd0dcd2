"""`sightline verify`: is every payload ever sent what the log says it was?"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

import click
from rich.console import Console

from sightline.cli.choices import session_argument
from sightline.cli.options import (
    Place,
    place,
    with_json,
)
from sightline.cli.render import console, error_console, print_json, progress
from sightline.errors import Damaged, SightlineError
from sightline.log import branch_label

_NAMED = 20  # damaged lines that are named; the rest is only counted
_UNHARMED: dict[str, list[Any]] = {"damaged": [], "changed": [], "missing": []}


@click.command(short_help="Check that every payload of a session can be made again from the log.")
@session_argument
@click.option("--all", "every", is_flag=True, help="Verify every session of the project.")
@click.option(
    "--folder", type=click.Path(file_okay=False), metavar="DIR",
    help="A folder with logs instead, such as `sightline store copy` makes.",
)  # fmt: skip
@with_json
def verify(session_id: str | None, every: bool, folder: str | None, as_json: bool) -> None:
    """Compose again every payload that a session ever sent, from the log alone, and compare the hashes.

    Without an id it is the newest session.

    The command lists the lines of the log that cannot be read or have changed since they were written, where entries
    are missing, and then the payloads that differ. With --all it also lists the sessions that cannot be opened, and
    goes on with the others. If there are any of these, or no session at all, the exit code is 1.

    \b
    Examples:
      sightline verify V1StGXR8
      sightline verify --all --json
      sightline verify --all --folder copy-of-today
    """
    damage = logging.getLogger("sightline.damage")
    damage.disabled = True  # it is told once, here
    click.get_current_context().call_on_close(partial(setattr, damage, "disabled", False))
    here = place()._replace(logs=folder) if folder else place()
    ids = here.stores.sessions() if every else [here.find(session_id)]
    out = console()
    check = _try_verify if every else _verify
    sessions = [check(here, id_, None if as_json else out) for id_ in ids]
    payloads = sum(session["payloads"] for session in sessions)
    bad = sum(len(session["mismatches"]) for session in sessions)
    unread = sum(bool(session["error"]) for session in sessions)
    damaged = sum(len(session[key]) for session in sessions for key in _UNHARMED)
    if as_json:
        print_json({"good": bool(ids) and not (bad or unread or damaged), "payloads": payloads, "sessions": sessions})
    else:
        if not ids:
            out.print(here.words("store nothing", where=here.described(here.stores)), style="red", soft_wrap=True)
        elif bad:
            out.print(here.words("verified bad", bad=bad, payloads=payloads), style="red", soft_wrap=True)
        elif not payloads and not (unread or damaged):
            out.print(here.words("nothing sent", sessions=len(ids)), soft_wrap=True)
        elif payloads:
            read = len(ids) - unread
            out.print(here.words("verified", payloads=payloads, sessions=read), style="green", soft_wrap=True)
        if unread:
            out.print(here.words("not verified", unread=unread, sessions=len(ids)), style="red", soft_wrap=True)
    if bad or unread or damaged or not ids:
        click.get_current_context().exit(1)


def _try_verify(here: Place, session_id: str, out: Console | None) -> dict[str, Any]:
    """Verify one session of several. One that cannot be verified is listed with the reason."""
    try:
        return _verify(here, session_id, out)
    except (SightlineError, OSError) as error:
        if out is not None:
            out.print(here.words("unreadable", session=session_id, why=error), style="red", soft_wrap=True)
        return {"session": session_id, "payloads": 0, "mismatches": [], **_UNHARMED, "error": str(error)}


def _verify(here: Place, session_id: str, out: Console | None) -> dict[str, Any]:
    """Verify one session. Without `out` nothing is printed."""
    try:
        facts = _check(here, session_id, hidden=out is None)
    except Damaged:  # a line has changed since it was indexed: this time the log is read anew
        facts = _check(here, session_id, hidden=out is None)
    if out is not None:
        _print_causes(here, facts, out)
        for mismatch in facts["mismatches"]:
            key = "mismatch" if mismatch["found"] else "window gone"
            out.print(here.words(key, session=session_id, **mismatch), style="red", soft_wrap=True)
    return facts


def _print_causes(here: Place, facts: Mapping[str, Any], out: Console) -> None:
    """Print what is wrong with the log itself, which explains what differs."""
    gaps = [f"#{before} … #{after}" for before, after in facts["missing"]]
    for key, places in (("damaged lines", facts["damaged"]), ("changed lines", facts["changed"]), ("missing", gaps)):
        if places:
            named = ", ".join(map(str, places[:_NAMED]))
            more = here.words("more places", count=len(places) - _NAMED) if len(places) > _NAMED else ""
            text = here.words(key, session=facts["session"], lines=named + more)
            out.print(text, style="red", soft_wrap=True, markup=False)


def _check(here: Place, session_id: str, *, hidden: bool) -> dict[str, Any]:
    """Compose every payload of a session again, and look at every line of its log."""
    count, mismatches, text = 0, [], here.words("verifying", id=session_id)
    with (
        here.session(session_id) as session,
        progress(error_console(), text, len(session.receipts), hidden=hidden) as advance,
    ):
        for payload in session.receipts.verify():
            count += 1
            advance()
            if not payload.good:
                mismatches.append({**payload._asdict(), "branch": branch_label(payload.branch)})
        sent = session.receipts
        harm = {
            "damaged": sent.damaged_lines(), "changed": sent.changed_lines(), "missing": sent.missing_entries(),
        }  # fmt: skip
    return {"session": session_id, "payloads": count, "mismatches": mismatches, **harm, "error": ""}
