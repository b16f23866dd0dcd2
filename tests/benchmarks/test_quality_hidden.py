"""What a request hides although everything fits, on made-up runs."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks.quality import jobs
from benchmarks.quality.baselines import full
from benchmarks.quality.engine import Off
from benchmarks.quality.jobs import JOBS, Asked, done
from benchmarks.quality.messages import count_text
from benchmarks.quality.records import Run
from benchmarks.quality.replay import measure_replay
from benchmarks.quality.request import Request
from benchmarks.quality.tables import hidden
from quality_talk import REPLY, SYSTEM, USER, Json, buried, call, measured, tool


class Shortening:
    """A composer that shows long answers as one word, and says why."""

    def compose(self, history: list[Json], query: str, budget: int) -> list[Json]:
        """Shorten."""
        return [{**each, "content": "short"} if len(str(each["content"])) > 2000 else each for each in history]

    def why(self, at: int) -> str:
        """Return the reason."""
        return f"message {at} is long"


def test_hidden_tokens_are_counted_where_the_history_fits() -> None:
    """A long answer that is shown as one word is hidden at each call; the item, its tool and the reason are listed."""
    row = measured(Shortening, budget=10**6)["it"]
    assert row["hides_n"] == row["fits_n"] - 1 == row["n"] - 1
    (item,) = row["hidden_items"]
    size = count_text(buried().messages[3]["content"].strip())
    assert item == {
        "run": "one", "message": 3, "calls": row["hides_n"], "tool": "look",
        "tokens": size, "shown": 1, "reason": "message 3 is long",
    }  # fmt: skip
    assert 0.7 < row["hidden"] < 0.9


def test_where_the_history_does_not_fit_nothing_counts_as_hidden() -> None:
    """A composer must hide something there; the full history has no budget that it could fit."""
    rows = measured(Shortening, budget=1000)
    assert rows["it"]["fits_n"] == 1
    assert rows["it"]["hides_n"] == 0
    assert rows["full"]["hidden"] is None


@pytest.mark.parametrize("composer", [full, Off])
def test_a_request_in_another_form_hides_nothing(composer: Any) -> None:
    """Neither joined messages nor arguments that are spaced otherwise."""
    told = [SYSTEM, USER, {**USER, "content": "and more "}]
    for number in range(7):
        told += [call(str(number), '{"path":  "a b",\n"n": 1}'), tool(str(number), f" {number} ")]
    row = measured(composer, Run("one", "one", [*told, REPLY]), 10**5)["it"]
    assert row["fits_n"] == row["n"] == 8
    assert row["hidden"] == 0
    assert row["hidden_items"] == []


def test_a_request_knows_what_it_shares_with_the_one_before() -> None:
    """For shared messages nothing is counted again."""
    seen: list[Json] = []

    def look(message: Json) -> str:
        seen.append(message)
        return str(message["content"])

    first = Request([SYSTEM, USER, REPLY])
    assert first.each(look) == ["Be brief.", "do it", "ok"]
    second = Request([dict(SYSTEM), dict(USER), tool("1"), REPLY], first)
    assert second.shared == 2
    assert second.each(look) == ["Be brief.", "do it", "x", "ok"]
    assert len(seen) == 5
    assert first.tokens == Request(first.messages).tokens


def test_a_little_that_is_hidden_is_not_written_as_nothing() -> None:
    """The target is none at all."""
    assert [hidden(share) for share in (None, 0.0, 0.0001, 0.12)] == ["-", "0", "<0.1", "12.0"]


def test_wide_windows_are_measured_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that keep state, and one baseline; the full history has its one row."""
    runs = {"claude_code": lambda _: [buried()]}
    monkeypatch.setitem(jobs._MEASURES, "b", (runs, measure_replay))
    monkeypatch.setattr("benchmarks.quality.splits._KNOWN", {})
    (job,) = [job for job in JOBS if job.dataset == "claude_code"]
    found = done(job, Asked(Path(), composers=(f"it={__name__}:Shortening",)))
    wide = {(row["composer"], row["budget"]) for row in found.rows if row["budget"] in job.wide}
    assert wide == {(name, budget) for name in ("it", "step_window") for budget in job.wide}
    assert [row["composer"] for row in found.rows].count("full") == 1
