"""What a call cost, and how that divides among its lines: through a real server, and by itself."""

from pathlib import Path
from typing import Any

import pytest
from rest_server import RestServer

from sightline import Session
from sightline.providers.catalog import PRICES
from sightline.providers.prices import Price, price_input
from sightline.values.items import Usage
from sightline.values.profiles import PROFILES, input_cost
from sightline.view.costs import PromptCost

MODEL = "claude-opus-5-5"
WRITES = {"input_tokens": 30, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 70, "output_tokens": 10}
FOR_AN_HOUR = WRITES | {"cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 70}}
NO_WRITES = {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 10}
FEW = {"input_tokens": 2, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 10}


def recorded(project: Path, usage: dict[str, Any] | None, *, tools: bool = False) -> None:
    answer = {"type": "message", "role": "assistant", "model": MODEL, "content": [{"type": "text", "text": "Yes."}]}
    with Session.new(project, session_id="plain") as session:
        for number in range(3):
            if tools and number == 2:
                tool = {"name": "read_file", "description": "Reads.", "input_schema": {"type": "object"}}
                session.tools([tool], recall=False)
            session.user(f"Question {number} " + "about the cart " * 20)
            session.reply({**answer, "usage": usage} if usage is not None else answer)


@pytest.mark.parametrize("usage", [WRITES, FOR_AN_HOUR, NO_WRITES, FEW, None])
def test_lines_and_the_rest_add_up_to_the_call(server: RestServer, project: Path, usage: dict[str, Any] | None) -> None:
    """The lines, what is not in the log and the answer cost what the call did, with and without cache writes."""
    recorded(project, usage)
    found = server.get("/api/sessions/plain/calls/3")
    call, parts = found["call"], {part["name"]: part for part in found["costs"]}
    lines = sum(line["cost"] for line in found["lines"])
    assert parts["items"]["cost"] == pytest.approx(lines)
    assert lines + parts["unlogged"]["cost"] == pytest.approx(call["input_cost"])
    assert lines + parts["unlogged"]["cost"] + parts["answer"]["cost"] == pytest.approx(call["cost"])
    relative = sum(line["relative_cost"] for line in found["lines"]) + parts["unlogged"]["relative_cost"]
    assert relative == pytest.approx(call["relative_cost"], abs=0.2)
    pages = [server.get(f"/api/sessions/plain/calls/3?start={start}&limit=2")["lines"] for start in range(0, 8, 2)]
    assert [line for page in pages for line in page] == found["lines"]


def test_what_is_not_written_has_no_price_of_writing(server: RestServer, project: Path) -> None:
    """A line after the cached part costs what fresh input does, if the provider reported no write."""
    recorded(project, NO_WRITES)
    line = server.get("/api/sessions/plain/calls/3")["lines"][-1]
    framed = line["relative_cost"]
    assert line["cost"] == pytest.approx(framed * PRICES[MODEL].input / 1e6)
    assert line["tokens"] <= framed < line["tokens"] * 1.25


@pytest.mark.parametrize(("usage", "rate"), [(WRITES, 5 - 0.4), (FOR_AN_HOUR, 8 - 0.4), (NO_WRITES, 4 - 0.4)])
def test_what_is_paid_again_follows_the_same_rule(
    server: RestServer, project: Path, usage: dict[str, Any], rate: float
) -> None:
    """A changed prefix costs the price of writing only where something was written."""
    recorded(project, usage, tools=True)
    change = server.get("/api/sessions/plain/calls/3")["change"]
    assert change["lost_tokens"] > 0
    assert change["cost"] == pytest.approx(change["lost_tokens"] * rate / 1e6)


@pytest.mark.parametrize("profile", ["openai", "anthropic", "local"])
@pytest.mark.parametrize("price", [Price(4, 0.4, 5, 20), Price(2, 0.2, 2, 8)])
@pytest.mark.parametrize(
    "usage",
    [
        Usage(1000, 5, 600, 300),
        Usage(1000, 5, 600, 300, 100),
        Usage(1000, 5, 600),
        Usage(40, 5, 10, 10),
        Usage(100, 5, 900, 50),
        Usage(0, 5),
    ],
)
def test_the_parts_of_a_prompt_cost_what_it_does(usage: Usage, price: Price, profile: str) -> None:
    """However the provider counts: more than the lines have, less, or more cached than it says it got."""
    rules = PROFILES[profile]
    made = PromptCost(usage, [30, 5, 0, 65], rules, price)
    relative = made.unlogged.relative + sum(line.relative for line in made.lines)
    assert relative == pytest.approx(input_cost(usage, rules.prices))
    assert (made.unlogged.money or 0) + (made.logged.money or 0) == pytest.approx(price_input(usage, price))


def test_an_hour_in_the_cache_costs_more_than_five_minutes() -> None:
    """Twice the price of fresh input, and not one and a quarter, for the tokens that are kept so long."""
    claude = PROFILES["anthropic"].prices
    assert input_cost(Usage(1000, 5, 600, 300), claude) == pytest.approx(100 + 60 + 300 * 1.25)
    assert input_cost(Usage(1000, 5, 600, 300, 300), claude) == pytest.approx(100 + 60 + 300 * 2)
    assert input_cost(Usage(1000, 5, 600, 300, 100), claude) == pytest.approx(100 + 60 + 200 * 1.25 + 100 * 2)
    assert price_input(Usage(1000, 5, 0, 1000, 1000), PRICES[MODEL]) == pytest.approx(0.008)


def test_what_no_log_shows_stands_at_the_beginning() -> None:
    """So it is cached first, and of the lines only those that end within the cached part."""
    made = PromptCost(Usage(1000, 5, 940), [20, 20, 60], PROFILES["anthropic"], None)
    assert (made.unlogged.tokens, made.unlogged.cached) == (900, True)
    assert [line.cached for line in made.lines] == [True, True, False]
    assert made.logged.money is None
