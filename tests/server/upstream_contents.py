"""The rules of Gemini's `generateContent`, and its answers: order, pairs, signatures, with ids of calls or without."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from upstream_rules import (
    CALL_TOKENS,
    FILE_TOKENS,
    HALVES,
    MESSAGE_TOKENS,
    Bill,
    Json,
    Meter,
    Segment,
    check_names,
    decode,
    demand,
    dump,
    event,
    find_unknown,
    image_tokens,
    is_signed,
    make_id,
    pieces_of,
    segment,
    sign,
)
from upstream_script import Answer, Call, Thought

BODY = (
    "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent",
    "labels", "model",
)  # fmt: skip
KINDS = (
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
)  # fmt: skip
BESIDE = ("thought", "thoughtSignature", "videoMetadata", "partMetadata")
SKIPPED = "skip_thought_signature_validator"  # what the provider takes for a call that no model of it has made
STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}


def error(status: int, message: str = "") -> Json:
    """An error in the provider's shape."""
    return {"error": {"code": status, "message": message or "An error.", "status": STATUS.get(status, "UNAVAILABLE")}}


def overflow(tokens: int, window: int) -> str:
    """What is said when the prompt is larger than the context window."""
    return f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."


# ------------------------------------------------------------------ rules


def check(body: Json) -> None:
    """Raise Refused unless the provider would take this request."""
    unknown = find_unknown(body, BODY)
    demand(not unknown, f'Invalid JSON payload received. Unknown name "{unknown}": Cannot find field.')
    contents = body.get("contents")
    demand(isinstance(contents, list) and contents, "GenerateContentRequest.contents: contents is not specified")
    for at, content in enumerate(contents or ()):
        _check_content(content, f"contents[{at}]")
    turns = _turns(contents or [])
    # One may begin with the model: Gemini CLI sends the end of its list so, to ask whether it goes round in circles.
    demand(turns[-1]["role"] == "user", "Please ensure that single turn requests end with a user role.")
    for at, turn in enumerate(turns):
        if turn["role"] == "model":
            _check_pairs(turn, turns[at + 1])
        elif not at:
            orphans = [part for part in turn["parts"] if "functionResponse" in part]
            demand(
                not orphans, "Please ensure that function response turn comes immediately after a function call turn."
            )
    _check_signatures(turns)
    _check_tools(body)


def _check_content(content: Any, where: str) -> None:
    demand(
        isinstance(content, dict) and content.get("role") in ("user", "model"), "Please use a valid role: user, model."
    )
    demand(content.get("parts"), f"GenerateContentRequest.{where}.parts must not be empty.")
    for part in content["parts"]:
        unknown = find_unknown(part, (*KINDS, *BESIDE))
        demand(not unknown, f"Invalid JSON payload received. Unknown name \"{unknown}\" at '{where}.parts'")
        demand(sum(kind in part for kind in KINDS) == 1, f"{where}.parts: required oneof field 'data' must have one")
        demand("inlineData" not in part or decode(part["inlineData"].get("data"), where), where)
        is_model = content["role"] == "model"
        demand(is_model or "functionCall" not in part, "Please ensure that function calls are of the model role.")
        demand(not is_model or "functionResponse" not in part, "Function responses are of the user role.")


def _turns(contents: list[Json]) -> list[Json]:
    """Neighbours of one role are one turn."""
    turns: list[Json] = []
    for content in contents:
        if turns and turns[-1]["role"] == content["role"]:
            turns[-1]["parts"] += content["parts"]
        else:
            turns.append({"role": content["role"], "parts": [*content["parts"]]})
    return turns


def _check_pairs(model: Json, user: Json) -> None:
    calls = [part["functionCall"] for part in model["parts"] if "functionCall" in part]
    responses = [part["functionResponse"] for part in user["parts"] if "functionResponse" in part]
    demand(
        Counter(call["name"] for call in calls) == Counter(response["name"] for response in responses),
        "Please ensure that the number of function response parts is equal to the number of function call parts of the "
        "function call turn.",
    )
    ids = [call.get("id") for call in calls if call.get("id")]
    demand(len({*ids}) == len(ids), "Two function calls have one id.")
    answered = {(call.get("id"), call["name"]) for call in calls}
    for response in responses:
        demand((response.get("id"), response["name"]) in answered, f"No function call has the id {response.get('id')}.")
        demand(isinstance(response.get("response"), dict), "A function response is an object.")
    if not ids:  # they pair by order
        names = [[one["name"] for one in side] for side in (calls, responses)]
        demand(names[0] == names[1], f"Function responses in another order than the calls: {names}")


def _check_signatures(contents: list[Json]) -> None:
    """Each signature stands at the part that it was made for; the first call of each step of this turn has one."""
    spoken = [
        at
        for at, content in enumerate(contents)
        if content["role"] == "user" and not any("functionResponse" in part for part in content["parts"])
    ]
    begun = max(spoken, default=0)
    for at, content in enumerate(contents):
        for part in content["parts"]:
            signature = part.get("thoughtSignature")
            if signature not in (None, SKIPPED):  # bytes, in either alphabet of base64
                signature = signature.replace("-", "+").replace("_", "/")
            demand(signature in (None, SKIPPED) or is_signed(_signed(part), signature), "Corrupted thought signature.")
        calls = [part for part in content["parts"] if "functionCall" in part]
        demand(
            at < begun or not calls or calls[0].get("thoughtSignature"),
            f"Function call is missing a thought_signature in functionCall parts: {calls[:1]}",
        )


def _signed(part: Json) -> str:
    """What a signature is made for. Some clients rename the ids of calls."""
    call = part.get("functionCall") or {}
    return json.dumps([part.get("text"), call.get("name"), call.get("args")], sort_keys=True)


def _check_tools(body: Json) -> None:
    tools = body.get("tools") or []
    lists = [tool["functionDeclarations"] for tool in tools if "functionDeclarations" in tool]
    demand(len(lists) <= 1, "At most one tool with function declarations is supported.")
    demand(not lists or len(tools) == 1, "Tool use with function calling is unsupported.")
    demand(not (body.get("cachedContent") and tools), "CachedContent can not be used with tools.")
    functions = lists[0] if lists else []
    check_names(
        [function.get("name") for function in functions], 64, lambda _, name: f"Invalid function name {name!r}.",
        "Duplicate function declaration found.",
    )  # fmt: skip
    for function in functions:
        schema = function.get("parameters")
        demand(schema is None or schema.get("properties"), "parameters.properties: should be non-empty for OBJECT type")
        demand(schema is None or "parametersJsonSchema" not in function, "only one of parameters can be set")
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    demand(functions or calling.get("mode") in (None, "NONE", "AUTO"), "Function calling config is set without tools.")


# ------------------------------------------------------------------ tokens


def measure(body: Json, meter: Meter) -> list[Segment]:
    """The prompt in the order in which it is cached: system, tools, contents."""
    segments = [segment(part, meter.count(part)) for part in (body.get("systemInstruction") or {}).get("parts", ())]
    functions = [function for tool in body.get("tools") or [] for function in tool.get("functionDeclarations", ())]
    segments += [segment(function, meter.count(function)) for function in functions]
    for content in body["contents"]:
        for at, part in enumerate(content["parts"]):
            tokens = _part_tokens(part, meter) + (0 if at else MESSAGE_TOKENS)
            segments.append(segment(part, tokens, content["role"]))
    return segments


def _part_tokens(part: Json, meter: Meter) -> int:
    match part:
        case {"text": str(text)}:
            return meter.count(text)
        case {"functionCall": call}:
            return meter.count(call["name"]) + meter.count(call.get("args") or {}) + CALL_TOKENS
        case {"functionResponse": {"response": {"output": str(text)}}}:
            return meter.count(text)
        case {"functionResponse": response}:
            return meter.count(response["response"])
        case {"inlineData": {"data": data}}:
            return image_tokens(data)
        case {"fileData": _}:
            return FILE_TOKENS
        case _:
            return meter.count(part)


# ------------------------------------------------------------------ answers


def parts_of(step: Answer, *, with_ids: bool) -> list[Json]:
    """The parts of an answer. The first call is signed; an answer without calls ends with a signature."""
    parts: list[Json] = []
    for block in step.blocks:
        if isinstance(block, str):
            parts.append({"text": block})
        elif isinstance(block, Thought):
            parts.append({"text": block.text, "thought": True})
        elif isinstance(block, Call):
            id_ = {"id": block.id or make_id("fc")} if with_ids else {}
            parts.append({"functionCall": {**id_, "name": block.name, "args": block.arguments}})
    signed = next((part for part in parts if "functionCall" in part), None)
    if signed is None:
        parts.append(signed := {"text": ""})
    signed["thoughtSignature"] = sign(_signed(signed))
    return parts


def chunks(step: Answer, model: str, parts: list[Json], bill: Bill) -> list[Json]:
    """The answer chunk by chunk, each a whole response."""
    head = {"modelVersion": model, "responseId": make_id("resp")}
    usage = {
        "promptTokenCount": bill.given, "candidatesTokenCount": bill.made - bill.thought,
        "thoughtsTokenCount": bill.thought, "totalTokenCount": bill.given + bill.made,
        **({"cachedContentTokenCount": bill.read} if bill.read else {}),
    }  # fmt: skip
    pieces = [piece for part in parts for piece in _pieces(part)]
    made: list[Json] = []
    for at, piece in enumerate(pieces):
        candidate: Json = {"content": {"parts": [piece], "role": "model"}, "index": 0}
        if at == len(pieces) - 1:
            candidate["finishReason"] = step.stop or "STOP"
        made.append({"candidates": [candidate], "usageMetadata": usage, **head})
    return made


def _pieces(part: Json) -> list[Json]:
    if not part.get("text"):
        return [part]
    return [part | {"text": piece} for piece in pieces_of(part["text"]) if piece]


def whole(step: Answer, model: str, parts: list[Json], bill: Bill) -> Json:
    """The answer as one object."""
    [*_, last] = chunks(step, model, parts, bill)
    candidate = last["candidates"][0] | {"content": {"parts": parts, "role": "model"}}
    return last | {"candidates": [candidate]}


def events(made: list[Json]) -> Iterator[bytes]:
    """Chunks as server-sent events."""
    return (event(chunk) for chunk in made)


def listed(made: list[Json]) -> bytes:
    """Chunks as one list, as they are streamed without `alt=sse`."""
    return b"[" + b",\r\n".join(dump(chunk).encode("utf-8", HALVES) for chunk in made) + b"]"


def error_event(told: Json) -> bytes:
    """An error inside a stream."""
    return event({"error": told})
