"""Each way to make things fit can be switched off alone, and says what it took out and what that saved."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.apps import App, Element, action
from sightline.compose.verify import verify
from sightline.errors import BadInput, PinnedOverflow, StrategyError
from sightline.plan.plan import Plan, Reduction
from sightline.plan.strategies import STRATEGIES
from sightline.plan.view import Budget, View
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Kind, Lod, Message, Result, Role, plain_text
from sightline.values.settings import REDUCTIONS, Settings
from sightline.wire.payload import Payload

pytestmark = pytest.mark.accepts(365)

EVERYTHING = Budget(window=10_000_000, recall=0)
CONFIGS = {"entities": {"schema": {"destination": "string"}}}  # of the strategies that need one


class Pile(App):
    """A pile of words."""

    name = "pile"
    height: int

    def opened(self) -> None:
        self.height = int(self.target)

    @action()
    def grow(self, by: int) -> None:
        """Put more on it."""
        self.height += by

    def view(self, lod: Lod) -> list[Element]:
        words = {Lod.FULL: self.height, Lod.SUMMARY: self.height // 10, Lod.GIST: 1}[lod]
        return [Element(text=" ".join(["word"] * words))]


class Step(NamedTuple):
    """One thing that happens: what, how many words, with how many tool calls."""

    what: str
    words: int = 0
    calls: int = 0


SAYING = st.tuples(st.sampled_from(["user", "user", "assistant", "system", "window", "grow"]), st.integers(1, 120))
CALLING = st.tuples(st.just("assistant"), st.integers(1, 400), st.integers(1, 3))
COMMAND = st.tuples(st.sampled_from(["compact", "compact", "pin", "expand", "collapse"]), st.integers(0, 20))
STEPS = st.lists(st.one_of(SAYING, CALLING, CALLING, COMMAND).map(lambda step: Step(*step)), min_size=4, max_size=14)


def session(
    strategy: str = "focus", reductions: Sequence[str] = REDUCTIONS, store: MemoryStore | None = None
) -> Session:
    """A session that may do these things to make its payloads fit."""
    return Session(
        store or MemoryStore("fit"),
        settings=Settings(strategy=strategy, config=CONFIGS.get(strategy, {}), reductions=tuple(reductions)),
        apps=[Pile],
        token_counter=WordCounter(),
        clock=Ticking(),
        ids=numbered_ids(),
    )


def words(number: int, count: int) -> str:
    """So many words in lines of nine, none of which another step says."""
    return " ".join(f"w{number}.{index}" + ("\n" if index % 9 == 8 else "") for index in range(count))


def play(talk: Session, number: int, step: Step, budget: Budget | None = None) -> None:
    """Let one step happen."""
    text, windows = words(number, step.words), [window.id for window in talk.windows.all()]
    match step.what:
        case "system":
            talk.system(text)
        case "user":
            talk.user(text)
        case "window" if len(windows) < 3:
            talk.windows.open("pile", str(step.words))
        case "grow" if windows:
            talk.windows.act(windows[number % len(windows)], "grow", by=step.words)
        case "compact" if "summaries" in talk.settings.reductions and budget is not None:
            compact(talk, budget)
        case "assistant":
            answer(talk, number, step)
        case "pin" | "expand" | "collapse":
            mark(talk, step)


def mark(talk: Session, step: Step) -> None:
    """Somebody wants to see one item, or less of it."""
    ids = [item.id for item in talk.items if item.kind not in (Kind.WINDOW, Kind.SUMMARY)]
    if not ids:
        return
    which = ids[step.words % len(ids)]
    with suppress(BadInput):  # a pinned one is not collapsed
        talk.items.expand(which, now=True) if step.what == "expand" else getattr(talk.items, step.what)(which)


def compact(talk: Session, budget: Budget) -> None:
    """By rule, as far as there is something to compact."""
    with suppress(BadInput, PinnedOverflow):
        talk.summaries.compact(budget)


def answer(talk: Session, number: int, step: Step) -> None:
    """The model's words and calls, and what tools answer."""
    tool = ("run", "read_file")[number % 2]
    calls = [
        {"id": f"call{number}_{index}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
        for index in range(step.calls)
    ]
    talk.reply({"role": "assistant", "content": f"answer {number}", "tool_calls": calls or None})
    for call in calls:
        talk.tool_result(call["id"], words(number, step.words))


# ------------------------------------------------------------------ what must hold of every payload


def check_laws(payload: Payload, talk: Session) -> None:
    """Pairs, order, system blocks in full, the question, and the limit."""
    waiting: list[str] = []
    for message in payload.body:
        for part in message.parts:
            if isinstance(part, Result):
                waiting.remove(part.id)
        if message.role is not Role.TOOL:
            assert not waiting
            waiting = [part.id for part in message.parts if type(part).__name__ == "Call"]
    assert not waiting
    assert said_by(payload.body, Role.SYSTEM, *payload.system) == texts(talk, Kind.SYSTEM)
    users = [item.id for item in talk.items if item.kind is Kind.USER]
    shown = {line.id for line in payload.plan.lines()}
    assert users[-1:] == [user for user in users[-1:] if user in shown]
    assert payload.tokens <= payload.plan.limit
    assert (
        sum(len(plain_text(m.parts).split()) for m in (*payload.system, *payload.body, *payload.tail)) <= payload.tokens
    )


def said_by(messages: Sequence[Message], role: Role, *head: Message) -> list[str]:
    return [plain_text(message.parts) for message in (*head, *messages) if message.role is role]


def texts(talk: Session, kind: Kind) -> list[str]:
    return [plain_text(item.parts) for item in talk.items if item.kind is kind]


def check_account(payload: Payload, full: int) -> None:
    """What all of it takes in full, less what was saved, is what is sent; the preface alone comes on top."""
    saved = sum(each.tokens for each in payload.reductions())
    assert full + payload.plan.preface_tokens - saved == payload.tokens
    assert [each.kind for each in payload.reductions()] == list(REDUCTIONS)


def check_removed(payload: Payload, talk: Session) -> None:
    """What was removed is what is not there, or not in full: each item once."""
    gists, windows, summaries, trim = payload.reductions()
    full = {line.id for line in payload.plan.lines() if line.lod is Lod.FULL}
    hidden = [item.id for item in talk.items if item.kind not in (Kind.SYSTEM, Kind.WINDOW) and item.id not in full]
    stale = [item.id for item in talk.items if item.kind is Kind.SUMMARY]  # one that another took the place of
    removed = [*gists.removed, *summaries.removed, *trim.removed]
    assert sorted(removed) == sorted(id_ for id_ in hidden if id_ not in stale or id_ in gists.removed)
    lowered = [window.id for window in talk.windows.all() if window.render() != window.render_own_level()]
    assert set(lowered) <= set(windows.removed)


def check_off(kind: str, payload: Payload, talk: Session) -> None:
    """It did not happen, by its own account and by what is sent."""
    account = {each.kind: each for each in payload.reductions()}
    assert account[kind].removed == ()
    lines = list(payload.plan.lines())
    match kind:
        case "gists":
            assert {line.lod for line in lines} <= {Lod.FULL}
        case "windows":
            assert dict(payload.shown_windows) == {
                window.id: window.render_own_level() for window in talk.windows.all()
            }
        case "summaries":
            assert Kind.SUMMARY not in {line.kind for line in lines}
            assert not talk.summaries.wanted
        case "trim":
            assert payload.plan.left_out is None
            assert payload.plan.marker == ""


@pytest.mark.slow
@settings(max_examples=max(60, settings.default.max_examples // 5))  # type: ignore[union-attr]  # each is two sessions
@given(
    steps=STEPS,
    window=st.integers(150, 1200),
    strategy=st.sampled_from(sorted(STRATEGIES)),
    off=st.sampled_from([*REDUCTIONS, ""]),
)
def test_without_one_the_laws_hold_and_the_account_is_right(
    steps: list[Step], window: int, strategy: str, off: str
) -> None:
    """After every step: what is off does not happen, the laws hold, and the savings add up to the token."""
    budget = Budget(window=window, recall=0)
    talk, whole = session(strategy, [kind for kind in REDUCTIONS if kind != off]), session(reductions=())
    for number, step in enumerate(steps):
        play(talk, number, step, budget)
        play(whole, number, step)
        before = talk.receipt
        payload = None
        with suppress(PinnedOverflow):
            payload = talk.compose(budget)
        if payload is None:
            assert talk.receipt == before
            continue
        check_laws(payload, talk)
        check_account(payload, whole.preview(EVERYTHING).tokens)
        check_removed(payload, talk)
        if off:
            check_off(off, payload, talk)
    assert all(each.good for each in verify(talk.log))


# ------------------------------------------------------------------ the others still happen

LONG = [Step("system", 10), Step("window", 150), Step("window", 90)] + [
    step for _ in range(12) for step in (Step("user", 12), Step("assistant", 150, 1), Step("assistant", 20))
]


def long_talk(reductions: Sequence[str] = REDUCTIONS, *, compacted: bool = True) -> Session:
    """A conversation with large results and windows, its oldest part compacted where that is allowed."""
    talk = session(reductions=reductions)
    for number, step in enumerate(LONG):
        play(talk, number, step)
    if compacted and "summaries" in reductions:
        talk.summaries.compact(Budget(window=4_000, recall=0))
    return talk


def composed(talk: Session, window: int) -> dict[str, Reduction]:
    """What was done to make it fit."""
    return {each.kind: each for each in talk.compose(Budget(window=window, recall=0)).reductions()}


@pytest.mark.slow
@pytest.mark.parametrize("off", ["", *REDUCTIONS])
def test_the_others_still_happen(off: str) -> None:
    """Squeezed further and further, a conversation is reduced in every way but the one that is off."""
    seen: set[str] = set()
    for window in (3_000, 2_600, 1_500, 900, 600, 450):
        talk = long_talk([kind for kind in REDUCTIONS if kind != off])
        try:
            seen |= {kind for kind, each in composed(talk, window).items() if each.removed and each.tokens > 0}
        except PinnedOverflow:
            assert off in ("windows", "trim"), window
    assert seen == set(REDUCTIONS) - {off}


def test_without_any_all_is_shown_or_an_error_says_what_is_too_large() -> None:
    """Nothing is removed where there is room; one token less, and the error names the largest items."""
    talk = long_talk(())
    account = talk.compose(EVERYTHING)
    assert [(each.removed, each.tokens) for each in account.reductions()] == [((), 0)] * 4
    assert long_talk(()).compose(Budget(window=account.tokens, recall=0)).tokens == account.tokens
    tight = long_talk(())
    before = [line.data for line in tight.log.store.scan()]
    with pytest.raises(PinnedOverflow, match="trim is switched off") as caught:
        tight.compose(Budget(window=account.tokens - 1, recall=0))
    assert caught.value.short_by == 1
    assert any("150 tokens" in named for named in caught.value.pinned)
    assert [line.data for line in tight.log.store.scan()] == before


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_nothing_is_left_out_as_long_as_gists_fit(strategy: str) -> None:
    """Without trim the smallest window is the one in which everything is as short as it can be."""
    talk = session(strategy, ("gists", "summaries"))
    for number, step in enumerate(step for step in LONG if step.what != "window"):
        play(talk, number, step)
    timeline, path = talk.log.timeline, talk.log.path
    widest = talk.preview(EVERYTHING)
    full = widest.tokens + sum(each.tokens for each in widest.reductions())
    units = list(timeline.units_between(path, timeline.unit_row[next(iter(widest.plan))], len(timeline)))
    rows = [row for unit in units for row in timeline.rows_of(unit)]
    least = full - sum(timeline.full[row] - timeline.size(row, Lod.GIST) for row in rows)
    payload = talk.preview(Budget(window=least, recall=0))
    assert payload.tokens <= least
    assert len(payload.plan) == len(units)
    with pytest.raises(PinnedOverflow):
        talk.preview(Budget(window=least - 1, recall=0))


# ------------------------------------------------------------------ switching


def test_a_change_acts_at_the_next_call_and_says_so() -> None:
    """Gists off: the next call shows all of it in full by a sweep; on again: what does not fit then is shortened."""
    talk = long_talk(compacted=False)
    assert composed(talk, 2_600)["gists"].removed
    talk.configure(reductions=["windows", "summaries", "trim"])
    assert composed(talk, 2_600)["gists"].removed == ()
    assert talk.receipt is not None
    assert talk.receipt.reason == "settings changed"
    talk.configure(reductions=REDUCTIONS)
    for number, step in enumerate([*LONG, *LONG], start=len(LONG)):
        play(talk, number, step)
    assert composed(talk, 5_000)["gists"].removed
    assert all(each.good for each in verify(talk.log))


@pytest.mark.parametrize("off", REDUCTIONS)
def test_a_resumed_session_follows_the_change(off: str) -> None:
    """Settings that changed after the last call hold in another process, and the log verifies."""
    store = MemoryStore("fit")
    talk = session(store=store)
    for number, step in enumerate(LONG):
        play(talk, number, step)
    talk.compose(Budget(window=1_200, recall=0))
    talk.summaries.compact()
    talk.compose(Budget(window=1_200, recall=0))
    talk.configure(reductions=tuple(kind for kind in REDUCTIONS if kind != off))
    resumed = session(store=store)
    payload = resumed.compose(Budget(window=6_000, recall=0))
    check_off(off, payload, resumed)
    check_laws(payload, resumed)
    assert all(each.good for each in verify(resumed.log))


def test_what_a_summary_stood_for_comes_back_when_summaries_go_off() -> None:
    """It is as if there were no compaction; with summaries on again there is."""
    talk = long_talk()
    assert composed(talk, 3_000)["summaries"].removed
    talk.configure(reductions=("gists", "windows", "trim"))
    payload = talk.compose(Budget(window=6_000, recall=0))
    assert {line.id for line in payload.plan.lines()} >= {item.id for item in talk.items if item.kind is Kind.USER}
    with pytest.raises(BadInput, match="summaries are switched off"):
        talk.summaries.compact()
    assert not talk.summaries.in_background(lambda _: "a summary")
    talk.configure(reductions=REDUCTIONS)
    assert composed(talk, 6_000)["summaries"].removed


def test_what_was_left_out_comes_back_when_trim_goes_off() -> None:
    """And where that is too much, the error is the same at every call until there is room."""
    talk = long_talk(compacted=False)
    assert composed(talk, 450)["trim"].removed
    talk.configure(reductions=("gists", "windows", "summaries"))
    for _ in range(2):
        with pytest.raises(PinnedOverflow, match="trim is switched off"):
            talk.compose(Budget(window=450, recall=0))
    payload = talk.compose(Budget(window=3_000, recall=0))
    check_off("trim", payload, talk)
    assert {line.id for line in payload.plan.lines()} >= {item.id for item in talk.items if item.kind is Kind.USER}
    question = talk.compose(Budget(window=3_000), ask=True)
    assert len(question.plan) >= len(payload.plan)


def test_a_pin_does_not_stop_a_session_without_trim() -> None:
    """What somebody wants to see is shown already: the next calls go on from there without a sweep."""
    talk = session(reductions=("gists", "windows", "summaries"))
    pinned = talk.user("never delete anything")
    talk.items.pin(pinned)
    before = talk.compose(EVERYTHING)
    talk.assistant("very well")
    after = talk.compose(EVERYTHING)
    assert after.plan.extends(before.plan)


def test_windows_keep_their_level_whatever_they_need() -> None:
    """Lowered before, they rise; where they are too much they are named, as pinned windows are."""
    talk = long_talk(compacted=False)
    assert composed(talk, 900)["windows"].removed == ("pile_1",)
    talk.configure(reductions=("gists", "summaries", "trim"))
    assert composed(talk, 900)["windows"].removed == ()
    assert [window.document.lod for window in talk.windows.all()] == [Lod.FULL, Lod.FULL]
    with pytest.raises(PinnedOverflow, match="system, tools and windows"):
        talk.compose(Budget(window=200, recall=0))


def test_hidden_windows_are_accounted_for() -> None:
    """Where not even gists of windows fit, one line stands for them: what it saves is reported."""
    talk = session()
    for _ in range(12):
        talk.windows.open("pile", "200")
    talk.user("go on")
    full = session(reductions=())
    for _ in range(12):
        full.windows.open("pile", "200")
    full.user("go on")
    payload = talk.compose(Budget(window=200, recall=0))
    assert len(payload.shown_windows) < 12
    assert len(payload.reductions()[1].removed) == 12
    check_account(payload, full.preview(EVERYTHING).tokens)
    assert talk.receipt is not None
    assert talk.receipt.spared == dict(payload.spared)


# ------------------------------------------------------------------ settings, and strategies of one's own


def test_unknown_reductions_are_refused_with_the_choices() -> None:
    """Nothing is written then."""
    talk = session()
    for wrong in (["gist"], "gists", [1], None):
        with pytest.raises(BadInput):
            talk.configure(reductions=wrong)
    with pytest.raises(BadInput, match="choose among gists, windows, summaries, trim"):
        session(reductions=["lods"])
    assert talk.settings.reductions == REDUCTIONS


def test_old_logs_stay_as_they_are() -> None:
    """All are on unless the log says otherwise, and then it says nothing of them."""
    assert b"reductions" not in msgspec.json.encode(Settings())
    assert msgspec.json.decode(b"{}", type=Settings).reductions == REDUCTIONS


class Stubborn:
    """Goes on whatever is said."""

    name = "stubborn"

    def plan(self, view: View) -> Plan:
        if view.last is None:
            rows = [row for unit in view.new for row in view.timeline.rows_of(unit)]
            lods = {row: Lod.GIST for row in rows if view.timeline.level(row, Lod.GIST) is Lod.GIST}
            return Plan.swept(view, view.candidates(), lods, {}, reason="sweep: mine")
        return Plan.extended(view, {}, {})


class Forgetful:
    """Shows the question alone."""

    name = "forgetful"

    def plan(self, view: View) -> Plan:
        units = sorted(view.must_show.intersection(view.candidates()))
        return Plan.swept(view, units, {}, {}, reason="sweep: mine")


@pytest.mark.parametrize(("own", "off"), [(Stubborn(), "gists"), (Forgetful(), "trim")], ids=["gists", "trim"])
def test_no_strategy_can_do_what_is_off(own: Any, off: str) -> None:
    """One that tries is told so, by name of what is wrong."""
    talk = Session(MemoryStore("own"), strategy=own, token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())
    for number, step in enumerate(LONG[3:9]):
        play(talk, number, step)
    talk.compose(EVERYTHING)
    talk.configure(reductions=tuple(kind for kind in REDUCTIONS if kind != off))
    with pytest.raises(StrategyError, match=r"switched off|may be left out"):
        talk.compose(EVERYTHING)


def test_the_page_says_what_happens(capsys: pytest.CaptureFixture[str]) -> None:
    """The example of docs/reductions.md runs and shortens without leaving out; the page names every reduction."""
    page = (Path(__file__).parents[2] / "docs" / "reductions.md").read_text(encoding="utf-8")
    example = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)[0]
    exec(compile(example, "docs/reductions.md", "exec"), {})
    made = {
        kind: (int(count), int(tokens)) for kind, count, tokens in map(str.split, capsys.readouterr().out.splitlines())
    }
    assert made["gists"][0] == 1
    assert made["gists"][1] > 500
    assert made["trim"] == (0, 0)
    assert re.findall(r"^\| `(\w+)`", page, flags=re.MULTILINE) == list(REDUCTIONS)
