"""Part (b): what was needed, what was shown, what it cost, and the prefix law."""

from typing import Any

import pytest
from benchmarks.histories import agent_run
from benchmarks.quality.baselines import sliding
from benchmarks.quality.composer_calls import BUCKET_NAMES, timing
from benchmarks.quality.engine import Engine, Off, Thrifty
from benchmarks.quality.messages import common_prefix, count_message
from benchmarks.quality.needed_values import epoch, idle_seconds, needed_values
from benchmarks.quality.records import Run
from benchmarks.quality.replay import Rules, measure_replay
from quality_talk import REPLY, SYSTEM, USER, Json, buried, call, measured, tool


def test_values_that_a_call_depends_on() -> None:
    """Ids, paths and numbers count, also those within a command; plain words do not."""
    made = call("1", '{"a":"HAT056","b":"economy","c":"ls src/main.py && x","n":12345,"t":true}')
    assert needed_values(made["tool_calls"][0]) == ["HAT056", "src/main.py", "12345"]


def test_prefixes_are_compared_message_by_message() -> None:
    """A request that goes on shares all; one that changes shares what stands before the change."""
    history = [SYSTEM, USER, call("1"), tool("1")]
    assert common_prefix(history, [*history, REPLY]) == 4
    assert common_prefix(history, [SYSTEM, REPLY]) == 1


def test_idle_time_needs_a_clock() -> None:
    """It runs from the model's last answer to the newest message; free text is no time."""

    def at(message: Json, time: str) -> Json:
        return {**message, "ts": f"2026-01-01T10:{time}Z"}

    told = [at(USER, "00:00"), at(REPLY, "00:10"), at(tool("1"), "00:20"), at(USER, "09:30.500"), REPLY]
    assert idle_seconds(told, 1, 4) == 560.5
    assert idle_seconds([USER, REPLY, USER, REPLY], 1, 3) is None
    assert epoch("1:56 pm on 8 May, 2023") is None


def test_a_missing_value_is_a_fault_and_is_paid_for_once() -> None:
    """Used twice, it is missed once: the first use shows it to the second. The full history misses nothing."""
    rows = measured(sliding)
    whole, it = rows["full"], rows["it"]
    assert whole["faults"] == 0
    assert whole["needed"] == whole["rel_cost"] == whole["rel_cost_faults"] == 1
    assert it["faults"] == it["fault_reads"] == 1
    assert it["needed"] == it["needed_step"] == 0.5
    paid = 1.25 * count_message(buried().messages[3])
    assert it["fault_cost"] == pytest.approx(paid)
    assert it["rel_cost_faults"] == pytest.approx((it["cost"] + paid) / whole["cost"])


def handle_of(index: int, text: str) -> Any:
    """A composer that slides and shows one handle, #3, which brings back this message."""

    def compose(history: list[Json], query: str, budget: int) -> tuple[list[Json], dict[str, list[int]]]:
        first, *others = sliding(history, query, budget - 60)
        return [first, {"role": "user", "content": text}, *others], {"#3": [index] if index < len(history) else []}

    return compose


@pytest.mark.parametrize(
    ("index", "text", "near"), [(3, "[#3: alpha.py]", 1), (3, "[#33: alpha.py]", 0.5), (5, "[#3: other]", 0.5)]
)
def test_one_step_away_needs_a_handle_that_is_shown_and_leads_there(index: int, text: str, near: float) -> None:
    """A handle counts where it stands as a word of its own, and only for what its message says."""
    row = measured(handle_of(index, text))["it"]
    assert (row["needed"], row["needed_step"]) == (0.5, near)


def test_a_handle_must_lead_into_the_history() -> None:
    """An index beyond the history is refused by name."""
    with pytest.raises(ValueError, match="#3"):
        measured(lambda history, query, budget: (list(history), {"#3": [10**6]}))


def test_after_an_hour_the_cache_is_cold() -> None:
    """A pause costs the cache, unless the cache is taken to last longer."""
    warm = measured(sliding, buried(), 10**6)["full"]
    cold = measured(sliding, buried(pause=11), 10**6)["full"]
    assert warm["cold"] is None
    assert cold["cold"] > 0
    assert cold["cache_hit"] < warm["cache_hit"] == cold["cache_hit_warm"]
    assert measured(sliding, buried(pause=11), 10**6, rules=Rules(7200))["full"]["cost"] == warm["cost"]


class Sliding:
    """A composer with state, which gets every call."""

    sessions: list[str]
    calls: list[int]

    def start(self, session: str) -> None:
        """Begin."""
        self.sessions = [session]
        self.calls = []

    def compose(self, history: list[Json], query: str, budget: int) -> list[Json]:
        """Slide."""
        assert not self.calls or len(history) > self.calls[-1]
        self.calls.append(len(history))
        return sliding(history, query, budget)


def test_state_does_not_change_what_is_measured() -> None:
    """A class, an object and a function that compose alike have the same figures, but for the times."""

    def figures(composer: Any) -> dict[str, Any]:
        return {k: v for k, v in measured(composer)["it"].items() if not k.startswith(("ms", "growth"))}

    assert figures(Sliding) == figures(Sliding()) == figures(sliding)


def test_of_a_long_run_the_last_calls_count() -> None:
    """A composer with state gets all calls, so that it is not cold where the measuring begins."""
    composer = Sliding()
    row = measured(composer, rules=Rules(most_calls=3))["it"]
    assert row["n"] == len(row["series"]) == 3
    assert len(composer.calls) == 11
    assert composer.sessions == ["made up/one/3000"]


def test_the_history_may_not_be_changed() -> None:
    """A composer that writes into its input is found out."""

    def vandal(history: list[Json], query: str, budget: int) -> list[Json]:
        history[-1]["content"] += "!"
        return list(history)

    with pytest.raises(RuntimeError, match="changed the messages"):
        measured(vandal)


def test_time_and_its_growth() -> None:
    """Linear time has slope 1, constant time 0; too few lengths say nothing."""
    linear = timing([(n, n * 1e-6) for n in range(1000, 200_000, 1000)])
    assert linear["growth"] == pytest.approx(1, abs=0.05)
    assert set(linear["ms_by_history"]) == set(BUCKET_NAMES)
    assert linear["ms_p50"] < linear["ms_p95"]
    assert timing([(n, 1e-4) for n in range(1000, 200_000, 1000)])["growth"] == pytest.approx(0, abs=0.01)
    assert timing([(5000, 1e-4)] * 30)["growth"] is None


# ------------------------------------------------------------------ the prefix law


class Forgetful(Sliding):
    """Says why, or does not."""

    reason = ""


class Explained(Sliding):
    """Always says why."""

    reason = "the window moved"


def test_a_break_without_a_reason_is_counted() -> None:
    """Who promises reasons is held to it; what each reason cost is summed."""
    silent, said = measured(Forgetful)["it"], measured(Explained)["it"]
    assert silent["prefix_breaks"] == silent["unexplained_breaks"] > 0
    assert (said["prefix_breaks"], said["unexplained_breaks"]) == (silent["prefix_breaks"], 0)
    (cost,) = said["break_reasons"].values()
    assert cost["calls"] == said["prefix_breaks"]
    assert cost["tokens"] > 0
    assert measured(sliding)["it"]["break_reasons"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("budget", [2500, 6000, 10**6])
def test_sightline_names_a_reason_for_every_break(budget: int) -> None:
    """On a generated agent run each request begins with the one before or its receipt says why not, none is over the
    budget or illegal, and with room for everything nothing breaks and nothing is missing."""
    row = measured(Engine, Run("one", "one", agent_run(110)), budget)["it"]
    assert row["requests_compared"] > 30
    assert row["unexplained_breaks"] == 0
    assert "over_budget" not in row["problems"]
    assert sum(cost["calls"] for cost in row["break_reasons"].values()) == row["prefix_breaks"]
    if budget == 10**6:
        assert (row["prefix_breaks"], row["faults"], row["invalid"]) == (0, 0, 0)
    else:
        assert row["prefix_breaks"] > 0


def test_a_row_has_the_sums_of_each_run() -> None:
    """Together they are the row's; a run can be measured alone, by its name."""
    both = [Run(name, name, [dict(message) for message in buried().messages]) for name in ("one", "two")]
    rows = measure_replay("made up", both, {"it": sliding}, (500,), 5)
    for row in rows:
        assert sum(each["cost_real"] for each in row["by_run"].values()) == pytest.approx(row["cost_real"])
        assert sum(each["n"] for each in row["by_run"].values()) == row["n"]
    alone = measure_replay("made up", both, {"it": sliding}, (500,), 5, rules=Rules(runs=("two",)))
    assert {name for row in alone for name in row["by_run"]} == {"two"}


@pytest.mark.parametrize(("composer", "economy"), [(Engine, None), (Thrifty, "thrifty"), (Off, "off")])
def test_sightline_is_measured_with_each_economy(composer: type[Engine], economy: str | None) -> None:
    """Unless a composer says so, with the one that the library has by default."""
    assert composer().session.settings.config.get("economy") == economy
