"""The loss report: exactly what could be read before a compaction and cannot be read after it, kept in the log."""

import re

import msgspec
import pytest
from compaction_talk import new_session, says, talk, use

from sightline.compaction.compactor import Compacted
from sightline.compaction.loss import Loss, Lost, loss
from sightline.log import entries as log
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.values.items import Call, plain_text
from sightline.wire.payload import Payload

ROOM = Budget(3_000, recall=0.0)


def reports(session: Session) -> list[Loss]:
    """The loss entries of the log."""
    entries = [log.decode(line.data) for line in session.log.store.scan()]
    return [msgspec.json.decode(entry.data, type=Loss) for entry in entries if entry.subtype == "loss"]


def written_case(summary: str) -> tuple[Session, Compacted]:
    """A small conversation about a quay, and what a model makes of it."""
    session = new_session()
    session.system("Read docs/harbour.md first.")
    session.user("Look at /srv/quay/depth.py and docs/harbour.md. Order A-4711 cost 512 euros. Never push to main.")
    use(session, "run", "ValueError: the depth is negative\nbuilt v2.3.4", module="src/crane/arm.py")
    for word in ("fine", "good", "well", "yes", "on", "so", "now", "right", "then", "done"):
        session.user(word)
    session.compose(ROOM)
    return session, session.summaries.compact(model=says(summary))


def test_a_written_case_is_reported_exactly() -> None:
    """Each kind by itself, in the order in which things were said; a longer number does not show a shorter one."""
    session, done = written_case("The order cost 4512 in all, for A-47110.")
    assert done.loss == Loss(
        paths=Lost(2, ("/srv/quay/depth.py", "src/crane/arm.py")),
        identifiers=Lost(2, ("A-4711", "v2.3.4")),
        numbers=Lost(1, ("512",)),
        errors=Lost(1, ("ValueError: the depth is negative",)),
    )
    assert reports(session) == [done.loss]


def test_what_can_still_be_read_is_not_reported() -> None:
    """In the summary, in the system prompt, in a call that stays: nothing is lost."""
    everything = "/srv/quay/depth.py, src/crane/arm.py, A-4711, v2.3.4, 512 euros. ValueError: the depth is negative"
    session, done = written_case(everything)
    assert done.loss == Loss()
    assert not done.loss
    assert reports(session) == [Loss()]


def test_a_rule_without_room_is_reported() -> None:
    """Rules that were readable and have no room in their share are named: they are the first thing to look at."""
    session, ids = new_session(), []
    said = [f"You must never change file{number}.py." for number in range(40)]
    for rule in said:
        ids += [session.user(rule), session.assistant("understood, noted, will do")]
    budget = Budget(200, recall=0.0)
    session.compose(budget)
    done = session.summaries.cover(ids[0], ids[-3], "Some files.")
    after = read(session.compose(budget))
    hidden = [rule for rule in said if rule not in after]
    assert hidden
    assert done.loss.constraints.count == len([rule for rule in hidden if rule in done.loss.constraints.named])
    assert set(done.loss.constraints.named) <= set(hidden)
    ids += talk(session, 5, first=len(session.items))
    again = session.summaries.cover(ids[0], ids[-3], "Some files still.")
    assert not set(again.loss.constraints.named) & set(done.loss.constraints.named)  # lost once


def test_the_engine_s_own_words_are_no_rules() -> None:
    """What a preface or a digest says is not taken for something the user said and lost."""
    session = new_session()
    session.user("Never push to the main branch.")
    talk(session, 10)
    session.compose(ROOM)
    for _ in range(4):
        assert session.summaries.compact().loss.constraints == Lost()
        talk(session, 5, first=len(session.items))
        session.compose(ROOM)


@pytest.mark.parametrize(("later", "count"), [("You may push to main now.", 0), ("You may push to dev now.", 1)])
def test_what_was_revoked_is_not_lost(later: str, count: int) -> None:
    """Nobody misses a constraint that no longer holds."""
    rule = "Never push to main."
    assert loss([rule, later], [rule, later], later).constraints.count == count


CODE = "def depth(metres):\n    except KeyError:\n    errors = 'error: the depth is negative'"


@pytest.mark.parametrize(
    ("name", "arguments", "errors"),
    [
        ("bash", {"command": "python depth.py 2>&1"}, 1),
        ("Read", {"file_path": "/srv/depth.log"}, 1),
        ("Read", {"file_path": "/srv/depth.py"}, 0),
        ("bash", {"command": "cat /srv/depth.py"}, 0),
        ("Grep", {"pattern": "depth"}, 0),
    ],
)
def test_a_line_of_source_code_is_no_error(name: str, arguments: dict[str, str], errors: int) -> None:
    """The same lines count where a program printed them, and not where a file of code or a search shows them."""
    session = new_session()
    session.user("measure the quay")
    use(session, name, CODE, **arguments)
    talk(session, 5)
    session.compose(ROOM)
    found = session.summaries.compact(model=says("The quay was measured, more or less.")).loss.errors
    assert found == Lost(errors, ("errors = 'error: the depth is negative'",)[:errors])


@pytest.mark.slow
def test_numbers_of_the_engine_are_not_lost() -> None:
    """What a notice counts is ours: only a number that somebody said can be lost."""
    session = new_session()
    talk(session, 40)
    session.compose(Budget(700, recall=0.0))
    before = session.preview(Budget(700, recall=0.0))
    assert "tokens" in before.plan.marker
    done = session.summaries.compact(Budget(700, recall=0.0), model=says("The quay was measured, more or less."))
    assert not {*done.loss.numbers.named} & {*re.findall(r"\d+", before.plan.marker.split(";")[0])}


def test_what_a_digest_says_of_errors_is_no_error() -> None:
    """An error is lost once: what the digest said of it is not lost once more."""
    session = new_session()
    session.user("measure the quay")
    use(session, "bash", "Traceback:\n  line 3\nValueError: it is negative\n1 failed", command="pytest")
    talk(session, 10, size=3)
    session.compose(ROOM)
    assert "ValueError: it is negative" in session.summaries.compact().summary
    talk(session, 10, first=10)
    session.compose(ROOM)
    assert session.summaries.compact(model=says("The quay was measured, more or less.")).loss.errors == Lost()


def test_a_report_names_some_and_counts_all() -> None:
    """Forty of a kind are named; the count is of all of them."""
    found = loss([" ".join(f"/srv/file{number}.py" for number in range(100))], [], "")
    assert (found.paths.count, len(found.paths.named)) == (100, 40)
    assert found.paths.named[0] == "/srv/file0.py"


def read(payload: Payload) -> str:
    """All that a payload says."""
    messages = (*payload.system, *payload.body, *payload.tail)
    calls = [part for message in messages for part in message.parts if isinstance(part, Call)]
    return "\n".join([*(plain_text(message.parts) for message in messages), *map(str, calls)])
