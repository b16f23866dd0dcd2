"""Runs of agents on benchmarks of their own: airlines and shops, and repairs of software."""

import re
from pathlib import Path
from typing import Any

from benchmarks.quality.datasets.record_files import (
    answer,
    call,
    calling,
    json_file,
    json_lines,
    repaired,
    spoken,
    text_blocks,
)
from benchmarks.quality.messages import Message
from benchmarks.quality.records import Run

_BASH = re.compile(r"```bash\s*\n(.*?)\n?```", re.S)


def tau_bench(root: Path) -> list[Run]:
    """An airline's desk; several trials of one task are one group."""
    runs = []
    for record in json_lines(root / "tau_bench" / "gpt-4o-airline.jsonl"):
        messages = [_chat(message) for message in record["traj"]]
        runs.append(Run(f"{record['task_id']}.{record['trial']}", str(record["task_id"]), repaired(messages)))
    return runs


def _chat(message: Any) -> Message:
    kept = spoken(message["role"], message.get("content") or "")
    if message.get("tool_calls"):
        calls = [(each["id"], each["function"]) for each in message["tool_calls"]]
        kept["tool_calls"] = [call(name, function["name"], function["arguments"]) for name, function in calls]
    if message["role"] == "tool":
        kept["tool_call_id"] = message["tool_call_id"]
    return kept


def tau2_bench(root: Path) -> list[Run]:
    """Airlines, shops and telephones; the policy is the system message."""
    runs = []
    for path in sorted((root / "tau2_bench").glob("*.jsonl")):
        domain = path.stem.rsplit("_", 1)[1]
        policy = path.with_name(path.stem + ".policy.md").read_text(encoding="utf-8")
        for record in json_lines(path):
            found = [_desk(message) for message in record["messages"]]
            messages = [spoken("system", policy), *(message for message in found if message)]
            name = f"{path.stem}/{record['id']}"
            runs.append(Run(name, f"{domain}/{record['task_id']}", repaired(messages)))
    return runs


def _desk(message: Any) -> Message | None:
    """One message as the agent saw it; what the simulated user did with tools of its own is not."""
    content = message.get("content") or ""
    if message["role"] == "tool":
        return answer(message["id"], content) if _is_agents(message) else None
    if message["role"] == "user":
        return spoken("user", content) if content else None
    calls = [each for each in message.get("tool_calls") or [] if _is_agents(each)]
    kept = spoken("assistant", content)
    if calls:
        kept["tool_calls"] = [call(each["id"], each["name"], each["arguments"]) for each in calls]
    return kept if content or calls else None


def _is_agents(message: Any) -> bool:
    return bool(message.get("requestor", "assistant") == "assistant")


def mini_swe_agent(root: Path) -> list[Run]:
    """Repairs with one tool: the one bash block of an answer becomes a call, the next message its result."""
    path = next((root / "mini_swe_agent").glob("*.jsonl.gz"))
    return [
        Run(record["instance_id"], record["instance_id"], repaired(_with_bash(record["messages"])))
        for record in json_lines(path)
    ]


def _with_bash(recorded: list[Any]) -> list[Message]:
    messages: list[Message] = []
    waiting = ""
    for at, message in enumerate(recorded):
        text = text_blocks(message["content"])
        if message["role"] == "user" and waiting:
            messages.append(answer(waiting, text))
            waiting = ""
            continue
        kept = spoken(message["role"], text)
        if message["role"] == "assistant":
            commands = _BASH.findall(text)
            waiting = f"call_{at}" if len(commands) == 1 else ""
            if waiting:
                kept["content"] = _BASH.sub("", text).strip()
                kept["tool_calls"] = [call(waiting, "bash", {"command": commands[0]})]
        messages.append(kept)
    return messages


def swe_agent(root: Path) -> list[Run]:
    """Demonstrations of SWE-agent that use tool calls."""
    runs = []
    for path in sorted((root / "swe_agent").glob("*.json")):
        record = json_file(path)
        messages = repaired([_demonstrated(message) for message in record["history"]])
        if calling(messages):
            runs.append(Run(path.name, record["source_path"], messages))
    return runs


def _demonstrated(message: Any) -> Message:
    kept = spoken(message["role"], text_blocks(message["content"]))
    if message.get("tool_calls"):
        calls = [(each["id"], each["function"]) for each in message["tool_calls"]]
        kept["tool_calls"] = [call(name, function["name"], function["arguments"]) for name, function in calls]
    if message["role"] == "tool":
        kept["tool_call_id"] = (message.get("tool_call_ids") or [None])[0]
    return kept


def openhands(root: Path) -> list[Run]:
    """OpenHands' own examples, as events."""
    records = json_lines(root / "openhands" / "multi_swe_bench_examples.jsonl")
    return [
        Run(record["instance_id"], record["instance_id"], repaired(_events(record["history"]))) for record in records
    ]


def _events(events: list[Any]) -> list[Message]:
    messages: list[Message] = []
    acted: set[Any] = set()
    for event in events:
        about = event.get("tool_call_metadata") or {}
        if event.get("action") == "system":
            messages.append(spoken("system", event.get("message") or event["args"].get("content", "")))
        elif event.get("source") == "user" and event.get("action") == "message":
            messages.append(spoken("user", event.get("message") or ""))
        elif event.get("source") == "agent" and about and "observation" not in event:
            acted.add(event["id"])
            messages.append(_acted(event, about))
        elif "observation" in event and event.get("cause") in acted:
            name = f"{about.get('tool_call_id')}_{event['cause']}"
            messages.append(answer(name, event.get("content") or "(no output)"))
    return messages


def _acted(event: Any, about: Any) -> Message:
    given = {k: v for k, v in (event.get("args") or {}).items() if isinstance(v, str | int | float) and v != ""}
    kept = spoken("assistant", (about.get("message") or {}).get("content") or "")
    kept["tool_calls"] = [call(f"{about['tool_call_id']}_{event['id']}", about["function_name"], given)]
    return kept
