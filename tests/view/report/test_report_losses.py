"""What compactions lost, of logs that other programs wrote and of Sightline's own."""

import pytest
from report_logs import FILE, Log

from sightline import Budget, MemoryStore, Session
from sightline.testing import calling
from sightline.view.report.session_report import report_of
from sightline.view.report.talk import conversation_of
from sightline.view.report.values import CompactionLoss

RULE = "Never change the public names in shop.py."


def lost(summary: str) -> CompactionLoss:
    """A file is read, the session is compacted, and a line of the file is edited."""
    log = Log().user(f"Fix the totals. {RULE}").read("c1").answer("I see.").compact(summary).user("go on")
    edit = {"file_path": "/w/shop.py", "old_string": FILE.splitlines()[7], "new_string": "pass"}
    [found] = report_of(log.call("c2", "Edit", edit, "ok").answer("Done.").conversation, economies=()).compactions
    return found


def test_what_the_summary_does_not_say_is_lost() -> None:
    """Instructions, paths and names; and what a later answer used of it."""
    found = lost("The user wants the totals fixed.")
    assert found.constraints == 1
    assert RULE.rstrip(".") in found.named[0]
    assert found.identifiers > 20
    assert (found.needed, found.tokens, found.trigger) == (1, 9_000, "auto")
    assert found.needed_tokens > 300


def test_what_the_summary_says_is_not() -> None:
    """The same session, the file and the rule in the summary."""
    found = lost(f"{RULE}\n/w/shop.py is:\n{FILE}")
    assert (found.constraints, found.identifiers, found.needed) == (0, 0, 0)


@pytest.mark.parametrize("undone", [False, True])
def test_a_session_of_sightline_tells_of_its_own_compactions(undone: bool) -> None:
    """Also of one that was undone, as the list and the page of compactions do: it was in force until then."""
    store = MemoryStore("own")
    session = Session(store)
    for number in range(12):
        session.user(f"question {number}: what is the total of order A-{number}77? {'word ' * 40}")
        session.compose(Budget(8_000))
        session.reply({"role": "assistant", "content": f"It is {number}.50 for A-{number}77. {'so ' * 40}"})
    assert session.summaries.compact() is not None
    session.user("and the sum?")
    session.compose(Budget(8_000))
    session.reply({"role": "assistant", "content": "66.00"})
    if undone:
        session.summaries.undo()
    made = report_of(conversation_of(store), economies=())
    assert len(made.compactions) == 1
    assert made.calls == 13


@pytest.mark.slow
def test_what_sightline_quotes_and_what_it_had_left_out_is_not_lost() -> None:
    """The report agrees with what `compact()` found: it looks at the payloads before and after the compaction."""
    store = MemoryStore("own")
    session = Session(store)
    session.tools([])
    for number in range(40):
        session.user(f"Question {number}: where is the port of service {number} set? Never use port {number}7.")
        session.compose(Budget(4_000))
        session.reply(calling(("bash", {"command": f"grep -rn port src/{number}"})))
        ports = (f"src/{line}/f.py: port = {number}{line}31" for line in range(60))
        session.tool_result(session.open_calls[0].id, "\n".join(ports))
        session.compose(Budget(4_000))
        session.reply(f"It is in module {number}.")
    session.compose(Budget(4_000))
    made = session.summaries.compact()
    assert made is not None
    assert "Never use port 07." in str(session.compose(Budget(4_000)).openai())
    [found] = report_of(conversation_of(store), economies=()).compactions
    assert (found.constraints, found.named) == (made.loss.constraints.count, ()) == (0, ())
    assert found.numbers <= made.loss.numbers.count
