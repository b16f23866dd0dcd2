"""What Sightline would have sent: in the provider's tokens, with its pauses, and with what would be read again."""

import pytest
from report_logs import FILE, Log

from sightline import Budget, MemoryStore, Session, Settings
from sightline.values.profiles import PROFILES
from sightline.values.tokens import counter
from sightline.view.report.contents import pieces_of
from sightline.view.report.forecast import scale_of
from sightline.view.report.prompts import Sizes, prompts_of, stretches_of
from sightline.view.report.session_report import report_of
from sightline.view.report.talk import Talk, conversation_of
from sightline.view.report.values import Forecast, SessionReport

PROFILE = PROFILES["anthropic"]


def sizes(log: Log) -> list[int]:
    """Our tokens before each answer."""
    talk = Talk(log.conversation)
    pieces = [*pieces_of(talk, counter(), PROFILE)]
    return [sum(piece.tokens for piece in pieces if piece.at < answer) for answer in talk.answers]


def talk(rounds: int = 8, after: float = 10, usages: list[int] | None = None) -> Log:
    """A talk of so many rounds, with what the provider counted of each prompt, all of it cached by the call before."""
    log, before = Log(), 0
    for number in range(rounds):
        log.user(f"question {number}: {'some words to read ' * 40}")
        used = None
        if usages is not None:
            used = (0, usages[number] - before, before, 20)
            before = usages[number]
        log.answer(f"answer {number}: {'and some to answer ' * 30}", usage=used, after=after)
    return log


def reported(log: Log, factor: float, unlogged: int, **more: float) -> Log:
    counts = [unlogged + round(factor * size) for size in sizes(log)]
    return talk(usages=counts, **more)


def test_the_scale_is_found_from_the_reported_usage() -> None:
    """How many tokens the provider counts for one of ours, and how many no log shows."""
    log = reported(talk(), 1.5, 20_000)
    talked = Talk(log.conversation)
    scale = scale_of(talked, Sizes(talked, [*pieces_of(talked, counter(), PROFILE)]))
    assert scale.factor == pytest.approx(1.5, abs=0.01)
    assert scale.unlogged == pytest.approx(20_000, abs=50)


def test_the_forecast_of_sending_everything_is_what_was_reported() -> None:
    """So the two can be compared: same calls, same prices, same pauses."""
    made = report_of(reported(talk(), 1.5, 20_000).conversation, economies=("safe",))
    [found] = made.forecasts
    assert found.full.calls == made.spent.calls == 8
    assert found.full.cost == pytest.approx(made.spent.cost, rel=0.02)
    assert found.full.output == made.spent.output


def test_a_miss_of_the_cache_that_was_reported_is_in_the_forecast_too() -> None:
    """Whatever was sent would have been processed again."""
    counts = [20_000 + round(1.5 * size) for size in sizes(talk())]
    log, before = Log(), 0
    for number, count in enumerate(counts):
        found = 0 if number == 6 else before
        log.user(f"question {number}: {'some words to read ' * 40}")
        log.answer(f"answer {number}: {'and some to answer ' * 30}", usage=(0, count - found, found, 20))
        before = count
    made = report_of(log.conversation, economies=("safe",))
    [lost] = made.breaks
    assert lost.cost > 0.2 * made.spent.cost
    assert made.forecasts[0].full.cost == pytest.approx(made.spent.cost, rel=0.02)


def test_a_pause_costs_in_the_forecast_too() -> None:
    """The same talk without and with pauses, of which no log says what the provider counted."""

    def full(after: float) -> float:
        [found] = report_of(talk(40, after=after).conversation, economies=("safe",)).forecasts
        return found.full.cost

    assert full(after=400) > 1.5 * full(after=10)


def test_without_usage_what_was_spent_is_counted() -> None:
    """And says that it was not reported. Figures and advice are the same before a forecast is asked for and after."""
    made, before = (report_of(talk().conversation, economies=each) for each in (("safe",), ()))
    assert (made.is_reported, before.forecasts) == (False, ())
    assert made.spent == before.spent
    assert made.spent.cost > 0
    after = [each for each in made.advice if not each.is_forecast]
    assert [each for each in after if each not in before.advice] == []


def edited(window: int) -> tuple[SessionReport, Forecast]:
    """A file is read, much else is said, and a line of the file is edited."""
    log = Log().user("look").read("c1").answer("I see.")
    for number in range(30):
        log.user(f"tell me more {number} {'of many other things ' * 60}").answer("so it is " * 60)
    edit = {"file_path": "/w/shop.py", "old_string": FILE.splitlines()[7], "new_string": "pass"}
    log.user("go on").call("c2", "Edit", edit, "ok").answer("Done.")
    made = report_of(log.conversation, economies=("safe",), window=window)
    return made, made.forecasts[0]


@pytest.mark.slow
def test_what_would_be_read_again_is_paid_for() -> None:
    """In a small window the file is not shown any more: the forecast counts the reading, and its price."""
    _, large = edited(200_000)
    _, small = edited(4_000)
    assert (large.rereads, large.reread_cost) == (0, 0.0)
    assert small.rereads >= 1
    assert small.spent.calls == large.spent.calls + small.rereads
    assert 0 < small.reread_cost < small.spent.cost
    assert small.largest < large.largest


@pytest.mark.parametrize(
    ("model", "composed", "window"),
    [("", Budget(16_000, 4_000), 16_000), ("", Budget(15_000), 20_000), ("gpt-4o", Budget(128_000, 4_000), 128_000)],
)
def test_the_window_is_that_for_which_sightline_composed(model: str, composed: Budget, window: int) -> None:
    """As in the proxy: the prompt may be as large as it could be there, and no window is larger than the model's."""
    store = MemoryStore("own")
    with Session(store) as session:
        session.user("Where is the parser?")
        session.compose(composed)
        message = {"role": "assistant", "content": "In src/parse.py."}
        usage = {"prompt_tokens": 12, "completion_tokens": 5}
        session.reply({"model": model, "choices": [{"index": 0, "message": message}], "usage": usage})
        [found] = report_of(conversation_of(store), economies=("safe",)).forecasts
        [given] = report_of(conversation_of(store), economies=("safe",), window=9_000).forecasts
    assert found.window == window
    assert given.window == 9_000


def working(rounds: int, tokens: int, usage: bool = True) -> Log:
    """An agent that reads a file of about so many tokens in every round, and edits what it has just read."""
    log, before = Log().user("look at everything"), 0
    for number in range(rounds):
        lines = [f"value_{number}_{line} = compute({line}, {number})" for line in range(tokens // 13)]
        counted = 2_000 + number * tokens
        used = (0, counted - before, before, 50) if usage else None
        before = counted
        log.read(f"r{number}", "\n".join(lines), f"/w/part_{number}.py", usage=used)
    return log.answer("Done.", usage=(0, tokens, before, 50) if usage else None)


def test_safe_changes_nothing_in_a_session_that_fits() -> None:
    """The two forecasts are equal to the last digit, and nobody is advised to use it."""
    made = report_of(working(8, 500).conversation, economies=("safe",))
    [safe] = made.forecasts
    assert safe.spent == safe.full
    assert (safe.change, safe.unchanged, safe.sweeps, safe.rereads) == (0.0, 1, 0, 0)
    assert not [each for each in made.advice if each.kind == "sightline"]


@pytest.fixture
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thrifty works in 10,000 tokens, so that a short session is long for it."""
    monkeypatch.setattr("sightline.view.report.forecast.THRIFTY_WINDOW", 10_000)


@pytest.mark.slow
@pytest.mark.usefixtures("small_window")
def test_thrifty_is_advised_where_it_saves() -> None:
    """In a long session, and with the saving that its forecast gives."""
    made = report_of(working(90, 500).conversation, economies=("safe", "thrifty"))
    safe, thrifty = made.forecasts
    assert safe.spent == safe.full == thrifty.full
    assert thrifty.largest < 10_000 < safe.largest
    assert thrifty.change < -0.1
    [advice] = [each for each in made.advice if each.kind == "sightline"]
    assert advice.facts["economy"] == "thrifty"
    assert advice.share == pytest.approx(-thrifty.change)
    assert advice.saved == pytest.approx(thrifty.full.cost - thrifty.spent.cost)


@pytest.mark.usefixtures("small_window")
def test_thrifty_is_not_advised_where_it_costs_more() -> None:
    """A session that has just outgrown the small window is cached anew and ends: that does not pay."""
    made = report_of(working(16, 500).conversation, economies=("safe", "thrifty"))
    assert made.forecasts[1].change > 0.005
    assert not [each for each in made.advice if each.kind == "sightline"]


def test_without_usage_sending_everything_is_what_was_spent() -> None:
    """Figures on one page that stand for the same thing are the same."""
    made = report_of(working(8, 500, usage=False).conversation, economies=("safe", "thrifty"))
    assert {made.spent.cost} == {each.full.cost for each in made.forecasts}
    assert made.spent == made.forecasts[0].full
    assert made.spent.output == sum(each.tokens for each in made.kinds if each.name in ("assistant", "call"))


def test_never_more_is_sent_than_the_window_holds() -> None:
    """Also in the forecast of sending everything: what is beyond could not be sent, and is not saved."""
    log = working(20, 500, usage=False)
    [small] = report_of(log.conversation, economies=("safe",), window=5_000).forecasts
    [large] = report_of(log.conversation, economies=("safe",), window=400_000).forecasts
    assert small.full.input < small.full.calls * 5_000
    assert small.full.cost < large.full.cost
    assert small.full.written >= 0.9 * large.full.written  # what is new is paid for all the same


def stretches(log: Log, most: float) -> list[tuple[int, bool]]:
    """How many calls each stretch has, and whether it is composed."""
    talked = Talk(log.conversation)
    sizes = Sizes(talked, [*pieces_of(talked, counter(), PROFILE)])
    found = stretches_of(talked, prompts_of(talked, sizes), sizes, most)
    return [(len(each.prompts), each.recording is not None) for each in found]


def compacted(trigger: str) -> Log:
    """Three calls, a compaction, and two more."""
    log = working(2, 1_000, usage=False).compact("Read on.")
    log.lines[-2]["compactMetadata"]["trigger"] = trigger
    return log.user("go on").read("r9").answer("Done.")


def test_the_agent_compacts_unless_something_was_shortened_before() -> None:
    """Its compaction comes with the size of its prompts; one that a person asked for comes in any case."""
    assert stretches(compacted("auto"), 20_000) == [(3, False), (2, False)]
    assert stretches(compacted("auto"), 1_200) == [(5, True)]
    assert stretches(compacted("manual"), 1_200) == [(3, True), (2, False)]


def test_sending_everything_is_all_since_the_last_compaction() -> None:
    """With the summary in the place of what it covers; the call after it reuses nothing but the head."""
    talked = Talk(compacted("auto").conversation)
    sizes = Sizes(talked, [*pieces_of(talked, counter(), PROFILE)])
    prompts = prompts_of(talked, sizes)
    assert [each.kept for each in prompts] == [0, prompts[0].tokens, prompts[1].tokens, 0, prompts[3].tokens]
    assert prompts[3].tokens < 100
    assert prompts[2].tokens > 1_500
    made = report_of(compacted("auto").conversation, economies=("safe",))
    assert made.forecasts[0].full.input == sum(each.tokens for each in prompts)


@pytest.mark.parametrize(("config", "composes", "economy"), [
    ({"economy": "thrifty"}, True, "thrifty"), ({"economy": "off"}, True, "off"), ({}, True, "safe"), ({}, False, ""),
])  # fmt: skip
def test_a_session_tells_with_which_economy_it_was_composed(
    config: dict[str, str], composes: bool, economy: str
) -> None:
    """So that nobody is advised to use what is in use; what was only passed on was not composed."""
    store = MemoryStore("own")
    with Session(store, settings=Settings(config=config)) as session:
        session.user("Where is the parser?")
        if composes:
            session.compose(Budget(16_000))
        session.assistant("In src/parse.py.")
        assert report_of(conversation_of(store), economies=()).economy == economy
