"""A log of Claude Code that is written as the program writes it: a line at a time, each linked to the one before."""

import json
from pathlib import Path
from typing import Any


class WrittenLog:
    """A log file that grows. `last` is the line that the next one is linked to; a rewind sets an earlier one."""

    def __init__(self, path: Path, session: str = "5a5e0001-0000-4000-8000-000000000001") -> None:
        self.path, self.session = path, session
        self.last: str | None = None
        self._lines = 0
        path.touch()

    def facts(self, **more: Any) -> dict[str, Any]:
        """What Claude Code tells a hook."""
        return {"session_id": self.session, "transcript_path": str(self.path), "cwd": str(self.path.parent), **more}

    def write(self, kind: str, **more: Any) -> str:
        """Add a line, and return its uuid."""
        self._lines += 1
        uuid = f"u{self._lines}"
        line = {
            "parentUuid": self.last, "isSidechain": False, "type": kind, "uuid": uuid, "sessionId": self.session,
            "cwd": "/w", "version": "2.1.197", "timestamp": "2026-11-01T10:00:00.000Z", **more,
        }  # fmt: skip
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.last = uuid
        return uuid

    def user(self, text: str, **more: Any) -> str:
        """The user's words."""
        return self.write("user", message={"role": "user", "content": text}, **more)

    def assistant(self, text: str, **usage: int) -> str:
        """The model's words."""
        return self._answer({"type": "text", "text": text}, usage)

    def call(self, name: str, given: dict[str, Any], result: str = "ok", *, failed: bool = False, **more: Any) -> str:
        """A call, and its result."""
        call = f"toolu_{self._lines}"
        self._answer({"type": "tool_use", "id": call, "name": name, "input": given}, {}, **more)
        block = {"type": "tool_result", "tool_use_id": call, "content": result, "is_error": failed}
        return self.write(
            "user", message={"role": "user", "content": [block]}, toolUseResult={"stdout": result}, **more
        )

    def _answer(self, block: dict[str, Any], usage: dict[str, int], **more: Any) -> str:
        message = {"id": f"msg_{self._lines}", "role": "assistant", "model": "claude-x", "content": [block]}
        return self.write("assistant", message={**message, "usage": usage} if usage else message, **more)

    def compact(self, summary: str) -> str:
        """A compaction, as it is written after `SessionStart` was called."""
        logical, self.last = self.last, None
        facts = {"trigger": "manual", "preTokens": 1000}
        self.write("system", subtype="compact_boundary", logicalParentUuid=logical, compactMetadata=facts)
        return self.user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def add_context(self, text: str) -> str:
        """What a hook added."""
        return self.write("attachment", attachment={"type": "hook_additional_context", "content": [text]})
