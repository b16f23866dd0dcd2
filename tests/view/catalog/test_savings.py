"""What shortening has saved, counted from the log alone; and all sessions at a glance."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline import Budget, MemoryStores, Session, Settings
from sightline.adapters.claude_status import SAVINGS
from sightline.providers.prices import Price
from sightline.testing import calling, reply_of
from sightline.values.items import Usage
from sightline.values.profiles import profile
from sightline.view.call_rows import call_page
from sightline.view.catalog.log_count import Counted, LogCount
from sightline.view.catalog.overview import overview
from sightline.view.catalog.places import SAVINGS_FILE, Places
from sightline.view.catalog.savings import Saved, SavingsCount, SentPrompt, money_saved, total
from sightline.view.catalog.session_catalog import SessionCatalog
from sightline.view.costs import cost_of
from sightline.view.replay.replay import replay
from sightline.view.report.talk import Talk, conversation_of

MODEL = "claude-sonnet-5"
RULES = profile("anthropic")
TIMES = ("2026-11-01T10:00:00Z", "2026-11-01T10:01:00Z", "2026-11-01T10:02:00Z", "2026-11-01T13:00:00Z")


def price_of(model: str) -> Price | None:
    return Price(3.0, 0.3, 3.75, 15.0) if model == MODEL else None


def made() -> Session:
    return Session.new(stores=MemoryStores(), session_id="s", settings=Settings(profile="anthropic"))


def talk(session: Session, turns: int, budget: Budget, *, model: str = MODEL) -> None:
    """Read a file in each turn."""
    for turn in range(turns):
        session.user(f"What is in part_{turn}.py?")
        session.compose(budget)
        session.reply(calling(("read_file", {"path": f"part_{turn}.py"})) | {"model": model})
        session.tool_result(session.open_calls[0].id, f"step {turn} of the work\n" * 400)
        session.compose(budget)
        session.reply(reply_of("It has steps.") | {"model": model})


def counted(session: Session) -> Counted:
    log = LogCount()
    log.add(line.data for line in session.log.store.scan())
    return log.counted()


def test_nothing_is_saved_while_everything_fits() -> None:
    with made() as session:
        talk(session, 4, Budget(200_000))
        saved = total(counted(session).saved)
    assert saved.calls == 8
    assert saved.tokens == saved.full_tokens
    assert saved.cost == saved.full_cost
    assert saved.share == 0


@pytest.mark.slow
def test_what_was_sent_is_what_the_receipts_say_and_everything_is_all_that_was_said() -> None:
    with made() as session:
        talk(session, 40, Budget(16_000, 1_000))
        receipts = [call.tokens for call in call_page(session, 0, 1000).calls]
        saved = counted(session).saved
        full = session.preview(Budget(1_000_000)).tokens
    assert [*saved] == [MODEL]
    assert total(saved).tokens == sum(receipts)
    assert total(saved).full_tokens > sum(receipts) * 1.5
    assert total(saved).share > 0
    assert full > receipts[-1]
    money = money_saved(saved, price_of)
    assert money is not None
    assert money == pytest.approx((total(saved).full_cost - total(saved).cost) * 3 / 1e6)


@pytest.mark.slow
def test_a_replay_of_the_same_calls_costs_as_much() -> None:
    """Each receipt says how much of the prompt the call before had sent. A replay learns nothing from the usage."""
    with made() as session:
        talk(session, 40, Budget(16_000, 1_000))
        saved = total(counted(session).saved)
        recording = Talk(conversation_of(session.log.store)).recording
    with made() as again:
        steps = [*replay(again, recording, Budget(16_000, 1_000))]
    prompts = sum(step.cost for step in steps)
    assert saved.cost == pytest.approx(prompts, rel=0.03)


# ------------------------------------------------------------------ the rules, call by call


def calls(*prompts: tuple[int, SentPrompt | None], names: Iterator[bool] | None = None) -> SavingsCount:
    """Count these calls: what was said before each, and what was composed for it."""
    count = SavingsCount()
    for at, (said, prompt) in enumerate(prompts):
        if prompt is not None:
            count.compose(prompt)
        count.answer(MODEL, said, TIMES[at], RULES, brings_back=next(names) if names is not None else False)
    return count


def test_a_pause_empties_the_cache_of_both() -> None:
    prompt = SentPrompt(tokens=5_000)
    quick, slow = calls((9_000, prompt), (9_500, prompt)), calls((9_000, prompt))
    slow.compose(prompt)
    slow.answer(MODEL, 9_500, TIMES[3], RULES, brings_back=False)
    one, other = total(quick.saved), total(slow.saved)
    assert other.cost == 2 * 5_000 * RULES.prices.write
    assert one.cost == 5_000 * (RULES.prices.write + RULES.prices.read)
    assert other.full_cost > one.full_cost


def test_a_prompt_whose_beginning_changed_is_charged_anew_but_for_its_head() -> None:
    """Where the receipt, of an earlier version, does not say how much of it stayed."""
    count = SavingsCount()
    count.use_tools(1_500)
    count.head = 500
    for at, changed in enumerate((None, 1, 0)):
        count.compose(SentPrompt(tokens=10_000, changed=changed))
        count.answer(MODEL, 20_000, TIMES[at], RULES, brings_back=False)
    head, rest = 2_000 * RULES.prices.read, 8_000 * RULES.prices.write
    assert total(count.saved).cost == pytest.approx(2 * 10_000 * RULES.prices.write + head + rest)


def test_a_prompt_is_charged_anew_but_for_what_its_receipt_says_that_stayed() -> None:
    kept = SentPrompt(tokens=10_000, changed=3, kept=6_000)
    one, more = calls((9_000, kept)), calls((9_000, kept), (9_500, kept))
    again = 6_000 * RULES.prices.read + 4_000 * RULES.prices.write
    assert total(more.saved).cost - total(one.saved).cost == pytest.approx(again)


def test_calls_that_only_bring_something_back_are_paid_by_what_was_shortened() -> None:
    """The call after one of our tools, and one whose result was fetched again, would not be made otherwise."""
    plain = total(calls((9_000, SentPrompt(tokens=5_000))).saved)
    extra = total(calls((9_000, SentPrompt(tokens=5_000)), (9_900, SentPrompt(tokens=5_900)),
                        names=iter([True, False])).saved)  # fmt: skip
    again = total(calls((9_000, SentPrompt(tokens=5_000)), (9_900, SentPrompt(tokens=5_900, faults=["7"]))).saved)
    assert extra == again
    assert (extra.calls, extra.full_cost, extra.full_tokens) == (2, plain.full_cost, plain.full_tokens)
    assert extra.cost > plain.cost


def test_everything_is_never_more_than_the_window_of_the_model() -> None:
    assert total(calls((900_000_000, SentPrompt(tokens=5_000))).saved).full_tokens <= 2_000_000


def test_a_list_that_an_agent_began_anew_is_compared_with_that_list() -> None:
    count = calls((50_000, SentPrompt(tokens=5_000)))
    before = total(count.saved)
    count.begin_list(50_000)
    count.compose(SentPrompt(tokens=1_000))
    count.answer(MODEL, 51_000, TIMES[1], RULES, brings_back=False)
    assert total(count.saved).full_tokens - before.full_tokens == 1_000 + RULES.request_tokens


def test_calls_that_were_not_composed_and_those_of_other_branches_are_not_counted() -> None:
    count = calls((9_000, None), (9_500, SentPrompt(tokens=5_000)))
    assert total(count.saved).calls == 1
    count.is_whole = False
    count.compose(SentPrompt(tokens=5_000))
    count.answer(MODEL, 9_900, TIMES[2], RULES, brings_back=False)
    assert total(count.saved).calls == 1


def test_money_is_told_only_where_the_price_is_known() -> None:
    assert money_saved({}, price_of) is None
    assert money_saved({MODEL: Saved(1, 1, 1, 0.0, 1e6)}, price_of) == pytest.approx(3.0)
    assert money_saved({MODEL: Saved(1), "other": Saved(1)}, price_of) is None


def test_an_answer_that_a_program_wrote_itself_has_no_price_and_hides_none() -> None:
    usages = {MODEL: Usage(1_000_000, 0), "<synthetic>": Usage(0, 0)}
    assert cost_of(usages, price_of) == pytest.approx(3.0)
    assert cost_of({"<synthetic>": Usage(5, 0)}, price_of) is None


# ------------------------------------------------------------------ all sessions


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionCatalog:
    """Two projects: one with a session that was shortened, one with a model that nobody knows."""
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    for name, turns, model in (("shop", 12, MODEL), ("shop", 1, MODEL), ("mill", 2, "of-nobody")):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        with Session.new(folder, settings=Settings(profile="anthropic")) as session:
            talk(session, turns, Budget(16_000, 1_000), model=model)
    catalog = SessionCatalog(Places(tmp_path / "shop", everywhere=True), price_of=price_of)
    while catalog.count_more(1 << 24):
        pass
    return catalog


@pytest.mark.slow
def test_all_sessions_at_a_glance(catalog: SessionCatalog, tmp_path: Path) -> None:
    facts = overview(catalog)
    assert (facts.total.sessions, facts.total.calls, facts.pending) == (3, 30, 0)
    assert facts.total.unpriced == 1
    shop, mill = facts.projects
    assert (shop.name, shop.sessions, mill.sessions) == (str(tmp_path / "shop"), 2, 1)
    assert shop.cost == facts.total.cost == pytest.approx(sum(session.cost for session in facts.costly))
    assert shop.saved_money == facts.total.saved_money != 0
    assert mill.saved_money == 0
    assert shop.saved + mill.saved == facts.total.saved
    assert [day.sessions for day in facts.days] == [3]
    assert facts.since == facts.days[0].name
    assert facts.costly[0].calls == 24


@pytest.mark.slow
def test_a_project_or_some_days_alone(catalog: SessionCatalog, tmp_path: Path) -> None:
    assert overview(catalog, str(tmp_path / "mill")).total.sessions == 1
    assert overview(catalog, begin="2999-01-01").total.sessions == 0
    assert overview(catalog, begin="2999-01-01").costly == []


@pytest.mark.slow
def test_what_an_earlier_version_counted_without_savings_is_counted_again(
    catalog: SessionCatalog, tmp_path: Path
) -> None:
    catalog.keep()
    saved = json.loads((tmp_path / "home" / SAVINGS_FILE).read_bytes())
    assert saved == {"dollars": round(overview(catalog).total.saved_money, 2)}
    [kept] = (tmp_path / "home").rglob("session-list.msgpack")
    assert SAVINGS_FILE == SAVINGS
    data = kept.read_bytes()
    assert b"-2" in data
    kept.write_bytes(data.replace(b"-2", b"-1", 1))
    again = SessionCatalog(Places(tmp_path / "shop", everywhere=True), price_of=price_of)
    again.count_more(1 << 30)
    assert overview(again).total.saved == overview(catalog).total.saved


def test_a_file_of_somebody_else_in_the_home_is_left_alone(tmp_path: Path) -> None:
    """A root may be a folder in which another program keeps what it calls savings."""
    (home := tmp_path / "money").mkdir()
    (file := home / "savings.json").write_text('{"account": 12}')
    with Session.new(tmp_path / "shop", root=home) as session:
        session.user("Hello")
    catalog = SessionCatalog(Places(tmp_path / "shop", root=home, everywhere=True), price_of=price_of)
    catalog.count_more(1 << 30)
    catalog.keep()
    assert file.read_text() == '{"account": 12}'
