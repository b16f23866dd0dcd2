"""What a sweep takes first: for each factor of an item's worth, two units that are equal in all else.

One word is one token here. Texts of up to 75 words have no lower level, so only leaving the unit out makes it smaller.
"""

from typing import Any

import pytest
from msgspec.structs import replace
from sized import Sized

from sightline.log.columns import OBSOLETE
from sightline.plan.plan import MARKER, Plan
from sightline.plan.strategies.sweep import Sweep
from sightline.plan.view import Budget
from sightline.recall.files_in_work import FilesInWork
from sightline.session.session import Session
from sightline.shorten import Purpose
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Lod
from sightline.values.settings import Settings
from sightline.wire.payload import Payload

WORDS = ("the", "quiet", "harbour", "keeps", "every", "small", "boat", "safe", "until", "morning", "comes", "again")
WINDOW = 1_100


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session in which the text of files is shown by the results that have it, and nowhere else."""
    monkeypatch.setattr(FilesInWork, "_subjects", lambda *_: {})
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
    for _ in range(8):
        session.assistant("good")  # so that no file is being worked on
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
def test_worth_falls_with_newer_units(session: Session, between: int, stays: bool) -> None:
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
    """The older unit goes, unless a later result shows the files of the newer one again."""
    text = "\n".join([words(12)] * 5)
    older, newer = read(session, "abcd", text), read(session, "efgh", text)
    read(session, "efgh" if again else "ijkl", text)
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
    timeline = session.log.timeline
    for item_id in newer if obsolete else ():
        timeline.state[timeline.row(item_id)] |= OBSOLETE  # type: ignore[index]
    found = sweep(session)
    assert found.issuperset(older if obsolete else newer)
    assert found.isdisjoint(newer if obsolete else older)


# ------------------------------------------------------------------ with sizes that a test sets


def sweep_sized(history: Sized, saving: int, *, keep: int = 0, **more: Any) -> Plan:
    """The plan of a sweep that must save so many tokens of what everything in full takes."""
    view = history.view(1, **more)
    limit = view.full_tokens(view.new) - saving + MARKER
    budget = Budget(limit, trigger=1.0, target=1.0)
    return Sweep(replace(view, budget=budget, limit=limit), {}).reduce(keep, "sweep: test")


@pytest.mark.parametrize(("dearer", "cheaper"), [("user", "assistant"), ("assistant", "result"), ("call", "result")])
def test_kinds_in_order_of_worth(dearer: str, cheaper: str) -> None:
    """The item of the cheaper kind is shortened, though it is newer and the sizes are the same."""
    history = Sized()
    older, newer = (getattr(history, kind)(90, summary=10) for kind in (dearer, cheaper))
    plan = sweep_sized(history, 80, asked=-1)
    assert (plan.lod(older), plan.lod(newer)) == (Lod.FULL, Lod.SUMMARY)


def test_what_the_user_wrote_ages_slower_than_the_rest() -> None:
    """It outlasts a file that is being worked on, although that was read much later."""
    history = Sized()
    older = history.user(90, summary=10)
    for _ in range(20):
        history.assistant(1)
    file = history.result(90, summary=10)
    history.assistant(1)
    timeline = history.timeline
    timeline.subjects.append("a.py")
    timeline.subject_row.append(file)
    timeline.subject[file], timeline.purpose[file] = 0, Purpose.READ
    plan = sweep_sized(history, 80, asked=-1)
    assert (plan.lod(older), plan.lod(file)) == (Lod.FULL, Lod.SUMMARY)


def test_what_is_recalled_is_not_counted_as_newest() -> None:
    """The question and the answer before it stay, not the question and what was recalled for it."""
    history = Sized()
    history.user(1)
    older, answer = history.user(90, summary=10), history.assistant(90, summary=10)
    question = history.user(20)
    history.recalled(1)
    plan = sweep_sized(history, 80, keep=1, asked=history.timeline.unit[question])
    assert (plan.lod(older), plan.lod(answer)) == (Lod.SUMMARY, Lod.FULL)


@pytest.mark.parametrize(("dearer", "cheaper"), [
    (Purpose.REPORT, Purpose.COMMAND), (Purpose.READ, Purpose.COMMAND), (Purpose.COMMAND, Purpose.SEARCH),
])  # fmt: skip
def test_results_in_order_of_worth(dearer: Purpose, cheaper: Purpose) -> None:
    """Reports and files outlast the output of commands, and that outlasts searches."""
    history = Sized()
    older, newer = (history.result(90, summary=10) for _ in range(2))
    history.timeline.purpose[older], history.timeline.purpose[newer] = dearer, cheaper
    for _ in range(10):
        history.assistant(1)
    plan = sweep_sized(history, 80)
    assert (plan.lod(older), plan.lod(newer)) == (Lod.FULL, Lod.SUMMARY)


@pytest.mark.parametrize(("newer_units", "used", "level"), [
    (7, None, Lod.FULL), (8, None, Lod.SUMMARY), (8, Purpose.READ, Lod.FULL), (8, Purpose.CHANGE, Lod.FULL),
    (11, Purpose.CHANGE, Lod.FULL), (12, Purpose.READ, Lod.FULL), (12, Purpose.CHANGE, Lod.SUMMARY),
    (12, Purpose.SHOW, Lod.FULL),
])  # fmt: skip
def test_a_file_that_is_being_worked_on_outlasts_the_rest(newer_units: int, used: Purpose | None, level: Lod) -> None:
    """Until four units have come since it was last changed, or eight since it was last read, even the assistant's
    newest words go first. Here the file is used again in the eighth unit after the first read, or not at all.
    """
    history = Sized()
    row = history.result(9_000, summary=10)
    timeline, again = history.timeline, row
    for each in range(newer_units):
        if used is not None and each == 7:
            again = history.result(9_000)
        else:
            history.assistant(90 if used or newer_units > 7 else 9_000, summary=10)
    timeline.subjects.append("a.py")
    timeline.subject_row.append(again)
    timeline.purpose[again] = used or Purpose.READ
    timeline.subject[row], timeline.purpose[row] = 0, Purpose.READ
    plan = sweep_sized(history, 80)
    assert plan.lod(row) is level


@pytest.mark.parametrize(("full", "level"), [(400, Lod.FULL), (4_000, Lod.SUMMARY)])
def test_a_long_item_is_taken_a_little_before_a_short_one(full: int, level: Lod) -> None:
    """The older one is taken, unless the newer one is much longer."""
    history = Sized()
    older, newer = history.result(400, summary=10), history.result(full, summary=10)
    history.assistant(1)
    plan = sweep_sized(history, 80)
    assert (plan.lod(older) is Lod.FULL, plan.lod(newer)) == (level is not Lod.FULL, level)


@pytest.mark.parametrize(("saving", "older_level", "newer_level"), [
    (50, Lod.SUMMARY, Lod.FULL), (80, Lod.GIST, Lod.FULL), (150, Lod.GIST, Lod.SUMMARY),
    (120, Lod.SUMMARY, Lod.SUMMARY),
])  # fmt: skip
def test_an_item_goes_down_to_its_gist_before_the_next_one_is_touched(
    saving: int, older_level: Lod, newer_level: Lod
) -> None:
    """Its summary is in between: each is taken only if it is needed, and given back if the next one saved enough."""
    history = Sized()
    older, newer = history.result(190, summary=130, gist=100), history.result(190, summary=130, gist=100)
    plan = sweep_sized(history, saving)
    assert (plan.lod(older), plan.lod(newer)) == (older_level, newer_level)


def test_gists_of_older_units_stay_while_newer_ones_can_be_shortened() -> None:
    """A unit is left out only when that is cheaper than shortening one that is fifty times as new."""
    history = Sized()
    older, newer = history.result(100), history.result(1_000, gist=100)
    plan = sweep_sized(history, 80)
    assert history.shows(plan, older)
    assert plan.lod(newer) is Lod.GIST


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
