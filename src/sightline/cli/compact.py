"""`sightline compact` and `sightline uncompact`: replace the oldest messages by a summary, and undo that."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
from msgspec.structs import replace

from sightline.cli.choices import branch_option, session_argument
from sightline.cli.compaction_view import (
    Report,
    constraint_facts,
    loss_facts,
    make_report,
    plain_errors,
    print_compactions,
    print_report,
    tokens_change,
)
from sightline.cli.external_model import Program
from sightline.cli.options import (
    Place,
    Seconds,
    budget_options,
    known_budget,
    place,
    with_json,
)
from sightline.cli.phrases import Phrases
from sightline.cli.render import (
    console,
    error_console,
    first_words,
    print_json,
    print_result,
    print_stderr,
    print_text,
    printable,
    progress,
)
from sightline.compaction.compactor import SECONDS
from sightline.errors import BadInput, Conflict, UnknownItem
from sightline.files.folders import Folders, configured
from sightline.log import branch_label
from sightline.log.stores.transfer import copy_session
from sightline.session.compactions import CompactionInfo
from sightline.session.session import Session
from sightline.values.items import Lod

_ITEM_ID = re.compile(r"#?\d+(?:\.\d+)?")


class CompactOptions(NamedTuple):
    """The command line of `compact`."""

    session_id: str | None
    window: int | None
    output: int | None
    command: str | None
    seconds: float
    dry_run: bool
    full: bool
    branch: str | None


@click.command(short_help="Replace the oldest messages by a summary.")
@session_argument
@budget_options
@click.option(
    "--with", "command", metavar="COMMAND", help="A program that writes the summary.  [default: made by rule]"
)
@click.option(
    "--seconds", type=Seconds(min=0, min_open=True), default=SECONDS, show_default=True, metavar="N",
    help="Time limit for COMMAND.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would be done. Nothing is written, COMMAND is not run.")
@click.option("--report", is_flag=True, help="Show the compactions in the log, and what each of them hides.")
@click.option("--full", is_flag=True, help="Show the whole summary, and everything that is hidden.")
@branch_option
@with_json
def compact(report: bool, as_json: bool, **arguments: Any) -> None:
    """Replace a session's oldest messages by a summary, from the next call on.

    The newest fifth of the messages that are shown is not summarised. The user's constraints and tasks stay visible
    word for word. The command lists what the model can no longer see; all of it stays in the log, and `sightline
    uncompact` shows it again.

    Without --with the summary is made by rule. COMMAND is any program: it reads the request as OpenAI chat JSON
    ("messages", and "tools" if there are any) and prints the summary, or a provider's reply as JSON. If it fails, a
    summary made by rule is used, and the conversation goes on.

    \b
    Examples:
      sightline compact --dry-run
      sightline compact V1StGXR8 --with 'python summarise.py' --seconds 60
      sightline compact --report
    """
    here, options = place(), CompactOptions(**arguments)
    if report:
        if options.dry_run or options.command:
            raise click.UsageError("--report shows what was done: it goes without --dry-run and --with")
        _list_compactions(here, options, as_json)
        return
    program = Program(options.command) if options.command is not None else None
    done = (_try if options.dry_run else _compact)(here, options, program, quiet=as_json)
    if as_json:
        print_json(_facts(done, options))
        return
    if not done.result.success:
        _warn(here.words, done, options)
    out = console()
    print_report(out, here.words, done, tried=options.dry_run, full=options.full)
    out.print()
    print_text(out, here.words("after dry run" if options.dry_run else "after compact"), "dim")


def _list_compactions(here: Place, options: CompactOptions, as_json: bool) -> None:
    with here.session(options.session_id, options.branch) as session:
        compactions, losses = list(session.summaries), session.summaries.losses()
    if as_json:
        facts = [
            {
                "boundary": compaction.boundary,
                "timestamp": compaction.timestamp,
                "state": compaction.state,
                "trigger": compaction.trigger,
                "by": "rule" if compaction.by_rule else "model",
                "pre_tokens": compaction.pre_tokens,
                "post_tokens": compaction.post_tokens,
                "covered": {"first": compaction.first, "last": compaction.last, "messages": compaction.messages},
                "summaries": compaction.summaries,
                "files": compaction.files,
                "loss": loss_facts(losses[compaction.boundary]) if compaction.boundary in losses else None,
            }
            for compaction in compactions
        ]
        print_json({"session": session.id, "branch": branch_label(session.branch), "compactions": facts})
    elif compactions:
        print_compactions(console(), here.words, compactions, losses, full=options.full)
    else:
        console().print(here.words("never compacted", id=session.id), soft_wrap=True)


# ---------------------------------------------------------------------- compacting


def _compact(here: Place, options: CompactOptions, program: Program | None, *, quiet: bool) -> Report:
    folders, text = _folders(here, program), here.words("compacting")
    if program is not None:
        text = here.words("asking", command=first_words(program.command, 40), seconds=options.seconds)
    with (
        here.session(options.session_id, options.branch, folders) as session,
        progress(error_console(), text, hidden=quiet),
    ):
        budget = known_budget(session, options.window, options.output)
        try:
            with plain_errors(here.words, session):
                result = session.summaries.compact(budget, model=program, seconds=options.seconds)
        except Conflict as error:
            why = "was written to while its summary was made, so nothing was changed; do it again when the agent rests"
            raise BadInput(f"session {session.id!r} {why}") from error
        finally:
            if program is not None:
                program.stop()
        return make_report(session, budget, result, program)


def _try(here: Place, options: CompactOptions, program: Program | None, *, quiet: bool) -> Report:
    """Compact a copy of the log by rule: exactly what would be covered, kept and hidden, and nothing is written."""
    session_id, folders = here.find(options.session_id), _folders(here, program)
    with _copy(here, session_id) as there, there.session(session_id, options.branch, folders) as session:
        budget = known_budget(session, options.window, options.output)
        with progress(error_console(), here.words("compacting"), hidden=quiet), plain_errors(here.words, session):
            job = session.summaries.preview(budget)
            report = make_report(session, budget, session.summaries.compact(budget), program)
    if program is None:
        return report
    return report._replace(result=replace(report.result, files=job.files), request_tokens=job.request.tokens)


def _folders(here: Place, program: Program | None) -> Folders:
    """Return the folders whose files the program may be shown: none if the project's file does not say which."""
    if program is None:
        return ()
    try:
        return configured(Path(here.project))
    except BadInput as error:
        print_stderr(str(error), "yellow")
        return ()


@contextmanager
def _copy(here: Place, session_id: str) -> Iterator[Place]:
    """Copy a session to a place of its own."""
    with TemporaryDirectory() as directory:
        there = here._replace(root=directory, store="")
        copy_session(here.stores, there.folder, session_id)
        yield there


def _warn(words: Phrases, report: Report, options: CompactOptions) -> None:
    screen = error_console()
    screen.print(words("no summary", error=printable(report.result.error)), style="yellow", soft_wrap=True)
    if report.stderr:
        screen.print(words("it said", words=first_words(report.stderr[-300:])), soft_wrap=True)
    again = f"sightline uncompact && sightline compact --with {shlex.quote(printable(report.command))}"
    screen.print(words("try again", command=again, seconds=f"{options.seconds:g}"), soft_wrap=True)


def _facts(report: Report, options: CompactOptions) -> dict[str, Any]:
    result, covered = report.result, report.covered
    return {
        "session": report.session,
        "branch": report.branch,
        "dry_run": options.dry_run,
        "window": report.budget.window,
        "output": report.budget.output,
        "limit": report.limit,
        "success": result.success,
        "error": result.error,
        "said": report.stderr,
        "by": "rule" if covered.by_rule else "command",
        "boundary": None if options.dry_run else result.boundary,
        "pre_tokens": result.pre_tokens,
        "post_tokens": result.post_tokens,
        "covered": {"first": covered.first, "last": covered.last, "messages": covered.messages},
        "summary": report.summary,
        "summary_tokens": report.summary_tokens,
        "request_tokens": report.request_tokens,
        "files": result.files,
        "kept": [constraint_facts(constraint) for constraint in report.constraints],
        "loss": loss_facts(result.loss),
    }


# ---------------------------------------------------------------------- undoing


@click.command(short_help="Undo the last compaction, or show one item again.")
@session_argument
@click.argument("item_id", metavar="[ID]", required=False)
@budget_options
@branch_option
@with_json
def uncompact(
    session_id: str | None,
    item_id: str | None,
    window: int | None,
    output: int | None,
    branch: str | None,
    as_json: bool,
) -> None:
    """Undo the last compaction: show again all messages that it replaced, or only one of them.

    A single number is the id of an item in the newest session. Messages that do not fit the budget are shortened as
    usual.

    \b
    Examples:
      sightline uncompact
      sightline uncompact 39
      sightline uncompact V1StGXR8 39 --window 32000
    """
    here = place()
    if item_id is None and session_id and _ITEM_ID.fullmatch(session_id) and not here.stores.has(session_id):
        session_id, item_id = None, session_id
    item_id = item_id and item_id.removeprefix("#")
    with here.session(session_id, branch) as session:
        covered = _to_undo(session, item_id)
        budget = known_budget(session, window, output)
        before = session.preview(budget).tokens
        session.summaries.undo(item_id)
        after = session.preview(budget)
    limit, in_full = after.plan.limit, {line.id for line in after.plan.lines() if line.lod is Lod.FULL}
    facts = {
        "session": session.id,
        "branch": branch_label(session.branch),
        "boundary": covered.boundary,
        "item": item_id,
        "shown": item_id is None or item_id in in_full,
        "pre_tokens": before,
        "post_tokens": after.tokens,
        "limit": limit,
    }
    key = "all brought back" if item_id is None else "brought back" if facts["shown"] else "will be brought back"
    done = here.words(key, **facts | covered._asdict())
    print_result(f"{done}\n{tokens_change(here.words, before, after.tokens, limit)}", facts, as_json=as_json)


def _to_undo(session: Session, item_id: str | None) -> CompactionInfo:
    """Return the compaction that is to be undone, or that covers this item. Raises BadInput."""
    words = place().words
    in_effect = [summary for summary in session.summaries if summary.state == "holds"]
    if not in_effect:
        raise BadInput(words("nothing compacted", session=session.id))
    if item_id is None:
        return in_effect[-1]
    try:
        covered = session.summaries.covering(item_id)
    except UnknownItem as error:
        raise BadInput(words("no such item", item=item_id, session=session.id)) from error
    if covered is None:
        runs = ", ".join(f"#{summary.first}–#{summary.last}" for summary in in_effect)
        raise BadInput(words("item not covered", item=item_id, runs=runs))
    return covered
