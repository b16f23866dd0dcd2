"""The payloads of earlier calls made again, and what another plan would have sent in their place.

Each function holds the session's lock while it reads, and writes nothing to the log.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from sightline.compose import ComposeInputs, layout
from sightline.compose.inputs import units_to_weigh
from sightline.compose.receipts import as_sent, last_budget, sent_plan
from sightline.compose.render import hash_chain, render
from sightline.errors import BadInput
from sightline.log import NONE, Journal, LogUpTo
from sightline.log.annotations import NO_TOOLS, ReceiptNote, ToolsNote
from sightline.log.entries import Entry
from sightline.log.stores import Span
from sightline.plan import SETTINGS_CHANGED, Budget, Hooks, Plan, Planner, View, body_units
from sightline.session.sent_windows import sent_windows
from sightline.session.session import Session
from sightline.values.items import Kind, Message, Result, Text
from sightline.values.settings import Settings
from sightline.view.model_calls import CallIndex, ModelCall, call_index, compactions_at
from sightline.wire.payload import Payload, PrefixList

_NO_LIMIT = 1 << 62
_GONE = Text("[cleared]")


class UnknownCallNumber(BadInput):
    """No call of the branch has this number."""


def call_payload(session: Session, number: int) -> Payload:
    """Return the payload of a call, made again from the log.

    If it was composed, its hash equals that of its receipt. If not, it is what the log says that it was.

    Raises:
        UnknownCallNumber: no call has this number.
        BadInput: the text of a window that it showed is lost.
    """
    with session._lock:
        journal, index = session.log, call_index(session)
        call = find_call(index, number)
        if call.receipt != NONE:
            return _composed(journal, index, call)
        cleared = index.clearings.rows_at(number)
        return _without(_uncomposed(journal, call), {journal.timeline.id(row) for row in cleared})


def find_call(index: CallIndex, number: int) -> ModelCall:
    """Return the call of this number. Raises UnknownCallNumber."""
    if not 1 <= number <= len(index.calls):
        raise UnknownCallNumber(f"no call {number} on this branch; there are {len(index.calls)}")
    return index.calls[number - 1]


def receipt_of(journal: Journal, call: ModelCall) -> ReceiptNote:
    """Return the receipt of a call that was composed."""
    return journal.reader.note(receipt_entry(journal, call), ReceiptNote)


def receipt_entry(journal: Journal, call: ModelCall) -> Entry:
    """Return the entry of the receipt of a call that was composed."""
    timeline = journal.timeline
    return journal.reader.entry_at(Span(timeline.receipt_offset[call.receipt], timeline.receipt_length[call.receipt]))


def _composed(journal: Journal, index: CallIndex, call: ModelCall) -> Payload:
    notes = [*since_sweep(journal, index, call)]
    note = notes[0]
    windows = journal.blobs.read(note.windows)
    if windows.keys() != note.windows.keys():
        raise BadInput(f"call {call.number} cannot be made again: the text of a window that it showed is lost")
    settings, sent = as_sent(journal, note, call.offset, windows)
    plan = sent_plan(journal, _view(journal, 0), notes)
    plan.fixed = max(note.tokens - plan.body, 0)
    return replace(render(journal.reader, plan, layout(settings.layout), sent), tokens=note.tokens)


def since_sweep(journal: Journal, index: CallIndex, call: ModelCall) -> Iterator[ReceiptNote]:
    """Yield the receipt of a call and those before it, newest first, up to the last that has a whole plan."""
    for earlier in reversed(index.calls[: call.number]):
        if earlier.receipt != NONE:
            note = receipt_of(journal, earlier)
            yield note
            if note.plan is not None:
                return


def _view(journal: Journal, fixed: int) -> View:
    return View(journal.timeline, journal.path, journal.reader.profile, Budget(1), _NO_LIMIT, fixed, None, [])


def _uncomposed(journal: Journal, call: ModelCall) -> Payload:
    plan, inputs = uncomposed_plan(journal, call)
    settings = journal.reader.in_force(journal.timeline.settings, journal.path, Settings, call.offset)
    return render(journal.reader, plan, layout((settings or journal.settings).layout), inputs)


def _without(payload: Payload, cleared: Collection[str]) -> Payload:
    """Return a payload with a word in the place of these results."""
    if not cleared:
        return payload
    body = PrefixList([_emptied(message) if message.id in cleared else message for message in payload.body])
    chain = PrefixList([*hash_chain(payload.chain[0], body)])
    return replace(payload, body=body, chain=chain, hash=chain[-1].hex())


def _emptied(message: Message) -> Message:
    parts = (replace(part, parts=(_GONE,)) if isinstance(part, Result) else part for part in message.parts)
    return replace(message, parts=tuple(parts))


def uncomposed_plan(journal: Journal, call: ModelCall) -> tuple[Plan, ComposeInputs]:
    """Return what a call that was not composed showed: everything before the reply, except what compactions cover."""
    timeline, reader, path = journal.timeline, journal.reader, journal.path
    in_force = compactions_at(journal, call)
    summaries = {unit for compaction in in_force for unit in compaction.summaries}
    units = [
        unit
        for unit in body_units(timeline, path, 0, call.rows)
        if not any(compaction.first <= unit <= compaction.last for compaction in in_force)
        if timeline.unit_kind(unit) is not Kind.SUMMARY or unit in summaries
    ]
    tools = reader.in_force(timeline.tools, path, ToolsNote, call.offset) or NO_TOOLS
    heads = timeline.head_rows(path, call.rows)
    profile = reader.profile
    fixed = sum(timeline.full[row] + profile.message_tokens for row in heads) + tools.tokens + profile.request_tokens
    view = _view(journal, fixed)
    plan = Plan(view, units, {}, {}, body=view.full_tokens(units))
    plan.rows = call.rows
    return plan, ComposeInputs(system=tuple(heads), tools=tools.definitions)


# ---------------------------------------------------------------------- what another plan would send


@dataclass(frozen=True)
class Anew(Hooks):
    """A strategy that plans as another would if nothing had been sent before: every item is weighed again."""

    inner: Planner

    @property
    def name(self) -> str:
        """The name of the other strategy."""
        return self.inner.name

    def plan(self, view: View) -> Plan:
        """Let the other strategy plan, as for a first call."""
        units = units_to_weigh(view.timeline, view.path, len(view.timeline), view.pinned)
        command = SETTINGS_CHANGED if view.compactions else ""  # a sweep leaves out what summaries cover
        return self.inner.plan(replace(view, last=None, new=units, back=[], command=command))


@contextmanager
def session_before(
    session: Session, number: int, planner: Planner | None = None
) -> Iterator[tuple[Session, Budget | None]]:
    """Have the session as it was when a call was made, and its budget; None if it was not composed.

    Nothing can be written. Raises UnknownCallNumber.
    """
    with session._lock:
        journal, call = session.log, find_call(call_index(session), number)
        note = receipt_of(journal, call) if call.receipt != NONE else None
        timeline = journal.timeline
        at = timeline.receipt_branch[call.receipt] if note is not None else timeline.branch[call.reply]
        branch, budget = timeline.branches[at].name, last_budget(journal, note)
        windows = sent_windows(note, journal.blobs)
        store = LogUpTo(journal.store.reopened(), call.offset)
    try:
        options = {"strategy": planner, "windows": windows, "project": session._options["project"], "folders": ()}
        before = Session(store, token_counter=journal.reader.counter, **options)
        before._inspects = True
        before.log.switch(branch)
        before._composer.begin()
        yield before, budget
    finally:
        store.close()
