"""Receipts: what was decided and sent, written to the log and read back.

Also what follows from them: how the model counts tokens (`Calibration`), and how much of a payload it had before.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from typing import NamedTuple

from sightline.compose.inputs import window_rows
from sightline.compose.render import ComposeInputs, first_change, layout
from sightline.log.annotations import (
    LOWERING,
    NO_TOOLS,
    RECEIPT_FORMAT,
    PlanNote,
    ReceiptNote,
    RenditionNote,
    ToolsNote,
)
from sightline.log.columns import NONE, UNBOUNDED, Compaction, Mark, Path, Timeline
from sightline.log.entries import Entry
from sightline.log.journal import Journal
from sightline.log.stores import Span
from sightline.plan.plan import Plan
from sightline.plan.view import Budget, LeftOut, Unchanged, View, body_units, spared_tokens
from sightline.values import excerpt
from sightline.values.clock import known_milliseconds
from sightline.values.items import Kind, Lod, Usage
from sightline.values.profiles import Profile
from sightline.values.settings import Settings
from sightline.wire.payload import Payload

MIN_PAYLOAD = 2000  # tokens: in a smaller payload the provider's own overhead hides how it counts
MAX_FACTOR = 3.0  # a report above this many provider tokens for one of ours is about something else

QUESTION = "sweep: question"  # the reason of a payload for one question
_LOOKED_BACK = 100  # receipts, of branches that have nothing to do with this one
_ANSWERS = 32  # the newest, in which the last one that wrote to a cache is looked for
_MOST_SAID = 0.25  # of what a sweep left: so much may have been said until then that a branch does not have
_RENDITIONS_PER_ENTRY = 16  # because the fields of an entry cost more bytes than a gist


def make_receipt(
    journal: Journal,
    payload: Payload,
    before: Payload | None,
    last: ReceiptNote | None,
    factor: float,
    idle_seconds: int,
    whole: bool,
) -> ReceiptNote:
    """Return the receipt of a payload that follows `before`, whose receipt is `last`.

    It holds the whole plan, or else only what the plan adds to the one before.
    """
    plan, timeline = payload.plan, journal.timeline
    reason = _why_changed(payload, before, last)
    changed = _first_changed(payload, before) if before and reason else None
    return ReceiptNote(
        number=(last.number if last else 0) + 1,
        seq=timeline.seq[row] if (row := timeline.last_row(journal.path)) >= 0 else 0,
        tokens=payload.tokens,
        limit=plan.limit,
        hash=payload.hash,
        format=RECEIPT_FORMAT,
        factor=factor,
        reason=reason,
        changed=changed,
        kept=_tokens_before(changed, before, payload, journal.reader.profile) if before else 0,
        plan=plan_note(plan) if whole else None,
        lods={} if whole else added_lods(plan, before.plan if before else None),
        windows=journal.blobs.keep(shown) if (shown := payload.shown_windows) else {},
        spared=dict(payload.spared),
        idle=idle_seconds if "cold" in reason else 0,
        breakpoints=payload.breakpoints,
        question=plan.reason == QUESTION,
        unchanged=_unchanged(plan, None if whole or before is None else before.plan),
    )


def _why_changed(payload: Payload, before: Payload | None, last: ReceiptNote | None) -> str:
    """Return why a payload does not begin with the one before; empty if it does.

    A request without any message is sent with a placeholder where the provider wants one, so the first one replaces it.
    """
    if before is not None and not (before.body or before.tail) and payload.body:
        return payload.plan.reason or "first message"
    if before is None or payload.shares_blocks_of(before) or first_change(before.chain, payload.chain) is None:
        return ""
    if payload.plan.reason:
        return payload.plan.reason
    if last is not None and last.question:
        return "sweep: question answered"
    if before.chain[0] != payload.chain[0]:
        return "tools or system changed"
    return "window in place" if payload.shown_windows or before.shown_windows else "layout"


def _first_changed(payload: Payload, before: Payload) -> int:
    """Return the index of the first changed block: after the head, if that is all that was sent before."""
    changed = first_change(before.chain, payload.chain)
    return 1 if changed is None else changed


def plan_note(plan: Plan) -> PlanNote:
    """Return a whole plan in ids, as a receipt stores it."""
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
    """Yield the shortened texts that this plan sends for the first time, some for each entry."""
    timeline, reader = journal.timeline, journal.reader
    if not plan.lods:
        return
    if plan.extends(before):
        rows = [row for unit in plan.since(before) for row in timeline.rows_of(unit) if row in plan.lods]
    else:
        rows = sorted(plan.lods)
    fresh = [row for row in rows if plan.lod(row) is not Lod.FULL and reader.logged(row, plan.lod(row)) is None]
    for first in range(0, len(fresh), _RENDITIONS_PER_ENTRY):
        few = [(row, plan.lod(row)) for row in fresh[first : first + _RENDITIONS_PER_ENTRY]]
        yield [
            RenditionNote(
                timeline.id(row),
                int(lod),
                excerpt.pieces(reader.rendition(row, lod), reader.text(row)),
                timeline.size(row, lod),
            )
            for row, lod in few
        ]


def added_lods(plan: Plan, before: Plan | None) -> dict[str, int]:
    """Return the levels below FULL, by item id, of the units that a plan adds to the one it extends."""
    timeline = plan.timeline
    rows = [row for unit in plan.since(before) for row in timeline.rows_of(unit)] if plan.lods else []
    return {timeline.id(row): int(plan.lods[row]) for row in rows if row in plan.lods}


class Sent(NamedTuple):
    """A payload that was sent, by its receipt, and that the next one of a branch extends."""

    note: ReceiptNote
    time: int  # in milliseconds; 0: another program wrote its timestamp
    offset: int  # of the receipt in the log
    path: Path  # of the branch that it was sent on

    def notes(self, journal: Journal) -> Iterator[ReceiptNote]:
        """Yield this receipt and those before it, newest first."""
        return receipts(journal, self.path, self.offset)


def receipt_entries(journal: Journal, path: Path | None = None, last: int = UNBOUNDED) -> Iterator[tuple[Entry, int]]:
    """Yield the receipts of the branch as entries with their place in the log, newest first.

    `path`: that of another branch, for its receipts. `last`: where the newest one to yield is in the log.
    """
    timeline = journal.timeline
    newest_first = range(bisect_right(timeline.receipt_offset, last) - 1, -1, -1)
    for index in timeline.receipts_on(path or journal.path, newest_first):
        span = Span(timeline.receipt_offset[index], timeline.receipt_length[index])
        yield journal.reader.entry_at(span), span.offset


def receipts(journal: Journal, path: Path | None = None, last: int = UNBOUNDED) -> Iterator[ReceiptNote]:
    """Yield the receipts of the branch, newest first. `path` and `last` as for `receipt_entries`."""
    return (journal.reader.note(entry, ReceiptNote) for entry, _ in receipt_entries(journal, path, last))


def last_sent(journal: Journal) -> Sent | None:
    """Return the newest payload that was sent on the branch; None before the first."""
    return _sent(journal, journal.path)


def sent_beside(journal: Journal) -> Sent | None:
    """Return the newest payload of another branch that had the whole beginning of this one, and more after it.

    This branch can go on from it, because the provider's cache still has how it begins. None if there is no such
    payload, if this branch has sent one itself, or if what was decided for the other does not hold here.
    """
    timeline, branch = journal.timeline, journal.timeline.branches[journal.branch]
    since = bisect_left(timeline.receipt_offset, branch.offset)
    if branch.at == NONE or journal.branch in timeline.receipt_branch[since:]:
        return None
    for index in range(since - 1, max(since - _LOOKED_BACK, 0) - 1, -1):
        path = timeline.path(timeline.receipt_branch[index])
        rows = timeline.rows_until(timeline.receipt_seq[index])
        if rows > branch.at and path.holds(timeline.branch[branch.at], branch.at):
            is_own = index in timeline.receipts_on(journal.path, [index])
            sent = None if is_own else _sent(journal, path, timeline.receipt_offset[index])
            return sent if sent is not None and _can_go_on(journal, sent) else None
    return None


def _can_go_on(journal: Journal, sent: Sent) -> bool:
    """Whether what a payload decided holds on a branch that has only its beginning."""
    if sent.note.question:
        return False
    timeline, path, begins = journal.timeline, journal.path, journal.timeline.branches[journal.branch].at
    decided: list[Compaction | Mark] = [*timeline.compactions]
    decided += [mark for mark in timeline.marks if mark.what in LOWERING]
    made = (each for each in decided if each.offset < sent.offset and sent.path.knows(each))
    if not all(map(path.knows, made)):  # what it hides would be neither shown nor summarised
        return False
    swept = next((note for note in sent.notes(journal) if note.plan is not None), None)
    if swept is None or swept.plan is None or not (swept.plan.lods or swept.plan.left_out):
        return False
    if _hides_too_much(timeline, swept.plan, timeline.last_user(path, begins + 1), begins):
        return False
    since = range(begins + 1, timeline.rows_until(swept.seq))
    said = (timeline.full[row] for row in timeline.rows_on(sent.path, since) if timeline.kind[row] != Kind.RECALL)
    return sum(said) <= _MOST_SAID * swept.plan.base


def _hides_too_much(timeline: Timeline, plan: PlanNote, asked: int, begins: int) -> bool:
    """Whether a plan hides anything after the row where a branch begins, or `asked`, the last message of its user.

    Then the branch would count messages that it does not have, or not show its question.
    """
    hidden = [*plan.out, *([plan.left_out[2:]] if plan.left_out is not None else [])]
    if any(last > timeline.seq[begins] for _, last in hidden):
        return True
    rows = timeline.rows_of(asked) if asked >= 0 else []
    return any(
        timeline.id(row) in plan.lods or any(first <= timeline.seq[row] <= last for first, last in plan.out)
        for row in rows
    )


def _sent(journal: Journal, path: Path, last: int = UNBOUNDED) -> Sent | None:
    entry, offset = next(receipt_entries(journal, path, last), (None, 0))
    if entry is None:
        return None
    time = known_milliseconds(entry.timestamp) or 0
    return Sent(journal.reader.note(entry, ReceiptNote), time, offset, path)


def last_budget(journal: Journal, last: ReceiptNote | None) -> Budget | None:
    """Return a budget that allows as many tokens as the last call's; None before the first call."""
    return Budget(allowed_tokens(last, journal.reader.profile)) if last is not None else None


def allowed_tokens(receipt: ReceiptNote, profile: Profile) -> int:
    """Return how many tokens of its model a payload was allowed to have."""
    margin = profile.margin if receipt.factor == 1 else 0.0
    return ceil(receipt.limit * receipt.factor * (1 + margin))


def as_sent(
    journal: Journal, note: ReceiptNote, offset: int, windows: Mapping[str, str], path: Path | None = None
) -> tuple[Settings, ComposeInputs]:
    """Return the settings in force when the receipt at this place in the log was written, and its inputs.

    `path`: of the branch that it was written on, if that is another one. Windows are of one branch.
    """
    timeline, path = journal.timeline, path or journal.path
    settings = journal.reader.in_force(timeline.settings, path, Settings, offset) or journal.settings
    tools = journal.reader.in_force(timeline.tools, path, ToolsNote, offset) or NO_TOOLS
    rows = timeline.rows_until(note.seq)
    sent = ComposeInputs(
        system=tuple(timeline.head_rows(path, rows)),
        tools=tools.definitions,
        windows=windows,
        window_rows=window_rows(journal, windows, layout(settings.layout).windows, rows, offset),
        breakpoints=note.breakpoints,
        spared=note.spared,
    )
    return settings, sent


def reported(journal: Journal, sent: Sent) -> Usage | None:
    """Return the usage that the reply to this payload reports."""
    timeline, last = journal.timeline, sent.note
    for row in range(timeline.rows_until(last.seq), len(timeline)):
        if timeline.kind[row] == Kind.ASSISTANT and sent.path.holds(timeline.branch[row], row):
            entry = journal.reader.entry(row)
            return entry.message.usage if entry.message and entry.receipt == last.number else None
    return None


def last_written(journal: Journal) -> Usage | None:
    """Return the usage of the last call that wrote to the provider's cache; None if the newest answers report none."""
    timeline, path, answers = journal.timeline, journal.path, 0
    for row in range(len(timeline) - 1, -1, -1):
        if timeline.kind[row] == Kind.ASSISTANT and path.holds(timeline.branch[row], row):
            message = journal.reader.entry(row).message
            if message is not None and message.usage is not None and message.usage.written_tokens:
                return message.usage
            if (answers := answers + 1) == _ANSWERS:
                break
    return None


def _unchanged(plan: Plan, before: Plan | None) -> dict[str, tuple[str, int]]:
    """Return the results that only name an earlier one, by id, and that the plan before does not have."""
    rows = plan.unchanged.keys() - (before.unchanged.keys() if before is not None else set())
    timeline = plan.timeline
    return {
        timeline.id(row): (timeline.id(plan.unchanged[row].source), plan.unchanged[row].tokens) for row in sorted(rows)
    }


def unchanged_at(timeline: Timeline, note: ReceiptNote) -> dict[int, Unchanged]:
    """Return the results that a receipt lists as only naming an earlier one."""
    listed = [(timeline.row(item), timeline.row(source), tokens) for item, (source, tokens) in note.unchanged.items()]
    return {row: Unchanged(source, tokens) for row, source, tokens in listed if row is not None and source is not None}


def sent_plan(journal: Journal, view: View, notes: Iterable[ReceiptNote]) -> Plan:
    """Rebuild the plan of the newest of these receipts: the last whole plan and what was added since.

    Of one of another branch, that part which this one has.
    """
    timeline = journal.timeline
    newest: ReceiptNote | None = None
    lods: dict[str, int] = {}
    unchanged: dict[int, Unchanged] = {}
    whole, swept_at = PlanNote(), 0  # before the first sweep everything is in
    for note in notes:
        newest = newest or note
        unchanged = unchanged_at(timeline, note) | unchanged
        if note.plan is not None:
            whole, swept_at = note.plan, note.seq
            break
        lods = note.lods | lods
    assert newest is not None
    units = [  # without later summaries, because only sweeps add summaries
        unit
        for unit in shown_units(journal, whole, newest.seq)
        if timeline.unit_kind(unit) is not Kind.SUMMARY or timeline.seq[timeline.unit_row[unit]] <= swept_at
    ]
    rows = ((timeline.row(item), lod) for item, lod in (whole.lods | lods).items())
    by_row = {row: Lod(lod) for row, lod in rows if row is not None and journal.path.holds(timeline.branch[row], row)}
    unchanged = {row: same for row, same in unchanged.items() if journal.path.holds(timeline.branch[row], row)}
    left_out = None
    if whole.left_out is not None:
        messages, tokens, first, last = whole.left_out
        left_out = LeftOut(messages, tokens, timeline.unit_at(first), timeline.unit_at(last))
    framing, count = journal.reader.profile.message_tokens, journal.reader.counter.count
    marker, preface = (count(text) + framing if text else 0 for text in (whole.marker, whole.preface))
    body = marker + preface + sum(view.unit_tokens(unit, by_row) for unit in units) - spared_tokens(timeline, unchanged)
    plan = Plan(view, units, by_row, {}, body=body, base=whole.base, left_out=left_out, marker=whole.marker)
    plan.preface, plan.preface_tokens = whole.preface, preface
    plan.rows, plan.unchanged = timeline.rows_until(newest.seq), unchanged
    return plan


def shown_units(journal: Journal, whole: PlanNote, seq: int) -> Iterator[int]:
    """Yield the body units up to `seq` that a whole plan shows. Only the gaps between hidden runs are looked at."""
    timeline = journal.timeline
    row, end = 0, timeline.rows_until(seq)
    for first, last in [*whole.out, (1 << 62, 1 << 62)]:
        yield from body_units(timeline, journal.path, row, min(end, bisect_left(timeline.seq, first)))
        row = max(row, timeline.rows_until(last))


class TokenFactor(NamedTuple):
    """How many tokens the model counts for one of ours, and whether a provider has confirmed it."""

    value: float = 1.0
    known: bool = False

    def limit(self, budget: Budget, profile: Profile) -> int:
        """Return how many tokens, as we count them, this budget allows."""
        return budget.limit(self.value, 0.0 if self.known else profile.margin)


def limit_by(factor: float, budget: Budget, profile: Profile) -> int:
    """Return how many tokens, as we count them, a budget allows with the factor of a receipt. 1: none is known yet."""
    return TokenFactor(factor, known=factor != 1).limit(budget, profile)


def reported_factor(reported: int, counted: int, profile: Profile) -> float:
    """Return provider tokens per token of ours: at least 1 where the vocabulary is public, at most MAX_FACTOR."""
    return min(MAX_FACTOR, max(reported / counted, 0.8 if profile.margin else 1.0))


class Calibration:
    """The token factor in force, and what was learned since.

    A higher factor takes effect at once, because the payload must fit. A lower one takes effect at a sweep only,
    because it would change what is shown.
    """

    def __init__(self, logged: float) -> None:
        """`logged` is the factor of the last receipt."""
        self.factor = TokenFactor(logged, known=logged != 1)
        self._observed: float | None = None
        # The factor before the provider refused a payload as too long. Only a refusal makes a factor above MAX_FACTOR.
        self.before_refusal: TokenFactor | None = TokenFactor() if logged > MAX_FACTOR else None

    def observe(self, reported: int, payload_tokens: int, extra_tokens: int, profile: Profile) -> None:
        """Learn from what the provider counted for a payload it accepted and the extra tokens sent with it."""
        self.before_refusal = None
        if payload_tokens >= MIN_PAYLOAD:
            self._observed = reported_factor(reported, max(payload_tokens + extra_tokens, 1), profile)

    def refuse(self, reported: int | None, sent: int, window: int) -> None:
        """Learn from a payload that the provider refused as too long: it counted more than the context window."""
        self.before_refusal = self.before_refusal or self.factor
        self._observed = max(max(reported or 0, window) / max(sent, 1) * 1.02, self.factor.value * 1.1)
        self.factor = TokenFactor(self._observed, known=True)

    def adopt_observed(self, *, swept: bool) -> None:
        """Use the observed factor if it is higher, or in any case if the payload was rewritten by a sweep."""
        if self._observed is not None and (swept or self._observed > self.factor.value):
            self.factor = TokenFactor(self._observed, known=True)

    def forget_refusal(self) -> None:
        """Go back to the factor before the refusal."""
        self.factor, self._observed, self.before_refusal = self.before_refusal or TokenFactor(), None, None


def reused_tokens(before: Payload | None, after: Payload, profile: Profile) -> int:
    """Return the tokens of the blocks that both payloads begin with; the head is the first block.

    Windows do not count, because they come after everything that could be shared. Exact for the `stable` layout.
    """
    if before is None:
        return 0
    changed = None if after.shares_blocks_of(before) else first_change(before.chain, after.chain)
    return _tokens_before(changed, before, after, profile)


def _tokens_before(changed: int | None, before: Payload, after: Payload, profile: Profile) -> int:
    """Return the tokens of what two payloads begin with, by the first changed block; the head is block 0."""
    if changed is None:
        return before.tokens - before.plan.windows
    head = after.plan.fixed - after.plan.windows
    return head + sum(block_tokens(after, profile)[: changed - 1]) if changed else 0


def block_tokens(payload: Payload, profile: Profile) -> list[int]:
    """Return the tokens of each message of the body, framing included. With the head they sum to `payload.tokens`."""
    sizes: dict[str, int] = {}
    for line in payload.plan.lines():
        message = line.id.partition(".")[0]  # a call is part of the message that makes it
        sizes[message] = sizes.get(message, 0) + line.tokens + profile.framing(line.kind)
    plan = payload.plan
    marker = plan.body - plan.preface_tokens - sum(sizes.values())
    own = [plan.preface_tokens, marker] if plan.preface else [marker]  # the messages that show no item, in order
    return [sizes.get(message.id, 0) if message.id else own.pop(0) for message in payload.body]
