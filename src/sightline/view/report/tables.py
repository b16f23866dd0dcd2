"""What a report says in sentences and tables, for a page and for a terminal: both only draw it."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from sightline.plan.economies import meaning
from sightline.values.clock import day
from sightline.values.pattern import pattern
from sightline.values.screen_text import first_words
from sightline.view.report.phrases import say
from sightline.view.report.values import Forecast, Report, SessionReport, Share, Spent, counted

_LITTLE = 0.005  # of the cost: less is not said in percent
_TITLE = 80  # characters
_UNIQUE = pattern("([0-9a-f]{8})-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")  # as agents name their logs


class Heading(NamedTuple):
    """A column: the key of its title, and how wide it is on a terminal, where 0 is what the others leave.

    kind: of a path the end says more than the beginning. spare: above 0 it is left out of a narrow terminal, the
    highest first. on_page: it is only on a page.
    """

    key: str
    width: int = 0
    kind: Literal["number", "text", "path", "bar"] = "number"
    spare: int = 0
    on_page: bool = False


class Table(NamedTuple):
    """Rows of cells. The first cell is a name, and `bars` are for the column that draws them."""

    columns: Sequence[Heading]
    rows: Sequence[tuple[str, ...]]
    bars: Sequence[float] = ()
    color: str = "one"
    titles: Sequence[str] = ()  # of sessions: what is said above their names, or beside their short ids


class Section(NamedTuple):
    """A part of a report: the key of its heading, sentences, a table, and remarks on it."""

    key: str
    lines: Sequence[str] = ()
    table: Table | None = None
    notes: Sequence[str] = ()


_PAGE_BAR = Heading("name", kind="bar", on_page=True)


def sections(report: Report, locale: str) -> Iterator[Section]:
    """Yield where the tokens went, what was cached, read again and lost, the forecasts, and all sessions."""
    yield from _shares(report, locale)
    yield _caching(report, locale)
    yield _again(report, locale)
    yield Section("compaction", [*compaction_lines(report, locale)])
    yield _forecasts(report, locale)
    yield _sessions(report, locale)


def _shares(report: Report, locale: str) -> list[Section]:
    total, share = share_base(report)
    kinds = tuple(Share(say(f"kind {kind.name}", locale), kind.items, kind.tokens, kind.sent) for kind in report.kinds)
    width = 6 if share == "share" else 16
    columns = [Heading("name", kind="path"), Heading("items", 7, spare=2), Heading("sent", 14), Heading(share, width)]
    columns.append(Heading("name", 20, "bar", spare=1))
    made = []
    for key, shares in (("by kind", kinds), ("by tool", report.tools), ("by file", report.files)):
        if shares:
            most = max(entry.sent for entry in shares) or 1
            rows = [
                (entry.name, f"{entry.items:,}", f"{entry.sent:,}", f"{entry.sent / total:.1%}") for entry in shares
            ]
            made.append(Section(key, table=Table(columns, rows, [entry.sent / most for entry in shares])))
    made[-1:] = [section._replace(notes=[say("sent means", locale)]) for section in made[-1:]]
    return made


def _caching(report: Report, locale: str) -> Section:
    lines, whole = [*caching_lines(report, locale)], report.spent.cost or 1
    if not report.breaks:
        return Section("caching", lines)
    columns = [Heading("cause", kind="text"), Heading("times", 6), Heading("processed again", 15), Heading("cost", 7)]
    rows = [
        (
            say(f"cause {cause}", locale),
            f"{lost.items:,}",
            f"{lost.tokens:,}",
            f"{report.break_cost[cause] / whole:.1%}",
        )
        for cause, lost in report.breaks.items()
    ]
    most = max(report.break_cost.values()) or 1
    bars = [report.break_cost[cause] / most for cause in report.breaks]
    return Section("caching", lines, Table([*columns, _PAGE_BAR], rows, bars, "two"))


def _again(report: Report, locale: str) -> Section:
    if not report.again:
        return Section("reading", notes=[say("reading none", locale)])
    columns = [
        Heading("file", kind="path"), Heading("reads", 6, spare=1), Heading("again", 11),
        Heading("after compaction", 18, spare=2), Heading("tokens", 9), Heading("cost", 10),
    ]  # fmt: skip
    rows = [
        (
            file.file, f"{file.reads:,}", f"{file.again:,}", f"{file.after_compaction:,}",
            f"{file.tokens + file.after_tokens:,}", f"{file.cost + file.after_cost:,.0f}",
        )
        for file in report.again
    ]  # fmt: skip
    return Section("reading", table=Table(columns, rows))


def _forecasts(report: Report, locale: str) -> Section:
    if not report.forecasts:
        return Section("forecast", notes=[say("forecast none", locale)])
    forecasts = [*forecast_rows(report, locale)]
    most = max(spent.cost for _, spent, _, _ in forecasts) or 1
    columns = [Heading("name", kind="text"), Heading("input", 15), Heading("cost", 13), Heading("against", 13)]
    columns += [Heading("rereads", 10), _PAGE_BAR]
    rows = [
        (name, f"{spent.input:,}", f"{spent.cost:,.0f}", share, f"{rereads:,}")
        for name, spent, share, rereads in forecasts
    ]
    table = Table(columns, rows, [spent.cost / most for _, spent, _, _ in forecasts], "three")
    return Section("forecast", table=table, notes=[*forecast_notes(report, locale)])


def _sessions(report: Report, locale: str) -> Section:
    sessions = sorted(report.sessions, key=lambda session: -session.spent.cost)
    most = max((session.spent.cost for session in sessions), default=0) or 1
    columns = [
        Heading("session", kind="path"), Heading("day", 10, "text", spare=2), Heading("calls", 6),
        Heading("input", 13), Heading("hit", 8, spare=1), Heading("compactions", on_page=True), Heading("cost", 12),
        _PAGE_BAR,
    ]  # fmt: skip
    rows = [
        (
            short_name(session.name), begin_day(session), f"{session.calls:,}",
            _measured(session, session.spent.input, report), cached_share(session), f"{len(session.compactions):,}",
            _measured(session, session.spent.cost, report),
        )
        for session in sessions
    ]  # fmt: skip
    marked = [] if report.expected is None else [say("forecast mark", locale)]
    bars = [session.spent.cost / most for session in sessions]
    titles = [first_words(session.title, _TITLE) for session in sessions]
    return Section("by session", table=Table(columns, rows, bars, titles=titles), notes=marked)


def _measured(session: SessionReport, figure: float, report: Report) -> str:
    """Return a figure of a session, with a mark if it is a forecast and those of other sessions are not."""
    return f"{'' if session.is_reported or report.expected is None else '~'}{figure:,.0f}"


# ---------------------------------------------------------------------- sentences


def introduction(report: Report, locale: str) -> Iterator[str]:
    """Yield what the report is about, and how far its figures are to be trusted."""
    days = [day(moment / 1000) for session in report.sessions for moment in (session.begin, session.end) if moment]
    counts = {"sessions": len(report.sessions), "calls": report.calls}
    yield (
        say("sessions", locale, begin=min(days), end=max(days), **counts) if days else say("no dates", locale, **counts)
    )
    if (expected := report.expected) is not None:
        others = len(report.sessions) - report.reported
        facts = {"reported": report.reported, "others": others, "tokens": expected.input, "cost": expected.cost}
        yield say("usage mixed", locale, sessions=len(report.sessions), **facts)
    else:
        yield say("usage reported" if report.reported else "usage forecast", locale)


def notes(report: Report, locale: str) -> Iterator[str]:
    """Yield what is not known or not counted."""
    if report.unpriced:
        models = ", ".join(model or say("unnamed", locale) for model in report.unpriced)
        yield say("unpriced", locale, models=models)
    if elsewhere := sum(session.spent_elsewhere for session in report.sessions):
        yield say("elsewhere", locale, tokens=elsewhere)
    if report.refused:
        yield say("refused", locale, count=len(report.refused))


def share_base(report: Report) -> tuple[int, str]:
    """Return what shares are of, in tokens, and the key of their title.

    What Sightline shortened was said in full and sent short: then the input is less than what was said.
    """
    said = sum(kind.sent for kind in report.kinds)
    return (said, "share said") if said > report.spent.input else (report.spent.input or 1, "share")


def caching_lines(report: Report, locale: str) -> Iterator[str]:
    """Yield what is said about caching before the table of its misses."""
    yield _cost_parts(report, locale)
    unknown = sum(not session.is_cached for session in report.sessions)
    if unknown:
        yield say("caching unreported", locale, count=unknown, sessions=len(report.sessions))
    if not report.breaks and unknown < len(report.sessions):
        yield say("caching none", locale)


def cached_share(session: SessionReport) -> str:
    """Return which share of a session's input came from the cache; empty if that is not known."""
    spent = session.spent
    return f"{spent.cached / spent.input:.0%}" if spent.input and session.is_cached else ""


def _cost_parts(report: Report, locale: str) -> str:
    """Return what the cost is made of, in a sentence."""
    spent, whole = report.spent, report.spent.cost or 1
    itemised = spent.read_cost + spent.write_cost + spent.output_cost
    return say(
        "cost parts", locale, read=spent.read_cost / whole, write=spent.write_cost / whole,
        fresh=(spent.cost - itemised) / whole, output=spent.output_cost / whole,
    )  # fmt: skip


def compaction_lines(report: Report, locale: str) -> Iterator[str]:
    """Yield what all compactions lost, in sentences."""
    lost = report.lost
    if lost is None:
        yield say("compaction none", locale)
        return
    counts = {name: getattr(lost, name) for name in ("constraints", "paths", "identifiers", "numbers", "errors")}
    yield say("compaction facts", locale, count=report.compactions, **counts)
    yield say("compaction needed", locale, needed=lost.needed, tokens=lost.needed_tokens)
    if lost.named:
        yield say("compaction named", locale, named=" · ".join(lost.named))


def forecast_rows(report: Report, locale: str) -> Iterator[tuple[str, Spent, str, int]]:
    """Yield each way of sending the same calls: what it would have cost, as a share of sending everything, rereads."""
    if report.forecasts:
        yield say("everything", locale), report.forecasts[0].full, f"{1:.0%}", 0
    for forecast in report.forecasts:
        share = f"{1 + forecast.change:.0%}"
        yield say(f"economy {forecast.economy}", locale), forecast.spent, share, forecast.rereads


def forecast_notes(report: Report, locale: str) -> Iterator[str]:
    """Yield what each economy would have saved or cost, whether any pays, and how the forecasts are meant."""
    for forecast in report.forecasts:
        yield _verdict(forecast, locale)
    dearer = [forecast for forecast in report.forecasts if forecast.change >= _LITTLE]
    if dearer and report.lost is not None and report.lost.needed:
        yield say("forecast keeps", locale, needed=report.lost.needed, tokens=report.lost.needed_tokens)
    if all(forecast.change > -_LITTLE for forecast in report.forecasts):
        yield say("forecast does not pay", locale)
    measured = counted(report.sessions) if report.reported else ()
    if measured and all(session.forecasts and not session.economy for session in measured):
        full = sum(session.forecasts[0].full.cost for session in measured)
        yield say("forecast reported", locale, cost=report.spent.cost, full=full)
    for forecast in report.forecasts:
        yield say("economy means", locale, economy=forecast.economy, meaning=meaning(forecast.economy, locale))
    yield say("everything means", locale)
    yield say("forecast means", locale)


def _verdict(forecast: Forecast, locale: str) -> str:
    """Return in a sentence what an economy would have saved or cost, compared with the forecast of sending all."""
    facts = {"economy": forecast.economy, "sessions": forecast.sessions, "unchanged": forecast.unchanged}
    if forecast.unchanged == forecast.sessions:
        return say("forecast unchanged", locale, **facts)
    key = "more" if forecast.change >= _LITTLE else "less" if forecast.change <= -_LITTLE else "same"
    return say(f"forecast {key}", locale, share=abs(round(forecast.change, 2)), rereads=forecast.rereads, **facts)


def begin_day(session: SessionReport) -> str:
    """Return the day on which a session begins; empty if it is not known."""
    return day(session.begin / 1000 if session.begin else None)


def fresh(spent: Spent) -> int:
    """Return the input tokens that were neither read from the cache nor written to it."""
    return max(spent.input - spent.cached - spent.written, 0)


def short_id(name: str) -> str:
    """Return the beginning of the id in the name of a log; of another name its last part."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    found = _UNIQUE.search(last)
    return found[1] if found else last.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")


def short_name(name: str) -> str:
    """Return the last two parts of a path: the folder says which project a session is of."""
    return "/".join(name.replace("\\", "/").rsplit("/", 2)[-2:])
