"""How `sightline report` looks on a terminal: sentences and tables; and its figures for programs."""

from typing import Any

from rich.console import Console
from rich.text import Text

from sightline.cli.render import Column, bar, console, print_stderr, print_table, print_text, printable
from sightline.cli.report_files import refused_lines
from sightline.view.report.phrases import say, told
from sightline.view.report.tables import Table, forecast_notes, fresh, introduction, notes, sections, short_id
from sightline.view.report.values import Report

_ROWS = 8  # of each table
_ID = 12  # columns of a short id


def print_report(made: Report, locale: str, *, is_named: bool) -> None:
    """Print a report. Files that are no sessions are named only in a folder that was."""
    out = console()
    _title(out, say("title", locale))
    for line in introduction(made, locale):
        print_text(out, line)
    _print_advice(out, made, locale)
    _print_spent(out, made, locale)
    for section in sections(made, locale):
        _title(out, say(section.key, locale))
        for line in section.lines:
            print_text(out, printable(line))
        if section.table is not None:
            _print_table(out, section.table, locale)
        for note in section.notes:
            print_text(out, note, "dim")
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
    rows += [(say("money", locale), f"${spent.money:,.2f}", "")] if spent.money is not None else []
    print_table(out, [Column("", 22), Column("", 16, right=True), Column("", 7, right=True)], rows)
    print_text(out, say("cost unit", locale), "dim")
    for note in notes(made, locale):
        print_text(out, printable(note), "yellow")


def _print_table(out: Console, table: Table, locale: str) -> None:
    headings = [heading for heading in table.columns if not heading.on_page]
    columns = [
        Column(say(heading.key, locale), heading.width, right=heading.kind == "number", spare=heading.spare)
        for heading in headings
    ]
    if table.titles:
        columns[:1] = [Column(columns[0].title, _ID), Column(say("title of session", locale))]
    rows: list[list[str | Text]] = []
    for at, (name, *cells) in enumerate(table.rows[:_ROWS]):
        numbers = (cell for cell, heading in zip(cells, table.columns[1:], strict=False) if not heading.on_page)
        shown_name = _end(printable(name), out) if headings[0].kind == "path" else name
        names = [short_id(name), table.titles[at]] if table.titles else [shown_name]
        rows.append([*map(printable, names), *numbers])
        if headings[-1].kind == "bar":
            drawn = bar(table.bars[at], headings[-1].width, plain=out.options.ascii_only)
            rows[-1].append(Text(drawn, style="green"))
    print_table(out, columns, rows)
    if len(table.rows) > _ROWS:
        print_text(out, say("more", locale, count=len(table.rows) - _ROWS), "dim")


def _end(name: str, out: Console) -> str:
    """Return the end of a long name, because the end of a path says more than its beginning."""
    most = max(out.width - 68, 24)  # what the other columns of the widest table leave
    return name if len(name) <= most else "…" + name[1 - most :]


def report_facts(made: Report, locale: str) -> dict[str, Any]:
    """Return every figure of a report, and the words of its advice and of its forecasts."""
    words = [{"kind": advice.kind, **told(advice, locale)._asdict()} for advice in made.advice]
    figures = {name: getattr(made, name) for name in made.__struct_fields__}
    return {**figures, "words": words, "forecast_words": [*forecast_notes(made, locale)] if made.forecasts else []}
