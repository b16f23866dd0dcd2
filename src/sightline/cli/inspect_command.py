"""`sightline inspect`: the inspector in a browser, over the sessions of this machine and the files that are named."""

import asyncio
import os
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click
from msgspec.structs import replace

from sightline import samples
from sightline.agent.config import read_config
from sightline.agent.models import Model
from sightline.agent.models.context_window import with_window
from sightline.agent.models.discovery import found, named, retrying_model
from sightline.agent.trust import is_allowed
from sightline.agent.trust import named as trusted_file
from sightline.cli.addresses import is_free, page_address
from sightline.cli.chat.command import ChatOptions, with_tool_options
from sightline.cli.options import STORE, Place, place, shared_options
from sightline.cli.render import error_console, print_text
from sightline.cli.replay_source import given_price
from sightline.cli.serve import PORT, announce_token, check_port, make_listener, running
from sightline.errors import BadInput, SightlineError
from sightline.inspector.pages import are_built
from sightline.log.stores.session_folder import Folder
from sightline.plan import Budget
from sightline.server.access_token import Token, is_loopback
from sightline.server.config import Config, usual_upstreams
from sightline.server.sign_in import SignIn
from sightline.session.session import Session
from sightline.view.catalog.places import SAMPLES, Places
from sightline.view.replay.formats import recorded
from sightline.view.replay.replay import replay

if TYPE_CHECKING:
    from sightline.server.rest_chat import EquippedModel


@click.command(name="inspect", short_help="See in a browser what the model saw.")
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="At any other address the token is kept, and shown once."
)
@click.option("--port", type=click.IntRange(0, 65535), help=f"0: a free one.  [default: {PORT}, or a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option("--model", "model_name", metavar="NAME", help="The model of the chat.  [default: that of sightline chat]")
@click.option("--price", metavar="IN/OUT/CACHED", help="Prices of a million tokens, or a model's name, for all "
              "sessions.  [default: those that are known]")  # fmt: skip
@click.option("--samples", is_flag=True, help="Also show the sample sessions that come with Sightline.")
@click.option("--chat", "with_chat", is_flag=True, help="Chat in this terminal meanwhile; leaving the chat ends both.")
@with_tool_options
@shared_options(hidden=True)
def inspect(
    files: tuple[Path, ...],
    host: str,
    port: int | None,
    no_browser: bool,
    model_name: str | None,
    price: str | None,
    samples: bool,
    with_chat: bool,
    **tools: Any,
) -> None:
    """See in a browser what is in the context window, what fell out, why, what it cost, and how to get it back.

    Shown are the sessions of all projects, and those of Claude Code and Codex that are found on this machine. FILES are
    logs, or folders of logs, at other places; if one log is named, the page opens its session. No key and no agent of
    ours is needed; with a model, the page can chat. At 127.0.0.1 its model may read the files of this project, in
    sessions of this project; four options change that.

    \b
    Examples:
      sightline inspect
      sightline inspect ~/Downloads/session.jsonl
      sightline inspect --samples --no-browser
    """
    here = place()
    check_port(here.words, host, port or 0)
    if samples:
        keep_samples(here)
    token = announce_token(here, host)
    sign_in = SignIn(token.text) if token.text else None
    config = replace(_config(here, host, files, token.hashed), sign_in=sign_in, samples=samples)
    if price is not None:
        fixed_price = given_price(price, "")
        config = replace(config, price_of=lambda _model: fixed_price)
    chosen = port if port is not None else _free_port(host)
    found_model = _find_model(here, model_name)
    model, no_model = (None, found_model) if isinstance(found_model, str) else (found_model, "")
    opens, opened = not no_browser and _has_browser(), _place_of(config)
    listener, _ = make_listener(config, chosen, _equipped(here, host, model, ChatOptions(**tools)))
    if with_chat:
        with running(listener) as bound:
            _announce(here, host, bound, token, opens, sign_in, opened)
            _chat(here, [f"--{name.replace('_', '-')}" for name, is_given in tools.items() if is_given])
        return

    def announce(bound: int) -> None:
        _announce(here, host, bound, token, opens, sign_in, opened)
        if no_model:
            print_text(error_console(), no_model, "dim")

    listener.on_start = announce
    listener.run()


def _config(here: Place, host: str, files: Sequence[Path], token_hash: str) -> Config:
    return Config(
        folder=Path(here.project).resolve(), root=Path(here.root) if here.root else None, host=host,
        upstreams=usual_upstreams(os.environ), token_hash=token_hash, stores=here.database,
        everywhere=is_loopback(host) and not here.store,
        offered=tuple(file.resolve() for file in files),
    )  # fmt: skip


def _place_of(config: Config) -> str:
    """Return the place in the page that shows the session of the file that was named; that of the list if not one was.

    A log that is a listed session is opened as that session; any other is imported first.
    """
    if len(config.offered) != 1 or not config.offered[0].is_file():
        return ""
    [file] = config.offered
    for known in Places(config.folder, root=config.root, stores=config.stores, everywhere=config.everywhere).all():
        if isinstance(known.stores, Folder) and file == known.stores.path.resolve() / f"{file.stem}.jsonl":
            return f"/s/{quote(known.full_id(file.stem), safe='')}/context"
    return f"/?log={quote(str(file))}"


def _announce(
    here: Place, host: str, port: int, token: Token, opens: bool, sign_in: SignIn | None, opened: str = ""
) -> None:
    """Print the address, with the token unless the user has chosen it, and open it if there is a browser.

    `opened` is the place in the page; empty: the list of sessions.

    Pages that are not built are told before it. The browser is told a code instead of the token, because other accounts
    can read its command line.
    """
    if not are_built():
        print_text(error_console(), here.words("inspect not built"), "yellow")
    fragment = f"token={token.shown}" if token.shown else ""
    print_text(error_console(), here.words("inspect at", address=page_address(host, port, fragment + opened)), "bold")
    if opens:
        code = f"code={sign_in.make_code()}" if sign_in is not None else ""
        webbrowser.open(page_address(host, port, code + opened))


def _free_port(host: str) -> int:
    """Return the usual port, or 0 for any free one if another program has it."""
    return PORT if is_free(host, PORT) else 0


def _has_browser() -> bool:
    """Whether a window can be opened here: not over ssh, and not where only a browser in the terminal is found."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        return not isinstance(webbrowser.get(), webbrowser.GenericBrowser) or bool(os.environ.get("BROWSER"))
    except webbrowser.Error:
        return False


class _NotAllowed(BadInput):
    """The user has not approved the project's file."""


def _find_model(here: Place, name: str | None) -> Model | str:
    """Return the model that `sightline chat` would ask, or else why there is none: all else works without.

    What the project's file reaches gets no key before the user has approved the file.
    """

    async def find() -> Model:
        config = read_config(here.project, os.environ)
        if not is_allowed(config, here.project, here.home, os.environ):
            raise _NotAllowed(here.words("inspect not allowed", file=trusted_file(config, here.project).file))
        endpoint = (
            named(name, config, os.environ, here.home)
            if name
            else (await found(config, os.environ, here.home)).endpoint
        )
        return retrying_model([await with_window(endpoint)], here.words.language, warn=lambda _: None)

    try:
        return asyncio.run(find())
    except SightlineError as error:
        if name:
            raise
        return str(error) if isinstance(error, _NotAllowed) else here.words("inspect no model")


def _equipped(here: Place, host: str, model: Model | None, options: ChatOptions) -> "Model | EquippedModel | None":
    """Return the model with the tools that `sightline chat` would give it; with none if other machines reach us."""
    if model is None or not is_loopback(host):
        return model
    from sightline.cli.chat.page_chat import PageChat
    from sightline.server.rest_chat import EquippedModel

    chat = PageChat(here, options, os.environ, model)
    return EquippedModel(model, chat.tools, chat.agent, chat.recalls)


def _chat(here: Place, tools: Sequence[str]) -> None:
    """Chat in this terminal. If the chat cannot start, which it says itself, wait for Ctrl-C."""
    options = [*(["--root", here.root] if here.root else []), "--lang", here.words.language]
    command = [sys.executable, "-m", "sightline", "--project", here.project, *options, "chat", *tools]
    variables = os.environ | ({STORE: here.store} if here.store else {})
    if subprocess.run(command, check=False, env=variables).returncode:
        print_text(error_console(), here.words("inspect goes on"), "dim")
        _wait_for_ctrl_c()


def _wait_for_ctrl_c() -> None:
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


def keep_samples(here: Place) -> None:
    """Keep the sample sessions, composed at a small budget, apart from those of projects, unless they are there."""
    project = Path(samples.__file__).parent
    stores = Folder.at(here.home / SAMPLES)
    for name in samples.names():
        session_id = name.replace("_", "-")
        if stores.has(session_id):
            continue
        sample = samples.load(name)
        recording = recorded({"system": sample.system, "tools": sample.tools, "messages": sample.messages})
        try:
            with Session.new(project, stores=stores, session_id=session_id) as session:
                for _ in replay(session, recording, Budget(sample.window, samples.OUTPUT)):
                    pass
        except OSError as error:
            raise BadInput(f"the samples cannot be kept in {here.home}: {error.strerror}") from error
