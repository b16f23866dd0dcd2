"""The layers of ClawdCode's context that follow from the log: recent calls, the states of tools, topics."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sightline.origins.clawdcode import CompactionOptions, ContextManager, ToolCallRecord, ToolState
from sightline.origins.clawdcode.layers import RECENT_CALLS, TOPICS
from sightline.testing import Ticking, WordCounter

NOW = 1_705_312_800_000


def open_manager(project: Path) -> ContextManager:
    compaction = CompactionOptions(summarizer=lambda _: "## Summary\n用户请求重构 utils.ts")
    return ContextManager(
        project_path=project, clock=Ticking(NOW, step=1000), token_counter=WordCounter(), compaction=compaction
    )


@pytest.fixture
def manager(project: Path) -> Iterator[ContextManager]:
    opened = open_manager(project)
    opened.create_session()
    yield opened
    opened.close()


def layers_of(manager: ContextManager) -> Any:
    held = manager.get_context()
    assert held is not None
    return held.layers


def call(manager: ContextManager, *named: tuple[str, str, str]) -> None:
    made = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
        for id_, name, arguments in named
    ]
    manager.add_message("assistant", "", {"tool_calls": made})


@pytest.mark.accepts(145, 160)
def test_calls_are_recorded_and_answered(manager: ContextManager) -> None:
    """Pending until the result comes, then success or error with the output; the first result of a call counts."""
    call(manager, ("t1", "Read", '{"file_path":"src/utils.ts"}'), ("t2", "Edit", "{}"), ("t3", "Read", "{}"))
    made = layers_of(manager).conversation.messages[0].timestamp
    tool = layers_of(manager).tool
    assert {record.status for record in tool.recent_calls} == {"pending"}
    manager.add_message("tool", "export", {"tool_call_id": "t1"})
    manager.add_message("tool", "", {"tool_call_id": "t2", "error": "ENOENT"})
    manager.add_message("tool", "again", {"tool_call_id": "t1"})
    manager.add_message("tool", "nobody asked", {"tool_call_id": "t9"})
    manager.add_message("tool", "no call named")
    assert tool.recent_calls == [
        ToolCallRecord("t1", "Read", {"file_path": "src/utils.ts"}, made, "success", "export"),
        ToolCallRecord("t2", "Edit", {}, made, "error", "", "ENOENT"),
        ToolCallRecord("t3", "Read", {}, made, "pending"),
    ]
    first, second = (each.timestamp for each in layers_of(manager).conversation.messages[1:3])
    assert tool.tool_states == {"Read": ToolState("success", 2, 0, first), "Edit": ToolState("error", 1, 1, second)}
    assert msgspec.to_builtins(tool)["toolStates"]["Edit"] == {
        "status": "error", "calls": 1, "errors": 1, "lastUsed": second,
    }  # fmt: skip


@pytest.mark.accepts(160)
def test_topics_are_what_the_user_names(manager: ContextManager) -> None:
    """Files and identifiers of the user's messages, the newest last, each once; nobody else's words."""
    manager.add_message("user", "帮我重构 utils.ts 文件")
    assert layers_of(manager).conversation.topics == ["utils.ts"]
    manager.add_message("assistant", "I read src/other.py and calledByNobody.")
    manager.add_message("user", "Rename getUser in src/api/user.py, then look at utils.ts again")
    assert layers_of(manager).conversation.topics == ["getUser", "src/api/user.py", "utils.ts"]
    for number in range(TOPICS):
        manager.add_message("user", f"now src/file{number}.py")
    assert layers_of(manager).conversation.topics == [f"src/file{number}.py" for number in range(TOPICS)]


@pytest.mark.accepts(160, 242)
def test_they_survive_compaction_and_reading_back(manager: ContextManager, project: Path) -> None:
    """All of it follows from the log: a loaded session has what the running one had, compacted or not."""
    manager.add_message("user", "重构 src/utils.ts")
    for number in range(RECENT_CALLS + 5):
        call(manager, (f"t{number}", "Read", f'{{"n":{number}}}'))
        manager.add_message("tool", f"line {number}", {"tool_call_id": f"t{number}"})
    call(manager, ("last", "Bash", "{}"))
    manager.add_message("tool", "", {"tool_call_id": "last", "error": "exit 1"})
    manager.add_message("user", "继续")
    assert manager.compress_current_context("manual") is not None
    manager.flush()
    layers, session_id = layers_of(manager), manager.current_session_id
    assert session_id is not None
    assert len(layers.tool.recent_calls) == RECENT_CALLS
    assert layers.tool.tool_states["Read"].calls == RECENT_CALLS + 5
    assert layers.conversation.topics == ["src/utils.ts"]
    again = open_manager(project)
    again.load_session(session_id)
    assert layers_of(again).tool == layers.tool
    assert layers_of(again).conversation.topics == layers.conversation.topics
    again.close()
