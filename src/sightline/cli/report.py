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
from rich.console import Console
from rich.text import Text

from sightline import __version__
from sightline.agent.models import Price
from sightline.agent.models.catalog import price_of
from sightline.cli.choices import complete_files_and_sessions
from sightline.cli.export import write_pieces
from sightline.cli.options import Place, place, profile_option, with_json
from sightline.cli.render import (
    Column,
    bar,
    console,
    error_console,
    print_json,
    print_stderr,
    print_table,
    print_text,
    printable,
    progress,
)
from sightline.cli.replay_source import given_price, named_file
from sightline.errors import BadInput, SightlineError
from sightline.imports.detection import conversations
from sightline.imports.source import files_in
from sightline.report.forecast import ECONOMIES
from sightline.report.page import compaction_lines, day, forecast_rows, fresh, introduction, notes, page, short_name
from sightline.report.phrases import say, told
from sightline.report.session_report import report_of
from sightline.report.totals import report_over
from sightline.report.values import Refused, Report, SessionReport, Share

_NEWEST = 100  # files that are read unless told otherwise: more would take minutes
_ROWS = 8  # of each table
_BAR = 20  # columns
_LITTLE = 2_000_000  # bytes of logs that one process reads in a few seconds
_MOST_JOBS = 8


@click.command(short_help="Say where the tokens of sessions went, and what would save most.")
@click.argument("paths", nargs=-1, metavar="[FOLDER|FILE|SESSION]...", shell_complete=complete_files_and_sessions)
@click.option("--newest", type=click.IntRange(min=0), default=_NEWEST, show_default=True, metavar="N",
              help="Read only the N files that changed last; 0: all of them.")  # fmt: skip
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
    files = [*_files(here, paths)]
    if options["newest"]:
        files = sorted(files, key=_changed, reverse=True)[: options["newest"]]
    made = _report(here, files, options, hidden=as_json)
    if not made.sessions:
        raise BadInput(_nothing(here, paths, made))
    if html is not None:
        pieces = (piece.encode("utf-8", "replace") for piece in page(made, here.words.language, __version__))
        write_pieces(Path(html), pieces, force=force)
    if as_json:
        print_json(_facts(made, here.words.language))
        return
    _print(made, here.words.language)
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
    with progress(error_console(), here.words("reporting"), len(files), hidden=hidden) as advance:
        read = [*_read_all(files, reading, options["jobs"] or _jobs(files), advance)]
    found = [each for several in read for each in several]
    return report_over(
        [each for each in found if isinstance(each, SessionReport)],
        [each for each in found if isinstance(each, Refused)],
    )


def _jobs(files: list[str]) -> int:
    """Return how many processes are worth their start: one for a little work, else one for each core."""
    little = len(files) < 3 or sum(map(_size, files)) < _LITTLE
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


# ---------------------------------------------------------------------- for people


def _print(made: Report, locale: str) -> None:
    out = console()
    _title(out, say("title", locale))
    for line in introduction(made, locale):
        print_text(out, line)
    _print_advice(out, made, locale)
    _print_spent(out, made, locale)
    _print_shares(out, made, locale)
    _print_caching(out, made, locale)
    _print_again(out, made, locale)
    _title(out, say("compaction", locale))
    for line in compaction_lines(made, locale):
        print_text(out, printable(line))
    _print_forecasts(out, made, locale)
    _print_sessions(out, made, locale)
    for refused in made.refused[:3]:
        print_stderr(f"{refused.name}: {refused.why}", "yellow")


def _title(out: Console, text: str) -> None:
    out.print()
    out.print(Text(text, style="bold"))


def _print_advice(out: Console, made: Report, locale: str) -> None:
    _title(out, say("advice", locale))
    for number, each in enumerate(made.advice, start=1):
        saving, found, action = map(printable, told(each, locale))
        print_text(out, saving, "green", lead=(f"{number}. ", "bold"))
        print_text(out, f"   {found}")
        print_text(out, f"   {action}", "dim")
    print_text(out, say("advice overlap" if made.advice else "advice none", locale), "dim")


def _print_spent(out: Console, made: Report, locale: str) -> None:
    _title(out, say("spent", locale))
    spent = made.spent
    whole = spent.input or 1
    rows = [
        (say("input", locale), f"{spent.input:,}", ""),
        (say("cached", locale), f"{spent.cached:,}", f"{spent.cached / whole:.1%}"),
        (say("written", locale), f"{spent.written:,}", f"{spent.written / whole:.1%}"),
        (say("fresh", locale), f"{fresh(spent):,}", f"{fresh(spent) / whole:.1%}"),
        (say("output", locale), f"{spent.output:,}", ""),
        (say("cost", locale), f"{spent.cost:,.0f}", ""),
    ]
    rows += [(say("money", locale), f"{spent.money:,.2f} $", "")] if spent.money is not None else []
    print_table(out, [Column("", 22), Column("", 16, right=True), Column("", 7, right=True)], rows)
    print_text(out, say("cost unit", locale), "dim")
    for note in notes(made, locale):
        print_text(out, printable(note), "yellow")


def _print_shares(out: Console, made: Report, locale: str) -> None:
    total = made.spent.input or 1
    kinds = [Share(say(f"kind {each.name}", locale), each.items, each.tokens, each.sent) for each in made.kinds]
    for key, shares in (("by kind", kinds), ("by tool", made.tools), ("by file", made.files)):
        if not shares:
            continue
        _title(out, say(key, locale))
        most = max(each.sent for each in shares) or 1
        columns = [
            Column(""), Column(say("items", locale), 7, right=True, spare=2),
            Column(say("sent", locale), 14, right=True), Column(say("share", locale), 6, right=True),
            Column("", _BAR, spare=1),
        ]  # fmt: skip
        print_table(out, columns, (
            (
                _end(printable(each.name), out), f"{each.items:,}", f"{each.sent:,}", f"{each.sent / total:.1%}",
                Text(bar(each.sent / most, _BAR, plain=out.options.ascii_only), style="green"),
            )
            for each in shares[:_ROWS]
        ))  # fmt: skip
        _print_more(out, len(shares), locale)
    print_text(out, say("sent means", locale), "dim")


def _end(name: str, out: Console) -> str:
    """Return the end of a long name, because the end of a path says more than its beginning."""
    most = max(out.width - 60, 24)
    return name if len(name) <= most else "…" + name[1 - most :]


def _print_more(out: Console, count: int, locale: str) -> None:
    if count > _ROWS:
        print_text(out, say("more", locale, count=count - _ROWS), "dim")


def _print_caching(out: Console, made: Report, locale: str) -> None:
    _title(out, say("caching", locale))
    if not made.breaks:
        print_text(out, say("caching none", locale))
        return
    whole, cost = made.spent.cost or 1, made.break_cost
    columns = [
        Column(say("cause", locale)), Column(say("times", locale), 6, right=True),
        Column(say("processed again", locale), 15, right=True), Column(say("cost", locale), 7, right=True),
    ]  # fmt: skip
    print_table(out, columns, (
        (say(f"cause {cause}", locale), f"{found.items:,}", f"{found.tokens:,}", f"{cost[cause] / whole:.1%}")
        for cause, found in made.breaks.items()
    ))  # fmt: skip


def _print_again(out: Console, made: Report, locale: str) -> None:
    _title(out, say("reading", locale))
    if not made.again:
        print_text(out, say("reading none", locale))
        return
    columns = [
        Column(say("file", locale)), Column(say("reads", locale), 6, right=True, spare=1),
        Column(say("again", locale), 11, right=True), Column(say("after compaction", locale), 18, right=True, spare=2),
        Column(say("tokens", locale), 9, right=True), Column(say("cost", locale), 10, right=True),
    ]  # fmt: skip
    print_table(out, columns, (
        (
            _end(printable(each.file), out), f"{each.reads:,}", f"{each.again:,}", f"{each.after_compaction:,}",
            f"{each.tokens + each.after_tokens:,}", f"{each.cost + each.after_cost:,.0f}",
        )
        for each in made.again[:_ROWS]
    ))  # fmt: skip
    _print_more(out, len(made.again), locale)


def _print_forecasts(out: Console, made: Report, locale: str) -> None:
    _title(out, say("forecast", locale))
    if not made.forecasts:
        print_text(out, say("forecast none", locale))
        return
    found = [*forecast_rows(made, locale)]
    base = found[0][1].cost or 1
    columns = [
        Column(""), Column(say("input", locale), 15, right=True), Column(say("cost", locale), 13, right=True),
        Column(say("against", locale), 12, right=True), Column(say("rereads", locale), 10, right=True),
    ]  # fmt: skip
    print_table(out, columns, (
        (name, f"{spent.input:,}", f"{spent.cost:,.0f}", f"{spent.cost / base:.0%}", f"{rereads:,}")
        for name, spent, rereads in found
    ))  # fmt: skip
    print_text(out, say("forecast means", locale), "dim")


def _print_sessions(out: Console, made: Report, locale: str) -> None:
    _title(out, say("by session", locale))
    shown = sorted(made.sessions, key=lambda session: -session.spent.cost)[:_ROWS]
    columns = [
        Column(say("session", locale)), Column(say("day", locale), 10, spare=2),
        Column(say("calls", locale), 6, right=True), Column(say("input", locale), 13, right=True),
        Column(say("hit", locale), 8, right=True, spare=1), Column(say("cost", locale), 12, right=True),
    ]  # fmt: skip
    print_table(out, columns, (
        (
            _end(printable(short_name(each.name)), out), day(each.begin) if each.begin else "", f"{each.calls:,}",
            f"{each.spent.input:,}", f"{each.spent.cached / (each.spent.input or 1):.0%}", f"{each.spent.cost:,.0f}",
        )
        for each in shown
    ))  # fmt: skip
    _print_more(out, len(made.sessions), locale)
