"""`sightline compact`: a summary in the place of the oldest messages."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
from msgspec.structs import replace
from rich.console import Console, Group
from rich.panel import Panel
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from sightline.cli.compaction_view import (
    Covered,
    Kept,
    Made,
    compactions,
    kept,
    loss_facts,
    made,
    print_loss,
    summary_text,
)
from sightline.cli.context import LastShown
from sightline.cli.external_model import Program
from sightline.cli.options import Place, branch_option, budget_options, known_budget, place, session_argument, with_json
from sightline.cli.phrases import Words
from sightline.cli.render import (
    Column,
    Rows,
    console,
    error_console,
    first_words,
    local_time,
    print_json,
    printable,
    tell,
)
from sightline.cli.sessions import branch_label, switch
from sightline.cli.wrap import prose
from sightline.compaction.compactor import SECONDS, Compacted
from sightline.errors import BadInput, Conflict
from sightline.files.folders import Folders, configured
from sightline.log.journal import Journal
from sightline.plan.budget import Budget
from sightline.session.session import Session
from sightline.values.clock import milliseconds, nanoid, wall_clock
from sightline.values.items import plain_text

_LINES = 14  # of a summary, and of what is kept, unless all is asked for


class Asked(NamedTuple):
    """What the command line says."""

    session_id: str | None
    window: int | None
    output: int | None
    command: str | None
    seconds: float
    dry_run: bool
    report: bool
    full: bool
    branch: str | None


class Done(NamedTuple):
    """A compaction, made or only tried, and what the session holds and shows after it."""

    session: str
    branch: str
    budget: Budget
    limit: int  # tokens that fit
    result: Compacted
    covered: Covered
    summary: str
    summary_tokens: int
    kept: list[Kept]
    command: str  # empty: by rule
    said: str  # what the command said on standard error
    request: int | None = None  # tokens that a model would be asked with, where it was only tried


@click.command(short_help="Put a summary in the place of the oldest messages.")
@session_argument
@budget_options
@click.option(
    "--with", "command", metavar="COMMAND", help="A program that writes the summary; else it is made by rule."
)
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), default=SECONDS, show_default=True, metavar="N",
    help="Seconds that COMMAND may take.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what it would do. Nothing is written, no program is run.")
@click.option("--report", is_flag=True, help="Show the compactions that the log holds, and what each hides.")
@click.option("--full", is_flag=True, help="The whole summary, and everything that is hidden.")
@branch_option
@with_json
def compact(as_json: bool, **options: Any) -> None:
    """Put a summary in the place of a session's oldest messages, from the next call on.

    The newest fifth of the messages stays as it is. What the user laid down stays word for word. What can no longer
    be read is listed; all of it is still in the log, and `sightline uncompact` brings it back.

    Without --with the summary is a digest made by rule. COMMAND is any program: it reads the request as OpenAI chat
    JSON ("messages", and "tools" where there are any) and prints the summary, or a provider's reply as JSON. If it
    fails, a digest takes its place, and the conversation goes on.

    \b
    Examples:
      sightline compact --dry-run
      sightline compact V1StGXR8 --with 'python summarise.py' --seconds 60
      sightline compact --report
    """
    here, asked = place(), Asked(**options)
    if asked.report and (asked.dry_run or asked.command):
        raise click.UsageError("--report shows what was done: it goes without --dry-run and --with")
    program = Program(asked.command) if asked.command is not None else None
    journal = here.journal(here.find(asked.session_id))
    switch(journal, asked.branch)
    if asked.report:
        _report(here, journal, asked, as_json)
        journal.store.close()
        return
    done = (_tried if asked.dry_run else _compacted)(here, journal, asked, program, quiet=as_json)
    if as_json:
        print_json(_facts(done, asked))
    else:
        _show(console(), here.words, done, asked)


# ---------------------------------------------------------------------- doing it


def _compacted(here: Place, journal: Journal, asked: Asked, program: Program | None, *, quiet: bool) -> Done:
    allowed = known_budget(journal, asked.window, asked.output)
    shown = _folders(here, program)
    with open_session(journal, shown) as session, _working(here, program, asked.seconds, quiet):
        try:
            result = session.summaries.compact(allowed, model=program, seconds=asked.seconds)
        except Conflict as error:
            why = "was written to while its summary was made, so nothing was changed; do it again when the agent rests"
            raise BadInput(f"session {session.id!r} {why}") from error
        finally:
            if program is not None:
                program.stop()
        return outcome(session, journal, allowed, result, program)


def _tried(here: Place, journal: Journal, asked: Asked, program: Program | None, *, quiet: bool) -> Done:
    """Compact a copy of the log by rule: exactly what would be covered, kept and hidden, and nothing is written."""
    allowed = known_budget(journal, asked.window, asked.output)
    shown = _folders(here, program)
    with _copy(journal) as copy, open_session(copy, shown) as session, _working(here, None, 0, quiet):
        job = session.summaries.preview(allowed)
        done = outcome(session, copy, allowed, session.summaries.compact(allowed), program)
        if program is None:
            return done
        question = sum(session.count(plain_text(message.parts)) for message in job.request.tail)
        result = replace(done.result, files=job.files)
        return done._replace(result=result, request=job.request.tokens + question)


def open_session(journal: Journal, folders: Folders = ()) -> Session:
    """`folders`: those whose files a program is shown."""
    return Session(journal, windows=LastShown(journal), clock=wall_clock, ids=nanoid, folders=folders)


def _folders(here: Place, program: Program | None) -> Folders:
    """Those whose files the program may be shown: none where the project's file does not say which."""
    if program is None:
        return ()
    try:
        return configured(Path(here.project))
    except BadInput as error:
        tell(str(error), "yellow")
        return ()


@contextmanager
def _copy(journal: Journal) -> Iterator[Journal]:
    """The same log in another place, to try things out on."""
    branch, session_id = journal.branch_name, journal.store.session_id
    with TemporaryDirectory() as directory:
        target = Path(directory) / f"{session_id}.jsonl"
        for suffix in (".jsonl", ".idx", ".blobs"):
            source = journal.store.side_file(suffix)
            if source is not None and source.exists():
                shutil.copyfile(source, target.with_suffix(suffix))
        journal.store.close()
        copy = Journal.open_file(target, clock=wall_clock, ids=nanoid, where=journal.where)
        copy.switch(branch)
        yield copy


def outcome(
    session: Session, journal: Journal, allowed: Budget, result: Compacted, program: Program | None = None
) -> Done:
    """A compaction as people are told of it; `journal` is the session's log, as it is after it."""
    after = session.preview(allowed)
    covered = next(each for each in compactions(journal) if each.boundary == result.boundary)
    summary = summary_text(journal, covered)
    return Done(
        session=session.id,
        branch=branch_label(session.branch),
        budget=allowed,
        limit=after.plan.limit,
        result=result,
        covered=covered,
        summary=summary,
        summary_tokens=session.count(summary),
        kept=kept(journal, covered, after),
        command=program.command if program is not None else "",
        said=program.said if program is not None else "",
    )


@contextmanager
def _working(here: Place, program: Program | None, seconds: float, quiet: bool) -> Iterator[None]:
    """A line on the terminal that says what it waits for and how long already; nothing where nobody watches."""
    screen = error_console()
    spinner = SpinnerColumn("line" if screen.options.ascii_only else "dots")
    columns = (spinner, TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    said = here.words("compacting")
    if program is not None:
        said = here.words("asking", command=first_words(program.command, 40), seconds=seconds)
    with Progress(*columns, console=screen, transient=True, disable=quiet or not screen.is_terminal) as progress:
        progress.add_task(said, total=None)
        yield


# ---------------------------------------------------------------------- for programs


def _facts(done: Done, asked: Asked) -> dict[str, Any]:
    result = done.result
    return {
        "session": done.session,
        "branch": done.branch,
        "dry_run": asked.dry_run,
        "window": done.budget.window,
        "output": done.budget.output,
        "limit": done.limit,
        "success": result.success,
        "error": result.error,
        "said": done.said,
        "by": "rule" if asked.dry_run or not (done.command and result.success) else "command",
        "boundary": None if asked.dry_run else result.boundary,
        "pre_tokens": result.pre_tokens,
        "post_tokens": result.post_tokens,
        "covered": {"first": done.covered.first, "last": done.covered.last, "messages": done.covered.messages},
        "summary": done.summary,
        "summary_tokens": done.summary_tokens,
        "request_tokens": done.request,
        "files": result.files,
        "kept": [each._asdict() for each in done.kept],
        "loss": loss_facts(result.loss),
    }


# ---------------------------------------------------------------------- for people


def _show(out: Console, words: Words, done: Done, asked: Asked) -> None:
    if not done.result.success:
        _warn(words, done, asked)
    print_outcome(out, words, done, tried=asked.dry_run, full=asked.full)
    out.print()
    prose(out, words("after dry run" if asked.dry_run else "after compact"), "dim")


def print_outcome(
    out: Console, words: Words, done: Done, *, tried: bool = False, full: bool = False, by_model: bool = False
) -> None:
    """What a compaction did: tokens, what it covers, the summary, what is kept word for word, what is hidden."""
    result = done.result
    heading = "would compact" if tried else "compacted"
    prose(out, words(heading, id=done.session, branch=done.branch), "bold")
    change = tokens_change(words, result.pre_tokens, result.post_tokens, done.limit)
    grown = result.post_tokens > result.pre_tokens
    prose(out, change, "yellow" if grown else "green")
    if grown:
        prose(out, words("grown"))
    prose(out, words("covered", **done.covered._asdict()))
    if done.request is not None:
        out.print(words("would ask", command=first_words(done.command), tokens=done.request), soft_wrap=True)
    if done.command and result.files:
        out.print(words("files included", files=printable(", ".join(result.files))), soft_wrap=True)
    out.print()
    _show_summary(out, words, done, full=full, by_rule=tried or not (done.command or by_model) or not result.success)
    out.print()
    _show_kept(out, words, done.kept, full=full)
    out.print()
    print_loss(out, words, result.loss, full=full)


def tokens_change(words: Words, pre: int, post: int, limit: int) -> str:
    """Tokens before and after, by how much that is less or more, and how many fit."""
    said = words("from to", pre=pre, post=post)
    if pre and pre != post:
        share = abs(pre - post) / pre
        said += words("less" if post < pre else "more", share=f"{share:.0%}" if share >= 0.01 else "<1%")
    return said + words("fitting", limit=limit)


def _warn(words: Words, done: Done, asked: Asked) -> None:
    screen = error_console()
    screen.print(words("no summary", error=printable(done.result.error)), style="yellow", soft_wrap=True)
    if done.said:
        screen.print(words("it said", words=first_words(done.said[-300:])), soft_wrap=True)
    again = f"sightline uncompact && sightline compact --with {shlex.quote(printable(done.command))}"
    screen.print(words("try again", command=again, seconds=f"{asked.seconds:g}"), soft_wrap=True)


def _show_summary(out: Console, words: Words, done: Done, *, full: bool, by_rule: bool) -> None:
    title = words("summary by rule" if by_rule else "summary by command", tokens=done.summary_tokens)
    lines = list(Text(printable(done.summary).expandtabs(4)).wrap(out, max(out.width - 4, 8)))
    shown = lines if full or len(lines) <= _LINES + 2 else lines[:_LINES]
    more = words("more lines", count=len(lines) - len(shown)) if len(shown) < len(lines) else None
    out.print(Panel(Group(*shown), title=title, title_align="left", subtitle=more, subtitle_align="left"))


def _show_kept(out: Console, words: Words, found: list[Kept], *, full: bool) -> None:
    if not found:
        prose(out, words("nothing to keep"))
        return
    prose(out, words("kept words", count=len(found)))
    rows = Rows(out, [Column("", 7, right=True, style="cyan"), Column("", 5), Column("")])
    for each in found if full else found[:_LINES]:
        if full:
            prose(out, printable(each.text), lead=(f"  #{each.id}  ", "cyan"))
        else:
            rows.print("#" + each.id, words("kept " + each.kind), first_words(each.text))
    if not full and len(found) > _LINES:
        out.print(words("more kept", count=len(found) - _LINES), style="dim", soft_wrap=True)


# ---------------------------------------------------------------------- what was done earlier


def _report(here: Place, journal: Journal, asked: Asked, as_json: bool) -> None:
    found, words = made(journal), here.words
    session, branch = journal.store.session_id, branch_label(journal.branch_name)
    if as_json:
        print_json({"session": session, "branch": branch, "compactions": [_made_facts(each) for each in found]})
        return
    out = console()
    if not found:
        out.print(words("never compacted", id=session), soft_wrap=True)
    for number, each in enumerate(found):
        if number:
            out.print()
        _show_made(out, words, each, full=asked.full)


def _made_facts(made: Made) -> dict[str, Any]:
    covered, metadata = made.covered, made.metadata
    return {
        "boundary": covered.boundary,
        "timestamp": made.timestamp,
        "state": covered.state,
        "trigger": metadata.trigger,
        "by": "rule" if made.by_rule else "model",
        "pre_tokens": metadata.pre_tokens,
        "post_tokens": metadata.post_tokens,
        "covered": {"first": covered.first, "last": covered.last, "messages": covered.messages},
        "summaries": list(covered.summaries),
        "files": metadata.files_included or [],
        "loss": None if made.loss is None else loss_facts(made.loss),
    }


def _show_made(out: Console, words: Words, made: Made, *, full: bool) -> None:
    covered, metadata = made.covered, made.metadata
    by = words("by rule" if made.by_rule else "by model")
    heading = words("made", when=_when(made.timestamp), by=by, state=words(covered.state))
    out.print(Text(heading, style="bold" if covered.state == "holds" else "dim"), soft_wrap=True)
    out.print(words("covered", **covered._asdict()), soft_wrap=True)
    if metadata.post_tokens is not None:
        out.print(words("estimated", pre=metadata.pre_tokens, post=metadata.post_tokens), soft_wrap=True)
    if metadata.files_included:
        out.print(words("files included", files=printable(", ".join(metadata.files_included))), soft_wrap=True)
    if made.loss is not None:
        print_loss(out, words, made.loss, full=full)


def _when(timestamp: str) -> str:
    try:
        return local_time(milliseconds(timestamp) / 1000)
    except ValueError:  # somebody wrote no time there
        return first_words(timestamp)
