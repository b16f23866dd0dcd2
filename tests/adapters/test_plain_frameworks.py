"""Frameworks that have no adapter, as docs/guides/frameworks.md shows them, read far more than the window holds."""

import json
import re
from itertools import pairwise
from os.path import commonprefix
from pathlib import Path

import pytest
from agent_recordings import load
from environment import ROOT
from plain_frameworks import (
    LAST,
    PAGE,
    ROUNDS,
    SEEN,
    Reading,
    count_requests,
    install,
    program,
    recording_of,
    run,
    section,
)
from through_proxy import Through
from upstream import WIRES, Upstream

WINDOW = 8_000  # tokens; the pages are 35,000

each_framework = pytest.mark.parametrize("name", SEEN)


def test_the_page_shows_each_framework_that_it_names() -> None:
    """With a program of its own and how it is installed, by the way that its program takes; no other has a section."""
    titles = re.findall(r"^## (.+)", PAGE, re.MULTILINE)
    assert titles == [*SEEN, "What cannot work anywhere"]
    for name in SEEN:
        [way] = re.findall(rf"^\| {name} \| [\d.]+ \| `([^`]+)` \|", PAGE, re.MULTILINE)
        assert ("sl.wrap(" in program(name)) is (way == "sl.wrap")
        assert ("`sightline wrap -- " in section(name)) is (way == "sightline wrap")
        assert len([line for line in program(name).splitlines() if line]) <= 10


@pytest.mark.slow
@each_framework
def test_recorded_requests_go_through_the_proxy_in_a_small_window(name: str, tmp_path: Path) -> None:
    """As they came while they fit; then shortened and for less, none refused or over the window, all pages logged."""
    steps = load(recording_of(name))
    assert len(steps) == count_requests(name)
    with Through(tmp_path, Reading(), window=WINDOW) as through:
        through.upstream._window = WINDOW
        for step in steps:
            wire = WIRES[step.path.partition("?")[0]]
            assert through.post(wire, step.raw, path=step.path, **step.headers).status_code == 200
        assert through.upstream.invalid == []
        assert all(asked.bill.given <= WINDOW for asked in through.upstream.calls if asked.bill)
        arrived = [asked.raw for asked in through.upstream.calls]
        assert arrived[:2] == [step.raw for step in steps[:2]]
        assert len(arrived[-1]) < len(steps[-1].raw) / 3
        assert _cost(arrived) < 0.9 * _cost([step.raw for step in steps])
        logged = "".join(text for session in through.names for text in through.texts(session))
        assert all(f"Line 59 of page {number}: " in logged for number in range(1, ROUNDS + 1))


def _cost(requests: list[bytes]) -> float:
    """What the messages of requests cost, with what each has from the one before in the provider's cache."""
    texts = [json.dumps(body.get("messages") or body.get("input")) for body in map(json.loads, requests)]
    kept = [len(commonprefix(both)) for both in pairwise(["", *texts])]  # noqa: RUF071 - these are no paths
    return sum(0.1 * same + 1.25 * (len(text) - same) for text, same in zip(texts, kept, strict=True))


@pytest.mark.soak
@each_framework
def test_a_program_of_the_page_runs_in_a_small_window(
    name: str, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """It says its last word, no request was refused, none over the window, and the log has every page."""
    command = install(name, tmp_path_factory)
    with Upstream(Reading(), window=WINDOW) as upstream:  # it refuses more
        printed, told = run(name, command, tmp_path, upstream, WINDOW)
        assert LAST in printed
        assert upstream.invalid == []
        assert len(upstream.calls) == count_requests(name)
        assert "recall" in upstream.calls[-1].raw.decode()
    assert "sl.wrap(" in program(name) or re.search(rf"calls of the model +{count_requests(name)}\n", told)
    logged = b"".join(path.read_bytes() for path in (tmp_path / "kept").rglob("*") if path.is_file()).decode(
        errors="replace"
    )
    assert all(f"Line 59 of page {number}: " in logged for number in range(1, ROUNDS + 1))


def test_nothing_of_the_recorder_is_left() -> None:
    """No key, no folder of its own."""
    for name in SEEN:
        for step in load(recording_of(name)):
            assert not {"x-api-key", "authorization"} & step.headers.keys()
            assert "/tmp/" not in step.raw.decode()
            assert str(ROOT) not in step.raw.decode()
