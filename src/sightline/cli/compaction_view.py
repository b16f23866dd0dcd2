"""How compactions are shown: one that was just made, and those of a session, with what each covers and hides."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text

from sightline.cli.external_model import Program
from sightline.cli.phrases import Phrases
from sightline.cli.render import Column, Rows, first_words, local_time, print_text, printable
from sightline.compaction import prompt
from sightline.compaction.compactor import Compacted
from sightline.compaction.loss import Loss
from sightline.errors import BadInput, NotShorter
from sightline.log import branch_label
from sightline.plan import Budget
from sightline.session.compactions import CompactionInfo
from sightline.session.items import Constraint
from sightline.session.session import Session
from sightline.values.clock import known_milliseconds
from sightline.values.found_mark import mark_found
from sightline.values.items import plain_text
from sightline.wire.payload import Payload

_LINES = 14  # of a summary, and of the constraints, unless all are asked for
_GRAVE = frozenset({"constraints"})  # kinds of loss that a user would not forgive


class Report(NamedTuple):
    """A compaction that was just made, perhaps on a copy, and what the session shows after it."""

    session: str
    branch: str
    budget: Budget
    limit: int  # tokens that fit
    result: Compacted
    covered: CompactionInfo
    summary: str
    summary_tokens: int
    constraints: list[Constraint]  # the user's constraints among what it covers, still shown word for word
    command: str  # the program that was asked; empty if there is none
    stderr: str  # the end of what that program wrote on standard error
    request_tokens: int | None = None  # of the question to the program, if it was only tried


@contextmanager
def plain_errors(words: Phrases, session: Session) -> Iterator[None]:
    """Say why nothing can be compacted in the words of the command line or of a chat, not of the library."""
    if "summaries" not in session.settings.reductions:
        raise BadInput(words("summaries off"))
    try:
        yield
    except NotShorter as error:
        if session.settings.locale == words.language:  # then it also says why a model's summary was not used
            raise
        raise NotShorter(prompt.not_shorter(words.language)) from error
    except BadInput as error:
        again = any(summary.state == "holds" for summary in session.summaries)
        raise BadInput(prompt.too_little(words.language) + (words("compact again") if again else "")) from error


def make_report(session: Session, budget: Budget, result: Compacted, program: Program | None = None) -> Report:
    """Collect what people are told of a compaction that was just made."""
    after = session.preview(budget)
    covered = next(summary for summary in session.summaries if summary.boundary == result.boundary)
    summary = summary_text(session, covered)
    return Report(
        session=session.id,
        branch=branch_label(session.branch),
        budget=budget,
        limit=after.plan.limit,
        result=result,
        covered=covered,
        summary=summary,
        summary_tokens=session.count(summary),
        constraints=_shown_constraints(session, covered, after),
        command=program.command if program is not None else "",
        stderr=program.stderr if program is not None else "",
    )


def summary_text(session: Session, info: CompactionInfo) -> str:
    """Return the text that replaces what a compaction covers."""
    return "\n\n".join(session.items.text(item_id) for item_id in info.summaries)


def _shown_constraints(session: Session, covered: CompactionInfo, after: Payload) -> list[Constraint]:
    """Return the constraints in what a compaction covers that a payload shows word for word, each once."""
    ids = [item.id for item in session.items.table()]
    inside = set(ids[ids.index(covered.first) : ids.index(covered.last) + 1])
    sent_text = "\n".join(plain_text(message.parts) for message in after.body)
    by_text: dict[str, Constraint] = {}
    for constraint in session.items.constraints():
        if constraint.id in inside and constraint.text in sent_text:
            by_text.setdefault(constraint.text, constraint)
    return list(by_text.values())


# ---------------------------------------------------------------------- one that was just made


def print_report(
    out: Console, words: Phrases, report: Report, *, tried: bool = False, full: bool = False, heading: str = ""
) -> None:
    """Print what a compaction did: tokens, what it covers, the summary, the constraints, what is hidden.

    `heading` replaces the first lines, which say what was compacted and how its tokens changed.
    """
    result = report.result
    if heading:
        print_text(out, printable(heading))
    else:
        title = words("would compact" if tried else "compacted", id=report.session, branch=report.branch)
        print_text(out, title, "bold")
        change = tokens_change(words, result.pre_tokens, result.post_tokens, report.limit)
        print_text(out, change, "green")
    print_text(out, _said("covered", words, report.covered._asdict()))
    if report.request_tokens is not None:
        question = words("would ask", command=first_words(report.command), tokens=report.request_tokens)
        out.print(question, soft_wrap=True)
    if report.command and result.files:
        out.print(words("files included", files=printable(", ".join(result.files))), soft_wrap=True)
    out.print()
    _print_summary(out, words, report, full=full)
    out.print()
    _print_constraints(out, words, report.constraints, full=full)
    out.print()
    print_loss(out, words, result.loss, full=full)


def tokens_change(words: Phrases, pre: int, post: int, limit: int) -> str:
    """Return a sentence: tokens before and after, by how much that is less or more, and how many fit."""
    text = words("from to", pre=pre, post=post)
    if pre and pre != post:
        share = abs(pre - post) / pre
        text += words("less" if post < pre else "more", share=f"{share:.0%}" if share >= 0.01 else "<1%")
    return text + words("fitting", limit=limit)


def _print_summary(out: Console, words: Phrases, report: Report, *, full: bool) -> None:
    title = words("summary by rule" if report.covered.by_rule else "summary by command", tokens=report.summary_tokens)
    lines = list(Text(printable(report.summary).expandtabs(4)).wrap(out, max(out.width - 4, 8)))
    visible = lines if full or len(lines) <= _LINES + 2 else lines[:_LINES]
    more = words("more lines", count=len(lines) - len(visible)) if len(visible) < len(lines) else None
    out.print(Panel(Group(*visible), title=title, title_align="left", subtitle=more, subtitle_align="left"))


def constraint_facts(constraint: Constraint) -> dict[str, Any]:
    """Return a constraint as JSON. Only of one that a model found it says so."""
    facts = constraint._asdict()
    return facts if constraint.by_model else {key: facts[key] for key in ("id", "text", "revoked")}


def _print_constraints(out: Console, words: Phrases, constraints: list[Constraint], *, full: bool) -> None:
    if not constraints:
        print_text(out, words("nothing to keep"))
        return
    print_text(out, words("kept words", count=len(constraints)))
    rows = Rows(out, [Column("", 7, right=True, style="cyan"), Column("")])
    for constraint in constraints if full else constraints[:_LINES]:
        text = (
            mark_found(constraint.text, constraint.reading, words.language) if constraint.by_model else constraint.text
        )
        if full:
            print_text(out, printable(text), lead=(f"  #{constraint.id}  ", "cyan"))
        else:
            rows.print("#" + constraint.id, first_words(text))
    if not full and len(constraints) > _LINES:
        out.print(words("more kept", count=len(constraints) - _LINES), style="dim", soft_wrap=True)


# ---------------------------------------------------------------------- those of a session


def covered_sentence(words: Phrases, covered: dict[str, Any]) -> str:
    """Return a sentence that says which messages a summary replaces: those of this `CompactionInfo` as a dict."""
    return _said("stands for", words, covered | {"summaries": ", ".join(f"#{id_}" for id_ in covered["summaries"])})


def _said(key: str, words: Phrases, covered: dict[str, Any]) -> str:
    """Return the sentence of this key for one message, or for several."""
    return words(f"{key} one" if covered["messages"] == 1 else key, **covered)


def loss_facts(loss: Loss) -> dict[str, Any]:
    """Return a loss report for programs: every kind, also those of which nothing is hidden."""
    return {kind: {"count": lost.count, "named": list(lost.named)} for kind, lost in loss.kinds().items()}


def print_compactions(
    out: Console, words: Phrases, compactions: list[CompactionInfo], losses: Mapping[int, Loss], *, full: bool
) -> None:
    """Print each compaction: when it was made, what it covers, and what it hid."""
    for number, info in enumerate(compactions):
        if number:
            out.print()
        by, style = words("by rule" if info.by_rule else "by model"), "bold" if info.state == "holds" else "dim"
        heading = words("made", when=_when(info.timestamp), by=by, state=words(info.state))
        out.print(Text(heading, style=style), soft_wrap=True)
        out.print(_said("covered", words, info._asdict()), soft_wrap=True)
        if info.post_tokens is not None:
            out.print(words("tokens then", pre=info.pre_tokens, post=info.post_tokens), soft_wrap=True)
        if info.files:
            out.print(words("files included", files=printable(", ".join(info.files))), soft_wrap=True)
        if info.boundary in losses:
            print_loss(out, words, losses[info.boundary], full=full)


def _when(timestamp: str) -> str:
    moment = known_milliseconds(timestamp)
    return first_words(timestamp) if moment is None else local_time(moment / 1000)


def print_loss(out: Console, words: Phrases, loss: Loss, *, full: bool = False) -> None:
    """Print a loss report: a row for each kind, or a line that says that nothing is hidden."""
    if not loss:
        print_text(out, words("nothing lost"), "green")
        return
    print_text(out, words("lost"))
    rows = Rows(out, [Column(words("kind"), 12), Column(words("how many"), 8, right=True), Column(words("the first"))])
    rows.print_titles()
    hidden = {kind: lost for kind, lost in loss.kinds().items() if lost.count}
    for kind, lost in hidden.items():
        style, named = "red" if kind in _GRAVE else "", [first_words(name) for name in lost.named]
        rows.print(words("lost " + kind), f"{lost.count:,}", "" if full else "  ".join(named), style=style)
        for name in named if full else ():
            out.print(Text(f"  {name}", style="dim"), soft_wrap=True)
