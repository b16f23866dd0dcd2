"""Reads and writes provider formats: payloads, messages, replies and tools. Nothing here calls a provider.

Others import `read_messages`, `read_reply`, `read_tools` and `why_ended`, which find out the format themselves,
`payload.Payload`, and the modules `openai_chat`, `openai_responses` and `anthropic`, each with read, read_reply,
read_tools and write.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from sightline.values.items import Message, Role, ToolDefinition
from sightline.wire import anthropic, common, openai_chat, openai_responses

__all__ = ["read_messages", "read_reply", "read_tools", "why_ended"]

# Types of content blocks that only one format has. A "text" block is the same in all of them.
CHAT_BLOCKS = frozenset({"image_url", "input_audio", "file"})
RESPONSES_BLOCKS = frozenset({"input_text", "output_text", "input_image", "input_file"})
SHARED_BLOCKS = frozenset({"text", "refusal"})
STOPS = {
    "length": "length", "model_length": "length", "max_tokens": "length", "model_context_window_exceeded": "length",
    "incomplete": "length", "content_filter": "refused", "refusal": "refused",
}  # fmt: skip


def read_reply(reply: object) -> Message:
    """Read a model's reply as one ASSISTANT message: a response object of an SDK, the same as a dict, or text.

    Raises:
        BadInput: it is none of these.
    """
    if isinstance(reply, str | bytes):
        return Message(Role.ASSISTANT, (common.text_part(reply),) if reply else ())
    match found := common.plain(reply, "reply"):
        case {"choices": [*_]}:
            return openai_chat.read_reply(found)
        case {"output": [*_]}:
            return openai_responses.read_reply(found)
        case {"type": "message", "role": "assistant", "content": [*_]}:
            return anthropic.read_reply(found)
        case {"role": "assistant"}:
            return read_messages([found])[0]
        case _:
            raise common.bad_input(
                "reply", common.describe(found), "text, or a response of the OpenAI or Anthropic SDK as object or dict"
            )


def why_ended(reply: object) -> str:
    """Why a reply ended early: "length" (its token limit), "refused" (a content rule), or empty if it did not.

    Knows the words of OpenAI, Mistral and Anthropic. Any other word is a normal end.
    """
    match {} if isinstance(reply, str | bytes) else common.plain(reply, "reply"):
        case {"choices": [{"message": {"refusal": str(words)}}, *_]} if words:
            return "refused"
        case {"incomplete_details": {"reason": str(word)}}:
            return STOPS.get(word, "length")
        case {"choices": [{"finish_reason": str(word)}, *_]} | {"stop_reason": str(word)} | {"status": str(word)}:
            return STOPS.get(word, "")
        case _:
            return ""


def read_messages(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Read a message list in any of the three formats. A message that fits several is read like its neighbours.

    A message may also have the key `when`: when it was said, as text.

    Raises:
        BadInput: something in it is no message. The error says its index, what was found and what is accepted.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise common.bad_input("messages", common.describe(messages), "a list of messages")
    plain = [message for message, _ in common.plain_each(messages, "messages")]
    whens = [_pop_when(message, f"messages[{index}].when") for index, message in enumerate(plain)]
    formats = [_format_of(message) for message in plain]
    usual = next((found for found in formats if found is not None), openai_chat)
    neutral: list[Message] = []
    numbered = enumerate(found or usual for found in formats)
    for found, places in groupby(numbered, key=lambda place: place[1]):
        indexes = [index for index, _ in places]
        first, end = indexes[0], indexes[-1] + 1
        if any(whens[first:end]):
            for index in indexes:
                neutral += [replace(message, when=whens[index]) for message in found.read([plain[index]], at=index)]
        else:
            neutral += found.read(plain[first:end], at=first)
    return neutral


def _pop_when(message: Any, where: str) -> str:
    """Remove and return the time of a message, because no provider knows this key. Raises BadInput."""
    when = message.pop("when", None) if isinstance(message, dict) else None
    if when is not None and not isinstance(when, str):
        raise common.bad_input(where, common.describe(when), "text, such as an ISO time")
    return when or ""


def read_tools(tools: Sequence[ToolDefinition | Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Read tool definitions, each in one of the three formats or our own. Tools of a provider stay as they are.

    Raises:
        BadInput: something in it is no tool definition.
    """
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise common.bad_input("tools", common.describe(tools), "a list of tool definitions")
    read: list[ToolDefinition] = []
    for index, tool in enumerate(tools):  # those of an app host are of our own form
        plain = tool if isinstance(tool, ToolDefinition) else common.plain(tool, f"tools[{index}]")
        read += [plain] if isinstance(plain, ToolDefinition) else _tool_format(plain).read_tools([plain])
    return tuple(read)


def _format_of(message: Any) -> ModuleType | None:
    """The format of a message; None if more than one fits."""
    match message:
        case {"type": str(kind)} if kind != "message":
            return openai_responses  # some of its items have a role too
        case {"role": "tool" | "function"} | {"tool_calls": [*_]} | {"function_call": {}}:
            return openai_chat
        case {"role": _, "content": [*blocks]}:
            return _format_of_blocks(blocks, message)
        case {"role": _, "type": "message"}:
            return openai_responses
        case {"role": _}:
            return None
        case {"id": str()}:
            return openai_responses  # a reference to an item, which needs no type
        case _:
            return None


def _format_of_blocks(blocks: list[Any], message: Any) -> ModuleType | None:
    kinds = {str(block.get("type")) for block in blocks if isinstance(block, dict)}
    if kinds & RESPONSES_BLOCKS:
        return openai_responses
    if kinds & CHAT_BLOCKS:
        return openai_chat
    if kinds - SHARED_BLOCKS or any(isinstance(block, dict) and "citations" in block for block in blocks):
        return anthropic  # it has many kinds of blocks and gets new ones
    return anthropic if "stop_reason" in message else None


def _tool_format(tool: Any) -> ModuleType:
    match tool:
        case {"input_schema": _}:
            return anthropic
        case {"type": "function" | "custom", "name": str()}:
            return openai_responses
        case {"type": "function" | "custom"} | {"name": str(), "parameters": _}:
            return openai_chat
        case {"type": str(kind)} if kind == "mcp_toolset" or (
            len(day := kind.rpartition("_")[2]) == 8 and day.isdigit()
        ):
            return anthropic  # the types of its server tools end with a date: web_search_20250305
        case _:
            return openai_responses
