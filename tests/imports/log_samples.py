"""Two made-up logs that have a line of every known type: one of Claude Code, one of Codex."""

import json
from typing import Any

from sightline.imports.claude_code import TYPES
from sightline.imports.codex import TYPES as CODEX_TYPES

Json = dict[str, Any]
LONG = "tests/test_shop.py::test_total FAILED: expected 12.50, found 12.05\n" * 6
DAMAGED = b'{"type":"user","message":{"role":"us'


def _claude(kind: str, uuid: str, parent: str | None, **more: Any) -> Json:
    return {
        "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/w", "sessionId": "s1",
        "version": "2.1.258", "gitBranch": "main", "type": kind, "uuid": uuid, "timestamp": "2026-11-01T10:00:00.000Z",
        **more,
    }  # fmt: skip


def _user(uuid: str, parent: str | None, content: Any, **more: Any) -> Json:
    return _claude("user", uuid, parent, message={"role": "user", "content": content}, **more)


def _answer(uuid: str, parent: str | None, message: str, block: Json, output: int, **more: Any) -> Json:
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 900, "cache_read_input_tokens": 18_000}
    body = {
        "id": message, "type": "message", "role": "assistant", "model": "claude-x", "content": [block],
        "stop_reason": None, "usage": {**usage, "output_tokens": output, "service_tier": "standard"},
    }  # fmt: skip
    return _claude("assistant", uuid, parent, message=body, requestId=f"req_{message}", **more)


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _call(id_: str) -> Json:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": f"pytest -q {id_}"}}


def _result(id_: str, text: str) -> list[Json]:
    return [{"type": "tool_result", "tool_use_id": id_, "content": text}]


_SIDE = {"isSidechain": True, "agentId": "7"}
_CONVERSATION: list[Json] = [
    _user("u0", None, "Caveat: what follows is of the program", isMeta=True),
    _user("u1", "u0", "fix the failing test <system-reminder>be careful</system-reminder>"),
    _answer("a1", "u1", "m1", {"type": "thinking", "thinking": "", "signature": "x"}, 1),
    _answer("a2", "a1", "m1", _text("Running both."), 1),
    _answer("a3", "a2", "m1", _call("c1"), 1),
    _user("r1", "a3", _result("c1", LONG), toolUseResult={"stdout": LONG, "stderr": ""}, sourceToolAssistantUUID="a3"),
    _answer("a4", "a3", "m1", _call("c2"), 61),
    _user("r2", "a4", _result("c2", "1 passed")),
    _user("x1", None, "look for other tests", **_SIDE),
    _answer("x2", "x1", "m9", _text("There are none."), 5, **_SIDE),
    _answer("a5", "r1", "m2", _text("Shall I change the rounding?"), 12),
    _user("u2", "a5", "no, leave it"),
    _answer("a6", "u2", "m3", _text("Then I stop."), 6),
    _user("u3", "a5", "yes, to two places"),  # rewound: the two lines before it are taken back
    _claude("attachment", "t1", "u3", attachment={"type": "queued_command", "prompt": "and add a test"}),
    _claude("attachment", "t2", "t1", attachment={"type": "hook_success", "hookName": "lint", "exitCode": 0}),
    _claude("progress", "p1", "t2", data={"type": "bash_progress", "output": "."}, toolUseID="c3"),
    _claude("system", "y1", "p1", subtype="turn_duration", durationMs=1200),
    _answer("a7", "y1", "m4", _text("Both are done."), 9),
    _claude("system", "b1", None, subtype="compact_boundary", logicalParentUuid="a7", content="Conversation compacted",
            compactMetadata={"trigger": "auto", "preTokens": 167038, "postTokens": 900}),
    _user("u4", "b1", "The rounding was changed to two places; a test was added.", isCompactSummary=True,
          isVisibleInTranscriptOnly=True),
    _user("u5", "u4", [_text("and now the docs"), _text(LONG)]),
    _answer("a8", "u5", "m5", _text("The docs say two places."), 8),
]  # fmt: skip

CLAUDE: list[Any] = [
    {"type": "summary", "summary": "Fix failing test", "leafUuid": "a8"},
    *_CONVERSATION,
    *({"type": kind, "sessionId": "s1", "value": {"of": kind, "numbers": [1, 2.5, None, True]}}
      for kind in sorted(TYPES - {"user", "assistant", "system", "attachment", "progress", "summary"})),
    {"type": "of-tomorrow", "sessionId": "s1", "x": [1, None, {"y": "é\u2028"}]},
    {"no": "type"},
    DAMAGED,
    _CONVERSATION[1],  # written again
]  # fmt: skip
CLAUDE_USES = {"message": 14, "summary": 1, "aside": 5, "metadata": len(TYPES) - 1, "unknown": 2, "unreadable": 1}


def _codex(kind: str, **payload: Any) -> Json:
    return {"timestamp": "2026-11-01T10:00:00.000Z", "type": kind, "payload": payload}


def _item(kind: str, **payload: Any) -> Json:
    return _codex("response_item", type=kind, **payload)


def _says(role: str, text: str) -> Json:
    block = "output_text" if role == "assistant" else "input_text"
    return _item("message", role=role, content=[{"type": block, "text": text}])


class _Totals:
    def __init__(self) -> None:
        self.total = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}

    def count(self, fresh: int, cached: int, output: int) -> Json:
        last = {"input_tokens": fresh, "cached_input_tokens": cached, "output_tokens": output}
        self.total = {name: self.total[name] + count for name, count in last.items()}
        info = {"total_token_usage": self.total, "last_token_usage": last, "model_context_window": 258_400}
        return _codex("event_msg", type="token_count", info=info, rate_limits=None)


_TOTALS = _Totals()
_FIRST = _TOTALS.count(20_100, 18_000, 61)
_REPLACED = [_says("user", "fix the failing test")["payload"], _says("user", "Two places were wrong.")["payload"]]

CODEX: list[Any] = [
    _codex("session_meta", id="t1", session_id="t1", cwd="/w", base_instructions={"text": "You code."}),
    _codex("turn_context", turn_id="k1", cwd="/w", model="gpt-x"),
    _says("developer", "<permissions instructions>ask first</permissions instructions>"),
    _says("user", "fix the failing test"),
    _codex("event_msg", type="user_message", message="fix the failing test", images=[]),
    _item("reasoning", summary=[], encrypted_content="xyz"),
    _item("function_call", name="exec_command", arguments='{"cmd":"pytest -q"}', call_id="c1"),
    _FIRST,
    _item("function_call_output", call_id="c1", output=LONG),
    _FIRST,  # reported again
    _item("ghost_snapshot", ghost_commit={"id": "0"}),
    _says("assistant", "It is the rounding."),
    _TOTALS.count(20_500, 20_000, 12),
    _codex("compacted", message="", replacement_history=_REPLACED),
    _says("user", "go on"),
    _item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2", status="completed"),
    _item("custom_tool_call_output", call_id="c2", output="Success."),
    _says("assistant", "Done."),
    _TOTALS.count(3_000, 0, 30),
    _says("user", "and delete the tests"),
    _says("assistant", "Deleted."),
    _TOTALS.count(3_100, 3_000, 4),
    _codex("event_msg", type="thread_rolled_back", num_turns=1),
    _says("user", "thanks"),
    _says("assistant", "You are welcome."),
    *(_codex(kind, note=f"a line of {kind}")
      for kind in sorted(CODEX_TYPES - {"session_meta", "turn_context", "response_item", "event_msg", "compacted"})),
    _item("of_tomorrow", x=1),
    _codex("later", y=[2]),
    {"z": 3},
    DAMAGED,
]  # fmt: skip
CODEX_USES = {"message": 13, "summary": 1, "aside": 2, "metadata": 13, "unknown": 3, "unreadable": 1}


def as_file(lines: list[Any]) -> bytes:
    """The lines as a file."""
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
