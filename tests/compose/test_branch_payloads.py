"""A branch goes on from what was shown before it began, so that the provider still knows how its payload begins."""

from typing import Any

import pytest

from sightline import Budget, MemoryStores, Session
from sightline.adapters import strands_messages as form
from sightline.compose.receipts import reused_tokens
from sightline.compose.verify import verify
from sightline.follow.conversations import Conversations
from sightline.follow.list_call import ListCall, writer_of
from sightline.log import AGENT
from sightline.testing import MemoryStore, calling
from sightline.values.items import Kind
from sightline.view.call_rows import call_rows

ROOM = Budget(6_000, 500)


def swept(stores: MemoryStores) -> Session:
    """A session whose last call, for a short message of the user's, was a sweep."""
    session = Session.new(stores=stores, session_id="s")
    session.system("You are careful.")
    go_on(session)
    return session


def go_on(session: Session, least: int = 0) -> None:
    """Ask about one file after the other, until a call is a sweep."""
    for turn in range(100):
        session.user(f"Question {turn}")
        if session.compose(ROOM).plan.reason and turn >= least:
            break
        session.reply(calling(("read_file", {"path": f"f{turn}.py"})))
        session.tool_result(session.open_calls[0].id, f"line {turn} of the file\n" * 20)
        session.compose(ROOM)
        session.reply(f"Answer {turn}: " + "this is what it says. " * 60)


def begins_like(payload: Any, other: Any) -> int:
    """How many blocks two payloads begin with alike."""
    pairs = enumerate(zip(payload.chain, other.chain, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(payload.chain), len(other.chain)))


def before_turn(session: Session, turn: int) -> str:
    """The item before a user's message."""
    items = list(session.items)
    return items[[at for at, item in enumerate(items) if item.kind is Kind.USER][turn] - 1].id


def test_a_branch_begins_as_the_calls_after_its_beginning_did() -> None:
    """Without the last turn, the payload is what was sent without it; verified, resumed, and not called a sweep."""
    stores = MemoryStores()
    with swept(stores) as session:
        sent = session.preview(ROOM)
        session.reply("That is so.")
        branch = session.fork(before_turn(session, -1))
        branch.user("Another question")
        payload = branch.preview(ROOM)
        assert begins_like(payload, sent) >= len(payload.chain) - 2
        assert Session.resume("s", stores=stores, branch=branch.branch).preview(ROOM).hash == payload.hash
        branch.compose(ROOM)
        branch.reply("Yes.")
        branch.user("And on?")
        assert begins_like(branch.compose(ROOM), payload) >= len(payload.chain) - 1
        assert all(made.good for made in verify(branch.log))
        rows, _ = call_rows(branch, 0, 100)
        assert [row.reason for row in rows[-2:]] == ["", ""]
        assert not [mark for row in rows[-2:] for mark in row.marks if mark.kind == "sweep"]


def test_what_a_branch_said_itself_is_not_forecast_as_cached() -> None:
    """Its first call finds in the cache what it begins with as the call of the other branch did, and nothing else."""
    with swept(MemoryStores()) as session:
        sent = session.preview(ROOM)
        session.reply("That is so.")
        branch = session.fork(before_turn(session, -1))
        branch.user("Another question " + "with many words " * 300)
        payload = branch.compose(ROOM)
        reused = reused_tokens(sent, payload, branch.log.reader.profile)
        row = call_rows(branch, 0, 100)[0][-1]
        assert row.total - 600 > reused
        assert abs(row.cached - reused) < 20


def test_a_branch_from_long_ago_is_composed_anew() -> None:
    """What was hidden for the sake of what followed is shown there, because it fits."""
    with swept(MemoryStores()) as session:
        branch = session.fork(before_turn(session, 2))
        branch.user("Another question")
        payload = branch.compose(ROOM)
        assert payload.plan.left_out is None
        assert all(lod.name == "FULL" for lod in payload.plan.levels().values())


def test_a_compaction_that_a_branch_does_not_know_hides_nothing_there() -> None:
    """Its summary is not on the branch, so what it covers is shown as if it had never been."""
    with swept(MemoryStores()) as session:
        branches_off = before_turn(session, -1)
        session.summaries.cover(list(session.items)[1].id, before_turn(session, 3), "They talked.", budget=ROOM)
        session.compose(ROOM)
        assert session.receipt is not None
        assert session.receipt.plan is not None
        assert session.receipt.plan.lods
        branch = session.fork(branches_off)
        branch.user("Another question")
        messages = branch.compose(ROOM).openai()["messages"]
        assert {"role": "user", "content": "Question 0"} in messages
        assert "They talked." not in str(messages)


def test_what_a_branch_was_asked_last_is_shown_there() -> None:
    """Where another branch went on, a sweep hid that question, and more that this branch has not: it is made anew."""
    small = Budget(1_200, 100)
    with swept(MemoryStores()) as session:
        session.reply("That is so.")
        begins = list(session.items)[-1].id
        session.user("And the next page?")
        hides = session.compose(small).plan
        branch = session.fork(begins)
        timeline = branch.log.timeline
        asked = timeline.last_user(branch.log.path, len(timeline))
        assert asked not in hides
        plan = branch.compose(small).plan
        assert asked in plan
        assert plan.left_out is not None
        assert timeline.unit_row[plan.left_out.last] <= branch.items.row(begins)


def test_a_mark_that_a_branch_does_not_know_hides_nothing_there() -> None:
    """What an agent wrote anew on another branch replaces nothing on this one, which does not have the new text."""
    with swept(MemoryStores()) as session:
        begins = list(session.items)[-2].id
        written = next(item for item in reversed(list(session.items)) if item.kind is Kind.RESULT)
        session.items.mark(session.items.row(written.id), "out", AGENT)
        row, timeline = session.items.row(written.id), session.log.timeline
        assert timeline.unit[row] not in session.compose(ROOM).plan
        branch = session.fork(begins)
        branch.user("Another question")
        assert timeline.unit[row] in branch.compose(ROOM).plan


def test_what_was_recalled_for_a_question_is_recalled_where_it_is_answered_again() -> None:
    """A branch that begins right after a question does not have the passages that another answer to it was given."""
    stores = MemoryStores()
    with Session.new(stores=stores, session_id="s") as session:
        session.user("Read the file of the harbour.")
        session.reply(calling(("read_file", {"path": "harbour.txt"})))
        lines = [f"ordinary line {number} of ships and cranes" for number in range(120)]
        lines.insert(60, "The access code of quay seven, told by harbour master Olsen, is 4711-ZEBRA.")
        session.tool_result(session.open_calls[0].id, "\n".join(lines))
        go_on(session, 15)
        session.reply("That is so.")
        question = session.user("What is the access code of quay seven, which harbour master Olsen told?")
        assert "4711-ZEBRA" in str(session.compose(ROOM).openai())
        branch = session.fork(question)
        assert "4711-ZEBRA" in str(branch.compose(ROOM).openai())


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"text": text}]}


@pytest.mark.parametrize("ending", ["Answer by one call.", "Answer by one call. This is step {}."])
def test_a_list_whose_last_message_goes_away_keeps_its_beginning(ending: str) -> None:
    """A program that ends each request by a message of its own, and takes it away again, pays no prompt twice."""
    conversations = Conversations(Session(MemoryStore("s")), wire=form)
    messages, before, kept, sweeps = [said("user", "Look at the pages.")], None, 0, 0
    for step in range(40):
        call = ListCall(conversations, "", [*messages, said("user", ending.format(step))], writer_of(form))
        call.compose(Budget(12_000, 1_000))
        payload, before = call.payload, before or call.payload
        sweeps += bool(payload.plan.reason)
        kept += begins_like(payload, before) >= len(before.chain) - 3  # its end, with what was brought back for it
        before = payload
        use = {"toolUseId": f"t{step}", "name": "look", "input": {"page": step}}
        result = {"toolUseId": f"t{step}", "status": "success", "content": [{"text": f"{step}: words of a page " * 60}]}
        call.reply(asked := {"role": "assistant", "content": [{"toolUse": use}]})
        messages += [asked, {"role": "user", "content": [{"toolResult": result}]}]
    assert 1 <= sweeps <= 5
    assert kept == 40 - sweeps
