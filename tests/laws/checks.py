"""What the laws demand of one payload, computed without the engine's own sums."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from world import Sent

from sightline.log.columns import HEAD, OPAQUE
from sightline.plan.plan import Plan
from sightline.session.session import Session
from sightline.values.items import Blob, Call, File, Image, Kind, Lod, Message, Opaque, Part, Result, Text, blob_text
from sightline.values.profiles import media_tokens, opaque_tokens
from sightline.wire.payload import Payload

Json = dict[str, Any]

# ------------------------------------------------------------------ tokens


def recount(session: Session, payload: Payload) -> int:
    """Tokens of everything the payload says, counted again part by part, with the profile's framing."""
    profile, count = session.log.reader.profile, session.log.reader.counter.count
    tools = count(msgspec.json.encode(payload.tools).decode()) if payload.tools else 0
    messages = [*payload.system, *payload.body, *payload.tail]
    framing = profile.request_tokens + len(messages) * profile.message_tokens
    return tools + framing + sum(_tokens(session, part) for message in messages for part in message.parts)


def _tokens(session: Session, part: Part) -> int:
    profile, count = session.log.reader.profile, session.log.reader.counter.count
    match part:
        case Text():
            return count(part.text)
        case Blob():
            return count(blob_text(part))
        case Image() | File():
            return media_tokens(part, profile)
        case Call():
            arguments = part.raw if part.raw is not None else msgspec.json.encode(part.input).decode()
            return profile.call_tokens + count(part.name) + count(arguments)
        case Opaque():
            return opaque_tokens(part, profile, count)
        case Result():
            return sum(_tokens(session, inner) for inner in part.parts)


def least(session: Session, around: int) -> int:
    """The fewest tokens a payload can have: what is around, and at its lowest level every unit that must be in."""
    timeline, path = session.log.timeline, session.log.path
    profile = session.log.reader.profile
    pinned = {row for row, mark in timeline.marked(path).items() if mark.what == "pin"}
    users = [row for row in session.items._rows() if timeline.kind[row] == Kind.USER]
    sliding = session.settings.strategy != "focus"  # which shortens nothing of a unit that somebody pinned
    tokens = around
    for unit in sorted({timeline.unit[row] for row in session.items._rows()}):
        rows = timeline.rows_of(unit)
        late = timeline.kind[rows[0]] == Kind.SYSTEM and not timeline.state[rows[0]] & HEAD
        if not (late or pinned & set(rows) or rows[0] in users[-1:]):
            continue
        for row in rows:
            framing = profile.call_tokens if timeline.kind[row] == Kind.CALL else profile.message_tokens
            own = timeline.state[row] & OPAQUE and row > max(users, default=-1)  # untouched while their turn is open
            whole = row in pinned or own or (sliding and pinned & set(rows))
            tokens += framing + timeline.size(row, Lod.FULL if whole else Lod.GIST)
    return tokens


# ------------------------------------------------------------------ pairs, in each format


def check_openai(written: Json) -> None:
    """Each call answered right behind its message; no result without a call; ids legal and unique."""
    waiting: list[str] = []
    seen: list[str] = []
    for message in written["messages"]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, f"calls without a result: {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        seen += waiting
    assert not waiting
    _legal(seen, r"(?s).{1,40}")


def check_responses(written: Json) -> None:
    """Each call has its one output before anything else but calls is said; ids legal and unique."""
    waiting: list[str] = []
    seen: list[str] = []
    for item in written["input"]:
        match item.get("type"):
            case "function_call" | "custom_tool_call":
                waiting.append(item["call_id"])
                seen.append(item["call_id"])
            case "function_call_output" | "custom_tool_call_output":
                waiting.remove(item["call_id"])
            case _ if item.get("role") in ("user", "system"):
                assert not waiting, f"calls without an output: {waiting}"
            case _:
                pass
    assert not waiting
    _legal(seen, r"[a-zA-Z0-9_-]{1,64}")


def check_anthropic(written: Json) -> None:
    """All calls of a message answered at the start of the next one, and only there; ids legal and unique."""
    waiting: list[str] = []
    seen: list[str] = []
    for message in written["messages"]:
        answered = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert sorted(answered) == sorted(waiting), f"{answered} answer {waiting}"
        assert [block["type"] for block in message["content"]][: len(answered)] == ["tool_result"] * len(answered)
        waiting = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert not waiting or message["role"] == "assistant"
        seen += waiting
    assert not waiting
    _legal(seen, r"[a-zA-Z0-9_-]{1,64}")


def _legal(ids: Sequence[str], pattern: str) -> None:
    assert len(set(ids)) == len(ids), "an id is used twice"
    assert all(re.fullmatch(pattern, call_id) for call_id in ids)


# ------------------------------------------------------------------ prefix

REASONS = (
    "sweep", "command", "window in place", "tools or system changed", "settings changed", "layout", "first message",
)  # fmt: skip


def blocks(payload: Payload) -> list[bytes]:
    """Head and body, block by block, as bytes."""
    head = msgspec.json.encode((payload.system, payload.tools))
    return [head, *(msgspec.json.encode((m.role, m.parts, m.merge_into_previous)) for m in payload.body)]


def first_difference(before: Sequence[Any], after: Sequence[Any]) -> int | None:
    """Where the second stops beginning with the first; None: it begins with all of it."""
    pairs = zip(before, after, strict=False)
    different = next((at for at, (old, new) in enumerate(pairs) if old != new), None)
    return len(after) if different is None and len(after) < len(before) else different


def wires(payload: Payload) -> Iterator[tuple[str, list[Json]]]:
    """The three formats' messages, without the tail and without cache markers."""
    alone = replace(payload, tail=())
    for name in ("openai", "responses", "anthropic"):
        written = getattr(alone, name)()
        yield name, [_unmarked(message) for message in written.get("messages") or written.get("input") or []]


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [_unmarked(inner) for inner in value] if isinstance(value, list) else value


def check_grown(before: list[Json], after: list[Json]) -> None:
    """Every message sent before is there again; only the last may have gained blocks at its end."""
    if not before:
        return
    assert after[: len(before) - 1] == before[:-1]
    old, new = before[-1], after[len(before) - 1]
    if old != new:
        assert new | {"content": None} == old | {"content": None}
        said = _content_blocks(old)
        assert _content_blocks(new)[: len(said)] == said


def _content_blocks(message: Json) -> list[Any]:
    """The content of a message as blocks, a plain text as itself: the law compares blocks, not how they are spelt."""
    content = message["content"]
    if isinstance(content, str):
        return [content] if content else []
    return [block["text"] if block.keys() == {"type", "text"} else block for block in content or ()]


def check_prefix(before: Sent, now: Sent) -> None:
    """Either nothing sent before has changed, or the receipt says where it first did and why."""
    changed = first_difference(blocks(before.payload), blocks(now.payload))
    empty = not (before.payload.body or before.payload.tail)
    if empty and now.payload.body:  # a wire must say something where there is nothing to say
        changed = 1 if changed is None else changed
    assert now.receipt.changed == changed
    if changed is None:
        assert now.receipt.reason == ""
        if before.payload.body:
            for (_, old), (_, new) in zip(wires(before.payload), wires(now.payload), strict=True):
                check_grown(old, new)
    else:
        assert now.receipt.reason.startswith(REASONS), now.receipt.reason


# ------------------------------------------------------------------ what is shown


def levels(plan: Plan) -> dict[int, Lod]:
    """Every row of the plan and the level it is shown at."""
    return {row: plan.lod(row) for unit in plan for row in plan.timeline.rows_of(unit)}


def reduced_ids(session: Session, payload: Payload) -> list[str]:
    """Items of the branch that this payload does not show in full."""
    timeline, shown_rows = session.log.timeline, levels(payload.plan)
    heads = {message.id for message in payload.system}
    missing = [row for row in session.items._rows() if shown_rows.get(row) is not Lod.FULL]
    return [timeline.id(row) for row in missing if timeline.id(row) not in heads and timeline.kind[row] != Kind.WINDOW]


def message_of(payload: Payload, item_id: str) -> Message | None:
    """The message that shows this item."""
    everything = (*payload.system, *payload.body)
    return next((message for message in everything if message.id == item_id.partition(".")[0]), None)
