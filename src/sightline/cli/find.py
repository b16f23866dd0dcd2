"""`sightline find`: search in what was said, over the sessions of all projects."""

import shlex
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
from rich.console import Console

from sightline.adapters.mcp_answers import SNIPPET, one_line
from sightline.cli.options import META, Place, place, with_json
from sightline.cli.render import console, error_console, print_json, print_text, progress
from sightline.values.clock import day
from sightline.view.catalog.places import IMPORTED, SAMPLES, Places
from sightline.view.catalog.search_rows import is_line_id
from sightline.view.catalog.session_catalog import SessionCatalog
from sightline.view.catalog.session_search import Found, FoundSession, SessionSearch
from sightline.view.catalog.snippets import excerpt
from sightline.view.catalog.sought import AmongProject, Sought, sought

_SLICE = 4 << 20  # bytes of logs that are read at a time
_WAIT = 10.0  # seconds without a log that becomes searchable, after which another process is taken to read them
_DAY = click.DateTime(["%Y-%m-%d"])


@click.command(short_help="Search in what was said, over all sessions.")
@click.argument("words", nargs=-1, metavar="[WORDS]...")
@click.option("--path", default="", metavar="TEXT", help="Only where this path, or a part of one, is named.")
@click.option("--tool", default="", metavar="NAME", help="Only results of this tool.")
@click.option("--since", type=_DAY, metavar="DAY", help="Only what was said on this day or later, as in 2026-01-31.")
@click.option("--until", type=_DAY, metavar="DAY", help="Only what was said on this day or before.")
@click.option("--errors", is_flag=True, help="Only results of calls that failed.")
@click.option("--limit", type=click.IntRange(1, 200), default=10, show_default=True, metavar="N", help="Sessions.")
@with_json
def find(words: tuple[str, ...], limit: int, as_json: bool, **filters: Any) -> None:
    """Search in what was said and what tools gave, in the sessions of all projects, and in the logs of Claude Code and
    Codex on this machine. With --project, only in what is about that folder.

    The best matches come first. An argument with blanks, or what stands in double quotes, is a phrase that is there
    word by word. Each match has its session, date, message and an excerpt, and how to open it. The index is the one
    that `sightline mcp` has: the first search reads all logs, later ones only what is new.

    \b
    Examples:
      sightline find refresh token
      sightline find "token refused" --errors --since 2026-01-31
      sightline find --tool Bash --path src/auth --json
    """
    here = place()
    wanted = _sought(words, **filters)
    if not wanted.query:
        raise click.UsageError(here.words("find what"))
    places = Places(Path(here.project).resolve(), root=here.root, stores=here.database, everywhere=True)
    catalog = SessionCatalog(places)
    search = SessionSearch(catalog, just_now=0)
    unread = _read_new(here, search)
    project = click.get_current_context().meta.get(META + "project")
    among = AmongProject(Path(project).resolve() if project is not None else None)
    matches = search.search(wanted.query, limit, among, wanted.is_in)
    hits = [*_described(here, catalog, matches)]
    if as_json:
        print_json({"terms": matches.terms, "sessions": hits, "unread": unread})
        return
    for session in hits:
        _print(console(), here, session)
    if not hits:
        print_text(console(), here.words("find no phrase" if wanted.phrases else "find nothing"))
    if unread:
        print_text(error_console(), here.words("find unread", count=unread), "yellow")


def _sought(
    words: Sequence[str], path: str, tool: str, since: datetime | None, until: datetime | None, *, errors: bool
) -> Sought:
    first, last = (f"{moment:%Y-%m-%d}" if moment is not None else "" for moment in (since, until))
    return sought(words, path, tool, first, last, errors=errors)


def _read_new(here: Place, search: SessionSearch) -> int:
    """Make what is new searchable. Return how many logs are left, because another process reads them."""
    left = before = search.extend(0)
    since = time.monotonic()
    with progress(error_console(), here.words("find reading"), left, hidden=not left) as advance:
        while left and time.monotonic() - since < _WAIT:
            left = search.extend(_SLICE)
            if left < before:
                since = time.monotonic()
                for _ in range(before - left):
                    advance()
                before = left
    return left


def _described(here: Place, catalog: SessionCatalog, matches: Found) -> Iterator[dict[str, Any]]:
    """Yield what is told of each session that matches."""
    files = {source.id: source.file for source in catalog.sources() if source.log is None}
    for session in matches.sessions:
        look, show = session.document.look, _show(here, catalog.places, session, files.get(session.id))
        page = "" if session.id in files else f"/inspector/#/s/{quote(session.id, safe='')}/transcript"
        yield {
            "session": session.id, "source": look.source, "project": look.project, "title": look.title,
            "day": day(session.document.updated or None), "open": show, "page": page,
            "hits": [
                {
                    "id": row.id, "kind": row.kind, "when": row.when, "failed": row.failed,
                    "excerpt": one_line(excerpt(row.text, " ".join(matches.terms), SNIPPET)),
                    "open": f"{show} --item {row.id}" if show and not is_line_id(row.id) else show,
                    "page": f"{page}/{row.id}" if page else "",
                }
                for row in (item.row for item in session.items)
            ],
        }  # fmt: skip


def _show(here: Place, places: Places, session: FoundSession, file: Path | None) -> str:
    """Return the command that shows a session, or imports its file; empty: only the page shows it."""
    if file is not None:
        return f"sightline import {shlex.quote(str(file))}"
    found, own_id = places.find(session.id)
    if found.key and found.project.parent == places.home / "projects":  # whose these are is not known
        return ""
    if found.key in (IMPORTED, SAMPLES):
        return ""
    project = found.project if found.key else here.project
    where = "" if project == "." else f"--project {shlex.quote(str(project))} "
    return f"sightline {where}sessions show {shlex.quote(own_id)}"


def _print(out: Console, here: Place, session: dict[str, Any]) -> None:
    facts = (session["session"], session["source"], session["day"], session["project"])
    print_text(out, one_line(" · ".join(filter(None, facts))), "bold")
    print_text(out, f"  {one_line(session['title'])}", "dim")
    for hit in session["hits"]:
        mark = "✗ " if hit["failed"] and not out.options.ascii_only else ""
        print_text(out, one_line(f"#{hit['id']} {hit['kind']} {hit['when'][:16]}  {mark}{hit['excerpt']}"))
    first = session["hits"][0]
    if session["open"]:
        print_text(out, "  " + here.words("find open", command=first["open"]), "dim")
    if session["page"]:
        print_text(out, "  " + here.words("find page", address=first["page"]), "dim")
    out.print()
