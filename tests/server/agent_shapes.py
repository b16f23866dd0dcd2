"""Conversations in the shape of what coding agents send: Claude Code's, Codex's, and a plain one of chat completions.

    talk = SHAPES["claude"](through, stream=True)
    talk.say("Fix the tests")

As seen on loopback: system prompts, tools, headers, breakpoints that move, and whatever else is in their requests.
"""

import json
from typing import Any

from through_proxy import TOOLS, Json, Talk, Through

EPHEMERAL = {"cache_control": {"type": "ephemeral"}}
SESSION = "0b1d6c1e-3f0a-4d55-9d3c-3a2f6d1b7f10"


class ClaudeTalk(Talk):
    """Claude Code's: three blocks of system prompt, a message of the system, a breakpoint at the newest block."""

    def __init__(self, through: Through, *, stream: bool = True, **fields: Any) -> None:
        system = [
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.197"},
            {"type": "text", "text": "You are Claude Code.", **EPHEMERAL},
            {"type": "text", "text": "You are an agent that works in a project. " * 120, **EPHEMERAL},
        ]
        own = {
            "system": system, "max_tokens": 8000, "thinking": {"type": "adaptive"},
            "metadata": {"user_id": json.dumps({"session_id": SESSION})}, "output_config": {"effort": "high"},
        }  # fmt: skip
        super().__init__(through, "anthropic", stream=stream, model="claude-sonnet-5-5", **(own | fields))
        self.headers = {
            "x-claude-code-session-id": SESSION, "x-app": "cli",
            "anthropic-beta": "interleaved-thinking-2025-05-14,mid-conversation-system-2026-02-01",
        }  # fmt: skip

    def say(self, text: Any, **changed: Any) -> str:
        """Before its first words come reminders, and a message with the role system after them."""
        if self.list:
            return super().say(text, **changed)
        reminder = {"type": "text", "text": "<system-reminder>The project is called Valves.</system-reminder>"}
        self.list = [
            {"role": "user", "content": [reminder, {"type": "text", "text": text}]},
            {"role": "system", "content": "The tools are those of this machine."},
        ]
        return self.go_on()

    def body(self, **changed: Any) -> Json:
        """The newest block has a breakpoint, and no earlier one has."""
        body = super().body(**changed)
        last = body["messages"][-1]
        blocks = [{"type": "text", "text": last["content"]}] if isinstance(last["content"], str) else last["content"]
        body["messages"][-1] = last | {"content": [*blocks[:-1], blocks[-1] | EPHEMERAL]}
        return body


class CodexTalk(Talk):
    """Codex's: two messages of the developer, encrypted reasoning, a key for the cache."""

    def __init__(self, through: Through, *, stream: bool = True, **fields: Any) -> None:
        own = {
            "instructions": "You are Codex. " * 150, "include": ["reasoning.encrypted_content"],
            "parallel_tool_calls": True, "prompt_cache_key": SESSION, "reasoning": {"effort": "medium"},
        }  # fmt: skip
        super().__init__(through, "responses", stream=stream, **(own | fields))
        self.headers = {"session-id": SESSION, "thread-id": SESSION, "originator": "codex_exec"}
        self.list = [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}
            for text in ("Filesystem sandboxing is off.", "Answer in English.")
        ]


class ChatTalk(Talk):
    """A plain agent that speaks chat completions."""

    def __init__(self, through: Through, *, stream: bool = True, **fields: Any) -> None:
        streams = {"stream_options": {"include_usage": True}} if stream else {}
        super().__init__(through, "chat", stream=stream, **(streams | fields))
        self.list = [{"role": "system", "content": "You are an agent. " * 150}]


SHAPES: dict[str, type[Talk]] = {"claude": ClaudeTalk, "codex": CodexTalk, "chat": ChatTalk}
WIRES = {"claude": "anthropic", "codex": "responses", "chat": "chat"}
READ = {shape: TOOLS[wire] for shape, wire in WIRES.items()}
