"""`sightline context`: what the model would see now."""

from collections.abc import Sequence
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.text import Text

from sightline.cli.choices import branch_option, session_argument
from sightline.cli.compaction_view import covered_sentence
from sightline.cli.options import (
    budget_options,
    known_budget,
    place,
    with_json,
)
from sightline.cli.phrases import Phrases
from sightline.cli.render import Column, Rows, bar, console, print_json, print_table, print_text, printable
from sightline.cli.sessions import item_words
from sightline.log import branch_label
from sightline.plan import Budget
from sightline.plan.economies import THRIFTY_WINDOW
from sightline.session.session import Session
from sightline.view.context_facts import Context, ContextReduction, context_facts

_LARGEST = 12  # items listed unless all are asked for
_BAR = 30  # columns


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
            print_json(_as_json(session, context_facts(session, budget, by)))
        else:
            print_context(console(), here.words, session, budget, by=by, every=every)


def _as_json(session: Session, context: Context) -> dict[str, Any]:
    """Return what a context holds for programs, by the names that the command has for it."""
    facts = msgspec.to_builtins(context)
    del facts["hidden"]
    facts["sweep"] = facts.pop("reason")
    facts["items"] = [line | {"lod": line.pop("level")} for line in facts.pop("lines")]
    return {"session": session.id, "branch": branch_label(session.branch), **facts}


# ---------------------------------------------------------------------- for people


def print_context(out: Console, words: Phrases, session: Session, budget: Budget, *, by: str, every: bool) -> None:
    """Print what the model would see of a session now."""
    facts = context_facts(session, budget, by)
    print_text(out, words("context heading", id=session.id, branch=branch_label(session.branch)), "bold")
    factor = words("context factor", factor=facts.factor) if f"{facts.factor:.2f}" != "1.00" else ""
    heading = words("context tokens", tokens=facts.tokens, limit=facts.limit, free=facts.free)
    print_text(out, heading + _made_of(words, session, budget, facts.limit) + factor)
    _print_kinds(out, words, facts)
    _print_remarks(out, words, facts)
    _print_reductions(out, words, [reduction for reduction in facts.reductions if reduction.removed or reduction.off])
    key = "items in order" if by == "order" else "items by size"
    out.print()
    print_text(out, words(key), "bold")
    _print_items(out, words, session, facts, every=every)


def _made_of(words: Phrases, session: Session, budget: Budget, limit: int) -> str:
    """Return why the budget is less than the context window."""
    if budget == session.budget and not budget.output:  # the log has only what the last call was allowed in all
        return words("context as before")
    reserved = budget.window - budget.output - limit
    why = "context economy" if limit == THRIFTY_WINDOW else "context reserve"
    reserve = words(why, tokens=reserved) if reserved > 0 else ""
    return words("context window", window=budget.window, output=budget.output, reserve=reserve)


def _print_kinds(out: Console, words: Phrases, facts: Context) -> None:
    limit, plain = facts.limit, out.options.ascii_only
    out.print()
    rows = Rows(out, [
        Column(words("kind"), 10), Column(words("items"), 6, right=True, spare=2),
        Column(words("tokens"), 9, right=True), Column("", _BAR, spare=1), Column("", 4, right=True), Column(""),
    ], least=0)  # fmt: skip
    for kind, counts in facts.kinds.items():
        share = counts["tokens"] / limit
        drawn = Text(bar(share, _BAR, plain=plain), style="green")
        items = f"{counts['items']:,}" if counts["items"] else ""  # what a provider adds to a request is no item
        rows.print(words("kind " + kind), items, f"{counts['tokens']:,}", drawn, f"{share:.0%}", "")
    messages, tokens = facts.left_out["messages"], facts.left_out["tokens"]
    if messages:
        drawn = Text(bar(tokens / limit, _BAR, plain=plain), style="dim")
        rows.print(words("left out"), f"{messages:,}", f"{tokens:,}", drawn, "", "", style="dim")
    out.print()


def _print_remarks(out: Console, words: Phrases, facts: Context) -> None:
    tokens, faults, sweep = facts.tokens, facts.faults, facts.next_sweep
    print_text(out, words("context levels", **facts.levels))
    if facts.state is not None:
        state = msgspec.json.encode(facts.state).decode()
        print_text(out, printable(words("state", state=state, count=facts.unread)))
    if facts.marker:
        print_text(out, printable(facts.marker), "dim")
    for summary in facts.summaries:
        print_text(out, covered_sentence(words, msgspec.structs.asdict(summary)))
    if faults["results"]:
        print_text(out, words("faults", count=faults["results"], tokens=faults["tokens"]))
    if facts.reason:
        print_text(out, _change_sentence(words, facts.reason))
        return
    text = words("sweep later", above=sweep["above"], room=max(0, sweep["above"] - tokens))
    if tokens > sweep["when_cold_above"]:
        text += " " + words("sweep when cold", minutes=sweep["cold_after"] // 60)
    print_text(out, text)


def _change_sentence(words: Phrases, reason: str) -> str:
    """Say what the next call changes of what was sent: it shortens, or it shows more, as a command asked."""
    if reason == "command: uncompact":
        return words("uncompacted next")
    shortens = reason.startswith("sweep: ") and reason != "sweep: room"
    key = "sweep now" if shortens or reason == "command: compact" else "changed next"
    return words(key, reason=words.reason(reason))


def _print_reductions(out: Console, words: Phrases, made: Sequence[ContextReduction]) -> None:
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
            words("reduction " + reduction.kind), f"{len(reduction.removed):,}", f"{reduction.tokens:,}",
            words("off") if reduction.off else "",
        )
        for reduction in made
    ), least=0)  # fmt: skip


def _print_items(out: Console, words: Phrases, session: Session, facts: Context, *, every: bool) -> None:
    lines, infos = facts.lines, {item.id: item for item in session.items.table()}
    listed = lines if every else lines[:_LARGEST]
    runs = {id_: f"[#{summary.first}–#{summary.last}] " for summary in facts.summaries for id_ in summary.summaries}
    reasons = [Column(words("why"), 14, spare=2)] if any(line.why for line in listed) else []
    columns = (
        Column(words("item"), 10, right=True, style="cyan"), Column(words("kind"), 9), Column(words("level"), 8),
        Column(words("tokens"), 7, right=True), Column(words("of full"), 8, right=True, spare=1),
        *reasons, Column(words("says")),
    )  # fmt: skip
    print_table(out, columns, (
        (
            "#" + line.id, words("kind " + line.kind), words("level " + line.level), f"{line.tokens:,}",
            f"{line.full_tokens:,}" if line.full_tokens != line.tokens else "",
            *([words.reason(line.why)] if reasons else []),
            runs.get(line.id, "") + item_words(session, infos[line.id]),
        )
        for line in listed
    ))  # fmt: skip
    if len(listed) < len(lines):
        print_text(out, words("more items", count=len(lines) - len(listed)), "dim")
