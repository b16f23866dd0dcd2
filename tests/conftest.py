"""Sizes: `make test` and `make slow` run every promise small, `make soak` (SIGHTLINE_SOAK=1) at full size."""

import fcntl
import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import open_resources
from cpu_costs import Costs

if TYPE_CHECKING:
    from postgres_server import PostgresServer
    from sightline import PostgresStores
    from sightline.agent.models.endpoint import Endpoint

ROOT = Path(__file__).parent.parent
SOAK = os.environ.get("SIGHTLINE_SOAK") == "1"

settings.register_profile(
    "test", max_examples=50, derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
settings.register_profile(
    "test laws", max_examples=100, derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
settings.register_profile(
    "soak", max_examples=500, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
settings.register_profile(
    "soak laws", max_examples=5000, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
_PROFILE = "soak" if SOAK else "test"
settings.load_profile(_PROFILE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """What `cpu_costs` needs."""
    parser.addoption("--costs", type=Path, help="write here what each test costs, its processes included")


def pytest_configure(config: pytest.Config) -> None:
    """Measure what each test costs, and look at what it leaves open."""
    gc.disable()  # until all is imported: little of that is ever garbage, and to look for it takes a tenth of the time
    config.pluginmanager.register(Costs(config))
    config.pluginmanager.register(open_resources)  # hooks of a conftest are not called for fixtures of the whole run


def pytest_collectstart(collector: pytest.Collector) -> None:
    """The laws are tried more often than other properties."""
    if isinstance(collector, pytest.Module):
        settings.load_profile(f"{_PROFILE} laws" if "laws" in collector.path.parts else _PROFILE)


def pytest_collection_finish() -> None:
    """What is imported by now stays, so that the collector of garbage need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A path for each test that has no folder of its own: to make one takes longer than most tests."""
    return (tmp_path_factory.getbasetemp() / f"home{number}" for number in count())


@pytest.fixture(autouse=True)
def _home(request: pytest.FixtureRequest, _homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the user's own sessions."""
    has_folder = "tmp_path" in request.fixturenames
    home = request.getfixturevalue("tmp_path") / "home" if has_folder else next(_homes)
    monkeypatch.setenv("SIGHTLINE_HOME", str(home))
    monkeypatch.delenv("SIGHTLINE_STORE", raising=False)


@pytest.fixture(scope="session")
def postgres() -> "PostgresServer":
    """The PostgreSQL of this run. A test takes a schema of its own: `postgres.url()`."""
    from postgres_server import running

    return running()


@pytest.fixture
def url(postgres: "PostgresServer") -> str:
    """The address of a schema of its own, in which there is nothing yet."""
    return postgres.url()


@pytest.fixture
def stores(url: str) -> "Iterator[PostgresStores]":
    """Sessions in that schema."""
    from sightline import PostgresStores

    with closing(PostgresStores(url)) as made:
        yield made


def pytest_unconfigure() -> None:
    """Stop the PostgreSQL of this run, if a test has started it."""
    if (server := sys.modules.get("postgres_server")) is not None:
        server.leave()


@pytest.fixture
def soak() -> bool:
    """Whether this run is at full size."""
    return SOAK


Tried = Callable[[str, int], None]
"""Says how often a hostile test tried something: tried("kills", 50)."""


@pytest.fixture
def tried(record_property: Callable[[str, object], None]) -> Tried:
    """What a hostile test tried, and how often: printed at the end of the run."""

    def note(what: str, times: int) -> None:
        record_property(f"tried {what}", times)

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line with everything that hostile tests tried."""
    counts: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name.startswith("tried "):
                counts[name.removeprefix("tried ")] += value
    if counts:
        terminalreporter.write_line(
            "tried: " + ", ".join(f"{times:,} {what}" for what, times in sorted(counts.items()))
        )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time: the workers of a parallel run share the cache."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "fetching.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def tiny_model() -> "Endpoint":
    """The tiny model: in the folder that SIGHTLINE_TINY names, else in the project's .cache."""
    from sightline.agent.models.tiny_model import fetch_tiny, tiny_endpoint

    home = Path(os.environ.get("SIGHTLINE_TINY") or ROOT / ".cache")
    with _alone(home):
        fetch_tiny(home)
    found = tiny_endpoint(home)
    assert found is not None
    return found
