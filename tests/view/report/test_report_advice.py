"""What would save most: the figures, their order, and their words in both languages."""

from string import Formatter

import pytest
from msgspec.structs import replace
from report_logs import FILE, Log

from sightline.providers.prices import Price
from sightline.view.report import phrases
from sightline.view.report.advice import MOST, advice_on
from sightline.view.report.phrases import say, told
from sightline.view.report.session_report import report_of
from sightline.view.report.tables import introduction, sections
from sightline.view.report.totals import report_over
from sightline.view.report.values import Advice, Forecast, SessionReport, Spent


def report(log: Log, **options: object) -> SessionReport:
    return report_of(log.conversation, **{"economies": (), **options})  # type: ignore[arg-type]


def costly() -> Log:
    """A session with everything that costs: pauses, another model, misses, output, readings, a compaction."""
    log = Log().user("fix it").read("c1", usage=(0, 20_000, 0, 50))
    log.read("c2", usage=(0, 1_000, 20_000, 50)).call(
        "c3", "Bash", {"command": "make"}, "word " * 6_000, usage=(0, 1_000, 21_000, 50)
    )
    log.answer("Hm.", usage=(0, 28_000, 0, 50), after=900).user("go on")
    log.answer("Hm.", usage=(0, 29_000, 0, 50), model="claude-y").user("go on")
    log.answer("Hm.", usage=(0, 30_000, 0, 50), model="claude-y").compact("Fix it.")
    return log.user("go on").read("c4", usage=(0, 15_000, 0, 50), model="claude-y").answer(
        "Done.", usage=(0, 500, 15_000, 50), model="claude-y"
    )  # fmt: skip


def test_the_greatest_saving_comes_first() -> None:
    """At most three, each with its figure and its share of the whole cost."""
    made = report(costly())
    saved = [each.saved for each in made.advice]
    assert len(saved) == MOST
    assert saved == sorted(saved, reverse=True)
    for each in made.advice:
        assert each.share == pytest.approx(each.saved / made.spent.cost)
    kinds = {
        cause: sum(each.cost for each in made.breaks if each.cause == cause) for cause in ("pause", "model", "other")
    }
    named = {each.kind.removeprefix("break "): each for each in made.advice if each.kind.startswith("break ")}
    assert len(named) >= 2
    for cause, found in named.items():
        assert found.saved == pytest.approx(kinds[cause])
        assert found.facts["tokens"] == sum(each.tokens for each in made.breaks if each.cause == cause)


def test_nothing_counts_as_sent_that_the_provider_did_not_count() -> None:
    """A log keeps what its program shortened or trimmed. So the shares are of what was sent, and no more is saved."""
    log = Log().user("run it")
    for number in range(6):
        log.call(f"c{number}", "Bash", {"command": "make"}, "word " * 6_000, usage=(0, 1_000, 2_000, 50))
        log.read(f"r{number}", FILE, usage=(0, 1_000, 2_000, 50))
    made = report(log.answer("Done.", usage=(0, 1_000, 2_000, 50)))
    assert sum(kind.sent for kind in made.kinds) == pytest.approx(made.spent.input, abs=len(made.kinds))
    assert sum(each.sent for each in made.large) < made.spent.input
    assert sum(each.sent for each in made.again) < made.spent.input
    assert made.advice
    for each in made.advice:
        assert each.saved <= made.spent.cost
        assert each.share <= 1


@pytest.mark.parametrize(("output", "said"), [(100, 1), (60_000, 0)])
def test_what_saves_little_is_not_said(output: int, said: int) -> None:
    """A hundredth of the cost is the least: the same loss in a session that cost little, and in one that cost much."""
    log = Log().user("fix it").answer("Which?", usage=(0, 20_000, 0, output)).user("both")
    made = report(log.answer("Done.", usage=(0, 1_500, 18_500, output), after=900))
    assert len(made.breaks) == 1
    assert len(made.advice) == said


def sightline(made: SessionReport, **costs: float) -> list[Advice]:
    """The advice on Sightline where sending everything costs 1,000 by the forecast, and each economy so much."""
    full = Spent(cost=1_000.0, money=10.0)
    forecasts = tuple(
        Forecast(economy=economy, window=200_000, full=full, spent=Spent(cost=cost, money=cost / 100), rereads=3)
        for economy, cost in costs.items()
    )
    return [each for each in advice_on([replace(made, forecasts=forecasts)]) if each.kind == "sightline"]


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_only_forecasts_are_compared(factor: float) -> None:
    """Whatever the provider reported: a saving is the difference of two forecasts, and a share of the first."""
    made = report(Log().user("fix it").answer("Done.", usage=(0, 20_000, 0, 50)))
    made = replace(made, spent=replace(made.spent, cost=1_000 * factor))
    [advice] = sightline(made, safe=1_000.0, thrifty=400.0)
    assert (advice.saved, advice.share) == (600.0, 0.6)
    assert advice.money == pytest.approx(6.0)
    assert advice.facts == {"economy": "thrifty", "rereads": 3}
    assert sightline(made, safe=1_000.0, thrifty=1_100.0) == []
    assert sightline(made, safe=1_000.0, thrifty=995.0) == []


@pytest.mark.parametrize(("economy", "saved"), [("", 600.0), ("off", 400.0), ("safe", 400.0), ("thrifty", None)])
def test_who_has_an_economy_is_not_told_to_take_it(economy: str, saved: float | None) -> None:
    """A session that Sightline composed is compared with what it composed: only what is left to save is said."""
    made = replace(report(Log().user("fix it").answer("Done.", usage=(0, 2_000, 0, 50))), economy=economy)
    advised = sightline(made, safe=800.0, thrifty=400.0)
    assert [each.saved for each in advised] == ([saved] if saved else [])


def test_money_is_said_where_every_price_is_known() -> None:
    """A saving in uncached input tokens, at the price of one. Where a price is not known, nothing is guessed."""
    log = Log().user("fix it").answer("Which?", usage=(0, 20_000, 0, 10)).user("both")
    log.answer("Done.", usage=(0, 20_500, 0, 10), after=900)
    [priced] = report(log, price_of=lambda _: Price(2, 0.2, 2.5, 10)).advice
    [unpriced] = report(log, price_of=lambda _: None).advice
    assert priced.money == pytest.approx(priced.saved * 2 / 1e6)
    assert unpriced.money is None
    assert "$" in told(priced).saving
    assert "$" not in told(unpriced).saving


def test_a_forecast_says_that_it_is_one() -> None:
    """What Sightline would save was not measured."""
    made = report(Log().user("fix it").answer("Which?", usage=(0, 20_000, 0, 50)).user("both").answer(
        "Done.", usage=(0, 20_500, 0, 50), after=900
    ))  # fmt: skip
    [advice] = sightline(made, safe=1_000.0, thrifty=400.0)
    assert advice.is_forecast
    assert told(advice).saving == "60% of the cost, $6.00 (forecast)"
    assert "`sightline wrap --economy thrifty -- claude`" in told(advice).action
    assert "`sightline replay FILE --economy thrifty`" in told(advice).action
    assert [each.is_forecast for each in made.advice] == [False]


def test_several_sessions_are_summed() -> None:
    """Costs, shares, breaks and what was lost: twice the same session is twice as much."""
    one = report(costly())
    both = report_over([one, one])
    assert both.spent.cost == pytest.approx(2 * one.spent.cost)
    assert both.calls == 2 * one.calls
    assert both.kinds[0].sent == 2 * one.kinds[0].sent
    assert both.compactions == 2
    assert both.lost is not None
    assert both.lost.numbers == 2 * one.compactions[0].numbers
    assert both.breaks["pause"].items == 2
    assert [each.kind for each in both.advice] == [each.kind for each in one.advice]
    assert both.advice[0].saved == pytest.approx(2 * one.advice[0].saved)
    assert [(each.file, each.reads) for each in both.again] == [("/w/shop.py", 6)]


def test_each_answer_is_a_call_as_in_the_list() -> None:
    """Also one that directly follows another, which a replay takes for one answer."""
    made = report(Log().user("go").answer("Hm.", usage=(0, 9, 0, 5)).answer("Done.", usage=(0, 9, 9, 5)))
    assert made.calls == made.models["claude-x"] == made.spent.calls == 2


def test_what_was_measured_and_what_is_a_forecast_are_not_added_up() -> None:
    """A log without its provider's usage stands in the list, marked, and beside the sums, but in none of them."""
    told_of, silent = report(costly()), report(Log().user("Hello there").read("c1").read("c2").answer("Done."))
    both, alone = report_over([told_of, silent]), report_over([told_of])
    assert not silent.is_reported
    assert both.expected == silent.spent
    assert alone.expected is None
    for name in ("spent", "kinds", "tools", "files", "breaks", "break_cost", "again", "advice"):
        assert getattr(both, name) == getattr(alone, name), name
    lines = [*introduction(both, "en"), *(line for part in sections(both, "en") for line in part.notes)]
    assert any(f"{silent.spent.input:,} input tokens" in line for line in lines)
    assert any(line.startswith("~") for line in lines)
    [listed] = [part.table for part in sections(both, "en") if part.key == "by session"]
    assert listed is not None
    assert {f"~{silent.spent.input:,}", f"{told_of.spent.input:,}"} <= {row[3] for row in listed.rows}
    only = report_over([silent, silent])
    assert (only.expected, only.spent.input) == (None, 2 * silent.spent.input)
    assert "~" not in str([*sections(only, "en")])


FACTS = {
    "count": 3, "tokens": 4_000, "file": FILE[:10], "times": 2, "above": 2_000, "sent": 9_000, "tool": "Read",
    "needed": 1, "again": 1, "economy": "safe", "rereads": 1,
}  # fmt: skip
KINDS = ("break pause", "break model", "break other", "read again", "large results", "compaction", "sightline")


@pytest.mark.parametrize("locale", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_words(kind: str, locale: str) -> None:
    """What was found, and what to do."""
    words = told(Advice(kind=kind, saved=10, share=0.1, facts=FACTS), locale)
    assert "10%" in words.saving
    assert all(len(text) > 10 for text in words[1:])
    assert (
        "×1" not in told(Advice(kind=kind, saved=10, share=0.1, facts=FACTS | {"times": 1, "rereads": 2}), locale).found
    )


def test_both_languages_say_the_same_things() -> None:
    """Every phrase is there in both, with the same values to fill in."""
    for key, texts in phrases.say._table.items():
        fields = [{name for _, name, _, _ in Formatter().parse(text) if name} for text in texts]
        assert fields[0] == fields[1], key
        assert all(texts) or key == "name", key
    assert say("title", "zh") != say("title", "en")
