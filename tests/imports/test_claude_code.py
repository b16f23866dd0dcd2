"""Logs of Claude Code: which lines are the conversation, who wrote them, and that nothing is lost."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from sightline import Budget, MemoryStores, Session, Settings
from sightline.imports.detection import conversations
from sightline.imports.importer import Imported, import_into
from sightline.imports.originals import read_back
from sightline.imports.source import Source
from sightline.log.stores import Stores
from sightline.values.items import Kind, Usage, plain_text
from sightline.view.replay.formats import read_recording

Line = dict[str, Any]
LONG = "a long line of output that is stored once\n" * 10


def line(kind: str, uuid: str, parent: str | None, **more: Any) -> Line:
    return {
        "type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": False, "sessionId": "s1", "cwd": "/w",
        "gitBranch": "main", "version": "2.1.258", "timestamp": "2026-11-01T10:00:00.000Z", **more,
    }  # fmt: skip


def user(uuid: str, parent: str | None, content: Any, **more: Any) -> Line:
    return line("user", uuid, parent, message={"role": "user", "content": content}, **more)


def said(uuid: str, parent: str | None, block: Any, message: str = "", output: int = 5, **more: Any) -> Line:
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100}
    block = {"type": "text", "text": block} if isinstance(block, str) else block
    body = {
        "id": message or f"msg_{uuid}", "type": "message", "role": "assistant", "model": "claude-x",
        "content": [block], "usage": {**usage, "output_tokens": output},
    }  # fmt: skip
    return line("assistant", uuid, parent, message=body, requestId="r", **more)


def call(id_: str) -> Line:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": f"run {id_}"}}


def result(id_: str, text: str = "ok") -> list[Line]:
    return [{"type": "tool_result", "tool_use_id": id_, "content": text}]


def source(lines: list[Any]) -> Source:
    data = b"\n".join(each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines)
    return Source("s1.jsonl", data=data)


def imported(lines: list[Any], stores: Stores) -> Imported:
    [found] = conversations(source(lines))
    return import_into(stores, found, settings=Settings())


def texts(stores: Stores, session_id: str) -> list[tuple[str, str, bool]]:
    with Session.resume(session_id, stores=stores) as session:
        return [(item.kind.name, plain_text(item.parts), item.by_program) for item in session.items]


def spoken(lines: list[Any]) -> list[str]:
    return [plain_text(message.parts) for message in read_recording(source(lines)._data or b"").messages]


def given_back(stores: Stores, session_id: str) -> list[Any]:
    store = stores.open(session_id)
    store.refresh()
    return [json.loads(each) for each in read_back(store)]


PARALLEL = [
    user("u1", None, "fix it"),
    said("a1", "u1", "Running both.", "m1", output=1),
    said("a2", "a1", call("c1"), "m1", output=1),
    user("r1", "a2", result("c1", LONG), toolUseResult={"stdout": LONG}, sourceToolAssistantUUID="a2"),
    said("a3", "a2", call("c2"), "m1", output=60),
    user("r2", "a3", result("c2", "two")),
    said("a4", "r1", "Done."),
]


def test_parallel_calls_are_one_message_with_both_results() -> None:
    """The lines of one model call are one message, and a result on another branch of the tree belongs to its call."""
    stores = MemoryStores()
    done = imported(PARALLEL, stores)
    assert done.session == "claude-s1"
    assert [kind for kind, *_ in texts(stores, "claude-s1")] == [
        "USER", "ASSISTANT", "CALL", "CALL", "RESULT", "RESULT", "ASSISTANT",
    ]  # fmt: skip
    with Session.resume("claude-s1", stores=stores) as session:
        assert session.open_calls == []


def test_a_result_that_was_written_before_its_call_comes_after_it() -> None:
    """Lines of one message may follow its result in the file, also where its first line is empty."""
    empty = said("a1", "u1", "", "m1")
    empty["message"]["content"] = []
    lines = [user("u1", None, "fix it"), empty, user("r1", "a2", result("c1")), said("a2", "a1", call("c1"), "m1")]
    stores = MemoryStores()
    imported(lines, stores)
    assert [kind for kind, *_ in texts(stores, "claude-s1")] == ["USER", "ASSISTANT", "CALL", "RESULT"]


def test_usage_is_counted_once_for_each_model_call() -> None:
    """Each line of a message repeats its usage; the last one has the final count."""
    done = imported(PARALLEL, MemoryStores())
    assert done.usage == Usage(2 * 114, 60 + 5, 200, 20)


def test_of_a_rewound_log_the_newest_branch_is_the_conversation() -> None:
    """What was taken back is not said, and yet every line is kept."""
    lines = [
        user("u1", None, "fix it"),
        said("a1", "u1", "First way."),
        user("u2", "a1", "no"),
        said("a2", "u2", "Sorry."),
        user("u3", "a1", "yes, go on"),
        said("a3", "u3", "Second way."),
        {"type": "summary", "summary": "Fix", "leafUuid": "a3"},
    ]
    assert spoken(lines) == ["fix it", "First way.", "yes, go on", "Second way."]
    stores = MemoryStores()
    done = imported(lines, stores)
    assert done.types == {"user": 3, "assistant": 3, "summary": 1}
    assert given_back(stores, done.session) == lines


def test_a_side_chain_is_kept_and_not_said() -> None:
    """Unless it is the file of a subagent: then it is the conversation, with an id of its own."""
    side = {"isSidechain": True, "agentId": "7"}
    lines = [
        user("u1", None, "fix it"),
        user("x1", None, "look for tests", **side),
        said("x2", "x1", "Found.", **side),
        said("a1", "u1", "Done."),
        said("x3", "x2", "Still looking.", **side),
    ]
    assert spoken(lines) == ["fix it", "Done."]
    assert spoken(lines[1:3]) == ["look for tests", "Found."]
    assert imported(lines[1:3], MemoryStores()).session == "claude-s1-7"


@pytest.mark.parametrize(
    ("content", "more"),
    [
        ("<system-reminder>Be careful.</system-reminder>", {}),
        ("<local-command-stdout>ok</local-command-stdout>", {}),
        ("<ide_opened_file>The user opened a.py.</ide_opened_file>", {}),
        ("<bash-input>ls</bash-input>", {}),
        ("a skill's text", {"isMeta": True}),
    ],
)
def test_text_of_the_harness_is_not_the_user_s(content: str, more: Line) -> None:
    """It is said to the model and is nobody's own words."""
    stores = MemoryStores()
    imported([user("u1", None, "fix it"), user("u2", "u1", content, **more), said("a1", "u2", "Done.")], stores)
    shown = texts(stores, "claude-s1")
    assert shown[:2] == [("USER", "fix it", False), ("USER", content, True)]


def test_a_reminder_inside_a_message_is_taken_out_of_it() -> None:
    """What the user typed before and after it stays the user's; so it is with what an editor puts before it."""
    seen = "<ide_selection>line 1</ide_selection>"
    stores = MemoryStores()
    imported([user("u1", None, f"{seen} explain this"), said("a1", "u1", "Done.")], stores)
    assert [(text.strip(), program) for _, text, program in texts(stores, "claude-s1")[:2]] == [
        (seen, True), ("explain this", False),
    ]  # fmt: skip
    stores = MemoryStores()
    imported([user("u1", None, "fix it <system-reminder>x</system-reminder>"), said("a1", "u1", "Done.")], stores)
    assert [(text.strip(), program) for _, text, program in texts(stores, "claude-s1")[:2]] == [
        ("fix it", False), ("<system-reminder>x</system-reminder>", True),
    ]  # fmt: skip


def test_a_message_that_waited_is_the_user_s_and_other_attachments_are_not() -> None:
    """What was typed while the agent worked is in an attachment; so is what the harness adds."""
    stores = MemoryStores()
    lines = [
        user("u1", None, "fix it"),
        line("attachment", "t1", "u1", attachment={"type": "queued_command", "prompt": "and the docs"}),
        line("attachment", "t2", "t1", attachment={"type": "hook_success"}),
        line("attachment", "t3", "t2", attachment={"type": "date_change"}, rendered="It is Monday."),
        said("a1", "t3", "Done."),
    ]
    assert imported(lines, stores).types["attachment/hook_success"] == 1
    assert texts(stores, "claude-s1") == [
        ("USER", "fix it", False), ("USER", "and the docs", False), ("USER", "It is Monday.", True),
        ("ASSISTANT", "Done.", False),
    ]  # fmt: skip


COMPACTED = [
    user("u1", None, "fix it"),
    said("a1", "u1", "Working on it."),
    line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="a1", content="Conversation compacted",
         compactMetadata={"trigger": "manual", "preTokens": 167038, "postTokens": 900}),
    user("u2", "b1", "The user wants it fixed.", isCompactSummary=True, isVisibleInTranscriptOnly=True),
    user("u3", "u2", "go on"),
    said("a2", "u3", "Fixed."),
]  # fmt: skip


def test_a_compaction_covers_what_came_before_it() -> None:
    """The model sees the summary and what follows; the covered messages are in the log and can be shown again."""
    stores = MemoryStores()
    imported(COMPACTED, stores)
    with Session.resume("claude-s1", stores=stores) as session:
        [compaction] = session.summaries
        assert session.items.text(session.items.table()[0].id) == "fix it"
        payload = json.dumps(session.compose(Budget(8_000)).openai())
        assert "The user wants it fixed." in payload
        assert "Working on it." not in payload
        session.summaries.undo()
        assert "Working on it." in json.dumps(session.compose(Budget(8_000)).openai())
    assert compaction is not None


def test_a_replay_is_of_what_was_said_not_of_its_summary() -> None:
    """Sightline would have composed the messages themselves."""
    assert spoken(COMPACTED) == ["fix it", "Working on it.", "go on", "Fixed."]


def test_messages_that_a_compaction_left_alone_stay_shown() -> None:
    """The boundary names the first of them; what follows is linked to the last of them."""
    kept = {"headUuid": "u2", "anchorUuid": "s", "tailUuid": "a2"}
    lines = [
        user("u1", None, "fix it"),
        said("a1", "u1", "Working on it."),
        user("u2", "a1", "and the docs"),
        said("a2", "u2", "Both, then."),
        line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="a2",
             compactMetadata={"trigger": "auto", "preTokens": 9, "preservedSegment": kept}),
        user("s", "b1", "The user wants it fixed.", isCompactSummary=True),
        user("u3", "a2", "go on"),
        said("a3", "u3", "Fixed."),
    ]  # fmt: skip
    stores = MemoryStores()
    imported(lines, stores)
    with Session.resume("claude-s1", stores=stores) as session:
        payload = json.dumps(session.compose(Budget(8_000)).openai())
    assert "Both, then." in payload
    assert "Working on it." not in payload
    assert "The user wants it fixed." in payload


def test_every_line_is_given_back_and_no_long_text_is_stored_twice() -> None:
    """Unknown types, unreadable lines and copies of results included."""
    stores = MemoryStores()
    odd = [{"type": "tomorrow", "sessionId": "s1", "x": [1, None, {"y": "z"}]}, {"type": "mode", "sessionId": "s1"}]
    imported([*odd, *PARALLEL], stores)
    assert given_back(stores, "claude-s1") == [*odd, *PARALLEL]
    store = stores.open("claude-s1")
    store.refresh()
    assert sum(each.data.count(b"a long line of output") for each in store.scan()) == 10


def test_unreadable_lines_break_nothing() -> None:
    """NUL bytes before a line, a damaged line in the middle, and a last line that was cut off."""
    lines = [
        b"\x00\x00" + json.dumps(user("u1", None, "fix it")).encode(),
        said("a1", "u1", "Working."),
        b'{"type": "us',
    ]
    lines += [user("u2", "lost", "go on"), said("a2", "u2", "Done."), b'{"type": "assis']
    assert spoken(lines) == ["fix it", "Working.", "go on", "Done."]
    stores = MemoryStores()
    assert imported(lines, stores).types["unreadable"] == 2
    store = stores.open("claude-s1")
    store.refresh()
    assert [*read_back(store)][2] == b'{"type": "us\n'


def log_of(stores: Stores) -> list[bytes]:
    store = stores.open("claude-s1")
    store.refresh()
    return [each.data for each in store.scan()]


def test_importing_twice_changes_nothing() -> None:
    """Nor does importing an older copy."""
    stores = MemoryStores()
    imported(PARALLEL, stores)
    before = log_of(stores)
    assert imported(PARALLEL, stores).state == "unchanged"
    assert log_of(stores) == before
    assert stores.sessions() == ["claude-s1"]


def test_of_a_file_that_has_grown_only_what_is_new_is_added() -> None:
    """Also where a call was still open; a source that was changed is refused."""
    stores = MemoryStores()
    imported(PARALLEL[:3], stores)
    before = log_of(stores)
    done = imported(PARALLEL, stores)
    assert (done.state, done.added) == ("grown", 4)
    assert log_of(stores)[: len(before)] == before
    assert given_back(stores, "claude-s1") == PARALLEL
    with Session.resume("claude-s1", stores=stores) as session:
        assert session.open_calls == []
        assert [item.kind for item in session.items].count(Kind.RESULT) == 2
    with pytest.raises(Exception, match="lines have changed since"):
        imported([user("u1", None, "other words"), *PARALLEL[1:]], stores)


def test_a_line_that_was_being_written_is_read_again_when_it_is_complete() -> None:
    """Until then it is kept as it is, once."""
    stores = MemoryStores()
    half = json.dumps(PARALLEL[1]).encode()[:40]
    for state in ("new", "unchanged"):
        assert imported([PARALLEL[0], half], stores).state == state
        store = stores.open("claude-s1")
        store.refresh()
        assert [*read_back(store)][1:] == [half + b"\n"]
    assert imported(PARALLEL, stores).state == "grown"
    assert given_back(stores, "claude-s1") == PARALLEL
    assert imported(PARALLEL, stores).state == "unchanged"


def test_what_was_taken_back_since_stays_on_a_branch_of_its_own() -> None:
    """The current branch is the conversation as the file has it now."""
    stores = MemoryStores()
    lines = [user("u1", None, "fix it"), said("a1", "u1", "Ok."), user("u2", "a1", "no"), said("a2", "u2", "Sorry.")]
    imported(lines, stores)
    more = [*lines, user("u3", "a1", "yes"), said("a3", "u3", "Done.")]
    imported(more, stores)
    assert [text for _, text, _ in texts(stores, "claude-s1")] == ["fix it", "Ok.", "yes", "Done."]
    assert given_back(stores, "claude-s1") == more
    with Session.resume("claude-s1", stores=stores, branch="main") as session:
        assert [session.items.text(item.id) for item in session.items] == ["fix it", "Ok.", "no", "Sorry."]
    assert imported(more, stores).state == "unchanged"


@pytest.mark.slow
def test_a_long_log_is_never_in_memory_whole(tmp_path: Path) -> None:
    """However long the file is, a step has a few lines, and each is read and let go."""
    file = tmp_path / "s1.jsonl"
    with file.open("w") as out:
        parent = None
        for number in range(400):
            out.write(json.dumps(user(f"u{number}", parent, f"{number} " + "word " * 2_000)) + "\n")
            out.write(json.dumps(said(parent := f"a{number}", f"u{number}", "ok")) + "\n")
    [found] = conversations(file)
    tracemalloc.start()
    sizes = [sum(len(each.data) for each in step.lines) for step in found.steps()]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(sizes) > 4_000_000
    assert max(sizes) < 50_000
    assert peak < sum(sizes) / 2
