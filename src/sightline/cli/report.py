"""`sightline report`: where the tokens of recorded sessions went, and what would save most."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import click

from sightline import __version__
from sightline.agent.models import Price
from sightline.agent.models.catalog import price_of
from sightline.cli.choices import complete_files_and_sessions
from sightline.cli.export import write_pieces
from sightline.cli.options import Place, place, profile_option, with_json
from sightline.cli.render import console, error_console, print_json, print_text, printable, progress
from sightline.cli.replay_source import given_price, named_file
from sightline.cli.report_view import print_report
from sightline.errors import BadInput, SightlineError
from sightline.imports.detection import conversations
from sightline.imports.source import files_in
from sightline.report.forecast import ECONOMIES
from sightline.report.page import page
from sightline.report.phrases import told
from sightline.report.session_report import report_of
from sightline.report.totals import report_over
from sightline.report.values import Refused, Report, SessionReport

_NEWEST = 100  # files that are read unless told otherwise: more would take minutes
_LITTLE = 2_000_000  # bytes of logs that one process reads in a few seconds
_LARGEST = 512 << 20  # bytes of a log that is read among others
_MOST_JOBS = 8


@click.command(short_help="Say where the tokens of sessions went, and what would save most.")
@click.argument("paths", nargs=-1, metavar="[FOLDER|FILE|SESSION]...", shell_complete=complete_files_and_sessions)
@click.option("--newest", type=click.IntRange(min=0), default=_NEWEST, show_default=True, metavar="N",
              help="Read only the N logs that changed last; 0: all of them.")  # fmt: skip
@click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write a page with plots to FILE.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--forecast/--no-forecast", default=True, help="Replay with Sightline: most of the time goes into that.")
@click.option("--window", type=click.IntRange(min=1_000), help="The context window.  [default: that of the model]")
@click.option("--price", metavar="IN/OUT/CACHED", help="Prices of a million tokens, or a model's name.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N",
              help="Processes that read files at the same time.  [default: one for each core, at most 8]")  # fmt: skip
@profile_option
@with_json
def report(paths: tuple[str, ...], as_json: bool, html: str | None, force: bool, **options: Any) -> None:
    """Report on recorded sessions: where the tokens went, what caching cost, what was read twice, what compaction lost,
    what Sightline would have sent and cost instead, and the three things that would save most.

    A FOLDER is searched for logs of Claude Code, Codex or Sightline, and for messages in the form of a provider;
    SESSION is a session of the project. Without any of them, the logs in ~/.claude/projects and ~/.codex/sessions are
    read. Nothing is sent anywhere, and nothing is changed.

    Tokens are those that the providers reported, if a log has them. What Sightline would have cost is a forecast: the
    session is replayed, and what an answer used that the prompt did not show is counted as read again. Costs are in
    uncached input tokens, and in money if the price of the model is known or given.

    \b
    Examples:
      sightline report
      sightline report ~/.claude/projects/-home-me-shop --html report.html
      sightline report ~/.codex/sessions --no-forecast --json
    """
    here = place()
    files = sorted(_files(here, paths), key=_changed, reverse=True)
    made = _report(here, files, options, hidden=as_json)
    if not made.sessions:
        raise BadInput(_nothing(here, paths, made))
    if html is not None:
        pieces = (piece.encode("utf-8", "replace") for piece in page(made, here.words.language, __version__))
        write_pieces(Path(html), pieces, force=force)
    if as_json:
        print_json(_facts(made, here.words.language))
        return
    print_report(made, here.words.language, is_named=bool(paths))
    if html is not None:
        print_text(console(), here.words("report written", file=printable(html)))


# ---------------------------------------------------------------------- reading


def own_folders() -> Iterator[Path]:
    """Yield the folders in which Claude Code and Codex keep their sessions, those that exist."""
    claude = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    codex = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    for folder in (claude / "projects", codex / "sessions"):
        if folder.is_dir():
            yield folder


def _files(here: Place, paths: tuple[str, ...]) -> Iterator[str]:
    for path in paths or map(str, own_folders()):
        named = path if Path(path).is_dir() else named_file(here, path)
        if named != "-" and Path(named).is_dir():
            yield from map(str, files_in(Path(named)))
        else:
            yield named


def _changed(file: str) -> float:
    try:
        return Path(file).stat().st_mtime
    except OSError:  # whoever reads it says so
        return 0.0


def _nothing(here: Place, paths: tuple[str, ...], made: Report) -> str:
    if made.refused:
        return here.words("report refused", name=made.refused[0].name, why=made.refused[0].why)
    return here.words("report empty" if paths else "report no folders")


class _Reading(NamedTuple):
    """How files are read: the command line, for every process that does."""

    profile: str
    window: int
    economies: tuple[str, ...]
    price: str | None


def _report(here: Place, files: list[str], options: dict[str, Any], *, hidden: bool) -> Report:
    economies = ECONOMIES if options["forecast"] else ()
    reading = _Reading(options["profile"] or "", options["window"] or 0, economies, options["price"])
    if reading.price is not None:
        given_price(reading.price, reading.profile)  # a mistake in it is told at once
    refused: list[Refused] = []
    chosen = [*_newest_logs(files, options["newest"], refused)]
    with progress(error_console(), here.words("reporting"), len(chosen), hidden=hidden) as advance:
        read = [*_read_all(chosen, reading, options["jobs"] or _jobs(chosen), advance)]
    sessions: list[SessionReport] = []
    for found in (each for several in read for each in several):
        if isinstance(found, Refused):
            refused.append(found)
        else:
            sessions.append(found)
    return report_over(sessions, refused)


def _newest_logs(files: list[str], most: int, refused: list[Refused]) -> Iterator[str]:
    """Yield so many of the files that are logs; 0: all. What is none is refused after a look at its beginning.

    One that is too large to be in memory at once is refused too, unless it is the only one.
    """
    count = 0
    for file in files:
        if most and count >= most:
            return
        if len(files) > 1 and _size(file) > _LARGEST:
            refused.append(Refused(file, f"larger than {_LARGEST >> 20} MB; to read it, name it alone"))
            continue
        try:
            if file != "-":  # standard input can be read once
                next(iter(conversations(file)), None)
        except (SightlineError, OSError) as error:
            refused.append(Refused(file, str(error)))
            continue
        count += 1
        yield file


def _jobs(files: list[str]) -> int:
    """Return how many processes are worth their start: one for a little work, else one for each core."""
    little = len(files) < 3 or "-" in files or sum(map(_size, files)) < _LITTLE
    return 1 if little else min(os.cpu_count() or 1, _MOST_JOBS, len(files))


def _size(file: str) -> int:
    try:
        return Path(file).stat().st_size
    except OSError:  # whoever reads it says so
        return 0


def _read_all(
    files: list[str], reading: _Reading, jobs: int, advance: Callable[[], None]
) -> Iterator[list[SessionReport | Refused]]:
    """Yield what is found in each file, in their order."""
    if jobs == 1:
        for file in files:
            yield _read(file, reading)
            advance()
        return
    # Started anew, because a copy of this process would have its threads' locks and not its threads.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_quietly) as pool:
        try:
            waiting = [pool.submit(_read, file, reading) for file in files]
            for _ in as_completed(waiting):
                advance()
            yield from (each.result() for each in waiting)
        except BrokenExecutor:
            raise BadInput("a process that read files was killed, perhaps for want of memory; try --jobs 1") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _end_quietly() -> None:
    """Have Ctrl-C end a process without a traceback: the one that started it says what is to be said."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _read(file: str, reading: _Reading) -> list[SessionReport | Refused]:
    """Return the reports on the sessions of a file; in the place of one that cannot be read, why."""
    made: list[SessionReport | Refused] = []
    try:
        for found in conversations(file):
            prices = price_of if reading.price is None else partial(_price, reading.price, found.profile)
            made.append(report_of(
                found, profile=reading.profile, window=reading.window, price_of=prices, economies=reading.economies
            ))  # fmt: skip
    except (SightlineError, OSError) as error:
        made.append(Refused(file, str(error)))
    return made


def _price(given: str, profile: str, model: str) -> Price:  # noqa: ARG001 - one price for all of them
    return given_price(given, profile)


# ---------------------------------------------------------------------- for programs


def _facts(made: Report, locale: str) -> dict[str, Any]:
    words = [{"kind": each.kind, **told(each, locale)._asdict()} for each in made.advice]
    return {**{name: getattr(made, name) for name in made.__struct_fields__}, "words": words}
