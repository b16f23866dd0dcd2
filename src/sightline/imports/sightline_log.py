"""Reads Sightline's own logs, and logs of other programs in the form of the ClawdCode document: the current branch."""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from sightline import wire
from sightline.errors import BadInput
from sightline.imports.conversation import Compaction, FileMark, Line, Step, Turn, Use, summed
from sightline.imports.source import Source
from sightline.log import LABELLED, ORPHAN, GrowingTimeline
from sightline.log import entries as log
from sightline.log.annotations import CompactNote, PlanNote, ReceiptNote, ToolsNote
from sightline.log.stores import Span
from sightline.shorten import NO_EFFECT
from sightline.values.items import Kind, Message, Opaque, Role, Usage, plain_text
from sightline.values.profiles import PROFILES
from sightline.values.recall_tools import LOOK, RECALL_NAMES
from sightline.values.settings import Settings

_ROLES = {Kind.SYSTEM: Role.SYSTEM, Kind.USER: Role.USER, Kind.ASSISTANT: Role.ASSISTANT, Kind.RESULT: Role.TOOL}
_MARKS = (b'"subtype":"compact_boundary"', b'"subtype":"receipt"')


def recognises(value: Any) -> bool:
    """Whether this is an entry of such a log."""
    match value:
        case {"uuid": str(), "sessionId": str(), "type": str(kind)}:
            return "seq" in value or "crc" in value or kind in ("tool_use", "tool_result")
        case _:
            return False


class _Shown(NamedTuple):
    """What a log shows of its current branch, without the texts."""

    lines: frozenset[int]  # numbers
    tools: tuple[Any, ...]
    session_id: str
    undone: dict[int, list[int]]  # line of an undo → lines of the summaries


class SightlineLog:
    """The conversation of one log. `Conversation` says what its methods promise."""

    kind = "Sightline"
    modified = 0.0
    mark: FileMark | None = None
    is_list = False
    envelope: dict[str, Any] | None = None

    with_summaries = False  # whether its steps also tell of compactions; a copy has what was said instead
    branch: str | None = None  # whose conversation it is; None: the one that was written to last

    def __init__(self, source: Source) -> None:
        self._source, self.name = source, source.name
        self.swept: set[str] = set()  # uuids of answers whose prompt we had shortened; known after `steps`
        self.joined: set[str] = set()  # that of the first answer to a prompt of ours after others; likewise
        self.receipt: ReceiptNote | None = None  # the last one; likewise
        self.recalled: list[tuple[str, int]] = []  # uuid of a message, tokens recalled for it; likewise
        self.undone: list[tuple[str, str]] = []  # uuid of a summary, and of what was said before its undo; likewise

    @cached_property
    def profile(self) -> str:
        """The profile that the log was written with last."""
        name = ""
        for line in self._source.lines():
            if b'"subtype":"settings"' in line.data and (entry := _entry(line)) is not None:
                with suppress(BadInput):  # settings of another form: the line is kept
                    name = log.decode_data(entry, Settings).profile
        return name if name in PROFILES else ""

    @cached_property
    def _shown(self) -> "_Shown":
        # Sizes and subjects are not known, because only which items there are matters here.
        timeline = GrowingTimeline(measure=lambda entry: [0] * len(log.items_of(entry)), effect_of=lambda _: NO_EFFECT)
        seq, session_id, notes = 0, "", dict[int, log.Entry]()
        for line in self._source.lines():
            if (entry := _entry(line)) is None:
                continue
            seq = entry.seq or seq + 1
            entry = msgspec.structs.replace(entry, seq=seq)
            session_id = entry.session_id
            if entry.subtype == log.TOOLS:
                notes[line.number] = entry
            try:
                timeline.fold(entry, Span(line.number, 1))
            except BadInput:  # an annotation of another form: the line is kept
                timeline.follow(entry)
        names = [branch.name for branch in timeline.branches]
        path = timeline.path(names.index(self.branch) if self.branch in names else timeline.current)
        rows = range(len(timeline))
        lines = {timeline.offset[row] for row in rows if path.holds(timeline.branch[row], row)}
        tools = timeline.placed(timeline.tools, path)
        undone: dict[int, list[int]] = {}
        for compaction in timeline.compactions:
            if (note := next(filter(path.knows, compaction.undone), None)) is not None:
                undone[note.offset] = [timeline.offset[timeline.unit_row[unit]] for unit in compaction.summaries]
        shown_tools = tuple(_tools(notes[tools.offset])) if tools is not None else ()
        return _Shown(frozenset(lines), shown_tools, session_id, undone)

    @property
    def tools(self) -> tuple[Any, ...]:
        return self._shown.tools

    @property
    def key(self) -> str:
        """The id of its session. It differs from that of the log, which may be in the same project."""
        return "copy-" + (self._shown.session_id or self._source.stem)

    @property
    def usage(self) -> Usage | None:
        return summed(turn.message.usage for step in self.steps() for turn in step.turns if turn.message.usage)

    def lines(self) -> Iterator[Line]:
        return self._source.lines()

    def is_active(self, number: int) -> bool:
        return number in self._shown.lines

    def steps(self, after: int = 0) -> Iterator[Step]:
        summaries = _Summaries(self._source.lines()) if self.with_summaries else None
        is_swept = is_joined = False
        answers, receipts, said = 0, 0, ""
        uuids: dict[int, str] = {}  # of summaries, by their line
        self.recalled, self.undone = [], []
        for line in self._source.lines():
            if line.number > after:
                entry = _entry(line)
                is_active = self.is_active(line.number)
                compaction = summaries.read(entry, is_active=is_active) if summaries and entry else None
                if compaction is not None:
                    uuids[line.number] = compaction.uuid
                    yield Step((line._replace(type="summary", use=Use.SUMMARY),), (), compaction)
                    continue
                if entry is not None and entry.subtype == log.RECEIPT:
                    receipt = _receipt(entry)
                    self.receipt, is_swept = receipt or self.receipt, _is_swept(receipt)
                    is_joined = is_joined or (not receipts and answers > 0)
                    receipts += 1
                elif entry is not None and log.kind_of(entry) is Kind.ASSISTANT:
                    self.swept |= {entry.uuid} if is_swept else set()
                    self.joined |= {entry.uuid} if is_joined else set()
                    is_swept = is_joined = False
                    answers += 1
                elif entry is not None and log.kind_of(entry) is Kind.RECALL and is_active:
                    self.recalled.append((said, sum(log.full_tokens(entry.tokens))))
                self.undone += ((uuids[at], said) for at in self._shown.undone.get(line.number, ()) if at in uuids)
                kind = "unreadable" if entry is None else entry.subtype or entry.type
                turns = tuple(_turns(entry)) if entry is not None and is_active else ()
                said = turns[-1].uuid if turns else said
                use = Use.MESSAGE if turns else _use_of(entry, is_active=is_active)
                yield Step((line._replace(type=kind, use=use),), turns)


def _receipt(entry: log.Entry) -> ReceiptNote | None:
    try:
        return log.decode_data(entry, ReceiptNote)
    except BadInput:  # a receipt of another form
        return None


def _is_swept(receipt: ReceiptNote | None) -> bool:
    """Whether a payload changed what came before, not because the provider had forgotten it anyway."""
    return receipt is not None and receipt.reason.startswith("sweep") and "cold" not in receipt.reason


class _Summaries:
    """Finds the compactions of a log, and what the payloads before and after them showed."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._quotes: dict[str, str] = {}  # uuid of a boundary → what the next payload quoted before the history
        self._look_ahead(lines)
        self._uuids: list[str] = []  # of what was said, in order
        self._seqs: list[tuple[int, int]] = []  # its own, and of a result that of its answer: they are one unit
        self._plan = PlanNote()  # of the last payload
        self._covered, self._boundary = CompactNote(), ""

    def _look_ahead(self, lines: Iterator[Line]) -> None:
        boundary = ""
        for line in lines:
            if not any(mark in line.data for mark in _MARKS) or (entry := _entry(line)) is None:
                continue
            if entry.subtype == log.BOUNDARY:
                boundary = entry.uuid
            elif boundary and entry.subtype == log.RECEIPT and (receipt := _receipt(entry)) and receipt.plan:
                self._quotes[boundary], boundary = receipt.plan.preface, ""

    def read(self, entry: log.Entry, *, is_active: bool) -> Compaction | None:
        """Return the compaction whose summary an entry is; None if it is none."""
        if entry.subtype == log.BOUNDARY:
            self._covered, self._boundary = log.decode_data(entry, CompactNote), entry.uuid
        elif entry.subtype == log.RECEIPT and (receipt := _receipt(entry)):
            last_plan = self._plan
            self._plan = receipt.plan or msgspec.structs.replace(last_plan, lods=last_plan.lods | receipt.lods)
        kind = log.kind_of(entry)
        if is_active and kind in _ROLES:
            self._uuids.append(entry.uuid)
            unit = self._seqs[-1][1] if kind is Kind.RESULT and self._seqs else entry.seq
            self._seqs.append((entry.seq, unit))
        if kind is not Kind.SUMMARY or not is_active:
            return None
        facts, last = entry.compact_metadata, self._covered.uuids[1] if self._covered.uuids else ""
        after = self._uuids.index(last) + 1 if last in self._uuids else len(self._uuids)
        text = plain_text(log.parts_of(entry))
        if not text.strip():
            return None
        return Compaction(
            summary=text, trigger=facts.trigger if facts else "auto", pre_tokens=facts.pre_tokens if facts else 0,
            post_tokens=facts.post_tokens if facts else None, uuid=entry.uuid, timestamp=entry.timestamp,
            kept_from=self._uuids[after] if after < len(self._uuids) else "",
            quoted=(self._plan.preface, self._quotes.get(self._boundary, "")), unseen=frozenset(self._unseen()),
        )  # fmt: skip

    def _unseen(self) -> Iterator[str]:
        """Yield the uuids of what the last payload left out or shortened."""
        out, shortened = self._plan.out, {id_.partition(".")[0] for id_ in self._plan.lods}
        for uuid, (seq, unit) in zip(self._uuids, self._seqs, strict=True):
            run = bisect_right(out, unit, key=itemgetter(0)) - 1
            if str(seq) in shortened or (run >= 0 and unit <= out[run][1]):
                yield uuid


def _entry(line: Line) -> log.Entry | None:
    try:
        return log.decode(line.data)
    except log.UNREADABLE:
        return None


def _use_of(entry: log.Entry | None, *, is_active: bool) -> Use:
    """Return what becomes of an entry that says nothing in the conversation."""
    if entry is None:
        return Use.UNREADABLE
    return Use.METADATA if is_active or log.kind_of(entry) not in _ROLES else Use.ASIDE


def _turns(entry: log.Entry) -> Iterator[Turn]:
    """Yield what an entry adds to the conversation: nothing, if the engine wrote it."""
    by_program = bool(entry.flags & (LABELLED | ORPHAN))
    for number, message in enumerate(_messages(entry), start=1):
        yield Turn(
            message=message, uuid=entry.uuid if number == 1 else f"{entry.uuid}.{number}", timestamp=entry.timestamp,
            by_program=by_program, cwd=entry.cwd, git_branch=entry.git_branch,
        )  # fmt: skip


def _messages(entry: log.Entry) -> list[Message]:
    kind = log.kind_of(entry)
    if kind in (Kind.RECALL, Kind.WINDOW, Kind.SUMMARY):
        return []
    parts = log.parts_of(entry)
    if entry.message is not None and any(isinstance(part, Opaque) and not part.provider for part in parts):
        content = msgspec.json.decode(entry.message.content)  # another program's log has blocks in its provider's form
        return wire.read_messages([{"role": entry.message.role, "content": content}])
    if kind not in _ROLES:
        return []
    body = entry.message
    return [Message(_ROLES[kind], parts, model=body.model if body else "", usage=body.usage if body else None)]


def _tools(entry: log.Entry) -> Iterator[dict[str, Any]]:
    """Yield the tool definitions of an entry without ours, which a replay adds again."""
    note: ToolsNote = log.decode_data(entry, ToolsNote)
    for tool in note.definitions:
        if tool != LOOK and tool.name not in RECALL_NAMES - {LOOK.name}:  # others have a tool called look
            yield tool.raw or {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
