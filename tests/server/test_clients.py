"""Clients nobody here wrote, each in a conversation with tools: no request of theirs is refused."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import client_frameworks
import clients
import pytest
from clients import Conversation, Job, count_requests, last_words
from upstream import Upstream

DRIVERS = {**clients.DRIVERS, **client_frameworks.DRIVERS}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """What all drivers talk to in the end."""
    with Upstream(Conversation()) as upstream:
        yield upstream


@pytest.fixture
def job(upstream: Upstream, tmp_path: Path) -> Job:
    """Where the drivers send their requests."""
    return Job(folder=tmp_path, openai_url=upstream.openai_url, anthropic_url=upstream.anthropic_url)


@pytest.mark.parametrize("name", DRIVERS)
def test_a_client_talks_without_an_invalid_request(name: str, job: Job, upstream: Upstream) -> None:
    """Every turn is answered, every page was read, and the strict upstream refused nothing."""
    texts = DRIVERS[name](job)
    assert upstream.invalid == []
    assert texts == last_words(job)
    assert len(upstream.calls) == count_requests(job)
    last = upstream.calls[-1].raw.decode()
    assert "previous_response_id" in last or all(f"Page {number}:" in last for number in range(1, 10))


def test_results_have_the_size_that_was_asked_for(job: Job) -> None:
    """So that a conversation can be made as long as a test needs."""
    assert len(replace(job, size=5000).read(3)) == 5000
