"""What a shell offers when a person presses Tab: ids of sessions, branches, apps, trusted folders. Never an error.

Every command has such choices, so what few of them need is imported in functions.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from sightline.apps import registry
from sightline.cli.options import META, STORE, Place
from sightline.cli.phrases import LANGUAGES, Phrases
from sightline.errors import SightlineError
from sightline.log import branch_label

MOST_COMPLETED = 50  # session ids that a shell is offered, the newest ones


def _here(ctx: click.Context) -> Place:
    store = ctx.meta.get(META + "store") or os.environ.get(STORE) or None
    return Place(ctx.meta.get(META + "project", "."), ctx.meta.get(META + "root"), Phrases(LANGUAGES[0]), store)


def _items(names: Iterable[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(begun)][:MOST_COMPLETED]


def complete_sessions(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the ids of the newest sessions that begin so. Where they cannot be listed, none."""
    try:
        return _items(_here(ctx).stores.sessions(), begun)
    except (SightlineError, OSError):
        return []


def complete_files_and_sessions(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the ids of sessions that begin so; where none does, the shell offers files."""
    sessions = complete_sessions(ctx, param, begun) if begun else []
    return sessions or [CompletionItem(begun, type="file")]


def complete_branches(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the branches of the session that the command line names, or of the newest one, that begin so."""
    with suppress(SightlineError, OSError), _here(ctx).session(ctx.params.get("session_id")) as session:
        return _items(map(branch_label, session.branches), begun)
    return []


def complete_apps(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:  # noqa: ARG001
    """Return the names of apps that begin so; where none does, the shell offers files, because an app can be one."""
    return _items(registry.names(), begun) or [CompletionItem(begun, type="file")]


def complete_trusted(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the trusted folders that begin so; a path that is relative or begins with ~ is taken for what it means."""
    from sightline.agent.trust import Trusted

    folders: list[str] = []
    with suppress(SightlineError, OSError):
        folders = sorted({entry.folder for entry in Trusted(_here(ctx).home).listing()})
    matching = _items(folders, begun)
    if not matching and begun:
        with suppress(OSError, RuntimeError):  # no home
            matching = _items(folders, str(Path(begun).expanduser().resolve()))
    return matching


session_argument = click.argument("session_id", metavar="[SESSION]", required=False, shell_complete=complete_sessions)
branch_option = click.option(
    "--branch",
    metavar="NAME",
    help="The branch, or the beginning of its name.  [default: the current one]",
    shell_complete=complete_branches,
)
