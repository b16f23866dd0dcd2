"""`sightline chat`: its options, and the two ways it goes: a conversation in a terminal, or one question of a script.

What needs the packages of the extra `chat` is imported in functions, so that the other commands work without them.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from msgspec.structs import asdict

from sightline.agent.events import Answer, PayloadComposed, RetryScheduled, ToolFinished
from sightline.cli.apps import quiet
from sightline.cli.choices import complete_sessions
from sightline.cli.options import DEBUG, Place, is_language_given, place, with_json
from sightline.cli.phrases import Phrases
from sightline.cli.render import human_size, print_json, print_stderr, printable
from sightline.documents.saved_code import saved_in
from sightline.errors import BadInput, NoModel, PinnedOverflow, SightlineError
from sightline.values.items import Usage

if TYPE_CHECKING:
    from sightline.cli.chat.setup import ChatSetup
    from sightline.cli.chat.status import ShortenedQuestion

SUMMARY_SECONDS = 30.0  # that a script's process stays for a summary, at most
MOST_PIPED = 10_000_000  # bytes: some two million tokens


class ChatOptions(NamedTuple):
    """The command line of a chat."""

    continue_: bool = False
    resume: str | None = None
    model: str | None = None
    strategy: str | None = None
    window: int | None = None
    output: int | None = None
    rounds: int | None = None
    question: str | None = None
    allow_edit: bool = False
    allow_python: bool = False
    allow_shell: bool = False
    no_tools: bool = False
    trust: bool = False
    as_json: bool = False
    first: str | None = None  # a question to begin with, in a terminal
    language_given: bool = False  # if not, the configuration may name a language


def with_tool_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which tools the model gets."""
    for option in (
        click.option("--no-tools", is_flag=True, help="Give the model no tools."),
        click.option(
            "--allow-shell", is_flag=True, help="Let the model run a shell, without network, on copies of files."
        ),
        click.option(
            "--allow-python", is_flag=True, help="Let the model run Python, without network, on copies of files."
        ),
        click.option("--allow-edit", is_flag=True, help="Let the model edit the files that it may read."),
    ):
        command = option(command)
    return command


@click.command(short_help="Talk to a model in the terminal.")
@click.argument("words", nargs=-1, metavar="[QUESTION]")
@click.option("--continue", "-c", "continue_", is_flag=True, help="Go on with the newest session of the project.")
@click.option(
    "--resume",
    metavar="ID",
    shell_complete=complete_sessions,
    help="Go on with this session; the beginning of its id is enough.",
)
@click.option(
    "-m", "--model", metavar="NAME", help="The model to ask.  [default: as sightline.toml or the environment say]"
)
@click.option("--strategy", metavar="NAME", help="The strategy: `sightline strategies` lists them.")
@click.option("--window", "--budget", type=int, metavar="TOKENS", help="Context window to use.")
@click.option("--output", type=int, metavar="TOKENS", help="Tokens of the context window reserved for the answer.")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    metavar="N",
    help="How often the model may ask for tools before it answers.  [default: as sightline.toml says, else 12]",
)
@click.option("-p", "--print", "question", metavar="QUESTION", help="Ask one question, print the answer, and end.")
@with_tool_options
@click.option("--trust", is_flag=True, help="Allow this project's sightline.toml, as it is now, and AGENTS.md.")
@with_json
def chat(words: tuple[str, ...], **arguments: Any) -> None:
    """Talk to a model in the terminal. The model can read the files of the project, and with --allow-edit change them.

    The whole conversation is stored as a session. The model is the one that sightline.toml or the environment name,
    else one that runs on this machine. Ctrl-C stops an answer, Ctrl-D ends the chat; /help lists what else you can
    type. A QUESTION is asked at once, and the chat goes on. Where there is no terminal, and with --json, it is answered
    as with -p, which asks one question and ends; piped input is added to it; the exit code is 1 if there is no answer.

    \b
    Examples:
      sightline chat "Which tests are slow?"
      sightline chat --continue --model gpt-5-mini
      cat error.log | sightline chat -p "What went wrong here?" --json
    """
    here, options = place(), ChatOptions(**arguments, language_given=is_language_given())
    _check_project(here)
    options = _with_question(options, " ".join(words) if words else None)
    if options.continue_ and options.resume:
        raise click.UsageError("--continue is the newest session, --resume the one named: say one of them")
    if options.as_json and options.question is None:
        raise click.UsageError("--json prints the answer to one question: add a QUESTION")
    with quiet():
        succeeded = asyncio.run(_run_and_report(here, options))
    if not succeeded:
        click.get_current_context().exit(1)


def _check_project(here: Place) -> None:
    """Raise BadInput if there is no such folder: a model would find no files there, and nobody would know why."""
    if not Path(here.project).is_dir():
        raise BadInput(here.words("no project", project=printable(here.project)))


def _with_question(options: ChatOptions, question: str | None) -> ChatOptions:
    """Take a question of the command line: the first of a chat in a terminal, else the only one, as with -p."""
    if question is None:
        return options
    if options.question is not None:
        raise click.UsageError("-p has the question already: say it once")
    if options.as_json or not _in_terminal():
        return options._replace(question=question)
    if not question.strip():
        raise click.UsageError("the question is empty")
    return options._replace(first=question)


def _in_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


async def _run_and_report(here: Place, options: ChatOptions) -> bool:
    """Run the chat and return whether it succeeded. With --json an error is an object; a missing model is a list of
    ways to get one, not the one line of other errors.
    """
    try:
        return await _run(here, options)
    except (SightlineError, OSError) as error:
        if options.as_json:
            _print_error_object(error)
            return False
        if not isinstance(error, NoModel) or _is_debug():
            raise
        print_stderr(str(error), "red")
        return False


async def _run(here: Place, options: ChatOptions) -> bool:
    talks = options.question is None
    if talks and not _in_terminal():
        raise BadInput(Phrases(here.words.language, "chat")("no terminal"))
    from sightline.cli.chat.setup import prepare

    if talks:
        from sightline.cli.chat.terminal import talk
    setup = await prepare(here, options)
    try:
        if not talks:
            return await _ask(setup, options)
        await talk(setup, resumes=options.continue_ or options.resume is not None, first=options.first)
        return True
    finally:
        await setup.close()


# ---------------------------------------------------------------------- one question of a script


async def _ask(setup: "ChatSetup", options: ChatOptions) -> bool:
    """Ask one question and print the answer. Return whether it was answered."""
    answered = False
    if options.continue_ and not setup.continued:
        setup.agent.warnings.insert(0, setup.here.words("nothing to continue"))
    if not options.as_json:
        for warning in setup.take_warnings():
            print_stderr(warning, "yellow")
    try:
        answered = await _print_answer(setup, _question(options.question or ""), as_json=options.as_json)
    except (SightlineError, OSError) as error:
        if not options.as_json:
            raise
        session, model = setup.agent.session.id, setup.agent.model.info.name
        _print_error_object(error, session, model, await _last_warnings(setup))
    finally:
        if not answered:
            setup.mark_unanswered()
    if answered:
        await _summarise(setup)
    return answered


async def _summarise(setup: "ChatSetup") -> None:
    """Make the summary that the strategy wants by now, after the answer was printed: nobody waits for that.

    If it takes longer than the limit it is given up, and the next run begins it again.
    """
    sys.stdout.flush()
    if setup.agent.compact_in_background():
        await asyncio.to_thread(setup.agent.session.summaries.wait, SUMMARY_SECONDS)


def _question(question: str) -> str:
    """Return the question, and below it what comes through a pipe. Raises BadInput for more than any model reads."""
    piped = ""
    if not sys.stdin.isatty():
        data = sys.stdin.buffer.read(MOST_PIPED + 1)
        if len(data) > MOST_PIPED:
            raise BadInput(
                f"more than {human_size(MOST_PIPED)} come through the pipe; send less, or name a file to read"
            )
        piped = data.decode("utf-8", "replace")
    text = f"{question}\n\n{piped}" if piped.strip() else question
    if not text.strip():
        raise click.UsageError("the question is empty")
    return text


async def _last_warnings(setup: "ChatSetup") -> list[str]:
    """Wait for the work in the background, and return what the user has not been told about the agent yet."""
    await setup.agent.finish()
    return [*setup.warned, *setup.take_warnings()]


async def _print_answer(setup: "ChatSetup", question: str, *, as_json: bool) -> bool:
    """Ask, and print the answer. Return whether there is one; why not is said on standard error."""
    from sightline.cli.chat.screen import error_text, failure_hint, failure_text

    try:
        answer, calls, shortened = await _respond(setup, question, quiet=as_json)
    except PinnedOverflow as error:
        raise BadInput(error_text(error, setup.here.words)) from error
    if as_json:
        facts = _facts(setup, answer, calls, shortened)
        print_json(facts | {"warnings": [*await _last_warnings(setup), *answer.warnings]})
    elif answer.success:
        text = setup.resolve_tags(answer.text)
        click.echo(printable(text) if sys.stdout.isatty() else text)  # a pipe gets the text as it is
        stop = [setup.here.words(f"stop {answer.stop}")] if answer.stop else []
        for warning in (*stop, *answer.warnings):
            print_stderr(warning, "yellow")
    elif answer.error:
        print_stderr(failure_text(answer, setup.here.words), "red")
        if hint := failure_hint(answer, setup.here.words, "script"):
            print_stderr(hint, "yellow")
    return answer.success and answer.stop != "refused"


async def _respond(
    setup: "ChatSetup", question: str, *, quiet: bool
) -> "tuple[Answer, list[ToolFinished], ShortenedQuestion | None]":
    """Ask. Return the answer, the calls of tools before it, and how the question was shortened if it was.

    Unless `quiet`, standard error says that a model is asked again or that the question was shortened.
    """
    from sightline.cli.chat.screen import retry_text
    from sightline.cli.chat.status import shortened_question

    words, answer, calls, shortened = setup.here.words, Answer(False), [], None
    async for event in setup.agent.stream(question):
        warning = ""
        match event:
            case ToolFinished():
                calls.append(event)
            case Answer():
                answer = event
            case PayloadComposed() if shortened is None:
                shortened = shortened_question(setup.agent)
                warning = shortened.sentence(words) if shortened is not None else ""
            case RetryScheduled():
                warning = retry_text(event, words)
        if warning and not quiet:
            print_stderr(warning, "yellow")
    return answer, calls, shortened


def _facts(
    setup: "ChatSetup", answer: Answer, calls: Sequence[ToolFinished], shortened: "ShortenedQuestion | None"
) -> dict[str, Any]:
    from sightline.cli.chat.screen import call_error

    return error_object(answer.error, setup.agent.session.id, setup.agent.model.info.name) | {
        "success": answer.success,
        "answer": answer.text,
        "rounds": answer.rounds,
        "usage": asdict(answer.usage or Usage(0, 0)),
        "cost": answer.cost,
        "stop": answer.stop,
        "saved": [
            {
                "id": saved.code_id,
                "language": saved.language,
                "description": saved.description,
                "file": setup.file_of(saved),
            }
            for saved in saved_in(answer)
        ],
        "calls": [
            {"name": finished.call.name, "input": finished.call.input, "error": call_error(finished)}
            for finished in calls
        ],
        **({"shown": {"question": shortened.tokens, "seen": shortened.shown}} if shortened else {}),
    }


def error_object(error: str, session: str = "", model: str = "") -> dict[str, Any]:
    """Return the object that --json promises, for a question that was not answered."""
    return {
        "success": False,
        "answer": "",
        "error": error,
        "session": session,
        "model": model,
        "rounds": 0,
        "usage": asdict(Usage(0, 0)),
        "cost": None,
        "stop": "",
        "warnings": [],
        "saved": [],
        "calls": [],
    }


def _print_error_object(
    error: SightlineError | OSError, session: str = "", model: str = "", warnings: Sequence[str] = ()
) -> None:
    """Print the object that --json promises. With --debug the error is also raised."""
    if isinstance(error, BrokenPipeError):
        raise error
    print_json(error_object(str(error), session, model) | {"warnings": warnings})
    if _is_debug():
        raise error


def _is_debug() -> bool:
    return bool(click.get_current_context().meta.get(DEBUG))
