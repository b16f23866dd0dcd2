"""The rules of OpenAI's Responses API, in its own words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from upstream_chat import check_format, check_tools, part_tokens
from upstream_rules import (
    CALL_TOKENS,
    MESSAGE_TOKENS,
    Json,
    Meter,
    Refused,
    Segment,
    check_image,
    decode,
    demand,
    find_unknown,
    is_sealed,
    segment,
    split_data_url,
)

BODY = (
    "model", "input", "access_programs", "background", "context_management", "conversation", "include", "instructions",
    "max_output_tokens", "max_tool_calls", "metadata", "moderation", "parallel_tool_calls", "previous_response_id",
    "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning", "safety_identifier",
    "service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs",
    "top_p", "truncation", "user", "client_metadata",
)  # fmt: skip
PARTS = {
    "user": {"input_text", "input_image", "input_file"},
    "system": {"input_text"}, "developer": {"input_text"},
    "assistant": {"output_text", "refusal"},
}  # fmt: skip
PASSED = "internal_chat_message_metadata_passthrough"  # Codex sends it to ChatGPT
ITEMS: Mapping[str, tuple[str, ...]] = {
    "message": ("id", "role", "content", "status", "phase", PASSED),
    "function_call": ("id", "call_id", "name", "arguments", "status", "namespace", "caller", PASSED),
    "function_call_output": ("id", "call_id", "output", "status", "caller", PASSED),
    "custom_tool_call": ("id", "call_id", "name", "input", "status", "namespace", "caller", PASSED),
    "custom_tool_call_output": ("id", "call_id", "output", "status", "caller", PASSED),
    "reasoning": ("id", "summary", "content", "encrypted_content", "status", PASSED),
    "item_reference": ("id",),
}
PREFIXES = {"function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"}
CALLS = {"function_call", "custom_tool_call"}
OUTPUTS = {"function_call_output", "custom_tool_call_output"}


def overflow(tokens: int, window: int) -> str:
    """What is said when the prompt is larger than the context window."""
    return "Your input exceeds the context window of this model. Please adjust your input and try again."


@dataclass
class Memory:
    """What the provider remembers of its own responses."""

    stored: dict[str, list[Json]] = field(default_factory=dict)  # response id → its whole input and output
    issued: dict[str, list[Json]] = field(default_factory=dict)  # item id → the output that it was part of
    persisted: set[str] = field(default_factory=set)  # ids of items that may be meant by their id alone

    def note(self, response: Json, items: list[Json]) -> None:
        """A response was given to this input."""
        output = response["output"]
        self.issued.update((item["id"], output) for item in output)
        if response["store"]:
            self.stored[response["id"]] = [*items, *output]
            self.persisted.update(item["id"] for item in output)


def check(body: Json, memory: Memory) -> list[Json]:
    """The whole input as items, with what an earlier response has stored. Raises Refused."""
    demand(isinstance(body.get("model"), str), "Missing required parameter: 'model'.", param="model")
    unknown = find_unknown(body, BODY)
    demand(not unknown, f"Unknown parameter: '{unknown}'.", param=unknown, code="unknown_parameter")
    earlier = _earlier(body, memory.stored)
    items = list(_items(body))
    for index, item in enumerate(items):
        _check_item(item, f"input[{index}]")
    items = earlier + [_resolve(item, memory) for item in items]
    _check_ids(items)
    _check_pairs(items)
    _check_reasoning(items, memory, kept={item["id"] for item in earlier if "id" in item})
    named = [tool for tool in body.get("tools") or [] if tool.get("type") in ("function", "custom")]
    check_tools(body, named)
    check_format((body.get("text") or {}).get("format") or {}, "text.format", "")
    return items


def _earlier(body: Json, stored: Mapping[str, list[Json]]) -> list[Json]:
    name = body.get("previous_response_id")
    if name and name not in stored:
        raise Refused(
            f"Previous response with id '{name}' not found.", param="previous_response_id",
            code="previous_response_not_found",
        )  # fmt: skip
    return list(stored[name]) if name else []


def _items(body: Json) -> Iterator[Json]:
    given = body.get("input")
    demand(given or body.get("prompt"), "Missing required parameter: 'input'.", param="input")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    demand(isinstance(given, list), "Invalid type for 'input': expected a string or an array.", param="input")
    for item in given or []:
        demand(isinstance(item, dict), "Invalid type for 'input': expected an object.", param="input")
        yield {**item, "type": item.get("type") or ("message" if "role" in item else "item_reference")}


# ------------------------------------------------------------------ one item


def _check_item(item: Json, where: str) -> None:
    kind = item["type"]
    if kind not in ITEMS:  # a provider's own tool: not looked into
        return
    unknown = find_unknown(item, ("type", *ITEMS[kind]))
    demand(
        not unknown, f"Unknown parameter: '{where}.{unknown}'.", param=f"{where}.{unknown}", code="unknown_parameter"
    )
    prefix = PREFIXES.get(kind)
    if item.get("id") is not None and prefix:
        right = str(item["id"]).startswith(prefix)
        demand(right, f"Invalid '{where}.id': '{item['id']}'. Expected an ID that begins with '{prefix}'.", param=where)
    match kind:
        case "message":
            _check_message(item, where)
        case "function_call" | "custom_tool_call":
            _check_call_id(item, where)
            demand(item.get("name"), f"Missing required parameter: '{where}.name'.", param=where)
            text = item.get("arguments" if kind == "function_call" else "input")
            demand(isinstance(text, str), f"Invalid type for '{where}.arguments': expected a string.", param=where)
        case "function_call_output" | "custom_tool_call_output":
            _check_call_id(item, where)
            output = item.get("output")
            demand(isinstance(output, str | list), f"Missing required parameter: '{where}.output'.", param=where)
            for at, part in enumerate(output if isinstance(output, list) else ()):
                _check_part(part, "user", f"{where}.output[{at}]")
        case "reasoning":
            summary = item.get("summary")
            demand(isinstance(summary, list), f"Missing required parameter: '{where}.summary'.", param=where)
            sealed = item.get("encrypted_content") is None or is_sealed(item["encrypted_content"])
            demand(
                sealed, "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted "
                "or parsed.", code="invalid_encrypted_content",
            )  # fmt: skip


def _check_call_id(item: Json, where: str) -> None:
    name = item.get("call_id")
    demand(isinstance(name, str) and name, f"Missing required parameter: '{where}.call_id'.", param=f"{where}.call_id")
    demand(
        len(str(name)) <= 64, f"Invalid '{where}.call_id': string too long. Expected maximum length 64.", param=where
    )


def _check_message(item: Json, where: str) -> None:
    role, content = item.get("role"), item.get("content")
    supported = "'assistant', 'system', 'developer', and 'user'"
    demand(role in PARTS, f"Invalid value: '{role}'. Supported values are: {supported}.", param=f"{where}.role")
    demand(isinstance(content, str | list), f"Missing required parameter: '{where}.content'.", param=where)
    for at, part in enumerate(content if isinstance(content, list) else ()):
        _check_part(part, str(role), f"{where}.content[{at}]")


def _check_part(part: Any, role: str, where: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    supported = ", ".join(f"'{each}'" for each in sorted(PARTS[role]))
    demand(
        kind in PARTS[role], f"Invalid value: '{kind}'. Supported values are: {supported}.", param=where,
        code="invalid_value",
    )  # fmt: skip
    match part:
        case {"type": "input_text" | "output_text"}:
            demand(isinstance(part.get("text"), str), f"Missing required parameter: '{where}.text'.", param=where)
        case {"type": "input_image", "image_url": str(url)}:
            if not url.startswith(("https://", "http://")):
                check_image(*split_data_url(url, f"{where}.image_url"), f"{where}.image_url")
        case {"type": "input_file", "file_data": str(data)}:
            decode(split_data_url(data, f"{where}.file_data")[1], f"{where}.file_data")


# ------------------------------------------------------------------ the input as a whole


def _resolve(item: Json, memory: Memory) -> Json:
    """The item that is meant by its id alone."""
    if item["type"] != "item_reference":
        return item
    demand(item["id"] in memory.persisted, _not_found(item["id"]), param="input")
    return next(each for each in memory.issued[item["id"]] if each["id"] == item["id"])


def _not_found(name: str) -> str:
    return (
        f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input."
    )


def _check_ids(items: list[Json]) -> None:
    ids = [item["id"] for item in items if item.get("id")]
    for name in ids:
        demand(
            ids.count(name) == 1,
            f"Duplicate item found with id {name}. Remove duplicate items from your input and try again.",
            param="input",
        )  # fmt: skip


def _check_pairs(items: list[Json]) -> None:
    """Each call has one output somewhere after it, each output its call before it."""
    waiting: dict[str, str] = {}
    known: set[str] = set()
    for item in items:
        if item["type"] in CALLS:
            once = item["call_id"] not in known
            demand(once, f"Duplicate call_id found in input: {item['call_id']}.", param="input")
            known.add(item["call_id"])
            waiting[item["call_id"]] = item["type"]
        elif item["type"] in OUTPUTS:
            call = item["type"].removesuffix("_output")
            demand(
                waiting.pop(item["call_id"], "") == call,
                f"No tool call found for {call.replace('_', ' ')} output with call_id {item['call_id']}.",
                param="input",
            )  # fmt: skip
    for name, kind in waiting.items():
        raise Refused(f"No tool output found for {kind.replace('_', ' ')} {name}.", param="input")


def _check_reasoning(items: list[Json], memory: Memory, kept: set[str]) -> None:
    """A reasoning item is followed by the item it led to, and that one is not there without it."""
    issued = memory.issued
    for index, item in enumerate(items):
        if item["type"] == "reasoning":
            name = item.get("id", "")
            readable = item.get("encrypted_content") or name in memory.persisted
            demand(readable, _not_found(name), param="input")
            follower = items[index + 1] if index + 1 < len(items) else {"type": "", "role": ""}
            led = follower["type"] in (*CALLS, "reasoning") or follower.get("role") == "assistant"
            led = led or follower["type"].endswith("_call")
            right = led and _follows(item, follower, issued)
            demand(
                right, f"Item '{name}' of type 'reasoning' was provided without its required following item.",
                param="input",
            )  # fmt: skip
        elif item.get("id") in issued and item["id"] not in kept:
            output = issued[item["id"]]
            place = [each["id"] for each in output].index(item["id"])
            needed = output[place - 1] if place else {"type": ""}
            before = items[index - 1].get("id") if index else None
            demand(
                needed["type"] != "reasoning" or before == needed["id"],
                f"Item '{item['id']}' of type '{item['type']}' was provided without its required 'reasoning' item: "
                f"'{needed.get('id')}'.", param="input",
            )  # fmt: skip


def _follows(item: Json, follower: Json, issued: Mapping[str, list[Json]]) -> bool:
    """Whether the follower is what this reasoning led to, as far as the ids tell."""
    output = issued.get(item.get("id", ""))
    if output is None or not follower.get("id"):
        return True
    ids = [each["id"] for each in output]
    place = ids.index(item["id"]) + 1
    return place < len(ids) and ids[place] == follower["id"]


# ------------------------------------------------------------------ tokens


def measure(body: Json, items: list[Json], meter: Meter) -> list[Segment]:
    """The prompt in the order in which it is cached: tools, instructions, items."""
    segments = [segment(tool, meter.count(tool)) for tool in body.get("tools") or []]
    if body.get("instructions"):
        text = {"instructions": body["instructions"]}
        segments.append(segment(text, meter.count(body["instructions"]) + MESSAGE_TOKENS))
    return segments + [segment(_bare(item), item_tokens(item, meter)) for item in items]


def _bare(item: Json) -> Json:
    """An item without what does not reach the model."""
    return {key: value for key, value in item.items() if key not in ("id", "status") and value is not None}


def item_tokens(item: Json, meter: Meter) -> int:
    """Tokens of one item."""
    match item:
        case {"type": "message", "content": content} | {"type": _, "output": content}:
            if isinstance(content, str):
                return meter.count(content) + MESSAGE_TOKENS
            return sum(part_tokens(part, meter) for part in content) + MESSAGE_TOKENS
        case {"type": "function_call" | "custom_tool_call", "name": name}:
            return meter.count(name) + meter.count(item.get("arguments") or item.get("input") or "") + CALL_TOKENS
        case {"type": "reasoning"}:
            return meter.count(item.get("encrypted_content") or item["summary"]) // 4
        case _:
            return meter.count(item)
