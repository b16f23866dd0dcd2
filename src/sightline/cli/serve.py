"""`sightline serve` and `sightline wrap`: the proxy between agents and their models, alone or around one command.

What needs the packages of the extra `server` is imported in functions, so that the other commands work without them.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import click
from msgspec.structs import replace

from sightline.adapters.agent_settings import missing_key
from sightline.cli.addresses import is_every, is_free, outer_address, page_address
from sightline.cli.agent_command import environment, started_agent, with_address
from sightline.cli.named_apps import apps_option, find_apps
from sightline.cli.options import Place, Seconds, place, shared_options
from sightline.cli.phrases import Phrases
from sightline.cli.render import error_console, print_text
from sightline.cli.worker import find_summarizer, make_work, operator_token, summary_model_option, working
from sightline.errors import BadInput
from sightline.fleet.event_relay import relay_of
from sightline.plan.economies import DEFAULT, ECONOMIES, described
from sightline.plan.strategies.project_choice import chosen
from sightline.providers.agents import AGENTS, Agent
from sightline.server.access_token import PATH_PREFIX, Token, find_token, is_loopback, make_token, opens_models
from sightline.server.config import Config, usual_upstreams
from sightline.server.spool import SPOOL_BYTES
from sightline.server.systemd import given_sockets, notify

if TYPE_CHECKING:
    from sightline.agent.models import Model
    from sightline.fleet.tenant_server import MakeMcp
    from sightline.follow.context_windows import ContextWindow
    from sightline.server.listener import Listener
    from sightline.server.rest_chat import EquippedModel
    from sightline.server.totals import Totals

PORT = 8787
_MOST_MODELS = 3  # whose windows are shown: those that were called last
_OPTIONS: Sequence[Callable[[Any], Any]] = (
    click.option("--window", "--budget", type=click.IntRange(min=1000), metavar="TOKENS", help="The context "
                 "window to use, if smaller than the model's. Without it, that of the model."),
    click.option("--economy", type=click.Choice(ECONOMIES), help=f"How much is shown: {described()}. Until "
                 "something has to be shortened, requests go up byte for byte.  [default: what the project has chosen, "
                 f"else {DEFAULT}]"),
    click.option("--upstream", "upstreams", multiple=True, metavar="NAME=URL", help="Where requests go: "
                 "anthropic=https://…, openai=https://…/v1 or gemini=https://…. Without it, ANTHROPIC_BASE_URL, "
                 "OPENAI_BASE_URL (or OPENAI_API_BASE) and GOOGLE_GEMINI_BASE_URL, else the providers themselves."),
    apps_option,
)  # fmt: skip


class ProxyOptions(NamedTuple):
    """What `serve` and `wrap` are both told."""

    window: int | None
    economy: str | None
    upstreams: tuple[str, ...]
    apps: str  # names, separated by commas


def _with_options(command: Any) -> Any:
    """Have a command take these options, as one argument."""

    @wraps(command)
    def run(**values: Any) -> Any:
        own = ProxyOptions(*(values.pop(name) for name in ProxyOptions._fields))
        return command(options=own, **values)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


@click.command(short_help="Stand between agents and their models.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="At any other address agents need the token too, which is kept and shown once.",
)
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option(
    "--jobs", default=1, show_default=True, type=click.IntRange(0, 64), help="Background work done at a time: indexes, "
    "summaries. 0: it is left to `sightline worker`.",
)  # fmt: skip
@summary_model_option
@click.option(
    "--tenants",
    is_flag=True,
    help="Serve all tenants of the database: every caller shows a token of "
    "`sightline token create`, and sees only its tenant's sessions. Needs --store.",
)
@_with_options
@click.option(
    "--drain",
    default=0.0,
    metavar="SECONDS",
    type=Seconds(0, 3600),
    help="After SIGTERM, go on "
    "accepting for so long while /readyz says no, so that load balancers send requests elsewhere.",
)
@click.option(
    "--finish",
    default=7.0,
    show_default=True,
    metavar="SECONDS",
    type=Seconds(0, 86400),
    help="When it stops, answers have so long to come to their end.",
)
@click.option(
    "--require-log",
    is_flag=True,
    help="Refuse what cannot be logged (503) instead of passing it on.",
)
@click.option(
    "--spool",
    default=SPOOL_BYTES >> 20,
    show_default=True,
    metavar="MEGABYTES",
    type=click.IntRange(0, 1 << 20),
    help="While the database is away, so much of what cannot be logged waits on this disk, for each tenant. 0: none.",
)
@shared_options(hidden=True)
def serve(
    host: str,
    port: int,
    jobs: int,
    summary_model: str | None,
    tenants: bool,
    options: ProxyOptions,
    drain: float,
    finish: float,
    require_log: bool,
    spool: int,
) -> None:
    """Stand between agents and their models: keep everything, send what fits, and bring back what the model asks for.

    Agents are told the address and nothing else. While a conversation fits into the context window, its requests go up
    byte for byte. When it no longer fits, the oldest and least needed parts are sent shortened, and the model gets
    the tools expand, recall and look, which are answered here. Every conversation is a session of this project:
    `sightline sessions` lists them, `sightline context ID` shows what the model would see.

    With --apps the model also has windows, such as a to-do list, at the end of every request that has tools. It acts on
    them by two more tools, create and action, which are answered here too; the agent sees only the answer.

    \b
    Examples:
      sightline serve
      ANTHROPIC_BASE_URL=http://127.0.0.1:8787/anthropic claude
      OPENAI_BASE_URL=http://127.0.0.1:8787/openai/v1 python agent.py
      sightline serve --apps todo --upstream openai=http://127.0.0.1:11434/v1
      sightline --store postgresql://user@host/name serve --tenants --host 0.0.0.0
    """
    from sightline.server.metrics import log_as_json

    here = place()
    if tenants and not here.store:
        raise BadInput(here.words("serve tenants store"))
    if tenants and options.apps:
        raise BadInput(here.words("serve tenants apps"))
    if sockets := given_sockets(os.environ):  # opened by systemd: it knows the address
        host, port = sockets[0].getsockname()[:2]
    token = operator_token(host, here) if tenants else announce_token(here, host)
    config = _config(here, host, options, token.hashed)
    log_as_json()
    work = make_work(here, jobs, find_summarizer(here, summary_model))
    more: dict[str, Any] = {"work": work, "summaries": summary_model is not None, "require_log": require_log}
    config = replace(config, stores=here.awaited_database, spool_bytes=spool << 20, **more)
    if port and (own := [address for address in config.upstreams.values() if _is_here(address, port)]):
        raise BadInput(here.words("serve own upstream", address=own[0]))
    if not sockets:
        check_port(here.words, host, port)
    how: dict[str, Any] = {"stop_seconds": finish, "drain_seconds": drain, "sockets": sockets}
    listener = _make_tenants_listener(config, port, **how) if tenants else make_listener(config, port, **how)[0]
    out = error_console()

    def announce(bound: int) -> None:
        address = f"http://{outer_address(host)}:{bound}"
        agents = f"{address}{PATH_PREFIX}TOKEN" if tenants else _for_agents(address, config, token.shown or "TOKEN")
        print_text(out, here.words("serve at", address=address))
        if is_every(host):
            print_text(out, here.words("serve everywhere", host=host, port=bound), "dim")
        print_text(out, here.words("serve how", address=agents), "dim")
        token_text = "TOKEN" if tenants else token.shown
        print_text(
            out,
            here.words("serve inspector", address=page_address(host, bound, token_text and f"token={token_text}")),
            "dim",
        )
        if tenants:
            print_text(out, here.words("serve tenants"), "dim")
        notify("READY=1", os.environ)

    listener.on_start = announce
    with working(work):
        listener.run()


@click.command(
    short_help="Run an agent with the proxy before its model.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@_with_options
@click.option(
    "--agent",
    type=click.Choice([name for name, agent in AGENTS.items() if agent.program]),
    metavar="NAME",
    help="The agent that COMMAND starts, where its words do not say so: a name such as codex.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@shared_options(hidden=True)
def wrap(options: ProxyOptions, agent: str | None, command: tuple[str, ...]) -> None:
    """Run COMMAND with the proxy between it and its model, and say afterwards what went through.

    The command gets ANTHROPIC_BASE_URL, OPENAI_BASE_URL and GOOGLE_GEMINI_BASE_URL, keeps its terminal and its
    signals, and its exit status is the one of `wrap`. Codex gets the address as an option, because it does not read
    the variable; it uses OPENAI_API_KEY, or the login that it has itself.

    With --apps the model has windows, such as a to-do list that outlives every compaction. Without, requests go up byte
    for byte while they fit.

    \b
    Examples:
      sightline wrap -- claude
      sightline wrap --apps todo,notebook,editor -- claude
      sightline wrap --window 60000 -- codex exec "Fix the tests"
    """
    here = place()
    if shutil.which(command[0]) is None:
        raise BadInput(here.words("wrap no command", command=command[0]))
    started = started_agent(command, agent or "")
    if started and (settings := missing_key(started.agent, os.environ)):
        print_text(error_console(), here.words("wrap gemini key", path=settings), "bold")
    if started and not started.agent.is_told:
        print_text(
            error_console(), here.words("wrap setup", title=started.agent.title, name=started.agent.name), "bold"
        )
    token = make_token()  # nobody asks for sessions here, but an upstream may need protection
    config = _config(here, "127.0.0.1", options, token.hashed)
    listener, totals = make_listener(replace(config, stores=here.database))
    with running(listener) as port:
        address = _for_agents(f"http://127.0.0.1:{port}", config, token.text)
        status = _run_child(with_address(command, address, os.environ, agent or ""), environment(address, os.environ))
    _print_totals(here, totals, started.agent if started else None)
    sys.exit(status)


def _config(here: Place, host: str, options: ProxyOptions, token_hash: str) -> Config:
    addresses = usual_upstreams(os.environ)
    for upstream in options.upstreams:
        name, is_named, address = upstream.partition("=")
        if not is_named or name not in addresses or not address.startswith(("http://", "https://")):
            raise BadInput(here.words("serve upstream", given=upstream))
        addresses[name] = address
    root = Path(here.root) if here.root else None
    return Config(
        folder=Path(here.project).resolve(), root=root, upstreams=addresses, window=options.window,
        economy=options.economy or _chosen_economy(here), host=host, token_hash=token_hash,
        everywhere=is_loopback(host) and not here.store, apps=find_apps(here, options.apps),
    )  # fmt: skip


def _chosen_economy(here: Place) -> str:
    """Return the economy that the project has chosen, in `sightline.toml` say; else the default. Raises BadInput."""
    return str(chosen(here.project).config.get("economy", DEFAULT))


def announce_token(here: Place, host: str) -> Token:
    """Return the token that callers must send. One that is made and kept now is shown, because it cannot be later."""
    token = find_token(host, here.home, os.environ)
    if token.shown and not is_loopback(host):
        print_text(error_console(), here.words("serve token", token=token.shown), "bold")
    return token


def _for_agents(address: str, config: Config, token: str) -> str:
    """Return the address that agents are told: with the token in it, where they need one."""
    return address if opens_models(config.host, config.upstreams.values()) else f"{address}{PATH_PREFIX}{token}"


def check_port(words: Phrases, host: str, port: int) -> None:
    """Raise BadInput if another program listens there."""
    if port and not is_free(host, port):
        raise BadInput(words("serve port taken", port=port))


def _is_here(address: str, port: int) -> bool:
    """Whether an upstream is this server itself, which would ask itself for ever."""
    parts = urlsplit(address)
    return parts.port == port and is_loopback(parts.hostname or "")


def make_listener(
    config: Config, port: int = 0, model: "Model | EquippedModel | None" = None, **how: Any
) -> "tuple[Listener, Totals]":
    """Return a server that is not started yet, on a free port unless one is named, and what will go through it.

    `how` as for `Listener`.
    """
    from sightline.server.app import create_app
    from sightline.server.listener import Listener

    app = create_app(config, relay=relay_of(config.stores), model=model)
    return Listener(app, on_stop=app.state.hub.close, host=config.host, port=port, **how), app.state.totals


def _make_tenants_listener(config: Config, port: int, **how: Any) -> "Listener":
    """Return a server for all tenants of a database, which is not started yet."""
    from sightline.fleet.tenant_server import create_tenants_app
    from sightline.server.listener import Listener

    app = create_tenants_app(config, make_mcp=mcp_maker())
    return Listener(app, on_stop=app.state.end_streams, host=config.host, port=port, **how)


def mcp_maker() -> "MakeMcp | None":
    """Return what makes an MCP server over the sessions of a tenant; None if its library is not installed."""
    try:
        from sightline.adapters.mcp import TENANT, create_server, unguarded_app
    except ImportError:
        return None
    return lambda places: unguarded_app(create_server(places, TENANT))


@contextmanager
def running(listener: "Listener") -> "Iterator[int]":
    """Serve in a thread while the block runs. Gives the port."""
    started = threading.Event()
    ports: list[int] = []

    def note(port: int) -> None:
        ports.append(port)
        started.set()

    listener.on_start = note
    thread = threading.Thread(target=listener.run, name="sightline proxy", daemon=True)
    thread.start()
    while not started.wait(0.1):
        if not thread.is_alive():
            raise BadInput("the proxy could not start")
    try:
        yield ports[0]
    finally:
        listener.should_exit = True
        thread.join()


def _run_child(command: Sequence[str], variables: dict[str, str]) -> int:
    """Run the command in this terminal, and return its exit status as a shell would."""
    passed = (signal.SIGTERM, signal.SIGHUP)  # to us alone; what is typed reaches the command by the terminal
    try:
        child = subprocess.Popen(command, env=variables)
    except OSError as error:
        raise BadInput(f"{command[0]}: {error.strerror}") from error
    before = {
        signal_number: signal.signal(signal_number, lambda number, _frame: child.send_signal(number))
        for signal_number in passed
    }
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        status = child.wait()
    finally:
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)
    return 128 - status if status < 0 else status


def _cost(words: Phrases, totals: "Totals") -> str:
    """Say what the run cost, beside what sending everything would have: two forecasts by the same rule."""
    change = totals.cost / totals.full_cost - 1 if totals.full_cost else 0.0
    is_even = abs(change) < 0.005  # as it is printed
    key = ("even" if totals.sweeps or change else "same") if is_even else "less" if change < 0 else "more"
    return words(f"wrap cost {key}", cost=round(totals.cost), full=round(totals.full_cost), share=abs(change))


def _reported(words: Phrases, totals: "Totals") -> str:
    """Say what the provider reported, and of which calls; also what that cost, if it says what was cached."""
    if not totals.reported:
        return words("wrap reported nothing")
    said = words("wrap reported value", input=totals.input, cached=totals.cached, output=totals.output)
    if totals.reported < totals.calls:
        said = words("wrap reported some", said=said, count=totals.reported, all=totals.calls)
    return words("wrap reported cost", said=said, cost=round(totals.reported_cost)) if totals.cached else said


def _window_line(words: Phrases, window: "ContextWindow") -> str:
    """Say how large the context window of a model was taken to be, and whose word that is."""
    return words(f"wrap window {window.source}", tokens=window.tokens, model=window.model or "?")


def _no_calls(words: Phrases, totals: "Totals", agent: Agent | None) -> str:
    """Say that no call of a model was followed, and what came instead. `agent`: the one that ran, if it is known."""
    if totals.failed:
        return words("wrap failed", count=totals.failed, why=totals.failure)
    if totals.unlogged:
        return words("wrap unlogged", count=totals.unlogged, why=totals.unlogged_why)
    said = words("wrap others", count=totals.others) if totals.others else words("wrap no call")
    if agent is None:
        return said if totals.others else words("wrap nothing", said=said)
    hint = "wrap nothing known" if agent.is_told else "wrap setup"
    return f"{said} {words(hint, title=agent.title, name=agent.name)}"


def _print_totals(here: Place, totals: "Totals", agent: Agent | None = None) -> None:
    """Print what went through, on standard error: standard output belongs to the command."""
    out, words = error_console(), here.words
    if not totals.calls:
        is_bad = totals.failed or totals.unlogged
        print_text(out, _no_calls(words, totals, agent), "bold" if is_bad else "dim")
        return
    why = words("wrap unanswered value", count=totals.failed, why=totals.failure)
    unanswered = [("wrap unanswered", why)] if totals.failed else []
    talks = totals.conversations
    rows = (
        ("wrap calls", f"{totals.calls:,}"),
        *([("wrap conversations", f"{len(talks):,}")] if len(talks) > 1 else []),
        *(("wrap window", _window_line(words, window)) for window in [*totals.windows.values()][-_MOST_MODELS:]),
        ("wrap offered", f"{totals.offered:,}"),
        ("wrap sent", f"{totals.sent:,}"),
        ("wrap reported", _reported(words, totals)),
        ("wrap cost", _cost(words, totals)),
        ("wrap sweeps", f"{totals.sweeps:,}"),
        ("wrap read again", f"{totals.read_again:,}"),
        ("wrap recalled", f"{totals.recalled:,}"),
        ("wrap lost", f"{totals.unlogged:,}"),
        *unanswered,
    )
    print_text(out, words("wrap title"), "bold")
    width = max(len(words(key)) for key, _ in rows)
    for key, value in rows:
        print_text(out, f"  {words(key):<{width}}  {value}")
    if totals.sweeps:
        print_text(out, words("wrap cost means"), "dim")
    print_text(out, words("wrap next one", name=talks[0]) if len(talks) == 1 else words("wrap next"), "dim")
