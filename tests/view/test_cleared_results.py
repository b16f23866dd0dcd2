"""Results that an agent took out of its own prompts: by its log's words, or by what its provider counted."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from sightline import Budget, MemoryStores, Session, Settings
from sightline.imports.detection import conversations
from sightline.imports.importer import import_into
from sightline.imports.source import Source
from sightline.values.items import Role
from sightline.view.call_contents import CallContents
from sightline.view.call_details import call_details
from sightline.view.call_payloads import call_payload
from sightline.view.call_rows import call_rows
from sightline.view.call_values import CallRow
from sightline.view.cleared_results import Cleared
from sightline.view.model_calls import call_index
from sightline.view.token_tree import token_tree

HEAD = 15_000  # tokens of the agent's own prompt, which no log has
PAGE = "a line of a file that is read\n" * 250


def reading(calls: int, *, less: dict[int, int] | None = None, warm: bool = False, model: str = "m") -> Session:
    """A session that another program composed: each call reads a file. `less`: from which call on so many tokens are
    not counted by the provider. `warm`: all of the prompt before was in the provider's cache."""
    session = Session.new(stores=MemoryStores(), session_id="s", settings=Settings(profile="anthropic"))
    session.user("Read them all.")
    before = 0
    for number in range(1, calls + 1):
        add_call(session, number, less or {}, before if warm else HEAD, model)
        before = call_rows(session, number - 1, 1)[0][0].reported or 0
    return session


def add_call(session: Session, number: int, less: dict[int, int], cached: int, model: str = "m") -> None:
    said = sum(session.log.timeline.full) + 4 * len(session.log.timeline)
    missing = max((tokens for call, tokens in less.items() if number >= call), default=0)
    counted = HEAD + said - missing
    usage = {"input_tokens": counted - min(cached, counted), "cache_read_input_tokens": min(cached, counted)}
    read = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": f"f{number}.py"}}
    content = [{"type": "text", "text": "Next."}, read]
    reply = {"type": "message", "role": "assistant", "model": model, "content": content}
    session.reply(reply | {"usage": usage | {"output_tokens": 20}})
    session.tool_result(f"c{number}", f"{number}: {PAGE}")


def page_tokens(session: Session) -> int:
    return next(item.full for item in session.items.table() if item.kind.name == "RESULT")


def cover(session: Session) -> None:
    """Compact all but the last result."""
    items = [item.id for item in session.items.table()]
    session.summaries.cover(items[0], items[-4], "Files were read.", budget=Budget(100_000, 1_000))


def rows_of(session: Session) -> list[CallRow]:
    return call_rows(session, 0, 1000)[0]


def hidden(session: Session, number: int) -> list[str]:
    """What the lines of a call say of those that were not in it."""
    return [line.why for line in CallContents(session, number).lines if line.level == "hidden"]


def test_a_count_that_falls_names_the_oldest_results_as_not_there() -> None:
    size = page_tokens(reading(1))
    session = reading(12, less={9: 3 * size})
    rows = rows_of(session)
    assert [row.cleared for row in rows] == [0] * 8 + [3] * 4
    [mark] = rows[8].marks
    assert (mark.kind, mark.reason, mark.count, rows[8].reason) == ("cleared", "counted", 3, "cleared")
    assert abs(mark.tokens - 3 * size) < size / 4
    assert not any(row.marks for at, row in enumerate(rows) if at != 8)
    lines = [line for line in CallContents(session, 12).lines if line.kind == "result"]
    assert [line.level for line in lines] == ["hidden"] * 3 + ["full"] * 8
    assert hidden(session, 12) == ["cleared: counted"] * 3
    assert hidden(session, 8) == []


def test_all_views_of_such_a_call_leave_the_results_out() -> None:
    session = reading(12, less={9: 3 * page_tokens(reading(1))})
    for row in rows_of(session):
        details = call_details(session, row.number)
        assert (
            row.total == sum(line.framed for line in details.lines) == token_tree(session, ("kind",), row.number).total
        )
        assert row.reported is not None
        assert row.total < row.reported
        hidden_sizes = row.tokens.get("result", {}).get("hidden", 0)
        assert hidden_sizes == row.cleared_tokens


def test_the_prefix_is_said_to_change_where_the_first_result_went() -> None:
    session = reading(12, less={9: 3 * page_tokens(reading(1))})
    change = call_details(session, 9).change
    assert change is not None
    assert (change.kind, change.reason) == ("result", "cleared")
    assert "[cleared]" in change.after
    assert "a line of a file" in change.before
    assert call_details(session, 10).change is None
    results = [message for message in call_payload(session, 10).body if message.role is Role.TOOL]
    assert ["[cleared]" in str(message.parts) for message in results] == [True] * 3 + [False] * 6


def test_nothing_is_said_where_all_of_the_prompt_before_was_in_the_cache() -> None:
    less = {9: page_tokens(reading(1)) - 50}
    assert [row.cleared for row in rows_of(reading(9, less=less))][8] == 1
    assert not any(row.cleared or row.marks for row in rows_of(reading(9, less=less, warm=True)))


def test_what_the_results_do_not_explain_is_said_without_naming_any() -> None:
    session = reading(8, less={3: 11_000})
    rows = rows_of(session)
    [mark] = rows[2].marks
    assert (mark.kind, mark.reason, mark.count, mark.item) == ("cleared", "unexplained", 0, "")
    assert mark.tokens > 9_000
    assert not any(row.cleared for row in rows)


def test_a_prompt_of_another_kind_takes_nothing_out_of_the_next_ones() -> None:
    size = page_tokens(reading(1))
    session = reading(9, less={8: 3 * size})
    assert [row.cleared for row in rows_of(session)][7:] == [3, 3]
    session = reading(8, less={8: 3 * size})
    for number in (9, 10):
        add_call(session, number, {}, HEAD)
    assert [row.cleared for row in rows_of(session)] == [0] * 7 + [3, 0, 0]


def test_counts_that_go_up_and_down_all_the_time_name_nothing_after_a_few() -> None:
    session = reading(6)
    size = page_tokens(session)
    for number in range(7, 27):
        add_call(session, number, {number: 3 * size if number % 2 else 0}, HEAD)
    rows = rows_of(session)
    assert sum(row.cleared > 0 for row in rows) == 3
    assert not any(row.cleared for row in rows[13:])


@pytest.mark.parametrize("before", ["compaction", "another model"])
def test_calls_that_cannot_be_compared_are_not(before: str) -> None:
    session = reading(6)
    if before == "compaction":
        cover(session)
    add_call(session, 7, {7: 9_000}, HEAD, "n" if before == "another model" else "m")
    assert [mark.kind for mark in rows_of(session)[6].marks if mark.kind == "cleared"] == []


def test_a_compaction_ends_what_was_cleared_before() -> None:
    session = reading(12, less={9: 3 * page_tokens(reading(1))})
    cover(session)
    add_call(session, 13, {}, HEAD)
    last = rows_of(session)[-1]
    assert last.cleared == 0
    assert call_index(session).clearings.rows_at(13) == {}
    assert last.total == sum(line.framed for line in call_details(session, 13).lines)


# ------------------------------------------------------------------ what a log says itself


def claude_log(*lines: dict[str, Any]) -> bytes:
    parent, linked = None, list[bytes]()
    for number, line in enumerate(lines):
        uuid = f"u{number}"
        about = {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": "2026-11-01T10:00:00.000Z"}
        linked.append(json.dumps(about | line).encode())
        parent = uuid
    return b"\n".join(linked)


def asks(number: int, edits: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    block = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": f"f{number}.py"}}
    message = {"id": f"m{number}", "role": "assistant", "model": "m", "content": [block]}
    return {"type": "assistant", "message": message | {"context_management": {"applied_edits": [*edits]}}}


def answers(number: int) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number}: {PAGE}"}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def imported(*lines: dict[str, Any]) -> Session:
    stores = MemoryStores()
    data = claude_log({"type": "user", "message": {"role": "user", "content": "Read them."}}, *lines)
    [conversation] = conversations(Source("s.jsonl", data=data))
    key = import_into(stores, conversation).session
    assert import_into(stores, conversation).state == "unchanged"
    return Session.resume(key, stores=stores)


def pairs(*numbers: int) -> list[dict[str, Any]]:
    return [line for number in numbers for line in (asks(number), answers(number))]


def test_results_that_claude_code_names_as_cleared_are_not_there() -> None:
    facts = {"trigger": "auto", "compactedToolIds": ["c1", "c3", 7, "unknown"], "tokensSaved": 3000}
    boundary = {"type": "system", "subtype": "microcompact_boundary", "microcompactMetadata": facts}
    session = imported(*pairs(1, 2, 3), boundary, *pairs(4, 5))
    rows = rows_of(session)
    assert [row.cleared for row in rows] == [0, 0, 0, 2, 2]
    assert [(mark.kind, mark.reason, mark.count) for mark in rows[3].marks] == [("cleared", "logged", 2)]
    assert hidden(session, 5) == ["cleared: logged"] * 2
    assert [
        row.number for row in rows if row.total != sum(x.framed for x in call_details(session, row.number).lines)
    ] == []


def test_results_that_the_provider_says_it_took_out_are_not_there() -> None:
    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2, "cleared_input_tokens": 4000}
    thinking = {"type": "clear_thinking_20251015", "cleared_thinking_turns": 1, "cleared_input_tokens": 99}
    more = edit | {"cleared_tool_uses": 3}
    session = imported(
        *pairs(1, 2, 3), asks(4, [thinking, edit]), answers(4), asks(5, [edit]), answers(5), asks(6, [more, {}])
    )
    assert [row.cleared for row in rows_of(session)] == [0, 0, 0, 2, 2, 3]
    assert len([mark for mark in session.log.timeline.marks if mark.what == "cleared"]) == 3


def test_a_mark_of_a_log_asks_nothing_of_what_sightline_shows() -> None:
    facts = {"compactedToolIds": ["c1"]}
    boundary = {"type": "system", "subtype": "microcompact_boundary", "microcompactMetadata": facts}
    session = imported(*pairs(1, 2), boundary, *pairs(3))
    assert session.log.timeline.marked(session.log.path) == {}
    payload = session.preview(Budget(100_000, 1_000))
    assert all("is read" in str(message.parts) for message in payload.body if message.role is Role.TOOL)


def test_a_log_that_has_no_such_facts_has_nothing_cleared() -> None:
    lines = [{"type": "system", "subtype": "microcompact_boundary", "microcompactMetadata": facts} for facts in (
        {}, {"compactedToolIds": "c1"}, {"compactedToolIds": None})]  # fmt: skip
    session = imported(*pairs(1), *lines, asks(2, [{"cleared_tool_uses": "many"}]))
    assert [row.cleared for row in rows_of(session)] == [0, 0]
    assert call_index(session).clearings.sum_at(2) == Cleared()
