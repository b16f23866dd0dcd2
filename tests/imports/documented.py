"""What the logs of Claude Code and Codex say, worked out from the description of their formats and nothing else.

It is written apart from the importer, whole files in memory, so that the two can be compared.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from sightline.values.items import Usage

Json = dict[str, Any]
Said = tuple[str, ...]  # ("user", text), ("assistant", text), ("call", id, name), ("result", id, text)

LINKED = ("user", "assistant", "progress", "system", "attachment")


def values(data: bytes) -> list[Any]:
    """The JSON of each line that is not blank; None for one that is no JSON."""
    return [_value(line) for line in data.split(b"\n") if line.strip(b" \t\r\n\x00")]


def _value(line: bytes) -> Any:
    try:
        return json.loads(line.strip(b" \t\r\n\x00"))
    except ValueError:
        return None


def squeezed(text: str) -> str:
    """A text without blanks: where a reminder is cut out of a message, those around it may go."""
    return "".join(text.split())


def _text(content: Any) -> str:
    blocks = content if isinstance(content, list) else [content]
    texts = (each if isinstance(each, str) else each.get("text") or "" for each in blocks if each)
    return squeezed("".join(text for text in texts if isinstance(text, str)))


# ---------------------------------------------------------------------- Claude Code


def claude_lines(lines: Iterable[Any]) -> list[Json]:
    """The lines that the user and the model see on resuming: the chain of the newest message, with its siblings."""
    rows = [row for row in lines if isinstance(row, dict) and row.get("type") in LINKED and row.get("uuid")]
    first: dict[str, int] = {}
    for at, row in enumerate(rows):
        first.setdefault(row["uuid"], at)
    rows = [row for at, row in enumerate(rows) if first[row["uuid"]] == at]  # one may be written again
    at = {row["uuid"]: number for number, row in enumerate(rows)}
    speakers = [row for row in rows if row["type"] in ("user", "assistant")]
    is_subagent = all(row.get("isSidechain") for row in speakers)  # its file is one side chain
    parents = {row.get("parentUuid") for row in rows}
    leaves = [_speaker(row, rows, at) for row in rows if row["uuid"] not in parents]
    main = [row for row in leaves if row is not None and _is_main(row, is_subagent)]
    chain: list[Json] = []
    row = max(main, key=lambda leaf: at[leaf["uuid"]]) if main else None
    while row is not None and row not in chain:
        chain.append(row)
        row = rows[at[row["parentUuid"]]] if row.get("parentUuid") in at else None
    return [
        row for row in _with_siblings(rows, {row["uuid"] for row in chain})
        if row["type"] in ("user", "assistant") and _is_main(row, is_subagent)
    ]  # fmt: skip


def _speaker(row: Json | None, rows: list[Json], at: dict[str, int]) -> Json | None:
    while row is not None and row["type"] not in ("user", "assistant"):
        row = rows[at[row["parentUuid"]]] if row.get("parentUuid") in at else None
    return row


def _is_main(row: Json, is_subagent: bool) -> bool:
    return not (row.get("isMeta") or row.get("teamName") or (row.get("isSidechain") and not is_subagent))


def _with_siblings(rows: list[Json], chain: set[str]) -> list[Json]:
    """Parallel calls branch: each result hangs below its own call. The other lines of a message belong to it."""
    messages = {row["message"].get("id") for row in rows if row["uuid"] in chain and row["type"] == "assistant"} - {
        None
    }
    parts = {row["uuid"] for row in rows if row["type"] == "assistant" and row["message"].get("id") in messages}
    chain = chain | parts
    calls = {block["id"] for row in rows if row["uuid"] in chain for block in _blocks(row, "tool_use")}
    answered = {block["tool_use_id"] for row in rows if row["uuid"] in chain for block in _blocks(row, "tool_result")}
    for row in rows:
        given = {block["tool_use_id"] for block in _blocks(row, "tool_result")}
        if given & (calls - answered):
            chain.add(row["uuid"])
            answered |= given
    return [row for row in rows if row["uuid"] in chain]


def _blocks(row: Json, kind: str) -> Iterator[Json]:
    content = (row.get("message") or {}).get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == kind:
            yield block


def claude_said(lines: Iterable[Any]) -> list[Said]:
    """What they say, a piece at a time, without what the model only thought. The lines of a message are one."""
    messages: dict[Any, list[Said]] = {}
    for row in claude_lines(lines):
        key = row["message"].get("id") or row["uuid"] if row["type"] == "assistant" else row["uuid"]
        messages.setdefault(key, []).extend(_pieces(row))
    return joined(piece for message in messages.values() for piece in message)


def _pieces(row: Json) -> Iterator[Said]:
    content = row["message"].get("content")
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
        match block:
            case {"type": "text", "text": str(text)}:
                yield row["type"], squeezed(text)
            case {"type": "tool_use", "id": call, "name": name}:
                yield "call", call, name
            case {"type": "tool_result", "tool_use_id": call}:
                yield "result", call, _text(block.get("content"))


def joined(pieces: Iterable[Said]) -> list[Said]:
    """The pieces, with texts of one speaker that follow each other as one."""
    said: list[Said] = []
    for piece in pieces:
        match piece:
            case (_, ""):
                continue
            case (role, text) if said and len(said[-1]) == 2 and said[-1][0] == role:
                said[-1] = (role, said[-1][1] + text)
            case _:
                said.append(piece)
    return said


def claude_usage(lines: Iterable[Any]) -> Usage | None:
    """The tokens of all calls. The lines of one message repeat its usage, the last one has the final count."""
    calls: dict[tuple[Any, Any], Json] = {}
    for row in lines:
        if isinstance(row, dict) and row.get("type") == "assistant" and (row.get("message") or {}).get("usage"):
            calls[row["message"].get("id"), row.get("requestId")] = row["message"]["usage"]
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    fresh, output, read, written = (sum(used.get(name) or 0 for used in calls.values()) for name in names)
    return Usage(fresh + read + written, output, read, written) if calls else None


# ---------------------------------------------------------------------- Codex


def codex_said(lines: Iterable[Any]) -> list[Said]:
    """What the model has before it on resuming. The last compaction's history replaces everything before it."""
    history: list[Json] = []
    for row in lines:
        match row:
            case {"type": "response_item", "payload": {"type": _} as item}:
                history.append(item)
            case {"type": "compacted", "payload": payload}:
                users = [item for item in history if _is_users(item)]
                summary = {"type": "message", "role": "user", "content": payload.get("message") or ""}
                replaced = payload.get("replacement_history")
                history = [*users, summary] if replaced is None else [*replaced]
            case {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": int(count)}}:
                turns = [at for at, item in enumerate(history) if _is_users(item)]
                history = history[: turns[-count:][0]] if turns and count else history
    return joined(said for item in history for said in _item(item))


def _is_users(item: Json) -> bool:
    return (
        item.get("type") == "message" and item.get("role") == "user" and not _text(item.get("content")).startswith("<")
    )


def _item(item: Json) -> Iterator[Said]:
    match item:
        case {"type": "message", "role": role, "content": content} if _text(content):
            yield "system" if role == "developer" else role, _text(content)
        case {"type": "function_call" | "custom_tool_call", "call_id": call, "name": name}:
            yield "call", call, name
        case {"type": "function_call_output" | "custom_tool_call_output", "call_id": call, "output": output}:
            yield "result", call, _text(output)


def codex_usage(lines: Iterable[Any]) -> Usage | None:
    """The tokens of all calls. Where the rollout has totals, its last total is that; else equal neighbours are one."""
    total: Json | None = None
    calls: list[Json] = []
    for row in lines:
        match row:
            case {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": last} as info}}:
                total = info.get("total_token_usage", total)
                if not calls or calls[-1] != last:
                    calls.append(last)
    names = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens")
    counted = [total] if total is not None and "input_tokens" in total else calls
    return Usage(*(sum(used.get(name) or 0 for used in counted) for name in names)) if counted else None
