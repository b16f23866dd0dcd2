"""Every model call of a session, composed or not: its context by kind and level, adding up to what was sent."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sightline import Budget, MemoryStores, Session, Settings
from sightline.imports.conversation import Compaction, Line, Step, Turn
from sightline.imports.importer import import_into
from sightline.log.levels import Reader
from sightline.testing import calling
from sightline.values.items import Call, Kind, Message, Opaque, Result, Role, Text, Usage
from sightline.view.call_contents import CallContents, compare
from sightline.view.call_payloads import UnknownCallNumber, call_payload, receipt_of, session_before
from sightline.view.call_rows import call_at, call_rows, calls_answered, usual_budget
from sightline.view.call_values import CallRow
from sightline.view.model_calls import call_index
from sightline.view.token_tree import token_tree
from sightline.view.tool_calls import ToolCalls

ROOM = Budget(6_000, 500)


def composed(turns: int = 6, **options: Any) -> Session:
    """A session in which every call was composed, with sweeps."""
    session = Session.new(stores=options.pop("stores", None) or MemoryStores(), session_id="s", **options)
    session.system("You are careful.")
    session.tools([{"type": "function", "function": {"name": "read_file", "description": "Reads.", "parameters": {}}}])
    for turn in range(turns):
        session.user(f"Question {turn}")
        session.compose(ROOM)
        session.reply(calling(("read_file", {"path": f"f{turn}.py"})))
        session.tool_result(session.open_calls[0].id, f"line {turn} of the file\n" * 300)
        session.compose(ROOM)
        session.reply(f"Answer {turn}")
    return session


class Recorded:
    """A conversation as an import reads it: two turns, a compaction, and two more."""

    kind, name, modified, is_list, envelope, mark = "Claude Code", "r.jsonl", 0.0, False, None, None
    key, profile, tools, usage = "recorded", "anthropic", (), None

    def __init__(self) -> None:
        self._steps = [*self._made()]

    def _made(self) -> Any:
        number = 0
        for turn in range(4):
            if turn == 2:
                number += 1
                yield Step((Line(number, b"{}"),), (), Compaction(summary="Two files were read."))
            thinking = Opaque("anthropic", "thinking", {"type": "thinking", "thinking": "hm " * 50, "signature": "x"})
            call, name = (
                Call(f"c{turn}", "Read", {"file_path": "a.py" if turn < 2 else "b.py"}),
                f"claude-opus-5-{turn}",
            )
            usage = Usage(9000 + turn, 10, 8000)
            said = [
                Message(Role.USER, (Text(f"Question {turn}"),)),
                Message(Role.ASSISTANT, (thinking, Text("Let me see."), call), model=name, usage=usage),
                Message(Role.TOOL, (Result(f"c{turn}", (Text("text\n" * 200),), "failed" if turn == 3 else ""),)),
                Message(Role.ASSISTANT, (Text("Done."),), model=name),
            ]
            for message in said:
                number += 1
                moment = f"2026-11-01T10:{number:02}:00.000Z"
                yield Step((Line(number, b"{}"),), (Turn(message=message, uuid=f"u{number}", timestamp=moment),))

    def lines(self) -> Any:
        return (line for step in self._steps for line in step.lines)

    def steps(self, after: int = 0) -> Any:
        return (step for step in self._steps if step.lines[0].number > after)

    def is_active(self, _: int) -> bool:
        return True


@pytest.fixture
def imported() -> Session:
    """A session that nothing was composed for."""
    stores = MemoryStores()
    import_into(stores, Recorded(), settings=Settings(profile="anthropic"))
    return Session.inspect("recorded", stores=stores)


def shown(row: CallRow) -> int:
    return sum(size for levels in row.tokens.values() for level, size in levels.items() if level != "hidden")


def test_what_a_composed_call_hides_is_what_was_said_and_is_not_shown() -> None:
    """By kind, in full; nothing before the first sweep."""
    with Session.new(stores=MemoryStores()) as session:
        for turn in range(8):
            session.user(f"Question {turn}: " + "which port? " * 20)
            session.compose(Budget(900, 100))
            session.reply(calling(("read_file", {"path": f"f{turn}.py"})))
            session.tool_result(session.open_calls[0].id, f"line {turn} of the file\n" * 20)
        rows, index = call_rows(session, 0, 100)[0], call_index(session)
        for row, call in zip(rows, index.calls, strict=True):
            contents = CallContents(session, call.number)
            shown_rows = {contents.row(line) for line in contents.lines}
            missing = Counter[str]()
            for at in range(call.rows):
                if at not in shown_rows and session.log.timeline.kind[at] not in (Kind.SYSTEM, Kind.RECALL):
                    missing.update(dict(index.ledger.parts(at)))
            assert {kind: levels["hidden"] for kind, levels in row.tokens.items() if "hidden" in levels} == missing
        assert not any("hidden" in levels for levels in rows[0].tokens.values())
        assert {"user", "call", "result"} <= {kind for kind, levels in rows[-1].tokens.items() if "hidden" in levels}


def test_the_kinds_of_a_composed_call_add_up_to_its_receipt() -> None:
    """For every call, before and after sweeps; what is hidden was said and is not shown."""
    with composed() as session:
        rows, total = call_rows(session, 0, 100)
        assert total == len(rows) == 12
        notes = [receipt_of(session.log, call) for call in call_index(session).calls]
        assert [note.tokens for note in notes] == [row.total for row in rows] == [*map(shown, rows)]
        assert all(row.tokens["tools"]["full"] > 0 and row.tokens["system"]["full"] > 0 for row in rows)
        swept = [row for row in rows if row.marks]
        assert swept
        assert {mark.kind for row in swept for mark in row.marks} == {"sweep"}
        assert any(row.tokens["result"].keys() & {"summary", "gist", "hidden"} for row in swept)
        in_full = {line.id: line.full_tokens for line in CallContents(session, 11).lines}
        said = sum(item.full for item in session.items.table() if item.id in in_full)
        assert said == sum(in_full.values()) - in_full[""]  # that of the tools and of the engine's own texts


def test_any_page_gives_the_same_rows() -> None:
    """One call at a time, or all at once, or each third."""
    with composed() as session:
        rows, _ = call_rows(session, 0, 100)
        assert [call_rows(session, at, 1)[0][0].tokens for at in range(12)] == [row.tokens for row in rows]
        assert [row.number for row in call_rows(session, 1, 4, 3)[0]] == [2, 5, 8, 11]
        assert [row.tokens for row in call_rows(session, 1, 4, 3)[0]] == [row.tokens for row in rows[1::3]]
        assert call_rows(session, 50, 10) == ([], 12)


def test_calls_read_in_steps_are_the_same() -> None:
    """A page of messages reads those that answered it; the last one has no answer yet."""
    stores = MemoryStores()
    with composed(stores=stores) as session:
        session.user("More")
        session.compose(ROOM)
        rows, total = call_rows(session, 0, 100)
        stepwise = Session.inspect("s", stores=stores)
        replies = [row for row in range(len(session.log.timeline)) if session.log.timeline.kind[row] == Kind.ASSISTANT]
        for row in replies:
            assert [made.number for made in calls_answered(stepwise, [row]).values()] == [replies.index(row) + 1]
        assert call_rows(stepwise, 0, 100) == (rows, total)
        assert total == len(replies) + 1


def test_the_first_calls_are_known_without_the_others() -> None:
    """A page of messages at the beginning reads no more of a long session than it needs."""
    with composed() as session:
        first = session.log.timeline.kind.index(Kind.ASSISTANT)
        assert [made.number for made in calls_answered(session, [first]).values()] == [1]
        assert call_index(session, first + 1).calls[1:] == []


def test_calls_without_answers_stay_as_they_were_when_later_ones_are_answered() -> None:
    """What was counted for the last of them is not counted for those before it."""
    stores = MemoryStores()
    with composed(2, stores=stores) as session:
        for words in ("More", "And more of it, with far more words than before"):
            session.user(words)
            session.compose(ROOM)
            waiting = call_rows(session, 4, 10)[0]
        session.reply("Yes.")
        rows, total = call_rows(session, 0, 100)
        assert rows[4] == waiting[0]
        assert call_rows(Session.inspect("s", stores=stores), 0, 100) == (rows, total)


def test_calls_that_come_later_are_added() -> None:
    """Also the reply of one that had none yet; numbers stay."""
    with composed(2) as session:
        assert call_rows(session, 0, 100)[1] == 4
        session.user("More")
        session.compose(ROOM)
        [waiting] = call_rows(session, 4, 10)[0]
        assert (waiting.number, waiting.reply, waiting.composed) == (5, None, True)
        session.reply("Yes.")
        [answered] = call_rows(session, 4, 10)[0]
        assert answered.reply is not None
        assert answered.tokens == waiting.tokens
        session.user("Again")
        session.reply("This was not composed.")
        last = call_rows(session, 5, 10)[0][-1]
        assert (last.number, last.composed, last.limit) == (6, False, None)
        with composed(2) as again:
            assert [row.tokens for row in call_rows(again, 0, 4)[0]] == [
                row.tokens for row in call_rows(session, 0, 4)[0]
            ]


def test_an_uncomposed_call_has_all_before_its_reply_after_the_last_compaction(imported: Session) -> None:
    """What the compaction covers is hidden from the next call on, and its summary is shown; usage as reported."""
    rows, total = call_rows(imported, 0, 100)
    assert total == 8
    assert not any(row.composed for row in rows)
    kinds = [set(row.tokens) - {"request"} for row in rows[:2]]
    assert kinds == [{"user"}, {"user", "assistant", "thinking", "call", "result"}]
    assert "summary" not in rows[3].tokens
    after = rows[4]
    assert after.tokens["summary"]["full"] > 0
    assert (after.tokens["user"]["full"], "full" in after.tokens["result"]) == (rows[0].tokens["user"]["full"], False)
    assert after.tokens["result"]["hidden"] == rows[3].tokens["result"]["full"]
    [mark] = after.marks
    assert (mark.kind, mark.count) == ("compaction", 8)
    assert [mark.kind for mark in rows[7].marks] == ["error"]
    assert (rows[0].cached, rows[0].cached_from, rows[1].cached_from) == (8000, "usage", "forecast")
    assert rows[0].relative_cost == 1000 + 8000 * 0.1
    assert usual_budget(imported) == usual_budget(imported, 3) == Budget(1_000_000, 8_000)
    assert call_payload(imported, 5).tokens == after.total


def test_undoing_a_compaction_shows_its_messages_again(imported: Session) -> None:
    """From the next call on."""
    imported.summaries.undo()
    imported.user("What now?")
    imported.reply("All is here.")
    *_, before, last = call_rows(imported, 0, 100)[0]
    assert "hidden" in before.tokens["result"]
    assert set(last.tokens["result"]) == {"full"}
    assert "summary" not in last.tokens
    assert [mark.reason for mark in last.marks if mark.kind == "compaction"] == ["undone"]


def test_a_branch_has_the_calls_of_its_parent_up_to_where_it_begins() -> None:
    """And those of its own; where it begins is marked on both."""
    with composed(3) as session:
        at = call_rows(session, 3, 1)[0][0].reply
        assert at is not None
        with session.fork(at, name="other") as branch:
            branch.user("Another way")
            branch.compose(ROOM)
            branch.reply("Good.")
            rows, total = call_rows(branch, 0, 100)
            assert total == 5
            assert [mark.reason for row in rows for mark in row.marks if mark.kind == "branch"] == ["other"]
            assert [row.tokens for row in rows[:4]] == [row.tokens for row in call_rows(session, 0, 4)[0]]
        assert call_rows(session, 0, 100)[1] == 6


def test_the_lines_of_a_call_are_its_payload() -> None:
    """In order, with the text as it was sent; all tokens are accounted for."""
    with composed() as session:
        for number in (1, 6, 12):
            found = CallContents(session, number)
            row = call_rows(session, number - 1, 1)[0][0]
            assert sum(line.framed for line in found.lines) == found.total == row.total
            assert found.payload.hash == call_at(session, number)[1].hash
            assert found.messages == len(found.payload.system) + len(found.payload.body)
        assert [line.kind for line in CallContents(session, 2).lines] == [
            "system", "tools", "user", "assistant", "call", "result",
        ]  # fmt: skip
        [result] = [line for line in CallContents(session, 2).lines if line.kind == "result"]
        assert (result.tool, result.subject) == ("read_file", "f0.py")
        assert CallContents(session, 2).text(result).startswith("line 0 of the file")
        with pytest.raises(UnknownCallNumber):
            CallContents(session, 13)


def test_the_lines_of_an_uncomposed_call_are_found_without_its_texts(
    imported: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is asked for is read, because its context may be long; they are those of the payload."""
    call_rows(imported, 0, 100)
    monkeypatch.setattr(Reader, "item", lambda *_: pytest.fail("a text was read"))
    found = CallContents(imported, 8)
    monkeypatch.undo()
    assert [line.id for line in found.lines if line.block and line.kind != "call"] == [
        message.id for message in found.payload.body
    ]
    assert [line.kind for line in found.lines if line.block][:2] == ["summary", "user"]
    assert sum(line.framed for line in found.lines) == found.total == found.payload.tokens


def test_two_calls_are_compared() -> None:
    """What was added, removed, shortened; the first changed block is that of the receipt."""
    with composed() as session:
        rows, _ = call_rows(session, 0, 100)
        swept = next(row for row in rows if row.marks)
        one, other = CallContents(session, swept.number - 1), CallContents(session, swept.number)
        found = compare(one, other)
        assert found.removed or found.changed
        assert compare(other, one).added == found.removed
        change = other.change_since(one, "openai")
        assert change is not None
        assert change.block == call_at(session, swept.number)[1].changed
        assert change.before != change.after
        assert change.kept_tokens + change.lost_tokens == min(
            one.total, other.total
        )  # no more is sent, so no more is paid again
        before, after = CallContents(session, 1), CallContents(session, 2)
        assert after.change_since(before, "openai") is None
        assert [line.kind for line in compare(before, after).added] == ["assistant", "call", "result"]


def test_a_compaction_of_the_agent_changes_the_prefix(imported: Session) -> None:
    """Of calls that were not composed too."""
    changes = [CallContents(imported, at).change_since(CallContents(imported, at - 1), "anthropic") for at in (4, 5, 6)]
    assert [change is not None for change in changes] == [False, True, False]
    assert changes[1] is not None
    assert (changes[1].block, changes[1].kind) == (1, "summary")


def test_an_uncomposed_call_can_be_tried_anew(imported: Session) -> None:
    """As the session was before its reply."""
    with session_before(imported, 3) as (before, budget):
        assert budget is None
        assert before.preview(Budget(100_000)).tokens < call_payload(imported, 8).tokens + 100_000
        assert [item.kind.name for item in before.items][-1] == "USER"


def test_the_tree_has_all_tokens_once(imported: Session) -> None:
    """By any groups the sum is the same; what was read again is named."""
    trees = [token_tree(imported, by) for by in (["kind"], ["tool", "file"], ["kind", "tool", "file", "level"])]
    assert len({tree.total for tree in trees}) == 1
    for tree in trees:
        assert sum(child.tokens for child in tree.root.children) <= tree.total
    kinds = {child.name: child for child in trees[0].root.children}
    assert {"thinking", "result", "summary"} <= set(kinds)
    rereads = trees[0].rereads
    assert [(file.name, file.times) for file in rereads.files] == [("a.py", 1)]
    assert rereads.tokens == trees[0].root.reread_tokens == rereads.files[0].tokens
    one = token_tree(imported, ["kind"], 2)
    assert one.total == call_rows(imported, 1, 1)[0][0].total
    assert one.rereads.results == 0


@pytest.mark.slow
def test_a_page_of_a_long_session_reads_only_its_replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work for a page does not grow with the session: entries are read for its calls only."""
    messages = []
    for number in range(2000):
        messages += [{"role": "user", "content": f"{number}"}, {"role": "assistant", "content": f"Answer {number}"}]
    with Session.new(tmp_path, session_id="long") as session:
        session.extend(messages)
        call_rows(session, 0, 1)
        read: list[int] = []
        real = Reader.entry
        monkeypatch.setattr(Reader, "entry", lambda self, row: read.append(row) or real(self, row))
        rows, total = call_rows(session, 1500, 100)
        assert (len(rows), total) == (100, 2000)
        assert len(read) <= 101


def test_one_call_reads_only_the_tools_that_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many calls of tools came after it."""
    with Session.new(tmp_path, session_id="tools") as session:
        for number in range(40):
            session.user(f"Question {number}")
            session.reply(calling(("read_file", {"path": f"{number}.py"})))
            session.tool_result(session.open_calls[0].id, "text")
        read: list[int] = []
        real = ToolCalls._read
        monkeypatch.setattr(ToolCalls, "_read", lambda self, rows: read.extend(rows) or real(self, rows))
        lines = CallContents(session, 4).lines
        assert [line.tool for line in lines if line.kind == "result"] == ["read_file"] * 3
        assert len(read) == 3
        token_tree(session)
        assert len(CallContents(session, 40).lines) > len(lines)
