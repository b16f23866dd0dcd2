"""The prompt: what is typed, what Ctrl-C means at each moment, and the line below."""

import asyncio
import os
import select
import signal
import sys
from collections import deque
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style
from rich.text import Text

from sightline import __version__
from sightline.cli.chat import commands
from sightline.cli.chat.chat import Chat
from sightline.cli.chat.commands_change import recap
from sightline.cli.chat.commands_show import openable
from sightline.cli.chat.setup import Assembled
from sightline.cli.chat.status import status_line
from sightline.cli.render import printable
from sightline.log.stores.disk import make_directory
from sightline.plan.strategies import names

HISTORY = "chat_history"  # beside the project's sessions
_LONGEST = 65_536  # bytes of a line: terminals keep far fewer
_STYLE = Style.from_dict({"bottom-toolbar": "noreverse fg:ansibrightblack", "prompt": "bold fg:ansicyan"})


async def talk(made: Assembled, *, sought: bool) -> None:
    """Let a person talk until they leave. `sought`: a session to continue was asked for."""
    chat = Chat(made)
    _greet(chat, sought)
    with _unheard() as typed, _Stops(_prompt(chat)) as stops:
        await _loop(chat, stops, deque(typed))
    if chat.session.id in chat.here.folder.sessions():
        chat.say("left", id=chat.session.id, style="dim")


async def _loop(chat: Chat, stops: "_Stops", typed: deque[str]) -> None:
    """Do what is said until the end is. `typed`: lines that came before the first prompt."""
    leaving = False  # Ctrl-C was pressed at an empty prompt just now
    while not chat.over:
        try:
            line = _echoed(chat, typed.popleft()) if typed else await _asked(chat, stops)
        except EOFError:
            break
        except KeyboardInterrupt:
            if leaving:
                break
            leaving = True
            chat.say("leave how", style="dim")
            continue
        leaving = False
        if line.strip() and not await stops.finished(said(chat, line)):
            chat.say("stopped", style="yellow")
            chat.draft = "\n".join(typed)  # who stops one line may think better of the rest, too
            typed.clear()


async def _asked(chat: Chat, stops: "_Stops") -> str:
    draft, chat.draft = chat.draft, ""
    return await stops.prompt.prompt_async(_marker(chat), default=draft, handle_sigint=False)


def _echoed(chat: Chat, line: str) -> str:
    """A line that was typed before there was a prompt, shown as if it had been typed there."""
    chat.out.print(Text.assemble((_mark(chat), "bold cyan"), printable(line)), soft_wrap=True)
    return line


def _greet(chat: Chat, sought: bool) -> None:
    facts, continued = chat.agent.model.info, chat.made.continued
    chat.say("welcome", version=__version__, model=facts.name, id=chat.session.id[:8], style="bold")
    if not facts.capable:
        chat.say("small model", model=facts.name, style="yellow")
    if sought and not continued:
        chat.say("nothing to continue", style="yellow")
    if continued:
        recap(chat)


async def said(chat: Chat, line: str) -> None:
    """Do what a line says, or ask the model. Nothing that goes wrong there ends the chat, and no question is lost."""
    if commands.is_command(line):
        await commands.run(chat, line)
        return
    agent = chat.agent
    try:
        await chat.answer(agent.stream(line.rstrip().removeprefix(" " if line.startswith(" /") else "")))
    except Exception as error:
        chat.failed(error)
        if not agent.question:  # it is not in the log: it is typed already for the next attempt
            chat.draft = line


class _Stops:
    """What Ctrl-C means: it stops what is being done, never the program."""

    def __init__(self, prompt: PromptSession[str]) -> None:
        self.prompt = prompt
        self._task: asyncio.Future[None] | None = None

    def __enter__(self) -> "_Stops":
        with suppress(NotImplementedError):  # an event loop without signals: Ctrl-C ends the program there
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(NotImplementedError):
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        elif self.prompt.app.is_running:  # the key itself is the prompt's; this is another program's signal
            self.prompt.app.exit(exception=KeyboardInterrupt)

    async def finished(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do it. False: it was stopped."""
        self._task = task = asyncio.ensure_future(work)
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
            return False
        finally:
            self._task = None
        return True


@contextmanager
def _unheard() -> Iterator[list[str]]:
    """Keys pressed between prompts are not echoed into an answer: they wait for the next one. Ctrl-C still counts.

    The lines that were typed before are what this gives: each ended with Enter, which the prompt would no longer see.
    """
    try:
        import termios

        fd = sys.stdin.fileno()
        before = termios.tcgetattr(fd)
    except (ImportError, OSError, ValueError):  # no such terminal here; `termios.error` is an OSError of its own kind
        yield []
        return
    silent = list(before)
    silent[0] &= ~termios.ICRNL  # Enter stays Enter for the prompt that reads it
    silent[3] &= ~(termios.ECHO | termios.ICANON)
    silent[3] |= termios.NOFLSH  # Ctrl-C stops an answer, and throws nothing away that was typed meanwhile
    typed = _lines_typed(fd) if before[3] & termios.ICANON else []
    termios.tcsetattr(fd, termios.TCSADRAIN, silent)
    try:
        yield typed
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _lines_typed(fd: int) -> list[str]:
    """The whole lines that wait on a terminal which gives out nothing else; a line that has not ended stays there."""
    found = []
    while select.select([fd], [], [], 0)[0] and (line := os.read(fd, _LONGEST)):
        found.append(line.decode("utf-8", "replace").rstrip("\r\n"))
    return found


# ---------------------------------------------------------------------- the prompt


def _prompt(chat: Chat) -> PromptSession[str]:
    words = chat.words
    return PromptSession(
        multiline=True,
        key_bindings=_keys(),
        completer=_Completer(chat),
        complete_while_typing=True,
        history=_history(chat.here.folder.path),
        bottom_toolbar=lambda: _below(chat),
        placeholder=lambda: FormattedText([("fg:ansibrightblack", "" if get_app().is_done else words("placeholder"))]),
        prompt_continuation="  ",
        style=_STYLE,
        reserve_space_for_menu=4,
    )


def _marker(chat: Chat) -> FormattedText:
    return FormattedText([("class:prompt", _mark(chat))])


def _mark(chat: Chat) -> str:
    return "> " if chat.out.options.ascii_only else "❯ "


def _below(chat: Chat) -> FormattedText:
    """The line below the prompt, as long as the terminal is wide."""
    width = get_app().output.get_size().columns - 2
    return FormattedText(
        [("", f" {status_line(chat.status, chat.words, plain=chat.out.options.ascii_only, width=width)}")]
    )


def _keys() -> KeyBindings:
    """Enter sends, Alt+Enter and Ctrl-J begin a line; Ctrl-C clears what is typed. What is pasted stays as it is."""
    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def _clear(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt)

    return keys


def _history(folder: Path) -> History:
    """What was typed in this project before, readable by its owner only."""
    file = folder / HISTORY
    try:
        make_directory(folder)
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError:  # a place that may not be written to: this run's lines are remembered
        return InMemoryHistory()
    return FileHistory(str(file))


class _Completer(Completer):
    """Commands, and what some of them take."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        """How the line may go on."""
        line = document.text_before_cursor
        for word, length in commands.completions(line, self._choices):
            about = self._chat.words(commands.NAMES[word].name) if word in commands.NAMES else ""
            yield Completion(word, -length, display_meta=about)

    def _choices(self, name: str) -> Sequence[str]:
        chat = self._chat
        match name:
            case "/help":
                return [each.name.removeprefix("/") for each in commands.COMMANDS]
            case "/strategy":
                return names()
            case "/model":
                return chat.made.model_names
            case "/apps":
                return ["open", *openable(chat)]
            case "/windows":
                return ["close", *(window.id for window in chat.session.windows.all())]
            case "/sessions":
                return chat.here.folder.sessions()
            case "/code":
                code = chat.agent.code
                return [saved.code_id for saved in code.list(chat.session.id)] if code is not None else []
            case _:
                return []
