"""Rules the user sets stay word for word, once, whatever compacts and whatever a model makes of them."""

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from compaction_talk import new_session, says, shown, talk, use, words

from sightline.errors import BadInput
from sightline.plan.notices import EngineNotices
from sightline.plan.view import Budget, LeftOut
from sightline.session.session import Session
from sightline.shorten import rules
from sightline.shorten.rules.short_form import short_form
from sightline.values.items import Kind, Lod
from sightline.values.phrases import say
from sightline.values.tokens import Estimate
from sightline.wire.payload import Payload

ROOM = Budget(6_000, recall=0.0)
ENGLISH = (
    "Never push to the {} branch.", "Always run {} before you commit.", "You must not change {}.py.",
    "Don't use the {} library anywhere.", "Make sure that every {} has a test.",
)  # fmt: skip
CHINESE = (
    "不要修改 {} 目录。",
    "所有 {} 接口必须返回 JSON。",
    "禁止删除 {} 表。",
    "务必先备份 {} 再迁移。",
    "始终用中文回复 {} 的问题。",
)
NAMES = ("harbour", "quay", "crane", "ledger", "manifest", "pilot", "anchor", "buoy")

Model = Callable[[Payload], Any] | None


def constraints(random: Random) -> list[str]:
    """Five rules, no two alike, in both languages."""
    kinds = random.sample([*ENGLISH, *CHINESE], 5)
    return [kind.format(f"{random.choice(NAMES)}{number}") for number, kind in enumerate(kinds)]


def paraphrase(_: Payload) -> str:
    """What a careless model makes of rules."""
    return "The user would rather avoid the main branch, likes linting, and cares about some files. 用户有一些偏好。"


class Contradict:
    """A model that says the opposite of each rule."""

    def __init__(self, said: list[str]) -> None:
        self._said = said

    def __call__(self, _: Payload) -> str:
        return "\n".join("It is fine to " + rule.split(maxsplit=1)[-1].lower() + " 可以这样做。" for rule in self._said)


def five_times(random: Random, said: list[str], model: Model) -> Session:
    """A long session with these rules at random places, compacted five times."""
    session = new_session(token_counter=Estimate())
    places = sorted(random.sample(range(30), 5))
    for number in range(40):
        rule = f" {said[places.index(number)]}" if number in places else ""
        session.user(f"{words(random.randint(3, 25), f'u{number}x')}.{rule}")
        for step in range(random.randint(0, 2)):
            use(session, "bash", words(random.randint(5, 60), f"r{number}y{step}z"), command=f"step {number} {step}")
        session.assistant(f"Done with {number}.")
        if number % 8 == 7:
            session.compose(ROOM)
            session.summaries.compact(model=model)
    return session


CHARACTERS = ("none", "drops", "paraphrases", "contradicts", "fails", "mixed")


@pytest.mark.slow
@pytest.mark.parametrize("character", CHARACTERS)
def test_every_constraint_is_visible_word_for_word_and_once(character: str, soak: bool) -> None:
    """Forty long sessions, five rules each, five compactions: after the last one each rule stands there once."""
    for seed in range(40 if soak else 8):
        random = Random(f"{character} {seed}")
        said = constraints(random)
        assert [rules.constraints(rule) for rule in said] == [
            [rule] for rule in said
        ]  # the rules are such as are noticed
        mixed = iter([None, says("nothing much"), says(ValueError("down")), paraphrase, None])
        models: dict[str, Model] = {
            "none": None, "drops": says("Some work was done."), "paraphrases": paraphrase,
            "contradicts": Contradict(said), "fails": says(RuntimeError("overloaded")),
            "mixed": lambda request, mixed=mixed: (next(mixed) or says(""))(request),  # type: ignore[misc]
        }  # fmt: skip
        session = five_times(random, said, models[character])
        payload = session.compose(ROOM)
        body = shown(payload)
        assert [body.count(rule) for rule in said] == [1] * 5, (seed, said)
        assert payload.plan.preface_tokens <= 0.05 * payload.plan.limit


def test_a_rule_that_a_model_twists_and_a_digest_carries_on_is_not_taken_for_said() -> None:
    """A digest goes on from a model's summary that quotes the rule to lift it: the rule itself is still told."""
    rule = "Never push to the main branch."
    session = new_session()
    session.user(f"{words(10)}. {rule}")
    talk(session, 10)
    session.compose(ROOM)
    twisted = f'The user has lifted the rule "{rule}" for good.'
    assert session.summaries.compact(model=says(twisted)).success
    talk(session, 10, first=10)
    session.compose(ROOM)
    session.summaries.compact()  # by rule, going on from what the model said
    payload = session.compose(ROOM)
    assert rule in payload.plan.preface


def test_a_rule_in_a_digest_that_is_shown_shortened_is_told() -> None:
    """What counts is what can be read: a digest shown as its gist does not tell the rule that it holds in full."""
    rule = "Never push to the main branch."
    session = new_session()
    session.user(f"{words(30)}. {rule}")
    talk(session, 30, size=40)
    session.summaries.compact(Budget(8_000))
    [digest] = [item.id for item in session.items if item.kind is Kind.SUMMARY]
    row = session.log.timeline.row(digest)
    assert row is not None
    for window in (8_000, 4_000, 2_000, 1_500, 1_000):
        payload = session.compose(Budget(window, recall=0.0))
        assert rule in shown(payload), (window, payload.plan.lod(row))
    session.items.collapse(digest)
    session.configure(locale="zh")
    payload = session.compose(Budget(8_000))
    assert rule in shown(payload)
    assert payload.plan.lod(row) is not Lod.FULL or session.log.timeline.gist[row] < 0


def test_a_repeated_rule_is_told_once() -> None:
    """Said early and again later, shown there or not."""
    rule = "Never push to the main branch."
    for places in ((0,), (0, 9), (0, 5)):
        session = new_session()
        for number in range(10):
            session.user(f"{words(20, f'u{number}x')}. {rule if number in places else ''}")
            session.assistant(words(20, f"a{number}x"))
        session.compose(ROOM)
        session.summaries.compact(model=says("Some work was done."))
        assert shown(session.compose(ROOM)).count(rule) == 1


@pytest.mark.slow("1000-estimate-expand", "1000-words-expand")
@pytest.mark.parametrize("tools", [True, False], ids=["expand", "no tools"])
@pytest.mark.parametrize("counting", [None, Estimate()], ids=["words", "estimate"])
@pytest.mark.parametrize("window", [500, 1_000, 5_000])
def test_hidden_constraints_take_a_quarter_or_400_tokens(window: int, counting: Any, tools: bool) -> None:
    """Word for word while all fit, else shortened from the oldest on. If that does not fit, the newest are shown, and
    one line names the items of the others where a tool can show them."""
    session = new_session(**({"token_counter": counting} if counting else {}))
    if tools:
        session.tools(())
    said = [f"You must never change the old file{number}.py." for number in range(60)]
    ids = [each for rule in said for each in (session.user(rule), session.assistant(words(12)))]
    budget = Budget(window, recall=0.0)
    session.compose(budget)
    session.summaries.cover(ids[0], ids[-3], "Many files were named.")
    payload = session.compose(budget)
    assert 0 < payload.plan.preface_tokens <= max(0.25 * payload.plan.limit, 400)
    heading, *lines = payload.plan.preface.split("\n")
    hidden = [rule for rule in said if rule not in shown(payload).replace(payload.plan.preface, "")]
    more = [line for line in lines if line.startswith("- older ones: #")]
    told = [line for line in lines if line not in more]
    newest = hidden[len(hidden) - len(told) :]
    whole = [line.endswith(rule) for line, rule in zip(told, newest, strict=True)]
    assert all(line.endswith(rule) or line == f"- {short_form(rule)}" for line, rule in zip(told, newest, strict=True))
    assert whole == sorted(whole)  # the newest are those that are whole
    assert (heading == say("binding")) == (all(whole) and len(told) == len(hidden))
    assert bool(more) == (tools and len(told) < len(hidden))
    if len(told) < len(hidden):  # word for word only in what is left where no further short line fits
        short = [f"- {short_form(rule)}" for rule in newest]
        spare = sum(session.count(line) - session.count(least) for line, least in zip(told, short, strict=True))
        assert spare <= session.count(short[0]) + 1
    if window == 5_000:
        assert heading == say("binding")
        assert all(line.startswith("- #") == tools for line in told)


@pytest.mark.parametrize(
    ("later", "between", "marked"),
    [
        ("You may change quay.py now.", 10, True),
        ("You may change ship.py now.", 10, False),
        ("You don't have to change quay.py any more.", 10, False),
        ("Forget that.", 0, True),
        ("Forget that.", 10, False),
    ],
)
def test_a_revoked_constraint_is_marked(later: str, between: int, marked: bool) -> None:
    """Only the one that the later sentence speaks of; if it names nothing, only one of the message before it."""
    session = new_session()
    session.user("Never change quay.py.")
    talk(session, between)
    session.user(later)
    talk(session, 10, first=len(session.items))
    session.compose(ROOM)
    session.summaries.compact(model=says("Some work was done."))
    preface = session.compose(ROOM).plan.preface
    assert later in preface
    assert (say("revoked", text="Never change quay.py.") in preface) == marked


@pytest.mark.parametrize(("later", "revoked"), [("You may change quay.py now.", True), ("Go on.", False)])
def test_a_digest_and_an_index_line_do_not_hide_that_a_constraint_was_revoked(later: str, revoked: bool) -> None:
    """Also where the digest was made before; `items.constraints()` says it too."""
    rule = "Never change quay.py."
    session = new_session()
    session.user("Look at the harbour.")
    session.user(rule)
    talk(session, 10)
    session.summaries.compact(ROOM)
    session.user(later)
    plan = session.compose(ROOM).plan
    notices = EngineNotices(session.log, 4_000)
    told, _ = notices.preface(set(plan), {}, "")
    assert (say("revoked", text=rule) in told) == revoked
    assert [each.revoked for each in session.items.constraints() if each.text == rule] == [revoked]
    index, _ = notices.marker(LeftOut(16, 500, 0, 15), (), 1_000)
    assert (rule in index) != revoked


def test_an_index_line_keeps_the_constraint_that_has_no_room_elsewhere() -> None:
    """With room in the preface its index line names only the item; without, it says the constraint."""
    rule = "Never change quay.py."
    session = new_session()
    session.tools([])  # with `expand`, lines have handles
    for number in range(8):
        session.user(f"{words(30, f'u{number}x')}. {rule if number == 3 else ''}")
        session.assistant(words(30, f"a{number}x"))
    notices = EngineNotices(session.log, 4_000)
    left_out = LeftOut(16, 500, 0, 15)
    unseen, _ = notices.marker(left_out, (), 1_000)
    seen, _ = notices.marker(left_out, (), 1_000, f"- {rule}")
    [item] = [each.id for each in session.items.constraints()]
    assert f"#{item} user: {rule}" in unseen.split("\n")
    assert f"#{item} user" in seen.split("\n")


def test_rules_give_way_before_a_caller_s_pins_overflow() -> None:
    """Where pins fill the window, the rules are not told; nothing is refused for their sake."""
    session = new_session()
    session.user("You must never change quay.py. " + words(5))
    talk(session, 10)
    pinned = session.user(words(930))
    session.items.pin(pinned)
    budget = Budget(1_000, recall=0.0)
    session.user("go on")
    payload = session.compose(budget)
    assert payload.tokens <= 1_000
    with suppress(BadInput):
        session.summaries.compact()
    assert session.compose(budget).tokens <= 1_000
