"""The steps of one `Session.compose`, in reading order.

`Composer.compose` calls six steps: catch up, gather inputs, plan, recall, render, log the receipt. They follow below it
in that order.
"""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from sightline.apps.host import Host
from sightline.compose import inputs, receipts
from sightline.compose.inputs import LiveWindows
from sightline.compose.receipts import Calibration
from sightline.compose.render import ComposeInputs, layout, render
from sightline.errors import BadInput, OpenCalls, PinnedOverflow
from sightline.log import entries
from sightline.log.annotations import RecallNote
from sightline.log.journal import Journal
from sightline.log.mentions import Mentions
from sightline.log.repeats import Repeats
from sightline.plan.notices import EngineNotices, Made
from sightline.plan.plan import Plan, allowed, check_plan
from sightline.plan.strategies import strategy
from sightline.plan.strategy import Planner, completed
from sightline.plan.view import SETTINGS_CHANGED, Budget, View, complete_units
from sightline.recall.files_in_work import FilesInWork
from sightline.recall.recall import Recall, Room, reduced, shows_all
from sightline.values.clock import Clock
from sightline.values.items import Usage
from sightline.values.profiles import Profile, charged
from sightline.values.recall_tools import offered
from sightline.wire.payload import Payload

_QUESTION_SHARE = 0.05  # of the limit: the end of the conversation that is shown when one question is asked about it


class Composer:
    """Composes a journal's payloads, each extending the one before."""

    def __init__(self, journal: Journal, recall: Recall, *, clock: Clock, host: Host, custom: Planner | None) -> None:
        self.journal, self._recall, self._clock, self._host, self.custom = journal, recall, clock, host, custom
        self._windows = LiveWindows(journal, host)
        self._repeats, self._mentions, self._made = Repeats(journal.reader), Mentions(journal.reader), Made()
        self._files = FilesInWork(journal)
        self.begin()

    def begin(self) -> None:
        """Start at the end of the journal's branch, with what its last receipt says, or one of a branch beside it."""
        journal, timeline, path = self.journal, self.journal.timeline, self.journal.path
        own = receipts.last_sent(journal)
        sent = receipts.sent_beside(journal) or own
        self.configure()
        self.payload: Payload | None = None  # the last one sent
        self._resumed = sent  # the one to restore, until it is
        self.receipt = sent.note if sent is not None else None
        self._sent_at, self._sent_offset = (sent.time, sent.offset) if sent is not None else (0, 0)
        self._is_beside = sent is not None and sent.path != path  # of another branch: none of this one extends it yet
        self._receipt_count = len(timeline.receipt_seq)  # on all branches
        self.command = ""  # why the next call must be a sweep
        self._marks_key: tuple[int, int, int] = (-1, -1, -1)
        self._marks = inputs.Marks()
        self._question = timeline.last_user(path, len(timeline))  # the unit of the user's own last message
        # What was recalled for a payload of another branch is not on this one.
        self._searched = inputs.last_searched_question(timeline, path, own.note if own is not None else None)
        self._calibration = Calibration(self.receipt.factor if self.receipt else 1.0)
        reported = receipts.reported(journal, sent) if sent is not None else None
        if sent is not None and reported is not None:
            self._calibration.observe(reported.input_tokens, sent.note.tokens, 0, journal.reader.profile)
        self.budget = receipts.last_budget(journal, self.receipt)
        self._planned_rows = 0  # rows that the last plan knows
        self._body_ends: tuple[int, ...] = ()  # length of the body after the last sweep, and at the last call
        self._sent_settings = self.journal.settings  # those in force for the last payload

    def configure(self) -> None:
        """Compose as the journal's settings say."""
        settings = self.journal.settings
        self.strategy = completed(self.custom or strategy(settings.strategy, settings.config))
        self._layout = layout(settings.layout)
        self._host.show_as(settings.locale, settings.windows)

    # ------------------------------------------------------------------ one turn

    def compose(self, budget: Budget, ask: bool, *, if_unchanged: bool = True) -> Payload:
        """Compose and log the next payload. See `Session.compose`.

        Without `if_unchanged`, entries that others append meanwhile do not matter, and nothing is recalled.

        Raises:
            Conflict: others appended to the branch meanwhile, so their entries belong in the payload.
        """
        self._catch_up(budget)
        gathered = self._gather_inputs(budget)
        view, plan = self._plan(budget, gathered)
        if if_unchanged:
            plan = self._recall_passages(view, plan, gathered, ask)
        payload = render(self.journal.reader, plan, self._layout, gathered, self.payload)
        self._log_receipt(payload, view, if_unchanged)
        return payload

    # ------------------------------------------------------------------ step 1: catch up

    def _catch_up(self, budget: Budget) -> None:
        """Read what other writers appended, and restore the last payload after resuming. Raises OpenCalls."""
        self.journal.refresh()
        count = len(self.journal.timeline.receipt_seq)
        if self._receipt_count != count and self._was_sent_since():
            self.begin()  # another writer sent a payload, which the next one extends
        if self.journal.follow_settings():
            self.configure()
        self._restore(budget)
        if calls := self.journal.open_calls():
            raise OpenCalls([call.id for call in calls])

    def _was_sent_since(self) -> bool:
        """Whether the branch has a payload of another writer."""
        last = receipts.last_sent(self.journal)
        return last is not None and last.offset > self._sent_offset

    def _restore(self, budget: Budget) -> None:
        """Rebuild the last payload from the log after resuming, so that the next one extends it."""
        sent, self._resumed = self._resumed, None
        if sent is None:
            return
        plan = receipts.sent_plan(self.journal, self._view(budget, self._inputs({}, budget)), sent.notes(self.journal))
        shown = {} if self._is_beside else sent.note.windows
        windows = dict.fromkeys(shown, "") | self.journal.blobs.read(shown)
        settings, gathered = receipts.as_sent(self.journal, sent.note, sent.offset, windows, sent.path)
        self.payload = render(self.journal.reader, plan, layout(settings.layout), gathered)
        self._planned_rows, self._body_ends, self._sent_settings = plan.rows, (len(self.payload.body),), settings

    # ------------------------------------------------------------------ step 2: gather inputs

    def _gather_inputs(self, budget: Budget) -> ComposeInputs:
        """Ask the windows what they show, log what changed there, and collect what the payload has besides the plan."""
        window_texts = self._window_texts(budget)
        if self.journal.timeline.windows:
            self._host.note()
        return self._inputs(window_texts, budget)

    def _window_texts(self, budget: Budget) -> dict[str, str]:
        if not self.journal.timeline.windows:
            return {}
        limit = self._calibration.factor.limit(budget, self.journal.reader.profile)
        tokens = int(budget.windows * limit) if "windows" in self.journal.settings.reductions else None
        before = self.payload.shown_windows if self.payload is not None else {}
        return self._windows.texts(tokens, self._layout.windows == "place", before)

    def _inputs(self, window_texts: Mapping[str, str], budget: Budget) -> ComposeInputs:
        journal = self.journal
        return ComposeInputs(
            system=tuple(journal.timeline.head_rows(journal.path)),
            tools=journal.tools.definitions,
            windows=window_texts,
            window_rows=inputs.window_rows(journal, window_texts, self._layout.windows, len(journal.timeline)),
            breakpoints=(0, *self._body_ends),
            spared=self._host.spared if window_texts else {},
            output=budget.output,
        )

    # ------------------------------------------------------------------ step 3: plan

    def _plan(self, budget: Budget, gathered: ComposeInputs) -> tuple[View, Plan]:
        """Let the strategy decide, and forget a refusal whose strict token count would let nothing fit."""
        view, plan = self.decide(seen := self._view(budget, gathered))
        if view is not seen:
            self._calibration.forget_refusal()
        return view, plan

    def decide(self, view: View) -> tuple[View, Plan]:
        """Return the plan and the view it was made from.

        If the stricter token factor learned from an overflow makes even the pinned items not fit, plan again with the
        earlier factor, because a payload that is never sent cannot correct it.
        """
        try:
            return view, self._ask_strategy(view)
        except PinnedOverflow:
            if (before := self._calibration.before_refusal) is None:
                raise
            view = replace(view, limit=before.limit(view.budget, view.profile))
            view = self._within(view, self.strategy.most_tokens)
            return view, self._ask_strategy(view)

    def _ask_strategy(self, view: View) -> Plan:
        self.journal.reader.uncut()  # what a preview made to measure, or a call that failed
        plan = self.strategy.plan(allowed(view))
        check_plan(plan, view, self.strategy.name)
        return plan

    def _view(self, budget: Budget, gathered: ComposeInputs) -> View:
        """Collect what the strategy sees."""
        journal, timeline = self.journal, self.journal.timeline
        # Every unit is weighed again after a payload for one question, whose plan is gone, and if far more fits now.
        is_answered, profile = self.receipt is not None and self.receipt.question, journal.reader.profile
        self._calibration.adopt_observed(swept=False)
        limit, most = self._calibration.factor.limit(budget, profile), self.strategy.most_tokens
        all_again = is_answered or inputs.has_more_room(self.receipt, min(limit, most), budget.target, self.payload)
        marks = self._read_marks()
        pinned, wanted, since = marks.pinned, marks.wanted, (timeline, journal.path, self._planned_rows)
        new = inputs.units_to_weigh(*since, pinned) if all_again else complete_units(*since)
        last = self.payload.plan if self.payload is not None and not all_again else None
        questions = [unit for unit in new if timeline.is_users_own(timeline.unit_row[unit])]
        self._question = questions[-1] if questions else self._question
        sent = self._sent_offset if self.payload is not None else 0
        reductions = journal.settings.reductions
        compactions, back, command = inputs.read_compactions(journal, sent, reductions)
        if last is not None and self._sent_settings.reductions != reductions:
            back = inputs.hidden_units(journal, last, compactions)
        command = command or ("sweep: room" if all_again and not is_answered else "")
        command = command or self._marked_command(marks, sent, (*(last or ()), *new) if marks.replaced else ())
        view = View(
            timeline=timeline,
            path=journal.path,
            profile=profile,
            budget=budget,
            limit=limit,
            fixed=inputs.fixed_tokens(journal, gathered, journal.tools.tokens, self._windows.tokens),
            last=last,
            new=new,
            pinned=pinned,
            asked=self._question,
            cold=self.payload is not None and self._is_expired(profile),
            command=self.command or self._new_command(pinned, gathered, command),
            wanted=wanted,
            out=marks.out,
            replaced=marks.replaced,
            by_model=marks.by_model,
            compactions=compactions,
            state=journal.state,
            read=timeline.rows_read(journal.path),
            faults=inputs.find_faults(journal, new, last),
            back=[*back, *inputs.wanted_units(timeline, journal.path, wanted)] if wanted else back,
            unchanged=inputs.find_unchanged(journal, new, last),
            superseded=self._repeats.superseded,
            mentions=self._mentions.latest,
            cut=journal.reader.cut,
            files=self._files,
            uncut=journal.reader.uncut,
            reductions=reductions,
            windows=inputs.window_tokens(journal, gathered, self._windows.tokens),
        )
        return self._within(view, most)

    def _within(self, view: View, most: int) -> View:
        """Return the view for its limit, or for the window of `most` tokens that the strategy works in, if less."""
        limit = inputs.limit_in_window(view, most)
        return replace(view, limit=limit, notices=EngineNotices(self.journal, limit, made=self._made))

    def _read_marks(self) -> inputs.Marks:
        """Return what was asked for on this branch, read again only after another mark.

        Where the model wants less of something, also after a new item: it can be a result that goes out with it.
        """
        timeline = self.journal.timeline
        key = (self.journal.branch, len(timeline.marks), len(timeline) if self._marks.by_model else 0)
        if self._marks_key != key:
            self._marks_key, self._marks = key, inputs.read_marks(timeline, self.journal.path)
        return self._marks

    def _marked_command(self, marks: inputs.Marks, sent: int, units: Collection[int]) -> str:
        """Return the command that marks after the last payload give. `units`: that may be shown."""
        if marks.wanted and sent and inputs.was_raised(self.journal.timeline, self.journal.path, sent):
            return "command: expand"
        return "" if marks.replaced.isdisjoint(units) else "sweep: written anew"

    def _new_command(self, pinned: frozenset[int], gathered: ComposeInputs, command: str) -> str:
        """Return the command that the last payload does not obey: this one, or one that settings, pins or tools give.

        A pin counts whoever set it and when. Tools count where a notice names ours and they came or went.
        """
        if (sent := self.payload) is None:
            return command
        if self._sent_settings != self.journal.settings:
            return SETTINGS_CHANGED
        if pinned and (any(map(reduced(sent.plan), pinned)) or sent.plan.unchanged.keys() & pinned):
            return "command: pin"
        named = sent.plan.marker and offered(sent.tools) != offered(gathered.tools)
        return command or ("tools or system changed" if named else "")

    def _is_expired(self, profile: Profile) -> bool:
        """Whether the provider no longer has the last payload in its cache."""
        idle = self._idle_seconds()
        if idle <= profile.cache_seconds:
            return False
        return idle > charged(profile, receipts.last_written(self.journal)).cache_seconds

    def _idle_seconds(self) -> int:
        """Return the seconds since the last payload was sent."""
        return max(0, self._clock() - self._sent_at) // 1000 if self.receipt is not None else 0

    # ------------------------------------------------------------------ step 4: recall

    def _recall_passages(self, view: View, plan: Plan, gathered: ComposeInputs, ask: bool) -> Plan:
        """Bring back earlier passages that match the last user message, if not everything is shown in full."""
        if self._question >= 0 and not shows_all(view, plan):
            every = complete_units(self.journal.timeline, self.journal.path) if ask else []
            if ask and view.trims and view.fixed + view.full_tokens(every) > view.limit:
                plan = self._recall_for_question(view, gathered)
            elif self._question != self._searched and view.budget.recall:  # once for each user message
                plan = self._recall_in_share(view, plan, gathered)
        self._searched = self._question
        return self._recall_files(view, plan, gathered)

    def _recall_in_share(self, view: View, plan: Plan, gathered: ComposeInputs) -> Plan:
        """Add passages that the message speaks of and that are not shown. A sweep makes room for them and stays."""
        journal, swept, usual = self.journal, bool(plan.reason), plan
        visible = inputs.sources_shown(journal, plan)
        question = self._question_text()
        is_first = view.last is None and not view.compactions  # a summary stands for what it covers
        asked = is_first and self._recall.may_be_answered(question)
        find = partial(self._recall.note_for_question, question, visible=visible)
        search = partial(find, must_answer=False, asked=asked)
        note = search(inputs.recall_tokens(view, plan), reduced(plan))
        leads = view.last is None or self._question not in view.last
        if note is not None and swept and view.trims:
            needed = journal.reader.measure(journal.drafts.recall(note, leads=leads))[0]
            if (more := inputs.missing_tokens(view, plan, needed)) > 0:
                plan = self._ask_strategy(replace(view, budget=inputs.deeper_budget(view, more)))
            if needed > inputs.free_tokens(view, plan):  # the sweep could not go so deep
                note = search(inputs.recall_tokens(view, plan, deeper=False), reduced(plan))
        if not self._append_recall(note, leads=leads):  # nothing fits after all, so no room is made for it
            return plan if plan is usual else self._ask_strategy(view)
        view = self._view(view.budget, gathered)
        recalled = journal.timeline.unit[journal.timeline.last_row(journal.path)]
        if swept and plan.tokens + view.full_tokens([recalled]) <= view.limit:
            return inputs.with_recalled(view, plan)
        return self._ask_strategy(view)

    def _recall_for_question(self, view: View, gathered: ComposeInputs) -> Plan:
        """Show only the end of the conversation, and fill the rest of the budget with passages that may answer.

        Without such passages, return the usual plan. It is made again, because this one made texts to its own measure.
        """
        timeline, path = self.journal.timeline, self.journal.path
        narrow = replace(
            view,
            budget=replace(view.budget, trigger=_QUESTION_SHARE, target=_QUESTION_SHARE),
            notices=EngineNotices(self.journal, view.limit, lists=False, made=self._made),
            command=receipts.QUESTION,
            last=None,
            new=inputs.units_to_weigh(timeline, path, len(timeline), view.pinned),
        )
        plan = strategy("focus", {"keep": 1}).plan(allowed(narrow))
        tokens = view.limit - plan.tokens - inputs.FRAMING_TOKENS
        note = self._recall.note_for_question(self._question_text(), tokens, reduced(plan))
        if not self._append_recall(note, leads=True):  # this payload begins anew, whatever was sent
            return self._ask_strategy(view)
        return inputs.with_recalled(self._view(view.budget, gathered), plan)

    def _recall_files(self, view: View, plan: Plan, gathered: ComposeInputs) -> Plan:
        """Show the files in work as they are now, after a sweep that has shortened what was read of them."""
        if plan.files is None:
            return plan
        draft = self.journal.drafts.recall(plan.files, leads=True)
        if self.journal.reader.measure(draft)[0] + inputs.FRAMING_TOKENS > view.limit - plan.tokens:
            return plan
        self.journal.append([draft], if_unchanged=True)
        shown = inputs.with_recalled(self._view(view.budget, gathered), plan)
        shown.base = shown.body
        return shown

    def _question_text(self) -> str:
        return self.journal.reader.text(self.journal.timeline.unit_row[self._question])

    def _append_recall(self, note: RecallNote | None, *, leads: bool) -> bool:
        """Append what was recalled for the user's message. Return whether there is anything.

        It is to stand before the words of the message, unless these were sent already: then it follows them.
        """
        if note is None:
            return False
        note = replace(note, query="")  # because it is the message before this entry
        self.journal.append([self.journal.drafts.recall(note, leads=leads)], if_unchanged=True)
        return True

    # ------------------------------------------------------------------ step 5 is `render`; step 6: log the receipt

    def _log_receipt(self, payload: Payload, view: View, if_unchanged: bool) -> None:
        """Append what was decided and what is sent, make it durable, and remember it for the next call."""
        journal, plan = self.journal, payload.plan
        previous = self.payload.plan if self.payload else None
        notes = [(entries.RENDITION, few) for few in receipts.renditions_to_log(journal, plan, previous)]
        extends = if_unchanged and plan.extends(previous)
        whole = not extends or self._is_beside
        receipt = receipts.make_receipt(
            journal, payload, self.payload, self.receipt, self._calibration.factor.value, self._idle_seconds(), whole
        )
        receipt.faults = [journal.timeline.id(row) for row in sorted(view.faults)]
        receipt.asked = self._asked_by_model(plan)
        # A receipt that holds only what changed must follow the one it extends: hence `if_unchanged`.
        journal.annotate(*notes, (entries.RECEIPT, receipt), if_unchanged=if_unchanged)
        journal.store.sync()
        self._receipt_count = len(journal.timeline.receipt_seq)
        self._sent_offset = journal.timeline.receipt_offset[-1]
        if not extends:
            self._calibration.adopt_observed(swept=True)
        end = len(payload.body)
        self._body_ends = (*self._body_ends[:1], end) if extends else (end,)
        self.payload, self.receipt, self._sent_at, self.budget = payload, receipt, self._clock(), view.budget
        self._planned_rows, self.command, self._sent_settings = plan.rows, "", journal.settings
        self._is_beside = False
        journal.reader.forget_large()

    def _asked_by_model(self, plan: Plan) -> dict[str, str]:
        """Return the levels that the model asked for and that windows have, and a plan that was just swept."""
        timeline, asked = self.journal.timeline, self._windows.asked_by_model()
        for row, what in self._read_marks().by_model.items() if plan.reason else ():
            is_shown = timeline.unit[row] in plan
            level = plan.lod(row).name.lower() if is_shown else "out"
            if level == {"collapse": "gist"}.get(what, what):
                asked[timeline.id(row)] = level
        return asked

    # ------------------------------------------------------------------ without sending; what the provider reports

    def view(self, budget: Budget, command: str = "") -> View:
        """Return what the strategy would see now, with this command if there is none."""
        self._restore(budget)
        factor, question = self._calibration.factor, self._question
        view = self._view(budget, self._inputs(self._window_texts(budget), budget))
        self._calibration.factor, self._question = factor, question
        return replace(view, command=view.command or command)

    def preview(self, budget: Budget, command: str = "") -> Payload:
        """Compose without logging. See `Session.preview`. With a command, as if somebody had given it."""
        _, plan = self.decide(self.view(budget, command))
        gathered = self._inputs(self._window_texts(budget), budget)
        return render(self.journal.reader, plan, self._layout, gathered, self.payload)

    def observe(self, usage: Usage, extra_tokens: int = 0) -> None:
        """Learn from what the provider counted for the last payload and `extra_tokens` sent with it."""
        tokens = self.payload.tokens if self.payload is not None else 0
        self._calibration.observe(usage.input_tokens, tokens, extra_tokens, self.journal.reader.profile)

    def overflowed(self, input_tokens: int | None, extra_tokens: int = 0) -> None:
        """Learn from a payload that was refused as too long. See `Session.overflowed`."""
        sent = self.payload.tokens + extra_tokens if self.payload else 1
        self._calibration.refuse(input_tokens, sent, self.budget.window if self.budget else 0)
        self.command = "sweep: overflow"

    def free_room(self) -> Room:
        """Return the room for what somebody brings back: what the last payload and the rows since leave free."""
        return inputs.free_room(self.journal, self.receipt, self.budget)

    def last_payload(self) -> Payload | None:
        """Return the last payload sent, also after a resume; None if there is none."""
        if self.budget is not None:
            self._restore(self.budget)
        return self.payload

    @property
    def summarises_apart(self) -> bool:
        """Whether the model that summarises sees only the part to be summarised, not the whole conversation."""
        return self.strategy.apart

    def check_state(self, state: Mapping[str, Any]) -> None:
        """Raise BadInput for a state that the strategy refuses."""
        if refused := self.strategy.merged({}, state).refused:
            reasons = "; ".join(f"{field or 'state'}: {why}" for field, why in refused.items())
            raise BadInput(f"strategy {self.strategy.name!r} does not take this state: {reasons}")

    def wanted(self, budget: Budget) -> tuple[int, int] | None:
        """Return the first and last unit that the strategy wants summarised by now; None if it wants no summary."""
        return (
            self.strategy.wants(allowed(self.view(budget))) if "summaries" in self.journal.settings.reductions else None
        )
