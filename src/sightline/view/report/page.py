"""A report as one HTML page that needs no other: no script, nothing from elsewhere. What was recorded is only text."""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from pathlib import Path

from sightline.values.pattern import pattern
from sightline.view.report.phrases import say, told
from sightline.view.report.tables import Table, begin_day, fresh, introduction, notes, sections
from sightline.view.report.values import Report, counted

MOST = 12  # rows of a table of shares
_MOST_SESSIONS = 500  # rows and columns
_CODE = pattern("`([^`<>]+)`")

_STYLE = "\n" + Path(__file__).with_suffix(".css").read_text("utf-8")


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
    for part in (_advice, _spent, _sessions_chart):
        yield from part(report, locale)
    for section in sections(report, locale):
        yield _heading(section.key, locale) + "".join(f"<p>{escape(line)}</p>\n" for line in section.lines)
        if section.table is not None:
            yield from _table(section.table, _MOST_SESSIONS if section.key == "by session" else MOST, locale)
        yield "".join(f'<p class="dim">{_with_code(note)}</p>\n' for note in section.notes)
    yield f'</main>\n<footer><p class="dim">{escape(say("made by", locale, version=version))}</p></footer>\n'
    yield "</body>\n</html>\n"


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
    facts += [("money", f"${spent.money:,.2f}")] if spent.money is not None else []
    yield "".join(f"<div><dt>{escape(say(key, locale))}</dt><dd>{value}</dd></div>\n" for key, value in facts)
    yield "</dl>\n" + "".join(_paragraph(note) for note in (say("cost unit", locale), *notes(report, locale)))


def _sessions_chart(report: Report, locale: str) -> Iterator[str]:
    """One column for each session, in the order of time: where its input came from."""
    sessions = sorted(counted(report.sessions), key=lambda session: session.begin)[-_MOST_SESSIONS:]
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
        label = escape(f"{session.name} {begin_day(session)}: {spent.input:,}")
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


# ---------------------------------------------------------------------- pieces of HTML


def _with_code(text: str) -> str:
    """Return a text as HTML, with what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _heading(key: str, locale: str) -> str:
    return f"<h2>{escape(say(key, locale))}</h2>\n"


def _paragraph(text: str) -> str:
    return f'<p class="dim">{escape(text)}</p>\n'


def _table(table: Table, most: int, locale: str) -> Iterator[str]:
    classes = [column.kind if column.kind in ("number", "bar") else "" for column in table.columns]
    titles = [(say(column.key, locale), style) for column, style in zip(table.columns, classes, strict=True)]
    head = "".join(
        f'<th class="{style}" scope="col">{escape(title)}</th>' if title else f'<td class="{style}"></td>'
        for title, style in titles
    )
    style = "sessions" if table.titles else ""
    yield f'<div class="scroll"><table class="{style}">\n<thead><tr>{head}</tr></thead>\n<tbody>\n'
    for at, (name, *cells) in enumerate(table.rows[:most]):
        title = table.titles[at] if table.titles else ""
        named = f"{escape(title)}<br><small>{escape(name)}</small>" if title else escape(name)
        numbers = zip(cells, classes[1:], strict=False)  # the bar has no cell
        texts = "".join(f'<td class="{style}">{escape(cell)}</td>' for cell, style in numbers)
        bar = _bar(table.bars[at], table.color) if table.bars else ""
        yield f'<tr><td class="name">{named}</td>{texts}{bar}</tr>\n'
    yield "</tbody></table></div>\n"
    if len(table.rows) > most:
        yield _paragraph(say("more", locale, count=len(table.rows) - most))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0"


def _bar(share: float, style: str = "one") -> str:
    width = f"{min(max(share, 0.0), 1.0) * 100:.1f}"
    bar = f'<rect class="{style}" width="{width}%" height="100%" rx="2"/>'
    return f'<td class="bar"><svg aria-hidden="true">{bar}</svg></td>'
