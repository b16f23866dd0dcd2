"""What each model call of a session held, by kind and level: rows for whoever draws the context window over time."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sightline.compose.receipts import shown_units, unchanged_at
from sightline.log import NONE, Journal, branch_label
from sightline.log.annotations import CLEARED, NO_TOOLS, PlanNote, ReceiptNote, ToolsNote
from sightline.log.entries import Entry
from sightline.plan import Budget, body_units
from sightline.providers.catalog import price_of as known_price
from sightline.providers.prices import price_input
from sightline.providers.windows import answer_room, usual_window, windows_of
from sightline.session.session import Session
from sightline.values.clock import seconds_between
from sightline.values.items import Kind, Lod, Usage
from sightline.values.profiles import Profile, call_cost, charged, input_cost
from sightline.view.call_payloads import receipt_entry, since_sweep
from sightline.view.call_values import HIDDEN, CallFacts, CallPage, CallRow, Mark, TimelinePage, Tokens
from sightline.view.costs import PriceOf, kept_tokens, likely_usage, money_of
from sightline.view.ledger import KINDS, CallSums
from sightline.view.model_calls import CallIndex, ModelCall, call_index

BEGAN = "composing began"  # the reason of the first composed call: Sightline's tools joined
_LOOKED_BACK = 500  # calls, for how large the windows of their models are
_LEVELS = {lod: lod.name.lower() for lod in Lod}
_HIDES = frozenset(("user", "note", "assistant", "thinking", "call", "result"))  # kinds of what may be hidden


class _Made(NamedTuple):
    row: CallRow
    note: ReceiptNote | None


def call_rows(
    session: Session, start: int, limit: int, every: int = 1, price_of: PriceOf = known_price
) -> tuple[list[CallRow], int]:
    """Return calls of the branch, oldest first, from the `start`-th on, one of each `every`; and how many there are.

    Reads the receipts since the last sweep before the first of them, and the replies.
    """
    made, total = _made_rows(session, start, limit, every, price_of)
    return [call.row for call in made], total


def call_page(session: Session, start: int, limit: int) -> CallPage:
    """Return calls of the branch, and what was decided for each."""
    made, total = _made_rows(session, start, limit)
    end = start + len(made)
    return CallPage([_facts(*call) for call in made], total, end if made and end < total else None)


def timeline_page(session: Session, start: int, limit: int, every: int, price_of: PriceOf) -> TimelinePage:
    """Return calls of the branch, and what the context of each held."""
    rows, total = call_rows(session, start, limit, every, price_of)
    end = start + len(rows) * every
    return TimelinePage(rows, total, end if rows and end < total else None)


def calls_answered(session: Session, rows: Sequence[int], price_of: PriceOf = known_price) -> dict[int, CallRow]:
    """Return the calls that are answered by some of these rows, which follow each other on the branch, by the row."""
    with session._lock:
        replies = [row for row in rows if session.log.timeline.kind[row] == Kind.ASSISTANT]
        if not replies:
            return {}
        index = call_index(session, replies[-1] + 1)
        start, end = index.place(replies[0]), index.place(replies[-1]) + 1
        made = _Rows(session.log, index, price_of).between(start, end, 1)
        return {call.reply: each.row for call, each in zip(index.calls[start:end], made, strict=True)}


def call_at(session: Session, number: int, price_of: PriceOf = known_price) -> tuple[CallRow, CallFacts]:
    """Return one call that there is: what its context held, and what was decided for it."""
    [made], _ = _made_rows(session, number - 1, 1, price_of=price_of)
    return made.row, _facts(*made)


def _made_rows(
    session: Session, start: int, limit: int, every: int = 1, price_of: PriceOf = known_price
) -> tuple[list[_Made], int]:
    with session._lock:
        index = call_index(session)
        end = min(start + limit * every, len(index.calls))
        return [*_Rows(session.log, index, price_of).between(start, end, every)], len(index.calls)


def _facts(row: CallRow, note: ReceiptNote | None) -> CallFacts:
    common: dict[str, Any] = {
        "number": row.number, "reply": row.reply, "composed": row.composed, "model": row.model, "usage": row.usage,
        "timestamp": row.timestamp, "tokens": row.total, "limit": note.limit if note is not None else 0,
    }  # fmt: skip
    if note is None:
        return CallFacts(**common)
    return CallFacts(
        **common,
        seq=note.seq,
        hash=note.hash,
        reason=row.reason,
        changed=0 if row.reason == BEGAN else note.changed,
        factor=note.factor,
        breakpoints=list(note.breakpoints),
        lowered=len(note.plan.lods if note.plan is not None else note.lods),
        faults=note.faults,
        windows=list(note.windows),
        question=note.question,
    )


def usual_budget(session: Session, number: int | None = None) -> Budget:
    """Return the budget of the model that answered a call, or one before it; None: the last call."""
    with session._lock:
        index = call_index(session)
        windows = _model_windows(session.log, index)
        calls = reversed(index.calls[:number][-_LOOKED_BACK:])
        models = (model for model, _ in _answers(session.log, (call.reply for call in calls if call.reply != NONE)))
        window = next((windows[model] for model in models if model in windows), usual_window())
        return Budget(window, answer_room(window))


def chosen_budget(usual: Budget, window: int | None, output: int | None) -> Budget:
    """Return the budget that was asked for, else the usual one."""
    if window is None and output is None:
        return usual
    whole = window if window is not None else usual.window
    return Budget(whole, answer_room(whole) if output is None else output)


def _model_windows(journal: Journal, index: CallIndex) -> Mapping[str, int]:
    """Return the context window of each model of the branch. They are found once for all pages."""
    replies = index.last_replies(_LOOKED_BACK)
    if replies and index.windows_at != replies[-1]:
        journal.reader.prefetch(replies)
        index.windows, index.windows_at = windows_of(_answers(journal, replies)), replies[-1]
    return index.windows


def _answers(journal: Journal, replies: Iterable[int]) -> Iterable[tuple[str, int]]:
    """Yield the models that answered, and how many input tokens were reported of each call."""
    for row in replies:
        model, usage = _answer(journal.reader.entry(row), None)
        yield model, usage.input_tokens if usage is not None else 0


class _Rows:
    """Makes the rows of calls that follow each other."""

    def __init__(self, journal: Journal, index: CallIndex, price_of: PriceOf) -> None:
        self._journal, self._index, self._price_of = journal, index, price_of
        self._profile = journal.reader.profile
        self._composed: _Composed | None = None
        self._texts: dict[str, int] = {}  # digest of a window's text → its tokens
        self._branches = _branch_starts(journal)
        self._wrote: Usage | None = None  # the usage of the last call that wrote to the provider's cache
        self._limits = _model_windows(journal, index)

    def between(self, start: int, end: int, every: int) -> Iterable[_Made]:
        """Yield the rows of these calls, each `every`-th."""
        calls = self._index.calls
        replies = [call.reply for call in calls[start:end:every] if call.reply != NONE]
        self._journal.reader.prefetch(replies)
        before = self._row(calls[start - 1], None).row if 0 < start < len(calls) else None
        for call in calls[start:end]:
            wanted = (call.number - 1 - start) % every == 0
            if wanted or call.receipt != NONE:  # what is composed goes on from the call before
                made = self._row(call, before)
                before = made.row
                if wanted:
                    yield made
            else:
                before = self._row(call, before).row if (call.number - start) % every == 0 else before

    def _row(self, call: ModelCall, before: CallRow | None) -> _Made:
        journal, sums = self._journal, self._index.sums[call.number - 1]
        entry = journal.reader.entry(call.reply) if call.reply != NONE else None
        note, when = self._receipt(call)
        tokens = self._uncomposed(call, sums) if note is None else self._by_receipt(call, note, sums)
        total = sum(size for levels in tokens.values() for level, size in levels.items() if level != HIDDEN)
        timestamp = when or (entry.timestamp if entry is not None else "")
        model, usage = _answer(entry, note)
        limit, limit_from = (note.limit, "budget") if note is not None else (self._limits.get(model), "model")
        cached = self._cached(note, sums, tokens, total, before, timestamp) if usage is None else 0
        price, output = self._price_of(model), self._output(call) if usage is None else usage.output_tokens
        used = likely_usage(usage, total, output, cached)
        is_reported, cleared = usage is not None, self._index.clearings.sum_at(call.number)
        row = CallRow(
            number=call.number,
            reply=None if call.reply == NONE else journal.timeline.id(call.reply),
            timestamp=timestamp,
            model=model,
            composed=note is not None,
            tokens=tokens,
            total=total,
            limit=limit,
            limit_from="" if limit is None else limit_from,
            reported=used.input_tokens if is_reported else None,
            cached=used.cached_tokens,
            cached_from="usage" if is_reported else "forecast",
            relative_cost=_relative_cost(total, cached, usage, self._profile, self._wrote),
            cost=money_of(used, price),
            input_cost=price_input(used, price) if price is not None else None,
            cost_from="" if price is None else "usage" if is_reported else "forecast",
            output=output,
            usage=usage,
            reason=self._reason(call, note, sums),
            marks=[*self._marks(call, note, sums)],
            cleared=cleared.results,
            cleared_tokens=cleared.tokens,
        )
        self._wrote = usage if usage is not None and usage.written_tokens else self._wrote
        return _Made(row, note)

    def _reason(self, call: ModelCall, note: ReceiptNote | None, sums: CallSums) -> str:
        """Return why the prompt prefix changed. A receipt knows only the calls that were composed."""
        if note is None:
            is_cleared = self._index.clearings.begun_at(call.number)
            return "compaction" if sums.compactions else CLEARED if is_cleared else ""
        if note.reason or call.number == 1:
            return note.reason
        earlier = self._index.calls[call.number - 2]
        return BEGAN if earlier.receipt == NONE and self._tools(earlier) != self._tools(call) else ""

    def _receipt(self, call: ModelCall) -> tuple[ReceiptNote | None, str]:
        if call.receipt == NONE:
            return None, ""
        entry = receipt_entry(self._journal, call)
        return self._journal.reader.note(entry, ReceiptNote), entry.timestamp

    # ------------------------------------------------------------------ tokens

    def _uncomposed(self, call: ModelCall, sums: CallSums) -> Tokens:
        tokens: Tokens = {}
        for kind, in_context, said in zip(KINDS, sums.shown, sums.said, strict=True):
            _add(tokens, kind, "full", in_context)
            if kind in _HIDES:
                _add(tokens, kind, HIDDEN, said - in_context)
        tools = self._tools(call)
        _add(tokens, "tools" if tools.definitions else "request", "full", tools.tokens + self._profile.request_tokens)
        return tokens

    def _tools(self, call: ModelCall) -> ToolsNote:
        journal = self._journal
        tools = journal.reader.in_force(journal.timeline.tools, journal.path, ToolsNote, call.offset)
        return tools or NO_TOOLS

    def _by_receipt(self, call: ModelCall, note: ReceiptNote, sums: CallSums) -> Tokens:
        if self._composed is None or note.plan is not None or self._composed.number != note.number - 1:
            notes = [*since_sweep(self._journal, self._index, call)][::-1]
            self._composed = _Composed(self._journal, self._index, notes)
        else:
            self._composed.extend(note)
        tokens = {kind: dict(levels) for kind, levels in self._composed.tokens.items()}
        head = sums.said[KINDS.index("system")] - sum(tokens.get("system", {}).values())
        _add(tokens, "system", "full", max(head, 0))
        _add(tokens, "window", "full", self._windows(note))
        for kind, said in zip(KINDS, sums.said, strict=True):
            if kind in _HIDES:
                _add(tokens, kind, HIDDEN, max(said - self._composed.full.get(kind, 0), 0))
        counted = sum(size for levels in tokens.values() for level, size in levels.items() if level != HIDDEN)
        _add(tokens, "tools" if self._tools(call).definitions else "request", "full", max(note.tokens - counted, 0))
        return tokens

    def _windows(self, note: ReceiptNote) -> int:
        tokens = 0
        for name, digest in note.windows.items():
            if digest not in self._texts:
                text = self._journal.blobs.read({name: digest}).get(name, "")
                self._texts[digest] = self._journal.reader.counter.count(text) + self._profile.message_tokens
            tokens += self._texts[digest]
        return tokens

    def _output(self, call: ModelCall) -> int:
        if call.reply == NONE:
            return 0
        timeline = self._journal.timeline
        return sum(timeline.full[row] for row in (call.reply, *timeline.calls_of(call.reply)))

    # ------------------------------------------------------------------ what is read from the provider's cache

    def _cached(
        self,
        note: ReceiptNote | None,
        sums: CallSums,
        tokens: Tokens,
        total: int,
        before: CallRow | None,
        timestamp: str,
    ) -> int:
        """Return how many tokens the call should have found in the cache: what it and the last one begin with."""
        kept = charged(self._profile, self._wrote).cache_seconds
        if before is None or seconds_between(before.timestamp, timestamp) > kept:
            return 0
        head = sum(sum(tokens.get(kind, {}).values()) for kind in ("system", "tools", "request"))
        if note is None:
            reused = head if sums.compactions else before.total
        else:
            reused = kept_tokens(note, before.total - sum(before.tokens.get("window", {}).values()), head)
        reused = min(reused, total)
        return reused if reused >= self._profile.cache_minimum else 0

    # ------------------------------------------------------------------ marks

    def _marks(self, call: ModelCall, note: ReceiptNote | None, sums: CallSums) -> Iterable[Mark]:
        journal, timeline = self._journal, self._journal.timeline
        if note is not None and _sweeps(note):
            yield Mark("sweep", note.reason or "sweep: first")
        elif note is not None and note.reason:
            yield Mark("prefix", note.reason)
        for at in sums.compactions:
            compaction = timeline.compactions[at]
            first = timeline.id(timeline.unit_row[compaction.summaries[0]])
            undone = any(journal.path.knows(note) and note.offset < call.offset for note in compaction.undone)
            covered = range(timeline.unit_row[compaction.first], timeline.unit_row[compaction.last] + 1)
            messages = sum(timeline.kind[row] != Kind.CALL for row in covered)
            yield Mark("compaction", "undone" if undone else "", first, messages)
        for clearing in self._index.clearings.begun_at(call.number):
            item = timeline.id(clearing.rows[-1]) if clearing.rows else ""
            yield Mark("cleared", clearing.reason, item, len(clearing.rows), clearing.tokens)
        first_row = self._index.calls[call.number - 2].rows if call.number > 1 else 0
        for row, name in self._branches:
            if first_row <= row < call.rows or (row < 0 and call.number == 1):
                yield Mark("branch", name)
        if sums.failed:
            yield Mark("error", "", "", sums.failed)


class _Composed:
    """What a composed payload shows, and those that go on from it."""

    def __init__(self, journal: Journal, index: CallIndex, notes: Sequence[ReceiptNote]) -> None:
        """`notes`: the receipt with the last whole plan, and those after it."""
        self._journal, self._ledger = journal, index.ledger
        self.tokens: Tokens = {}
        self.full: dict[str, int] = {}  # tokens of what is shown if it were shown in full
        whole, last = notes[0].plan or PlanNote(), notes[0]
        self._summaries_up_to = last.seq if notes[0].plan is not None else 0
        count, framing = journal.reader.counter.count, journal.reader.profile.message_tokens
        for kind, text in (("preface", whole.preface), ("index", whole.marker)):
            if text:
                _add(self.tokens, kind, "full", count(text) + framing)
        self.number, self._seq = last.number, last.seq
        self._show(shown_units(journal, whole, last.seq), whole.lods | last.lods, last)
        for note in notes[1:]:
            self.extend(note)

    def extend(self, note: ReceiptNote) -> None:
        """Add what the next payload shows besides."""
        timeline = self._journal.timeline
        first, end = bisect_left(timeline.seq, self._seq + 1), bisect_left(timeline.seq, note.seq + 1)
        self._show(body_units(timeline, self._journal.path, first, end), note.lods, note)
        self.number, self._seq = note.number, note.seq

    def _show(self, units: Iterable[int], lods: Mapping[str, int], note: ReceiptNote) -> None:
        timeline = self._journal.timeline
        unchanged = unchanged_at(timeline, note)
        levels = {row: Lod(lod) for item, lod in lods.items() if (row := timeline.row(item)) is not None}
        for unit in units:
            is_late = timeline.seq[timeline.unit_row[unit]] > self._summaries_up_to
            if timeline.unit_kind(unit) is Kind.SUMMARY and is_late:  # only sweeps add summaries
                continue
            for row in timeline.rows_of(unit):
                self._show_row(row, timeline.level(row, levels.get(row, Lod.FULL)))
                if row in unchanged:  # it only names an earlier result
                    self._shorten_last(row, unchanged[row].tokens)

    def _show_row(self, row: int, lod: Lod) -> None:
        for kind, size in self._ledger.parts(row):
            self.full[kind] = self.full.get(kind, 0) + size
        for kind, size in self._ledger.parts(row, lod):
            _add(self.tokens, kind, _LEVELS[lod], size)

    def _shorten_last(self, row: int, tokens: int) -> None:
        """Show the result that was added last with so many tokens."""
        [(kind, size)] = self._ledger.parts(row)
        spared = self._journal.timeline.full[row] - tokens
        self.tokens[kind]["full"] -= size
        _add(self.tokens, kind, "gist", size - spared)


def _sweeps(note: ReceiptNote) -> bool:
    """Whether a payload shows less than the one before, or at lower levels."""
    if note.plan is None or (note.number > 1 and not note.reason):  # whole because it is the first of its branch
        return False
    return bool(note.reason or note.plan.lods or note.plan.left_out)


def _add(tokens: Tokens, kind: str, level: str, size: int) -> None:
    if size > 0:
        levels = tokens.setdefault(kind, {})
        levels[level] = levels.get(level, 0) + size


def _answer(entry: Entry | None, note: ReceiptNote | None) -> tuple[str, Usage | None]:
    """Return the model that answered and the usage that it reported. An answer to another payload says neither."""
    if entry is None or entry.message is None or (note is not None and entry.receipt != note.number):
        return "", None
    return entry.message.model or "", entry.message.usage


def _relative_cost(total: int, cached: int, usage: Usage | None, profile: Profile, wrote: Usage | None) -> float:
    if usage is None:
        return round(call_cost(total, cached, charged(profile, wrote)), 1)
    return round(input_cost(usage, profile.prices), 1)


def _branch_starts(journal: Journal) -> list[tuple[int, str]]:
    """Return the last row before each branch that begins on this path, and its name."""
    timeline, path = journal.timeline, journal.path
    return [
        (branch.at, branch_label(branch.name))
        for branch in timeline.branches[1:]
        if branch.parent != NONE and (branch.at == NONE or path.holds(branch.parent, branch.at))
    ]
