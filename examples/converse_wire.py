"""A fifth format in one file: Amazon Bedrock's `converse`, whose blocks have no type but one key that says what it is.

Register it in your program, or let your package offer it by an entry point:

    from sightline.wire import registry
    import converse_wire

    registry.register(converse_wire)
    client.converse(modelId=…, **payload.write("converse"))  # boto3 wants bytes in images and documents, not base64

    [project.entry-points."sightline.wires"]
    converse = "converse_wire"

Read: a user message with tool results becomes one TOOL message for each, then a USER message with the rest.
Written: the results of one assistant message are one user message. A system message inside the body is user text after
"[system] ". `sightline.testing.check_wire(converse_wire, replies=[…])` proves that it keeps what a wire promises.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sightline.values.items import (
    Blob,
    Call,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Result,
    Role,
    Text,
    ToolDefinition,
    Usage,
)
from sightline.wire import common
from sightline.wire.call_ids import STRICT, joins, result_of
from sightline.wire.common import Json
from sightline.wire.tools import name_and_description, tool_from, tool_raw, write_tools
from sightline.wire.wire import Head

NAME = "converse"
LIST = "messages"
IDS = STRICT
BREAKPOINTS = 0  # it has markers, blocks of their own; this example writes none

SYSTEM = "[system] "
BLOCKS = frozenset({
    "text", "image", "document", "video", "toolUse", "toolResult", "guardContent", "reasoningContent", "cachePoint",
})  # fmt: skip
FORMATS = frozenset({"png", "jpeg", "gif", "webp"})
STOPS = {"max_tokens": "length", "content_filtered": "refused", "guardrail_intervened": "refused"}

# ------------------------------------------------------------------ reading


def recognises(message: Any) -> bool:
    """Whether this is a message of blocks without a type."""
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, list) and bool(content) and all(map(recognises_block, content))


def recognises_block(block: Any) -> bool:
    """Whether one key of this format says what a block is."""
    return isinstance(block, dict) and "type" not in block and bool(block) and next(iter(block)) in BLOCKS


def recognises_reply(reply: Any) -> bool:
    """Whether this is a response of `converse`."""
    return isinstance(reply, dict) and isinstance(reply.get("output"), dict) and "message" in reply["output"]


def recognises_tool(tool: Any) -> bool:
    """Whether this is a tool in the list of a `toolConfig`."""
    return isinstance(tool, dict) and bool(tool) and tool.keys() <= {"toolSpec", "systemTool", "cachePoint"}


def read(messages: Iterable[Any], *, at: int = 0) -> list[Message]:
    """Read messages. Raises BadInput."""
    return [
        neutral
        for index, message in enumerate(messages, at)
        for neutral in _read_message(message, f"messages[{index}]")
    ]


def read_reply(reply: Any) -> Message:
    """Read a response as one ASSISTANT message with its usage. It does not name its model. Raises BadInput."""
    if not recognises_reply(reply):
        raise common.bad_input("reply", common.describe(reply), 'a response with "output"')
    [message] = _read_message({"content": []} | reply["output"]["message"] | {"role": "assistant"}, "reply")
    used = reply.get("usage")
    fresh, output, cached, written = common.read_counts(
        used, "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"
    )
    usage = Usage(fresh + cached + written, output, cached, written) if used else None
    return Message(Role.ASSISTANT, message.parts, usage=usage)


def why_ended(reply: Any) -> str:
    """Why a reply ended early: "length", "refused", or empty if it did not."""
    return STOPS.get(str(reply.get("stopReason")), "") if isinstance(reply, dict) else ""


def read_tools(tools: Iterable[Any]) -> tuple[ToolDefinition, ...]:
    """Read the tools of a `toolConfig`. Raises BadInput."""
    read: list[ToolDefinition] = []
    for index, tool in enumerate(tools):
        match tool:
            case {"toolSpec": {"name": str()} as spec}:
                schema = (spec.get("inputSchema") or {}).get("json")
                others = common.other_fields(spec, "name", "description", "inputSchema")
                read.append(tool_from(NAME, tool, spec, schema, others))
            case dict() if tool:
                read.append(tool_raw(NAME, {"name": next(iter(tool)), **tool}))
            case _:
                raise common.bad_input(f"tools[{index}]", common.describe(tool), '"toolSpec"')
    return tuple(read)


def _read_message(message: Any, where: str) -> list[Message]:
    match message:
        case {"role": "assistant", "content": [*blocks]}:
            return [Message(Role.ASSISTANT, _read_blocks(blocks, where))]
        case {"role": "user", "content": [*blocks]}:
            read = _read_blocks(blocks, where)
            results = [Message(Role.TOOL, (part,)) for part in read if isinstance(part, Result)]
            others = tuple(part for part in read if not isinstance(part, Result))
            return [*results, Message(Role.USER, others)] if others or not results else results
        case _:
            raise common.bad_input(where, common.describe(message), "a message of user or assistant with blocks")


def _read_blocks(blocks: list[Any], where: str) -> tuple[Part, ...]:
    if bad := [block for block in blocks if not isinstance(block, dict)]:
        raise common.bad_input(f"{where}, block", common.describe(bad[0]), "an object")
    return tuple(part for block in blocks for part in _read_block(block))


def _read_block(block: Json) -> tuple[Part, ...]:
    fields = common.other_fields(block, "text", "toolUse", "toolResult", "image", "document")
    match block:
        case {"text": str(text)}:
            return common.with_fields(common.text_part(text), NAME, fields) if text else ()
        case {"toolUse": {"toolUseId": str(call_id), "name": str(name)} as call}:
            return common.with_fields(common.call_from(call_id, name, call.get("input") or {}), NAME, fields)
        case {"toolResult": {"toolUseId": str(call_id)} as result}:
            parts = _read_blocks(list(map(_as_text, result.get("content") or [])), f"the result of {call_id}")
            kept = tuple(part for part in parts if isinstance(part, Text | Blob | Image | File | Opaque))
            return (Result(call_id, kept, "failed" if result.get("status") == "error" else ""),)
        case {"image": {"format": str(kind), "source": {"bytes": str(data)}}}:
            return common.with_fields(Image(f"image/{kind}", data), NAME, fields)
        case {"document": {"format": "pdf", "source": {"bytes": str(data)}} as document}:
            return common.with_fields(File("application/pdf", data, name=document.get("name", "")), NAME, fields)
        case _:
            return common.opaque(NAME, block, next(iter(block), "block"))


def _as_text(block: Any) -> Any:
    """Return values in a result as the text that a model reads."""
    return (
        {"text": common.dumped(common.valid(block["json"]))} if isinstance(block, dict) and "json" in block else block
    )


# ------------------------------------------------------------------ writing


def write_head(system: Sequence[Message], tools: Sequence[ToolDefinition], *, output: int = 0, **_: Any) -> Head:
    """Write `system` and `toolConfig`, each if there are any, and the token limit of the reply if it is said."""
    blocks = [block for message in system for block in _blocks(common.without_media(message.parts))]
    arguments: Json = {"system": blocks} if blocks else {}
    if written := write_tools(tools, NAME, _tool):
        own = [{key: value for key, value in tool.items() if key != "name"} for tool in written["tools"]]
        arguments["toolConfig"] = {"tools": own}
    if output:
        arguments["inferenceConfig"] = {"maxTokens": output}
    return Head([], arguments)


def write_messages(messages: Sequence[Message], _: Collection[int] = ()) -> list[Json]:
    """Write messages. What joins a user message is added to its content."""
    written: list[Json] = []
    last: Role | None = None  # of the neutral message before
    for message in messages:
        blocks = _message_blocks(message)
        if message.role is last and (message.role is Role.TOOL or joins(message, last)):
            written[-1]["content"] += blocks
        else:
            role = "assistant" if message.role is Role.ASSISTANT else "user"
            written.append({"role": role, "content": blocks})
        last = message.role
    return written


def _message_blocks(message: Message) -> list[Json]:
    match message.role:
        case Role.TOOL:
            return [_result(result_of(message))]
        case Role.SYSTEM:
            blocks = _blocks(common.without_media(message.parts)) or [{"text": common.EMPTY}]
            return [{"text": SYSTEM + blocks[0].get("text", "")}, *blocks[1:]]
        case Role.ASSISTANT:
            return _blocks(common.without_media(message.parts)) or [{"text": common.EMPTY}]
        case Role.USER:
            return _blocks(message.parts) or [{"text": common.EMPTY}]


def _blocks(parts: Iterable[Part]) -> list[Json]:
    return [block for part, rest in common.visible_parts(parts, NAME) if (block := _block(part, rest)) is not None]


def _block(part: Part, fields: Json) -> Json | None:
    match part:
        case Text() | Blob():
            return {"text": text, **fields} if (text := common.text_of(part)).strip() else None
        case Call():
            call = {"toolUseId": part.id, "name": part.name, "input": common.arguments_object(part)}
            return {"toolUse": call, **fields}
        case Image() if part.data and (kind := common.image_type(part).partition("/")[2]) in FORMATS:
            return {"image": {"format": kind, "source": {"bytes": part.data}}, **fields}
        case File() if part.data and part.media_type == "application/pdf":
            return {"document": {"format": "pdf", "name": part.name, "source": {"bytes": part.data}}, **fields}
        case Image() | File():
            return {"text": common.label(part)}
        case Opaque():
            return None if part.kind.startswith("+") else common.copy_object(part.raw)
        case Result():
            return None


def _result(result: Result) -> Json:
    block = {"toolUseId": result.id, "content": _blocks(result.parts)}
    return {"toolResult": block | ({"status": "error"} if result.error else {})}


def _tool(tool: ToolDefinition) -> Json:
    return {"toolSpec": {**name_and_description(tool), "inputSchema": {"json": common.copy_object(tool.schema)}}}
