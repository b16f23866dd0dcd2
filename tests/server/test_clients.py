"""Clients nobody here wrote, each in a conversation with tools: no request of theirs is refused."""

from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import client_frameworks
import clients
import pytest
from clients import Conversation, Job, count_requests, last_words
from loopback import Server
from upstream import Upstream

from sightline.server.config import Config

DRIVERS = {**clients.DRIVERS, **client_frameworks.DRIVERS}
THINKERS = {name for name in DRIVERS if any(word in name for word in ("thinking", "budget", "responses"))} | {
    "anthropic async",
    "pydantic-ai anthropic",
}
STORED = "openai responses stored"  # kept upstream: nobody can make it shorter
WINDOW = 8000  # tokens: less than the pages of a conversation over budget
PROXY = find_spec("sightline.server.app") is not None  # it is being built


@pytest.fixture
def upstream(request: pytest.FixtureRequest) -> Iterator[Upstream]:
    """What all drivers talk to in the end."""
    tight = "over_budget" in request.node.name
    with Upstream(Conversation(), **({"window": WINDOW} if tight else {})) as upstream:
        yield upstream


@pytest.fixture
def base_url(request: pytest.FixtureRequest, upstream: Upstream, tmp_path: Path) -> Iterator[str]:
    """Where clients send their requests: to the upstream itself, or to the proxy before it."""
    proxied, window = request.param
    with ExitStack() as stack:
        if not proxied:
            yield upstream.anthropic_url
            return
        upstreams = {"anthropic": upstream.anthropic_url, "openai": upstream.openai_url}
        config = Config(folder=tmp_path, root=tmp_path / "sessions", upstreams=upstreams, window=window)
        yield stack.enter_context(Server(import_module("sightline.server.app").create_app(config))).url


def make_job(base_url: str, folder: Path, size: int = 400) -> Job:
    """What a driver does."""
    return Job(folder=folder, openai_url=f"{base_url}/v1", anthropic_url=base_url, size=size)


PLACES = [pytest.param((False, None), id="direct")]
if PROXY:
    PLACES.append(pytest.param((True, None), id="proxied"))


@pytest.mark.parametrize("base_url", PLACES, indirect=True)
@pytest.mark.parametrize("name", DRIVERS)
def test_a_client_talks_without_an_invalid_request(
    name: str, base_url: str, tmp_path: Path, upstream: Upstream
) -> None:
    """Every turn is answered, every page was read, thinking came back, and the strict upstream refused nothing."""
    job = make_job(base_url, tmp_path)
    texts = DRIVERS[name](job)
    assert upstream.invalid == []
    assert texts == last_words(job)
    assert len(upstream.calls) == count_requests(job)
    last = upstream.calls[-1].raw.decode()
    assert name == STORED or all(f"Page {number}:" in last for number in range(1, 10))
    thoughts = [asked for asked in upstream.calls if "let me think" in asked.raw.decode()]
    assert bool(thoughts) == (name in THINKERS - {STORED})


if PROXY:

    @pytest.mark.parametrize("base_url", [pytest.param((True, WINDOW), id="proxied")], indirect=True)
    @pytest.mark.parametrize("name", [name for name in DRIVERS if name != STORED])
    def test_a_client_talks_over_budget(name: str, base_url: str, tmp_path: Path, upstream: Upstream) -> None:
        """The pages are more than the window, and still every turn is answered and nothing refused."""
        job = make_job(base_url, tmp_path, size=6000)
        texts = DRIVERS[name](job)
        assert upstream.invalid == []
        assert texts == last_words(job)
        assert max(asked.bill.given for asked in upstream.calls if asked.bill) <= WINDOW


def test_results_have_the_size_that_was_asked_for(tmp_path: Path) -> None:
    """So that a conversation can be made as long as a test needs."""
    assert len(make_job("", tmp_path, size=5000).read(3)) == 5000
