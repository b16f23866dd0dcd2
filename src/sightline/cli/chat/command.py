"""`sightline chat`: what the command line says, and which of its two ways it goes."""

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from sightline.cli.apps import quiet
from sightline.cli.chat.asked import Asked
from sightline.cli.chat.phrases import WORDS
from sightline.cli.options import DEBUG, Place, language_said, place, with_json
from sightline.cli.phrases import Words
from sightline.cli.render import print_json, tell
from sightline.errors import BadInput, NoModel, SightlineError
from sightline.values.items import Usage

if TYPE_CHECKING:
    from sightline.cli.chat.setup import Assembled

_PARTS = ("prompt_toolkit", "httpx2", "langgraph")  # what the extra `chat` brings


@click.command(short_help="Talk to a model in the terminal.")
@click.option("--continue", "-c", "go_on", is_flag=True, help="Go on with the newest session of the project.")
@click.option("--resume", metavar="ID", help="Go on with this session; the beginning of its id is enough.")
@click.option("-m", "--model", metavar="NAME", help="The model to ask; else as sightline.toml or the environment say.")
@click.option("--strategy", metavar="NAME", help="Who decides what the model sees.")
@click.option("--budget", type=int, metavar="TOKENS", help="The window to fill at most; else all the model takes.")
@click.option("--output", type=int, metavar="TOKENS", help="Tokens of it kept for the answer.")
@click.option("-p", "--print", "question", metavar="QUESTION", help="Ask this, print the answer, and end.")
@click.option("--allow-edit", is_flag=True, help="Let the model change the files that it may read, in the editor.")
@click.option("--allow-python", is_flag=True, help="Let the model run Python, without network and within limits.")
@click.option("--no-tools", is_flag=True, help="Give the model no tools.")
@click.option("--trust", is_flag=True, help="Obey this project's sightline.toml, as it is now, without asking.")
@with_json
def chat(**options: Any) -> None:
    """Talk to a model in the terminal. It can read the files of the project, and with --allow-edit change them;
    everything said is kept.

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
    if asked.as_json and asked.question is None:
        raise click.UsageError("--json prints the answer to one question: add -p QUESTION")
    with quiet():
        ended_well = asyncio.run(_told(here, asked))
    if not ended_well:
        click.get_current_context().exit(1)


async def _told(here: Place, asked: Asked) -> bool:
    """Do what is asked. Where no model is there, the ways to one are a list, and not the one line of other errors."""
    try:
        return await _run(here, asked)
    except (SightlineError, OSError) as error:
        if asked.as_json:
            return _told_as_object(error)
        if not isinstance(error, NoModel) or click.get_current_context().meta.get(DEBUG):
            raise
        tell(str(error), "red")
        return False


def _told_as_object(error: SightlineError | OSError, session: str = "", model: str = "") -> bool:
    """Print the object that --json promises, for a question that could not be asked. With --debug it is raised too."""
    if isinstance(error, BrokenPipeError):
        raise error
    print_json(failed(str(error), session, model))
    if click.get_current_context().meta.get(DEBUG):
        raise error
    return False


def failed(error: str, session: str = "", model: str = "") -> dict[str, Any]:
    """The object of an answer, with nothing in it but why."""
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


async def _run(here: Place, asked: Asked) -> bool:
    talks = asked.question is None
    if talks and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(Words(here.words.language, WORDS)("no terminal"))
    try:
        from sightline.cli.chat.setup import assembled

        if talks:
            from sightline.cli.chat.terminal import talk
        made = await assembled(here, asked)
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    try:
        if not talks:
            return await _answered(made, asked)
        await talk(made, sought=asked.go_on or asked.resume is not None)
        return True
    finally:
        await made.close()


async def _answered(made: "Assembled", asked: Asked) -> bool:
    """Ask one question. Whether it was answered."""
    from sightline.cli.chat.one_shot import ask

    answered = False
    try:
        answered = await ask(made, _question(asked), as_json=asked.as_json)
    except (SightlineError, OSError) as error:
        if not asked.as_json:
            raise
        _told_as_object(error, made.agent.session.id, made.agent.model.info.name)
    finally:
        if not answered:
            made.give_up()
    return answered


def _question(asked: Asked) -> str:
    """What is asked, with what comes through a pipe."""
    from sightline.cli.chat.one_shot import question

    text = question(asked.question or "")
    if not text.strip():
        raise click.UsageError("-p needs a question")
    return text


def _missing(error: ModuleNotFoundError) -> Exception:
    """What to install, where it is a part of the chat that is missing."""
    package = (error.name or "").partition(".")[0]
    if not package:  # the library has said so already
        return BadInput(str(error))
    if package not in _PARTS:
        return error
    return BadInput(f"sightline chat needs {package}: pip install '.[chat]' in Sightline's folder")
