"""`sightline setup`: gives an agent our address in its own configuration, for good, and takes that back.

What an agent's configuration is called and where our address belongs is data: see `providers.agents`.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import unified_diff
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
from msgspec import Struct

from sightline.adapters.agent_settings import Addresses, file_of, missing_key, settings_of
from sightline.adapters.claude_entries import program
from sightline.cli.addresses import served_version
from sightline.cli.agent_command import provider_addresses
from sightline.cli.doctor_checks import EXTRAS
from sightline.cli.login_service import Service, WholeText, find_service, run
from sightline.cli.options import Place, place, with_json
from sightline.cli.phrases import Phrases
from sightline.cli.render import console, print_json, print_text, printable
from sightline.cli.serve import PORT
from sightline.errors import BadInput
from sightline.files.changed_file import ChangedFile, recorded
from sightline.files.private_files import make_directory
from sightline.files.replacement import OWNER_ONLY, replace_file
from sightline.providers.agents import AGENTS, Agent
from sightline.server.config import usual_upstreams
from sightline.values.decoders import decode_json

_FOLDER = "setup"  # in the folder of all sessions: copies of what was changed
_STATE = "server"
_SECRET = re.compile(r"""((?:key|token|secret|password)["']?\s*[:=]\s*["']?)[^"',}\s]{3,}""", re.IGNORECASE)


class Upstreams(Struct):
    """What the server of all agents is told: its port, and where each agent's requests went before."""

    port: int = PORT
    agents: dict[str, dict[str, str]] = {}  # by agent and provider; "": to the provider itself

    @property
    def named(self) -> dict[str, str]:
        """The addresses that are not the provider's own."""
        return {name: to for used in self.agents.values() for name, to in used.items() if to}


class _Known(NamedTuple):
    """An agent on this machine."""

    agent: Agent
    file: Path | None  # its configuration
    is_there: bool
    address: str  # its configuration has this one of ours; "": none


@click.command(short_help="Give an agent our address for good, or take it back.")
@click.argument("name", required=False)
@click.option("--undo", is_flag=True, help="Take it back: of the agent, or of all.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option(
    "--provider",
    "providers",
    multiple=True,
    type=click.Choice(["anthropic", "openai", "gemini"]),
    help="For an agent that asks several: whose requests. Without it, those for which it has a key.",
)
@click.option("--port", type=click.IntRange(1, 65535), help=f"The port of the server.  [default: {PORT}]")
@with_json
def setup(name: str | None, undo: bool, yes: bool, providers: tuple[str, ...], port: int | None, as_json: bool) -> None:
    """Write our address into the configuration of agent NAME, and start the server with the login session.

    What will be changed is shown first, and you are asked. Only the agent's own configuration is written, and units of
    systemd or launchd for the server; never the profile of a shell. `--undo` gives back the same bytes. Without NAME
    the agents on this machine are listed, with what is set up, and how each is reached.

    \b
    Examples:
      sightline setup
      sightline setup claude
      sightline setup --undo
    """
    here = place()
    words = Phrases(here.words.language, "setup")
    if name is not None and (name not in AGENTS or not AGENTS[name].program):
        raise BadInput(words("unknown", name=name, names=", ".join(_names())))
    job = _Job(here, words, yes=yes)
    if undo:
        job.undo([name] if name else _names())
    elif name is None:
        job.list_agents(as_json=as_json)
    else:
        job.set_up(AGENTS[name], providers, port)


def _names() -> list[str]:
    return [name for name, agent in AGENTS.items() if agent.program]


class _Job:
    """One run of the command."""

    def __init__(self, here: Place, words: Phrases, *, yes: bool) -> None:
        self._here, self._words, self._yes = here, words, yes
        self._folder = here.home / _FOLDER
        self._out = console()
        try:
            self._state = decode_json((self._folder / f"{_STATE}.json").read_bytes(), Upstreams)
        except (OSError, msgspec.DecodeError):
            self._state = Upstreams()

    # ------------------------------------------------------------------ what is there

    def list_agents(self, *, as_json: bool) -> None:
        """Say which agents are there, what is set up, and how each is reached."""
        known = [self._look(AGENTS[name]) for name in _names()]
        address, runs = self._address(), bool(served_version(self._state.port))
        if as_json:
            rows = [
                {"name": one.agent.name, "there": one.is_there, "file": str(one.file or ""), "address": one.address}
                for one in known
            ]
            print_json({"agents": rows, "server": {"address": address, "runs": runs}})
            return
        for one in known:
            if one.is_there:
                key = "set up" if one.address else "not set up" if one.agent.settings else "by hand"
                print_text(self._out, f"{one.agent.title}: {self._say(key, one)}", "bold" if one.address else "")
        absent = [one.agent.title for one in known if not one.is_there]
        if absent:
            print_text(self._out, self._words("absent", names=", ".join(absent)), "dim")
        key = "server runs" if runs else "server away"
        print_text(self._out, self._words(key, address=address, command=shlex.join(self._command())))

    def _say(self, key: str, one: _Known) -> str:
        own = provider_addresses(self._address())
        addresses = ", ".join(own[provider] for provider in one.agent.providers)
        wrap = self._words("or wrap", program=one.agent.program) if one.agent.is_told else ""
        facts = {"name": one.agent.name, "wrap": wrap, "file": printable(str(one.file)), "addresses": addresses}
        return self._words(key, address=one.address or own[one.agent.providers[0]], **facts)

    def _look(self, agent: Agent) -> _Known:
        file = file_of(agent.files, os.environ)
        is_there = shutil.which(agent.program) is not None or (file is not None and file.exists())
        files = (self._recorded(agent), file) if agent.settings else ()
        for one in filter(None, files):
            if address := self._address_in(agent, one):
                return _Known(agent, one, True, address)
        return _Known(agent, file, is_there, "")

    def _recorded(self, agent: Agent) -> Path | None:
        """Return the file of an agent that was changed, be it another one than counts now; None: none is known."""
        change = recorded(self._record(agent))
        return Path(change.path) if change is not None else None

    def _address_in(self, agent: Agent, file: Path) -> str:
        """Return our address in a file of an agent, also behind a link; "" if there is none."""
        if not file.is_file():
            return ""
        changed, edit = self._file(agent, file, agent.providers, follows_links=True)
        try:
            text = changed.text(changed.read())
            return next(iter(edit.earlier(text).values()), self._address()) if edit.is_ours(text) else ""
        except (BadInput, OSError):
            return self._address() if changed.known() is not None else ""

    def _record(self, agent: Agent) -> Path:
        return self._folder / f"{agent.name}.json"

    def _file(
        self, agent: Agent, file: Path, providers: Sequence[str] = (), *, follows_links: bool = False
    ) -> tuple[ChangedFile, Addresses]:
        settings = settings_of(agent, os.environ, providers)
        edit = Addresses(file.suffix or file.name, settings, provider_addresses(self._address()))
        advice = self._words("link")
        return ChangedFile(file, self._record(agent), edit, follows_links=follows_links, advice=advice), edit

    def _address(self) -> str:
        return f"http://127.0.0.1:{self._state.port}"

    # ------------------------------------------------------------------ setting up

    def set_up(self, agent: Agent, providers: Sequence[str], port: int | None) -> None:
        """Show what will be changed, ask, and change it. An agent is not sent to a server that cannot be started."""
        for package in EXTRAS["server"]:
            import_module(package)
        if port is not None:
            if port != self._state.port and set(self._state.agents) - {agent.name}:
                raise BadInput(self._words("other port", port=self._state.port))
            self._state.port = port
        file = file_of(agent.files, os.environ)
        if file is None or not agent.settings:
            raise BadInput(f"{agent.title}: {self._say('by hand', self._look(agent))}")
        other = self._recorded(agent)
        if other is not None and os.path.realpath(other) != os.path.realpath(file) and self._address_in(agent, other):
            name = printable(str(other))
            raise BadInput(self._words("other file", title=agent.title, name=agent.name, file=name))
        changed, edit = self._file(agent, file, providers)
        if not edit.settings:
            raise BadInput(self._words("which provider", name=agent.name, title=agent.title))
        old, new = changed.planned()
        for remark in self._remarks(agent, edit, old):
            print_text(self._out, remark, "yellow")
        self._state.agents[agent.name] = self._upstreams(agent, edit, changed.plain())
        service = find_service(self._command(), self._state.port, os.environ)
        texts = {file: (old, new), **{unit: (_text(unit), text) for unit, text in _files(service).items()}}
        self._show(texts)
        if all(before == after for before, after in texts.values()):
            print_text(self._out, self._words("as it is", title=agent.title))
        else:
            self._ask()
            changed.install()
            for unit, text in _files(service).items():
                self._unit(unit, text).install()
        self._keep()
        is_started = service is not None and self._start(service)
        key = "done" if served_version(self._state.port) or is_started else "done, no server"
        command = shlex.join(self._command())
        print_text(self._out, self._words(key, title=agent.title, name=agent.name, command=command), "bold")

    def _remarks(self, agent: Agent, edit: Addresses, text: str) -> Iterable[str]:
        """Yield what keeps an agent from asking us. Raises BadInput if nothing of it would."""
        possible = [setting for setting in edit.settings if edit.is_possible(text or edit.empty, setting)]
        for setting in edit.settings:
            address = edit.own[setting.provider]
            if choice := edit.other_choice(text or edit.empty, setting):
                raise BadInput(self._words("other choice", title=agent.title, choice=choice, address=address))
            if setting not in possible and not setting.within and not edit.is_ours(text or edit.empty):
                value = setting.value.format(address=address).strip("[]")
                yield self._words("not changed", key=".".join(setting.keys), value=value)
        if not possible and not edit.is_ours(text or edit.empty):
            raise BadInput(self._words("nothing possible", title=agent.title))
        if (settings := missing_key(agent, os.environ)) is not None:
            yield self._here.words("wrap gemini key", path=settings)
        for name in {setting.keys[-1] for setting in possible} & set(os.environ):
            yield self._words("variable", name=name, title=agent.title)

    def _upstreams(self, agent: Agent, edit: Addresses, text: str) -> dict[str, str]:
        """Return where an agent's requests go now. Raises BadInput if another agent's go elsewhere."""
        usual, here = usual_upstreams({}), usual_upstreams(os.environ)
        shell = {name: to for name, to in here.items() if to != usual[name]}
        earlier = self._state.agents.get(agent.name, {}) | shell | edit.earlier(text)
        used = {}
        for setting in edit.settings:
            upstream = earlier.get(setting.provider, "")
            own = upstream.startswith(self._address())
            used[setting.provider] = "" if own else upstream
        for name, others in self._state.agents.items():
            for provider, to in others.items():
                if name != agent.name and provider in used and used[provider] != to:
                    raise BadInput(self._words(
                        "other upstream", title=agent.title, to=used[provider] or usual[provider], name=agent.name,
                        other=AGENTS[name].title, other_to=to or usual[provider],
                    ))  # fmt: skip
        return used

    def _command(self) -> list[str]:
        """Return the command of the server. Its sessions are those of the user's folder."""
        root = self._here.root or os.environ.get("SIGHTLINE_HOME")
        at = ["--project", str(Path.home()), *(["--root", str(Path(root).absolute())] if root else [])]
        named = [word for name, to in self._state.named.items() for word in ("--upstream", f"{name}={to}")]
        return [*shlex.split(program()), *at, "serve", "--port", str(self._state.port), *named]

    def _show(self, texts: Mapping[Path, tuple[str, str]]) -> None:
        for path, (old, new) in texts.items():
            name = printable(str(path))
            lines = unified_diff(old.splitlines(), new.splitlines(), name, name, lineterm="", n=2)
            for line in lines:
                print_text(
                    self._out, _SECRET.sub(r"\1…", printable(line)), {"+": "green", "-": "red"}.get(line[:1], "")
                )

    def _ask(self) -> None:
        if self._yes:
            return
        if not sys.stdin.isatty():
            raise BadInput(self._words("say yes"))
        if not click.confirm(self._words("really")):
            raise click.Abort

    # ------------------------------------------------------------------ the server

    def _unit(self, path: Path, text: str) -> ChangedFile:
        record = self._folder / f"{path.name}.json"
        return ChangedFile(path, record, WholeText(text), follows_links=False, advice=self._words("link"))

    def _start(self, service: Service) -> bool:
        """Start the server, or the port of one that is not started yet. Return whether that went well."""
        done = [run(command) for command in service.start]
        return done[-1]

    def _keep(self) -> None:
        make_directory(self._folder)
        replace_file(self._folder / f"{_STATE}.json", msgspec.json.encode(self._state), mode=OWNER_ONLY)

    # ------------------------------------------------------------------ taking it back

    def undo(self, names: Sequence[str]) -> None:
        """Take our addresses out, and the server with the last of them.

        Raises BadInput or OSError if that of an agent cannot be; it counts as set up then.
        """
        found = [one for one in map(self._look, (AGENTS[name] for name in names)) if one.address and one.file]
        if not found:
            print_text(self._out, self._words("nothing to undo"))
        failed: dict[str, Exception] = {}
        for one in found:
            assert one.file is not None
            changed, _ = self._file(one.agent, one.file, one.agent.providers)
            try:
                key = "undone" if changed.is_unchanged() else "undone partly"
                changed.uninstall()
            except (BadInput, OSError) as error:
                failed[one.agent.name] = error
                continue
            print_text(self._out, self._words(key, title=one.agent.title, file=printable(str(one.file))))
        gone = set(names) - set(failed)
        self._state.agents = {name: to for name, to in self._state.agents.items() if name not in gone}
        if self._state.agents:
            self._keep()
        elif not failed:
            self._end_server()
        for why in failed.values():
            raise why

    def _end_server(self) -> None:
        """Take the server out of the login session, and forget what it was told."""
        if (service := find_service(self._command(), self._state.port, os.environ)) is not None:
            units = [self._unit(path, _text(path)) for path in service.files if path.exists()]
            if units:
                for command in service.stop:
                    run(command)
                for unit in units:
                    unit.uninstall()
                for command in service.after:
                    run(command)
                print_text(self._out, self._words("server gone"))
        (self._folder / f"{_STATE}.json").unlink(missing_ok=True)


def _files(service: Service | None) -> dict[Path, str]:
    return service.files if service is not None else {}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
