"""Answers of OpenAI's Responses API, whole and as a stream of events."""

from collections.abc import Iterator
from itertools import count

from upstream_rules import Bill, Json, dump, event, make_id, pieces_of, seal
from upstream_script import Answer, Call, Raw, Thought


def items_of(step: Answer, body: Json) -> list[Json]:
    """The output items of an answer: calls with both ids, reasoning sealed if it is not stored here."""
    output: list[Json] = []
    wanted = "reasoning.encrypted_content" in (body.get("include") or ()) or body.get("store") is False
    for block in step.blocks:
        match block:
            case str():
                part = {"type": "output_text", "annotations": [], "logprobs": [], "text": block}
                output.append(
                    {"id": make_id("msg"), "type": "message", "status": "completed", "role": "assistant",
                     "content": [part]}
                )  # fmt: skip
            case Thought(text, hidden):
                summary = [] if hidden else [{"type": "summary_text", "text": text}]
                item: Json = {"id": make_id("rs"), "type": "reasoning", "summary": summary}
                output.append(item | ({"encrypted_content": seal(text)} if wanted else {}))
            case Call(name, arguments, call_id):
                output.append(
                    {"id": make_id("fc"), "type": "function_call", "status": "completed", "arguments": dump(arguments),
                     "call_id": call_id or make_id("call"), "name": name}
                )  # fmt: skip
            case Raw(raw):
                output.append({"id": make_id("it"), **raw})
    return output


def start(body: Json) -> Json:
    """A response as it is when it begins."""
    return {
        "id": make_id("resp"), "object": "response", "created_at": 1790000000, "status": "in_progress",
        "background": False, "error": None, "incomplete_details": None, "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"), "metadata": body.get("metadata") or {},
        "model": body["model"], "output": [], "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"), "prompt_cache_key": body.get("prompt_cache_key"),
        "reasoning": body.get("reasoning") or {"effort": None, "summary": None}, "service_tier": "default",
        "store": body.get("store", True), "temperature": 1.0, "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto", "tools": body.get("tools") or [], "top_p": 1.0,
        "truncation": "disabled", "usage": None, "user": None,
    }  # fmt: skip


def whole(step: Answer, begun: Json, output: list[Json], bill: Bill) -> Json:
    """The response when it is done; stop "length" makes it incomplete."""
    usage = {
        "input_tokens": bill.given, "input_tokens_details": {"cached_tokens": bill.read},
        "output_tokens": bill.made, "output_tokens_details": {"reasoning_tokens": bill.thought},
        "total_tokens": bill.given + bill.made,
    }  # fmt: skip
    cut_off = step.stop in ("length", "max_output_tokens")
    ended: Json = {"status": "completed"}
    if cut_off or step.stop == "content_filter":
        reason = "max_output_tokens" if cut_off else "content_filter"
        ended = {"status": "incomplete", "incomplete_details": {"reason": reason}}
    return {**begun, **ended, "output": output, "usage": usage}


def events(begun: Json, ended: Json) -> Iterator[bytes]:
    """The response event by event, numbered."""
    numbers = count()

    def told(kind: str, **more: object) -> bytes:
        return event({"type": kind, "sequence_number": next(numbers), **more}, kind)

    yield told("response.created", response=begun)
    yield told("response.in_progress", response=begun)
    for at, item in enumerate(ended["output"]):
        yield told("response.output_item.added", output_index=at, item=_opened(item))
        for kind, more in _item_events(item):
            yield told(kind, item_id=item["id"], output_index=at, **more)
        yield told("response.output_item.done", output_index=at, item=item)
    yield told(f"response.{ended['status']}", response=ended)


def _opened(item: Json) -> Json:
    """An item as it is when it starts: what comes in deltas is empty."""
    empty: dict[str, Json] = {
        "message": {"content": []},
        "function_call": {"arguments": ""},
        "reasoning": {"summary": []},
    }
    return {**item, **empty.get(item["type"], {}), **({"status": "in_progress"} if "status" in item else {})}


def _item_events(item: Json) -> Iterator[tuple[str, Json]]:
    match item["type"]:
        case "message":
            for at, part in enumerate(item["content"]):
                where = {"content_index": at}
                yield "response.content_part.added", {**where, "part": {**part, "text": ""}}
                for piece in pieces_of(part["text"]):
                    yield "response.output_text.delta", {**where, "delta": piece, "logprobs": []}
                yield "response.output_text.done", {**where, "text": part["text"], "logprobs": []}
                yield "response.content_part.done", {**where, "part": part}
        case "function_call":
            text = item["arguments"]
            for piece in (text[:1], text[1:6], text[6:]):
                if piece:
                    yield "response.function_call_arguments.delta", {"delta": piece}
            yield "response.function_call_arguments.done", {"arguments": text, "name": item["name"]}
        case "reasoning":
            for at, part in enumerate(item["summary"]):
                where = {"summary_index": at}
                yield "response.reasoning_summary_part.added", {**where, "part": {**part, "text": ""}}
                for piece in pieces_of(part["text"]):
                    yield "response.reasoning_summary_text.delta", {**where, "delta": piece}
                yield "response.reasoning_summary_text.done", {**where, "text": part["text"]}
                yield "response.reasoning_summary_part.done", {**where, "part": part}


def failed_events(begun: Json, code: str, message: str) -> Iterator[bytes]:
    """A response that fails after it began, as an overflow does in a stream."""
    response = {**begun, "status": "failed", "error": {"code": code, "message": message}}
    for number, (kind, value) in enumerate([("created", begun), ("in_progress", begun), ("failed", response)]):
        yield event({"type": f"response.{kind}", "sequence_number": number, "response": value}, f"response.{kind}")


def error_event(told: Json) -> bytes:
    """An error inside a stream."""
    return event({"type": "error", "sequence_number": 0, "param": None, **told}, "error")
