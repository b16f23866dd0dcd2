"""What is settled before a payload is composed, and written down: levels, recalled pieces, factor, reason."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple, TypeVar

from sightline.compose.render import ComposeInputs, layout
from sightline.log.annotations import NO_TOOLS, PlanNote, ReceiptNote, RenditionNote, ToolsNote
from sightline.log.branches import Compaction, Path, Placed
from sightline.log.columns import Timeline
from sightline.log.entries import Entry
from sightline.log.journal import Journal
from sightline.log.levels import Reader
from sightline.log.stores import Span
from sightline.plan.budget import Budget
from sightline.plan.plan import Plan
from sightline.plan.view import LeftOut, View, body_unit
from sightline.values import excerpt
from sightline.values.clock import milliseconds
from sightline.values.items import Kind, Lod
from sightline.values.profiles import Profile
from sightline.values.settings import Settings

T = TypeVar("T")


_AGAIN = 0.8  # of its lines: a result that says so much again was fetched for what had been hidden
_IN_ONE = 16  # renditions in one entry: what stands around an entry costs more than a gist

TELLING = 2000  # tokens: in a smaller payload a provider's own overhead hides what its tokens are
MOST_FACTOR = 3.0  # tokens that a provider may count for one of ours: more is said of something else


class Calibration(NamedTuple):
    """How many tokens the model counts for one of ours, and whether that is known yet."""

    factor: float = 1.0
    known: bool = False

    def limit(self, budget: Budget, profile: Profile) -> int:
        """Tokens of ours that this budget allows."""
        return budget.limit(self.factor, 0.0 if self.known else profile.margin)


def fixed_tokens(journal: Journal, around: ComposeInputs, tool_tokens: int, count: Callable[[str], int]) -> int:
    """Tokens of what stands in every payload whatever the plan: head, tail and the request's framing."""
    profile, timeline = journal.reader.profile, journal.timeline
    system = sum(timeline.full[row] + profile.message_tokens for row in around.system)
    rows = set(around.window_rows)
    windows = sum(
        (count(text) + profile.message_tokens) * len(rows.intersection(timeline.windows[window]))
        for window, text in around.windows.items()
    )
    return profile.request_tokens + system + tool_tokens + windows


def new_units(journal: Journal, since_row: int, end_row: int | None = None) -> list[int]:
    """Body units of the branch that began in this range of rows; without an end, from there on."""
    timeline = journal.timeline
    units = timeline.units_between(journal.path, since_row, len(timeline) if end_row is None else end_row)
    return [unit for unit in units if body_unit(timeline, unit) and not _is_summary(timeline, unit)]


def _is_summary(timeline: Timeline, unit: int) -> bool:
    """Whether a unit stands for others: it enters by a sweep, not by coming last."""
    return timeline.kind[timeline.unit_row[unit]] == Kind.SUMMARY


def undone(journal: Journal, offset: int) -> list[int]:
    """The units of compactions that were undone after this place in the log and that no other one covers."""
    timeline, path = journal.timeline, journal.path
    found = [
        each
        for each in timeline.compactions
        if path.knows(each) and any(path.knows(note) and note.offset > offset for note in each.undone)
    ]
    held = timeline.compacted(path) if found else []
    rows = [(timeline.unit_row[each.first], timeline.unit_row[each.last] + 1) for each in found]
    units = {unit for first, end in rows for unit in timeline.units_between(path, first, end)}
    covered = {unit for unit in units if any(each.first <= unit <= each.last for each in held)}
    return [unit for unit in sorted(units - covered) if body_unit(timeline, unit) and not _is_summary(timeline, unit)]


def wanted_back(timeline: Timeline, path: Path, wanted: Mapping[int, Lod]) -> list[int]:
    """The units of rows that somebody wants in full, unless a compaction was made since that covers them.

    A pin holds against every compaction.
    """
    held = timeline.compacted(path)
    said = {mark.row: mark for mark in timeline.marks if path.knows(mark)}
    marks = [(timeline.unit[row], said[row]) for row, lod in wanted.items() if lod is Lod.FULL]
    return [
        unit
        for unit, mark in marks
        if mark.what == "pin" or not any(each.first <= unit <= each.last and each.offset > mark.offset for each in held)
    ]


def raised(timeline: Timeline, path: Path, offset: int) -> bool:
    """Whether somebody asked for an item in its place after this place in the log."""
    return any(mark.offset > offset and mark.what == "raise" and path.knows(mark) for mark in timeline.marks)


def compacted(journal: Journal, offset: int) -> tuple[list[Compaction], str]:
    """The compactions that hold, and, where one was made or undone after this place in the log, the command for it."""
    path = journal.path
    if not journal.timeline.compactions:
        return [], ""
    held = journal.timeline.compacted(path)
    if any(each.offset > offset and (each.manual or not offset) for each in held):
        return held, "command: compact"
    return held, "command: uncompact" if undone(journal, offset) else ""


def given_back(journal: Journal, sent: Plan, compactions: Sequence[Compaction]) -> list[int]:
    """What the last payload did not show and no summary stands for: where less may be reduced than for that one."""
    every = (unit for unit in complete_units(journal, 0) if unit not in sent)
    return [unit for unit in every if not any(each.first <= unit <= each.last for each in compactions)]


def complete_units(journal: Journal, since_row: int) -> list[int]:
    """New units that could be sent: none of whose calls waits for a result."""
    timeline = journal.timeline
    waiting = {timeline.unit[row] for row in timeline.open_calls}
    return [unit for unit in new_units(journal, since_row) if unit not in waiting]


def window_rows(
    journal: Journal, shown: Iterable[str], where: str, rows: int, offset: int = 1 << 62
) -> tuple[int, ...]:
    """Where these windows stand: in their places each of its references, else only the last, in the order given."""
    own = [journal.timeline.references(window, journal.path, rows, offset) for window in shown]
    if where == "place":
        return tuple(sorted(row for references in own for row in references))
    return tuple(references[-1] for references in own if references)


def faults(journal: Journal, new: Sequence[int], sent: Plan | None) -> frozenset[int]:
    """The results among these units that show again what the last payload showed shortened, or not at all."""
    timeline, path = journal.timeline, journal.path
    if sent is None:
        return frozenset()
    rows = [row for unit in new for row in timeline.rows_of(unit) if timeline.same[row] >= 0]
    found = []
    for row in rows:
        before = _same_on(timeline, path, row)
        seen = timeline.unit[before] in sent and sent.lod(before) is Lod.FULL
        if 0 <= before < sent.rows and not seen and _says_again(journal.reader.text(row), journal.reader.text(before)):
            found.append(row)
    return frozenset(found)


def _same_on(timeline: Timeline, path: Path, row: int) -> int:
    """The result before this one about the same subject that is on the path; -1 if there is none."""
    row = timeline.same[row]
    while row >= 0 and not path.holds(timeline.branch[row], row):
        row = timeline.same[row]
    return row


def _says_again(text: str, before: str) -> bool:
    """Whether most of what a text says was said before."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    known = {line.strip() for line in before.split("\n")}
    return bool(lines) and sum(line in known for line in lines) >= _AGAIN * len(lines)


def searched_user(timeline: Timeline, path: Path, last: ReceiptNote | None) -> int:
    """The unit of the newest user message that a payload or a recall came after; -1 if there is none."""
    known = bisect_right(timeline.seq, last.seq) if last is not None else 0
    for row in range(len(timeline) - 1, known - 1, -1):
        if timeline.kind[row] == Kind.RECALL and path.holds(timeline.branch[row], row):
            return timeline.last_user(path, row)
    return timeline.last_user(path, known)


def marks(timeline: Timeline, path: Path) -> tuple[frozenset[int], dict[int, Lod]]:
    """The rows that callers pinned, and those somebody wants at a level from the next sweep on."""
    said = {row: what for row, what in timeline.marked(path).items() if body_unit(timeline, timeline.unit[row])}
    pinned = frozenset(row for row, what in said.items() if what == "pin")
    wanted = {row: Lod.FULL for row, what in said.items() if what in ("pin", "raise")}
    wanted |= {row: Lod.GIST for row, what in said.items() if what == "collapse"}
    return pinned, wanted


# ---------------------------------------------------------------------- plans as notes


def plan_note(plan: Plan) -> PlanNote:
    """A whole plan, in ids, as a receipt keeps it."""
    timeline = plan.timeline
    out = [
        (timeline.seq[timeline.unit_row[first]], timeline.seq[timeline.unit_row[last]]) for first, last in plan.gaps()
    ]
    lods = {timeline.id(row): int(lod) for row, lod in plan.lods.items() if lod is not Lod.FULL}
    left_out = plan.left_out
    counted = None if left_out is None else (left_out.messages, left_out.tokens, *_ends(timeline, left_out))
    return PlanNote(out, lods, plan.marker, plan.preface, counted, plan.base)


def _ends(timeline: Timeline, left_out: LeftOut) -> tuple[int, int]:
    return timeline.seq[timeline.unit_row[left_out.first]], timeline.seq[timeline.unit_row[left_out.last]]


def renditions_to_log(journal: Journal, plan: Plan, before: Plan | None) -> Iterator[list[RenditionNote]]:
    """The shortened texts that this plan sends for the first time, a few to an entry."""
    timeline, reader = journal.timeline, journal.reader
    if plan.extends(before):
        rows = [row for unit in plan.since(before) for row in timeline.rows_of(unit) if row in plan.lods]
    else:
        rows = sorted(plan.lods)
    fresh = [row for row in rows if plan.lod(row) is not Lod.FULL and reader.logged(row, plan.lod(row)) is None]
    for first in range(0, len(fresh), _IN_ONE):
        few = fresh[first : first + _IN_ONE]
        yield [_rendition_note(reader, row, plan.lod(row)) for row in few]


def _rendition_note(reader: Reader, row: int, lod: Lod) -> RenditionNote:
    pieces = excerpt.pieces(reader.rendition(row, lod), reader.text(row))
    return RenditionNote(reader.timeline.id(row), int(lod), pieces)


def added_lods(plan: Plan, before: Plan | None) -> dict[str, int]:
    """The levels below FULL among the units that a plan adds to the one it extends, by item id."""
    timeline = plan.timeline
    rows = [row for unit in plan.since(before) for row in timeline.rows_of(unit)]
    return {timeline.id(row): int(plan.lods[row]) for row in rows if row in plan.lods}


def receipt_entries(journal: Journal) -> Iterator[tuple[Entry, int]]:
    """The receipts of the branch as entries, and where each stands, newest first."""
    timeline = journal.timeline
    for index in range(len(timeline.receipt_offset) - 1, -1, -1):
        rows = bisect_right(timeline.seq, timeline.receipt_seq[index])
        if journal.path.holds(timeline.receipt_branch[index], rows - 1):
            span = Span(timeline.receipt_offset[index], timeline.receipt_length[index])
            yield journal.reader.entry_at(span), span.offset


def receipts(journal: Journal) -> Iterator[ReceiptNote]:
    """The receipts of the branch, newest first."""
    for entry, _ in receipt_entries(journal):
        yield journal.reader.note(entry, ReceiptNote)


def last_receipt(journal: Journal) -> tuple[ReceiptNote | None, int]:
    """The newest receipt of the branch, and when it was written, in milliseconds."""
    entry, _ = next(receipt_entries(journal), (None, 0))
    if entry is None:
        return None, 0
    note = journal.reader.note(entry, ReceiptNote)
    try:
        return note, milliseconds(entry.timestamp)
    except ValueError:  # somebody wrote no time there
        return note, 0


def last_budget(journal: Journal, last: ReceiptNote | None) -> Budget | None:
    """A budget with the room that the last call had; None before the first."""
    if last is None:
        return None
    margin = journal.reader.profile.margin if last.factor == 1 else 0.0
    return Budget(ceil(last.limit * last.factor * (1 + margin)))


def as_sent(
    journal: Journal, note: ReceiptNote, offset: int, windows: Mapping[str, str]
) -> tuple[Settings, ComposeInputs]:
    """The settings that held when the receipt at this place in the log was written, and what stood around its plan."""
    timeline = journal.timeline
    settings = _in_force(journal, timeline.settings, offset, Settings) or journal.settings
    tools = _in_force(journal, timeline.tools, offset, ToolsNote) or NO_TOOLS
    rows = bisect_right(timeline.seq, note.seq)
    around = ComposeInputs(
        system=tuple(timeline.head_rows(journal.path, rows)),
        tools=tools.definitions,
        windows=windows,
        window_rows=window_rows(journal, windows, layout(settings.layout).windows, rows, offset),
        breakpoints=note.breakpoints,
        spared=note.spared,
    )
    return settings, around


def _in_force(journal: Journal, notes: Sequence[Placed], offset: int, type_: type[T]) -> T | None:
    """The last of these annotations on the branch that stands before this place in the log."""
    span = journal.timeline.placed([note for note in notes if note.offset < offset], journal.path)
    return None if span is None else journal.reader.note(journal.reader.entry_at(span), type_)


def factor(reported: int, counted: int, profile: Profile) -> float:
    """Tokens the provider counts for one of ours: never fewer where the vocabulary is public, nowhere far off."""
    return min(MOST_FACTOR, max(reported / counted, 0.8 if profile.margin else 1.0))


def reported(journal: Journal, last: ReceiptNote) -> float | None:
    """Tokens that the provider counted for one of ours, if the reply to this payload says so."""
    timeline = journal.timeline
    for row in range(bisect_right(timeline.seq, last.seq), len(timeline)):
        if timeline.kind[row] == Kind.ASSISTANT and journal.path.holds(timeline.branch[row], row):
            entry = journal.reader.entry(row)
            usage = entry.message.usage if entry.message and entry.receipt == last.number else None
            if usage is not None and last.tokens >= TELLING:
                return factor(usage.input_tokens, last.tokens, journal.reader.profile)
            return None
    return None


def sent_plan(journal: Journal, view: View, notes: Iterator[ReceiptNote]) -> Plan | None:
    """The plan of the newest of these receipts, as it was: from the last whole one and what was added since."""
    timeline = journal.timeline
    newest: ReceiptNote | None = None
    lods: dict[str, int] = {}
    whole, known, calls = PlanNote(), 0, 0  # before the first sweep everything is in
    for calls, note in enumerate(notes):  # noqa: B007
        newest = newest or note
        if note.plan is not None:
            whole, known = note.plan, note.seq
            break
        lods = note.lods | lods
    if newest is None:
        return None
    units = [unit for unit in _shown(journal, whole, newest.seq) if _has_entered(timeline, unit, known)]
    by_row = {row: Lod(lod) for id_, lod in (whole.lods | lods).items() if (row := timeline.row(id_)) is not None}
    left_out = _left_out(timeline, whole)
    framing, count = journal.reader.profile.message_tokens, journal.reader.counter.count
    marker, preface = (count(text) + framing if text else 0 for text in (whole.marker, whole.preface))
    body = marker + preface + sum(view.unit_tokens(unit, by_row) for unit in units)
    plan = Plan(view, units, by_row, {}, body=body, base=whole.base, left_out=left_out, marker=whole.marker)
    plan.preface, plan.preface_tokens = whole.preface, preface
    plan.rows = bisect_right(timeline.seq, newest.seq)
    plan.calls = calls if whole.base else calls + 1
    if whole.base:
        plan.weighed = bisect_left(units, timeline.unit_count(bisect_right(timeline.seq, known)))
    plan.spare = sum(view.spare(unit, by_row) for unit in plan.after(plan.weighed))
    return plan


def _has_entered(timeline: Timeline, unit: int, seq: int) -> bool:
    """Whether a unit was shown after a sweep that knew of entries up to `seq`: a summary enters only by a sweep."""
    row = timeline.unit_row[unit]
    return timeline.kind[row] != Kind.SUMMARY or timeline.seq[row] <= seq


def _left_out(timeline: Timeline, note: PlanNote) -> LeftOut | None:
    if note.left_out is None:
        return None
    messages, tokens, first, last = note.left_out
    return LeftOut(messages, tokens, _unit_at(timeline, first), _unit_at(timeline, last))


def _unit_at(timeline: Timeline, seq: int) -> int:
    return timeline.unit[bisect_left(timeline.seq, seq)]


def _shown(journal: Journal, whole: PlanNote, seq: int) -> Iterator[int]:
    """The body units up to `seq` that a whole plan does not leave out: looks only at the gaps between what is out."""
    timeline = journal.timeline
    row, end = 0, bisect_right(timeline.seq, seq)
    for first, last in [*whole.out, (1 << 62, 1 << 62)]:
        stop = min(end, bisect_left(timeline.seq, first))
        for unit in timeline.units_between(journal.path, row, stop):
            if body_unit(timeline, unit):
                yield unit
        row = max(row, _after(timeline, last))


def _after(timeline: Timeline, seq: int) -> int:
    """The first row after the entry of this seq."""
    return bisect_right(timeline.seq, seq)
