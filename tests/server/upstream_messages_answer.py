"""Answers of Anthropic's Messages API, whole and as a stream of events, and the tokens of its requests."""

from collections.abc import Iterator

from upstream_rules import (
    CALL_TOKENS,
    FILE_TOKENS,
    IMAGE_TOKENS,
    MESSAGE_TOKENS,
    Bill,
    Json,
    Meter,
    Segment,
    dump,
    event,
    image_tokens,
    make_id,
    pieces_of,
    seal,
    segment,
    sign,
)
from upstream_script import Answer, Call, Raw, Thought

ERRORS = {
    400: ("invalid_request_error", "The request was not valid."),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "Not Found"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit. Please try again later."),
    500: ("api_error", "Internal server error"),
    503: ("api_error", "Service unavailable"),
    529: ("overloaded_error", "Overloaded"),
}


def error(status: int, message: str = "") -> Json:
    """An error in the provider's shape."""
    kind, usual = ERRORS.get(status, ("api_error", "Internal server error"))
    told = {"type": kind, "message": message or usual}
    return {"type": "error", "error": told, "request_id": make_id("req")}


def overflow(tokens: int, window: int) -> str:
    """What is said when the prompt is larger than the context window."""
    return f"prompt is too long: {tokens} tokens > {window} maximum"


def blocks_of(step: Answer) -> list[Json]:
    """The content of an answer: thinking signed, calls with ids."""
    content: list[Json] = []
    for block in step.blocks:
        match block:
            case str():
                content.append({"type": "text", "text": block})
            case Thought(text, hidden=True):
                content.append({"type": "redacted_thinking", "data": seal(text)})
            case Thought(text):
                content.append({"type": "thinking", "thinking": text, "signature": sign(text)})
            case Call(name, arguments, call_id):
                call_id = call_id or make_id("toolu")
                content.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
            case Raw(raw):
                content.append(raw)
    return content


def whole(step: Answer, body: Json, content: list[Json], bill: Bill) -> Json:
    """The answer as one message."""
    return _message(body, content, _stop(step, content), _usage(body, bill, bill.made))


def _stop(step: Answer, content: list[Json]) -> str:
    return step.stop or ("tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn")


def _usage(body: Json, bill: Bill, made: int) -> Json:
    for_an_hour = bill.written if '"ttl":"1h"' in dump(body) else 0
    return {
        "input_tokens": bill.given - bill.read - bill.written, "cache_creation_input_tokens": bill.written,
        "cache_read_input_tokens": bill.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": bill.written - for_an_hour, "ephemeral_1h_input_tokens": for_an_hour,
        },
        "output_tokens": made, "service_tier": "standard",
    }  # fmt: skip


def _message(body: Json, content: list[Json], stop: str | None, usage: Json) -> Json:
    return {
        "id": make_id("msg"), "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def events(step: Answer, body: Json, content: list[Json], bill: Bill) -> Iterator[bytes]:
    """The answer event by event."""
    yield _event({"type": "message_start", "message": _message(body, [], None, _usage(body, bill, 1))})
    for at, block in enumerate(content):
        yield _event({"type": "content_block_start", "index": at, "content_block": _opened(block)})
        if at == 0:
            yield _event({"type": "ping"})
        for delta in _deltas(block):
            yield _event({"type": "content_block_delta", "index": at, "delta": delta})
        yield _event({"type": "content_block_stop", "index": at})
    usage = {key: value for key, value in _usage(body, bill, bill.made).items() if key.endswith("_tokens")}
    delta = {"stop_reason": _stop(step, content), "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": delta, "usage": usage})
    yield _event({"type": "message_stop"})


def _opened(block: Json) -> Json:
    """A block as it is when it starts: what comes in deltas is empty."""
    empty: dict[str, Json] = {
        "text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}},
        "server_tool_use": {"input": {}},
    }  # fmt: skip
    return block | empty.get(block["type"], {})


def _deltas(block: Json) -> Iterator[Json]:
    match block["type"]:
        case "text":
            for piece in pieces_of(block["text"]):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in pieces_of(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use" | "server_tool_use":
            text = dump(block["input"])
            for piece in ("", text[:1], text[1:6], text[6:]):
                yield {"type": "input_json_delta", "partial_json": piece}


def _event(value: Json) -> bytes:
    return event(value, value["type"])


def error_event(told: Json) -> bytes:
    """An error inside a stream."""
    return _event({"type": "error", "error": told})


# ------------------------------------------------------------------ tokens


def measure(body: Json, meter: Meter) -> list[Segment]:
    """The prompt in the order in which it is cached: tools, system, messages."""
    segments = [segment(tool, meter.count(tool)) for tool in body.get("tools") or []]
    system = body.get("system") or []
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    segments += [segment(block, meter.count(block["text"]) + MESSAGE_TOKENS) for block in blocks]
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for at, block in enumerate(parts):
            tokens = block_tokens(block, meter) + (0 if at else MESSAGE_TOKENS)
            segments.append(segment(block, tokens, message["role"]))
    if body.get("cache_control") and segments:
        segments[-1] = Segment(segments[-1].key, segments[-1].tokens, marked=True)
    return segments


def block_tokens(block: Json, meter: Meter) -> int:
    """Tokens of one block; media by their size, never by their base64."""
    match block:
        case {"type": "text", "text": text} | {"type": "thinking", "thinking": text}:
            return meter.count(text)
        case {"type": "image", "source": {"type": "base64", "data": data}}:
            return image_tokens(data)
        case {"type": "image"}:
            return IMAGE_TOKENS
        case {"type": "document", "source": {"type": "text", "data": text}}:
            return meter.count(text)
        case {"type": "document"}:
            return FILE_TOKENS
        case {"type": "tool_use" | "server_tool_use", "name": name, "input": arguments}:
            return meter.count(name) + meter.count(arguments) + CALL_TOKENS
        case {"type": "tool_result"}:
            content = block.get("content", "")
            inner = meter.count(content) if isinstance(content, str) else 0
            return inner or sum(block_tokens(each, meter) for each in content if isinstance(each, dict))
        case _:
            return meter.count(block)
