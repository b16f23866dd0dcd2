"""The ClawdCode document's session file: every line is its `JSONLEntry`, and what is written reads back equal."""

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType

from sightline.errors import BadInput
from sightline.origins.clawdcode import (
    CompactionOptions,
    ContextManager,
    ContextMessage,
    PersistentStore,
    get_session_file_path,
)
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import WordCounter

SUMMARY = "## Summary\n用户请求重构 utils.ts"


# The interface as the document has it: what has no default is required there.


class Usage(Struct):
    input_tokens: int
    output_tokens: int


class Message(Struct):
    role: Literal["user", "assistant", "system"]
    content: Any
    model: str | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET


class Tool(Struct):
    id: str
    name: str
    input: Any


class ToolResult(Struct):
    id: str
    output: Any
    error: str | UnsetType = UNSET


class CompactMetadata(Struct, rename="camel"):
    trigger: Literal["auto", "manual"]
    pre_tokens: int
    post_tokens: int | UnsetType = UNSET
    files_included: list[str] | UnsetType = UNSET


class JSONLEntry(Struct, rename="camel"):
    uuid: str
    parent_uuid: str | None
    session_id: str
    timestamp: datetime
    type: Literal["user", "assistant", "tool_use", "tool_result", "system"]
    cwd: str
    version: str
    message: Message
    subtype: Literal["compact_boundary"] | UnsetType = UNSET
    git_branch: str | UnsetType = UNSET
    tool: Tool | UnsetType = UNSET
    tool_result: ToolResult | UnsetType = UNSET
    is_compact_summary: bool | UnsetType = UNSET
    compact_metadata: CompactMetadata | UnsetType = UNSET


def lines_of(path: Path) -> list[JSONLEntry]:
    """Every line of a file, each read as the document's interface. Raises for a line that is none."""
    return [msgspec.json.decode(line, type=JSONLEntry) for line in path.read_bytes().splitlines()]


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)  # lone surrogates too
NUMBER = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NOTES = st.dictionaries(
    st.sampled_from(["source", "isCompactSummary", "error", "model", "tool_calls"]), JSON, max_size=3
)
CALL = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["a", "b"]),
        "function": st.fixed_dictionaries(
            {
                "name": st.sampled_from(["Read", "Edit"]),
                "arguments": st.sampled_from(['{"file_path": "a.ts"}', '{"file_path":"a.ts"}', "{", "null", ""]),
            }
        ),
    },
    optional={"type": st.just("function"), "index": st.integers(0, 3)},
)
ANSWERS = {"tool_call_id": st.sampled_from(["a", "b", "m0", "m1"]), "error": ANY_TEXT, "name": st.just("Read")}
CALLS = st.fixed_dictionaries({"tool_calls": st.lists(CALL, max_size=3)})
MESSAGE = st.one_of(
    st.tuples(st.sampled_from(["user", "system"]), ANY_TEXT, st.none() | NOTES),
    st.tuples(st.just("assistant"), ANY_TEXT, st.none() | CALLS),
    st.tuples(st.just("tool"), ANY_TEXT, st.none() | st.fixed_dictionaries({}, optional=ANSWERS)),
)


@pytest.mark.slow
@pytest.mark.accepts(148, 237, 238)
@given(given_=st.lists(MESSAGE, max_size=8))
def test_what_is_written_reads_back_equal(tmp_path_factory: pytest.TempPathFactory, given_: list[Any]) -> None:
    """Any role, text and metadata, calls and results in any order: equal from disk, in lines of the interface.

    Tool messages are `tool_result` lines, whether their call is there or not, or was answered before (C-002-9).
    """
    folder = tmp_path_factory.mktemp("project")
    messages = [
        ContextMessage(f"m{number}", role, content, 1_705_312_800_000 + number, metadata)
        for number, (role, content, metadata) in enumerate(given_)
    ]
    store = PersistentStore(folder, root=folder / "root", token_counter=WordCounter())
    kept = []
    for message in messages:
        try:
            store.save_message("s", message)
            kept.append(message)
        except BadInput:  # metadata that is no JSON, such as an error text that is no valid Unicode
            pass
    if not kept:
        return
    assert store.load_conversation("s") == kept
    store.close()
    again = PersistentStore(folder, root=folder / "root", token_counter=WordCounter())
    assert again.load_conversation("s") == kept
    again.close()
    lines = lines_of(get_session_file_path(folder, "s", folder / "root"))
    assert [line.uuid for line in lines] == [message.id for message in kept]
    assert [line.parent_uuid for line in lines] == [None, *(message.id for message in kept[:-1])]
    tools = [line.type == "tool_result" for line in lines]
    assert tools == [message.role == "tool" for message in kept]
    for line, message in zip(lines, kept, strict=True):
        if message.role == "tool":
            assert line.tool_result is not UNSET
            assert line.tool_result.id == (message.metadata or {}).get("tool_call_id", message.id)


@pytest.mark.parametrize("metadata", [{"a": float("nan")}, {"a": (1, 2)}, {1: "a"}, {"a": {1, 2}}, {"a": "\ud800"}])
def test_metadata_that_would_read_back_otherwise_is_refused(project: Path, metadata: dict[str, Any]) -> None:
    """What JSON has no place for: at once, by the store and by the manager, and nothing is written."""
    manager = ContextManager(project_path=project)
    manager.create_session()
    with pytest.raises(BadInput, match="JSON"):
        manager.add_message("user", "hello", metadata)
    with pytest.raises(BadInput, match="JSON"):
        manager.persistent.save_message("s", ContextMessage("m", "user", "hello", 1, metadata))
    manager.close()
    assert manager.get_messages() == []


@pytest.mark.accepts(238)
def test_every_line_of_a_whole_session_is_the_documents_entry(project: Path) -> None:
    """Messages, calls, an orphan, a second result, a compaction: no line of another subtype, none without a field.

    What the interface has no place for, the user and preferences, is in a file beside it (C-002-8).
    """
    manager = ContextManager(
        project_path=project, token_counter=WordCounter(), compaction=CompactionOptions(summarizer=lambda _: SUMMARY)
    )
    session_id = manager.create_session("user-1", {"theme": "dark"})
    call = {"id": "tool_001", "type": "function", "function": {"name": "Read", "arguments": "null"}}
    manager.add_message("system", "be brief")
    manager.add_message("user", "帮我重构 utils.ts 文件")
    manager.add_message("assistant", "", {"tool_calls": [call]})
    manager.add_message("tool", "", {"tool_call_id": "tool_001"})
    manager.add_message("tool", "again", {"tool_call_id": "tool_001"})
    manager.add_message("tool", "lost", {"tool_call_id": "tool_000", "error": "ENOENT"})
    manager.add_message("user", "")
    manager.compress_current_context("manual")
    manager.add_message("user", "继续")
    manager.flush()
    held = manager.get_context()
    assert held is not None
    assert manager.persistent.load_conversation(session_id) == held.layers.conversation.messages
    manager.close()
    lines = lines_of(get_session_file_path(project, session_id))
    assert [line.type for line in lines] == [
        "system", "user", "tool_use", "tool_result", "tool_result", "tool_result", "user", "system", "user", "user",
    ]  # fmt: skip
    assert [line.subtype for line in lines].count("compact_boundary") == 1
    failed = lines[5].tool_result
    assert failed is not UNSET
    assert (failed.output, failed.error) == ("lost", "ENOENT")


def test_an_orphan_result_is_shown_to_a_model_with_a_label(project: Path, home: Path) -> None:
    """A core session over the same file: never a result without its call, and the budget holds with the label."""
    manager = ContextManager(project_path=project)
    session_id = manager.create_session()
    manager.add_message("user", "look")
    for number in range(40):
        manager.add_message("tool", f"value {number}", {"tool_call_id": f"lost-{number}"})
    manager.close()
    with Session.resume(session_id, project, root=home / ".clawdcode") as session:
        assert all(item.by_program for item in session.items.table() if item.id != "1")
        session.user("go on")
        payload = session.compose(Budget(window=600))
        messages = payload.openai()["messages"]
        whole = session.compose(Budget(window=20_000))
    assert payload.tokens <= 600
    assert {message["role"] for message in messages} == {"user"}
    assert "[result of a call that is not in this conversation: lost-39]" in str(messages)
    assert whole.tokens >= sum(line.tokens for line in whole.plan.lines())
