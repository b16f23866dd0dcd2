"""The commands that begin with a slash: a table, and how a line is run as one of them."""

from collections.abc import Awaitable, Callable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from rich.text import Text

from sightline.cli.chat import commands_change, commands_show
from sightline.cli.chat.chat import Chat
from sightline.cli.render import align, print_text
from sightline.errors import BadInput


class Command(NamedTuple):
    """One command. Its help is in the table of phrases, under its name."""

    name: str  # with the slash
    run: Callable[[Chat, str], Awaitable[None]]
    usage: str = ""  # its arguments, as the help shows them
    aliases: tuple[str, ...] = ()
    most_words: int | None = 1  # that its arguments may have; None: any number, because they are one text or name


async def show_help(chat: Chat, name: str) -> None:
    """List all commands, or explain one of them."""
    if not name:
        names = [(command.name, *(f"({alias})" for alias in command.aliases), command.usage) for command in COMMANDS]
        rows = [(" ".join(written).rstrip(), chat.words(written[0])) for written in names]
        print_text(chat.out, "\n".join(align(rows)))
        chat.say("help keys", style="dim")
    elif (command := find_command(chat, "/" + name.removeprefix("/"))) is not None:
        chat.out.print(Text(f"{command.name} {command.usage}".rstrip(), style="bold"), soft_wrap=True)
        chat.say(command.name)
        if command.aliases:
            chat.say("also", names=", ".join(command.aliases), style="dim")


COMMANDS = (
    Command("/help", show_help, "[COMMAND]"),
    Command("/compact", commands_change.compact, "[full]", ("/c",)),
    Command("/context", commands_show.context, "[all]"),
    Command("/expand", commands_change.expand, "ID [LINES]", most_words=None),
    Command("/recall", commands_change.recall, "WORDS", most_words=None),
    Command("/pin", commands_change.pin, "[ID]"),
    Command("/unpin", commands_change.unpin, "ID"),
    Command("/uncompact", commands_change.uncompact, "[ID]"),
    Command("/fork", commands_change.fork, "[ID] [NAME]", most_words=2),
    Command("/rewind", commands_change.rewind, "[N]"),
    Command("/branch", commands_change.branch, "[NAME]"),
    Command("/sessions", commands_change.sessions, "[ID | all]"),
    Command("/windows", commands_show.windows, "[ID [ACTION]]", most_words=None),
    Command("/apps", commands_show.apps, "[open NAME [TARGET]]", most_words=None),
    Command("/code", commands_show.code, "[ID]"),
    Command("/model", commands_change.model, "[NAME]", most_words=None),
    Command("/strategy", commands_change.strategy, "[NAME]"),
    Command("/cost", commands_show.cost, most_words=0),
    Command("/export", commands_show.export, "[FILE] [FORMAT]", most_words=2),
    Command("/clear", commands_change.clear, most_words=0),
    Command("/version", commands_show.version, most_words=0),
    Command("/retry", commands_change.retry, most_words=0),
    Command("/quit", commands_change.leave, "", ("/exit",), most_words=0),
)
NAMES = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


async def run(chat: Chat, line: str) -> None:
    """Run the command of this line. An error is printed in one red line."""
    name, _, rest = line.strip().partition(" ")
    command = find_command(chat, name)
    if command is None:
        return
    count, needs_one = len(rest.split()), command.usage[:1] not in ("", "[")
    try:
        if (needs_one and not count) or (command.most_words is not None and count > command.most_words):
            raise BadInput(chat.words("usage", usage=f"{command.name} {command.usage}".rstrip()))
        await command.run(chat, rest.strip())
    except Exception as error:
        chat.report(error)


def find_command(chat: Chat, name: str) -> Command | None:
    """Return the command of this name; if there is none, suggest similar names and return None."""
    command = NAMES.get(name.lower())
    if command is None:
        chat.say("no command", name=name.removeprefix("/"), style="red")
        near = get_close_matches(name.lower(), NAMES, n=3, cutoff=0.6)
        near = [full_name for full_name in NAMES if len(name) > 1 and full_name.startswith(name.lower())] or near
        if near:
            chat.say("did you mean", names=", ".join(near), style="yellow")
        chat.say("see help", style="dim")
    return command


def completions(line: str, choices: Callable[[str], Sequence[str]]) -> list[tuple[str, int]]:
    """Return completions of a line: each word, and how many characters before the cursor it replaces.

    `choices` gives the arguments that a command takes, by its name.
    """
    if not line.startswith("/"):
        return []
    name, space, rest = line.partition(" ")
    if not space:
        return [(full_name, len(name)) for full_name in NAMES if full_name.startswith(name.lower())]
    *before, word = rest.split(" ")
    offered = [choice for choice in choices(NAMES[name].name if name in NAMES else "") if choice not in before]
    return [(choice, len(word)) for choice in offered if choice.startswith(word)]
