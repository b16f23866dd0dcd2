"""Faults: fetching again what had been shortened is noticed once, shown in full, spared for a while, and counted."""

from pathlib import Path

import pytest
from compaction_talk import Disk, level, new_session, says, shown, talk, use, words

from sightline.compose.verify import verify
from sightline.log.columns import FAULT
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.values.items import Lod

ROOM = Budget(8_000, recall=0.0)
SOURCE = "\n".join(f"def crane_{number}(): return lift({number})  {words(6, f'c{number}x')}" for number in range(150))
TOOLS = {"Read": "file_path", "bash": "command"}


def read(session: Session, text: str = SOURCE, tool: str = "Read", what: str = "src/crane.py") -> str:
    """Read the file, or run the command. The result's id."""
    return use(session, tool, text, **{TOOLS[tool]: what})


def shortened(tool: str = "Read", strategy: str = "large", session: Session | None = None) -> tuple[Session, str]:
    """A session in which a result was read and is no longer shown in full."""
    session = session or new_session()
    session.user("how does the crane work?")
    text = SOURCE if strategy == "large" else SOURCE[:2_500]
    first = read(session, text, tool)
    session.compose(ROOM)
    if strategy == "compacted":
        assert level(session, session.compose(ROOM), first) is Lod.FULL
        talk(session, 10)
        session.compose(ROOM)
        session.summaries.compact(model=says("The crane was looked at."))
    else:
        talk(session, 4)
        tokens = 1_000  # a sweep is forced
        while tokens < ROOM.window:  # then the room grows by little, so that it does not come back
            session.compose(Budget(tokens, recall=0.0))
            tokens = tokens * 6 // 5
    session.user("and then?")
    assert level(session, session.compose(ROOM), first) is not Lod.FULL
    return session, text


@pytest.mark.parametrize("tool", ["Read", "bash"])
@pytest.mark.parametrize("strategy", ["large", "compacted"])
def test_fetching_again_what_was_shortened_is_a_fault(tool: str, strategy: str) -> None:
    """Of a file or a command, shortened by a sweep or covered: counted once, shown in full, in receipt and log."""
    session, text = shortened(tool, strategy)
    assert session.items.faults == []
    again = read(session, text, tool)
    assert session.items.faults == []  # known when it is decided what to show
    payload = session.compose(ROOM)
    assert session.items.faults == [again]
    assert level(session, payload, again) is Lod.FULL
    assert text in shown(payload)
    assert session.receipt is not None
    assert (session.receipt.faults, session.receipt.reason) == ([again], "")
    session.user("more")
    session.preview(ROOM)
    session.compose(ROOM)
    assert session.items.faults == [again]
    row = session.log.timeline.row(again)
    assert row is not None
    assert session.log.timeline.state[row] & FAULT
    assert sum(session.log.timeline.full[each] for each in session.log.timeline.faults) == len(text.split())
    assert all(one.good for one in verify(session.log))


def test_what_was_fetched_again_survives_the_next_sweep() -> None:
    """A sweep that shortens what is older and newer leaves it as it is while it can."""
    session, _ = shortened()
    again = read(session)
    session.compose(ROOM)
    other = read(session, SOURCE.replace("crane", "winch"), what="src/winch.py")
    for number in range(40):
        talk(session, 1, size=250, first=number)
        payload = session.compose(ROOM)
        assert session.receipt is not None
        if session.receipt.reason.startswith("sweep"):
            break
    assert session.receipt is not None
    assert session.receipt.reason.startswith("sweep")
    assert level(session, payload, again) is Lod.FULL
    assert level(session, payload, other) is not Lod.FULL


def test_what_can_be_read_is_no_fault_when_it_is_read_again() -> None:
    """The earlier result is shown in full, or a fault has brought it back."""
    session = new_session()
    session.user("look")
    read(session, SOURCE[:2_000])
    session.compose(ROOM)
    read(session, SOURCE[:2_000])
    session.compose(ROOM)
    assert session.items.faults == []
    session, _ = shortened()
    again = read(session)
    session.compose(ROOM)
    read(session)
    session.compose(ROOM)
    assert session.items.faults == [again]


def test_what_was_changed_is_no_fault() -> None:
    """Read again after an edit, after a build that now says something else, or another file of the same words."""
    session, _ = shortened()
    use(session, "Edit", "ok", file_path="src/crane.py", old="lift", new="hoist")
    read(session, SOURCE.replace("lift(7)", "hoist(7)"))
    session.compose(ROOM)
    assert session.items.faults == []
    session, _ = shortened("bash")
    read(session, "\n".join(words(8, f"new{number}x") for number in range(150)), "bash")
    session.compose(ROOM)
    assert session.items.faults == []
    session, _ = shortened()
    read(session, SOURCE, what="src/other.py")
    session.compose(ROOM)
    assert session.items.faults == []


def test_a_fault_is_one_on_its_own_branch() -> None:
    """What another branch fetched is not what this one had; what this one had before they parted is."""
    session, _ = shortened()
    here = session.user("here the ways part")
    session.compose(ROOM)
    fork = session.fork(here)
    there = read(fork)
    fork.compose(ROOM)
    assert fork.items.faults == [there]
    own = read(session)
    session.compose(ROOM)
    assert session.items.faults == [own]
    assert fork.items.faults == [there]


def test_faults_are_known_after_a_resume(tmp_path: Path) -> None:
    """Counted before and after, and noticed when the result came before the session was closed."""
    disk = Disk(tmp_path)
    session, _ = shortened(session=disk.new())
    again = read(session)
    session.close()
    session = disk.opened()
    assert session.items.faults == []
    assert SOURCE in shown(session.compose(ROOM))
    assert session.items.faults == [again]
    session.close()
    session = disk.opened()
    assert session.items.faults == [again]
    session.close()


def test_what_does_not_fit_is_shortened_again() -> None:
    """A fault larger than the limit cannot enter in full: it counts, and the payload keeps its budget."""
    session, _ = shortened()
    budget = Budget(1_000, recall=0.0)
    again = read(session)
    payload = session.compose(budget)
    assert session.items.faults == [again]
    assert payload.tokens <= 1_000
    assert level(session, payload, again) is not Lod.FULL
