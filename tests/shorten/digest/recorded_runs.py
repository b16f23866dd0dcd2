"""Runs of real agents, as what was said and which tool was used: under SIGHTLINE_DATA, beside the project without it.

Read here by code of its own, so that questions about them do not depend on what answers them. Without data there are no
runs.
"""

import gzip
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from conversations import Conversation

from sightline.values.items import Item

DATA = Path(os.environ.get("SIGHTLINE_DATA", Path(__file__).parents[4] / "shared" / "data"))
_BASH = re.compile(r"```bash\s*\n(.*?)\n?```", re.S)


class Said(NamedTuple):
    """Words of the user or the assistant."""

    by: str
    text: str


class Used(NamedTuple):
    """A tool call with its result."""

    tool: str
    given: dict[str, Any]
    result: str


Run = list[Said | Used]


class Compacted(NamedTuple):
    """A run that was compacted by the agent's own model: what went before, its summary, what came after."""

    before: Run
    summary: str
    after: Run


def runs() -> Iterator[Run]:
    """Every recorded run of an agent that works with files."""
    for record in _records("claude_code_sessions"):
        yield _blocks(record)
    for record in _records("entire_sessions"):
        for session in record:
            if "rows" in session:
                yield _blocks(session["rows"]) or _items(session["rows"])
    for record in _records("mini_swe_agent"):
        yield from (_fenced(run["messages"]) for run in record)
    for record in _records("openhands"):
        yield from (_events(run["history"]) for run in record)


def compactions() -> Iterator[Compacted]:
    """Every recorded compaction."""
    for record in _records("entire_sessions"):
        for event in record:
            if "summary" in event:
                yield Compacted(_chat(event["pre"]), event["summary"], _chat(event["post"]))


def items_of(run: Run) -> list[Item]:
    """The run as a log has it."""
    talk = Conversation()
    for event in run:
        if isinstance(event, Used):
            talk.call(event.tool, event.given, event.result)
        elif event.by == "user":
            talk.user(event.text)
        else:
            talk.says(event.text)
    return talk.items


def text_of(run: Run) -> str:
    """Everything in it that a model would read."""
    return "\n".join(
        f"{event.tool} {json.dumps(event.given, ensure_ascii=False)}\n{event.result}"
        if isinstance(event, Used)
        else event.text
        for event in run
    )


def _records(folder: str) -> Iterator[list[Any]]:
    """The lines of every file of a folder."""
    for path in sorted((DATA / folder).glob("*.jsonl*")):
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            yield [json.loads(line) for line in file if line.strip()]


def _blocks(rows: Iterable[Any]) -> Run:
    """Messages whose content is text or a list of blocks. A call that never had a result was interrupted."""
    contents = [(row["type"], row["message"]["content"]) for row in rows if row.get("type") in ("user", "assistant")]
    blocks = [
        (by, block)
        for by, content in contents
        for block in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]
    results = {block["tool_use_id"]: _plain(block.get("content")) for _, block in blocks if "tool_use_id" in block}
    run: Run = []
    for by, block in blocks:
        if block["type"] == "text":
            run.append(Said(by, block["text"]))
        elif block["type"] == "tool_use" and block["id"] in results:
            run.append(Used(block["name"], block["input"], results.pop(block["id"])))
    return run


def _items(rows: Iterable[Any]) -> Run:
    """Items of the other kind of agent: messages, calls and outputs in a row."""
    items = [row["item"] for row in rows if row["type"] == "item"]
    results = {item["call_id"]: _plain(item.get("output")) for item in items if item["type"].endswith("_output")}
    run: Run = []
    for item in items:
        if item["type"] == "message" and item["role"] in ("user", "assistant"):
            run.append(Said(item["role"], _plain(item["content"])))
        elif item["type"] in ("function_call", "custom_tool_call") and item["call_id"] in results:
            given = _parsed(item["arguments"]) if "arguments" in item else {"input": item["input"]}
            run.append(Used(item["name"], given, results.pop(item["call_id"])))
    return run


def _fenced(messages: Iterable[Any]) -> Run:
    """An agent whose only tool is a fenced command; the next message is what came of it."""
    run: Run = []
    command = ""
    for message in messages:
        text = _plain(message["content"])
        if message["role"] == "user" and command:
            run.append(Used("bash", {"command": command}, text))
        elif message["role"] != "system":
            run.append(Said(message["role"], _BASH.sub("", text).strip()))
        command = "".join(_BASH.findall(text)[:1]) if message["role"] == "assistant" else ""
    return run


def _events(history: Iterable[Any]) -> Run:
    """Actions and, some time later, the observations they caused."""
    events = list(history)
    results = {event.get("cause"): event.get("content") or "" for event in events if "observation" in event}
    run: Run = []
    for event in events:
        if event.get("source") == "user" and event.get("action") == "message":
            run.append(Said("user", event["message"]))
        elif event.get("tool_call_metadata") and event["id"] in results:
            given = {key: value for key, value in event["args"].items() if isinstance(value, str | int) and value != ""}
            run.append(Used(event["tool_call_metadata"]["function_name"], given, results[event["id"]]))
    return run


def _chat(messages: Iterable[Any]) -> Run:
    """Chat messages, calls beside the content and results in messages of their own."""
    listed = list(messages)
    results = {message["tool_call_id"]: _plain(message["content"]) for message in listed if message["role"] == "tool"}
    run: Run = []
    for message in listed:
        if message["role"] in ("user", "assistant") and _plain(message["content"]):
            run.append(Said(message["role"], _plain(message["content"])))
        for call in message.get("tool_calls") or ():
            if call["id"] in results:
                given = _parsed(call["function"]["arguments"])
                run.append(Used(call["function"]["name"], given, results.pop(call["id"])))
    return run


def _plain(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(block.get("text", "") for block in content if isinstance(block, dict))
    return str(content or "")


def _parsed(arguments: Any) -> dict[str, Any]:
    try:
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        given = arguments
    return given if isinstance(given, dict) else {"input": given}
