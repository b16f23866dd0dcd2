"""`sightline import`: conversations that other programs recorded become sessions of the project."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.cells import cell_len

from sightline.cli.index_jobs import want_indexes
from sightline.cli.options import FormatChoice, Place, place, profile_option, with_json
from sightline.cli.phrases import Phrases
from sightline.cli.render import (
    Column,
    console,
    error_console,
    print_json,
    print_stderr,
    print_table,
    printable,
    progress,
)
from sightline.errors import BadInput
from sightline.files.private_files import make_directory
from sightline.imports.conversation import Conversation, Use
from sightline.imports.detection import AUTO, conversations
from sightline.imports.importer import Imported, import_into, named_project
from sightline.imports.source import files_in
from sightline.plan.strategies.project_choice import chosen
from sightline.values.items import Usage
from sightline.values.settings import Settings
from sightline.view.catalog.imported_files import ImportedFiles
from sightline.view.catalog.offered_files import Offered
from sightline.view.catalog.places import Places


@click.command("import", short_help="Import recorded conversations as sessions.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True), metavar="PATH...")
@click.option("--line", type=click.IntRange(min=1), metavar="N", help="Only conversation N of a file or folder.")
@click.option("--format", type=FormatChoice(AUTO), default=AUTO, show_default=True, help="Format of messages.")
@profile_option
@with_json
def import_(
    paths: tuple[str, ...],
    line: int | None,
    format: str,  # noqa: A002
    profile: str | None,
    as_json: bool,
) -> None:
    """Import conversations that other programs recorded. Each becomes a session of the project that it names, if its
    folder is on this machine, else of this one.

    PATH is a log of Claude Code or Codex, messages in the form of OpenAI, Anthropic or LangChain (a JSON list, an
    object with "messages", one message per line, or one conversation per line), or a log of Sightline; each may be
    compressed as .gz. A folder is searched for such files; - reads standard input. Every line is kept, also those that
    are no messages: a table shows what was made of the lines of each type, and `sightline sessions export --format
    source` writes all of them again. Importing a file again changes nothing, or adds what is new in it. A session is as
    old as its last message. The exit code is 1 if a file that was named cannot be imported.

    \b
    Examples:
      sightline import ~/.claude/projects/-home-me-shop
      sightline import ~/.codex/sessions/2026/11
      sightline import conversations.jsonl.gz --line 3
    """
    here = place()
    settings = _settings(here, profile)
    done: list[Imported] = []
    refused: list[tuple[str, str]] = []
    failed = False

    def refuse(name: str, why: BadInput) -> None:
        refused.append((name, str(why)))

    for path in paths:
        before = len(done)
        try:
            unread = _import_path(here, path, line, format, settings, done, refuse)
        except BadInput as error:
            unread = [(path, str(error))]
        refused += unread
        failed = failed or bool(unread)
        if not as_json:
            for imported in done[before:]:
                _print_imported(here, imported)
    want_indexes(here.stores, [imported.session for imported in done if imported.state != "unchanged"])
    if as_json:
        print_json({
            "imported": [imported._asdict() for imported in done],
            "refused": [{"file": name, "error": error} for name, error in refused],
        })  # fmt: skip
    else:
        _print_lines(here.words, done)
        _print_refused(here.words, refused)
    if failed:
        click.get_current_context().exit(1)


def _settings(here: Place, profile: str | None) -> Settings | None:
    """Return the settings of imported sessions if the command line names a profile; else each has its source's."""
    if profile is None:
        return None
    choice = chosen(here.project)
    return Settings(strategy=choice.name, config=choice.config, profile=profile)


def _import_path(
    here: Place,
    path: str,
    line: int | None,
    format: str,  # noqa: A002
    settings: Settings | None,
    done: list[Imported],
    refuse: Callable[[str, BadInput], None],
) -> list[tuple[str, str]]:
    """Import the conversations of a path. Return those that turned out not to be readable, with the reasons."""
    unread: list[tuple[str, str]] = []
    folder = Path(path) if path != "-" and Path(path).is_dir() else None
    total = 100 if folder is None else sum(1 for _ in files_in(folder))
    with progress(error_console(), here.words("importing", name=printable(path)), total) as advance:

        def refused(name: str, error: BadInput) -> None:
            advance()
            refuse(name, error)

        tick = _Percent(advance) if folder is None else lambda _: None
        for conversation in conversations(path, format, line=line, refuse=refused, tick=tick):
            try:
                done.append(_import(here, conversation, settings))
            except BadInput as error:
                unread.append((conversation.name, str(error)))
            if folder is not None:
                advance()
    return unread


def _import(here: Place, conversation: Conversation, settings: Settings | None) -> Imported:
    """Import a conversation to the project that it names, if its folder is here; else to this one, or the database."""
    if here.store:
        return import_into(here.stores, conversation, here.project, settings=settings)
    places = Places(here.project, root=here.root, everywhere=True)
    place = places.of_project(named_project(conversation)) or places.own
    done = import_into(place.stores, conversation, place.project, settings=settings)
    if (file := Path(conversation.name)).is_file() and conversation.kind != "messages":  # which may hold several
        status = file.stat()
        offered = Offered(file.absolute(), status.st_size, status.st_mtime_ns)
        make_directory(places.imported.project)
        ImportedFiles(places.imported).remember(offered, (done.session,))
    return done


class _Percent:
    """Advances a progress bar of 100 steps by the share of a file that has been read. Most files are read twice."""

    def __init__(self, advance: Callable[[], None]) -> None:
        self._advance, self._shown, self._share, self._readings = advance, 0, 0.0, 0

    def __call__(self, share: float) -> None:
        self._readings += share < self._share and self._share > 0.9
        self._share = share
        while self._shown < min(int((self._readings + share) * 50), 100):
            self._shown += 1
            self._advance()


def _print_imported(here: Place, done: Imported) -> None:
    words = here.words
    key = {"new": "imported", "grown": "import grown", "unchanged": "import unchanged"}[done.state]
    facts: dict[str, Any] = done._asdict()
    click.echo(words(key, **facts | {"name": printable(done.name)}))
    if done.state != "unchanged" and Path(done.project).resolve() != Path(here.project).resolve():
        click.echo("  " + words("import project", project=printable(done.project)))
    if done.usage is not None and done.state != "unchanged":
        click.echo("  " + _usage(words, done.usage))


def _print_lines(words: Phrases, done: Sequence[Imported]) -> None:
    """Print what was made of the lines of each type, over all files; nothing if no line was new."""
    counted: Counter[tuple[str, Use]] = Counter()
    for imported in done:
        counted.update({(kind, use): count for kind, uses in imported.uses.items() for use, count in uses.items()})
    types: Counter[str] = Counter()
    by_use: Counter[Use] = Counter()
    for (kind, use), count in counted.items():
        types[kind] += count
        by_use[use] += count
    if not types:
        return
    listed = [use for use in Use if by_use[use]]
    longest = max(cell_len(text) for text in (words("all types"), *map(printable, types)))
    columns = [Column(words("line type"), min(longest, 32)), Column(words("lines"), 7, right=True)]
    titles = {use: words(f"use {use}") for use in listed}
    columns += [Column(titles[use], max(cell_len(titles[use]), len(f"{by_use[use]:,}")), right=True) for use in listed]
    rows = [
        (printable(kind), f"{count:,}", *(f"{counted[kind, use]:,}" if counted[kind, use] else "" for use in listed))
        for kind, count in types.most_common()
    ]
    total = (words("all types"), f"{types.total():,}", *(f"{by_use[use]:,}" for use in listed))
    click.echo()
    print_table(console(), columns, [*rows, total])


def _usage(words: Phrases, usage: Usage) -> str:
    return words(
        "import usage", input=usage.input_tokens, cached=usage.cached_tokens, written=usage.written_tokens,
        output=usage.output_tokens,
    )  # fmt: skip


def _print_refused(words: Phrases, refused: list[tuple[str, str]]) -> None:
    for name, error in refused:
        print_stderr(words("import refused", name=name, error=error.removeprefix(f"{name}: ")), "yellow")
