"""The prompt: keys, history, completion, the line below it, and what Ctrl-C does at each moment."""

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
from sightline.cli.chat import commands, leftovers
from sightline.cli.chat.chat import Chat
from sightline.cli.chat.commands_change import branch_labels, recap
from sightline.cli.chat.commands_show import app_names
from sightline.cli.chat.setup import ChatSetup
from sightline.cli.chat.status import status_line
from sightline.cli.render import printable
from sightline.files.private_files import make_directory
from sightline.plan.strategies import names

HISTORY = "chat_history"  # beside the project's sessions
_LONGEST = 65_536  # bytes of a line: terminals take far fewer
_STYLE = Style.from_dict({"bottom-toolbar": "noreverse fg:ansibrightblack", "prompt": "bold fg:ansicyan"})


async def talk(setup: ChatSetup, *, resumes: bool, first: str | None = None) -> None:
    """Let the user talk until they leave. `resumes`: an earlier session was asked for; `first`: the first question."""
    chat, facts = Chat(setup), setup.agent.model.info
    window = chat.agent.budget.window
    chat.say("welcome", version=__version__, model=facts.name, window=window, id=chat.session.id[:8], style="bold")
    if not facts.capable:
        chat.say("small model", model=facts.name, style="yellow")
    if setup.continued:
        recap(chat)
    elif resumes:
        chat.say("nothing to continue", style="yellow")
    with _without_echo() as typed, _Interrupts(_prompt(chat)) as interrupts:
        await _loop(chat, interrupts, deque([*_as_message(first), *typed]))
        await interrupts.finish(chat.finish())
    _say_goodbye(chat)


def _say_goodbye(chat: Chat) -> None:
    """Name the session that was used last, and the command that really goes on with it."""
    last = chat.session.id if chat.here.stores.has(chat.session.id) else chat.before
    if last:
        is_newest = leftovers.newest_session(chat.here) == last  # not if nothing was said after /sessions ID
        chat.say("left" if is_newest else "left older", id=last, style="dim")


async def _loop(chat: Chat, interrupts: "_Interrupts", typed: deque[str]) -> None:
    """Handle lines until the user leaves. `typed`: lines that came before the first prompt."""
    leaving = False  # Ctrl-C was pressed at an empty prompt just now
    while not chat.over:
        chat.print_warnings()
        try:
            line = _echo(chat, typed.popleft()) if typed else await _read_line(chat, interrupts)
        except EOFError:
            break
        except KeyboardInterrupt:
            if leaving:
                break
            leaving = True
            chat.say("leave how", style="dim")
            continue
        leaving, kept = False, chat.agent.stopped
        if line.strip() and not await interrupts.finish(handle_line(chat, line)):
            chat.say("stopped kept" if chat.agent.stopped not in ("", kept) else "stopped", style="yellow")
            chat.draft = "\n".join(typed)  # because who stops one line may not want the rest either
            typed.clear()


def _as_message(question: str | None) -> list[str]:
    """Return a question of the command line as a line that is typed, and never a command."""
    return [] if question is None else [f" {question}" if question.startswith("/") else question]


async def _read_line(chat: Chat, interrupts: "_Interrupts") -> str:
    draft, chat.draft = chat.draft, ""
    marker = FormattedText([("class:prompt", _mark(chat))])
    return await interrupts.prompt.prompt_async(marker, default=draft, handle_sigint=False)


def _echo(chat: Chat, line: str) -> str:
    """Show a line that was typed before the prompt as if it had been typed there, and return it."""
    chat.out.print(Text.assemble((_mark(chat), "bold cyan"), printable(line)), soft_wrap=True)
    return line


async def handle_line(chat: Chat, line: str) -> None:
    """Run a command, or ask the model. No error ends the chat, and no question is lost."""
    if line.startswith("/"):  # without a blank before it, which makes it a message
        await commands.run(chat, line)
        return
    agent = chat.agent
    try:
        await chat.answer(agent.stream(line.rstrip().removeprefix(" " if line.startswith(" /") else "")))
    except Exception as error:
        chat.report(error)
        if not agent.question:  # it is not in the log, so the next prompt begins with it
            chat.draft = line


class _Interrupts:
    """Makes Ctrl-C stop what is being done, and never the program."""

    def __init__(self, prompt: PromptSession[str]) -> None:
        self.prompt = prompt
        self._task: asyncio.Future[None] | None = None

    def __enter__(self) -> "_Interrupts":
        with suppress(NotImplementedError):  # in an event loop without signals Ctrl-C ends the program
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(NotImplementedError):
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        elif self.prompt.app.is_running:  # the prompt handles the key itself; this is another program's signal
            self.prompt.app.exit(exception=KeyboardInterrupt)

    async def finish(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do the work. False: it was stopped."""
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
def _without_echo() -> Iterator[list[str]]:
    """Keep keys that are pressed during an answer for the next prompt, without showing them. Ctrl-C still works.

    Yields the lines that were typed before: each ended with Enter, which the prompt would not see.
    """
    try:
        import termios

        fd = sys.stdin.fileno()
        before = termios.tcgetattr(fd)
    except (ImportError, OSError, ValueError):  # no such terminal; `termios.error` is an OSError of its own kind
        yield []
        return
    silent = list(before)
    silent[0] &= ~termios.ICRNL  # Enter stays Enter for the prompt that reads it
    silent[3] &= ~(termios.ECHO | termios.ICANON)
    silent[3] |= termios.NOFLSH  # Ctrl-C stops an answer, and discards nothing that was typed meanwhile
    typed = _lines_typed(fd) if before[3] & termios.ICANON else []
    termios.tcsetattr(fd, termios.TCSADRAIN, silent)
    try:
        yield typed
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _lines_typed(fd: int) -> list[str]:
    """Return the whole lines that wait on a terminal in line mode; an unfinished line stays there."""
    lines = []
    while select.select([fd], [], [], 0)[0] and (line := os.read(fd, _LONGEST)):
        lines.append(line.decode("utf-8", "replace").rstrip("\r\n"))
    return lines


# ---------------------------------------------------------------------- the prompt


def _prompt(chat: Chat) -> PromptSession[str]:
    return PromptSession(
        multiline=True,
        key_bindings=_keys(),
        completer=_Completer(chat),
        complete_while_typing=True,
        history=_history(chat.here.folder.path),
        bottom_toolbar=lambda: _below(chat),
        placeholder=lambda: FormattedText(
            [("fg:ansibrightblack", "" if get_app().is_done else chat.words("placeholder"))]
        ),
        prompt_continuation="  ",
        style=_STYLE,
        reserve_space_for_menu=4,
    )


def _mark(chat: Chat) -> str:
    return "> " if chat.out.options.ascii_only else "❯ "


def _below(chat: Chat) -> FormattedText:
    """Return the line below the prompt, as long as the terminal is wide."""
    width = get_app().output.get_size().columns - 2
    return FormattedText(
        [("", f" {status_line(chat.status, chat.words, plain=chat.out.options.ascii_only, width=width)}")]
    )


def _keys() -> KeyBindings:
    """Enter sends, Alt+Enter and Ctrl-J begin a line, Ctrl-C clears what is typed. Pasted text stays as it is."""
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
    """Return the lines typed in this project before, in a file that only its owner can read."""
    file = folder / HISTORY
    try:
        make_directory(folder)
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError:  # a folder that cannot be written to: only this run's lines are remembered
        return InMemoryHistory()
    return FileHistory(str(file))


class _Completer(Completer):
    """Completes commands and their arguments."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        for word, length in commands.completions(document.text_before_cursor, self._choices):
            about = self._chat.words(commands.NAMES[word].name) if word in commands.NAMES else ""
            yield Completion(word, -length, display_meta=about)

    def _choices(self, name: str) -> Sequence[str]:
        chat = self._chat
        match name:
            case "/help":
                return [command.name.removeprefix("/") for command in commands.COMMANDS]
            case "/strategy":
                return names()
            case "/model":
                return chat.setup.model_names
            case "/apps":
                return ["open", *app_names(chat)]
            case "/windows":
                return ["close", *(window.id for window in chat.session.windows.all())]
            case "/branch":
                return list(branch_labels(chat).values())
            case "/sessions":
                return chat.here.stores.sessions()
            case "/code":
                return [saved.code_id for saved in chat.setup.code.list(chat.session.id)]
            case _:
                return []
