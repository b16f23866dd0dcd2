"""`sightline verify`: is every payload ever sent what the log says it was?"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from sightline.cli.options import Place, branch_label, place, session_argument, with_json
from sightline.cli.render import console, error_console, print_json


@click.command(short_help="Check that every payload ever sent can be made again from the log.")
@session_argument
@click.option("--all", "every", is_flag=True, help="Verify every session of the project.")
@with_json
def verify(session_id: str | None, every: bool, as_json: bool) -> None:
    """Compose every payload that was ever sent again, from the log alone, and compare the hashes.

    The command lists the payloads that differ. If there are any, the exit code is 1.

    \b
    Examples:
      sightline verify
      sightline verify V1StGXR8
      sightline verify --all --json
    """
    here = place()
    ids = here.folder.sessions() if every else [here.find(session_id)]
    out = console()
    sessions = [_verify(here, id_, None if as_json else out) for id_ in ids]
    payloads = sum(session["payloads"] for session in sessions)
    bad = sum(len(session["mismatches"]) for session in sessions)
    if as_json:
        print_json({"good": not bad, "payloads": payloads, "sessions": sessions})
    elif bad:
        out.print(here.words("verified bad", bad=bad, payloads=payloads), style="red", soft_wrap=True)
    else:
        out.print(here.words("verified", payloads=payloads, sessions=len(ids)), style="green", soft_wrap=True)
    if bad:
        click.get_current_context().exit(1)


def _verify(here: Place, session_id: str, out: Console | None) -> dict[str, Any]:
    """Verify one session. Without `out` nothing is printed."""
    count, mismatches = 0, []
    with here.session(session_id) as session, _progress(here, session_id, len(session.receipts), out) as advance:
        for payload in session.receipts.verify():
            count += 1
            advance()
            if not payload.good:
                mismatch = {**payload._asdict(), "branch": branch_label(payload.branch)}
                mismatches.append(mismatch)
                if out is not None:
                    key = "mismatch" if payload.found else "window gone"
                    out.print(here.words(key, session=session_id, **mismatch), style="red", soft_wrap=True)
    return {"session": session_id, "payloads": count, "mismatches": mismatches}


@contextmanager
def _progress(here: Place, session_id: str, total: int, out: Console | None) -> Iterator[Any]:
    """Show a progress bar on a terminal; nothing where nobody watches."""
    screen = error_console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen, transient=True, disable=out is None or not screen.is_terminal) as progress:
        task = progress.add_task(here.words("verifying", id=session_id), total=total)
        yield lambda: progress.advance(task)
