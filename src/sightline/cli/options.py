"""The options that several commands share, and the project and sessions that they name.

The database is imported where one is named: every command needs this module, few a database.
"""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from sightline.cli.phrases import LANGUAGES, Phrases, error_text
from sightline.errors import BadInput, BadSessionId, list_command
from sightline.files.folders import Folders
from sightline.fleet.address import read_address
from sightline.fleet.errors import Unreachable
from sightline.log import branch_label
from sightline.log.stores import PlacedStores
from sightline.log.stores.session_folder import Folder, sightline_home
from sightline.plan import Budget
from sightline.plan.strategies.project_choice import strategy_files
from sightline.providers.windows import USUAL_OUTPUT
from sightline.session.session import Session
from sightline.values.profiles import PROFILES
from sightline.wire import registry

DEBUG = "sightline.debug"
_NAMED = 5  # sessions, where an id could mean several
STORE = "SIGHTLINE_STORE"  # the variable that names a database, so that no list of processes shows its password
META = "sightline."  # before the names under which a context keeps the shared options


F = TypeVar("F", bound=Callable[..., Any])


class FormatChoice(click.Choice):  # type: ignore[type-arg]
    """The name of a provider format. The help lists ours; those that installed packages offer are accepted too."""

    def __init__(self, first: str = "", last: Sequence[str] = ()) -> None:
        super().__init__([*filter(None, (first, *registry.OURS, *last))])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value not in self.choices and value in registry.names() else super().convert(value, param, ctx)


class ProjectFolder(click.Path):
    """The folder of a project. `place` says whether it must exist."""

    def __init__(self) -> None:
        super().__init__(file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if Path(value).is_file():
            self.fail(f"{value} is a file; name the project's folder, such as {Path(value).parent}", param, ctx)
        return super().convert(value, param, ctx)


class Seconds(click.FloatRange):
    """A number of seconds in a range. What is no number, or has no end, is refused: nobody can wait for it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if not isfinite(seconds):
            self.fail(f"{value} is no number of seconds, such as 0.5", param, ctx)
        return seconds


class DatabaseAddress(click.ParamType):  # type: ignore[type-arg]
    """The address of a PostgreSQL database. It is not shown again: it may hold a password."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            read_address(str(value))
        except BadInput as error:
            self.fail(error_text(error, language()), param, ctx)
        return value


class Place(NamedTuple):
    """A project, where its sessions are stored, and the phrases in the language of the output."""

    project: str
    root: str | None
    words: Phrases
    store: str | None = None  # the address of a database; None: sessions are files
    logs: str | None = None  # a folder with logs, such as a copy, instead of a project's

    @property
    def stores(self) -> PlacedStores:
        """The sessions: those in the database, or those of the project in files."""
        if self.logs:
            return Folder.at(Path(self.logs))
        return _database(self.store) if self.store else self.folder

    @property
    def database(self) -> PlacedStores | None:
        """The sessions in the database, if there is one. Raises StoreError if it cannot be reached."""
        if not self.store:
            return None
        self.stores.sessions()
        return self.stores

    @property
    def awaited_database(self) -> PlacedStores | None:
        """As `database`, for a process that goes on. One that cannot be reached now is told in the log."""
        return _awaited(self.store) if self.store else None

    @property
    def folder(self) -> Folder:
        """The project's own files on this machine: its sessions, unless they are in a database, and what is typed."""
        return Folder(self.project, self.root)

    @property
    def where(self) -> dict[str, Any]:
        """The arguments of `Session.new` and its like that say where sessions are."""
        return {"stores": self.stores} if self.store or self.logs else {"root": self.root}

    @property
    def home(self) -> Path:
        """The folder of all projects' sessions."""
        return Path(self.root) if self.root else sightline_home()

    def described(self, stores: PlacedStores) -> str:
        """Return a place in words: of a database also whose sessions are meant, because others may have some."""
        return self.words("of tenant", where=stores.where, tenant=stores.tenant) if stores.tenant else stores.where

    def find(self, prefix: str | None) -> str:
        """Return the id of the session whose id begins with `prefix`; without one, of the newest session.

        Raises:
            BadInput: no or several ids begin so.
        """
        matching = self.stores.sessions()[:1] if prefix is None else self.matching(prefix)
        if len(matching) == 1:
            return matching[0]
        if matching:
            first = ", ".join(matching[:_NAMED]) + (", …" if len(matching) > _NAMED else "")
            raise BadInput(self.words("several sessions", given=prefix, count=len(matching), first=first))
        if prefix:
            raise BadInput(
                self.words("no such session", given=prefix, listing=list_command("" if self.store else self.project))
            )
        from sightline.cli.agent_logs import logs_of_project  # the list of sessions, which few commands need

        raise BadInput("\n".join(filter(None, (self.words("project without sessions"), logs_of_project(self)))))

    def matching(self, prefix: str) -> list[str]:
        """Return the id that `prefix` is, else those that begin with it."""
        return [prefix] if _has(self.stores, prefix) else named_by(prefix, self.stores.sessions())

    def session(self, prefix: str | None = None, branch: str | None = None, folders: Folders = ()) -> Session:
        """Open the session that `find` finds, on the branch whose name begins with `branch`, to look at it.

        The caller closes it. `folders` are those whose files a summary may be made from.

        Raises:
            BadInput: no or several sessions or branches begin so.
        """
        session_id, options = self.find(prefix), {**self.where, "folders": folders}
        session = Session.inspect(session_id, self.project, **options)
        if branch is None:
            return session
        with session:
            names = session.branches
        labels = list(map(branch_label, names))
        matching = named_by(branch, labels)
        if len(matching) != 1:
            there = ", ".join(labels)
            raise BadInput(self.words("no one branch", given=branch, count=len(matching), labels=there))
        return Session.inspect(session_id, self.project, branch=names[labels.index(matching[0])], **options)


@cache
def _database(address: str) -> PlacedStores:
    """The sessions in a database. A command connects to it once, and leaves it at its end."""
    from sightline.fleet.postgres import PostgresStores

    stores = PostgresStores(address)
    if (context := click.get_current_context(silent=True)) is not None:
        for work in (_database.cache_clear, _awaited.cache_clear, stores.close):
            context.find_root().call_on_close(work)
    return stores


@cache
def _awaited(address: str) -> PlacedStores:
    try:
        _database(address).sessions()
    except Unreachable as error:
        logging.getLogger("sightline.server").warning("not ready, waits for the database: %s", error)
    return _database(address)


def _has(stores: PlacedStores, session_id: str) -> bool:
    with suppress(BadSessionId):
        return stores.has(session_id)
    return False


def named_by(prefix: str, names: Sequence[str]) -> list[str]:
    """Return the names that `prefix` may mean: the one that it is, else those that begin with it."""
    return [prefix] if prefix in names else [name for name in names if prefix and name.startswith(prefix)]


def language() -> str:
    """Return the language of the output."""
    return str(click.get_current_context().meta.get(META + "lang", LANGUAGES[0]))


def place() -> Place:
    """Return the place that the shared options of the running command name.

    Sessions of a project that was deleted can still be looked at. Raises BadInput for a folder that never was one.
    """
    meta = click.get_current_context().meta
    here = Place(
        project=meta.get(META + "project", "."),
        root=meta.get(META + "root"),
        words=Phrases(language()),
        store=meta.get(META + "store") or os.environ.get(STORE) or None,
    )
    if not (here.store or Path(here.project).is_dir() or here.folder.path.is_dir()):
        raise BadInput(here.words("no project", project=here.project))
    if strategy_files(here.project):
        from sightline.cli.project_strategies import load_allowed_strategies  # loads models, which most commands do not

        load_allowed_strategies(here.project, here.home)
    return here


def is_language_given() -> bool:
    """Whether the command line names the language of the output."""
    return META + "lang" in click.get_current_context().meta


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value:
        ctx.meta[META + str(param.name)] = value


def shared_options(*, hidden: bool = False) -> Callable[[F], F]:
    """Add --project, --root, --store, --lang and --debug: shown in the help of `sightline`, taken by every command."""

    def add(function: F) -> F:
        for name, more in reversed(_SHARED.items()):
            function = click.option(name, hidden=hidden, expose_value=False, callback=_remember, **more)(function)
        return function

    return add


_SHARED: dict[str, dict[str, Any]] = {
    "--project": {
        "help": "The project whose sessions are used.  [default: this directory]",
        "type": ProjectFolder(),
        "metavar": "DIR",
    },
    "--root": {
        "help": "Where sessions are stored.  [default: SIGHTLINE_HOME, else ~/.sightline]",
        "type": click.Path(file_okay=False),
        "metavar": "DIR",
    },
    "--store": {
        "help": "A database that has the sessions instead: postgresql://user@host/name.  [default: SIGHTLINE_STORE]",
        "metavar": "URL",
        "type": DatabaseAddress(),
    },
    # Eager: what is wrong with the other options is said in it.
    "--lang": {"help": "The language of the output.", "type": click.Choice(LANGUAGES), "is_eager": True},
    "--debug": {"help": "Show the traceback of errors.", "is_flag": True},
}


def with_json(function: F) -> F:
    """Add --json, and the shared options."""
    function = shared_options(hidden=True)(function)
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")(function)


def confirm(here: Place, question: str, *, as_json: bool) -> None:
    """Ask before something is deleted, and end the command if the user does not want it. Raises UsageError."""
    if as_json or not sys.stdin.isatty():
        raise click.UsageError(here.words("nobody to ask"))
    if not click.confirm(question):
        click.get_current_context().exit(1)


profile_option = click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    help="The provider by whose rules tokens and prices are counted.  [default: that of the log, else openai]",
)


def make_budget(window: int, output: int) -> Budget:
    """Return the budget. Raises UsageError if the numbers make no sense."""
    try:
        return Budget(window=window, output=output)
    except BadInput as error:
        raise click.UsageError(str(error)) from error


def budget_options(function: F) -> F:
    """Add --window and --output. Their default is the budget of the session's last call."""
    window = "The model's context window, in tokens.  [default: that of the last call, else of its model]"
    output = f"Tokens of --window reserved for the answer.  [default: {USUAL_OUTPUT}, at most a quarter]"
    return click.option("--window", "--budget", type=int, help=window)(
        click.option("--output", type=int, help=output)(function)
    )


def known_budget(session: Session, window: int | None, output: int | None) -> Budget:
    """Return the budget that the command line says, else that of the session's last call, or of its model."""
    from sightline.view.call_rows import chosen_budget, usual_budget  # few commands need it

    try:
        return chosen_budget(session.budget or usual_budget(session), window, output)
    except BadInput as error:
        raise click.UsageError(str(error)) from error
