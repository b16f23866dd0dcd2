"""`sightline context`: what the model would see now."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import click
from rich.console import Console
from rich.text import Text

from sightline.apps.protocols import Window
from sightline.cli.compaction_view import Covered, compactions
from sightline.cli.options import Place, branch_option, budget_options, known_budget, place, session_argument, with_json
from sightline.cli.render import Column, Rows, bar, console, print_json, printable
from sightline.cli.sessions import branch_label, item_words, switch
from sightline.cli.wrap import prose
from sightline.compose import receipts
from sightline.log.journal import Journal
from sightline.log.window_snapshots import Blobs
from sightline.plan.budget import Budget
from sightline.plan.plan import Line
from sightline.plan.strategies.focus import Focus, trigger
from sightline.plan.view import body_unit
from sightline.session.session import Session
from sightline.values.items import Kind
from sightline.values.profiles import Profile
from sightline.wire.payload import Payload

_KINDS = ("system", "tools", "user", "assistant", "call", "result", "summary", "recall", "window")
_LARGEST = 12  # items listed unless all are asked for
_BAR = 30  # columns


class Seen(NamedTuple):
    """What a payload holds, in numbers."""

    tokens: dict[str, int]  # by kind
    items: dict[str, int]
    out_tokens: int
    out_messages: int
    sweep_above: float  # tokens from which the next sweep is forced
    cold_above: float  # and from which a cold cache is reason enough
    covered: list[Covered]  # what the summaries that are shown stand for
    faults: int  # results that were fetched again after they had been shortened
    fault_tokens: int


@click.command(short_help="What the model would see now.")
@session_argument
@budget_options
@click.option("--by", type=click.Choice(["size", "order"]), default="size", show_default=True, help="How items stand.")
@click.option("--all", "every", is_flag=True, help=f"All items, not only the first {_LARGEST}.")
@branch_option
@with_json
def context(
    session_id: str | None,
    window: int | None,
    output: int | None,
    by: str,
    every: bool,
    branch: str | None,
    as_json: bool,
) -> None:
    """Show what the model would see of a session now, by kind and item by item. Nothing is written.

    Live windows are shown as they were last sent: only the program that owns them can draw them anew.

    \b
    Examples:
      sightline context
      sightline context V1StGXR8 --window 16000 --output 1000
      sightline context --by order --all
    """
    here = place()
    journal = here.journal(here.find(session_id))
    switch(journal, branch)
    allowed = known_budget(journal, window, output)
    session = Session(journal, windows=LastShown(journal))
    if as_json:
        payload, seen, factor = _looked(journal, session, allowed)
        print_json(_facts(journal, payload, seen, allowed, factor, _lines(payload, by)))
    else:
        print_context(console(), here, journal, session, allowed, by=by, every=every)
    journal.store.close()


def print_context(
    out: Console, here: Place, journal: Journal, session: Session, allowed: Budget, *, by: str, every: bool
) -> None:
    """What the model would see of a session now, for people; `journal` is its log."""
    payload, seen, factor = _looked(journal, session, allowed)
    lines = _lines(payload, by)
    _print_summary(out, here, journal, payload, seen, factor)
    _print_items(out, here, journal, lines if every else lines[:_LARGEST], len(lines), seen.covered)


def _looked(journal: Journal, session: Session, allowed: Budget) -> tuple[Payload, Seen, float]:
    payload, last = session.preview(allowed), session.receipt
    if (
        last is not None and not session.windows.apps
    ):  # windows as they were sent, with what their giving way saved then
        payload = replace(payload, spared=last.spared)
    factor = last.factor if last else 1.0
    return payload, _seen(journal, payload, allowed, session.items.faults), factor


def _lines(payload: Payload, by: str) -> list[Line]:
    lines = list(payload.plan.lines())
    return sorted(lines, key=lambda line: -line.tokens) if by == "size" else lines


class LastShown:
    """A session's windows as the last payload showed them."""

    def __init__(self, journal: Journal) -> None:
        last, _ = receipts.last_receipt(journal)
        blobs = Blobs(journal.store.side_file(".blobs"))
        self._texts = {window: blobs.text(digest) for window, digest in last.windows.items()} if last else {}

    def get(self, window_id: str) -> Window | None:
        """The window, or None if it was not shown or its text is not kept."""
        text = self._texts.get(window_id)
        return None if text is None else _Still(text)


class _Still(NamedTuple):
    text: str

    def render(self) -> str:
        """What it showed."""
        return self.text


# ---------------------------------------------------------------------- numbers


def _seen(journal: Journal, payload: Payload, budget: Budget, faults: list[str]) -> Seen:
    plan, profile = payload.plan, journal.reader.profile
    shown = {line.id for line in plan.lines() if line.kind is Kind.SUMMARY}
    fetched = [row for row in map(journal.row, faults) if row is not None]
    tokens, items = Counter[str](), Counter[str]()
    for line in plan.lines():
        framing = profile.call_tokens if line.kind is Kind.CALL else profile.message_tokens
        tokens[line.kind.name.lower()] += line.tokens + framing
        items[line.kind.name.lower()] += 1
    for kind, count, size in _head(journal, payload, profile):
        tokens[kind] += size
        items[kind] += count
    out = _left_out(journal, payload)
    base = plan.fixed + plan.base if plan.base else 0
    focused = journal.settings.strategy == Focus.name
    return Seen(
        tokens=dict(tokens),
        items=dict(items),
        out_tokens=sum(journal.timeline.full[row] for row in out),
        out_messages=sum(journal.timeline.kind[row] != Kind.CALL for row in out),
        sweep_above=trigger(budget, plan.limit, base, plan.fixed) if focused else plan.limit,
        cold_above=plan.fixed + budget.target * (plan.limit - plan.fixed) if focused else plan.limit,
        covered=[each for each in compactions(journal) if not shown.isdisjoint(each.summaries)],
        faults=len(fetched),
        fault_tokens=sum(journal.timeline.full[row] for row in fetched),
    )


def _head(journal: Journal, payload: Payload, profile: Profile) -> list[tuple[str, int, int]]:
    """What the plan does not list: kind, how many, tokens."""
    texts = payload.shown_windows.values()
    windows = sum(journal.reader.counter.count(text) + profile.message_tokens for text in texts)
    rows = journal.timeline.head_rows(journal.path)
    system = sum(journal.timeline.full[row] + profile.message_tokens for row in rows)
    return [
        ("system", len(rows), system),
        ("window", len(texts), windows),
        ("tools", len(payload.tools), payload.plan.fixed - system - windows),  # with the request's own framing
    ]


def _left_out(journal: Journal, payload: Payload) -> list[int]:
    """The rows of the body that are not shown; what still waits for results is not left out, it is not complete."""
    timeline, path, plan = journal.timeline, journal.path, payload.plan
    waiting = {timeline.unit[row] for row in timeline.open_calls}
    on_branch = (row for row in range(plan.rows) if path.holds(timeline.branch[row], row))
    body = (row for row in on_branch if body_unit(timeline, timeline.unit[row]))
    return [row for row in body if timeline.unit[row] not in plan and timeline.unit[row] not in waiting]


def _facts(
    journal: Journal, payload: Payload, seen: Seen, budget: Budget, factor: float, lines: list[Line]
) -> dict[str, Any]:
    plan = payload.plan
    return {
        "session": journal.store.session_id,
        "branch": branch_label(journal.branch_name),
        "window": budget.window,
        "output": budget.output,
        "limit": plan.limit,
        "tokens": plan.tokens,
        "free": plan.limit - plan.tokens,
        "factor": factor,
        "sweep": plan.reason,
        "next_sweep": {"above": int(seen.sweep_above), "when_cold_above": int(seen.cold_above)},
        "kinds": {
            kind: {"tokens": seen.tokens[kind], "items": seen.items[kind]} for kind in _KINDS if seen.items.get(kind)
        },
        "levels": _levels(payload),
        "left_out": {"messages": seen.out_messages, "tokens": seen.out_tokens},
        "reductions": [
            {**each._asdict(), "off": each.kind not in journal.settings.reductions} for each in payload.reductions()
        ],
        "marker": plan.marker,
        "summaries": [each._asdict() for each in seen.covered],
        "faults": {"results": seen.faults, "tokens": seen.fault_tokens},
        "items": [{**line._asdict(), "kind": line.kind.name.lower(), "lod": line.lod.name.lower()} for line in lines],
    }


def _levels(payload: Payload) -> Mapping[str, int]:
    counts = Counter(line.lod.name.lower() for line in payload.plan.lines())
    return {level: counts[level] for level in ("full", "summary", "gist")}


# ---------------------------------------------------------------------- for people


def _print_summary(out: Console, here: Place, journal: Journal, payload: Payload, seen: Seen, factor: float) -> None:
    words, plan = here.words, payload.plan
    heading = words("context heading", id=journal.store.session_id, branch=branch_label(journal.branch_name))
    prose(out, heading, "bold")
    free = plan.limit - plan.tokens
    said = words("context tokens", tokens=plan.tokens, limit=plan.limit, free=free)
    if f"{factor:.2f}" != "1.00":
        said += words("context factor", factor=factor)
    prose(out, said)
    out.print()
    rows = Rows(out, [
        Column(words("kind"), 10), Column(words("items"), 6, right=True, spare=2),
        Column(words("tokens"), 9, right=True), Column("", _BAR, spare=1), Column("", 4, right=True), Column(""),
    ], least=0)  # fmt: skip
    plain = out.options.ascii_only
    for kind in _KINDS:
        if seen.items.get(kind):
            share = seen.tokens[kind] / plan.limit
            drawn = Text(bar(share, _BAR, plain=plain), style="green")
            rows.print(
                words("kind " + kind), f"{seen.items[kind]:,}", f"{seen.tokens[kind]:,}", drawn, f"{share:.0%}", ""
            )
    if seen.out_messages:
        drawn = Text(bar(seen.out_tokens / plan.limit, _BAR, plain=plain), style="dim")
        rows.print(words("left out"), f"{seen.out_messages:,}", f"{seen.out_tokens:,}", drawn, "", "", style="dim")
    out.print()
    prose(out, words("context levels", **_levels(payload)))
    if plan.marker:
        prose(out, printable(plan.marker), "dim")
    for each in seen.covered:
        summaries = ", ".join("#" + item_id for item_id in each.summaries)
        prose(out, words("stands for", **each._asdict() | {"summaries": summaries}))
    if seen.faults:
        prose(out, words("faults", count=seen.faults, tokens=seen.fault_tokens))
    prose(out, _next_sweep(here, payload, seen, journal.reader.profile))
    _print_reductions(out, here, journal, payload)


def _print_reductions(out: Console, here: Place, journal: Journal, payload: Payload) -> None:
    """What was done to make it fit, where something was or may not be."""
    words, on = here.words, journal.settings.reductions
    made = [each for each in payload.reductions() if each.removed or each.kind not in on]
    if not made:
        return
    out.print()
    rows = Rows(out, [
        Column(words("reduction"), 10), Column(words("removed"), 8, right=True), Column(words("saved"), 9, right=True),
        Column(""),
    ], least=0)  # fmt: skip
    rows.print_titles()
    for each in made:
        off = "" if each.kind in on else words("off")
        rows.print(words("reduction " + each.kind), f"{len(each.removed):,}", f"{each.tokens:,}", off)


def _next_sweep(here: Place, payload: Payload, seen: Seen, profile: Profile) -> str:
    plan, words = payload.plan, here.words
    if plan.reason:
        return words("sweep now", reason=words.sweep(plan.reason))
    room = max(0, int(seen.sweep_above) - plan.tokens)
    said = words("sweep later", above=int(seen.sweep_above), room=room)
    if plan.tokens > seen.cold_above:
        said += " " + words("sweep when cold", minutes=profile.cache_seconds // 60)
    return said


def _print_items(
    out: Console, here: Place, journal: Journal, lines: list[Line], total: int, covered: list[Covered]
) -> None:
    words = here.words
    runs = {item_id: f"[#{each.first}–#{each.last}] " for each in covered for item_id in each.summaries}
    reasons = [Column(words("why"), 14, spare=2)] if any(line.why for line in lines) else []
    out.print()
    rows = Rows(out, [
        Column(words("item"), 10, right=True, style="cyan"), Column(words("kind"), 9), Column(words("level"), 8),
        Column(words("tokens"), 7, right=True), Column(words("of full"), 8, right=True, spare=1),
        *reasons, Column(words("says")),
    ])  # fmt: skip
    rows.print_titles()
    for line in lines:
        row = journal.timeline.row(line.id)
        assert row is not None
        kind, lod = words("kind " + line.kind.name.lower()), words("level " + line.lod.name.lower())
        full = f"{line.full_tokens:,}" if line.full_tokens != line.tokens else ""
        why = [line.why] if reasons else []
        rows.print(
            "#" + line.id, kind, lod, f"{line.tokens:,}", full, *why, runs.get(line.id, "") + item_words(journal, row)
        )
    if len(lines) < total:
        prose(out, words("more items", count=total - len(lines)), "dim")
