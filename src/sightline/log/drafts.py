"""Drafts of entries: what a message, a recall or an annotation looks like in the log before it has its seq."""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from sightline import __version__
from sightline.files.project import Place
from sightline.log import entries
from sightline.log.columns import LABELLED, LEADING, OPAQUE, TITLED, WHOLE
from sightline.log.entries import Body, CompactMetadata, Entry, ToolResult, ToolUse
from sightline.shorten import subject_of
from sightline.values.clock import Clock, Ids, timestamp
from sightline.values.escape import plain_name
from sightline.values.items import BY_PROGRAM, Call, Message, Opaque, Part, Result, Role, Text
from sightline.values.phrases import say

_BOUNDARY = "=== 上下文压缩边界 ==="  # in every locale: it marks a place and is never shown
_LONGEST_SUBJECT = 500  # characters: a longer command is identified by its beginning


class PendingCall(NamedTuple):
    """A call without a result: its tool, and its subject (a path, a command, a URL)."""

    id: str
    name: str
    subject: str

    @classmethod
    def of(cls, call: Call) -> "PendingCall":
        """Return what its result needs to know of a call."""
        return cls(call.id, call.name, subject_of(call)[:_LONGEST_SUBJECT])


class Drafts:
    """Makes the entries of one session. Parents, seqs and tokens are set when they are appended."""

    def __init__(self, session_id: str, clock: Clock, ids: Ids, where: Place) -> None:
        self._session_id, self._clock, self._ids, self._where = session_id, clock, ids, where

    def _entry(self, type_: str, message: Body, **fields: Any) -> Entry:
        return Entry(
            uuid=self._ids(),
            parent_uuid=None,
            session_id=self._session_id,
            timestamp=timestamp(self._clock),
            type=type_,
            cwd=self._where.cwd,
            git_branch=self._where.git_branch,
            version=__version__,
            message=message,
            **fields,
        )

    def annotation(self, subtype: str, note: Any) -> Entry:
        """Draft an annotation with this content."""
        return self._entry("system", Body("system", ""), subtype=subtype, data=Raw(msgspec.json.encode(note)))

    def recall(self, note: Any, *, leads: bool = False) -> Entry:
        """Draft a recall of the pieces that this note names. `leads`: it stands before the last message's words."""
        data, flags = Raw(msgspec.json.encode(note)), LEADING if leads else 0
        return self._entry("system", Body("user"), subtype="recall", data=data, flags=flags)

    def boundary(self, note: Any, metadata: CompactMetadata) -> Entry:
        """Draft the boundary of a compaction. The summaries follow it."""
        return self._entry(
            "system",
            Body("system", Raw(msgspec.json.encode(_BOUNDARY))),
            subtype=entries.BOUNDARY,
            compact_metadata=metadata,
            data=Raw(msgspec.json.encode(note)),
        )

    def summary(self, text: str, metadata: CompactMetadata, *, flags: int = 0) -> Entry:
        """Draft a summary of the units that the boundary before it names."""
        body = Body("user", Raw(msgspec.json.encode(text)))
        return self._entry("user", body, is_compact_summary=True, compact_metadata=metadata, flags=flags)

    def messages(
        self,
        messages: Iterable[Message],
        waiting: Callable[[str], PendingCall | None],
        locale: str,
        system_flags: int = 0,
        pages: Collection[str] = (),
    ) -> tuple[list[Entry], list[PendingCall]]:
        """Draft the entries of consecutive messages. Also returns the calls among them that got no result.

        `waiting` finds an earlier call by its id; `system_flags` are those of system messages; `pages` are the tools
        whose results the model asked for whole. A result that answers no call becomes a labelled user message.
        """
        drafts: list[Entry] = []
        number = 0  # of the last call: they are counted from 1
        pending: dict[int, PendingCall] = {}  # in their order
        by_id: dict[str, list[deque[int]]] = {}  # those of an id in each message, the newest message last
        answered: set[str] = set()  # ids of earlier calls
        for message in messages:
            if message.role is not Role.TOOL:
                drafts.append(self.message(message, flags=system_flags if message.role is Role.SYSTEM else 0))
                own: dict[str, deque[int]] = {}
                for call in (part for part in message.parts if isinstance(part, Call)):
                    own.setdefault(call.id, deque()).append(number := number + 1)
                    pending[number] = PendingCall.of(call)
                for call_id, numbers in own.items():
                    by_id.setdefault(call_id, []).append(numbers)
                continue
            result = message.parts[0]
            assert isinstance(result, Result)
            answered_call = pending.pop(_take(by_id, result.id), None)
            if answered_call is None and result.id not in answered:
                answered_call = waiting(result.id)
                answered.add(result.id)
            if answered_call is None:
                label = Text(say("orphan", locale, name=plain_name(result.name or result.id)))
                orphan = Message(Role.USER, (label, *result.parts), when=message.when)
                drafts.append(self.message(orphan, flags=LABELLED | TITLED))
            else:
                flags = WHOLE if answered_call.name in pages else 0
                drafts.append(self.result(result, answered_call, flags=flags, when=message.when))
        return drafts, list(pending.values())

    def message(self, message: Message, *, flags: int = 0, receipt: int = 0) -> Entry:
        """Draft the entry of a system, user or assistant message."""
        match message.role:
            case Role.SYSTEM:
                body = Body("system", entries.encode_parts(message.parts))
                return self._entry("system", body, flags=flags, when=message.when)
            case Role.ASSISTANT:
                if any(isinstance(part, Opaque) for part in message.parts):
                    flags |= OPAQUE
                call = _only_call(message.parts)
                parts = message.parts if call is None else message.parts[:-1]
                body = Body("assistant", entries.encode_parts(parts), message.model, message.usage)
                tool = None if call is None else ToolUse(call.id, call.name, call.input, call.raw)
                type_ = "assistant" if call is None else "tool_use"
                return self._entry(type_, body, tool=tool, flags=flags, receipt=receipt, when=message.when)
            case _:
                if any(isinstance(part, Opaque) and part.kind == BY_PROGRAM for part in message.parts):
                    flags |= LABELLED
                body = Body("user", entries.encode_parts(message.parts))
                return self._entry("user", body, flags=flags, when=message.when)

    def result(self, result: Result, call: PendingCall, *, flags: int = 0, when: str = "") -> Entry:
        """Draft the entry of the result of this call."""
        answer = ToolResult(result.id, entries.encode_parts(result.parts), result.error, result.name)
        return self._entry(
            "tool_result", Body("user"), tool_result=answer, subject=call.subject, flags=flags, when=when
        )


def _take(by_id: dict[str, list[deque[int]]], call_id: str) -> int:
    """Remove and return a pending call of this id: the first one in the newest message that has any; 0: there is none.

    Nothing empty stays, because a long list has many calls.
    """
    if (made := by_id.get(call_id)) is None:
        return 0
    taken = made[-1].popleft()
    if not made[-1]:
        made.pop()
    if not made:
        del by_id[call_id]
    return taken


def _only_call(parts: tuple[Part, ...]) -> Call | None:
    """The call of a message that is one call with at most one text before it: then it is a `tool_use` entry."""
    match parts:
        case (Call() as call,) | (Text(), Call() as call):
            return call
        case _:
            return None
