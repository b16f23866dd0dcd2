"""A report as one HTML page that needs no other: no script, nothing from elsewhere. What was recorded is only text."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from html import escape

from sightline.plan.economies import meaning
from sightline.values.pattern import pattern
from sightline.view.report.phrases import say, told
from sightline.view.report.values import Forecast, Report, SessionReport, Share, Spent

MOST = 12  # rows of a table of shares
_LITTLE = 0.005  # of the cost: less is not said in percent
_MOST_SESSIONS = 500  # rows and columns
_CODE = pattern("`([^`<>]+)`")

_STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1c1e21; --dim: #5c6370; --line: #d8dbe0; --box: #f5f6f8;
  --one: #0b62c4; --two: #b25c00; --three: #1f7a3f; }
@media (prefers-color-scheme: dark) { :root { --page: #16181b; --ink: #e4e6e9; --dim: #a3abb6; --line: #34383e;
  --box: #1f2226; --one: #74b0ff; --two: #f0a35e; --three: #76cf95; } }
* { box-sizing: border-box; }
body { background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 64rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; } .dim { color: var(--dim); font-size: .9rem; }
ol.advice { list-style: none; margin: 0; padding: 0; display: grid; gap: .8rem; }
ol.advice li { background: var(--box); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; }
ol.advice strong { color: var(--one); display: block; }
dl { display: grid; gap: .6rem; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); margin: 0; }
dl div { border: 1px solid var(--line); border-radius: 8px; padding: .6rem .8rem; }
dt { color: var(--dim); font-size: .85rem; } dd { font-size: 1.25rem; margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: middle; }
th { color: var(--dim); font-weight: normal; } td.number, th.number { text-align: right; white-space: nowrap; }
td.name { overflow-wrap: anywhere; min-width: 8rem; } .bar { width: 30%; min-width: 6rem; }
.sessions td.name { min-width: 18rem; } .sessions .bar { width: 12%; min-width: 4rem; } small { color: var(--dim); }
@media (max-width: 40rem) { .sessions td.name { min-width: 10rem; } .bar { display: none; } th, td { padding: .3rem; } }
svg { display: block; width: 100%; } .bar svg { height: .8rem; }
.one { fill: var(--one); } .two { fill: var(--two); } .three { fill: var(--three); } .base { stroke: var(--line); }
.key { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
.key svg { display: inline-block; height: .8rem; width: .8rem; }
"""


def page(report: Report, locale: str = "en", version: str = "") -> Iterator[str]:
    """Yield the page, a piece at a time."""
    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = escape(say("title", locale))
    yield (
        f'<!DOCTYPE html>\n<html lang="{locale}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<header><h1>{title}</h1>\n"
    )
    yield "".join(f'<p class="dim">{escape(line)}</p>\n' for line in introduction(report, locale))
    yield "</header>\n<main>\n"
    for part in (_advice, _spent, _sessions_chart, _shares, _caching, _again, _compactions, _forecasts, _sessions):
        yield from part(report, locale)
    yield f'</main>\n<footer><p class="dim">{escape(say("made by", locale, version=version))}</p></footer>\n'
    yield "</body>\n</html>\n"


def introduction(report: Report, locale: str) -> Iterator[str]:
    """Yield what the report is about, and how far its figures are to be trusted."""
    days = [day(moment) for session in report.sessions for moment in (session.begin, session.end) if moment]
    counts = {"sessions": len(report.sessions), "calls": report.calls}
    yield (
        say("sessions", locale, begin=min(days), end=max(days), **counts) if days else say("no dates", locale, **counts)
    )
    key = "reported" if report.reported == len(report.sessions) else "mixed" if report.reported else "forecast"
    yield say(f"usage {key}", locale, reported=report.reported, sessions=len(report.sessions))


def notes(report: Report, locale: str) -> Iterator[str]:
    """Yield what is not known or not counted."""
    if report.unpriced:
        models = ", ".join(model or say("unnamed", locale) for model in report.unpriced)
        yield say("unpriced", locale, models=models)
    if elsewhere := sum(session.spent_elsewhere for session in report.sessions):
        yield say("elsewhere", locale, tokens=elsewhere)
    if report.refused:
        yield say("refused", locale, count=len(report.refused))


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


def day(milliseconds: int) -> str:
    """Return the day of a time, in UTC."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d}"


def fresh(spent: Spent) -> int:
    """Return the input tokens that were neither read from the cache nor written to it."""
    return max(spent.input - spent.cached - spent.written, 0)


# ---------------------------------------------------------------------- parts


def _advice(report: Report, locale: str) -> Iterator[str]:
    yield _heading("advice", locale)
    if not report.advice:
        yield _paragraph(say("advice none", locale))
        return
    yield '<ol class="advice">\n'
    for number, advice in enumerate(report.advice, start=1):
        saving, finding, action = map(_with_code, told(advice, locale))
        yield f"<li><strong>{number}. {saving}</strong>{finding}<br>{action}</li>\n"
    yield "</ol>\n" + _paragraph(say("advice overlap", locale))


def _spent(report: Report, locale: str) -> Iterator[str]:
    spent = report.spent
    yield _heading("spent", locale) + "<dl>\n"
    facts = [
        ("input", f"{spent.input:,}"), ("cached", _share(spent.cached, spent.input)),
        ("written", _share(spent.written, spent.input)), ("fresh", _share(fresh(spent), spent.input)),
        ("output", f"{spent.output:,}"), ("cost", f"{spent.cost:,.0f}"),
    ]  # fmt: skip
    facts += [("money", f"{spent.money:,.2f} $")] if spent.money is not None else []
    yield "".join(f"<div><dt>{escape(say(key, locale))}</dt><dd>{value}</dd></div>\n" for key, value in facts)
    yield "</dl>\n" + "".join(_paragraph(note) for note in (say("cost unit", locale), *notes(report, locale)))


def _sessions_chart(report: Report, locale: str) -> Iterator[str]:
    """One column for each session, in the order of time: where its input came from."""
    sessions = sorted(report.sessions, key=lambda session: session.begin)[-_MOST_SESSIONS:]
    most = max((session.spent.input for session in sessions), default=0)
    if len(sessions) < 2 or not most:
        return
    keys = (("one", "cached"), ("two", "written"), ("three", "fresh"))
    width, height = 1000.0, 220.0
    step = width / len(sessions)
    yield _heading("over time", locale)
    yield f'<svg viewBox="0 0 {width:g} {height:g}" height="220" role="img" preserveAspectRatio="none">'
    yield f"<title>{escape(say('over time', locale))}</title>"
    for at, session in enumerate(sessions):
        top = height
        spent = session.spent
        label = escape(f"{session.name} {day(session.begin) if session.begin else ''}: {spent.input:,}")
        yield f"<g><title>{label}</title>"
        for (style, _), count in zip(keys, (spent.cached, spent.written, fresh(spent)), strict=True):
            size = count / most * (height - 4)
            top -= size
            place = f'x="{at * step:.2f}" y="{top:.2f}" width="{step * 0.85:.2f}" height="{size:.2f}"'
            yield f'<rect class="{style}" {place}/>'
        yield "</g>"
    yield f'<line class="base" x1="0" y1="{height:g}" x2="{width:g}" y2="{height:g}"/></svg>\n<p class="key dim">'
    for style, key in keys:
        square = f'<svg viewBox="0 0 10 10" aria-hidden="true"><rect class="{style}" width="10" height="10"/></svg>'
        yield f"<span>{square} {escape(say(key, locale))}</span>"
    yield f"<span>{escape(say('highest', locale, tokens=most))}</span></p>\n"


def share_base(report: Report) -> tuple[int, str]:
    """Return what shares are of, in tokens, and the key of their title.

    What Sightline shortened was said in full and sent short: then the input is less than what was said.
    """
    said = sum(kind.sent for kind in report.kinds)
    return (said, "share said") if said > report.spent.input else (report.spent.input or 1, "share")


def _shares(report: Report, locale: str) -> Iterator[str]:
    total, share = share_base(report)
    kinds = [Share(say(f"kind {kind.name}", locale), kind.items, kind.tokens, kind.sent) for kind in report.kinds]
    for key, shares in (("by kind", kinds), ("by tool", report.tools), ("by file", report.files)):
        if not shares:
            continue
        yield _heading(key, locale)
        most = max(entry.sent for entry in shares) or 1
        rows = [
            [_name(entry.name), _number(entry.items), _number(entry.sent), _cell(f"{entry.sent / total:.1%}"),
             _bar(entry.sent / most)]
            for entry in shares[:MOST]
        ]  # fmt: skip
        yield _table(
            [("name", ""), ("items", "number"), ("sent", "number"), (share, "number"), ("name", "bar")], rows, locale
        )
        if len(shares) > MOST:
            yield _paragraph(say("more", locale, count=len(shares) - MOST))
    yield _paragraph(say("sent means", locale))


def _caching(report: Report, locale: str) -> Iterator[str]:
    yield _heading("caching", locale)
    yield "".join(f"<p>{escape(line)}</p>\n" for line in caching_lines(report, locale))
    if not report.breaks:
        return
    whole, most = report.spent.cost or 1, max(report.break_cost.values()) or 1
    rows = [
        [_name(say(f"cause {cause}", locale)), _number(misses.items), _number(misses.tokens),
         _cell(f"{report.break_cost[cause] / whole:.1%}"), _bar(report.break_cost[cause] / most, "two")]
        for cause, misses in report.breaks.items()
    ]  # fmt: skip
    yield _table(
        [("cause", ""), ("times", "number"), ("processed again", "number"), ("cost", "number"), ("name", "bar")],
        rows,
        locale,
    )


def _again(report: Report, locale: str) -> Iterator[str]:
    yield _heading("reading", locale)
    if not report.again:
        yield _paragraph(say("reading none", locale))
        return
    rows = [
        [_name(file.file), _number(file.reads), _number(file.again), _number(file.after_compaction),
         _number(file.tokens + file.after_tokens), _number(round(file.cost + file.after_cost))]
        for file in report.again[:MOST]
    ]  # fmt: skip
    titles = [("file", ""), ("reads", "number"), ("again", "number"), ("after compaction", "number")]
    yield _table([*titles, ("tokens", "number"), ("cost", "number")], rows, locale)
    if len(report.again) > MOST:
        yield _paragraph(say("more", locale, count=len(report.again) - MOST))


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


def _compactions(report: Report, locale: str) -> Iterator[str]:
    yield _heading("compaction", locale) + "".join(
        f"<p>{escape(line)}</p>\n" for line in compaction_lines(report, locale)
    )


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
    if all(forecast.change > -_LITTLE for forecast in report.forecasts):
        yield say("forecast does not pay", locale)
    if all(session.is_reported and session.forecasts and not session.economy for session in report.sessions):
        full = report.forecasts[0].full.cost
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


def _forecasts(report: Report, locale: str) -> Iterator[str]:
    yield _heading("forecast", locale)
    if not report.forecasts:
        yield _paragraph(say("forecast none", locale))
        return
    forecasts = [*forecast_rows(report, locale)]
    most = max(spent.cost for _, spent, _, _ in forecasts) or 1
    rows = [
        [_name(name), _number(spent.input), _number(round(spent.cost)), _cell(share), _number(rereads),
         _bar(spent.cost / most, "three")]
        for name, spent, share, rereads in forecasts
    ]  # fmt: skip
    titles = [("name", ""), ("input", "number"), ("cost", "number"), ("against", "number"), ("rereads", "number")]
    yield _table([*titles, ("name", "bar")], rows, locale)
    yield "".join(f'<p class="dim">{_with_code(note)}</p>\n' for note in forecast_notes(report, locale))


def _sessions(report: Report, locale: str) -> Iterator[str]:
    yield _heading("by session", locale)
    sessions = sorted(report.sessions, key=lambda session: -session.spent.cost)
    most = max((session.spent.cost for session in sessions), default=0) or 1
    titles = [("session", ""), ("day", ""), ("calls", "number"), ("input", "number"), ("hit", "number")]
    titles += [("compactions", "number"), ("cost", "number"), ("name", "bar")]
    rows = (_session_row(session, most) for session in sessions[:_MOST_SESSIONS])
    yield _table(titles, rows, locale, "sessions")
    if len(sessions) > _MOST_SESSIONS:
        yield _paragraph(say("more", locale, count=len(sessions) - _MOST_SESSIONS))


def _session_row(session: SessionReport, most: float) -> list[str]:
    spent = session.spent
    return [
        _session_name(session), _cell(day(session.begin) if session.begin else "", ""), _number(session.calls),
        _number(spent.input), _cell(cached_share(session)),
        _number(len(session.compactions)), _number(round(spent.cost)), _bar(spent.cost / most),
    ]  # fmt: skip


def _session_name(session: SessionReport) -> str:
    """Return the cell of a session: its title, and below it the end of its path."""
    path = short_name(session.name)
    if not session.title:
        return _name(path)
    return f'<td class="name">{escape(session.title)}<br><small>{escape(path)}</small></td>'


def short_name(name: str) -> str:
    """Return the last two parts of a path: the folder says which project a session is of."""
    return "/".join(name.replace("\\", "/").rsplit("/", 2)[-2:])


# ---------------------------------------------------------------------- pieces of HTML


def _with_code(text: str) -> str:
    """Return a text as HTML, with what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _heading(key: str, locale: str) -> str:
    return f"<h2>{escape(say(key, locale))}</h2>\n"


def _paragraph(text: str) -> str:
    return f'<p class="dim">{escape(text)}</p>\n'


def _table(titles: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], locale: str, style: str = "") -> str:
    head = "".join(_title(say(key, locale), style_class) for key, style_class in titles)
    body = "".join(f"<tr>{''.join(row)}</tr>\n" for row in rows)
    table = f'<table class="{style}">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>'
    return f'<div class="scroll">{table}</div>\n'


def _title(text: str, style: str) -> str:
    return f'<th class="{style}" scope="col">{escape(text)}</th>' if text else f'<td class="{style}"></td>'


def _name(text: str) -> str:
    return f'<td class="name">{escape(text)}</td>'


def _number(count: int) -> str:
    return f'<td class="number">{count:,}</td>'


def _cell(text: str, style: str = "number") -> str:
    return f'<td class="{style}">{escape(text)}</td>'


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0"


def _bar(share: float, style: str = "one") -> str:
    width = f"{min(max(share, 0.0), 1.0) * 100:.1f}"
    bar = f'<rect class="{style}" width="{width}%" height="100%" rx="2"/>'
    return f'<td class="bar"><svg aria-hidden="true">{bar}</svg></td>'
