"""The rules of Anthropic's Messages API, in its own words."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from upstream_rules import (
    Json,
    Refused,
    check_image,
    check_names,
    check_schema,
    decode,
    demand,
    find_unknown,
    is_sealed,
    is_signed,
)

BODY = (
    "model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream", "thinking", "metadata",
    "stop_sequences", "temperature", "top_p", "top_k", "service_tier", "context_management", "output_config",
    "output_format", "container", "mcp_servers", "cache_control", "inference_geo", "speed", "diagnostics", "fallbacks",
)  # fmt: skip
BLOCKS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "citations", "cache_control"),
    "image": ("source", "cache_control"),
    "document": ("source", "title", "context", "citations", "cache_control"),
    "search_result": ("source", "title", "content", "citations", "cache_control"),
    "tool_use": ("id", "name", "input", "caller", "cache_control"),
    "tool_result": ("tool_use_id", "content", "is_error", "cache_control"),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "server_tool_use": ("id", "name", "input", "caller", "cache_control"),
    "tool_reference": ("tool_name", "cache_control"),
    "container_upload": ("file_id", "cache_control"),
    "compaction": ("content", "cache_control"),
}
SERVER_RESULT = ("tool_use_id", "content", "caller", "cache_control")
ASSISTANT_ONLY = {"tool_use", "thinking", "redacted_thinking", "server_tool_use", "compaction"}
USER_ONLY = {"tool_result", "image", "document", "search_result", "container_upload"}
TOOL = (
    "name", "description", "input_schema", "cache_control", "type", "strict", "defer_loading", "allowed_callers",
    "input_examples", "eager_input_streaming",
)  # fmt: skip
IN_RESULT = {"text", "image", "document", "search_result", "tool_reference"}
SYSTEM_BETA = "mid-conversation-system"
SYSTEM_MODELS = re.compile(r"claude-opus-5")  # they take it without that header
ANYWHERE = "the directive-only form (content: [] with output_config) is accepted at any position"
THINKING = {"thinking", "redacted_thinking"}


def check(body: Json, headers: Mapping[str, str], issued: Mapping[str, list[Json]], *, counting: bool = False) -> None:
    """Raise Refused unless the provider would take this request.

    `issued` has the content of each earlier answer by the ids of its calls: thinking may not be changed or left out
    while its calls are being answered.
    """
    demand(headers.get("anthropic-version"), "anthropic-version: header is required")
    required = ("model", "messages") if counting else ("model", "messages", "max_tokens")
    for name in required:
        demand(body.get(name) is not None, f"{name}: Field required")
    demand(not (key := find_unknown(body, BODY)), f"{key}: Extra inputs are not permitted")
    demand(counting or (type(body["max_tokens"]) is int and body["max_tokens"] > 0), "max_tokens: Input should be > 0")
    unknown = find_unknown(body.get("metadata") or {}, ("user_id",))
    demand(not unknown, f"metadata.{unknown}: Extra inputs are not permitted")
    _check_tools(body)
    _check_thinking_option(body)
    messages = _turns(body)
    betas = headers.get("anthropic-beta", "")
    for index, message in enumerate(messages):
        takes_system = SYSTEM_BETA in betas or SYSTEM_MODELS.match(str(body["model"])) is not None
        _check_message(message, index, takes_system=takes_system, last=index == len(messages) - 1)
    _check_system(body.get("system"))
    _check_markers(body)
    _check_pairs(messages)
    _check_places(messages)
    used = any(block["type"] in ("tool_use", "tool_result") for message in messages for block in message["content"])
    demand(
        body.get("tools") or not used,
        "Requests which have `tool_use` or `tool_result` blocks in messages must define tools.",
    )
    _check_thinking(body, messages, issued)


def _turns(body: Json) -> list[Json]:
    """The messages, each with its content as blocks. Raises Refused."""
    demand(isinstance(body["messages"], list), "messages: Input should be a valid list")
    demand(body["messages"], "messages: at least one message is required")
    read = []
    for index, message in enumerate(body["messages"]):
        demand(isinstance(message, dict), f"messages.{index}: Input should be an object")
        content = message.get("content")
        demand(isinstance(content, str | list), f"messages.{index}.content: Input should be a valid list")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        read.append({**message, "content": blocks})
    demand(read[0].get("role") != "assistant", 'messages: first message must use the "user" role')
    return read


# ------------------------------------------------------------------ one message


def _check_message(message: Json, index: int, *, takes_system: bool, last: bool) -> None:
    role, where = message.get("role"), f"messages.{index}"
    unknown = find_unknown(message, ("role", "content", "output_config"))  # the last of Claude Code since 2.1.325
    demand(not unknown, f"{where}.{unknown}: Extra inputs are not permitted")
    demand(role in ("user", "assistant", "system"), f"{where}.role: Input should be 'user' or 'assistant'")
    if role == "system":
        demand(
            takes_system,
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system"'
            " as an input message role.",
        )
    empty_end = (last and role == "assistant" and message["content"] == []) or _is_directive(message)
    demand(
        message["content"] or empty_end,
        f"{where}: all messages must have non-empty content except for the optional final assistant message",
    )
    for at, block in enumerate(message["content"]):
        _check_block(block, role, f"{where}.content.{at}")
    if last and role == "assistant" and message["content"] and message["content"][-1]["type"] == "text":
        text = message["content"][-1]["text"]
        demand(text == text.rstrip(), "messages: final assistant content cannot end with trailing whitespace")
    _check_server_pairs(message["content"], where)


def _is_directive(message: Json) -> bool:
    return message["role"] == "system" and message["content"] == [] and "output_config" in message


def _check_places(messages: list[Json]) -> None:
    """Messages of the system stand between a user's and an assistant's, or at the end."""
    placed = [(index, message) for index, message in enumerate(messages) if not _is_directive(message)]
    for at, (index, message) in enumerate(placed):
        if message["role"] != "system":
            continue
        where = f"messages.{index}"
        before = next((earlier for _, earlier in reversed(placed[:at]) if earlier["role"] != "system"), None)
        after = next((later for _, later in placed[at + 1 :] if later["role"] != "system"), None)
        demand(before, f"{where}: use the top-level 'system' parameter for the initial system prompt; {ANYWHERE}")
        follows = before["role"] == "user" or before["content"][-1]["type"].endswith("_tool_result")
        demand(
            follows,
            f"{where}: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool "
            f"result; {ANYWHERE}",
        )
        precedes = after is None or after["role"] == "assistant"
        demand(precedes, f"{where}: role 'system' must precede an 'assistant' message or end the array; {ANYWHERE}")


def _check_block(block: Any, role: str, where: str) -> None:
    demand(isinstance(block, dict) and isinstance(block.get("type"), str), f"{where}.type: Field required")
    kind = block["type"]
    server_result = kind.endswith("_tool_result") or kind.startswith("mcp_tool_")
    demand(kind in BLOCKS or server_result, f"{where}: Input tag '{kind}' found using 'type' does not match any tag")
    allowed = BLOCKS.get(kind, (*SERVER_RESULT, "is_error", "id", "name", "input", "server_name"))
    unknown = find_unknown(block, ("type", *allowed))
    demand(not unknown, f"{where}.{kind}.{unknown}: Extra inputs are not permitted")
    misplaced = (kind in ASSISTANT_ONLY or server_result) if role == "user" else kind in USER_ONLY
    demand(not misplaced, f"{where}: `{kind}` blocks may not be in `{role}` messages")
    demand(role != "system" or kind == "text", f"{where}: only `text` blocks may be in `system` messages")
    match kind:
        case "text":
            _check_text(block, "messages", where)
        case "image" | "document":
            _check_source(block, kind, where)
        case "tool_use" | "server_tool_use":
            valid = isinstance(block.get("id"), str) and re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])
            demand(valid, f"{where}.{kind}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            demand(isinstance(block.get("name"), str) and block["name"], f"{where}.{kind}.name: Field required")
            demand(isinstance(block.get("input"), dict), f"{where}.{kind}.input: Input should be a valid dictionary")
        case "tool_result":
            _check_result(block, where)
        case "thinking":
            demand("signature" in block, f"{where}.thinking.signature: Field required")
            signed = is_signed(str(block.get("thinking")), block["signature"])
            demand(signed, f"{where}: Invalid `signature` in `thinking` block")
        case "redacted_thinking":
            demand(is_sealed(block.get("data")), f"{where}: Invalid `data` in `redacted_thinking` block")


def _check_text(block: Json, place: str, where: str) -> None:
    demand(isinstance(block.get("text"), str), f"{where}.text.text: Field required")
    marked = block.get("cache_control") and not block["text"]
    demand(not marked, f"{where}.text: cache_control cannot be set for empty text blocks")
    demand(block["text"], f"{place}: text content blocks must be non-empty")
    demand(block["text"].strip(), f"{place}: text content blocks must contain non-whitespace text")


def _check_source(block: Json, kind: str, where: str) -> None:
    source, at = block.get("source"), f"{where}.{kind}.source"
    demand(isinstance(source, dict), f"{at}: Field required")
    assert isinstance(source, dict)
    match source.get("type"):
        case "base64" if kind == "image":
            check_image(source.get("media_type"), source.get("data"), f"{at}.base64")
        case "base64":
            demand(
                source.get("media_type") == "application/pdf",
                f"{at}.base64.media_type: Input should be 'application/pdf'",
            )
            is_pdf = decode(source.get("data"), f"{at}.base64").startswith(b"%PDF")
            demand(is_pdf, f"{at}.base64: The PDF specified was not valid.")
        case "url":
            demand(str(source.get("url", "")).startswith("https://"), f"{at}.url: Only HTTPS URLs are supported.")
        case "file":
            demand(source.get("file_id"), f"{at}.file.file_id: Field required")
        case "text" if kind == "document":
            demand(source.get("media_type") == "text/plain", f"{at}.text.media_type: Input should be 'text/plain'")
            demand(source.get("data"), f"{at}.text.data: Field required")
        case "content" if kind == "document":
            demand(source.get("content"), f"{at}.content.content: Field required")
        case other:
            raise Refused(f"{at}: Input tag '{other}' found using 'type' does not match any of the expected tags")


def _check_result(block: Json, where: str) -> None:
    demand(isinstance(block.get("tool_use_id"), str), f"{where}.tool_result.tool_use_id: Field required")
    content = block.get("content", "")
    demand(isinstance(content, str | list), f"{where}.tool_result.content: Input should be a valid list")
    for at, part in enumerate(content if isinstance(content, list) else ()):
        kind = part.get("type") if isinstance(part, dict) else None
        demand(kind in IN_RESULT, f"{where}.tool_result.content.{at}: Input tag '{kind}' does not match any tag")
        _check_block(part, "user", f"{where}.tool_result.content.{at}")
        failed = block.get("is_error") and kind != "text"
        demand(not failed, f"{where}.tool_result: all content must be type `text` if `is_error` is true")


def _check_server_pairs(blocks: list[Json], where: str) -> None:
    """A server tool's call and its result are in one message, in this order."""
    open_calls: dict[str, str] = {}
    for block in blocks:
        if block["type"] == "server_tool_use":
            open_calls[block["id"]] = block["name"]
        elif block["type"].endswith("_tool_result"):
            known = open_calls.pop(block.get("tool_use_id", ""), "") if block["type"] != "mcp_tool_result" else "mcp"
            demand(known, f"{where}: `{block['type']}` block without its `server_tool_use` block before it")
    for call_id, name in open_calls.items():
        raise Refused(
            f"{where}: `{name}` tool use with id `{call_id}` was found without its `{name}_tool_result` block"
        )


# ------------------------------------------------------------------ the request as a whole


def _check_tools(body: Json) -> None:
    tools = body.get("tools") or []
    for index, tool in enumerate(tools):
        if not _is_server_tool(tool):
            unknown = find_unknown(tool, TOOL)
            demand(not unknown, f"tools.{index}.custom.{unknown}: Extra inputs are not permitted")
            check_schema(tool.get("input_schema"), f"tools.{index}.custom.input_schema: JSON schema is invalid")
    named = [tool.get("name") for tool in tools if tool.get("type") != "mcp_toolset"]
    check_names(
        named, 128,
        lambda index, _: f"tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
        "tools: Tool names must be unique.",
    )  # fmt: skip
    choice = body.get("tool_choice") or {}
    if choice.get("type") in ("any", "tool"):
        demand(tools, "tool_choice: Tools must be provided when `tool_choice` is set")
        thinks = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
        demand(not thinks, "Thinking may not be enabled when tool_choice forces tool use.")
    if choice.get("type") == "tool":
        demand(choice.get("name") in named, f"Tool '{choice.get('name')}' not found in provided tools")


def _is_server_tool(tool: Json) -> bool:
    return tool.get("type") not in (None, "custom")


def _check_thinking_option(body: Json) -> None:
    option = body.get("thinking") or {"type": "disabled"}
    kinds = ("enabled", "disabled", "adaptive")
    demand(option.get("type") in kinds, f"thinking: Input tag '{option.get('type')}' does not match any of {kinds}")
    if option["type"] == "enabled":
        budget = option.get("budget_tokens") or 0
        demand(budget >= 1024, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        fits = budget < body.get("max_tokens", budget + 1)
        demand(fits, "`max_tokens` must be greater than `thinking.budget_tokens`")


def _check_system(system: object) -> None:
    for index, block in enumerate(system if isinstance(system, list) else ()):
        is_text = isinstance(block, dict) and block.get("type") == "text"
        demand(is_text, f"system.{index}.type: Input should be 'text'")
        _check_text(block, "system", f"system.{index}")


def marked_blocks(body: Json) -> Iterator[Json]:
    """Every block with a cache marker, in the order of the prompt."""
    system = body.get("system")
    contents = [message["content"] for message in body["messages"]]
    for blocks in (body.get("tools") or [], system, *contents):
        for block in blocks if isinstance(blocks, list) else ():
            inner = block.get("content") if isinstance(block, dict) else None
            for each in (*(inner if isinstance(inner, list) else ()), block):
                if isinstance(each, dict) and each.get("cache_control"):
                    yield each


def _check_markers(body: Json) -> None:
    marked = [each["cache_control"] for each in marked_blocks(body)]
    for marker in marked:
        valid = marker.get("type") == "ephemeral" and marker.get("ttl", "5m") in ("5m", "1h")
        demand(valid, "cache_control: Input should be 'ephemeral' with ttl '5m' or '1h'")
    found = len(marked) + bool(body.get("cache_control"))
    demand(found <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {found}.")
    lives = [marker.get("ttl", "5m") for marker in marked]
    demand(
        lives == sorted(lives),  # "1h" sorts before "5m"
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
    )


def _check_pairs(messages: list[Json]) -> None:
    """Each call has one result, first in the very next message; each result has its call."""
    calls: dict[str, int] = {}
    waiting: list[str] = []
    for index, message in enumerate(messages):
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        places = [at for at, block in enumerate(message["content"]) if block["type"] == "tool_result"]
        asks = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        for at, call_id in zip(places, results, strict=True):
            where = f"messages.{index}.content.{at}"
            demand(
                call_id in waiting,
                f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` block "
                "must have a corresponding `tool_use` block in the previous message.",
            )
            single = results.count(call_id) == 1
            demand(single, f"{where}: each tool_use must have a single result. Found multiple for id: {call_id}")
        if message["role"] != "assistant":
            missing = [call_id for call_id in waiting if call_id not in results or places != list(range(len(places)))]
            demand(not missing, _unanswered(index - 1, missing))
            waiting = []
        for call_id in asks:
            demand(call_id not in calls, "messages: `tool_use` ids must be unique")
            calls[call_id] = index
        waiting += asks
    demand(not waiting, _unanswered(len(messages) - 1, waiting))


def _unanswered(index: int, ids: list[str]) -> str:
    return (
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(ids)}."
        " Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _check_thinking(body: Json, messages: list[Json], issued: Mapping[str, list[Json]]) -> None:
    """While calls are being answered, the thinking that led to them is there, first and unchanged."""
    option = (body.get("thinking") or {}).get("type", "disabled")
    if option == "disabled":
        return
    for index, message in _open_loop(messages):
        blocks = message["content"]
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        before = next((issued[call_id] for call_id in calls if call_id in issued), None)
        if before is None:
            first = blocks[0]["type"] if blocks else ""
            demand(option == "adaptive" or not calls or first in THINKING, _expected(index, first))
            continue
        thoughts = [block for block in before if block["type"] in THINKING]
        first = blocks[0]["type"]
        demand(not thoughts or before[0]["type"] not in THINKING or first in THINKING, _expected(index, first))
        kept = [block for block in blocks if block["type"] in THINKING]
        demand(
            kept == thoughts,
            f"messages.{index}.content: `thinking` or `redacted_thinking` blocks in the latest assistant message "
            "cannot be modified. These blocks must remain as they were in the original response.",
        )


def _open_loop(messages: list[Json]) -> Iterator[tuple[int, Json]]:
    """The assistant's turns since the user's last own words, if the last message has results."""
    said = [message for message in messages if message["role"] != "system"]  # a reminder closes no loop
    if not any(block["type"] == "tool_result" for block in said[-1]["content"]):
        return
    start = max(
        (
            index
            for index, message in enumerate(messages)
            if message["role"] == "user" and not any(block["type"] == "tool_result" for block in message["content"])
        ),
        default=0,
    )
    for index in range(start, len(messages)):
        if messages[index]["role"] == "assistant":
            yield index, messages[index]


def _expected(index: int, found: str) -> str:
    return (
        f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When "
        "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost "
        "set of `tool_use` and `tool_result` blocks)."
    )
