"""What is searched across sessions: everything that somebody said, every tool result with its call, every summary.

Rows come from a session's items, or from a file that was not imported. A row of a file has no item yet: it is named by
its line in the file, and by which of the entries it is that an import makes of that line.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec import Struct

from sightline.imports.conversation import Conversation, Step, Turn
from sightline.imports.originals import SourceNote
from sightline.log import entries
from sightline.log.stores import Store
from sightline.session.session import Session
from sightline.values.decoders import decode_json
from sightline.values.items import Call, Item, Kind, Part, Result, Role, arguments, plain_text
from sightline.view.inspection import described_items

_PAGE = 256  # items that are read at once
# Characters of a text that are searched and kept, its beginning and its end. Results are many and long, and `recall`
# searches all of one session.
_SAID, _GIVEN, _CALLED = 20_000, 3_000, 400
_KINDS = {Kind.USER: "user", Kind.ASSISTANT: "assistant", Kind.RESULT: "tool", Kind.SUMMARY: "summary"}
_ROLES = {Role.USER: "user", Role.ASSISTANT: "assistant", Role.TOOL: "tool"}
# Tools that show what stands elsewhere: that is to be found.
_OWN_TOOL = re.compile(r"(?:\A|__)(?:search_sessions|context_report|recall|expand)\Z")
_LINE_ID = re.compile(r"L(\d{1,12})\.(\d{1,9})")


class SearchRow(Struct, frozen=True, array_like=True):
    """One thing that can be found."""

    id: str  # of the item, or of the line in a file
    kind: str  # "user", "assistant", "tool" or "summary"
    when: str  # as the log has it
    text: str  # of a result: the call's tool and arguments, then what it gave
    failed: bool = False  # the result of a call that failed


class StepRows(NamedTuple):
    """The rows of one step of a recorded conversation."""

    line: int  # of the file, where the step begins
    size: int  # bytes
    rows: list[SearchRow]


def session_rows(session: Session, start: int) -> Iterator[SearchRow | None]:
    """Yield a row for each item of a session from the `start`-th on; None for an item that is not searched."""
    calls: dict[str, str] = {}
    while page := described_items(session, start, _PAGE)[0]:
        start += len(page)
        for item, _ in page:
            yield _row_of(item, calls)


def _row_of(item: Item, calls: dict[str, str]) -> SearchRow | None:
    _note_calls(item.parts, calls)
    if (kind := _KINDS.get(item.kind)) is None or item.by_program:
        return None
    return _row(item.id, kind, item.timestamp, item.parts, calls)


def file_rows(conversation: Conversation, after: int) -> Iterator[StepRows]:
    """Yield the rows of a recorded conversation after this line, a step at a time. Raises BadInput."""
    calls: dict[str, str] = {}
    for step in conversation.steps(after):
        size = sum(len(line.data) for line in step.lines)
        yield StepRows(step.lines[0].number, size, [*_rows_of(conversation, step, calls)])


def _rows_of(conversation: Conversation, step: Step, calls: dict[str, str]) -> Iterator[SearchRow]:
    numbers = [line.number for line in step.lines]
    line = next(filter(conversation.is_active, numbers), numbers[-1])
    for number, turn in enumerate(step.turns, start=1):
        _note_calls(turn.message.parts, calls)
        row = _row(f"L{line}.{number}", _kind_of(turn), turn.timestamp, turn.message.parts, calls)
        if row is not None:
            yield row
    if (compaction := step.compaction) is not None:  # an import makes a boundary and a summary of it
        text = _cut(compaction.summary, _SAID)
        yield SearchRow(f"L{line}.{len(step.turns) + 2}", "summary", compaction.timestamp, text)


def _kind_of(turn: Turn) -> str:
    return "" if turn.by_program else _ROLES.get(turn.message.role, "")


def _note_calls(parts: tuple[Part, ...], calls: dict[str, str]) -> None:
    for part in parts:
        if isinstance(part, Call):
            calls[part.id] = "" if _OWN_TOOL.search(part.name) else f"{part.name} {_cut(arguments(part), _CALLED)}"


def _row(row_id: str, kind: str, when: str, parts: tuple[Part, ...], calls: dict[str, str]) -> SearchRow | None:
    """Return a row. A result is found by its call too, as within a session."""
    text = plain_text(parts) if kind else ""
    if kind == "tool":
        called = next((calls.pop(part.id, "?") for part in parts if isinstance(part, Result)), "?")
        text = f"{called}\n{_cut(text, _GIVEN)}" if called else ""
    text = _cut(text, _SAID)
    failed = any(isinstance(part, Result) and bool(part.error) for part in parts)
    return SearchRow(row_id, kind, when, text, failed) if text.strip() else None


def _cut(text: str, most: int) -> str:
    """Return the beginning and the end of a long text."""
    return text if len(text) <= most else f"{text[: most * 3 // 4]}\n…\n{text[-most // 4 :]}"


# ---------------------------------------------------------------------- rows of files, once they are imported


class _Entry(Struct):
    uuid: str = ""
    seq: int = 0
    subtype: str = ""
    data: msgspec.Raw = msgspec.Raw()


def is_line_id(row_id: str) -> bool:
    """Whether this names a line of a file, not an item."""
    return _LINE_ID.fullmatch(row_id) is not None


def item_of(store: Store, line_id: str) -> str | None:
    """Return the id of the item that an import made of a line of its file; None if it made none."""
    if (match := _LINE_ID.fullmatch(line_id)) is None:
        return None
    line, number = int(match[1]), int(match[2])
    seqs: dict[str, int] = {}  # of the entries since the last line of the file that was kept
    is_new = False
    store.refresh()
    for logged in store.scan():
        try:
            entry = decode_json(logged.data, _Entry)
            if entry.subtype != entries.SOURCE:
                seqs = {} if is_new else seqs
                seqs[entry.uuid], is_new = entry.seq, False
                continue
            is_new, note = True, decode_json(entry.data, SourceNote)
        except entries.UNREADABLE:
            continue
        if note.line == line:
            seq = seqs.get(note.of[number - 1]) if 0 < number <= len(note.of) else None
            return str(seq) if seq is not None else None
    return None
