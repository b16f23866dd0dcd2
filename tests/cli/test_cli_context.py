"""`sightline context`: what would be sent now, in numbers that add up."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import Result

from sightline import Budget, JsonlStore, Session
from sightline.log.stores.session_folder import Folder
from sightline.values.items import Call, Message, Role

Run = Callable[..., Result]
TIGHT = ("--window", "16000", "--output", "1000")


@pytest.mark.parametrize("window", [6_000, 16_000, 200_000])
def test_the_kinds_add_up_to_what_preview_would_send(run: Run, root: Path, window: int) -> None:
    """Tokens, limit, levels and items are those of `Session.preview`."""
    facts = json.loads(run("context", "--window", str(window), "--output", "1000", "--json").stdout)
    with Session.resume("login-bug", "/shop", root=root) as session:
        payload = session.preview(Budget(window, 1000))
    assert sum(kind["tokens"] for kind in facts["kinds"].values()) == payload.tokens == facts["tokens"]
    assert ("index" in facts["kinds"]) == bool(facts["marker"])
    assert facts["free"] == payload.plan.limit - payload.tokens
    assert [item["id"] for item in facts["items"]] == [
        line.id for line in sorted(payload.plan.lines(), key=lambda line: -line.tokens)
    ]
    assert sum(facts["levels"].values()) == len(facts["items"])
    assert facts["sweep"] == payload.plan.reason


@pytest.mark.parametrize("rule", ["Never push to main.", "This is main."])
def test_constraints_and_what_a_request_adds_have_a_row(run: Run, folder: Folder, rule: str) -> None:
    """The lines that quote a constraint are counted, and so is what a provider adds where there are no tools."""
    with Session(JsonlStore(folder.file("ruled"))) as session:
        for text in ("Measure the quay.", rule):
            session.user(text)
        for number in range(30):
            session.assistant(f"Done with number {number}. " * 10)
            session.user(f"Go on with number {number}, please.")
    facts = json.loads(run("context", "ruled", "--window", "600", "--output", "0", "--json").stdout)
    assert sum(kind["tokens"] for kind in facts["kinds"].values()) == facts["tokens"]
    assert facts["kinds"]["index"]["items"] == len(facts["marker"].splitlines())
    assert ("preface" in facts["kinds"]) == rule.startswith("Never")
    assert "tools" not in facts["kinds"]
    assert facts["kinds"]["request"] == {"tokens": 3, "items": 0}
    assert re.search(r"\nrequest +3 ", run("context", "ruled", "--window", "600", "--output", "0").stdout)


def test_everything_is_shown_or_left_out(run: Run, root: Path) -> None:
    """The items in the window and the messages out of it are all there are."""
    facts = json.loads(run("context", "--window", "5000", "--output", "100", "--json").stdout)
    with Session.resume("login-bug", "/shop", root=root) as session:
        ids = {item.id for item in session.items if item.kind.name != "SYSTEM"}
    out = ids - {item["id"] for item in facts["items"]}
    assert facts["left_out"]["messages"] == sum("." not in id_ for id_ in out) > 0


@pytest.mark.slow
def test_bars_and_the_largest_items_are_printed(run: Run) -> None:
    """Kinds with bars, levels, when the next sweep comes, then the items; the rest is counted."""
    run("replay", "--sample", "--keep")
    output = run("context", *TIGHT).stdout
    assert "result " in output
    assert "█" in output
    assert "Older items are shortened once the prompt has more than 14," in output
    assert "more items: add --all" in output
    assert "Items, the largest first:" in output
    everything = run("context", *TIGHT, "--all", "--by", "order").stdout
    assert "more items: add --all" not in everything
    assert "Items, in the order in which the model reads them:" in everything
    ids = [
        float(line.split()[0][1:])
        for line in everything.splitlines()
        if line.lstrip(" ") != line and line.strip().startswith("#")
    ]
    assert ids[0] == 4
    assert len(ids) > 10


def test_a_session_that_outgrew_its_window_is_swept_next(run: Run) -> None:
    """It says so before it happens."""
    facts = json.loads(run("context", "--json", "--window", "9000", "--output", "0").stdout)
    assert facts["sweep"] == "sweep: forced"
    output = run("context", "--window", "9000", "--output", "0").stdout
    assert "The next call shortens older items (budget full)" in output


def test_a_window_that_is_too_small_shows_the_sweep_it_would_be(run: Run) -> None:
    """The next call is named a sweep, and what it leaves out has its line."""
    output = run("context", "--window", "6000", "--output", "100").stdout
    assert "The next call shortens older items (" in output
    assert "not shown" in output
    assert "left out here: " in output


def test_a_budget_that_makes_no_sense_is_bad_usage(run: Run) -> None:
    """Exit code 2, with the rule."""
    result = run("context", "--window", "10", "--output", "20")
    assert (result.exit_code, "0 <= output < window" in result.stderr) == (2, True)


def test_a_head_larger_than_the_window_is_an_error_that_says_so(run: Run) -> None:
    """What may not be reduced is named."""
    result = run("context", "--window", "200", "--output", "100")
    assert (result.exit_code, "may not be reduced" in result.stderr) == (1, True)


def test_a_session_in_the_middle_of_a_call_can_be_looked_at(run: Run, folder: Folder) -> None:
    """While a tool runs, its call is not shown, and nothing is written to the agent's log."""
    with Session(JsonlStore(folder.file("busy"))) as session:
        session.user("look")
        session.add(Message(Role.ASSISTANT, (Call("a", "read", {}),)))
    before = folder.file("busy").read_bytes()
    facts = json.loads(run("context", "busy", "--json").stdout)
    assert [item["kind"] for item in facts["items"]] == ["user"]
    assert facts["left_out"] == {"messages": 0, "tokens": 0}
    assert folder.file("busy").read_bytes() == before


class Clock(NamedTuple):
    """A window."""

    shows: str

    def render(self) -> str:
        return self.shows


def test_windows_are_shown_as_they_were_last_sent(run: Run, folder: Folder) -> None:
    """The shell cannot draw another program's window anew; its last text counts."""
    windows = {"clock": Clock("it is noon " * 20)}
    with Session(JsonlStore(folder.file("windows")), windows=windows) as session:
        session.user("what time is it?")
        session.windows.show("clock")
        sent = session.compose(Budget(10_000))
    facts = json.loads(run("context", "windows", "--window", "10000", "--output", "0", "--json").stdout)
    assert facts["kinds"]["window"]["items"] == 1
    assert facts["tokens"] == sent.tokens


def test_a_sliding_session_sweeps_at_the_limit(run: Run, folder: Folder) -> None:
    """Its next sweep is where the window is full."""
    with Session(JsonlStore(folder.file("plain"))) as session:
        session.user("hello")
        session.configure(strategy="sliding")
    facts = json.loads(run("context", "plain", "--window", "1000", "--output", "0", "--json").stdout)
    assert facts["next_sweep"]["above"] == 1000
