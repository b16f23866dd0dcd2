"""Clients nobody here wrote, each in a conversation with tools: no request of theirs is refused."""

from pathlib import Path

import client_frameworks
import clients
import pytest
from clients import Conversation, Job, count_requests, last_words
from place import PLACES, open_place
from upstream import Upstream

DRIVERS = {**clients.DRIVERS, **client_frameworks.DRIVERS}
THINKERS = {name for name in DRIVERS if any(word in name for word in ("thinking", "budget", "responses"))} | {
    "anthropic async",
    "pydantic-ai anthropic",
}
STORED = "openai responses stored"  # kept upstream: nobody can make it shorter
WINDOW = 8000  # tokens: less than the pages of a conversation over budget


def make_job(base_url: str, folder: Path, size: int = 400) -> Job:
    """What a driver does."""
    return Job(folder=folder, openai_url=f"{base_url}/v1", anthropic_url=base_url, size=size)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", DRIVERS)
def test_a_client_talks_without_an_invalid_request(name: str, place: str, tmp_path: Path) -> None:
    """Every turn is answered, every page was read, thinking came back, and the strict upstream refused nothing."""
    with Upstream(Conversation()) as upstream, open_place(place, upstream, tmp_path) as base_url:
        job = make_job(base_url, tmp_path)
        texts = DRIVERS[name](job)
    assert upstream.invalid == []
    assert texts == last_words(job)
    assert len(upstream.calls) == count_requests(job)
    last = upstream.calls[-1].raw.decode()
    assert name == STORED or all(f"Page {number}:" in last for number in range(1, 10))
    thoughts = [asked for asked in upstream.calls if "let me think" in asked.raw.decode()]
    assert bool(thoughts) == (name in THINKERS - {STORED})


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DRIVERS if name != STORED])
def test_a_client_talks_over_budget(name: str, tmp_path: Path) -> None:
    """The pages are more than the window, and still every turn is answered and nothing refused."""
    with (
        Upstream(Conversation(), window=WINDOW) as upstream,
        open_place("proxied", upstream, tmp_path, window=WINDOW) as base_url,
    ):
        job = make_job(base_url, tmp_path, size=6000)
        texts = DRIVERS[name](job)
    assert upstream.invalid == []
    assert texts == last_words(job)


def test_results_have_the_size_that_was_asked_for(tmp_path: Path) -> None:
    """So that a conversation can be made as long as a test needs."""
    assert len(make_job("", tmp_path, size=5000).read(3)) == 5000
