"""Deciding, composing and writing down what was sent: the second half of a session's turn."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from sightline.apps.host import Host
from sightline.compose import decide
from sightline.compose.decide import Calibration
from sightline.compose.render import ComposeInputs, compose, first_change, layout
from sightline.errors import BadInput, OpenCalls, PinnedOverflow, StrategyError
from sightline.log import entries
from sightline.log.annotations import RecallNote, ReceiptNote, Source
from sightline.log.journal import Journal
from sightline.plan.budget import Budget
from sightline.plan.notices import EngineNotices
from sightline.plan.plan import Plan
from sightline.plan.reductions import allowed
from sightline.plan.strategies import strategy
from sightline.plan.strategy import Strategy
from sightline.plan.view import View
from sightline.recall.recall import Recall, reduced, shows_all
from sightline.values.clock import Clock
from sightline.values.items import Call, Kind, Lod, Usage
from sightline.wire.payload import Payload

QUESTION = "sweep: question"
_END = 0.1  # of the limit: the end of a conversation, where a question is asked about all of it
_RECENT = 60  # units in which what was brought back is not brought back again
_FRAMED = 16  # tokens: what a further message costs besides its text, in any profile


class Composer:
    """Composes a journal's payloads, each going on from the one before."""

    def __init__(self, journal: Journal, recall: Recall, *, clock: Clock, host: Host, custom: Strategy | None) -> None:
        self.journal, self._recall, self._clock, self._host, self._custom = journal, recall, clock, host, custom
        self._sizes: dict[str, int] = {}  # tokens of what windows showed last
        self.begin()

    def begin(self) -> None:
        """Stand at the end of the journal's branch, as if everything before had just happened."""
        self.configure()
        self.payload: Payload | None = None  # the last one sent
        self.last, self._sent_at = decide.last_receipt(self.journal)
        self._sent_offset = next((offset for _, offset in decide.receipt_entries(self.journal)), 0)
        self._receipts = len(self.journal.timeline.receipt_seq)  # in the log, on whatever branch
        self.command = ""  # why the next call must be a sweep
        self._marked: tuple[tuple[int, int], tuple[frozenset[int], dict[int, Lod]]] = ((-1, -1), (frozenset(), {}))
        timeline, path = self.journal.timeline, self.journal.path
        self._asked = timeline.last_user(path, len(timeline))
        self._searched = decide.searched_user(timeline, path, self.last)
        known = self.last is not None and self.last.factor != 1
        self._calibration = Calibration(self.last.factor, known=True) if self.last and known else Calibration()
        self._observed = decide.reported(self.journal, self.last) if self.last else None
        # How was counted before the model refused a payload as too long. Only a refusal makes a factor so large.
        refused = self._calibration.factor > decide.MOST_FACTOR
        self._before_refusal: Calibration | None = Calibration() if refused else None
        self.budget = decide.last_budget(self.journal, self.last)
        self._seen = 0  # rows that the last plan knows
        self._ends: tuple[int, ...] = ()  # where the body ended after the last sweep, and at the last call
        self._restored = self.last is None
        self._sent_with = self._reductions  # what was allowed then

    @property
    def _reductions(self) -> tuple[str, ...]:
        return self.journal.settings.reductions

    def configure(self) -> None:
        """Compose as the journal's settings say."""
        settings = self.journal.settings
        self._strategy = self._custom or strategy(settings.strategy, settings.config)
        self._layout = layout(settings.layout)
        self._host.show_as(settings.locale, settings.windows)

    def open_calls(self) -> list[Call]:
        """The model's calls that wait for a result."""
        timeline, path = self.journal.timeline, self.journal.path
        rows = [row for row in timeline.open_calls if path.holds(timeline.branch[row], row)]
        calls = [self.journal.reader.item(row).parts[0] for row in rows]
        return [call for call in calls if isinstance(call, Call)]

    # ------------------------------------------------------------------ the two ways to compose

    def compose(self, budget: Budget, ask: bool, *, if_unchanged: bool = True) -> Payload:
        """See `Session.compose`. Without `if_unchanged`, whatever others write to the branch meanwhile.

        Raises:
            Conflict: another writer wrote to the branch while this was decided: what it said belongs in the payload.
        """
        self.journal.store.refresh()
        self.journal.catch_up()
        sent = len(self.journal.timeline.receipt_seq)
        if self._receipts != sent and decide.last_receipt(self.journal)[0] != self.last:
            self.begin()  # another writer sent a payload: this one goes on from that
        if self.journal.follow_settings():
            self.configure()
            self.command = "settings changed"
        self._restore(budget)
        self._check_open()
        shown = self._shown_windows(budget)
        self._host.note()
        around = self._around(shown)
        seen = self._view(budget, around)
        view, plan = self._decided(seen)
        if view is not seen:
            self._calibration, self._observed, self._before_refusal = self._before_refusal or Calibration(), None, None
        if if_unchanged and not shows_all(view, plan):
            if ask and view.trims and self._too_long(view):
                plan = self._answering(view, plan, around)
            elif self._asked != self._searched and budget.recall:  # once, right after a user's message
                plan = self._reminded(view, plan, around)
        if if_unchanged:
            self._searched = self._asked
        payload = compose(self.journal.reader, plan, self._layout, around, self.payload)
        self._send(payload, view.faults, if_unchanged)
        self.budget = budget
        return payload

    def view(self, budget: Budget, command: str = "") -> View:
        """What the strategy would see now."""
        self._restore(budget)
        kept = self._calibration, self._asked
        view = self._view(budget, self._around(self._shown_windows(budget)))
        self._calibration, self._asked = kept
        return replace(view, command=view.command or command)

    @property
    def summarises_apart(self) -> bool:
        """Whether the strategy's model is to see only what it summarises, not the conversation it belongs to."""
        return bool(getattr(self._strategy, "apart", False))

    def check_state(self, state: Mapping[str, Any]) -> None:
        """Raises BadInput for a state that the strategy would not take."""
        merged = getattr(self._strategy, "merged", None)
        refused = merged({}, state).refused if merged is not None else {}
        if refused:
            told = "; ".join(f"{field or 'state'}: {why}" for field, why in refused.items())
            raise BadInput(f"strategy {self._strategy.name!r} does not take this state: {told}")

    def wanted(self, budget: Budget) -> tuple[int, int] | None:
        """The units that the strategy wants summarised by now, first and last; None for a strategy that wants none."""
        wants = getattr(self._strategy, "wants", None)
        if wants is None or "summaries" not in self._reductions:
            return None
        found: tuple[int, int] | None = wants(allowed(self.view(budget)))
        return found

    def preview(self, budget: Budget, command: str = "") -> Payload:
        """See `Session.preview`. With a command, as if somebody had given it."""
        view = self.view(budget, command)
        around = self._around(self._shown_windows(budget))
        _, plan = self._decided(view)
        return compose(self.journal.reader, plan, self._layout, around, self.payload)

    def observe(self, usage: Usage, extra_tokens: int = 0) -> None:
        """Learn from what the provider counted for the last payload and what was sent beside it."""
        self._before_refusal = None
        if self.payload is not None and self.payload.tokens >= decide.TELLING:
            sent = max(self.payload.tokens + extra_tokens, 1)
            self._observed = decide.factor(usage.input_tokens, sent, self.journal.reader.profile)

    def overflowed(self, input_tokens: int | None, extra_tokens: int = 0) -> None:
        """See `Session.overflowed`."""
        self._before_refusal = self._before_refusal or self._calibration
        sent = self.payload.tokens + extra_tokens if self.payload else 1
        counted = max(input_tokens or 0, self.budget.window if self.budget else 0)  # it was more than the window
        self._observed = max(counted / max(sent, 1) * 1.02, self._calibration.factor * 1.1)
        self._calibration = Calibration(self._observed, known=True)
        self.command = "sweep: overflow"

    def _decided(self, view: View) -> tuple[View, Plan]:
        """The plan, and the view it was made from: counted as before the model refused a payload as too long, where
        counted so strictly nothing fits. What is never sent teaches nothing.
        """
        try:
            return view, self._planned(view)
        except PinnedOverflow:
            if self._before_refusal is None:
                raise
            limit = self._before_refusal.limit(view.budget, view.profile)
            view = replace(view, limit=limit, notices=EngineNotices(self.journal, limit))
            return view, self._planned(view)

    def _planned(self, view: View) -> Plan:
        plan = self._strategy.plan(allowed(view))
        if not isinstance(plan, Plan) or not plan.checked:
            raise StrategyError(f"strategy {self._strategy.name!r} must return what Plan.extended or Plan.swept gives")
        return plan

    def _check_open(self) -> None:
        if calls := self.open_calls():
            raise OpenCalls([call.id for call in calls])

    # ------------------------------------------------------------------ decide, then compose

    def _around(self, shown: Mapping[str, str]) -> ComposeInputs:
        journal = self.journal
        return ComposeInputs(
            system=tuple(journal.timeline.head_rows(journal.path)),
            tools=journal.tools.definitions,
            windows=shown,
            window_rows=decide.window_rows(journal, shown, self._layout.windows, len(journal.timeline)),
            breakpoints=(0, *self._ends),
            spared=self._host.spared if shown else {},
        )

    def _shown_windows(self, budget: Budget) -> dict[str, str]:
        """The open windows of this branch as they look now: those that look as in the last payload come first."""
        if not self.journal.timeline.windows:
            return {}
        limit = self._calibration.limit(budget, self.journal.reader.profile)
        counted, self._sizes = self._sizes, {}
        framing, references = self.journal.reader.profile.message_tokens, self._references

        def size(window: str, text: str) -> int:
            if text not in self._sizes:
                self._sizes[text] = counted[text] if text in counted else self._tokens(text)
            return (self._sizes[text] + framing) * references(window)

        shown = self._host.shown(int(budget.windows * limit) if "windows" in self._reductions else None, size)
        before = self.payload.shown_windows if self.payload is not None else {}
        same = {window: text for window, text in before.items() if shown.get(window) == text}
        return same | shown

    def _references(self, window: str) -> int:
        """How often a window stands in the payload."""
        if self._layout.windows != "place":
            return 1
        return len(self.journal.timeline.references(window, self.journal.path))

    def _tokens(self, text: str) -> int:
        """Tokens of what a window shows: counted once, while it shows that."""
        known = self._sizes.get(text)
        return self.journal.reader.counter.count(text) if known is None else known

    def _view(self, budget: Budget, around: ComposeInputs) -> View:
        journal, timeline = self.journal, self.journal.timeline
        aside = self.last is not None and self.last.question  # what it left out is weighed again
        new = decide.complete_units(journal, 0 if aside else self._seen)
        sent_plan = self.payload.plan if self.payload is not None and not aside else None
        for unit in new:
            if timeline.kind[timeline.unit_row[unit]] == Kind.USER:
                self._asked = unit
        if self._observed is not None and self._observed > self._calibration.factor:
            self._calibration = Calibration(self._observed, known=True)
        pinned, wanted = self._marks()
        limit = self._calibration.limit(budget, journal.reader.profile)
        sent = self._sent_offset if self.payload is not None else 0
        compactions, command = decide.compacted(journal, sent) if "summaries" in self._reductions else ([], "")
        back = decide.undone(journal, sent) if compactions or command else []
        if sent_plan is not None and self._sent_with != self._reductions:
            back = decide.given_back(journal, sent_plan, compactions)
        if not command and wanted and sent and decide.raised(timeline, journal.path, sent):
            command = "command: expand"
        return View(
            timeline=timeline,
            path=journal.path,
            profile=journal.reader.profile,
            budget=budget,
            limit=limit,
            fixed=decide.fixed_tokens(journal, around, journal.tools.tokens, self._tokens),
            last=sent_plan,
            new=new,
            pinned=pinned,
            asked=self._asked,
            cold=self.payload is not None and self._idle() > journal.reader.profile.cache_seconds,
            command=self.command or self._unheeded(pinned) or command,
            wanted=wanted,
            compactions=compactions,
            state=journal.state,
            faults=decide.faults(journal, new, sent_plan),
            back=[*back, *decide.wanted_back(timeline, journal.path, wanted)] if wanted else back,
            notices=EngineNotices(journal, limit),
            reductions=self._reductions,
        )

    def _marks(self) -> tuple[frozenset[int], dict[int, Lod]]:
        """What was said of single items on this branch: looked at again only when something more was said."""
        timeline, path = self.journal.timeline, self.journal.path
        key = (self.journal.branch, len(timeline.marks))
        if self._marked[0] != key:
            self._marked = (key, decide.marks(timeline, path))
        return self._marked[1]

    def _unheeded(self, pinned: Iterable[int]) -> str:
        """A pin is a command while the last payload does not show the item in full, whoever pinned it and when."""
        hidden = reduced(self.payload.plan) if self.payload is not None else None
        return "command: pin" if hidden is not None and any(map(hidden, pinned)) else ""

    def _idle(self) -> int:
        """Seconds since the last payload was sent."""
        return max(0, self._clock() - self._sent_at) // 1000 if self.last is not None else 0

    def _reminded(self, view: View, plan: Plan, around: ComposeInputs) -> Plan:
        """The plan, and after the user's message earlier pieces that clearly match it and would not be shown."""
        room = int(view.budget.recall * view.limit)
        known = {source for unit in plan.after(len(plan) - _RECENT) for source in self._recalled(plan, unit)}
        note = self._recall.note(self._question(), room, reduced(plan), known, automatic=True)
        return self._planned(self._view(view.budget, around)) if self._bring_back(note) else plan

    def _recalled(self, plan: Plan, unit: int) -> Sequence[Source]:
        """What a unit brought back earlier, and shows."""
        timeline, row = self.journal.timeline, self.journal.timeline.unit_row[unit]
        shown = timeline.kind[row] == Kind.RECALL and plan.lod(row) is Lod.FULL
        return self.journal.reader.sources(row) if shown else ()

    def _answering(self, view: View, usual: Plan, around: ComposeInputs) -> Plan:
        """Of the conversation only its end, and in all the other room what may answer the question; the usual plan
        where nothing may.
        """
        kind, first = self.journal.timeline.kind, self.journal.timeline.unit_row
        narrow = replace(
            view,
            budget=structs.replace(view.budget, trigger=_END, target=_END),
            notices=EngineNotices(self.journal, view.limit, lists=False),  # the room is for the answer
            command=QUESTION,
            last=None,
            new=[unit for unit in decide.complete_units(self.journal, 0) if kind[first[unit]] != Kind.RECALL],
        )
        plan = strategy("focus").plan(allowed(narrow))
        note = self._recall.note_for_question(self._question(), view.limit - plan.tokens - _FRAMED, reduced(plan))
        if not self._bring_back(note):
            return usual
        view = allowed(self._view(view.budget, around))
        recalled = Plan.extended(replace(view, last=plan, new=decide.new_units(self.journal, plan.rows)), {}, {})
        recalled.reason = plan.reason
        return recalled

    def _too_long(self, view: View) -> bool:
        """Whether not everything that was said could be shown in full."""
        return view.fixed + view.full_tokens(decide.complete_units(self.journal, 0)) > view.limit

    def _question(self) -> str:
        return self.journal.reader.text(self.journal.timeline.unit_row[self._asked])

    def _bring_back(self, note: RecallNote | None) -> bool:
        """Add earlier pieces after the user's message. Whether there are any."""
        if note is None:
            return False
        note = structs.replace(note, query="")  # it is the message that this follows
        self.journal.append([self.journal.drafts.recall(note)], if_unchanged=True)
        return True

    def _send(self, payload: Payload, faults: frozenset[int], if_unchanged: bool) -> None:
        """Write down what was decided and what is sent, and make it durable."""
        journal, plan = self.journal, payload.plan
        reason = self._why_changed(payload)
        previous = self.payload.plan if self.payload else None
        notes: list[tuple[str, Any]] = [
            (entries.RENDITION, few) for few in decide.renditions_to_log(journal, plan, previous)
        ]
        receipt = self._receipt(payload, previous, reason, whole=not (if_unchanged and plan.extends(previous)))
        receipt.faults = [journal.timeline.id(row) for row in sorted(faults)]
        journal.annotate(
            *notes, (entries.RECEIPT, receipt), if_unchanged=if_unchanged
        )  # a delta must follow the receipt it goes on from
        journal.store.sync()
        self._receipts = len(journal.timeline.receipt_seq)
        self._sent_offset = journal.timeline.receipt_offset[-1]
        if receipt.plan is not None and self._observed is not None:
            self._calibration = Calibration(self._observed, known=True)
        sent = len(payload.body)
        self._ends = (sent,) if receipt.plan is not None else (*self._ends[:1], sent)
        self.payload, self.last, self._sent_at = payload, receipt, self._clock()
        self._seen, self.command, self._sent_with = plan.rows, "", self._reductions

    def _why_changed(self, payload: Payload) -> str:
        """Why a payload does not begin with the one before it; empty: it does."""
        before = self.payload
        if before is None or payload.shares_blocks_of(before) or first_change(before.chain, payload.chain) is None:
            return ""
        if payload.plan.reason:
            return payload.plan.reason
        if self.last is not None and self.last.question:
            return "sweep: question answered"
        if before.chain[0] != payload.chain[0]:
            return "tools or system changed"
        return "window in place" if payload.shown_windows or before.shown_windows else "layout"

    def _receipt(self, payload: Payload, previous: Plan | None, reason: str, whole: bool) -> ReceiptNote:
        plan, timeline = payload.plan, self.journal.timeline
        return ReceiptNote(
            number=(self.last.number if self.last else 0) + 1,
            seq=timeline.seq[row] if (row := timeline.last_row(self.journal.path)) >= 0 else 0,
            tokens=payload.tokens,
            limit=plan.limit,
            hash=payload.hash,
            factor=self._calibration.factor,
            reason=reason,
            changed=first_change(self.payload.chain, payload.chain) if self.payload and reason else None,
            plan=decide.plan_note(plan) if whole else None,
            lods={} if whole else decide.added_lods(plan, previous),
            windows=self.journal.blobs.keep(payload.shown_windows),
            spared=dict(payload.spared),
            idle=self._idle() if "cold" in reason else 0,
            breakpoints=payload.breakpoints,
            question=payload.plan.reason == QUESTION,
        )

    def _restore(self, budget: Budget) -> None:
        """After resuming: the last payload again, from the log, so that the next one goes on from it."""
        if self._restored:
            return
        self._restored = True
        plan = decide.sent_plan(self.journal, self._view(budget, self._around({})), decide.receipts(self.journal))
        if plan is None or self.last is None:
            return
        _, offset = next(decide.receipt_entries(self.journal))
        windows = {window: self.journal.blobs.text(digest) or "" for window, digest in self.last.windows.items()}
        settings, around = decide.as_sent(self.journal, self.last, offset, windows)
        self.payload = compose(self.journal.reader, plan, layout(settings.layout), around)
        self._seen, self._ends, self._sent_with = plan.rows, (len(self.payload.body),), settings.reductions
        if settings != self.journal.settings:
            self.command = self.command or "settings changed"
