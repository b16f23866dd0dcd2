"""`sightline context`: what was done to make it fit, and what is switched off."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sightline import Budget, JsonlStore, Session
from sightline.log.stores.session_folder import Folder
from sightline.values.settings import REDUCTIONS

Run = Callable[..., Result]


@pytest.mark.slow
@pytest.mark.accepts(365)
def test_each_reduction_says_what_it_removed_and_saved(run: Run, root: Path) -> None:
    """As JSON with the ids, for people in a table of those that happened, in either language."""
    tight = ("context", "--window", "6000", "--output", "100")
    facts = json.loads(run(*tight, "--json").stdout)["reductions"]
    with Session.resume("login-bug", "/shop", root=root) as session:
        made = session.preview(Budget(6_000, 100)).reductions()
    assert facts == [{"kind": e.kind, "removed": list(e.removed), "tokens": e.tokens, "off": False} for e in made]
    assert [each["kind"] for each in facts] == list(REDUCTIONS)
    trim = facts[3]
    assert trim["tokens"] > 0
    row = ["left", "out", "(trim)", f"{len(trim['removed']):,}", f"{trim['tokens']:,}"]
    table = [line.split() for line in run(*tight).stdout.splitlines()]
    assert ["to", "fit", "the", "budget", "items", "saved"] in table
    assert row in table
    assert ["smaller", "windows", "0", "0"] not in table
    assert "略去（trim）" in run("--lang", "zh", *tight).stdout


@pytest.mark.accepts(365)
def test_what_is_off_is_said(run: Run, folder: Folder) -> None:
    """Also where it would have had nothing to do; where nothing is off and all is shown, there is no table."""
    with Session(JsonlStore(folder.file("short"))) as session:
        session.user("hello")
        assert "to fit the budget" not in run("context", "short", "--window", "200000").stdout
        session.configure(reductions=("gists", "windows", "trim"))
    lines = [line.split() for line in run("context", "short", "--window", "200000").stdout.splitlines()]
    assert ["replaced", "by", "summaries", "0", "0", "switched", "off"] in lines
    refused = run("compact", "short")
    assert (refused.exit_code, "Summaries are switched off" in refused.stderr) == (1, True)


class Wide:
    """A window of somebody else's."""

    def render(self) -> str:
        """Much."""
        return "wide " * 2000


@pytest.mark.accepts(365)
def test_windows_are_accounted_for_as_they_were_sent(run: Run, folder: Folder) -> None:
    """The shell cannot draw them; the log knows what their giving way saved."""
    with Session(JsonlStore(folder.file("windows")), windows={"wide": Wide()}) as session:
        session.user("what is there?")
        session.windows.show("wide")
        sent = session.compose(Budget(4_000))
    assert sent.spared["wide"] > 1500
    facts = json.loads(run("context", "windows", "--window", "4000", "--output", "0", "--json").stdout)
    assert facts["reductions"][1] == {
        "kind": "windows",
        "removed": ["wide"],
        "tokens": sent.spared["wide"],
        "off": False,
    }
