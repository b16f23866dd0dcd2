"""The document's ContextManager: the messages of one query. It opens no files, calls no model, reads no answers."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from sightline.compose import arrange, layout
from sightline.documents.code.references import Upload, announcement, unified_listing
from sightline.documents.code.store import CodeStore
from sightline.documents.json_protocol import prompt
from sightline.errors import BadInput
from sightline.origins.exchanges import calls_by_id, exchanges
from sightline.shorten import is_file_read, subject_of
from sightline.shorten.file_reads import read_gist
from sightline.values.decoders import convert
from sightline.values.items import ToolDefinition
from sightline.values.phrases import check_locale
from sightline.wire.common import call_from

Message = dict[str, Any]
# Returns fewer messages in place of too many: the newest by rule, or a summary that a model has written.
Summarize = Callable[[list[Message]], list[Message]]
# The files of a query: their ids, or ids with further facts.
FileContext = Mapping[str, Any] | Upload | str | Sequence[Mapping[str, Any] | Upload | str]

MOST_MESSAGES = 20  # more are summarised
KEPT = 5  # messages of the dialogue that stay then
LAYOUTS = {"document": "ba-agent", "system_first": "ba-agent-system-first"}  # and what they are called in a session

logger = logging.getLogger("sightline.ba_agent")

_NAMED = "a file context names its files by file_id, such as {{'file_id': 'upload_sales'}}, not {given!r:.200}"


class ContextManager:
    """Builds the messages of a query from lists, which it never changes.

    `layout`: "document" is the document's order, history before the system messages. "system_first" is for providers
    that refuse system messages between others. `tools` are listed in the system prompt.
    """

    def __init__(
        self,
        code_store: CodeStore | None = None,
        *,
        locale: str = "zh",
        layout: str = "document",
        summarize: Summarize | None = None,
        tools: Sequence[ToolDefinition] = (),
    ) -> None:
        if layout not in LAYOUTS:
            raise BadInput(f"unknown layout {layout!r}; choose one of {', '.join(LAYOUTS)}")
        self.code_store, self.locale, self.layout = code_store, check_locale(locale), layout
        self.tools, self._summarize = tuple(tools), summarize or newest

    def build_context(
        self,
        user_message: str,
        history_messages: Sequence[Mapping[str, Any]] | None = None,
        session_id: str = "",
        file_context: FileContext | None = None,
    ) -> list[Message]:
        """Return the messages of a query: history with files as gists, system prompt, code list, files, the question.

        Raises:
            BadInput: a file context that names no file.
        """
        history = self.clean_file_contents(history_messages) if history_messages else []
        texts = {
            "system": prompt(self.locale, self.tools),
            "dynamic": self.build_code_list(session_id),
            "user": self.build_file_context(file_context),
        }
        sections = {name: [{"role": "system", "content": text}] if text else [] for name, text in texts.items()}
        sections["history"] = history
        sections["user"].append({"role": "user", "content": user_message})
        messages = arrange(layout(LAYOUTS[self.layout]), sections, _is_system)
        logger.info("context built: %d messages", len(messages))
        return messages

    def build_code_list(self, session_id: str) -> str:
        """Return the list of a session's code for the model; "" if there is none."""
        listed = self.code_store.listing(session_id, self.locale) if self.code_store is not None else ""
        if listed:
            logger.info("code list built: %d lines", listed.count("\n- "))
        return listed

    def build_file_context(self, file_context: FileContext | None) -> str:
        """Return the list of uploaded files for the model, by reference; "" if there are none. Raises BadInput."""
        return announcement(uploads_of(file_context), self.locale)

    def build_file_list(self, session_id: str, file_context: FileContext | None = None) -> str:
        """Return code and uploads in one list, as in version 1.3.0; "" if there are none."""
        codes = self.code_store.list(session_id) if self.code_store is not None else []
        return unified_listing(codes, uploads_of(file_context), self.locale)

    def clean_file_contents(self, messages: Sequence[Mapping[str, Any]]) -> list[Message]:
        """Return the messages with a gist in place of every file that was read. The input is not changed.

        All other messages stay, and so do file reads that do not name their file. Cleaning again changes nothing.
        """
        calls = _calls(messages)
        cleaned = [self._cleaned(message, calls) for message in messages]
        changed = sum(dict(before) != after for before, after in zip(messages, cleaned, strict=True))
        logger.info("history cleaned: %d of %d messages", changed, len(cleaned))
        return cleaned

    def should_clean_context(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Whether there are too many messages, so that they must be summarised."""
        return len(messages) > MOST_MESSAGES

    def summarize_context(self, messages: Sequence[Mapping[str, Any]]) -> list[Message]:
        """Return all system messages and the newest of the others, in order; or what `summarize` returns."""
        kept = self._summarize([dict(message) for message in messages])
        logger.info("context summarised: %d of %d messages stay", len(kept), len(messages))
        return kept

    def _cleaned(self, message: Mapping[str, Any], calls: Mapping[str, tuple[str, str]]) -> Message:
        call_id, text = str(message.get("tool_call_id") or ""), _text(message.get("content"))
        name, path = calls.get(call_id, (str(message.get("name") or ""), ""))
        is_read = message.get("role") == "tool" and is_file_read(call_id, name)
        gist = read_gist(text, self.locale, path) if is_read and text is not None else None
        return dict(message) if gist is None else {**message, "content": gist}


def system_first(messages: Sequence[Message]) -> list[Message]:
    """Return the system messages, then the others, each in their order."""
    return arrange(layout(LAYOUTS["system_first"]), {"history": messages}, _is_system)


def _is_system(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "system"


def newest(messages: Sequence[Message], keep: int = KEPT) -> list[Message]:
    """Return all system messages and the newest of the others, in order, each once.

    A call and its results stay together, so there may be a few more. Results without a call are dropped. The last user
    message stays.
    """
    kept = {at for at, message in enumerate(messages) if message.get("role") == "system"}
    question = max((at for at, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    count = 0
    for unit in reversed(exchanges(messages)):
        if count < keep or question in unit:
            kept.update(unit)
            count += len(unit)
    return [message for at, message in enumerate(messages) if at in kept]


def uploads_of(file_context: FileContext | None) -> list[Upload]:
    """Return the files of a query, given in any of the forms. Raises BadInput if one does not name a file."""
    match file_context:
        case None:
            return []
        case Upload():
            return [file_context]
        case str():
            return [_upload({"file_id": file_context})]
        case (
            {"files": list() | tuple() as several}
            | {"file_ids": list() | tuple() as several}
            | (list() | tuple() as several)
        ):
            return [upload for file in several for upload in uploads_of(file)]
        case Mapping():
            return [_upload(file_context)] if file_context else []
        case _:
            raise BadInput(_NAMED.format(given=file_context))


def _upload(facts: Mapping[str, Any]) -> Upload:
    file_id = str(facts.get("file_id") or "").removeprefix("upload:")
    if not file_id or not file_id.isprintable() or len(file_id.split()) > 1:
        raise BadInput(_NAMED.format(given=facts))
    fields = {name: value for name, value in facts.items() if name in Upload.__struct_fields__}
    try:
        return convert({"filename": file_id} | fields | {"file_id": file_id}, Upload)
    except msgspec.ValidationError as error:
        raise BadInput(f"the file context of {file_id} cannot be read: {error}") from error


def _calls(messages: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return the tool and the path of every call, by its id."""
    calls = {}
    for call_id, call in (pair for message in messages for pair in calls_by_id(message).items()):
        match call:
            case {"function": {"name": str(name), "arguments": str() | dict() as arguments}}:
                calls[call_id] = (name, subject_of(call_from(call_id, name, arguments)))
    return calls


def _text(content: Any) -> str | None:
    """Return the text of a message; None if it has none, or has something else too."""
    if isinstance(content, list) and content and all(isinstance(part, Mapping) for part in content):
        texts = [part.get("text") for part in content if part.get("type", "text") == "text"]
        return "\n".join(texts) if len(texts) == len(content) and all(isinstance(text, str) for text in texts) else None
    return content if isinstance(content, str) else None
