"""What a sweep takes first: for each factor of an item's worth, two units that are equal in all else.

One word is one token here. Texts of up to 75 words have no lower level, so only leaving the unit out makes it smaller.
"""

from dataclasses import replace
from typing import Any

import pytest
from sized import Sized

from sightline.log.columns import OBSOLETE
from sightline.plan.budget import Budget
from sightline.plan.plan import MARKER, Plan
from sightline.plan.strategies.sweep import Sweep
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Lod
from sightline.values.settings import Settings
from sightline.wire.payload import Payload

WORDS = ("the", "quiet", "harbour", "keeps", "every", "small", "boat", "safe", "until", "morning", "comes", "again")
WINDOW = 1_100


@pytest.fixture
def session() -> Session:
    settings = Settings(config={"keep": 0})
    session = Session(
        MemoryStore("w"), settings=settings, token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids()
    )
    session.user("look")
    return session


def words(count: int) -> str:
    """Words without identifiers, so that no text mentions another."""
    return " ".join(WORDS[number % len(WORDS)] for number in range(count))


def read(session: Session, names: str, text: str = words(60), *, error: bool = False) -> list[str]:
    """One unit: a call for each letter, with this text as the result of each; `{name}` in it is the letter."""
    calls = [Call(f"{len(session.items)}{name}", "read", {"path": f"{name}.py"}) for name in names]
    session.assistant(calls)
    return [session.tool_result(call.id, text.format(name=call.id[-1]), error=error) for call in calls]


def sweep(session: Session, *, tokens: int = 1_015) -> set[str]:
    """The ids of what is shown after a question makes the payload so large that 300 tokens must be left out."""
    used = session.preview(Budget(100_000, recall=0)).tokens
    session.user(words(tokens - used))
    payload = compose(session)
    assert payload.plan.reason == "sweep: forced"
    return shown(payload.plan)


def compose(session: Session) -> Payload:
    return session.compose(Budget(WINDOW, trigger=0.9, target=0.9, recall=0))


def shown(plan: Plan) -> set[str]:
    return {line.id for line in plan.lines()}


def test_of_equal_units_the_older_is_left_out(session: Session) -> None:
    older, newer = read(session, "abcd"), read(session, "efgh")
    session.assistant("good")
    assert sweep(session).isdisjoint(older)
    assert shown(compose(session).plan).issuperset(newer)


@pytest.mark.parametrize(("between", "stays"), [(0, True), (6, False)])
def test_worth_halves_with_ten_newer_units(session: Session, between: int, stays: bool) -> None:
    """An error counts half as much again: it outlasts a result that is one unit newer, but not one much newer."""
    older = read(session, "abcd", error=True)
    for _ in range(between):
        session.assistant("good")
    newer = read(session, "efgh")
    found = sweep(session)
    assert found.issuperset(older if stays else newer)
    assert found.isdisjoint(newer if stays else older)


@pytest.mark.parametrize("error", [False, True])
def test_an_error_outlasts_another_result(session: Session, error: bool) -> None:
    older, newer = read(session, "abcd", error=error), read(session, "efgh")
    session.assistant("good")
    found = sweep(session)
    assert found.issuperset(older if error else newer)
    assert found.isdisjoint(newer if error else older)


@pytest.mark.parametrize("again", [False, True])
def test_what_was_read_again_is_left_out_first(session: Session, again: bool) -> None:
    """The older unit goes, unless a later result is about the files of the newer one."""
    older, newer = read(session, "abcd"), read(session, "efgh")
    read(session, "efgh" if again else "ijkl", "same")
    found = sweep(session)
    assert found.issuperset(older if again else newer)
    assert found.isdisjoint(newer if again else older)


@pytest.mark.parametrize("mentioned", [False, True])
def test_what_is_mentioned_later_outlasts_another(session: Session, mentioned: bool) -> None:
    """The older unit goes, unless a later message names something that it names."""
    older = read(session, "abcd", "ledger_batch_{name} " + words(59))
    newer = read(session, "efgh", "ledger_batch_{name} " + words(59))
    session.assistant(" ".join(f"ledger_batch_{name}" for name in ("abcd" if mentioned else "ijkl")))
    found = sweep(session)
    assert found.issuperset(older if mentioned else newer)
    assert found.isdisjoint(newer if mentioned else older)


@pytest.mark.parametrize("obsolete", [False, True])
def test_what_is_obsolete_is_left_out_first(session: Session, obsolete: bool) -> None:
    """Items can be marked so by an import from ContextUI; here the mark is set in the columns."""
    older, newer = read(session, "abcd"), read(session, "efgh")
    session.assistant("good")
    timeline = session._journal.timeline
    for item_id in newer if obsolete else ():
        timeline.state[timeline.row(item_id)] |= OBSOLETE  # type: ignore[index]
    found = sweep(session)
    assert found.issuperset(older if obsolete else newer)
    assert found.isdisjoint(newer if obsolete else older)


# ------------------------------------------------------------------ with sizes that a test sets


def sweep_sized(history: Sized, saving: int, **more: Any) -> Plan:
    """The plan of a sweep that must save so many tokens of what everything in full takes."""
    view = history.view(1, **more)
    limit = view.full_tokens(view.new) - saving + MARKER
    budget = Budget(limit, trigger=1.0, target=1.0)
    return Sweep(replace(view, budget=budget, limit=limit), {}, {}).reduce(0, "sweep: test")


@pytest.mark.parametrize(("dearer", "cheaper"), [("user", "assistant"), ("assistant", "call"), ("call", "result")])
def test_kinds_in_order_of_worth(dearer: str, cheaper: str) -> None:
    """The item of the cheaper kind is shortened, though it is newer and the sizes are the same."""
    history = Sized()
    older, newer = (getattr(history, kind)(90, summary=10) for kind in (dearer, cheaper))
    plan = sweep_sized(history, 80, asked=-1)
    assert (plan.lod(older), plan.lod(newer)) == (Lod.FULL, Lod.SUMMARY)


@pytest.mark.parametrize("full", [300, 500])
def test_a_gist_is_left_out_before_an_item_in_full(full: int) -> None:
    """Both take 300 tokens. The older one is left out, unless the newer one is the gist of a longer text."""
    history = Sized()
    older, newer = history.result(300), history.result(full, gist=300 if full > 300 else -1)
    history.user(600, gist=10)
    plan = sweep_sized(history, full - 300 + 1)
    assert (history.shows(plan, older), history.shows(plan, newer)) == (full > 300, full == 300)


@pytest.mark.parametrize(("saving", "level"), [(50, Lod.FULL), (120, Lod.SUMMARY)])
def test_a_summary_is_taken_before_a_gist(saving: int, level: Lod) -> None:
    """Two items become summaries before one of them becomes a gist, because a gist keeps less of the worth."""
    history = Sized()
    older, newer = history.result(190, summary=130, gist=100), history.result(190, summary=130, gist=100)
    plan = sweep_sized(history, saving)
    assert (plan.lod(older), plan.lod(newer)) == (Lod.SUMMARY, level)


def test_a_recalled_piece_is_left_out_first() -> None:
    """It is newer than a result of the same size, but its source remains."""
    history = Sized()
    older, newer = history.result(300), history.recalled(300)
    history.user(600, gist=10)
    plan = sweep_sized(history, 1)
    assert (history.shows(plan, older), history.shows(plan, newer)) == (True, False)


@pytest.mark.parametrize("pinned", [False, True])
def test_a_pinned_item_keeps_its_unit(pinned: bool) -> None:
    """The older unit is left out, unless one of its items is pinned."""
    history = Sized()
    older, newer = history.result(300), history.result(300)
    history.user(600, gist=10)
    plan = sweep_sized(history, 1, pinned=frozenset({older} if pinned else ()))
    assert (history.shows(plan, older), history.shows(plan, newer)) == (pinned, not pinned)
