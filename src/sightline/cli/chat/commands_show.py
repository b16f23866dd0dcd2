"""The commands that show something."""

from pathlib import Path

from rich.syntax import Syntax
from rich.text import Text

from sightline import __version__
from sightline.apps import registry
from sightline.apps.window_notes import last_closed
from sightline.cli.apps import print_apps
from sightline.cli.chat import by_hand
from sightline.cli.chat.chat import Chat
from sightline.cli.chat.status import money
from sightline.cli.context import print_context
from sightline.cli.export import LOG, exported, message_count, write_pieces
from sightline.cli.render import Column, first_words, human_size, print_table, printable
from sightline.errors import BadInput, UnknownApp
from sightline.view.document import SUFFIXES, TRANSCRIPTS
from sightline.wire import registry as wires


async def context(chat: Chat, rest: str) -> None:
    """Print what the model would see now."""
    if rest not in ("", "all"):
        raise BadInput(chat.words("usage", usage="/context [all]"))
    by, session = "order" if rest == "all" else "size", chat.begun_session()
    print_context(chat.out, chat.words, session, chat.agent.budget, by=by, every=rest == "all")


async def windows(chat: Chat, rest: str) -> None:
    """List the open windows, show one, act on one by hand, or close one."""
    host, words = chat.session.windows, chat.words
    verb, _, line = rest.partition(" ")
    wanted = line.strip() if verb == "close" else verb
    window = host.window(wanted) if wanted else None
    if wanted and window is None:
        raise BadInput(words("no window", id=wanted, ids=", ".join(other.id for other in host.all()) or "–"))
    if verb == "close":
        if not wanted:
            raise BadInput(words("usage", usage="/windows close ID"))
        host.close(wanted)
        chat.say("closed", id=wanted)
    elif window is not None and line.strip():
        by_hand.act(chat, window, line.strip())
    elif window is not None:
        chat.out.print(Text(printable(window.render())), soft_wrap=True)
    else:
        _list_windows(chat)


def _list_windows(chat: Chat) -> None:
    open_ = chat.session.windows.all()
    if not open_:
        chat.say("no windows")
        return
    for window in open_:
        level, tokens = window.document.lod.name.lower(), chat.session.count(window.render())
        chat.say("window listed", id=window.id, app=window.app.name, level=chat.words(f"level {level}"), tokens=tokens)
    chat.say("window how", style="dim")


async def apps(chat: Chat, rest: str) -> None:
    """List the apps, or open one."""
    verb, _, wanted = rest.partition(" ")
    if not rest:
        print_apps(chat.here, app_names(chat))
        chat.say("try app", style="dim")
        return
    name, _, target = wanted.strip().partition(" ")
    if verb != "open" or not name:
        raise BadInput(chat.words("usage", usage="/apps open NAME [TARGET] [from #ID]"))
    if name not in app_names(chat):
        raise UnknownApp(name, app_names(chat))
    windows = chat.session.windows
    target, _, handle = f" {target}".partition(" from #")
    closed = last_closed(chat.session.log, name, windows.live()) if not handle else ""
    chat.say("opened", id=windows.open(name, target.strip(), continues=handle and f"#{handle}"))
    if closed:
        chat.say("closed before", name=name, id=closed, style="dim")


def app_names(chat: Chat) -> list[str]:
    """Return the apps that a person can open; the list of code opens by itself."""
    return [name for name in chat.session.windows.apps if name in registry.names()]


async def code(chat: Chat, rest: str) -> None:
    """List the code saved in this session, or show one piece of it."""
    store, words = chat.setup.code, chat.words
    if rest:
        saved, text = store.find(rest), printable(store.read(rest))
        chat.out.print(
            Text(f"{saved.code_id} · {saved.language} · {chat.setup.file_of(saved)}", style="bold"), soft_wrap=True
        )
        chat.out.print(Syntax(text, saved.language, theme="ansi_dark", word_wrap=True))
        return
    pieces = store.list(chat.session.id)
    if not pieces:
        chat.say("no code")
        return
    columns = (
        Column("id", 32, style="cyan"), Column(words("language"), 10), Column(words("lines"), 6, right=True),
        Column(words("about")),
    )  # fmt: skip
    print_table(chat.out, columns, (
        (piece.code_id, piece.language, f"{piece.line_count:,}", first_words(piece.description)) for piece in pieces
    ))  # fmt: skip
    chat.say("code how", style="dim")


async def cost(chat: Chat, _: str) -> None:
    """Print the tokens and the money spent."""
    spent, usage = chat.agent.spent, chat.agent.spent.usage
    chat.say("cost calls", calls=spent.calls)
    chat.say("cost tokens", input=usage.input_tokens, cached=usage.cached_tokens, output=usage.output_tokens)
    if spent.cost is None:
        chat.say("no price", style="dim")
    else:
        chat.say("cost money", cost=money(spent.cost))


async def export(chat: Chat, rest: str) -> None:
    """Write the conversation to a new file, in the format that is named, else the one of the file's suffix."""
    arguments = rest.split()
    formats = [*wires.names(), *TRANSCRIPTS, LOG]
    named = arguments.pop() if arguments and arguments[-1] in formats else ""
    if len(arguments) > 1:
        raise BadInput(chat.words("usage", usage=f"/export [FILE] [{'|'.join(formats)}]"))
    ending = LOG if named == LOG else SUFFIXES.get(named, "json")
    file = Path(arguments[0] if arguments else f"conversation-{chat.session.id[:8]}.{ending}")
    by_suffix = {f".{suffix}": name for name, suffix in {**SUFFIXES, LOG: LOG}.items()}
    format_ = named or by_suffix.get(file.suffix, "openai")
    session = chat.begun_session()
    messages = message_count(session, format_)
    try:
        size = write_pieces(file, exported(chat.here, session, format_))
    except FileExistsError as error:
        raise BadInput(chat.words("exists", file=file)) from error
    except OSError as error:
        raise BadInput(chat.words("not written", file=file, why=error.strerror or error)) from error
    chat.say("exported", session=chat.session.id, format=format_, file=file, bytes=human_size(size), messages=messages)


async def version(chat: Chat, _: str) -> None:
    chat.out.print(f"sightline {__version__}")
