"""Makes logs of Claude Code for reports: what was said when, and what the provider counted."""

import json
from typing import Any

from sightline.imports.conversation import Conversation
from sightline.imports.detection import conversations
from sightline.imports.source import Source
from sightline.values.clock import iso

START = 1_790_000_000_000  # milliseconds since 1970
FILE = "\n".join(f"def total_{number}(price, count): return price * count + {number}" for number in range(40))


class Log:
    """A log that grows by a line at a time."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self._parent: str | None = None
        self._now = START

    def user(self, content: Any, **more: Any) -> "Log":
        return self._add("user", {"role": "user", "content": content}, **more)

    def answer(
        self,
        *blocks: Any,
        usage: tuple[int, int, int, int] | None = None,
        model: str = "claude-x",
        after: float = 10,
        hour: bool = False,
    ) -> "Log":
        """Usage: uncached, written and cached input, output. `after`: seconds since the line before.

        `hour`: what is written is kept for an hour.
        """
        self._now += round(after * 1000)
        message: dict[str, Any] = {
            "id": f"m{len(self.lines)}", "type": "message", "role": "assistant", "model": model,
            "content": [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks],
        }  # fmt: skip
        if usage is not None:
            names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
            message["usage"] = dict(zip(names, usage, strict=True))
            message["usage"]["cache_creation"] = {"ephemeral_1h_input_tokens": usage[1] if hour else 0}
        return self._add("assistant", message)

    def call(self, id_: str, name: str, arguments: dict[str, Any], result: str, **more: Any) -> "Log":
        """An answer that makes one call, and its result."""
        self.answer({"type": "tool_use", "id": id_, "name": name, "input": arguments}, **more)
        return self.user([{"type": "tool_result", "tool_use_id": id_, "content": result}])

    def read(self, id_: str, text: str = FILE, file: str = "/w/shop.py", **more: Any) -> "Log":
        return self.call(id_, "Read", {"file_path": file}, text, **more)

    def compact(self, summary: str) -> "Log":
        boundary = {"trigger": "auto", "preTokens": 9_000}
        before, self._parent = self._parent, None
        self._add("system", None, subtype="compact_boundary", logicalParentUuid=before, compactMetadata=boundary)
        return self.user(summary, isCompactSummary=True)

    def _add(self, kind: str, message: Any, **more: Any) -> "Log":
        uuid = f"u{len(self.lines)}"
        line = {
            "type": kind, "uuid": uuid, "parentUuid": self._parent, "sessionId": "s1", "timestamp": iso(self._now),
            **more,
        }  # fmt: skip
        self.lines.append(line if message is None else {**line, "message": message})
        self._parent = uuid
        return self

    @property
    def data(self) -> bytes:
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)

    @property
    def conversation(self) -> Conversation:
        [found] = conversations(Source("s1.jsonl", data=self.data))
        return found
