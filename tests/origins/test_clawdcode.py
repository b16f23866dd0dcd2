"""The ClawdCode document: messages, stores, files, paths and counting."""

import asyncio
import fcntl
import json
import logging
import os
import re
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sightline
from sightline.errors import BadInput, BadSessionId, SessionNotFound, Unwritable
from sightline.log import entries as log
from sightline.log.stores.disk import OsFile
from sightline.origins.clawdcode import (
    CacheStore,
    CompactMetadata,
    ContextData,
    ContextLayer,
    ContextManager,
    ContextManagerOptions,
    ContextMessage,
    ContextMetadata,
    ConversationContext,
    FilterOptions,
    JSONLEntry,
    JSONLStore,
    MemoryStore,
    NoContext,
    NoSession,
    PersistentStore,
    SessionContext,
    StorageOptions,
    SystemContext,
    TokenCounter,
    ToolCallRecord,
    ToolContext,
    WorkspaceContext,
    escape_project_path,
    get_project_storage_path,
    get_session_file_path,
)
from sightline.session.session import Session
from sightline.testing import Ticking, WordCounter, numbered_ids
from sightline.values.clock import iso, milliseconds

NANOID = re.compile(r"[A-Za-z0-9_-]{21}")

Manage = Callable[..., ContextManager]


@pytest.fixture
def manage(project: Path) -> Iterator[Manage]:
    """Makes managers of the project, and closes them."""
    made: list[ContextManager] = []

    def make(options: Any = None, **others: Any) -> ContextManager:
        made.append(ContextManager(options, **{"project_path": project, "token_counter": WordCounter(), **others}))
        return made[-1]

    yield make
    for manager in made:
        manager.close()


def session_file(manager: ContextManager, project: Path) -> Path:
    assert manager.current_session_id is not None
    return get_session_file_path(project, manager.current_session_id)


def spoken(path: Path) -> list[dict[str, Any]]:
    """The conversation entries of a file as plain JSON: what the document has lines for."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if not (line["type"] == "system" and line.get("subtype"))]


def message(number: int, content: str = "") -> ContextMessage:
    return ContextMessage(f"m{number}", "user", content or f"message {number}", number)


def context(clock: Callable[[], int] = lambda: 0) -> ContextData:
    return ContextData(
        ContextLayer(
            SystemContext("", "", "", ""),
            SessionContext("s", {}, clock()),
            ConversationContext([], [], clock()),
            ToolContext([], {}, {}),
            WorkspaceContext("/"),
        ),
        ContextMetadata(0, 1, clock()),
    )


def entry(number: int, content: str = "hello", **fields: Any) -> JSONLEntry:
    plain = {
        "uuid": f"msg_{number:03}", "parentUuid": None, "sessionId": "abc123", "timestamp": "2024-01-15T10:00:00Z",
        "type": "user", "cwd": "/p", "version": "0.1.0", "message": {"role": "user", "content": content}, **fields,
    }  # fmt: skip
    return msgspec.json.decode(msgspec.json.encode(plain), type=JSONLEntry)


def said(entry: JSONLEntry) -> Any:
    assert entry.message is not None
    return msgspec.json.decode(entry.message.content)


# ------------------------------------------------------------------ layers and types (§8.2, §8.3)


@pytest.mark.accepts(141)
def test_three_stores_with_duties_of_their_own(manage: Manage, project: Path) -> None:
    """Memory holds the current session and dies, the files bring it back, the cache lets go by age and by use."""
    manager = manage()
    session_id = manager.create_session()
    manager.add_message("user", "帮我重构 utils.ts 文件")
    manager.add_message("assistant", "好的")
    manager.cache.set("Read:src/utils.ts", "export function add")
    manager.flush()
    assert isinstance(manager.memory, MemoryStore)
    assert isinstance(manager.persistent, PersistentStore)
    assert isinstance(manager.cache, CacheStore)

    after_a_restart = manage()
    assert after_a_restart.get_context() is None
    assert after_a_restart.cache.get("Read:src/utils.ts") is None
    assert after_a_restart.persistent.list_sessions() == [session_id]
    read = after_a_restart.persistent.load_conversation(session_id)
    held = manager.get_context()
    assert held is not None
    assert read == held.layers.conversation.messages
    with pytest.raises(SessionNotFound):
        after_a_restart.persistent.load_conversation("nobody")


@pytest.mark.accepts(144)
def test_a_message_has_the_documents_fields() -> None:
    """Id, role, content, timestamp in milliseconds, and metadata only where there is some."""
    plain = {"id": "m1", "role": "user", "content": "hello", "timestamp": 1_705_312_800_000}
    assert msgspec.to_builtins(ContextMessage(**plain)) == plain
    assert msgspec.to_builtins(ContextMessage(**plain, metadata={"a": 1})) == {**plain, "metadata": {"a": 1}}
    for role in ("user", "assistant", "system", "tool"):
        assert msgspec.convert({**plain, "role": role}, ContextMessage).role == role
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**plain, "role": "developer"}, ContextMessage)


@pytest.mark.accepts(145)
def test_a_tool_call_record_has_the_documents_fields() -> None:
    """Id, name, input, timestamp and a status of three; output and error only where there are any."""
    plain = {"id": "t1", "name": "Read", "input": {"file_path": "a"}, "timestamp": 5, "status": "pending"}
    assert msgspec.to_builtins(ToolCallRecord(**plain)) == plain
    done = {**plain, "status": "success", "output": "text"}
    assert msgspec.to_builtins(msgspec.convert(done, ToolCallRecord)) == done
    failed = {**plain, "status": "error", "error": "not found"}
    assert msgspec.to_builtins(msgspec.convert(failed, ToolCallRecord)) == failed
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**plain, "status": "done"}, ToolCallRecord)


@pytest.mark.accepts(146, 147)
def test_a_context_has_five_layers_and_metadata() -> None:
    """Layers system, session, conversation, tool, workspace; totalTokens, priority, lastUpdated, a score if known."""
    data = context()
    plain = msgspec.to_builtins(data)
    assert set(plain) == {"layers", "metadata"}
    assert list(plain["layers"]) == ["system", "session", "conversation", "tool", "workspace"]
    assert plain["metadata"] == {"totalTokens": 0, "priority": 1, "lastUpdated": 0}
    data.metadata.relevance_score = 0.5
    assert msgspec.to_builtins(data)["metadata"]["relevanceScore"] == 0.5


@pytest.mark.accepts(148)
def test_an_entry_has_the_documents_fields() -> None:
    """Every field of the interface, all optional ones given, is read under its name and written back as it was."""
    whole = {
        "uuid": "u1", "parentUuid": "u0", "sessionId": "abc123", "timestamp": "2024-01-15T10:00:00Z", "type": "system",
        "subtype": "compact_boundary", "cwd": "/Users/foo/myproject", "gitBranch": "main", "version": "0.1.0",
        "message": {
            "role": "system", "content": "=== 上下文压缩边界 ===", "model": "gpt-4",
            "usage": {"input_tokens": 3, "output_tokens": 4},
        },
        "tool": {"id": "t1", "name": "Read", "input": {"file_path": "a"}},
        "toolResult": {"id": "t1", "output": "text", "error": "failed"},
        "isCompactSummary": True,
        "compactMetadata": {"trigger": "auto", "preTokens": 50000, "postTokens": 8000, "filesIncluded": ["src/a.ts"]},
    }  # fmt: skip
    read = msgspec.json.decode(msgspec.json.encode(whole), type=JSONLEntry)
    assert json.loads(msgspec.json.encode(read)) == whole
    assert read.parent_uuid == "u0"
    assert read.compact_metadata == CompactMetadata("auto", 50000, 8000, ["src/a.ts"])
    first = json.loads(msgspec.json.encode(entry(1)))
    assert first["parentUuid"] is None
    assert set(first) == {"uuid", "parentUuid", "sessionId", "timestamp", "type", "cwd", "version", "message"}


@pytest.mark.accepts(148, 151, 152)
def test_saved_messages_are_such_entries(manage: Manage, project: Path) -> None:
    """User, assistant, tool_use, tool_result and system lines, each with everything the interface requires."""
    (project / ".git").mkdir()
    (project / ".git" / "HEAD").write_text("ref: refs/heads/feature/cart\n", encoding="utf-8")
    manager = manage(clock=Ticking())
    session_id = manager.create_session()
    calls = [{"id": "tool_001", "type": "function", "function": {"name": "Read", "arguments": '{"file_path":"a.ts"}'}}]
    manager.add_message("system", "be brief")
    manager.add_message("user", "hello", {"source": "cli"})
    manager.add_message("assistant", "", {"tool_calls": calls})
    manager.add_message("tool", "export", {"tool_call_id": "tool_001"})
    manager.add_message("assistant", "done")
    manager.flush()
    lines = spoken(session_file(manager, project))
    assert [line["type"] for line in lines] == ["system", "user", "tool_use", "tool_result", "assistant"]
    assert [line["message"]["role"] for line in lines] == ["system", "user", "assistant", "user", "assistant"]
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    for line in lines:
        assert line["sessionId"] == session_id
        assert line["cwd"] == str(project)
        assert line["gitBranch"] == "feature/cart"
        assert line["version"] == sightline.__version__
        assert datetime.fromisoformat(line["timestamp"]).tzinfo is not None
    assert lines[2]["tool"] == {"id": "tool_001", "name": "Read", "input": {"file_path": "a.ts"}}
    assert lines[3]["toolResult"] == {"id": "tool_001", "output": "export"}
    held = manager.get_context()
    assert held is not None
    assert manager.persistent.load_conversation(session_id) == held.layers.conversation.messages


@pytest.mark.accepts(152)
def test_outside_a_repository_there_is_no_branch(manage: Manage, project: Path) -> None:
    """gitBranch is absent, not empty."""
    manager = manage()
    manager.create_session()
    manager.add_message("user", "hello")
    manager.flush()
    [line] = spoken(session_file(manager, project))
    assert "gitBranch" not in line


@pytest.mark.accepts(149)
def test_ids_are_unique_url_safe_and_21_characters(manage: Manage, project: Path) -> None:
    """Those of sessions, of messages, and so of the lines they are saved in."""
    manager = manage()
    sessions = [manager.create_session() for _ in range(3)]
    for number in range(20):
        manager.add_message("user", str(number))
    manager.flush()
    held = manager.get_context()
    assert held is not None
    messages = [each.id for each in held.layers.conversation.messages]
    assert all(NANOID.fullmatch(each) for each in sessions + messages)
    assert len(set(sessions + messages)) == 23
    assert [line["uuid"] for line in spoken(session_file(manager, project))] == messages


@pytest.mark.accepts(150, 184)
def test_a_line_is_one_readable_json_object(manage: Manage, project: Path) -> None:
    """UTF-8 with newline at the end, whatever line breaks the content has; Chinese and emoji stand as they are."""
    manager = manage()
    manager.create_session()
    manager.add_message("user", "第一行\n第二行\r\n\u2028三 😀")
    manager.add_message("user", "second")
    manager.flush()
    raw = session_file(manager, project).read_bytes()
    assert raw.endswith(b"\n")
    lines = raw.decode("utf-8").split("\n")[:-1]
    assert all(isinstance(json.loads(line), dict) for line in lines)
    assert sum("第一行\\n第二行\\r\\n" in line and "😀" in line for line in lines) == 1
    assert b"\\u4e00" not in raw
    assert not re.search(rb"[\x00-\x09\x0b-\x1f]", raw)


@pytest.mark.accepts(153)
@given(moment=st.integers(0, 4_102_444_800_000))
def test_times_survive_the_conversion(moment: int) -> None:
    """Milliseconds to ISO 8601 and back lose nothing, and Python reads the text as the same moment."""
    assert milliseconds(iso(moment)) == moment
    assert iso(moment) == datetime.fromisoformat(iso(moment)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.accepts(153)
def test_a_message_keeps_its_time_on_disk(manage: Manage, project: Path) -> None:
    """The line says in ISO 8601 what the message says in milliseconds."""
    manager = manage(clock=Ticking(1_705_312_800_122, step=1))
    session_id = manager.create_session()
    manager.add_message("user", "hello")
    manager.flush()
    held = manager.get_context()
    assert held is not None
    [kept] = held.layers.conversation.messages
    assert spoken(session_file(manager, project))[0]["timestamp"] == iso(kept.timestamp)
    assert manager.persistent.load_conversation(session_id) == [kept]
    assert kept.timestamp == 1_705_312_800_124  # the second moment: session, message


# ------------------------------------------------------------------ ContextManager (§8.4)


@pytest.mark.accepts(154, 155, 156)
def test_the_defaults_are_the_documents(home: Path) -> None:
    """Storage, filter and threshold, under the document's names."""
    manager = ContextManager()
    assert msgspec.to_builtins(manager.options) == {
        "storage": {
            "maxMemorySize": 1000,
            "persistentPath": str(home / ".clawdcode"),
            "cacheSize": 100,
            "compressionEnabled": True,
        },
        "defaultFilter": {"maxTokens": 32000, "maxMessages": 50, "timeWindow": 86_400_000},
        "compressionThreshold": 6000,
        "maxContextTokens": 128_000,
        "retainPercent": 0.2,
    }  # fmt: skip
    assert manager.options.threshold_tokens == 6000
    assert manager.memory.max_size == 1000
    manager.close()


@pytest.mark.accepts(156, 154)
def test_partial_options_are_merged_field_by_field(manage: Manage, tmp_path: Path) -> None:
    """What is given overrides, what is left out keeps its default, inside the groups too; typos are refused."""
    root = str(tmp_path / "elsewhere")
    storage = {"maxMemorySize": 5, "persistentPath": root}
    manager = manage({"storage": storage, "defaultFilter": {"maxTokens": 100}, "compressionThreshold": 9})
    assert manager.options == ContextManagerOptions(
        StorageOptions(max_memory_size=5, persistent_path=root), FilterOptions(max_tokens=100), 9
    )
    assert manager.options.threshold_tokens == 9
    assert manager.memory.max_size == 5
    session_id = manager.create_session()
    assert [path.stem for path in Path(root).rglob("*.jsonl")] == [session_id]
    with pytest.raises(BadInput, match="cachesize"):
        ContextManager({"storage": {"cachesize": 5}})


@pytest.mark.accepts(157)
@pytest.mark.parametrize(("threshold", "tokens"), [(0.8, 102_400), (1, 128_000), (0.5, 64_000), (1.5, 1), (2, 2)])
def test_a_threshold_up_to_one_is_a_share(threshold: float, tokens: int) -> None:
    """Of maxContextTokens; beyond one it is tokens."""
    assert ContextManagerOptions(compression_threshold=threshold).threshold_tokens == tokens
    assert ContextManagerOptions(compression_threshold=0.5, max_context_tokens=1000).threshold_tokens == 500


@pytest.mark.accepts(158)
def test_the_cache_keeps_five_minutes_and_the_list_a_hundred_sessions(manage: Manage, project: Path) -> None:
    """A value lives 300 000 ms; of 101 sessions the newest 100 are listed, and every file is kept."""
    now = [0]
    manager = manage(clock=lambda: now[0])
    manager.cache.set("key", "value")
    now[0] = 299_999
    assert manager.cache.get("key") == "value"
    now[0] = 300_000
    assert manager.cache.get("key") is None
    sessions = []
    for number in range(101):
        sessions.append(manager.create_session())
        os.utime(session_file(manager, project), (number, number))
    assert manager.persistent.list_sessions() == sessions[:0:-1]
    assert len(list(get_project_storage_path(project).glob("*.jsonl"))) == 101


@pytest.mark.accepts(159, 160, 161)
def test_a_new_session_is_current_and_whole(manage: Manage, project: Path) -> None:
    """Its id is new, its layers are those of the document, and it is in memory and on disk when the call returns."""
    manager = manage(clock=lambda: 1_705_312_800_000)
    first = manager.create_session()
    session_id = manager.create_session("user-1", {"theme": "dark"})
    assert session_id != first
    assert manager.current_session_id == session_id
    plain = msgspec.to_builtins(manager.get_context())
    now = 1_705_312_800_000
    assert plain["layers"]["session"] == {
        "sessionId": session_id, "userId": "user-1", "preferences": {"theme": "dark"}, "startTime": now,
    }  # fmt: skip
    assert plain["layers"]["conversation"] == {"messages": [], "topics": [], "lastActivity": now}
    assert plain["layers"]["tool"] == {"recentCalls": [], "toolStates": {}, "dependencies": {}}
    assert plain["layers"]["system"]["cwd"] == plain["layers"]["workspace"]["projectPath"] == str(project)
    assert plain["metadata"] == {"totalTokens": 0, "priority": 1, "lastUpdated": now}
    file = session_file(manager, project)
    assert file.read_bytes() == b""  # the document's entries have no place for a session's user and preferences
    assert json.loads(file.with_suffix(".session").read_text(encoding="utf-8")) == plain["layers"]["session"]
    assert PersistentStore(project).load_session(session_id) == SessionContext(
        session_id, {"theme": "dark"}, now, "user-1"
    )


@pytest.mark.accepts(159)
def test_user_and_preferences_may_be_left_out(manage: Manage) -> None:
    """Without them a session has no user and no preferences."""
    manager = manage()
    session_id = manager.create_session()
    held = manager.get_context()
    assert held is not None
    assert held.layers.session == SessionContext(session_id, {}, held.layers.session.start_time, None)


@pytest.mark.accepts(162)
def test_a_message_needs_a_session(manage: Manage) -> None:
    """Without one the error says 没有活动会话."""
    with pytest.raises(NoSession, match=r"^没有活动会话$"):
        manage().add_message("user", "hello")


@pytest.mark.accepts(163)
def test_add_message_makes_the_message(manage: Manage) -> None:
    """With a new id, the time it is, and the role, content and metadata given; it is in memory at once."""
    manager = manage(clock=Ticking(0, step=7), ids=numbered_ids())
    manager.create_session()
    assert manager.add_message("user", "hello", {"source": "cli"}) is None
    manager.add_message("assistant", "hi")
    held = manager.get_context()
    assert held is not None
    first, second = held.layers.conversation.messages
    assert (first.role, first.content, first.metadata) == ("user", "hello", {"source": "cli"})
    assert (second.role, second.content, second.metadata) == ("assistant", "hi", None)
    assert first.id != second.id
    assert 0 < first.timestamp < second.timestamp
    with pytest.raises(BadInput, match="developer"):
        manager.add_message("developer", "hello")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="JSON"):
        manager.add_message("user", "hello", {"what": object()})
    assert len(held.layers.conversation.messages) == 2


def test_total_tokens_follow_the_messages(manage: Manage) -> None:
    """They grow with every message and shrink when memory lets messages go: always the tokens of what is held."""
    manager = manage({"storage": {"maxMemorySize": 5}})
    manager.create_session()
    for number in range(12):
        manager.add_message("user", "word " * number)
        held = manager.get_context()
        assert held is not None
        messages = held.layers.conversation.messages
        assert held.metadata.total_tokens == sum(4 + 1 + len(each.content.split()) for each in messages)


@contextmanager
def held_by_another(path: Path) -> Iterator[None]:
    """Somebody else has the file: whoever writes must wait."""
    fd = os.open(path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(fd)


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """No file may grow beyond what this one has: the system refuses every further byte."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.accepts(166, 167)
def test_add_message_does_not_wait_for_the_disk(manage: Manage, project: Path) -> None:
    """While the file cannot be written the calls return; flush then waits until it has everything, in order."""
    manager = manage()
    manager.create_session()
    path = session_file(manager, project)
    with held_by_another(path):
        for number in range(30):
            manager.add_message("user", f"message {number}")
        assert spoken(path) == []
        held = manager.get_context()
        assert held is not None
        assert len(held.layers.conversation.messages) == 30
    manager.flush()
    assert [line["message"]["content"] for line in spoken(path)] == [f"message {number}" for number in range(30)]


@pytest.mark.accepts(166, 167)
def test_a_disk_error_breaks_no_call_and_loses_no_message(
    manage: Manage, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Messages wait while the disk is full, flush says so, and once there is room all are saved, once, in order."""
    manager = manage()
    session_id = manager.create_session()
    manager.add_message("user", "before")
    manager.flush()
    with full_disk(session_file(manager, project)), caplog.at_level(logging.WARNING, "sightline"):
        manager.add_message("user", "during 1")
        manager.add_message("assistant", "during 2")
        with pytest.raises(Unwritable):
            manager.flush()
    assert "not saved yet" in caplog.text
    manager.add_message("user", "after")
    manager.flush()
    read = manager.persistent.load_conversation(session_id)
    assert [each.content for each in read] == ["before", "during 1", "during 2", "after"]


@pytest.mark.accepts(167)
def test_closing_saves_what_waits(manage: Manage, project: Path) -> None:
    """What was added to several sessions is in their files, each in its own order, when close returns."""
    manager = manage()
    sessions = [manager.create_session()]
    for number in range(10):
        manager.add_message("user", f"one {number}")
    sessions.append(manager.create_session())
    for number in range(10):
        manager.add_message("user", f"two {number}")
    manager.close()
    store = PersistentStore(project)
    for session_id, word in zip(sessions, ("one", "two"), strict=True):
        assert [each.content for each in store.load_conversation(session_id)] == [f"{word} {n}" for n in range(10)]


def test_a_saved_session_is_a_core_session(manage: Manage, project: Path, home: Path) -> None:
    """The same file resumes as a Session: one log, two names for it."""
    manager = manage()
    session_id = manager.create_session()
    manager.add_message("system", "be brief")
    manager.add_message("user", "hello")
    manager.close()
    with Session.resume(session_id, project, root=home / ".clawdcode") as session:
        assert [session.items.text(item.id) for item in session.items] == ["be brief", "hello"]


# ------------------------------------------------------------------ MemoryStore (§8.5)


@pytest.mark.accepts(169)
def test_memory_holds_a_thousand_messages_by_default() -> None:
    """Without an argument the maximum is 1000."""
    assert MemoryStore().max_size == 1000


@pytest.mark.accepts(170)
def test_memory_needs_a_context() -> None:
    """A message before any context raises 上下文数据未初始化."""
    with pytest.raises(NoContext, match=r"^上下文数据未初始化$"):
        MemoryStore().add_message(message(1))


@pytest.mark.accepts(171)
def test_adding_updates_the_times() -> None:
    """The message is last, and lastActivity and lastUpdated are the time it was added."""
    now = [10]
    store = MemoryStore(clock=lambda: now[0])
    store.set_context(context())
    store.add_message(message(1))
    now[0] = 20
    store.add_message(message(2))
    held = store.get_context()
    assert held is not None
    assert held.layers.conversation.messages == [message(1), message(2)]
    assert held.layers.conversation.last_activity == held.metadata.last_updated == 20


def remaining(max_size: int, count: int) -> list[int]:
    """Which of so many messages are left, and that there never were more than allowed."""
    store = MemoryStore(max_size, token_counter=WordCounter())
    store.set_context(context())
    held = store.get_context()
    assert held is not None
    for number in range(count):
        store.add_message(message(number))
        assert len(held.layers.conversation.messages) <= max_size
    return [each.timestamp for each in held.layers.conversation.messages]


@pytest.mark.accepts(172, 174)
def test_the_1001st_message_leaves_800() -> None:
    """Exactly 1000 messages all stay; one more leaves the newest 800, the 202nd being the oldest."""
    assert remaining(1000, 1000) == list(range(1000))
    left = remaining(1000, 1001)
    assert len(left) == 800
    assert left[0] == 201  # counted from 0: the 202nd
    assert left == list(range(201, 1001))


@pytest.mark.accepts(173, 174)
def test_ten_messages_in_a_memory_of_five() -> None:
    """Messages 6 to 9 remain, and there are never more than five."""
    assert remaining(5, 5) == [0, 1, 2, 3, 4]
    assert remaining(5, 10) == [6, 7, 8, 9]


@pytest.mark.accepts(172)
@given(max_size=st.integers(1, 30), count=st.integers(0, 100))
def test_memory_is_bounded_and_holds_the_newest(max_size: int, count: int) -> None:
    """Whatever the size, what is left is an unbroken run up to the last message."""
    left = remaining(max_size, count)
    assert left == list(range(count - len(left), count))
    assert bool(left) == bool(count)


def test_what_memory_drops_stays_in_the_file(manage: Manage) -> None:
    """The limit is one of memory, never of the log."""
    manager = manage({"storage": {"maxMemorySize": 5}})
    session_id = manager.create_session()
    for number in range(12):
        manager.add_message("user", str(number))
    manager.flush()
    assert [each.content for each in manager.persistent.load_conversation(session_id)] == [str(n) for n in range(12)]


# ------------------------------------------------------------------ CacheStore


@pytest.mark.accepts(175)
def test_what_is_too_old_is_gone() -> None:
    """An entry past its lifetime is not returned and no longer takes room; reading does not make it younger."""
    now = [0]
    cache = CacheStore(10, 100, clock=lambda: now[0])
    cache.set("short", "value", ttl=50)
    cache.set("long", "value")
    now[0] = 49
    assert cache.get("short") == "value"
    now[0] = 50
    assert cache.get("short") is None
    assert len(cache) == 1
    assert cache.get("long") == "value"
    now[0] = 100
    assert cache.get("long", "made again") == "made again"
    assert len(cache) == 0


@pytest.mark.accepts(176)
def test_the_least_recently_used_goes_first() -> None:
    """A full cache evicts what was neither read nor set for longest."""
    cache = CacheStore(3, clock=lambda: 0)
    for key in "abc":
        cache.set(key, key)
    assert cache.get("a") == "a"
    cache.set("d", "d")
    assert [cache.get(key) for key in "abcd"] == ["a", None, "c", "d"]


@pytest.mark.accepts(176)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef")), max_size=50), st.integers(1, 4))
def test_a_cache_is_never_larger_than_allowed(steps: list[tuple[bool, str]], size: int) -> None:
    """Whatever is set and read, at most `size` entries are held, and they are those used last."""
    cache, used = CacheStore(size, clock=lambda: 0), []
    for is_set, key in steps:
        if is_set:
            cache.set(key, key)
        if is_set or cache.get(key) is not None:
            used = [*(each for each in used if each != key), key][-size:]
        assert len(cache) == len(used) <= size
    assert all(cache.get(key) == key for key in used)


@pytest.mark.accepts(177)
def test_tool_and_compaction_results_can_be_cached(manage: Manage) -> None:
    """Any value is fetched by its key as it was set; a compaction's result is set when it is made."""
    manager = manage()
    session_id = manager.create_session()
    for number in range(10):
        manager.add_message("user" if number % 2 == 0 else "assistant", f"message {number}")
    result = manager.compress_current_context("manual")
    assert result is not None
    cache = manager.cache
    assert cache.get(f"compaction:{session_id}") is result
    record = ToolCallRecord("t1", "Read", {"file_path": "a"}, 5, "success", output="text")
    cache.set("tool:Read:a", record)
    cache.set("compaction:abc123", {"summary": "## Summary", "postTokens": 8000})
    assert cache.get("tool:Read:a") is record
    assert cache.get("compaction:abc123")["postTokens"] == 8000


# ------------------------------------------------------------------ JSONLStore


@pytest.mark.accepts(178)
def test_append_makes_directories_and_adds_one_line(tmp_path: Path) -> None:
    """Missing directories are made; a further entry is one more line, the bytes before it untouched."""
    path = tmp_path / "a" / "b" / "abc123.jsonl"
    store = JSONLStore(path)
    store.append(entry(1))
    first = path.read_bytes()
    store.append(entry(2))
    assert path.read_bytes().startswith(first)
    assert path.read_bytes().count(b"\n") == 2
    assert store.read_all() == [entry(1), entry(2)]


class CountedFile(OsFile):
    """A file that counts the bytes read from it and the writes to it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.bytes_read, self.written = 0, []

    def read(self, offset: int, length: int) -> bytes:
        data = super().read(offset, length)
        self.bytes_read += len(data)
        return data

    def append(self, data: bytes) -> None:
        super().append(data)
        self.written.append(data)


class CountingDisk:
    """Keeps the files it opened."""

    def __init__(self) -> None:
        self.opened: list[CountedFile] = []

    def open(self, path: Path) -> CountedFile:
        self.opened.append(CountedFile(path))
        return self.opened[-1]


@pytest.mark.accepts(178)
def test_append_does_not_read_the_file(tmp_path: Path) -> None:
    """A new store on a file of 2 MB reads one byte of it, to see that the last line is whole, and writes once."""
    path, disk = tmp_path / "abc123.jsonl", CountingDisk()
    path.write_bytes((msgspec.json.encode(entry(1, "x" * 1000)) + b"\n") * 2000)
    JSONLStore(path, disk=disk).append(entry(2))
    [file] = disk.opened
    assert file.bytes_read == 1
    assert file.written == [log.encode(entry(2))]


@pytest.mark.accepts(179)
def test_a_missing_file_is_an_empty_list(tmp_path: Path) -> None:
    """Reading makes no file either."""
    store = JSONLStore(tmp_path / "none" / "abc123.jsonl")
    assert store.read_all() == []
    assert not store.file_path.exists()


@pytest.mark.accepts(180, 182)
def test_blank_and_damaged_lines_are_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Blank lines silently, an unparsable one with the document's warning; all the others are returned."""
    path = tmp_path / "abc123.jsonl"
    good = [msgspec.json.encode(entry(number)) for number in range(4)]
    path.write_bytes(b"\n".join([good[0], b"", good[1], b'{"uuid":"msg_', b"   ", good[2], b"\xff\xfe", good[3], b""]))
    with caplog.at_level(logging.WARNING, "sightline"):
        assert JSONLStore(path).read_all() == [entry(number) for number in range(4)]
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 2
    assert all(warning.startswith("[JSONLStore] 解析 JSON 行失败") for warning in warnings)


@pytest.mark.accepts(181)
@pytest.mark.parametrize("waits", [False, True], ids=["plain", "async"])
def test_a_stream_delivers_one_by_one(tmp_path: Path, waits: bool) -> None:
    """In file order, each when the callback has dealt with the one before, whether it is async or not."""
    path = tmp_path / "abc123.jsonl"
    for number in range(10):
        JSONLStore(path).append(entry(number))
    events: list[str] = []

    def take(each: JSONLEntry) -> None:
        events.extend((f"begin {each.uuid}", f"end {each.uuid}"))

    async def take_slowly(each: JSONLEntry) -> None:
        events.append(f"begin {each.uuid}")
        await asyncio.sleep(0)
        events.append(f"end {each.uuid}")

    asyncio.run(JSONLStore(path).read_stream(take_slowly if waits else take))
    assert events == [f"{what} msg_{number:03}" for number in range(10) for what in ("begin", "end")]


@pytest.mark.accepts(181)
def test_a_stream_does_not_load_the_file(tmp_path: Path) -> None:
    """Streaming 5,000 entries of 2 kB needs the memory of a few of them."""
    path = tmp_path / "abc123.jsonl"
    path.write_bytes((msgspec.json.encode(entry(1, "x" * 2000)) + b"\n") * 5000)
    delivered = 0

    def count(each: JSONLEntry) -> None:
        nonlocal delivered
        delivered += 1

    tracemalloc.start()
    try:
        asyncio.run(JSONLStore(path).read_stream(count))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert delivered == 5000
    assert peak < 500_000 < path.stat().st_size // 20


@pytest.mark.accepts(182)
@given(damaged=st.integers(0, 4), data=st.data())
def test_damage_costs_only_its_line(
    tmp_path_factory: pytest.TempPathFactory, damaged: int, data: st.DataObject
) -> None:
    """A line cut anywhere, in the middle or at the end of the file, loses nothing but itself."""
    path = tmp_path_factory.mktemp("log") / "abc123.jsonl"
    lines = [msgspec.json.encode(entry(number)) for number in range(5)]
    lines[damaged] = lines[damaged][: data.draw(st.integers(1, len(lines[damaged]) - 1))]
    path.write_bytes(b"\n".join(lines))
    left = [entry(number) for number in range(5) if number != damaged]
    store = JSONLStore(path)
    assert store.read_all() == left
    store.append(entry(9))
    assert store.read_all() == [*left, entry(9)]


@pytest.mark.accepts(182)
@pytest.mark.parametrize("line", [3, -1])
def test_a_damaged_session_loses_only_that_message(manage: Manage, project: Path, line: int) -> None:
    """Through the persistent store too, and the session goes on."""
    manager = manage()
    session_id = manager.create_session()
    for number in range(5):
        manager.add_message("user", f"message {number}")
    path = session_file(manager, project)
    manager.close()
    lines = path.read_bytes().splitlines(keepends=True)
    content = json.loads(lines[line])["message"]["content"]
    lines[line] = lines[line][:40] if line == -1 else lines[line][:40] + b"\n"
    path.write_bytes(b"".join(lines))
    store = PersistentStore(project)
    left = [f"message {number}" for number in range(5) if f"message {number}" != content]
    assert len(left) == 4
    assert [each.content for each in store.load_conversation(session_id)] == left
    store.save_message(session_id, message(9))
    assert [each.content for each in store.load_conversation(session_id)] == [*left, "message 9"]


WRITER = """
import sys
from pathlib import Path
from sightline.origins.clawdcode import ContextMessage, JSONLStore, PersistentStore
store, plain, name = PersistentStore(sys.argv[1], root=sys.argv[2]), JSONLStore(sys.argv[3]), sys.argv[4]
template = plain.read_all()[0]
import msgspec
for number in range(60):
    store.save_message("shared", ContextMessage(f"{name}{number}", "user", name * 5000, number))
    plain.append(msgspec.structs.replace(template, uuid=f"{name}{number}"))
"""


@pytest.mark.slow
@pytest.mark.accepts(183)
def test_two_processes_do_not_mix_their_lines(project: Path, tmp_path: Path) -> None:
    """Both write to the same session and the same plain file at once: every line is whole and none is missing."""
    plain = tmp_path / "plain.jsonl"
    JSONLStore(plain).append(entry(0, "x" * 20_000))
    command = [sys.executable, "-c", WRITER, str(project), str(tmp_path / "root"), str(plain)]
    writers = [subprocess.Popen([*command, name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    wanted = {f"{name}{number}" for name in "ab" for number in range(60)}
    session = get_session_file_path(project, "shared", tmp_path / "root")
    for path in (plain, session):
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        assert wanted <= {line["uuid"] for line in lines}
    chain = spoken(session)
    assert len(chain) == 120
    assert [line["parentUuid"] for line in chain] == [None, *(line["uuid"] for line in chain[:-1])]


# ------------------------------------------------------------------ paths


@pytest.mark.accepts(185)
def test_the_vector_of_project_paths() -> None:
    """Every slash of the absolute path becomes a dash, the leading one too."""
    assert escape_project_path("/Users/foo/project") == "-Users-foo-project"
    assert escape_project_path("/Users/foo/myproject/") == "-Users-foo-myproject"


@pytest.mark.accepts(186)
def test_paths_are_resolved_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths and `..` stand for where they lead; no separator of any system is left."""
    monkeypatch.chdir(project)
    assert escape_project_path(".") == escape_project_path(str(project)) == escape_project_path("../shop/src/..")
    assert escape_project_path("/a/b/../c") == "-a-c"
    assert escape_project_path("/a/C:\\Users\\foo") == "-a-C--Users-foo"


@pytest.mark.accepts(187, 188)
def test_sessions_lie_in_the_home(home: Path) -> None:
    """`~/.clawdcode/projects/<escaped>/<session>.jsonl`."""
    storage = get_project_storage_path("/Users/foo/myproject")
    assert storage == home / ".clawdcode" / "projects" / "-Users-foo-myproject"
    assert get_session_file_path("/Users/foo/myproject", "abc123") == storage / "abc123.jsonl"


@pytest.mark.accepts(188)
def test_that_is_where_a_session_is_written(manage: Manage, project: Path, home: Path) -> None:
    """The file is there once the session is made."""
    session_id = manage().create_session()
    folder = home / ".clawdcode" / "projects" / str(project).replace("/", "-")
    assert (folder / f"{session_id}.jsonl").is_file()


@pytest.mark.accepts(189)
def test_projects_do_not_see_each_other(tmp_path: Path) -> None:
    """Each has its own directory and lists its own sessions; another's cannot be loaded."""
    one, two = PersistentStore(tmp_path / "one"), PersistentStore(tmp_path / "two")
    one.save_message("first", message(1))
    two.save_message("second", message(2))
    assert one.list_sessions() == ["first"]
    assert two.list_sessions() == ["second"]
    assert get_project_storage_path(tmp_path / "one") != get_project_storage_path(tmp_path / "two")
    with pytest.raises(SessionNotFound):
        one.load_conversation("second")
    assert PersistentStore(tmp_path / "elsewhere" / "one").list_sessions() == []  # another project of the same name


@pytest.mark.accepts(190)
@pytest.mark.parametrize("session_id", ["../other", "a/b", "a\\b", "..", ".", "", "/etc/passwd", "a/../b", "a\0b"])
def test_an_id_that_leads_elsewhere_is_refused(session_id: str) -> None:
    """By the path function and by the store, before anything is touched."""
    with pytest.raises(BadSessionId):
        get_session_file_path("/p", session_id)
    with pytest.raises(BadSessionId):
        PersistentStore("/p").save_message(session_id, message(1))


# ------------------------------------------------------------------ TokenCounter (§8.6)

CALL = {"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": '{"file_path":"src/utils.ts"}'}}


@pytest.mark.accepts(191, 195)
def test_a_list_costs_the_sum_of_its_parts() -> None:
    """4 per message, its role, its content, and per tool call 4, its id, its name and its arguments."""
    count = TokenCounter.get_encoding("gpt-4").count
    messages = [
        {"role": "user", "content": "帮我重构 utils.ts 文件"},
        {"role": "assistant", "content": "Reading it.", "tool_calls": [CALL, {**CALL, "id": "call_2"}]},
    ]
    called = sum(
        4 + count(name) + count("Read") + count('{"file_path":"src/utils.ts"}') for name in ("call_1", "call_2")
    )
    assert TokenCounter.count_tokens(messages, "gpt-4") == (
        4 + count("user") + count("帮我重构 utils.ts 文件") + 4 + count("assistant") + count("Reading it.") + called
    )
    assert TokenCounter.count_tokens([], "gpt-4") == 0


@pytest.mark.accepts(191)
def test_known_counts() -> None:
    """Figures of the public vocabularies, so that the counter itself is checked: cl100k_base and o200k_base."""
    message = [{"role": "user", "content": "Hello, world!"}]
    assert TokenCounter.count_tokens(message, "gpt-4") == 4 + 1 + 4
    assert TokenCounter.count_tokens(message, "gpt-4o") == 4 + 1 + 4
    assert TokenCounter.count_tokens([ContextMessage("m", "user", "Hello, world!", 0)], "gpt-4") == 9


@pytest.mark.accepts(192)
def test_other_content_is_counted_as_json() -> None:
    """Lists and objects as their JSON text, in which Chinese stays as it is; empty content costs nothing."""
    count = TokenCounter.get_encoding("gpt-4").count
    frame = 4 + count("user")
    parts = [{"type": "text", "text": "你好"}]
    assert TokenCounter.count_tokens([{"role": "user", "content": parts}], "gpt-4") == frame + count(
        '[{"type":"text","text":"你好"}]'
    )
    for empty in ("", None):
        assert TokenCounter.count_tokens([{"role": "user", "content": empty}], "gpt-4") == frame
    assert TokenCounter.count_tokens([{"role": "user"}], "gpt-4") == frame


@pytest.mark.accepts(193)
def test_an_encoder_is_made_once() -> None:
    """Asked for again, the same model has the same one."""
    assert TokenCounter.get_encoding("gpt-4") is TokenCounter.get_encoding("gpt-4")
    assert TokenCounter.get_encoding("gpt-4o") is TokenCounter.get_encoding("gpt-4o")
    assert TokenCounter.get_encoding("gpt-4") is not TokenCounter.get_encoding("gpt-4o")


@pytest.mark.accepts(194)
@pytest.mark.parametrize("model", ["", "nobody-knows-this", "claude-sonnet-4-5", "glm-9", "模型"])
def test_an_unknown_model_is_counted_all_the_same(model: str) -> None:
    """With the default vocabulary."""
    assert TokenCounter.count_tokens([{"role": "user", "content": "Hello, world!"}], model) == 9


@pytest.mark.accepts(194)
def test_without_a_tokenizer_tokens_are_estimated() -> None:
    """The document's estimate takes its place: 4 for the message, 1 for the role, 4 for the text."""
    program = (
        "import sys; sys.modules['splintr'] = None\n"
        "from sightline.origins.clawdcode import TokenCounter\n"
        "print(TokenCounter.count_tokens([{'role': 'user', 'content': 'Hello, world! 你好'}], 'gpt-4'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 4 + 1 + TokenCounter.estimate_tokens("Hello, world! 你好") == 10


@pytest.mark.accepts(196)
@given(words=st.integers(0, 40), window=st.integers(1, 60), share=st.sampled_from([0.5, 0.75, 0.8, 1.0]))
def test_compaction_is_due_at_the_threshold(words: int, window: int, share: float) -> None:
    """At floor(window × share) tokens and above, and only then; the share is 0.8 unless given."""
    messages = [{"role": "user", "content": "a" + " a" * words}]
    tokens = TokenCounter.count_tokens(messages, "gpt-4")
    assert TokenCounter.should_compact(messages, "gpt-4", window, share) == (tokens >= int(window * share))
    assert TokenCounter.should_compact(messages, "gpt-4", window) == (tokens >= window * 4 // 5)


@pytest.mark.accepts(197)
@pytest.mark.parametrize(("tokens", "due"), [(102_399, False), (102_400, True)])
def test_the_vector_of_a_window_of_128000(tokens: int, due: bool) -> None:
    """The threshold is 102 400."""
    messages = [{"role": "user", "content": "a" + " a" * (tokens - 6)}]
    assert TokenCounter.count_tokens(messages, "gpt-4") == tokens
    assert TokenCounter.should_compact(messages, "gpt-4", 128_000) is due


@pytest.mark.accepts(198, 199, 200)
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0), ("a", 1), ("Hello, world!", 4), ("你好", 2), ("你你你", 2), ("Hello 你好 World 世界", 6),
        ("帮我重构 utils.ts 文件", 7), ("x" * 400, 100), ("😀" * 5, 3),
    ],
)  # fmt: skip
def test_the_vectors_of_the_estimate(text: str, tokens: int) -> None:
    """Chinese characters / 1.5 + the rest / 4, rounded up, the rest counted in UTF-16 units."""
    assert TokenCounter.estimate_tokens(text) == tokens


@pytest.mark.accepts(198, 200)
@given(chinese=st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5)), other=st.text())
def test_the_estimate_is_the_formula(chinese: str, other: str) -> None:
    """For every text, in exact arithmetic; characters just outside U+4E00–U+9FA5 are others."""
    others = "".join(each for each in other if not "\u4e00" <= each <= "\u9fa5") + "\u4dff\u9fa6"
    units = len(others.encode("utf-16-le")) // 2
    assert TokenCounter.estimate_tokens(chinese + others) == -(-(8 * len(chinese) + 3 * units) // 12)


# ------------------------------------------------------------------ dependencies


@pytest.mark.slow
@pytest.mark.accepts(245)
def test_sessions_need_no_database(project: Path, home: Path) -> None:
    """Writing and reading one loads no SQLite and leaves two text files behind: the session, and whose it is."""
    program = (
        "import sys\n"
        "from sightline.origins.clawdcode import ContextManager\n"
        "manager = ContextManager(project_path=sys.argv[1])\n"
        "session = manager.create_session()\n"
        "manager.add_message('user', 'hello')\n"
        "manager.flush()\n"
        "assert manager.persistent.load_conversation(session)[0].content == 'hello'\n"
        "print([name for name in sys.modules if 'sqlite' in name or 'psycopg' in name])"
    )
    environment = {**os.environ, "HOME": str(home)}
    command = [sys.executable, "-c", program, str(project)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"
    files = {file.suffix: file.read_text(encoding="utf-8") for file in get_project_storage_path(project).iterdir()}
    assert set(files) == {".jsonl", ".session"}
    assert "hello" in files[".jsonl"]
