"""`sightline verify`: is every payload ever sent what the log says it was?"""

from typing import Any

import click
from rich.console import Console

from sightline.cli.options import Place, branch_label, place, session_argument, with_json
from sightline.cli.render import console, error_console, print_json, progress
from sightline.errors import SightlineError

_NAMED = 20  # damaged lines that are named; the rest is only counted


@click.command(short_help="Check that every payload of a session can be made again from the log.")
@session_argument
@click.option("--all", "every", is_flag=True, help="Verify every session of the project.")
@with_json
def verify(session_id: str | None, every: bool, as_json: bool) -> None:
    """Compose again every payload that a session ever sent, from the log alone, and compare the hashes.

    Without an id it is the newest session.

    The command lists the payloads that differ, and the lines of the log that cannot be read. With --all it also lists
    the sessions that cannot be opened, and goes on with the others. If there are any of these, the exit code is 1.

    \b
    Examples:
      sightline verify
      sightline verify V1StGXR8
      sightline verify --all --json
    """
    here = place()
    ids = here.folder.sessions() if every else [here.find(session_id)]
    out = console()
    check = _try_verify if every else _verify
    sessions = [check(here, id_, None if as_json else out) for id_ in ids]
    payloads = sum(session["payloads"] for session in sessions)
    bad = sum(len(session["mismatches"]) for session in sessions)
    unread = sum(bool(session["error"]) for session in sessions)
    damaged = sum(len(session["damaged"]) for session in sessions)
    if as_json:
        print_json({"good": not (bad or unread or damaged), "payloads": payloads, "sessions": sessions})
    else:
        if bad:
            out.print(here.words("verified bad", bad=bad, payloads=payloads), style="red", soft_wrap=True)
        elif payloads or not (unread or damaged):
            read = len(ids) - unread
            out.print(here.words("verified", payloads=payloads, sessions=read), style="green", soft_wrap=True)
        if unread:
            out.print(here.words("not verified", unread=unread, sessions=len(ids)), style="red", soft_wrap=True)
    if bad or unread or damaged:
        click.get_current_context().exit(1)


def _try_verify(here: Place, session_id: str, out: Console | None) -> dict[str, Any]:
    """Verify one session of several. One that cannot be verified is listed with the reason."""
    try:
        return _verify(here, session_id, out)
    except (SightlineError, OSError) as error:
        if out is not None:
            out.print(here.words("unreadable", session=session_id, why=error), style="red", soft_wrap=True)
        return {"session": session_id, "payloads": 0, "mismatches": [], "damaged": [], "error": str(error)}


def _verify(here: Place, session_id: str, out: Console | None) -> dict[str, Any]:
    """Verify one session. Without `out` nothing is printed."""
    count, mismatches, text = 0, [], here.words("verifying", id=session_id)
    with (
        here.session(session_id) as session,
        progress(error_console(), text, len(session.receipts), hidden=out is None) as advance,
    ):
        for payload in session.receipts.verify():
            count += 1
            advance()
            if not payload.good:
                mismatch = {**payload._asdict(), "branch": branch_label(payload.branch)}
                mismatches.append(mismatch)
                if out is not None:
                    key = "mismatch" if payload.found else "window gone"
                    out.print(here.words(key, session=session_id, **mismatch), style="red", soft_wrap=True)
        damaged = session.receipts.damaged_lines()
    if damaged and out is not None:
        lines = ", ".join(map(str, damaged[:_NAMED])) + (", …" if len(damaged) > _NAMED else "")
        text = here.words("damaged lines", session=session_id, count=len(damaged), lines=lines)
        out.print(text, style="red", soft_wrap=True)
    return {
        "session": session_id, "payloads": count, "mismatches": mismatches, "damaged": damaged, "error": "",
    }  # fmt: skip
