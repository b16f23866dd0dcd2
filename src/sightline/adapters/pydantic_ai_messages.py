"""The messages of pydantic-ai: what is read of each part, and payloads as messages.

A request of pydantic-ai holds several things that are said to a model, so it is followed part by part. A response is
one message. What only its provider knows (thinking, native tools) is kept as JSON, and rebuilt from it without loss.
"""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    BinaryContent,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from sightline.follow.history import History
from sightline.values.items import (
    BY_PROGRAM,
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
    Usage,
    blob_text,
)
from sightline.wire.call_ids import shown_messages
from sightline.wire.common import arguments_text, call_from, text_part
from sightline.wire.payload import Payload

NAME = "pydantic-ai"  # the provider of parts that only pydantic-ai knows
_ERRORS = {"failed": "failed", "retried": "failed", "interrupted": "interrupted"}  # outcomes of tool calls
_BY_PROGRAM = Opaque(NAME, BY_PROGRAM, {})
_RECORDS = ("delta", "baseline", "digest")  # what the run notes in a request besides what is said: how the kinds end


class Element(NamedTuple):
    """One thing that is said, as it is followed, and where it is: the message, and in a request the part."""

    read: Message
    message: ModelMessage
    part: Any = None


class Listed(NamedTuple):
    """The messages of a run, taken apart."""

    elements: list[Element]
    head: list[Any]  # the system prompts at the beginning, which are always shown
    notes: list[str]  # texts that the run has put into requests, such as changed instructions

    @property
    def reads(self) -> list[Message]:
        """What a `History` follows."""
        return [element.read for element in self.elements]

    @property
    def head_text(self) -> str:
        """What is counted besides the elements and the instructions."""
        return "\n\n".join([*(part.content for part in self.head), *self.notes])


def read(messages: Sequence[ModelMessage]) -> Listed:
    """Take messages apart."""
    listed = Listed([], [], [])
    for message in messages:
        if isinstance(message, ModelResponse):
            if parts := tuple(neutral for part in message.parts for neutral in _response_part(part)):
                said = Message(Role.ASSISTANT, parts, model=message.model_name or "", usage=_usage(message.usage))
                listed.elements.append(Element(said, message))
            continue
        for part in message.parts:
            if isinstance(part, SystemPromptPart) and not listed.elements:
                listed.head.append(part)
            elif _is_record(part):
                listed.notes.extend(text for text in [getattr(part, "content", None)] if isinstance(text, str))
            else:
                listed.elements.append(Element(_request_part(part), message, part))
    return listed


def _is_record(part: Any) -> bool:
    return str(part.part_kind).endswith(_RECORDS)


def _request_part(part: Any) -> Message:
    if isinstance(part, SystemPromptPart):
        return Message(Role.SYSTEM, (text_part(part.content),))
    if isinstance(part, UserPromptPart):
        content = [part.content] if isinstance(part.content, str) else part.content
        return Message(Role.USER, tuple(read for piece in content for read in _content(piece)))
    if isinstance(part, ToolReturnPart):
        text = part.model_response_str(wrap_if_error=False) if part.outcome in _ERRORS else part.model_response_str()
        said = (text_part(text),) if text or not part.files else ()
        files = tuple(read for file in part.files for read in _content(file))
        error = _ERRORS.get(part.outcome, "")
        return Message(Role.TOOL, (Result(part.tool_call_id, (*said, *files), error, part.tool_name),))
    text = part.model_response() if hasattr(part, "model_response") else str(getattr(part, "content", None) or "")
    if getattr(part, "tool_name", None):  # a retry of earlier versions, which answers a call
        return Message(Role.TOOL, (Result(part.tool_call_id, (text_part(text),), "failed", part.tool_name),))
    return Message(Role.USER, (text_part(text), _BY_PROGRAM))  # what the run says of a response that it did not take


def _content(content: Any) -> tuple[Any, ...]:
    """Return what a user or a tool gives: text, media, or a mark of a cache, which is nothing."""
    if isinstance(content, str):
        return (text_part(content),)
    if isinstance(content, BinaryContent):
        kind = Image if content.is_image else File
        return (kind(media_type=content.media_type, data=content.base64),)
    if hasattr(content, "url"):
        return (Image(url=content.url) if isinstance(content, ImageUrl) else File(url=content.url),)
    if hasattr(content, "file_id"):
        return (File(file_id=content.file_id, media_type=content.media_type, extra={"vendor": content.provider_name}),)
    text = getattr(content, "content", None)
    return (text_part(text),) if isinstance(text, str) else ()


def _response_part(part: Any) -> tuple[Part, ...]:
    if isinstance(part, TextPart):
        return ((text_part(part.content),) if part.content else ()) + _kept(part, part.id or part.provider_details)
    if isinstance(part, ToolCallPart):
        args: Any = part.args
        return (call_from(part.tool_call_id, part.tool_name, args), *_kept(part, part.id or part.provider_details))
    if isinstance(part, FilePart):
        return _content(part.content)
    return _kept(part, True)


def _kept(part: Any, is_kept: Any) -> tuple[Part, ...]:
    """Return a part as JSON, to be rebuilt; of text and calls only what the neutral part does not have."""
    if not is_kept:
        return ()
    [dumped] = ModelMessagesTypeAdapter.dump_python([ModelResponse(parts=[part])], mode="json")
    raw = {key: value for key, value in dumped["parts"][0].items() if value is not None}
    if isinstance(part, TextPart | ToolCallPart):
        raw = {key: value for key, value in raw.items() if key not in ("content", "args", "tool_name", "tool_call_id")}
        return (Opaque(NAME, "+text" if isinstance(part, TextPart) else "+call", raw),)
    if part.part_kind == "thinking":  # where documents look for what a model thought
        raw = {"type": "thinking", "thinking": raw.pop("content"), **raw}
    return (Opaque(NAME, part.part_kind, raw),)


def _usage(usage: Any) -> Usage | None:
    if not usage.input_tokens:
        return None
    written = usage.cache_write_tokens
    hour = min(getattr(usage, "cache_write_1h_tokens", 0) or 0, written)
    return Usage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, written, hour)


# ---------------------------------------------------------------------- payloads


def write(payload: Payload, history: History, listed: Listed) -> list[ModelMessage]:
    """Return a payload as messages: those of the run where they are shown unchanged."""
    sources = {id(element.read): element for element in listed.elements}
    written: list[ModelMessage] = []
    said: list[tuple[Any, ModelRequest | None]] = [(part, None) for part in listed.head]  # since the last response
    names: dict[str, str] = {}
    for message in shown_messages(payload):
        source = sources.get(id(history.original(message)))
        names |= {part.id: part.name for part in message.parts if isinstance(part, Call)}
        if message.role is Role.ASSISTANT:
            written += _requests(said)
            written.append(source.message if source else _response(message))
            said = []
        elif source is not None and isinstance(source.message, ModelRequest):
            said.append((source.part, source.message))
        else:
            said.append((_part(message, names), None))
    return [*written, *_requests(said)]


def _requests(said: list[tuple[Any, ModelRequest | None]]) -> list[ModelRequest]:
    """Return what is said between two responses: the run's own requests if all of each is there, else one request."""
    if not said:
        return []
    owners = list({id(owner): owner for _, owner in said if owner is not None}.values())
    shown_parts = {id(part) for part, _ in said}
    every = [part for owner in owners for part in owner.parts if not _is_record(part)]
    if {id(part) for part in every} == shown_parts:
        return owners
    records = [part for owner in owners for part in owner.parts if _is_record(part)]
    parts = [*(part for part, _ in said), *records]
    return [replace(owners[-1], parts=parts) if owners else ModelRequest(parts=parts)]


def _part(message: Message, names: dict[str, str]) -> Any:
    result = message.parts[0] if message.role is Role.TOOL else None
    if isinstance(result, Result):
        outcome = "failed" if result.error == "failed" else "interrupted" if result.error else "success"
        name = result.name or names.get(result.id, "")
        return ToolReturnPart(name, _plain_content(result.parts), result.id, outcome=outcome)
    content = _plain_content(message.parts)
    if message.role is Role.SYSTEM and isinstance(content, str):
        return SystemPromptPart(content)
    return UserPromptPart(content)


def _plain_content(parts: Sequence[Part]) -> Any:
    content = [made for part in parts if (made := _made(part)) is not None]
    if all(isinstance(piece, str) for piece in content):
        return "\n".join(content)
    return content


def _made(part: Part) -> Any:
    match part:
        case Text():
            return part.text
        case Blob():
            return blob_text(part)
        case Image() | File() if part.data:
            return BinaryContent(b64decode(part.data), media_type=part.media_type or "application/octet-stream")
        case Image():
            return ImageUrl(part.url) if part.url else None
        case File():
            return DocumentUrl(part.url) if part.url else None
        case _:
            return None


def _response(message: Message) -> ModelResponse:
    parts: list[Any] = []
    for part in message.parts:
        match part:
            case Text() | Blob():
                parts.append(TextPart(str(_made(part))))
            case Call():
                parts.append(ToolCallPart(part.name, arguments_text(part), part.id))
            case Opaque(provider=provider) if provider == NAME:
                _rebuild(parts, part)
            case Image() | File() if part.data:
                parts.append(FilePart(_made(part)))
    return ModelResponse(parts=parts, model_name=message.model or None)


def _rebuild(parts: list[Any], kept: Opaque) -> None:
    """Put the part that was kept at the end, or give the last one the fields that it had."""
    raw = dict(kept.raw)
    if kept.kind.startswith("+"):
        raw |= {"content": parts[-1].content} if kept.kind == "+text" else {}
        if kept.kind == "+call":
            last = parts[-1]
            raw |= {"args": last.args, "tool_name": last.tool_name, "tool_call_id": last.tool_call_id}
        parts.pop()
    elif kept.kind == "thinking":
        raw = {"content": raw.pop("thinking"), **{key: value for key, value in raw.items() if key != "type"}}
    [made] = ModelMessagesTypeAdapter.validate_python([{"kind": "response", "parts": [raw]}])
    parts.extend(made.parts)
