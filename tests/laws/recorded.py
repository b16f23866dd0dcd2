"""Conversations that were not made up here: the shipped samples, and at full size every recorded one there is.

Recorded ones lie under SIGHTLINE_DATA (beside the project where that is not set); without them there are only samples.
"""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from histories import Compose
from world import World

from sightline import samples, wire
from sightline.errors import BadInput, PinnedOverflow
from sightline.imports import detection
from sightline.plan.view import Budget
from sightline.values.items import Message, Role

DATA = Path(os.environ.get("SIGHTLINE_DATA", Path(__file__).parents[3] / "shared" / "data"))
FOLDERS = ("claude_code_sessions", "entire_sessions", "mini_swe_agent", "openhands", "tau2_bench", "tau_bench")


class Conversation(NamedTuple):
    """What was said, and by whom."""

    name: str
    messages: list[Message]
    system: str = ""
    tools: tuple[dict[str, Any], ...] = ()


def sample(name: str) -> Conversation:
    """One of the shipped samples."""
    loaded = samples.load(name)
    return Conversation(name, wire.read_messages(loaded.messages), loaded.system, tuple(loaded.tools))


def play(world: World, conversation: Conversation, budget: Budget) -> World:
    """Say everything in order; before each of the model's messages the model is called."""
    session = world.session
    if conversation.system:
        session.system(conversation.system)
    session.tools(conversation.tools)
    for message in conversation.messages:
        if message.role is Role.ASSISTANT:
            world.apply(Compose(budget.window))
            session.interrupt()  # what was recorded without its result
        session.add(message)
    session.interrupt()
    world.apply(Compose(budget.window))
    if world.overflows:
        raise PinnedOverflow(["a recorded conversation"], 0)
    return world


# ------------------------------------------------------------------ what was recorded


def conversations(folder: str) -> Iterator[Conversation]:
    """Every recorded conversation of a folder that can be read simply."""
    if folder == "claude_code_sessions":  # its lines are parts of messages
        for found in detection.conversations(DATA / folder):
            messages = [turn.message for step in found.steps() for turn in step.turns]
            if messages:
                yield Conversation(found.name, messages)
        return
    for path in sorted((DATA / folder).glob("*.jsonl*")):
        for number, messages in enumerate(_lists(_lines(path))):
            yield from _readable(f"{folder}/{path.name[:12]}/{number}", messages)


def _lines(path: Path) -> list[Any]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def _lists(records: list[Any]) -> Iterator[list[Any]]:
    """Message lists in the formats of the providers."""
    for record in records:
        match record:
            case {"rows": list(rows)}:
                yield [_row(row) for row in rows if _row(row)]
            case {"pre": list(before), "post": list(after)}:
                yield [*before, *after]
            case {"messages": list(messages)} | {"traj": list(messages)}:
                yield [_chat(message) for message in messages]
            case {"history": list(events)}:
                yield [
                    {"role": _SOURCES.get(e.get("source"), "user"), "content": str(e.get("message"))} for e in events
                ]


_SOURCES = {"agent": "assistant", "user": "user", "environment": "user"}


def _row(row: dict[str, Any]) -> dict[str, Any] | None:
    """A line of a coding agent's log as a message, where it is one."""
    match row:
        case {"type": "user" | "assistant" as role, "message": {"content": content}}:
            return {"role": role, "content": content}
        case {"type": "item", "item": {"type": kind, **fields}} if kind in _ITEMS:
            return {"type": kind, **fields}
        case _:
            return None


_ITEMS = ("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output")


def _chat(message: dict[str, Any]) -> dict[str, Any]:
    """A chat message without what recorders add to it."""
    kept = {key: message[key] for key in ("role", "content", "tool_calls", "tool_call_id", "name") if message.get(key)}
    kept.setdefault("content", "")
    if message["role"] == "tool":
        kept.setdefault("tool_call_id", str(message.get("id", "")))
    for call in kept.get("tool_calls", ()):
        call.setdefault("function", {"name": call.get("name", ""), "arguments": call.get("arguments", {})})
    return kept


def _readable(name: str, messages: list[Any]) -> Iterator[Conversation]:
    try:
        neutral = wire.read_messages([message for message in messages if message])
    except BadInput:
        return
    if neutral:
        yield Conversation(name, neutral)
