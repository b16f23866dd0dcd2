"""The adapter that docs/extending.md shows: it runs as it stands there, needs public names only, and keeps the laws."""

import ast
import contextlib
import io
from itertools import pairwise
from typing import Any

import pytest

import sightline
import sightline.follow
from docs_page import ROOT, blocks

PAGE = ROOT / "docs" / "extending.md"
[CODE] = [code for language, code in blocks(PAGE) if language == "python" and "ListCall" in code]
PUBLIC = {"sightline": sightline.__all__, "sightline.follow": sightline.follow.__all__}


@pytest.fixture(scope="module")
def ran() -> dict[str, Any]:
    """The names of the program after its run, and what it printed."""
    names: dict[str, Any] = {"__name__": "page"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(CODE, "extending.md", "exec"), names)
    return names | {"printed": printed.getvalue()}


def calls_of(turn: dict[str, Any]) -> set[str]:
    return {call["id"] for call in turn.get("calls", ())}


def test_it_is_short_and_needs_public_names_only() -> None:
    """About a hundred lines with the framework, and nothing from inside the package."""
    assert len([line for line in CODE.splitlines() if line.strip()]) <= 110
    for node in ast.walk(ast.parse(CODE)):
        if isinstance(node, ast.ImportFrom):
            assert {alias.name for alias in node.names} <= set(PUBLIC[node.module or ""])
        elif isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= set(PUBLIC)


def test_the_list_stays_whole_and_calls_fit(ran: dict[str, Any]) -> None:
    """Nothing is lost in the program's list or in the log, and what is sent is within the budget."""
    assert "80 turns in the list" in ran["printed"]
    session = ran["session"]
    logged = [item for item in session.items if item.kind is sightline.Kind.RESULT]
    pages = [text for turn in ran["turns"] for text in turn.get("results", {}).values()]
    assert [session.items.text(item.id) for item in logged] == pages
    budget = ran["hooks"].budget
    assert all(session.count(str(sent)) < budget.window for sent in ran["asked"])
    assert len(ran["asked"][-1]) < len(ran["turns"])


def test_calls_and_results_stay_together(ran: dict[str, Any]) -> None:
    """Whatever is left out, each call that is sent has its result after it, and roles take turns."""
    for sent in ran["asked"]:
        assert sent[0]["who"] == "user"
        for one, other in pairwise(sent):
            assert one["who"] != other["who"]
            assert calls_of(one) == set(other.get("results", {}))
        assert not calls_of(sent[-1])


def test_a_refused_call_is_sent_shorter(ran: dict[str, Any]) -> None:
    """The model refuses its 30th call; the next one is what is sent instead."""
    refused, instead = ran["asked"][29:31]
    assert len(str(instead)) < len(str(refused))
    assert instead[-1] == refused[-1]


def test_an_error_of_another_kind_is_the_programs(ran: dict[str, Any]) -> None:
    """Only what is too long is made shorter."""
    with pytest.raises(RuntimeError, match="no credit"):
        ran["hooks"].failed(RuntimeError("no credit left"))
