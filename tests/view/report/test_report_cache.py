"""What a provider's cache did: read from the usage that it reported."""

import pytest
from report_logs import FILE, Log

from sightline import Budget, MemoryStore, Session, Settings
from sightline.providers.prices import Price
from sightline.values.profiles import PROFILES
from sightline.view.report.session_report import report_of
from sightline.view.report.tables import caching_lines
from sightline.view.report.talk import conversation_of
from sightline.view.report.totals import report_over
from sightline.view.report.values import SessionReport

PRICES = PROFILES["anthropic"].prices


def report(log: Log) -> SessionReport:
    return report_of(log.conversation, economies=())


def second_call(cached: int, *, after: float = 10, model: str = "claude-x") -> SessionReport:
    """A session of two calls: the first leaves 20,000 tokens in the cache, the second finds `cached` of them."""
    log = Log().user("fix it").answer("Which one?", usage=(0, 20_000, 0, 10))
    log.user("both").answer("Done.", usage=(0, 20_500 - cached, cached, 10), after=after, model=model)
    return report(log)


def test_a_call_that_finds_everything_breaks_nothing() -> None:
    """What is new is written, which is no loss."""
    assert second_call(20_000).breaks == ()


@pytest.mark.parametrize(
    ("after", "model", "cause"),
    [(301, "claude-x", "pause"), (299, "claude-x", "other"), (10, "claude-y", "model")],
)
def test_what_was_lost_has_a_cause_and_a_price(after: float, model: str, cause: str) -> None:
    """A pause longer than the cache lives, another model, or what no log explains: the same tokens, the same price."""
    [found] = second_call(5_000, after=after, model=model).breaks
    assert (found.call, found.cause, found.tokens) == (2, cause, 15_000)
    assert found.cost == pytest.approx(15_000 * (PRICES.write - PRICES.read))
    assert found.share == pytest.approx(0.75)


@pytest.mark.parametrize(("after", "cause"), [(3_601, "pause"), (3_599, "other")])
def test_a_cache_that_lives_for_an_hour_outlives_a_pause(after: float, cause: str) -> None:
    """What was lost has to be written at the price of an hour again."""
    log = Log().user("fix it").answer("Which one?", usage=(0, 20_000, 0, 10), hour=True)
    log.user("both").answer("Done.", usage=(0, 15_500, 5_000, 10), after=after, hour=True)
    made = report(log)
    [found] = made.breaks
    assert found.cause == cause
    assert found.cost == pytest.approx(15_000 * (2 - PRICES.read))
    assert made.spent.write_cost == pytest.approx(35_500 * 2)


def test_a_few_tokens_for_an_hour_do_not_keep_the_rest() -> None:
    """An agent may have its tools kept for an hour and the conversation for five minutes."""
    log = Log().user("fix it").answer("Which one?", usage=(0, 20_000, 0, 10), hour=True)
    log.lines[-1]["message"]["usage"]["cache_creation"] = {
        "ephemeral_1h_input_tokens": 3_000, "ephemeral_5m_input_tokens": 17_000,
    }  # fmt: skip
    [found] = report(log.user("both").answer("Done.", usage=(0, 15_500, 5_000, 10), after=600)).breaks
    assert found.cause == "pause"
    assert found.cost == pytest.approx(15_000 * (PRICES.write - PRICES.read))


@pytest.mark.slow
@pytest.mark.parametrize(("hour", "pause", "is_free"), [(True, 600, True), (True, 4_000, False), (False, 600, False)])
def test_a_forecast_sweeps_for_no_pause_that_the_cache_outlives(hour: bool, pause: int, is_free: bool) -> None:
    """It makes the sweeps that a session would make."""

    def sweeps(longest: int) -> list[int]:
        log = Log().user("fix it")
        for number in range(50):
            after = longest if number % 3 == 2 else 10
            log.read(f"t{number}", f"file {number}\n{FILE}", f"/w/f{number}.py", usage=(0, 700, 700 * number, 50),
                     hour=hour, after=after)  # fmt: skip
        log.answer("Done.", usage=(0, 100, 35_000, 50), hour=hour)
        made = report_of(log.conversation, economies=("safe",), profile="anthropic", window=24_000)
        return [forecast.sweeps for forecast in made.forecasts]

    assert (sweeps(pause) == sweeps(10)) is is_free


def test_a_compaction_is_the_cause_of_the_loss_after_it() -> None:
    """However long it took."""
    log = Log().user("fix it").answer("Working.", usage=(0, 20_000, 0, 10)).compact("The user wants it fixed.")
    log.user("go on").answer("Done.", usage=(0, 5_000, 0, 10), after=900)
    made = report(log)
    assert [(each.cause, each.tokens) for each in made.breaks] == [("compaction", 5_000)]


def test_no_cache_figure_is_no_miss() -> None:
    """A provider that reports no cached tokens at all: the report says so, and neither counts misses nor advises."""
    log = Log()
    for number in range(8):
        log.user(f"question {number}").answer("Done.", usage=(20_000 + 200 * number, 0, 0, 10))
    made = report_of(log.conversation)
    assert (made.breaks, made.is_cached) == ((), False)
    assert "break other" not in {each.kind for each in made.advice}
    assert {each.spent.cached for each in made.forecasts} == {0}
    whole = report_over([made])
    for locale, words in (("en", "reported no cached tokens"), ("zh", "没有报告缓存 token")):
        [_, said] = caching_lines(whole, locale)
        assert words in said
    assert report_over([made, second_call(5_000)]).breaks["other"].items == 1


def test_a_few_tokens_are_no_loss() -> None:
    """Providers cache in blocks, so a little is always missing."""
    assert second_call(19_100).breaks == ()


def test_what_was_spent_is_what_the_provider_reported() -> None:
    """Each message once, by its relative prices; in money where the price of the model is known."""
    made = second_call(20_000)
    spent = made.spent
    assert made.is_reported
    assert (spent.calls, spent.input, spent.cached, spent.written, spent.output) == (2, 40_500, 20_000, 20_500, 20)
    assert spent.cost == pytest.approx(20_000 * 0.1 + 20_500 * 1.25 + 20 * 5)
    assert (spent.read_cost, spent.write_cost, spent.output_cost) == pytest.approx((2_000, 25_625, 100))
    assert (spent.money, made.unpriced) == (None, ("claude-x",))
    log = Log().user("fix it").answer("Done.", usage=(1_000, 20_000, 5_000, 10))
    priced = report_of(log.conversation, economies=(), price_of=lambda _: Price(2, 0.2, 2.5, 10))
    assert priced.spent.money == pytest.approx((1_000 * 2 + 20_000 * 2.5 + 5_000 * 0.2 + 10 * 10) / 1e6)
    assert priced.unpriced == ()


@pytest.mark.slow
def test_a_sweep_of_our_own_is_the_cause_of_its_loss() -> None:
    """A session of Sightline says in its log when it shortened what came before."""
    store, before = MemoryStore("own"), 0
    session = Session(store, settings=Settings(profile="anthropic"))
    swept = []
    for number in range(40):
        session.user(f"question {number} " + "word " * 200)
        payload = session.compose(Budget(6_000))
        is_swept = bool(payload.plan.reason)
        found = 0 if is_swept else min(before, payload.tokens)
        usage = {"input_tokens": 0, "cache_read_input_tokens": found, "output_tokens": 5}
        usage["cache_creation_input_tokens"] = payload.tokens - found
        content = [{"type": "text", "text": "answer " * 50}]
        session.reply({"type": "message", "role": "assistant", "model": "claude-x", "content": content, "usage": usage})
        swept += [number + 1] * is_swept
        before = payload.tokens
    assert swept
    made = report_of(conversation_of(store), economies=())
    assert [(each.cause, each.call) for each in made.breaks] == [("sweep", number) for number in swept]
    assert not [each for each in made.advice if each.kind.startswith("break")]


def test_the_first_composed_call_is_told_as_ours() -> None:
    """Sightline's tools join the prompt of a conversation that an agent had begun: no habit of the user's."""
    store = MemoryStore("own")
    session = Session(store, settings=Settings(profile="anthropic"))
    for number in range(4):
        session.user(f"question {number} " + "word " * 3_000)
        if number >= 2:
            session.compose(Budget(100_000))
        written = 4_000 * (number + 1)
        found = 0 if number in (0, 2) else written - 4_000
        usage = {"input_tokens": 0, "cache_read_input_tokens": found, "output_tokens": 5}
        usage["cache_creation_input_tokens"] = written - found
        content = [{"type": "text", "text": "answer"}]
        session.reply({"type": "message", "role": "assistant", "model": "claude-x", "content": content, "usage": usage})
    made = report_of(conversation_of(store), economies=())
    assert [(each.cause, each.call) for each in made.breaks] == [("joined", 3)]
    assert not [each for each in made.advice if each.kind.startswith("break")]
    assert made.title.startswith("question 0 word")


def test_calls_beside_the_conversation_are_told_apart() -> None:
    """Those of subagents and of turns taken back cost too, and have their own sum."""
    log = Log().user("fix it").answer("Done.", usage=(0, 20_000, 0, 10))
    side = Log().user("look", isSidechain=True).answer("Found.", usage=(0, 7_000, 0, 10)).lines
    log.lines += [{**line, "uuid": f"x{at}", "parentUuid": f"x{at - 1}" if at else None, "isSidechain": True,
                   "message": {**line["message"], "id": f"side{at}"}} for at, line in enumerate(side)]  # fmt: skip
    made = report(log)
    assert (made.calls, made.spent.input, made.spent_elsewhere) == (1, 20_000, 7_000)
