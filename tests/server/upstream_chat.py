"""OpenAI's Chat Completions API: its rules in its own words, and its answers, whole and streamed."""

from collections.abc import Iterator
from typing import Any

from upstream_rules import (
    CALL_TOKENS,
    FILE_TOKENS,
    IMAGE_TOKENS,
    MESSAGE_TOKENS,
    Bill,
    Json,
    Meter,
    Segment,
    check_image,
    check_names,
    check_schema,
    check_strict,
    decode,
    demand,
    dump,
    event,
    find_unknown,
    image_tokens,
    make_id,
    pieces_of,
    segment,
    split_data_url,
)
from upstream_script import Answer, Call, Raw, Thought

BODY = (
    "model", "messages", "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs",
    "max_completion_tokens", "max_tokens", "metadata", "modalities", "n", "parallel_tool_calls", "prediction",
    "presence_penalty", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "reasoning_effort",
    "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream", "stream_options",
    "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
    "moderation",
)  # fmt: skip
MESSAGES = {
    "system": ("content", "name"),
    "developer": ("content", "name"),
    "user": ("content", "name"),
    "assistant": ("content", "name", "tool_calls", "refusal", "audio", "function_call", "annotations"),
    "tool": ("content", "tool_call_id", "name"),
}
PARTS = {
    "system": {"text"}, "developer": {"text"}, "tool": {"text"}, "assistant": {"text", "refusal"},
    "user": {"text", "image_url", "input_audio", "file"},
}  # fmt: skip
MIN_MESSAGE = "Expected an array with minimum length 1, but got an empty array instead."
ERRORS = {
    400: ("invalid_request_error", None, "The request was not valid."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    403: ("invalid_request_error", None, "You are not allowed to do this."),
    404: ("invalid_request_error", None, "Invalid URL"),
    429: ("rate_limit_exceeded", "rate_limit_exceeded", "Rate limit reached for requests. Please try again later."),
    500: ("server_error", None, "The server had an error while processing your request. Sorry about that!"),
    503: ("server_error", "server_overloaded", "The server is currently overloaded. Please try again later."),
}


def error(status: int, message: str = "", param: str | None = None, code: str | None = None) -> Json:
    """An error in the provider's shape."""
    kind, usual_code, usual = ERRORS.get(status, ERRORS[500])
    return {"error": {"message": message or usual, "type": kind, "param": param, "code": code or usual_code}}


def overflow(tokens: int, window: int) -> str:
    """What is said when the prompt is larger than the context window."""
    return (
        f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages."
    )


# ------------------------------------------------------------------ rules


def check(body: Json) -> None:
    """Raise Refused unless the provider would take this request."""
    demand(isinstance(body.get("model"), str), "you must provide a model parameter")
    demand(isinstance(body.get("messages"), list), "Missing required parameter: 'messages'.", param="messages")
    unknown = find_unknown(body, BODY)
    demand(not unknown, f"Unrecognized request argument supplied: {unknown}")
    demand(body["messages"], f"Invalid 'messages': empty array. {MIN_MESSAGE}", param="messages", code="empty_array")
    for index, message in enumerate(body["messages"]):
        _check_message(message, index)
    _check_pairs(body["messages"])
    check_tools(body, [tool.get("function") for tool in body.get("tools") or [] if tool.get("type") == "function"])
    check_format(body.get("response_format") or {}, "response_format", "json_schema")
    alone = body.get("stream_options") and not body.get("stream")
    demand(
        not alone, "The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options"
    )


def _check_message(message: Any, index: int) -> None:
    where = f"messages[{index}]"
    role = message.get("role") if isinstance(message, dict) else None
    supported = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'"
    demand(role in MESSAGES, f"Invalid value: '{role}'. Supported values are: {supported}.", param=f"{where}.role")
    unknown = find_unknown(message, ("role", *MESSAGES[role]))
    demand(
        not unknown, f"Unknown parameter: '{where}.{unknown}'.", param=f"{where}.{unknown}", code="unknown_parameter"
    )
    content = message.get("content")
    if content is None:
        spoke = role == "assistant" and any(message.get(key) for key in ("tool_calls", "refusal", "audio"))
        demand(spoke, "Invalid value for 'content': expected a string, got null.", param=f"{where}.content")
    elif isinstance(content, list):
        demand(content, f"Invalid '{where}.content': empty array. {MIN_MESSAGE}", param=f"{where}.content")
        for at, part in enumerate(content):
            _check_part(part, role, f"{where}.content[{at}]")
    else:
        demand(isinstance(content, str), f"Invalid type for '{where}.content'.", param=f"{where}.content")
    if "tool_calls" in message and message["tool_calls"] is not None:
        _check_calls(message["tool_calls"], f"{where}.tool_calls")


def _check_part(part: Any, role: str, where: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    allowed = " and ".join(f"'{each}'" for each in sorted(PARTS[role]))
    demand(kind in PARTS[role], f"Invalid value: '{kind}'. Supported values are: {allowed}.", param=where)
    unknown = find_unknown(part, ("type", str(kind)))
    demand(not unknown, f"Unknown parameter: '{where}.{unknown}'.", param=where, code="unknown_parameter")
    match part:
        case {"type": "text"}:
            demand(isinstance(part.get("text"), str), f"Missing required parameter: '{where}.text'.", param=where)
        case {"type": "image_url"}:
            url = (part.get("image_url") or {}).get("url", "")
            if not url.startswith(("https://", "http://")):
                check_image(*split_data_url(url, f"{where}.image_url.url"), f"{where}.image_url")
        case {"type": "file", "file": {"file_data": data}}:
            decode(split_data_url(data, f"{where}.file.file_data")[1], f"{where}.file")


def _check_calls(calls: Any, where: str) -> None:
    demand(calls, f"Invalid '{where}': empty array. {MIN_MESSAGE}", param=where, code="empty_array")
    for at, each in enumerate(calls):
        valid = (
            isinstance(each, dict) and isinstance(each.get("id"), str) and each.get("type") in ("function", "custom")
        )
        demand(valid, f"Missing required parameter: '{where}[{at}].id'.", param=where)
        too_long = len(each["id"]) > 40
        demand(not too_long, f"Invalid '{where}[{at}].id': string too long. Expected maximum length 40.", param=where)
        function = each.get("function") or each.get("custom") or {}
        demand(function.get("name"), f"Missing required parameter: '{where}[{at}].function.name'.", param=where)
        text = function.get("arguments", function.get("input"))
        demand(isinstance(text, str), f"Invalid type for '{where}[{at}].function.arguments': expected a string.")
    ids = [each["id"] for each in calls]
    demand(len(set(ids)) == len(ids), f"Invalid '{where}': duplicate value for 'id'.", param=where)


def _check_pairs(messages: list[Json]) -> None:
    """The results of an assistant's calls come directly after it, one for each call."""
    waiting: list[str] = []
    called = 0
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            demand(
                message.get("tool_call_id") in waiting,
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                "'tool_calls'.",
                param=f"messages.[{index}].role",
            )
            waiting.remove(message["tool_call_id"])
            continue
        demand(not waiting, _unanswered(waiting), param=f"messages.[{called}].role")
        waiting, called = [each["id"] for each in message.get("tool_calls") or ()], index
    demand(not waiting, _unanswered(waiting), param=f"messages.[{called}].role")


def _unanswered(ids: list[str]) -> str:
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(ids)}"
    )


def check_tools(body: Json, functions: list[Any]) -> None:
    """Raise Refused unless the functions are well formed and a choice is among them."""
    check_names(
        [each.get("name") for each in functions], 64,
        lambda index, name: f"Invalid 'tools[{index}].function.name': string does not match pattern. Got '{name}'.",
        "Invalid 'tools': tool names must be unique.",
    )  # fmt: skip
    for each in functions:
        message = f"Invalid schema for function '{each['name']}'"
        if each.get("parameters") is not None:
            check_schema(each["parameters"], message)
        if each.get("strict"):
            check_strict(each.get("parameters"), message)
    given = bool(body.get("tools"))
    for option in ("tool_choice", "parallel_tool_calls"):
        needless = body.get(option) in (None, "none", "auto") if option == "tool_choice" else body.get(option) is None
        demand(given or needless, f"'{option}' is only allowed when 'tools' are specified.", param=option)
    match body.get("tool_choice"):
        case {"type": "function", "function": {"name": name}} | {"type": "function", "name": name}:
            known = any(each["name"] == name for each in functions)
            demand(known, f"Tool choice '{name}' not found in 'tools' parameter.", param="tool_choice")


def check_format(chosen: Json, param: str, inside: str) -> None:
    """Raise Refused unless the form of a structured answer is well formed."""
    if chosen.get("type") != "json_schema":
        return
    schema = chosen.get(inside) if inside else chosen
    demand(isinstance(schema, dict) and schema.get("name"), f"Missing required parameter: '{param}.name'.", param=param)
    message = f"Invalid schema for response_format '{schema['name']}'"  # type: ignore[index]
    check_schema(schema.get("schema"), message)  # type: ignore[union-attr]
    if schema.get("strict"):  # type: ignore[union-attr]
        check_strict(schema["schema"], message)  # type: ignore[index]


# ------------------------------------------------------------------ tokens


def measure(body: Json, meter: Meter) -> list[Segment]:
    """The prompt in the order in which it is cached: tools, messages."""
    segments = [segment(tool, meter.count(tool)) for tool in body.get("tools") or []]
    return segments + [segment(message, message_tokens(message, meter)) for message in body["messages"]]


def message_tokens(message: Json, meter: Meter) -> int:
    """Tokens of one message."""
    content = message.get("content") or ""
    tokens = MESSAGE_TOKENS
    tokens += meter.count(content) if isinstance(content, str) else sum(part_tokens(each, meter) for each in content)
    for each in message.get("tool_calls") or ():
        function = each.get("function") or each.get("custom") or {}
        tokens += meter.count(function.get("name", "")) + CALL_TOKENS
        tokens += meter.count(function.get("arguments") or function.get("input") or "")
    return tokens


def part_tokens(part: Json, meter: Meter) -> int:
    """Tokens of one content part; media by their size, never by their base64."""
    match part:
        case {"text": str(text)} | {"refusal": str(text)}:
            return meter.count(text)
        case {"image_url": {"url": str(url)}} | {"image_url": str(url)}:
            return image_tokens(url.partition(",")[2]) if url.startswith("data:") else IMAGE_TOKENS
        case {"type": "file" | "input_file"}:
            return FILE_TOKENS
        case _:
            return meter.count(part)


# ------------------------------------------------------------------ answers


def message_of(step: Answer) -> Json:
    """The message of an answer. Thinking is not shown here; a model that thinks is only billed for it."""
    text = "".join(block for block in step.blocks if isinstance(block, str))
    calls = [
        {"id": each.id or make_id("call"), "type": "function",
         "function": {"name": each.name, "arguments": dump(each.arguments)}}
        for each in step.blocks if isinstance(each, Call)
    ]  # fmt: skip
    assert not any(isinstance(block, Raw) for block in step.blocks), "chat completions have no blocks of their own"
    message: Json = {"role": "assistant", "content": text or None, "refusal": None, "annotations": []}
    return message | ({"tool_calls": calls} if calls else {})


def output_tokens(step: Answer, meter: Meter) -> tuple[int, int]:
    """Tokens of the output, and of these the thinking."""
    thought = sum(meter.count(each.text) for each in step.blocks if isinstance(each, Thought))
    said = sum(meter.count(each) for each in step.blocks if isinstance(each, str))
    calls = sum(meter.count(each.arguments) + CALL_TOKENS for each in step.blocks if isinstance(each, Call))
    return thought + said + calls, thought


def usage(bill: Bill) -> Json:
    """What was billed."""
    return {
        "prompt_tokens": bill.given, "completion_tokens": bill.made, "total_tokens": bill.given + bill.made,
        "prompt_tokens_details": {"cached_tokens": bill.read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": bill.thought, "audio_tokens": 0},
    }  # fmt: skip


def _head(body: Json, kind: str) -> Json:
    return {
        "id": make_id("chatcmpl"), "object": kind, "created": 1790000000, "model": body["model"],
        "service_tier": "default", "system_fingerprint": "fp_upstream",
    }  # fmt: skip


def whole(step: Answer, body: Json, message: Json, bill: Bill) -> Json:
    """The answer as one object."""
    stop = step.stop or ("tool_calls" if "tool_calls" in message else "stop")
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": stop}
    return {**_head(body, "chat.completion"), "choices": [choice], "usage": usage(bill)}


def events(step: Answer, body: Json, message: Json, bill: Bill) -> Iterator[bytes]:
    """The answer chunk by chunk."""
    counted = (body.get("stream_options") or {}).get("include_usage")
    head = _head(body, "chat.completion.chunk") | ({"usage": None} if counted else {})
    text, calls = message["content"] or "", message.get("tool_calls", [])

    def chunk(delta: Json, finish: str | None = None) -> bytes:
        return event({**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": "" if text or not calls else None, "refusal": None})
    for piece in pieces_of(text):
        yield chunk({"content": piece})
    for at, each in enumerate(calls):
        arguments = each["function"]["arguments"]
        yield chunk({"tool_calls": [{**each, "index": at, "function": {**each["function"], "arguments": ""}}]})
        for piece in (arguments[:1], arguments[1:6], arguments[6:]):
            if piece:
                yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, step.stop or ("tool_calls" if calls else "stop"))
    if counted:
        yield event({**head, "choices": [], "usage": usage(bill)})
    yield event("[DONE]")


def error_event(told: Json) -> bytes:
    """An error inside a stream."""
    return event({"error": told})
