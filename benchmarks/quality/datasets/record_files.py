"""Files of records, and recorded runs made legal."""

import gzip
import json
from pathlib import Path
from typing import Any

from benchmarks.quality.messages import Message


def json_lines(path: Path) -> list[Any]:
    """The records of a file with one JSON value a line, compressed or not."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def json_file(path: Path) -> Any:
    """The JSON value a file holds, compressed or not."""
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)


def call(call_id: str, name: str, arguments: Any) -> Message:
    """A tool call in OpenAI's form."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def answer(call_id: Any, content: str) -> Message:
    """What a tool said."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def spoken(role: str, content: str) -> Message:
    """A message that is only text."""
    return {"role": role, "content": content}


def at(message: Message, when: Any) -> Message:
    """A message and when it was said, where that is known."""
    return {**message, "ts": when} if when else message


def text_blocks(content: Any) -> str:
    """The text of content that may be a list of blocks."""
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content or [])


def calling(messages: list[Message]) -> int:
    """How many messages make calls."""
    return sum(1 for message in messages if message.get("tool_calls"))


def repaired(messages: list[Message]) -> list[Message]:
    """A legal chat: answers directly follow their call, unanswered calls and orphan answers are dropped."""
    out: list[Message] = []
    answers: list[Message] = []  # behind the message that is looked at, newest first
    for message in reversed(messages):
        if message["role"] == "tool":
            answers.append(message)
            continue
        if message["role"] == "assistant" and message.get("tool_calls"):
            out += reversed(_answered(message, list(reversed(answers))))
        elif message["content"].strip():
            out.append(message)
        answers = []
    return out[::-1]


def _answered(message: Message, answers: list[Message]) -> list[Message]:
    """A message with those of its calls that got an answer, and these answers in the order of the calls."""
    given: dict[Any, Message] = {}
    for each in answers:
        given.setdefault(each.get("tool_call_id"), each)
    calls = [each for each in message["tool_calls"] if each["id"] in given]
    kept = {key: value for key, value in message.items() if key != "tool_calls"}
    if not calls:
        return [kept] if kept["content"].strip() else []
    found = [given[each["id"]] for each in calls]
    filled = [each if each["content"].strip() else {**each, "content": "(empty)"} for each in found]
    return [{**kept, "tool_calls": calls}, *map(dict, filled)]
