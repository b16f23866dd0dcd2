"""The recorded requests of Claude Code and Codex, replayed: valid, and growing from one to the next."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest
from agent_recordings import AGENTS, COMPACTED, Recorded, load, replay
from coding_agents import SUMMARY
from place import open_place
from upstream import Upstream


def without_marks(value: Any) -> Any:
    """A request with its cache markers aside."""
    match value:
        case dict():
            return {key: without_marks(each) for key, each in value.items() if key != "cache_control"}
        case list():
            return [without_marks(each) for each in value]
        case _:
            return value


def history(step: Recorded) -> list[Any]:
    """The messages or items of a request."""
    return list(without_marks(step.body.get("messages") or step.body["input"]))


@pytest.mark.soak  # through the proxy they arrive as they are, see below
@pytest.mark.parametrize("agent", [*AGENTS, COMPACTED])
def test_recorded_requests_are_valid(agent: str) -> None:
    """The strict upstream takes each of them, and gives the recorded answers again."""
    steps = load(agent)
    with Upstream(replay(agent)) as upstream, httpx2.Client(base_url=upstream.anthropic_url, verify=False) as client:
        for step in steps:
            response = client.post(step.path, content=step.raw, headers={**step.headers, "x-api-key": "any"})
            assert response.status_code == 200, response.text
        assert upstream.invalid == []
    assert len(steps) > 20
    assert [asked.answer for asked in upstream.calls] == [step.answer for step in steps]


@pytest.mark.slow
@pytest.mark.parametrize("agent", [*AGENTS, COMPACTED])
@pytest.mark.parametrize("small", [False, True])
def test_recorded_requests_go_through_the_proxy(agent: str, small: bool, tmp_path: Path) -> None:
    """They arrive as they were sent while they fit. In a small window they arrive shortened, and none is refused."""
    steps, window = load(agent), (14_000 if agent == "codex" else 30_000) if small else None
    with (
        Upstream(replay(agent), **({"window": window} if window else {})) as upstream,
        open_place("proxied", upstream, tmp_path, window=window) as url,
        httpx2.Client(base_url=url, timeout=60, verify=False) as client,
    ):
        for step in steps:
            response = client.post(step.path, content=step.raw, headers={**step.headers, "x-api-key": "any"})
            assert response.status_code == 200, response.text
        assert upstream.invalid == []
    arrived = [asked.raw for asked in upstream.calls]
    same = [raw == step.raw for raw, step in zip(arrived, steps, strict=True)]
    assert (same[0] and not same[-1]) if small else all(same)
    assert [asked.answer for asked in upstream.calls] == [step.answer for step in steps]
    assert len(steps) > 20


@pytest.mark.parametrize("agent", AGENTS)
def test_a_recorded_history_only_grows(agent: str) -> None:
    """With markers aside, each request begins with the messages of the one before; so the agents do not rewrite."""
    steps = load(agent)
    for before, after in pairwise(steps):
        assert history(after)[: len(history(before))] == history(before)


def test_claude_code_moves_its_breakpoint() -> None:
    """The bytes of an earlier message change, because the marker is on the newest one only."""
    moved = 0
    for before, after in pairwise(load("claude")):
        newest = before.body["messages"][-1]
        if newest["role"] != "system":  # a reminder has no marker
            assert "cache_control" in newest["content"][-1]
            assert json.dumps(newest) not in json.dumps(after.body["messages"])
            moved += 1
    assert moved > 15


def test_claude_code_compacts_its_own_history_once() -> None:
    """It asks for a summary after its last results, and begins anew with the summary in a message of the user."""
    steps = load(COMPACTED)
    pairs = [(before, after) for before, after in pairwise(steps) if history(after)[1:2] != history(before)[1:2]]
    assert len(pairs) == 1
    asks, begins = pairs[0]
    assert [block["type"] for block in asks.body["messages"][-1]["content"]][-1] == "text"
    assert SUMMARY in asks.answer[0]["text"]
    assert SUMMARY in json.dumps(begins.body["messages"][0])
    assert len(history(begins)) < len(history(asks))


def test_nothing_of_the_recorder_is_left() -> None:
    """No key, no folder of its own."""
    for agent in (*AGENTS, COMPACTED):
        for step in load(agent):
            assert not {"x-api-key", "authorization"} & step.headers.keys()
            assert "/tmp/" not in step.raw.decode()
