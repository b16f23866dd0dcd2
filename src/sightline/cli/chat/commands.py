"""The commands that begin with a slash: the table, and what happens with a line that names one."""

from collections.abc import Awaitable, Callable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from rich.text import Text

from sightline.cli.app_shell import aligned
from sightline.cli.chat import commands_change, commands_show
from sightline.cli.chat.chat import Chat
from sightline.cli.wrap import prose


class Command(NamedTuple):
    """One command. Its help is in the table of words, under its name."""

    name: str  # with the slash
    run: Callable[[Chat, str], Awaitable[None]]
    usage: str = ""  # what it takes
    aliases: tuple[str, ...] = ()
    words: int | None = 1  # of what it takes, at most; None: any number, since they are one text or name


async def show_help(chat: Chat, name: str) -> None:
    """All commands, or one of them."""
    if name:
        command = found(chat, "/" + name.removeprefix("/"))
        if command is not None:
            _explain(chat, command)
        return
    rows = [(" ".join([*_names(each), each.usage]).rstrip(), chat.words(each.name)) for each in COMMANDS]
    prose(chat.out, "\n".join(aligned(rows)))
    chat.say("help keys", style="dim")


def _explain(chat: Chat, command: Command) -> None:
    chat.out.print(Text(f"{command.name} {command.usage}".rstrip(), style="bold"), soft_wrap=True)
    chat.say(command.name)
    if command.aliases:
        chat.say("also", names=", ".join(command.aliases), style="dim")


def _names(command: Command) -> Sequence[str]:
    return (command.name, *(f"({alias})" for alias in command.aliases))


COMMANDS = (
    Command("/help", show_help, "[COMMAND]"),
    Command("/compact", commands_change.compact, "[full]", ("/c",)),
    Command("/context", commands_show.context, "[all]"),
    Command("/expand", commands_change.expand, "ID"),
    Command("/recall", commands_change.recall, "WORDS", words=None),
    Command("/pin", commands_change.pin, "[ID]"),
    Command("/unpin", commands_change.unpin, "ID"),
    Command("/uncompact", commands_change.uncompact, "[ID]"),
    Command("/fork", commands_change.fork, "[ID]"),
    Command("/rewind", commands_change.rewind, "[N]"),
    Command("/branch", commands_change.branch, "[NAME]"),
    Command("/sessions", commands_change.sessions, "[ID | all]"),
    Command("/windows", commands_show.windows, "[ID | close ID]", words=2),
    Command("/apps", commands_show.apps, "[open NAME [TARGET]]", words=None),
    Command("/code", commands_show.code, "[ID]"),
    Command("/model", commands_change.model, "[NAME]", words=None),
    Command("/strategy", commands_change.strategy, "[NAME]"),
    Command("/cost", commands_show.cost, words=0),
    Command("/export", commands_show.export, "[FILE] [FORMAT]", words=2),
    Command("/clear", commands_change.clear, words=0),
    Command("/version", commands_show.version, words=0),
    Command("/retry", commands_change.retry, words=0),
    Command("/quit", commands_change.leave, "", ("/exit",), words=0),
)
NAMES = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def is_command(line: str) -> bool:
    """Whether a line is for us and not for the model: one that begins with a slash, without a space before it."""
    return line.startswith("/")


async def run(chat: Chat, line: str) -> None:
    """Do what a line says. What goes wrong is one line in red."""
    name, _, rest = line.strip().partition(" ")
    command = found(chat, name)
    if command is None:
        return
    if command.words is not None and len(rest.split()) > command.words:
        chat.complain(chat.words("usage", usage=f"{command.name} {command.usage}".rstrip()))
        return
    try:
        await command.run(chat, rest.strip())
    except Exception as error:
        chat.failed(error)


def found(chat: Chat, name: str) -> Command | None:
    """The command of this name; where there is none, what may have been meant is said."""
    command = NAMES.get(name.lower())
    if command is None:
        chat.say("no command", name=name.removeprefix("/"), style="red")
        near = get_close_matches(name.lower(), NAMES, n=3, cutoff=0.6)
        near = [each for each in NAMES if len(name) > 1 and each.startswith(name.lower())] or near
        if near:
            chat.say("did you mean", names=", ".join(near), style="yellow")
        chat.say("see help", style="dim")
    return command


def completions(line: str, choices: Callable[[str], Sequence[str]]) -> list[tuple[str, int]]:
    """How a line may go on: the words, and how many characters before the cursor each stands for.

    `choices`: what a command may be given, by its name.
    """
    if not is_command(line):
        return []
    name, space, rest = line.partition(" ")
    if not space:
        return [(each, len(name)) for each in NAMES if each.startswith(name.lower())]
    *before, word = rest.split(" ")
    offered = [each for each in choices(NAMES[name].name if name in NAMES else "") if each not in before]
    return [(each, len(word)) for each in offered if each.startswith(word)]
