"""`sightline context`: what the model would see now."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import click
from rich.console import Console
from rich.text import Text

from sightline.cli.compaction_view import covered_facts, covered_sentence
from sightline.cli.options import (
    branch_label,
    branch_option,
    budget_options,
    known_budget,
    place,
    session_argument,
    with_json,
)
from sightline.cli.phrases import Phrases
from sightline.cli.render import Column, Rows, bar, console, print_json, printable
from sightline.cli.sessions import item_words
from sightline.cli.wrap import print_text
from sightline.plan.budget import Budget
from sightline.plan.plan import Line
from sightline.plan.strategies.focus import Focus, trigger
from sightline.session.compactions import CompactionInfo
from sightline.session.items import ItemInfo
from sightline.session.session import Session
from sightline.values.items import Kind, Role
from sightline.values.profiles import profile
from sightline.wire.payload import Payload

_KINDS = ("system", "tools", "user", "assistant", "call", "result", "summary", "recall", "window")
_LARGEST = 12  # items listed unless all are asked for
_BAR = 30  # columns


class Preview(NamedTuple):
    """What a session's next payload would hold, in numbers."""

    session: Session
    budget: Budget
    payload: Payload
    infos: dict[str, ItemInfo]  # of all items of the branch, by id
    factor: float  # tokens that the model counts for one of ours
    tokens: Counter[str]  # by kind
    items: Counter[str]
    hidden_messages: int  # in no form, not even in a summary
    hidden_tokens: int
    sweep_above: int  # tokens above which the next sweep is forced
    cold_above: int  # tokens above which there is a sweep if the provider's cache is cold
    compactions: list[CompactionInfo]  # those whose summaries are shown
    fault_tokens: int  # of results that were fetched again after they had been shortened

    @property
    def levels(self) -> dict[str, int]:
        """How many items are shown at each level of detail."""
        counts = Counter(line.lod.name.lower() for line in self.payload.plan.lines())
        return {level: counts[level] for level in ("full", "summary", "gist")}

    def lines(self, by: str) -> list[Line]:
        """The items that are shown, by "size" or in "order"."""
        lines = list(self.payload.plan.lines())
        return sorted(lines, key=lambda line: -line.tokens) if by == "size" else lines


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
            print_json(_facts(_preview(session, budget), by))
        else:
            print_context(console(), here.words, session, budget, by=by, every=every)


# ---------------------------------------------------------------------- numbers


def _preview(session: Session, budget: Budget) -> Preview:
    payload, last = session.preview(budget), session.receipt
    infos = {item.id: item for item in session.items.table()}
    if last is not None and not session.windows.apps:  # windows as they were sent, so their savings are those of then
        payload = replace(payload, spared=last.spared)
    plan = payload.plan
    summaries = {line.id for line in plan.lines() if line.kind is Kind.SUMMARY}
    reductions = {each.kind: each.removed for each in payload.reductions()}
    hidden = [infos[item_id] for kind in ("summaries", "trim") for item_id in reductions[kind]]
    room, focused = plan.limit - plan.fixed, session.settings.strategy == Focus.name
    forced = trigger(budget, plan.limit, plan.fixed + plan.base if plan.base else 0, plan.fixed)
    tokens, items = _by_kind(session, payload, infos)
    return Preview(
        session=session,
        budget=budget,
        payload=payload,
        infos=infos,
        factor=last.factor if last else 1.0,
        tokens=tokens,
        items=items,
        hidden_messages=sum(item.kind is not Kind.CALL for item in hidden),
        hidden_tokens=sum(item.full for item in hidden),
        sweep_above=int(forced) if focused else plan.limit,
        cold_above=int(plan.fixed + budget.target * room) if focused else plan.limit,
        compactions=[each for each in session.summaries if not summaries.isdisjoint(each.summaries)],
        fault_tokens=sum(infos[item_id].full for item_id in session.items.faults),
    )


def _by_kind(session: Session, payload: Payload, infos: Mapping[str, ItemInfo]) -> tuple[Counter[str], Counter[str]]:
    """Count the tokens and the items of a payload by kind, with what a provider adds to each message."""
    framing, windows = profile(session.settings.profile), payload.shown_windows.values()
    listed = {line.id for line in payload.plan.lines()}
    messages = [each for each in (*payload.system, *payload.body) if each.role is Role.SYSTEM and each.id not in listed]
    system = sum(infos[message.id].full + framing.message_tokens for message in messages)
    window_tokens = sum(session.count(text) + framing.message_tokens for text in windows)
    rest = payload.plan.fixed - system - window_tokens  # the tools, with what a provider adds to a request
    tokens = Counter(system=system, window=window_tokens, tools=rest)
    items = Counter(system=len(messages), window=len(windows), tools=len(payload.tools))
    for line in payload.plan.lines():
        kind = line.kind.name.lower()
        tokens[kind] += line.tokens + (framing.call_tokens if line.kind is Kind.CALL else framing.message_tokens)
        items[kind] += 1
    return tokens, items


def _facts(preview: Preview, by: str) -> dict[str, Any]:
    session, payload, plan = preview.session, preview.payload, preview.payload.plan
    return {
        "session": session.id,
        "branch": branch_label(session.branch),
        "window": preview.budget.window,
        "output": preview.budget.output,
        "limit": plan.limit,
        "tokens": plan.tokens,
        "free": plan.limit - plan.tokens,
        "factor": preview.factor,
        "sweep": plan.reason,
        "next_sweep": {"above": preview.sweep_above, "when_cold_above": preview.cold_above},
        "kinds": {
            kind: {"tokens": preview.tokens[kind], "items": preview.items[kind]}
            for kind in _KINDS
            if preview.items[kind]
        },
        "levels": preview.levels,
        "left_out": {"messages": preview.hidden_messages, "tokens": preview.hidden_tokens},
        "reductions": [
            {**each._asdict(), "off": each.kind not in session.settings.reductions} for each in payload.reductions()
        ],
        "marker": plan.marker,
        "summaries": [covered_facts(each) for each in preview.compactions],
        "faults": {"results": len(session.items.faults), "tokens": preview.fault_tokens},
        "items": [
            {**line._asdict(), "kind": line.kind.name.lower(), "lod": line.lod.name.lower()}
            for line in preview.lines(by)
        ],
    }


# ---------------------------------------------------------------------- for people


def print_context(out: Console, words: Phrases, session: Session, budget: Budget, *, by: str, every: bool) -> None:
    """Print what the model would see of a session now."""
    preview = _preview(session, budget)
    _print_tokens(out, words, preview)
    _print_kinds(out, words, preview)
    _print_remarks(out, words, preview)
    _print_reductions(out, words, preview)
    _print_items(out, words, preview, by, every=every)


def _print_tokens(out: Console, words: Phrases, preview: Preview) -> None:
    plan, session = preview.payload.plan, preview.session
    print_text(out, words("context heading", id=session.id, branch=branch_label(session.branch)), "bold")
    text = words("context tokens", tokens=plan.tokens, limit=plan.limit, free=plan.limit - plan.tokens)
    if f"{preview.factor:.2f}" != "1.00":
        text += words("context factor", factor=preview.factor)
    print_text(out, text)


def _print_kinds(out: Console, words: Phrases, preview: Preview) -> None:
    limit, plain = preview.payload.plan.limit, out.options.ascii_only
    out.print()
    rows = Rows(out, [
        Column(words("kind"), 10), Column(words("items"), 6, right=True, spare=2),
        Column(words("tokens"), 9, right=True), Column("", _BAR, spare=1), Column("", 4, right=True), Column(""),
    ], least=0)  # fmt: skip
    for kind in _KINDS:
        count, tokens = preview.items[kind], preview.tokens[kind]
        if count:
            drawn = Text(bar(tokens / limit, _BAR, plain=plain), style="green")
            rows.print(words("kind " + kind), f"{count:,}", f"{tokens:,}", drawn, f"{tokens / limit:.0%}", "")
    if preview.hidden_messages:
        count, tokens = preview.hidden_messages, preview.hidden_tokens
        drawn = Text(bar(tokens / limit, _BAR, plain=plain), style="dim")
        rows.print(words("left out"), f"{count:,}", f"{tokens:,}", drawn, "", "", style="dim")
    out.print()


def _print_remarks(out: Console, words: Phrases, preview: Preview) -> None:
    plan, faults = preview.payload.plan, preview.session.items.faults
    print_text(out, words("context levels", **preview.levels))
    if plan.marker:
        print_text(out, printable(plan.marker), "dim")
    for each in preview.compactions:
        print_text(out, covered_sentence(words, each))
    if faults:
        print_text(out, words("faults", count=len(faults), tokens=preview.fault_tokens))
    if plan.reason:
        print_text(out, words("sweep now", reason=words.reason(plan.reason)))
        return
    text = words("sweep later", above=preview.sweep_above, room=max(0, preview.sweep_above - plan.tokens))
    if plan.tokens > preview.cold_above:
        minutes = profile(preview.session.settings.profile).cache_seconds // 60
        text += " " + words("sweep when cold", minutes=minutes)
    print_text(out, text)


def _print_reductions(out: Console, words: Phrases, preview: Preview) -> None:
    """Print what was done to make the payload fit, and what is switched off."""
    on = preview.session.settings.reductions
    made = [each for each in preview.payload.reductions() if each.removed or each.kind not in on]
    if not made:
        return
    out.print()
    rows = Rows(out, [
        Column(words("reduction"), 21), Column(words("removed"), 8, right=True), Column(words("saved"), 9, right=True),
        Column(""),
    ], least=0)  # fmt: skip
    rows.print_titles()
    for each in made:
        off = "" if each.kind in on else words("off")
        rows.print(words("reduction " + each.kind), f"{len(each.removed):,}", f"{each.tokens:,}", off)


def _print_items(out: Console, words: Phrases, preview: Preview, by: str, *, every: bool) -> None:
    lines, session = preview.lines(by), preview.session
    shown = lines if every else lines[:_LARGEST]
    runs = {item_id: f"[#{each.first}–#{each.last}] " for each in preview.compactions for item_id in each.summaries}
    reasons = [Column(words("why"), 14, spare=2)] if any(line.why for line in shown) else []
    out.print()
    rows = Rows(out, [
        Column(words("item"), 10, right=True, style="cyan"), Column(words("kind"), 9), Column(words("level"), 8),
        Column(words("tokens"), 7, right=True), Column(words("of full"), 8, right=True, spare=1),
        *reasons, Column(words("says")),
    ])  # fmt: skip
    rows.print_titles()
    for line in shown:
        kind, lod = words("kind " + line.kind.name.lower()), words("level " + line.lod.name.lower())
        full = f"{line.full_tokens:,}" if line.full_tokens != line.tokens else ""
        text = runs.get(line.id, "") + item_words(session, preview.infos[line.id])
        rows.print(
            "#" + line.id, kind, lod, f"{line.tokens:,}", full, *([words.reason(line.why)] if reasons else []), text
        )
    if len(shown) < len(lines):
        print_text(out, words("more items", count=len(lines) - len(shown)), "dim")
