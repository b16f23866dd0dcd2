"""`sightline sessions`: list, show, fork, export, delete."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from sightline.cli.choices import branch_option, complete_sessions, session_argument
from sightline.cli.export import LOG, SOURCE, exported, message_count, write_pieces
from sightline.cli.options import (
    FormatChoice,
    Place,
    confirm,
    place,
    with_json,
)
from sightline.cli.render import (
    Column,
    console,
    first_words,
    human_size,
    local_time,
    print_json,
    print_result,
    print_stderr,
    print_table,
    printable,
)
from sightline.errors import BadInput, Locked, SightlineError
from sightline.log import branch_label
from sightline.session.items import ItemInfo
from sightline.session.session import Session
from sightline.values.items import Kind, plain_text
from sightline.values.settings import strategy_name
from sightline.view.catalog.log_count import opening
from sightline.view.catalog.places import Places
from sightline.view.document import TRANSCRIPTS

_LEAST = 28  # columns for the first message, before other columns are left out
_NEWEST = 20  # sessions listed unless all are asked for, because each of them is opened


@click.group(invoke_without_command=True, short_help="List, show, fork, export and delete sessions.")
@click.option("--all", "every", is_flag=True, help=f"List all of them, not only the newest {_NEWEST}.")
@with_json
@click.pass_context
def sessions(ctx: click.Context, every: bool, as_json: bool) -> None:
    """List, show, fork, export and delete the sessions of a project.

    Without a command, list them, newest first. Wherever a command takes a session, the beginning of its id is enough;
    all but `delete` use the newest session without one. Put -- before an id that begins with a dash.

    \b
    Examples:
      sightline sessions
      sightline --project ~/work/shop sessions --all
      sightline sessions --json | jq '.sessions[0].id'
    """
    if ctx.invoked_subcommand is None:
        print_sessions(place(), every, as_json)


@sessions.command("list")
@click.option("--all", "every", is_flag=True, help=f"List all of them, not only the newest {_NEWEST}.")
@with_json
def list_sessions(every: bool, as_json: bool) -> None:
    """List the sessions of a project, newest first.

    \b
    Examples:
      sightline sessions list
      sightline sessions list --all --json
    """
    print_sessions(place(), every, as_json)


def print_sessions(here: Place, every: bool, as_json: bool = False) -> None:
    """Print the sessions of a project, newest first."""
    ids = here.stores.sessions()
    listed = ids if every else ids[:_NEWEST]
    if as_json:
        print_json({"sessions": [_describe(here, id_) for id_ in listed], "total": len(ids)})
        return
    out, words = console(), here.words
    if not ids:
        out.print(words("no sessions", folder=here.described(here.stores)), soft_wrap=True)
        from sightline.cli.agent_logs import logs_of_project  # the list of all sessions, which is rarely needed

        if logs := logs_of_project(here):
            out.print(logs, soft_wrap=True)
        if _are_elsewhere(here):
            out.print(words("sessions elsewhere"), soft_wrap=True)
        return
    columns = (
        Column(words("session"), max(9, *map(len, listed)), style="cyan"),  # whole: people paste them
        Column(words("written"), 16, spare=1),
        Column(words("entries"), 8, right=True), Column(words("branches"), 8, right=True, spare=3),
        Column(words("size"), 7, right=True, spare=2), Column(words("begins")),
    )  # fmt: skip
    print_table(out, columns, (
        (
            facts["id"], local_time(facts["written"]), f"{facts['entries']:,}", str(facts["branches"]),
            human_size(facts["size"]), Text(facts["error"], style="red") if facts["error"] else facts["words"],
        )
        for facts in (_describe(here, id_) for id_ in listed)
    ), least=_LEAST)  # fmt: skip
    if len(listed) < len(ids):
        out.print(words("more sessions", count=len(ids) - len(listed)), style="dim")


def _are_elsewhere(here: Place) -> bool:
    """Whether other projects have sessions in files. Those of a database have no project."""
    places = Places(here.project, root=here.root, everywhere=True).all()
    return not here.store and any(place.stores.sessions() for place in places)


def _describe(here: Place, session_id: str) -> dict[str, Any]:
    """Describe a session. One that cannot be read is listed with the reason, and does not hide the others."""
    written = here.stores.look(session_id)
    facts = {"id": session_id, "written": int(written.seconds), "size": written.size}
    try:
        with here.session(session_id) as session:
            user_items = (item for item in session.items.table() if item.kind is Kind.USER)
            words = opening((session.items.text(item.id), item.by_program) for item in user_items)
            return facts | {"entries": session.size, "branches": len(session.branches), "words": words, "error": ""}
    except (SightlineError, OSError) as error:
        return facts | {"entries": 0, "branches": 0, "words": "", "error": str(error)}


# ---------------------------------------------------------------------- show


@sessions.command(
    short_help="Show a session's items, or one of them in full.", context_settings={"allow_extra_args": True}
)
@session_argument
@click.option("--item", "item_id", metavar="ID", help="Show one item in full, byte for byte.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Show only the last N items.")
@branch_option
@with_json
@click.pass_context
def show(
    ctx: click.Context, session_id: str | None, item_id: str | None, last: int | None, branch: str | None, as_json: bool
) -> None:
    """Show a session's items: id, kind, tokens (in full, as a summary, as a gist) and the beginning of the text.

    \b
    Examples:
      sightline sessions show
      sightline sessions show V1StGXR8 --last 20
      sightline sessions show V1StGXR8 --item 412 > result.txt
    """
    here = place()
    if ctx.args:
        raise click.UsageError(here.words("item as argument", session=session_id, item=ctx.args[0]))
    with here.session(session_id, branch) as session:
        if item_id is not None:
            _show_item(session, item_id, as_json)
            return
        items = session.items.table()
        listed = items if last is None else items[-last:]
        if as_json:
            print_json(_facts(session, listed))
        else:
            _show_items(here, session, listed)


def item_words(session: Session, item: ItemInfo) -> str:
    """Return the beginning of an item's text, or what it consists of where it has no text."""
    if item.kind is Kind.WINDOW:
        return f"[{item.window}]"
    text = session.items.text(item.id)
    if text.strip():
        return first_words(text)
    return " ".join(
        f"[{part.__struct_config__.tag}]" for part in session.items[item.id].parts if not plain_text((part,))
    )


def _tokens(item: ItemInfo) -> dict[str, int | None]:
    return {"full": item.full, "summary": item.summary, "gist": item.gist}


def _facts(session: Session, items: Sequence[ItemInfo]) -> dict[str, Any]:
    return {
        "session": session.id,
        "branch": branch_label(session.branch),
        "branches": list(map(branch_label, session.branches)),
        "settings": session.settings,
        "items": [
            {
                "id": item.id,
                "kind": item.kind.name.lower(),
                "tokens": _tokens(item),
                "words": item_words(session, item),
            }
            for item in items
        ],
    }


def _show_items(here: Place, session: Session, items: Sequence[ItemInfo]) -> None:
    out, words, settings, branches = console(), here.words, session.settings, session.branches
    heading = words(
        "session heading", id=session.id, branch=branch_label(session.branch),
        strategy=strategy_name(settings.strategy), profile=settings.profile,
    )  # fmt: skip
    if len(branches) > 1:
        heading += "\n" + words("branches there are", names=", ".join(map(branch_label, branches)))
    if session.damaged:
        heading += "\n" + words("damaged", count=session.damaged)
    if changed := session.repairs.changed:
        named = ", ".join(f"#{item.id}" for item in items if item.changed)
        heading += "\n" + words("changed", count=len(changed), items=named or "–")
    out.print(Text(heading, style="bold"), soft_wrap=True)
    columns = (
        Column(words("item"), 10, right=True, style="cyan"), Column(words("kind"), 9),
        Column(words("full"), 8, right=True), Column(words("summary"), 8, right=True, spare=2),
        Column(words("gist"), 7, right=True, spare=1), Column(words("says")),
    )  # fmt: skip
    print_table(out, columns, (
        (
            "#" + item.id, words("kind " + item.kind.name.lower()),
            *("" if size is None else f"{size:,}" for size in _tokens(item).values()), item_words(session, item),
        )
        for item in items
    ))  # fmt: skip


def _show_item(session: Session, item_id: str, as_json: bool) -> None:
    item, text = session.items[item_id], session.items.text(item_id)
    if as_json:
        print_json({
            "id": item.id, "kind": item.kind.name.lower(), "timestamp": item.timestamp,
            "tokens": _tokens(session.items.info(item_id)), "text": text, "parts": item.parts,
        })  # fmt: skip
    elif sys.stdout.isatty():
        click.echo(printable(text))
    else:
        click.echo(text.encode(), nl=False)  # a file or a program gets exactly the item's bytes


# ---------------------------------------------------------------------- fork, export, delete


@sessions.command(short_help="Begin a new branch after an item.")
@session_argument
@click.option("--at", "item_id", metavar="ID", required=True, help="The last shared item; its whole unit is shared.")
@click.option("--name", metavar="NAME", help="The name of the new branch.  [default: a random id]")
@branch_option
@with_json
def fork(session_id: str | None, item_id: str, name: str | None, branch: str | None, as_json: bool) -> None:
    """Begin a new branch of a session after an item, and make it the current one.

    Nothing is copied and nothing is lost: the option --branch of the other commands chooses any branch.

    \b
    Examples:
      sightline sessions fork --at 412 --name try-out
      sightline sessions fork V1StGXR8 --at 412 --branch main
    """
    here = place()
    with here.session(session_id, branch) as session, session.fork(item_id, name=name) as forked:
        facts = {
            "session": session.id,
            "branch": forked.branch,
            "at": item_id.removeprefix("#"),
            "items": len(forked.items),
        }
    print_result(here.words("forked", **facts), facts, as_json=as_json)


@sessions.command(short_help="Write a whole conversation to a file.")
@session_argument
@click.option(
    "--format",
    "format_",
    type=FormatChoice(last=(*TRANSCRIPTS, LOG, SOURCE)),
    default="openai",
    help="The format: a provider's, one for people to read (markdown, html), the log (jsonl), or what was imported.",
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write to this new file.")
@click.option("--force", is_flag=True, help="Replace the file of -o if it exists.")
@branch_option
@with_json
def export(
    session_id: str | None, format_: str, output: str | None, force: bool, branch: str | None, as_json: bool
) -> None:
    """Export a whole conversation, everything in full: for a provider, for people to read, or as the log itself.

    A provider's format has system, tools and messages as its SDK takes them; blocks that only another provider
    has, such as its thinking blocks, are left out. markdown and html are to be read: who said what and when, what the
    model thought as far as its provider tells it, each tool call and result, images by name; html is one file without
    scripts. jsonl is the log byte for byte, with all branches. source is what `sightline import` read, every line. With
    --json, which needs -o, the command prints what was written to the file. A file that exists is replaced only with
    --force, and only when all of the new one has been written.

    \b
    Examples:
      sightline sessions export > conversation.json
      sightline sessions export V1StGXR8 --format html -o conversation.html
      sightline sessions export V1StGXR8 --format jsonl -o backup.jsonl
    """
    if as_json and output is None:
        raise click.UsageError("--json tells what was written to a file: add -o FILE")
    here = place()
    with here.session(session_id, branch) as session:
        pieces = exported(here, session, format_)
        if output is None:
            for piece in pieces:
                click.echo(piece, nl=False)
            return
        try:
            size = write_pieces(Path(output), pieces, force=force)
        except FileExistsError as error:
            raise BadInput(here.words("file exists", file=output)) from error
        except FileNotFoundError as error:
            raise BadInput(here.words("no folder", folder=Path(output).parent)) from error
        facts = {
            "session": session.id,
            "format": format_,
            "file": output,
            "bytes": size,
            "messages": message_count(session, format_),
        }
        damaged = session.damaged
    if damaged and not as_json:
        print_stderr(here.words("damaged", count=damaged), "yellow")
    print_result(here.words("exported", **facts | {"bytes": human_size(size)}), facts, as_json=as_json)


@sessions.command(short_help="Delete a session for good.")
@click.argument("session_id", metavar="SESSION", shell_complete=complete_sessions)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_json
def delete(session_id: str, yes: bool, as_json: bool) -> None:
    """Delete a session and all its files for good, after asking for confirmation. Saved code stays with the project.

    \b
    Examples:
      sightline sessions delete V1StGXR8
      sightline sessions delete V1StGXR8 --yes
    """
    here = place()
    full_id = here.find(session_id)
    if not yes:
        confirm(here, here.words("really delete", id=full_id), as_json=as_json)
    try:
        here.stores.delete(full_id)
    except Locked as error:
        holder = error.holder or here.words("another process")
        raise BadInput(here.words("not deleted", id=full_id, holder=holder)) from error
    print_result(here.words("deleted", id=full_id), {"deleted": full_id}, as_json=as_json)
