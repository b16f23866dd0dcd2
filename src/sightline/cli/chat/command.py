"""`sightline chat`: what the command line says, and which of its two ways it goes."""

import asyncio
import sys
from typing import Any, NamedTuple

import click

from sightline.cli.apps import quiet
from sightline.cli.chat.words import WORDS
from sightline.cli.options import Place, file_bytes, language_said, place, with_json
from sightline.cli.words import Words
from sightline.errors import BadInput

_PARTS = ("prompt_toolkit", "httpx2", "langgraph")  # what the extra `chat` brings


class Asked(NamedTuple):
    """What the command line says."""

    go_on: bool = False  # --continue
    resume: str | None = None
    model: str | None = None
    strategy: str | None = None
    budget: int | None = None
    output: int | None = None
    question: str | None = None
    allow_python: bool = False
    no_tools: bool = False
    trust: bool = False
    language_said: bool = False  # else the configuration may say another


@click.command(short_help="Talk to a model in the terminal.")
@click.option("--continue", "-c", "go_on", is_flag=True, help="Go on with the newest session of the project.")
@click.option("--resume", metavar="ID", help="Go on with this session; the beginning of its id is enough.")
@click.option("-m", "--model", metavar="NAME", help="The model to ask; else as sightline.toml or the environment say.")
@click.option("--strategy", metavar="NAME", help="Who decides what the model sees.")
@click.option("--budget", type=int, metavar="TOKENS", help="The window to fill at most; else all the model takes.")
@click.option("--output", type=int, metavar="TOKENS", help="Tokens of it kept for the answer.")
@click.option("-p", "--print", "question", metavar="QUESTION", help="Ask this, print the answer, and end.")
@click.option("--allow-python", is_flag=True, help="Let the model run Python, without network and within limits.")
@click.option("--no-tools", is_flag=True, help="Give the model no tools.")
@click.option("--trust", is_flag=True, help="Obey this project's sightline.toml, as it is now, without asking.")
@with_json
def chat(as_json: bool, **options: Any) -> None:
    """Talk to a model in the terminal. It can read the files of the project; everything said is kept.

    The model is the one that sightline.toml or the environment name, else one that runs on this machine. Ctrl-C stops
    an answer, Ctrl-D leaves; /help lists what else can be typed. With -p one question is asked, to which what comes
    through a pipe is added; the exit code is 1 where it could not be answered. --json needs -p.

    \b
    Examples:
      sightline chat
      sightline chat --continue --model gpt-5-mini
      cat error.log | sightline chat -p "What went wrong here?" --json
    """
    here, asked = place(), Asked(**options, language_said=language_said())
    if asked.go_on and asked.resume:
        raise click.UsageError("--continue is the newest session, --resume the one named: say one of them")
    if as_json and asked.question is None:
        raise click.UsageError("--json prints the answer to one question: add -p QUESTION")
    with quiet():
        ended_well = asyncio.run(_run(here, asked, as_json))
    if not ended_well:
        click.get_current_context().exit(1)


async def _run(here: Place, asked: Asked, as_json: bool) -> bool:
    talks = asked.question is None
    if talks and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(Words(here.words.language, WORDS)("no terminal"))
    try:
        from sightline.cli.chat.assembled import assembled
        from sightline.cli.chat.once import ask

        if talks:
            from sightline.cli.chat.terminal import talk
        made = await assembled(here, asked)
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    try:
        if not talks:
            return await ask(made, _question(asked), as_json=as_json)
        await talk(made, sought=asked.go_on or asked.resume is not None)
        return True
    finally:
        await made.close()


def _question(asked: Asked) -> str:
    """What is asked, and below it what comes through a pipe."""
    piped = "" if sys.stdin.isatty() else file_bytes("-").decode("utf-8", "replace")
    question = f"{asked.question}\n\n{piped}" if piped.strip() else asked.question or ""
    if not question.strip():
        raise click.UsageError("-p needs a question")
    return question


def _missing(error: ModuleNotFoundError) -> Exception:
    """What to install, where it is a part of the chat that is missing."""
    package = (error.name or "").partition(".")[0]
    if not package:  # the library has said so already
        return BadInput(str(error))
    if package not in _PARTS:
        return error
    return BadInput(f"sightline chat needs {package}: pip install 'sightline[chat]'")
