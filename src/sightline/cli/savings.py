"""`sightline savings`: what all sessions used, and what Sightline has saved since it is there."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import msgspec
from rich.console import Console

from sightline.cli.agent_logs import not_imported
from sightline.cli.options import META, Place, place, with_json
from sightline.cli.render import Column, console, error_console, print_json, print_table, print_text, progress
from sightline.values.screen_text import first_words
from sightline.view.catalog.overview import CostlySession, Overview, Sum, overview
from sightline.view.catalog.places import Places
from sightline.view.catalog.session_catalog import SessionCatalog
from sightline.view.report.tables import short_name

_PIECE = 8 << 20  # bytes of logs that are counted at a time
_DAYS = 14  # that are listed
_PROJECTS = 10
_TITLE = 60  # characters


@click.command(short_help="What all sessions used, and what Sightline has saved.")
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="Only sessions of the last N days.")
@with_json
def savings(days: int | None, as_json: bool) -> None:
    """Show what the sessions of all projects used by day and by project, which cost most and why, and what Sightline
    has saved. With --project, only sessions of that folder.

    The saving is a forecast, of the calls whose prompts Sightline composed: what they cost, compared with sending
    everything that was said, never more than the model's window holds. Both are forecast by the same rules, and where
    the log does not say what stayed in the provider's cache, against Sightline. Logs of other agents that were never
    imported are not among the sessions: their number is said at the end, and `sightline report` reads them.

    \b
    Examples:
      sightline savings
      sightline savings --days 7
      sightline --project ~/work/shop savings --json
    """
    here = place()
    places = Places(Path(here.project).resolve(), root=here.root, stores=here.database, everywhere=True)
    catalog = SessionCatalog(places)
    _count(here, catalog)
    named = click.get_current_context().meta.get(META + "project")
    project = str(Path(named).resolve()) if named is not None else ""
    begin = f"{datetime.now(UTC) - timedelta(days=days - 1):%Y-%m-%d}" if days is not None else ""
    facts = overview(catalog, project, begin)
    if as_json:
        print_json(msgspec.to_builtins(facts))
        return
    _print(console(), here, facts)
    if logs := not_imported(here, catalog, project):
        print_text(console(), logs, "yellow")


def _count(here: Place, catalog: SessionCatalog) -> None:
    """Count what is new in the logs."""
    left = before = catalog.count_more(0)
    with progress(error_console(), here.words("savings counting"), left, hidden=not left) as advance:
        while left:
            left = catalog.count_more(_PIECE)
            for _ in range(before - left):
                advance()
            before = min(before, left)


def _print(out: Console, here: Place, facts: Overview) -> None:
    words, saved = here.words, facts.total.saved
    if not facts.total.sessions:
        print_text(out, words("savings none"))
        return
    if saved.calls:
        key = "savings less" if saved.share >= 0 else "savings more"
        share, money = abs(saved.share), facts.total.saved_money
        counts = {"calls": saved.calls, "sessions": facts.total.sessions, "since": facts.since}
        print_text(out, words(key, share=f"{share:.0%}", money=f"{abs(money):,.2f}", **counts), "bold")
    else:
        print_text(out, words("savings nothing composed"), "bold")
    print_text(out, words("savings forecast"), "dim")
    out.print()
    _print_sums(out, here, "savings project", facts.projects[:_PROJECTS])
    _print_sums(out, here, "savings day", facts.days[:_DAYS])
    if facts.costly:
        print_text(out, words("savings costly"), "bold")
        for session in facts.costly:
            _print_costly(out, here, session)
    if facts.total.unpriced:
        print_text(out, words("savings unpriced", count=facts.total.unpriced), "dim")


def _print_sums(out: Console, here: Place, title: str, sums: Sequence[Sum]) -> None:
    words = here.words
    columns = (
        Column(words(title), max(10, *(len(short_name(each.name)) for each in sums))),
        Column(words("savings sessions"), 8, right=True), Column(words("savings calls"), 7, right=True, spare=3),
        Column(words("savings input"), 13, right=True, spare=2),
        Column(words("savings cached"), 10, right=True, spare=1),
        Column(words("savings cost"), 10, right=True), Column(words("savings saved"), 10, right=True),
    )  # fmt: skip
    print_table(out, columns, (
        (
            short_name(each.name) or words("savings unknown"), f"{each.sessions:,}", f"{each.calls:,}",
            f"{each.usage.input_tokens:,}", _share(each),
            f"${each.cost:,.2f}" if each.cost or not each.unpriced else "–",
            f"${each.saved_money:,.2f}" if each.saved.calls else "",
        )
        for each in sums
    ))  # fmt: skip
    out.print()


def _print_costly(out: Console, here: Place, session: CostlySession) -> None:
    words = here.words
    reasons = [
        words("savings uncached", share=f"{session.uncached:.0%}") if session.uncached else "",
        *(
            words(f"savings {name}", count=count)
            for name in ("rereads", "compactions", "faults")
            if (count := getattr(session, name))
        ),
    ]
    why = " · ".join(filter(None, reasons)) or words("savings long", calls=session.calls)
    print_text(out, f"{f'${session.cost:,.2f}':>12}  {first_words(session.title, _TITLE)}  ({session.id})")
    print_text(out, f"{'':14}{why}", "dim")


def _share(each: Sum) -> str:
    usage = each.usage
    return f"{usage.cached_tokens / usage.input_tokens:.0%}" if usage.input_tokens else ""
