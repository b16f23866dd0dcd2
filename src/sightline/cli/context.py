"""`sightline context`: what the model would see now."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.text import Text

from sightline.cli.choices import branch_option, session_argument
from sightline.cli.compaction_view import covered_sentence
from sightline.cli.options import (
    branch_label,
    budget_options,
    known_budget,
    place,
    with_json,
)
from sightline.cli.phrases import Phrases
from sightline.cli.render import Column, Rows, bar, console, print_json, print_table, print_text, printable
from sightline.cli.sessions import item_words
from sightline.plan.budget import Budget
from sightline.plan.plan import Plan
from sightline.plan.strategies.entities import Entities
from sightline.plan.strategies.focus import Focus, trigger
from sightline.session.items import ItemInfo
from sightline.session.session import Session
from sightline.values.items import Kind, Role
from sightline.values.profiles import profile
from sightline.values.settings import Settings
from sightline.wire.payload import Payload

_KINDS = (
    "system",
    "tools",
    "request",
    "user",
    "assistant",
    "call",
    "result",
    "summary",
    "recall",
    "preface",
    "index",
    "window",
)
_LARGEST = 12  # items listed unless all are asked for
_BAR = 30  # columns
_IN_SUMMARY = ("boundary", "first", "last", "messages", "tokens", "summaries", "state")


@click.command(short_help="What the model would see now.")
@session_argument
@budget_options
@click.option(
    "--by", type=click.Choice(["size", "order"]), default="size", show_default=True, help="The order of the items."
)
@click.option("--all", "every", is_flag=True, help=f"List all items, not only the first {_LARGEST}.")
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
    """Show what the model would see of a session in the next call, by kind and item by item. Nothing is written.

    Items are listed by size, the largest first, or with --by order as the model reads them. The row "request" is what
    a provider adds to every request; if there are tools, it is counted with them.

    Windows of apps are shown as they were last sent, because only the program that runs the apps can redraw them.

    \b
    Examples:
      sightline context
      sightline context V1StGXR8 --window 16000 --output 1000
      sightline context --by order --all
    """
    here = place()
    with here.session(session_id, branch) as session:
        budget = known_budget(session, window, output)
        if as_json:
            print_json(_facts(session, budget, by))
        else:
            print_context(console(), here.words, session, budget, by=by, every=every)


# ---------------------------------------------------------------------- for programs


def _facts(session: Session, budget: Budget, by: str) -> dict[str, Any]:
    """Return what a session's next payload would hold, its items by "size" or in "order"."""
    payload, last = session.preview(budget), session.receipt
    if last is not None and not session.windows.apps:  # windows as they were sent, so their savings are those of then
        payload = replace(payload, spared=last.spared)
    plan, reductions, settings = payload.plan, payload.reductions(), session.settings
    strategy = session.strategy if isinstance(session.strategy, Entities) else None
    infos = {item.id: item for item in session.items.table()}
    lines = sorted(plan.lines(), key=lambda line: -line.tokens if by == "size" else 0)
    levels = Counter(line.lod.name.lower() for line in lines)
    shown_ids = {line.id for line in lines}
    hidden = [infos[id_] for each in reductions if each.kind in ("summaries", "trim") for id_ in each.removed]
    return {
        "session": session.id,
        "branch": branch_label(session.branch),
        "window": budget.window,
        "output": budget.output,
        "limit": plan.limit,
        "tokens": plan.tokens,
        "free": plan.limit - plan.tokens,
        "factor": last.factor if last else 1.0,  # tokens that the model counts for one of ours
        "sweep": plan.reason,
        "next_sweep": _next_sweep(settings, budget, plan),
        "kinds": _by_kind(session, payload, infos),
        "levels": {level: levels[level] for level in ("full", "summary", "gist")},
        "left_out": {  # in no form, not even in a summary
            "messages": sum(item.kind is not Kind.CALL for item in hidden),
            "tokens": sum(item.full for item in hidden),
        },
        "reductions": [{**each._asdict(), "off": each.kind not in settings.reductions} for each in reductions],
        "marker": plan.marker,
        "state": None if strategy is None else session.state,  # of the strategy entities
        "unread": 0 if strategy is None else sum(item.kind is Kind.USER for item in session.unread),
        "summaries": [
            {name: getattr(each, name) for name in _IN_SUMMARY}
            for each in session.summaries
            if not shown_ids.isdisjoint(each.summaries)
        ],
        "faults": {  # results that were fetched again after they had been shortened
            "results": len(session.items.faults),
            "tokens": sum(infos[item_id].full for item_id in session.items.faults),
        },
        "items": [{**line._asdict(), "kind": line.kind.name.lower(), "lod": line.lod.name.lower()} for line in lines],
    }


def _next_sweep(settings: Settings, budget: Budget, plan: Plan) -> dict[str, int]:
    """Return above how many tokens the next sweep is forced, and above how many if the provider's cache is cold."""
    if settings.strategy != Focus.name:
        return {"above": plan.limit, "when_cold_above": plan.limit}
    forced = trigger(budget, plan.limit, plan.fixed + plan.base if plan.base else 0, plan.fixed)
    cold = plan.fixed + budget.target * (plan.limit - plan.fixed)
    return {"above": int(forced), "when_cold_above": int(cold)}


def _by_kind(session: Session, payload: Payload, infos: Mapping[str, ItemInfo]) -> dict[str, dict[str, int]]:
    """Count the tokens and the items of a payload by kind, with what a provider adds to each message.

    The kinds add up to the payload. Of the engine's own texts, preface and index, the lines are counted as items.
    """
    framing, windows, plan = profile(session.settings.profile), payload.shown_windows.values(), payload.plan
    listed = {line.id for line in plan.lines()}
    messages = [each for each in (*payload.system, *payload.body) if each.role is Role.SYSTEM and each.id not in listed]
    system = sum(infos[message.id].full + framing.message_tokens for message in messages)
    window_tokens = sum(session.count(text) + framing.message_tokens for text in windows)
    rest = plan.fixed - system - window_tokens  # the tools, with what a provider adds to a request
    tokens = Counter({"system": system, "window": window_tokens, "tools" if payload.tools else "request": rest})
    items = Counter(system=len(messages), window=len(windows), tools=len(payload.tools))
    for kind, text in (("preface", plan.preface), ("index", plan.marker)):
        tokens[kind], items[kind] = session.count(text) + framing.message_tokens if text else 0, len(text.splitlines())
    for line in plan.lines():
        kind = line.kind.name.lower()
        tokens[kind] += line.tokens + (framing.call_tokens if line.kind is Kind.CALL else framing.message_tokens)
        items[kind] += 1
    return {kind: {"tokens": tokens[kind], "items": items[kind]} for kind in _KINDS if tokens[kind]}


# ---------------------------------------------------------------------- for people


def print_context(out: Console, words: Phrases, session: Session, budget: Budget, *, by: str, every: bool) -> None:
    """Print what the model would see of a session now."""
    facts = _facts(session, budget, by)
    print_text(out, words("context heading", id=facts["session"], branch=facts["branch"]), "bold")
    has_factor = f"{facts['factor']:.2f}" != "1.00"
    print_text(out, words("context tokens", **facts) + (words("context factor", **facts) if has_factor else ""))
    _print_kinds(out, words, facts)
    _print_remarks(out, words, session, facts)
    _print_reductions(out, words, [each for each in facts["reductions"] if each["removed"] or each["off"]])
    key = "items in order" if by == "order" else "items by size"
    out.print()
    print_text(out, words(key), "bold")
    _print_items(out, words, session, facts, every=every)


def _print_kinds(out: Console, words: Phrases, facts: dict[str, Any]) -> None:
    limit, plain = facts["limit"], out.options.ascii_only
    out.print()
    rows = Rows(out, [
        Column(words("kind"), 10), Column(words("items"), 6, right=True, spare=2),
        Column(words("tokens"), 9, right=True), Column("", _BAR, spare=1), Column("", 4, right=True), Column(""),
    ], least=0)  # fmt: skip
    for kind, found in facts["kinds"].items():
        share = found["tokens"] / limit
        drawn = Text(bar(share, _BAR, plain=plain), style="green")
        items = f"{found['items']:,}" if found["items"] else ""  # what a provider adds to a request is no item
        rows.print(words("kind " + kind), items, f"{found['tokens']:,}", drawn, f"{share:.0%}", "")
    messages, tokens = facts["left_out"]["messages"], facts["left_out"]["tokens"]
    if messages:
        drawn = Text(bar(tokens / limit, _BAR, plain=plain), style="dim")
        rows.print(words("left out"), f"{messages:,}", f"{tokens:,}", drawn, "", "", style="dim")
    out.print()


def _print_remarks(out: Console, words: Phrases, session: Session, facts: dict[str, Any]) -> None:
    tokens, faults, sweep = facts["tokens"], facts["faults"], facts["next_sweep"]
    print_text(out, words("context levels", **facts["levels"]))
    if facts["state"] is not None:
        known = msgspec.json.encode(facts["state"]).decode()
        print_text(out, printable(words("state", state=known, count=facts["unread"])))
    if facts["marker"]:
        print_text(out, printable(facts["marker"]), "dim")
    for each in facts["summaries"]:
        print_text(out, covered_sentence(words, each))
    if faults["results"]:
        print_text(out, words("faults", count=faults["results"], tokens=faults["tokens"]))
    if facts["sweep"]:
        print_text(out, words("sweep now", reason=words.reason(facts["sweep"])))
        return
    text = words("sweep later", above=sweep["above"], room=max(0, sweep["above"] - tokens))
    if tokens > sweep["when_cold_above"]:
        text += " " + words("sweep when cold", minutes=profile(session.settings.profile).cache_seconds // 60)
    print_text(out, text)


def _print_reductions(out: Console, words: Phrases, made: Sequence[dict[str, Any]]) -> None:
    """Print what was done to make the payload fit, and what is switched off."""
    if not made:
        return
    out.print()
    columns = (
        Column(words("reduction"), 21), Column(words("removed"), 8, right=True), Column(words("saved"), 9, right=True),
        Column(""),
    )  # fmt: skip
    print_table(out, columns, (
        (
            words("reduction " + each["kind"]), f"{len(each['removed']):,}", f"{each['tokens']:,}",
            words("off") if each["off"] else "",
        )
        for each in made
    ), least=0)  # fmt: skip


def _print_items(out: Console, words: Phrases, session: Session, facts: dict[str, Any], *, every: bool) -> None:
    lines, infos = facts["items"], {item.id: item for item in session.items.table()}
    shown = lines if every else lines[:_LARGEST]
    runs = {id_: f"[#{each['first']}–#{each['last']}] " for each in facts["summaries"] for id_ in each["summaries"]}
    reasons = [Column(words("why"), 14, spare=2)] if any(line["why"] for line in shown) else []
    columns = (
        Column(words("item"), 10, right=True, style="cyan"), Column(words("kind"), 9), Column(words("level"), 8),
        Column(words("tokens"), 7, right=True), Column(words("of full"), 8, right=True, spare=1),
        *reasons, Column(words("says")),
    )  # fmt: skip
    print_table(out, columns, (
        (
            "#" + line["id"], words("kind " + line["kind"]), words("level " + line["lod"]), f"{line['tokens']:,}",
            f"{line['full_tokens']:,}" if line["full_tokens"] != line["tokens"] else "",
            *([words.reason(line["why"])] if reasons else []),
            runs.get(line["id"], "") + item_words(session, infos[line["id"]]),
        )
        for line in shown
    ))  # fmt: skip
    if len(shown) < len(lines):
        print_text(out, words("more items", count=len(lines) - len(shown)), "dim")
