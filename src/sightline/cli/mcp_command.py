"""`sightline mcp`: an MCP server by which Claude Code, Codex and other clients remember earlier sessions.

What needs the packages of the extras `mcp` and `server` is imported in functions, so that the other commands work
without them.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.apps.app import App
from sightline.cli.addresses import outer_address
from sightline.cli.named_apps import apps_option, find_apps
from sightline.cli.options import Place, place, shared_options
from sightline.cli.phrases import Phrases
from sightline.cli.render import error_console, print_text
from sightline.cli.serve import announce_token, check_port
from sightline.errors import BadInput
from sightline.server.access_token import is_loopback
from sightline.view.catalog.places import Places

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

PORT = 8788  # next to that of `sightline serve`


@click.command(name="mcp", short_help="Let agents remember earlier sessions.")
@click.option("--http", is_flag=True, help="Serve over HTTP instead of standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http. At any other address the token "
              "is kept and shown once, and only the sessions of this project are shown.")  # fmt: skip
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@apps_option
@shared_options(hidden=True)
def mcp(http: bool, host: str, port: int, apps: str) -> None:
    """Run an MCP server by which agents remember across sessions: Claude Code, Codex and any other client.

    It searches the sessions of all projects, imported ones, and the logs of Claude Code and Codex that are found on
    this machine. Its tools are search_sessions, recall, expand and context_report. It reads logs and changes none.

    With --apps it has windows too, such as a to-do list, which all agents in this project share and which stay. The
    tools are windows, create and action, and each answer shows the window; `wrap --apps` shows it in every request.

    \b
    Examples:
      claude mcp add sightline -- sightline mcp        codex mcp add … takes the same
      sightline mcp --http --apps todo,notebook
    """
    here = place()
    words = Phrases(here.words.language, "mcp")
    chosen = find_apps(here, apps)
    if http:
        _serve(here, words, host, port, chosen)
        return
    server = _server(here, chosen)
    if sys.stdin.isatty():
        print_text(error_console(), words("waits"), "dim")
    server.run("stdio")


def _server(here: Place, apps: Sequence[type[App]], *, everywhere: bool = True) -> "MCPServer":
    try:
        from sightline.adapters.mcp import create_server
    except ImportError as error:
        raise BadInput(str(error)) from error
    root = Path(here.root) if here.root else None
    project = Path(here.project).resolve()
    return create_server(Places(project, root=root, stores=here.database, everywhere=everywhere), apps=apps)


def _serve(here: Place, words: Phrases, host: str, port: int, apps: Sequence[type[App]]) -> None:
    check_port(here.words, host, port)
    server = _server(here, apps, everywhere=is_loopback(host))
    from sightline.adapters.mcp import HTTP_PATH, http_app
    from sightline.server.listener import Listener

    token = announce_token(here, host)
    listener = Listener(
        http_app(server, host=host, token_hash=token.hashed), on_stop=lambda: None, host=host, port=port
    )

    def told(bound: int) -> None:
        address = f"http://{outer_address(host)}:{bound}{HTTP_PATH}"
        print_text(error_console(), words("at", address=address))
        if token.shown:
            print_text(error_console(), words("token", address=address, token=token.shown))

    listener.on_start = told
    listener.run()
