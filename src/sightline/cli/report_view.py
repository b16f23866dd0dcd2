"""How `sightline report` looks on a terminal: sentences and tables; and its figures for programs."""

from typing import Any

from rich.console import Console
from rich.text import Text

from sightline.cli.render import Column, bar, console, print_stderr, print_table, print_text, printable
from sightline.cli.report_files import refused_lines
from sightline.view.report.page import (
    cached_share,
    caching_lines,
    compaction_lines,
    day,
    forecast_notes,
    forecast_rows,
    fresh,
    introduction,
    notes,
    share_base,
    short_name,
)
from sightline.view.report.phrases import say, told
from sightline.view.report.values import Report, Share

_ROWS = 8  # of each table
_BAR = 20  # columns


def print_report(made: Report, locale: str, *, is_named: bool) -> None:
    """Print a report. Files that are no sessions are named only in a folder that was."""
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
    for line in refused_lines(made.refused, locale) if is_named else ():
        print_stderr(line, "yellow")


def _title(out: Console, text: str) -> None:
    out.print()
    out.print(Text(text, style="bold"))


def _print_advice(out: Console, made: Report, locale: str) -> None:
    _title(out, say("advice", locale))
    for number, advice in enumerate(made.advice, start=1):
        saving, finding, action = map(printable, told(advice, locale))
        print_text(out, saving, "green", lead=(f"{number}. ", "bold"))
        print_text(out, f"   {finding}")
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
    total, share = share_base(made)
    kinds = [Share(say(f"kind {kind.name}", locale), kind.items, kind.tokens, kind.sent) for kind in made.kinds]
    for key, shares in (("by kind", kinds), ("by tool", made.tools), ("by file", made.files)):
        if not shares:
            continue
        _title(out, say(key, locale))
        most = max(share.sent for share in shares) or 1
        columns = [
            Column(""), Column(say("items", locale), 7, right=True, spare=2),
            Column(say("sent", locale), 14, right=True),
            Column(say(share, locale), 6 if share == "share" else 16, right=True),
            Column("", _BAR, spare=1),
        ]  # fmt: skip
        print_table(out, columns, (
            (
                _end(printable(share.name), out), f"{share.items:,}", f"{share.sent:,}", f"{share.sent / total:.1%}",
                Text(bar(share.sent / most, _BAR, plain=out.options.ascii_only), style="green"),
            )
            for share in shares[:_ROWS]
        ))  # fmt: skip
        _print_more(out, len(shares), locale)
    print_text(out, say("sent means", locale), "dim")


def _end(name: str, out: Console) -> str:
    """Return the end of a long name, because the end of a path says more than its beginning."""
    most = max(out.width - 68, 24)  # what the other columns of the widest table leave
    return name if len(name) <= most else "…" + name[1 - most :]


def _print_more(out: Console, count: int, locale: str) -> None:
    if count > _ROWS:
        print_text(out, say("more", locale, count=count - _ROWS), "dim")


def _print_caching(out: Console, made: Report, locale: str) -> None:
    _title(out, say("caching", locale))
    for line in caching_lines(made, locale):
        print_text(out, line)
    if not made.breaks:
        return
    whole, cost = made.spent.cost or 1, made.break_cost
    columns = [
        Column(say("cause", locale)), Column(say("times", locale), 6, right=True),
        Column(say("processed again", locale), 15, right=True), Column(say("cost", locale), 7, right=True),
    ]  # fmt: skip
    print_table(out, columns, (
        (say(f"cause {cause}", locale), f"{lost.items:,}", f"{lost.tokens:,}", f"{cost[cause] / whole:.1%}")
        for cause, lost in made.breaks.items()
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
            _end(printable(reread.file), out), f"{reread.reads:,}", f"{reread.again:,}", f"{reread.after_compaction:,}",
            f"{reread.tokens + reread.after_tokens:,}", f"{reread.cost + reread.after_cost:,.0f}",
        )
        for reread in made.again[:_ROWS]
    ))  # fmt: skip
    _print_more(out, len(made.again), locale)


def _print_forecasts(out: Console, made: Report, locale: str) -> None:
    _title(out, say("forecast", locale))
    if not made.forecasts:
        print_text(out, say("forecast none", locale))
        return
    columns = [
        Column(""), Column(say("input", locale), 15, right=True), Column(say("cost", locale), 13, right=True),
        Column(say("against", locale), 13, right=True), Column(say("rereads", locale), 10, right=True),
    ]  # fmt: skip
    print_table(out, columns, (
        (name, f"{spent.input:,}", f"{spent.cost:,.0f}", share, f"{rereads:,}")
        for name, spent, share, rereads in forecast_rows(made, locale)
    ))  # fmt: skip
    for note in forecast_notes(made, locale):
        print_text(out, note, "dim")


def _print_sessions(out: Console, made: Report, locale: str) -> None:
    _title(out, say("by session", locale))
    costliest = sorted(made.sessions, key=lambda session: -session.spent.cost)[:_ROWS]
    columns = [
        Column(say("session", locale)), Column(say("day", locale), 10, spare=2),
        Column(say("calls", locale), 6, right=True), Column(say("input", locale), 13, right=True),
        Column(say("hit", locale), 8, right=True, spare=1), Column(say("cost", locale), 12, right=True),
    ]  # fmt: skip
    print_table(out, columns, (
        (
            _end(printable(short_name(session.name)), out), day(session.begin) if session.begin else "",
            f"{session.calls:,}", f"{session.spent.input:,}", cached_share(session), f"{session.spent.cost:,.0f}",
        )
        for session in costliest
    ))  # fmt: skip
    _print_more(out, len(made.sessions), locale)


def report_facts(made: Report, locale: str) -> dict[str, Any]:
    """Return every figure of a report, and the words of its advice and of its forecasts."""
    words = [{"kind": advice.kind, **told(advice, locale)._asdict()} for advice in made.advice]
    figures = {name: getattr(made, name) for name in made.__struct_fields__}
    return {**figures, "words": words, "forecast_words": [*forecast_notes(made, locale)] if made.forecasts else []}
