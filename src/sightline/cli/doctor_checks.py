"""The checks of `sightline doctor`: each looks at one thing, and says what was found and what to do."""

import asyncio
import os
import re
import shutil
import socket
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from errno import EACCES
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sightline import __version__
from sightline.agent.config import read_config
from sightline.agent.models.discovery import Found, Listening, candidates
from sightline.agent.models.endpoint import checked_address
from sightline.cli.addresses import served_version
from sightline.cli.options import Place
from sightline.cli.render import human_size
from sightline.cli.tenant import database_tenants
from sightline.errors import BadInput, SightlineError
from sightline.fleet import work_schema
from sightline.fleet.errors import NewerQueue, NewerTables, UnknownTenant, WorkRefused
from sightline.fleet.postgres import PostgresStores
from sightline.inspector.pages import are_built
from sightline.log.stores.disk import OsDisk
from sightline.plan.strategies.project_choice import chosen
from sightline.server.access_token import TOKEN_FILE
from sightline.session.session import Session
from sightline.values.tokens import DEFAULT_ENCODING, counter

State = Literal["good", "note", "broken"]

LEAST_SPACE, LITTLE_SPACE = 20_000_000, 500_000_000  # bytes: below, nothing much can be written; below, say so
MOST_VERIFIED = 50_000_000  # bytes of a log that is verified here: a longer one takes more than some seconds
UPSTREAM_SECONDS = 5.0
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")  # before the words of an error of the network
EXTRAS: Mapping[str, Sequence[str]] = {  # of the extra `all`: modules that show whether it is installed
    "apps": ("psutil",),
    "code": ("tree_sitter", "tree_sitter_python", "python_calamine", "pathspec"),
    "agent": ("httpx2",),
    "ba-agent": ("langgraph",),
    "chat": ("prompt_toolkit",),
    "server": ("starlette", "uvicorn", "httpx2", "prometheus_client"),
    "postgres": ("psycopg", "psycopg_pool", "procrastinate"),
    "langchain": ("langchain",),
    "openai-agents": ("agents",),
    "pydantic-ai": ("pydantic_ai",),
    "mcp": ("mcp",),
    "local": ("xllamacpp",),
}


class Check(NamedTuple):
    """What one check found. `found` and `advice` are keys of phrases; `facts` are filled in."""

    name: str
    state: State
    found: str
    advice: str = ""
    facts: Mapping[str, Any] = {}


class Options(NamedTuple):
    """What the command line says."""

    upstreams: Sequence[str]  # addresses that must be reached
    usual: Sequence[str]  # addresses that are tried
    port: int
    offline: bool


def run_checks(here: Place, options: Options) -> Iterator[Check]:
    """Yield what each check finds, in the order in which a person would look. Nothing is raised."""
    checks: tuple[Callable[[], Iterator[Check]], ...] = (
        check_versions,
        check_extras,
        check_pages,
        lambda: check_configuration(here),
        lambda: check_store(here),
        lambda: check_newest(here),
        check_tokenizer,
        lambda: check_model(here, offline=options.offline),
        lambda: check_upstreams(options),
        lambda: check_port(options.port),
        lambda: check_token(here.home),
    )
    for check in checks:
        try:
            yield from check()
        except Exception as error:  # a check that fails is a finding, and the others are still made
            yield Check("check", "broken", "check failed", "report", {"why": f"{type(error).__name__}: {error}"})


def check_versions() -> Iterator[Check]:
    """Which Sightline and Python run."""
    facts = {"version": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
    yield Check("versions", "good", "versions found", facts=facts)


def check_extras() -> Iterator[Check]:
    """Which extras of `all` are not installed."""
    missing = [name for name, modules in EXTRAS.items() if not all(map(_is_installed, modules))]
    facts = {"missing": ", ".join(missing), "wanted": ",".join(missing)}
    if missing:
        yield Check("extras", "note", "extras missing", "install extras", facts)
    else:
        yield Check("extras", "good", "extras there")


def check_pages() -> Iterator[Check]:
    """Whether the inspector has its pages."""
    if are_built():
        yield Check("inspector", "good", "pages built")
    else:
        yield Check("inspector", "note", "pages not built", "build pages")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def check_configuration(here: Place) -> Iterator[Check]:
    """Whether the project's settings can be read."""
    try:
        config, choice = read_config(here.project, os.environ), chosen(here.project)
    except (SightlineError, OSError) as error:
        yield Check("configuration", "broken", "configuration bad", "fix configuration", {"why": str(error)})
        return
    facts = {"file": config.file, "strategy": choice.title}
    yield Check("configuration", "good", "configuration read" if config.file else "configuration none", facts=facts)


# ---------------------------------------------------------------------- the store


def check_store(here: Place) -> Iterator[Check]:
    """Whether sessions can be written: the folder, its lock, and the space on its disk."""
    if here.store:
        yield from check_database(here)
        return
    folder = here.folder.path
    facts: dict[str, Any] = {"folder": str(folder)}
    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    try:
        if there == folder:
            _try_to_write(folder)
        elif not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):  # the folder is made with the first session
            raise PermissionError(EACCES, "no folder can be made here", str(there))
    except (SightlineError, OSError) as error:
        yield Check("store", "broken", "store unwritable", "allow writing", facts | {"why": str(error)})
        return
    free = shutil.disk_usage(there).free
    facts |= {"free": human_size(free), "sessions": len(here.folder.sessions())}
    if free < LITTLE_SPACE:
        yield Check("store", "broken" if free < LEAST_SPACE else "note", "store full", "make space", facts)
    else:
        yield Check("store", "good", "store writable", facts=facts)


def _try_to_write(folder: Path) -> None:
    """Make, lock and delete a file. Raises SightlineError, OSError."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".doctor-") as place:
        opened = OsDisk().open(Path(place) / "probe")
        try:
            with opened.locked(2.0):
                opened.sync()
        finally:
            opened.close()


def check_database(here: Place) -> Iterator[Check]:
    """Whether the database can be reached and has our tables."""
    facts: dict[str, Any] = {"folder": here.stores.where}
    try:
        facts |= {"sessions": len(here.stores.sessions())}
    except SightlineError as error:
        advice = (
            "use newer" if isinstance(error, NewerTables | NewerQueue)
            else "name tenant" if isinstance(error, UnknownTenant)
            else "reach database"
        )  # fmt: skip
        yield Check("store", "broken", "store unreachable", advice, facts | {"why": str(error)})
        return
    yield Check("store", "good", "store reachable", facts=facts)
    if role := database_tenants(here).unguarded_role():
        yield Check("store", "note", "store unguarded", "use ordinary role", {"role": role})
    yield from _check_work(here, facts)


def _check_work(here: Place, facts: dict[str, Any]) -> Iterator[Check]:
    """Whether the servers of a database may do background work."""
    if not work_schema.is_installed() or not isinstance(here.stores, PostgresStores):
        return
    try:
        here.stores.database.check_work()
    except WorkRefused as error:
        yield Check("store", "broken", "work refused", "allow work", {"why": error.why})
    except SightlineError as error:
        yield Check("store", "broken", "store unreachable", "reach database", facts | {"why": str(error)})


def check_newest(here: Place) -> Iterator[Check]:
    """Whether the newest session is as it was written, and what it sent can be made again."""
    try:
        ids = here.stores.sessions()
    except SightlineError:  # which `check_store` says
        return
    if not ids:
        yield Check("newest session", "good", "no session yet")
        return
    facts: dict[str, Any] = {"id": ids[0]}
    try:
        with here.session(ids[0]) as session:
            bad = list(_damage(session, here.stores.look(ids[0]).size))
    except (SightlineError, OSError) as error:
        yield Check("newest session", "broken", "session unreadable", "look at session", facts | {"why": str(error)})
        return
    if bad:
        yield Check("newest session", "broken", "session damaged", "verify session", facts | {"why": ", ".join(bad)})
    else:
        yield Check("newest session", "good", "session verified", facts=facts)


def _damage(session: Session, size: int) -> Iterator[str]:
    if session.damaged:
        yield f"damaged {session.damaged}"
    if changed := len(session.repairs.changed):
        yield f"changed {changed}"
    if size <= MOST_VERIFIED and (wrong := sum(not payload.good for payload in session.receipts.verify())):
        yield f"payloads {wrong}"


def check_token(home: Path) -> Iterator[Check]:
    """Whether only its owner can read the file of the server's token. Says nothing if there is none."""
    file = home / TOKEN_FILE
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
    except OSError:
        return
    facts = {"file": str(file), "mode": f"{mode:o}"}
    if mode & 0o077:
        yield Check("token", "broken", "token readable", "protect token", facts)
    else:
        yield Check("token", "good", "token protected", facts=facts)


# ---------------------------------------------------------------------- tokens and models


def check_tokenizer() -> Iterator[Check]:
    """Whether tokens are counted exactly."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        made = counter(DEFAULT_ENCODING)
        count = made.count("hello world")
    if count == 2 and not warned and _is_installed("splintr"):
        yield Check("tokenizer", "good", "tokens exact", facts={"encoding": DEFAULT_ENCODING})
    else:
        yield Check("tokenizer", "note", "tokens bounded", "install tokenizer")


def check_model(here: Place, *, offline: bool) -> Iterator[Check]:
    """Which model would be asked, whether its key is there and its context window known."""
    try:
        candidate = asyncio.run(_first_model(here, offline))
    except (SightlineError, OSError) as error:
        yield Check("model", "broken", "model bad", "fix model", {"why": str(error)})
        return
    except ImportError as error:
        yield Check("model", "note", "model not tried", "install agent", {"why": str(error)})
        return
    if candidate is None:
        yield Check("model", "note", "model none", "get model")
        return
    endpoint = candidate.endpoint
    facts = {"name": endpoint.name, "window": endpoint.info.window, "variable": endpoint.key_env}
    if endpoint.keyless:
        yield Check("model", "broken", "model keyless", "set key", facts)
    elif not endpoint.window_known:
        yield Check("model", "note", "model window assumed", "set window", facts)
    else:
        yield Check("model", "good", "model known", facts=facts)


async def _first_model(here: Place, offline: bool) -> Found | None:
    config = read_config(here.project, os.environ)
    async for candidate in candidates(config, os.environ, here.home, _nothing_listens if offline else None):
        return candidate
    return None


async def _nothing_listens(_: Any) -> list[Listening]:
    return []


# ---------------------------------------------------------------------- the network


def check_upstreams(options: Options) -> Iterator[Check]:
    """Whether the providers answer. Nothing is sent but a request without a key."""
    if options.offline:
        return
    for address in (*options.upstreams, *options.usual):
        facts = {"address": address}
        try:
            status = _status(address)
        except ImportError:
            yield Check("upstream", "note", "upstream not tried", "install server", facts)
        except (OSError, BadInput) as error:
            state: State = "broken" if address in options.upstreams else "note"
            yield Check("upstream", state, "upstream unreachable", "check network", facts | {"why": str(error)})
        else:
            yield Check("upstream", "good", "upstream answers", facts=facts | {"status": status})


def _status(address: str) -> int:
    """Return the status of an answer, whatever it is. Raises OSError, BadInput, ImportError."""
    import httpx2

    checked = checked_address(address, "--upstream")
    try:
        with httpx2.Client(timeout=UPSTREAM_SECONDS) as client:
            return int(client.get(checked).status_code)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise OSError(_ERRNO.sub("", str(error)) or type(error).__name__) from error


def check_port(port: int) -> Iterator[Check]:
    """Whether a server can listen at its port, or one of ours does."""
    facts: dict[str, Any] = {"port": port}
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was in use a moment ago is free
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if version := served_version(port):
                yield Check("port", "good", "port served", facts=facts | {"version": version})
            else:
                why = error.strerror or str(error)
                yield Check("port", "broken", "port taken", "choose port", facts | {"why": why})
            return
    yield Check("port", "good", "port free", facts=facts)
