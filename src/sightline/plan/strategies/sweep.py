"""What a sweep takes: one batch of level changes, so that a payload fits again. When to sweep is up to a strategy.

Every sweep makes the provider write all from the first changed item on into its cache again. So one sweep does enough
that the next one is far away. `Sweep.reduce` takes these steps in this order:

1. Set the levels that somebody asked for (pin, expand, collapse, look), because the prefix changes anyway. What the
   model wants out is no candidate.
2. Show what is superseded or obsolete as gists: newer items show its lines. If the rest fits, that is all.
3. If not even gists of everything fit, shorten a question or task of more than half of the body that was shown before,
   then leave out the oldest units.
4. Lower levels, FULL to SUMMARY to GIST, and leave units out, the demotions first that lose least worth per token, down
   to the target. The newest units, the files that the model is working on and what the user wrote are not touched,
   except that an old question of a chat is left out with its answer.
5. If much more than the target is left, these too. What a large step made needless is given back.
6. Only if the payload is still over the limit: reduce the protected units too (see `_protected_units`).
7. If a new result had to be shortened before it was ever shown, show as much of it as there is room for.
8. Choose lines of the files in work, for which the steps before left room: their text as it is now. Where these steps
   hid more of the files than that, the room is as large, up to what a sweep may leave in use. What shows the files as
   they were at an earlier sweep is left out first of all.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence, Set
from itertools import accumulate, chain, compress
from math import inf
from typing import NamedTuple

from sightline.log.columns import kind_table
from sightline.plan.plan import INDEX, MARKER, Plan
from sightline.plan.strategies.left_out import count_left_out
from sightline.plan.strategies.worth import LEFT_OUT, USER_KINDS, Worth
from sightline.plan.view import View, chat_turns
from sightline.values.items import FULL, GIST, SUMMARY, Kind, Lod

_USER_SHARE = 0.4  # of the tokens to reach: the user's messages get so much even if other units are newer
_TASK_SHARE = 0.25  # of the body's tokens: a task that takes more is left out like others, so that constraints stay
_RECENT_SHARE = 0.12  # of the body's tokens: the newest units are reduced after all else
_FAULT_UNITS = 30  # what was fetched again stays protected until so many newer units have come,
_FAULT_SHARE = 0.25  # in up to this share of the body's tokens
_WORKING_SHARE = 0.7  # of the body's tokens: above, the working set is reduced too. A lower share hides what is edited
_OLDER = 0.4  # of the target: what older units keep although the protected ones are large
_LARGEST = 0.7  # of the body's tokens: but no more than this is in use after a sweep, so that the next one is far away,
_LEAST_OLDER = 0.25  # of the target: except so much for older units, so that one large result does not erase them all
_FULLEST = 0.85  # of the body's tokens: so much may be in use if a result was never shown before, or little is reduced
_LEAST_SAVING = 200  # tokens: below, a sweep that is not needed is not worth it
_FILES, _MOST_FILES = 0.25, 8_000  # of the body's tokens, and tokens: room for the files in work, as they are now; more
# where a sweep hides more of the working set, such as several large files that were read at once
_NAMED = 0.1  # of the body's tokens: room for the lines that somebody named of a file that does not fit
_FOR_FILES = 0.8  # of that room is taken from all else
_LEAST_MORE, _PAGE = 100, 16_000  # tokens: how much longer a new result is shown at least, and how long at most
_PAGED_KINDS = (Kind.RESULT, Kind.USER)
PAGED = "paged"  # why a new output that is too large is not shown in full
_SAID, _BY_USER = kind_table({*Kind} - {Kind.RECALL}), kind_table(USER_KINDS)
_INDEX_LINE = 25  # tokens of the line that replaces a unit


class Step(NamedTuple):
    """One possible demotion. Steps sort by the worth lost per token saved; of equal ones the later item comes first."""

    worth_per_token: float
    stage: int  # keeps the steps of one item in order: SUMMARY, GIST, left out
    minus_row: int
    unit: int
    to: Lod | None  # None: the unit is left out
    saved_tokens: int


class Taken(NamedTuple):
    """A demotion that was taken, and what its item was before: at which level, and why."""

    step: Step
    before: Lod
    why: str


class Sweep:
    """One sweep over the units of a view. Call `reduce` or `shorten_repeated`, once.

    `pages` are the levels of new outputs that are too large. `keep` is how many of the newest units are protected.
    """

    def __init__(self, view: View, pages: Mapping[int, Lod]) -> None:
        last, unit = view.last, view.timeline.unit
        self.view, self.timeline = view, view.timeline
        candidates = view.candidates()
        self.unwanted = view.out.intersection(candidates) - view.required() if view.out else view.out
        self.units = [unit for unit in candidates if unit not in self.unwanted] if self.unwanted else candidates
        self.unit_set = set(self.units)
        kinds = view.timeline.unit_kinds(self.units)
        self.said = [*compress(self.units, kinds.translate(_SAID))]
        by_user = [*compress(self.units, kinds.translate(_BY_USER))]
        self.by_user, self.task = set(by_user), by_user[0] if by_user else -1
        before = view.last_stage or last
        levels = (before.levels() if before else {}) | {**pages}
        self.lods = {row: lod for row, lod in levels.items() if unit[row] in self.unit_set}
        self.why = dict(before.why if before else {}) | dict.fromkeys(pages, PAGED)
        self.body = view.full_tokens(self.units) - view.saved(self.lods)  # tokens, with the changes made so far
        self.out: set[int] = set()  # units that are left out
        self.out_before = last.left_out.messages // 2 if last and last.left_out else 0  # a unit has about two messages
        self.index_limit = int(INDEX * view.body_limit)  # tokens that index lines may take
        self.turns: dict[int, int] = {}  # of a chat, an answer and its question: they are left out together
        self.summaries = [unit for compaction in view.compactions for unit in compaction.summaries]
        self.named_room = 0  # tokens for named lines of a file that does not fit
        self.recent: set[int] = set()  # the newest units, which a plain window of this size would show too
        self.newest = self._newest_units()
        rows = [row for unit in self.newest for row in self.timeline.rows_of(unit)]
        self.superseded = view.superseded([row for row in rows if self.lods.get(row, FULL) is FULL])
        self.worth = Worth(view, self.units, self.superseded)

    def reduce(self, keep: int, reason: str, *, to_target: bool = True, tidy: bool = True) -> Plan:
        """Reduce the body as far as its budget demands, in the steps that the module lists.

        Without `to_target`, what is still of use is reduced only while the body is above the trigger, and a little
        below it. With `tidy`, what is superseded or obsolete is shortened.

        Raises:
            PinnedOverflow: the items that may not be reduced are larger than the limit.
        """
        view, limit = self.view, self.view.body_limit
        notices = MARKER + view.notices.preface_limit
        protected = self._protected_units(keep)
        self.recent = self._recent_units()
        stay = protected | view.must_show | {self.task}
        turns = chat_turns(self.timeline, view.path, self.unit_set, self.by_user)
        self.turns = {answer: question for answer, question in turns.items() if stay.isdisjoint((answer, question))}
        self._set_wanted_levels()
        if to_target:
            self._leave_out_files()
        if tidy:
            self._shorten_superseded(protected)
        # What cannot be shown whole even if nothing else is shown gives way first, or all else would go for nothing.
        self._reduce_protected(self.body - self._tokens_of(protected), protected)
        if to_target or self.body > view.budget.trigger * limit - notices:
            goal = self._goal(protected) if to_target else min(_FULLEST, view.budget.trigger) * limit
            self._reduce_to(min(goal, limit - notices), protected)
        index, self.index_limit = self._index_tokens(), 0  # they take what is free: nothing more is reduced for them
        self._reduce_protected(0, protected)
        self._show_more(protected, notices + index)
        plan = self._plan(reason)
        if to_target:
            free = min(_LARGEST, view.budget.trigger) * limit - plan.body
            room = min(free, max(self._most_files, self._tokens_hidden_of_files()))
            only_named = room < self.named_room  # a page of a file takes the rest
            plan.files = view.files.choose(max(int(room), self.named_room), self._is_whole, only_named=only_named)
        return plan

    def shorten_repeated(self, keep: int, reason: str) -> Plan | None:
        """Shorten what newer items show again; None if that would save next to nothing."""
        before, protected = self.body, self._protected_units(keep) | {*self.view.new}
        before += self.view.full_tokens(self.unwanted)
        self._set_wanted_levels()
        self._shorten_superseded(protected)
        return self._plan(reason) if before - self.body >= _LEAST_SAVING else None

    def _reduce_protected(self, others: int, protected: set[int]) -> None:
        """Reduce the protected units so that the body fits without `others` tokens.

        The newest is shortened after the rest, and the question last, unless it is larger than the limit. The task (the
        user's first message or its summary) is left out only if the newest is as short as it can be, unless it is
        large; then the newest, and never the question. For these the constraints are shortened further.
        """
        view, limit, question_unit = self.view, self.view.body_limit, self.view.asked
        preface, index, self.index_limit = view.notices.preface_limit, self.index_limit, 0
        most, last = (others + limit - MARKER - kept for kept in (preface, min(preface, limit // 4)))
        newest = [unit for unit in self.said[-1:] if unit in protected and unit != question_unit]
        older = sorted(protected.difference(newest, [question_unit]))
        question = [*self.unit_set & {question_unit}]
        if self._tokens_of(question) > limit:  # it would take all else with it
            self._take_steps(most, question, leave_out=False, level_by_level=True)
        self._take_steps(most, older, leave_out=False, level_by_level=True)
        task = [unit for unit in older if unit == self.task and self._tokens_of({unit}) <= _TASK_SHARE * limit]
        self._take_steps(most, [unit for unit in older if unit not in task])
        self._take_steps(last, newest, leave_out=False, level_by_level=True)
        self._take_steps(last, task)
        is_marked = self.out or (view.last and view.last.left_out)
        self._take_steps(last if is_marked else last + MARKER, newest)
        self._take_steps(last + MARKER, question, leave_out=False)  # our line goes before its words
        self.index_limit = index

    def _show_more(self, protected: set[int], kept_free: int) -> None:
        """Show longer the new results and messages of the user that were shortened, the shortest first.

        If there was no room for a summary, that is all that the limit allows; else what a sweep may leave in use.
        """
        units = sorted(protected.intersection(self.view.new, self.unit_set) - self.out)
        rows = [row for unit in units for row in self.timeline.rows_of(unit) if self.why.get(row) == "swept"]
        rows = [row for row in rows if self.timeline.kind[row] in _PAGED_KINDS and self.lods[row] is not FULL]
        fullest = 1.0 if any(self.lods[row] is GIST for row in rows) else min(_FULLEST, self.view.budget.trigger)
        named_room = int(_NAMED * self.view.body_limit)
        if any(map(self.view.files.holds, rows)) and self.view.files.choose(
            named_room, self._is_whole, only_named=True
        ):
            self.named_room, fullest = named_room, fullest - _NAMED
        free = int(fullest * self.view.body_limit) - kept_free - self.body
        for left, row in zip(range(len(rows), 0, -1), sorted(rows, key=self.timeline.full.__getitem__), strict=True):
            before = self.timeline.size(row, self.lods[row])
            if free // left >= _LEAST_MORE and self.view.cut(row, min(before + free // left, _PAGE)):
                more = self.timeline.size(row, SUMMARY) - before
                self.body, free, self.lods[row] = self.body + more, free - more, SUMMARY

    def _goal(self, protected: set[int]) -> float:
        """Tokens of the body to reach: the target less the files' room, or more where the protected units are large."""
        limit, target = self.view.body_limit, self.view.budget.target * self.view.body_limit
        files = min(self._most_files, self.view.files.tokens)
        grown = protected & self.unit_set - {self.view.asked, self.task}.difference(self.view.new)
        kept = self._tokens_of(grown)
        largest = min(_LARGEST, self.view.budget.trigger) * limit
        older = min(kept + _OLDER * target, max(largest, kept + _LEAST_OLDER * target))
        return max(target - _FOR_FILES * files, older)

    def _reduce_to(self, goal: float, protected: set[int]) -> None:
        if large := self._large_questions():
            self._take_steps(goal, self.units, protected, self._spared_rows(), leave_out=False)
        for row in large:
            if self.body > goal:
                self._set_level(row, self.view.lower_levels(row, self.lods.get(row, FULL))[0])
        if self.view.trims and len(self.newest) < len(self.units):
            self._leave_out_oldest(int(goal) - self.index_limit, protected)
        spared = self._spared_rows()
        taken = self._take_steps(goal, self.units, protected, spared)
        most = min(_WORKING_SHARE, self.view.budget.trigger) * self.view.body_limit
        taken += self._take_steps(max(goal, most), self.units, protected)
        self._give_back(taken, goal)

    @property
    def _most_files(self) -> float:
        """Tokens that the files in work may take."""
        return min(_FILES * self.view.body_limit, _MOST_FILES)

    def _tokens_hidden_of_files(self) -> int:
        """Tokens of what this sweep has shortened or left out of the working set, and whose lines can be chosen."""
        in_work, holds = self.worth.in_working_set, self.view.files.holds
        rows = [row for unit in self.units for row in self.timeline.rows_of(unit) if not self._is_whole(row)]
        return sum(self.timeline.full[row] for row in rows if in_work(row) and holds(row))

    def _leave_out_files(self) -> None:
        """Leave out what shows files as they were at an earlier sweep."""
        units = {*self.view.files.earlier(self.units)} - {self.timeline.unit[row] for row in self.view.pinned}
        self.body -= self._tokens_of(units)
        self.out |= units

    def _is_whole(self, row: int) -> bool:
        unit = self.timeline.unit[row]
        return unit in self.unit_set and unit not in self.out and self.lods.get(row, FULL) is FULL

    def _recent_units(self) -> set[int]:
        """The newest units, up to a share of the body's tokens."""
        free, units = _RECENT_SHARE * self.view.body_limit, set[int]()
        for unit in reversed(self.said):
            free -= self.view.unit_tokens(unit, self.lods)
            if free < 0:
                break
            units.add(unit)
        return units

    def _spared_rows(self) -> set[int]:
        """The working set, what is recent, and what the user wrote: reduced after all else."""
        rows_of, kind = self.timeline.rows_of, self.timeline.kind
        recent = {row for unit in self.recent for row in rows_of(unit)}
        rows = [row for unit in self.units if unit not in self.out for row in rows_of(unit)]
        in_work, holds = self.worth.in_working_set, self.view.files.holds
        return {row for row in rows if kind[row] in USER_KINDS or row in recent or (in_work(row) and not holds(row))}

    def _large_questions(self) -> list[int]:
        """The question and the task, if they take more than half of the body and were shown in full before."""
        units = {self.view.asked, self.task}.intersection(self.units).difference(self.view.new)
        large = sorted(units) if self._tokens_of(units) > self.view.body_limit // 2 else []
        rows = [row for unit in large for row in self.timeline.rows_of(unit)]
        return [row for row in rows if self.view.lower_levels(row, self.lods.get(row, FULL))]

    def _protected_units(self, keep: int) -> set[int]:
        """The units that are reduced only if the limit demands it.

        They are the newest with what was recalled for them, the question, the task, what was fetched again, and
        summaries, which are short already. With `keep` 0 only the question and the summaries are protected.
        """
        question = self.view.asked
        if not keep or not self.said:
            return {question, *self.summaries}
        count = keep + (self.said[-1] == question)  # the answer before a question is what it most likely speaks of
        newest = self.units[bisect_left(self.units, self.said[-count:][0]) :]
        return {*newest, question, *self._units_fetched_again(), *self.summaries} | ({self.task} - {-1})

    def _units_fetched_again(self) -> set[int]:
        """Recent units that the agent fetched again after a sweep had shortened them: it may need them a third time.

        The newest come first, up to a share of the body's tokens. A superseded one does not count.
        """
        timeline, unit = self.timeline, self.timeline.unit
        first = self.units[-1] - _FAULT_UNITS if self.units else 0
        free = _FAULT_SHARE * self.view.body_limit
        units: set[int] = set()
        for row in sorted({*timeline.faults[-_FAULT_UNITS:], *self.view.faults}, reverse=True):
            if unit[row] >= first and unit[row] in self.unit_set and row not in self.superseded:
                free -= timeline.unit_full[unit[row]]
                if free < 0:
                    break
                units.add(unit[row])
        return units

    def _tokens_of(self, units: Collection[int]) -> int:
        return sum(self.view.unit_tokens(unit, self.lods) for unit in self.unit_set.intersection(units))

    def _set_level(self, row: int, lod: Lod, why: str = "swept") -> None:
        self.body += self.timeline.size(row, lod) - self.timeline.size(row, self.lods.get(row, FULL))
        self.lods[row], self.why[row] = lod, why

    def _set_wanted_levels(self) -> None:
        """Raise or lower the items that somebody asked for."""
        for row, wanted in self.view.wanted.items():
            now, lod, unit = self.lods.get(row, FULL), self.timeline.level(row, wanted), self.timeline.unit[row]
            if unit in self.unit_set and (lod >= now or lod in self.view.lower_levels(row, now)):
                self._set_level(row, lod, "asked for by the model" if row in self.view.by_model else "asked for")

    def _newest_units(self) -> Sequence[int]:
        """All units or, if not even gists of all would fit, the newest ones. Only so many gists are made."""
        limit, sizes = self.view.body_limit, accumulate(map(self.view.least_tokens, reversed(self.units)))
        count = next((at for at, size in enumerate(sizes, 1) if size > limit), 0) if self.body > limit else 0
        return self.units[-count:]

    def _leave_out_oldest(self, target: int, protected: set[int]) -> None:
        """Leave out, from the oldest on, the units that would not fit even if everything were a gist.

        The user's messages have a share of their own. The task always stays. Nothing else is computed for these units.
        """
        least_tokens = self.view.least_tokens
        stay = self.unit_set.intersection(self.view.must_show | protected | {self.task}) - self.out
        free, free_for_user = target - sum(map(least_tokens, stay)), target * _USER_SHARE
        undecided = sorted(self.unit_set.difference(stay, self.out))
        by_user, out, asked = self.by_user.difference(self.turns.values()), set[int](), set[int]()
        while undecided and free > 0:
            unit = undecided.pop()
            if unit in asked:
                continue
            turn = self._turn(unit)
            asked.update(turn[1:])
            tokens = sum(map(least_tokens, turn))
            if unit in by_user and free_for_user >= tokens:
                free_for_user -= tokens
            elif free < tokens:
                out.update(turn)
                free = tokens  # nothing older takes its place, unless it is the user's
            free -= tokens
        for unit in sorted(by_user.intersection(undecided), reverse=True):
            if free_for_user >= (tokens := least_tokens(unit)):
                free_for_user -= tokens
            else:
                out.add(unit)
        left = {*undecided} - by_user - asked
        out |= left.union(self.turns[answer] for answer in self.turns.keys() & left)
        self.out |= out
        stay, unit_of = self.unit_set - self.out, self.timeline.unit
        shorter = {row: lod for row, lod in self.lods.items() if unit_of[row] in stay}
        self.body = self.view.full_tokens(stay) - self.view.saved(shorter)

    def _turn(self, unit: int) -> list[int]:
        """The units that are left out together: this one, and the question that it answers."""
        return [unit, self.turns[unit]] if unit in self.turns else [unit]

    def _shorten_superseded(self, protected: set[int]) -> None:
        """Show what is superseded or obsolete at its lowest level: that loses nothing that can be read elsewhere."""
        unit, open_units = self.timeline.unit, self.unit_set - protected - self.out
        for row in sorted(self.superseded.union(self.timeline.obsolete)):
            if unit[row] in open_units:
                for lower in self.view.lower_levels(row, self.lods.get(row, FULL))[-1:]:
                    self._set_level(row, lower, "superseded")

    def _take_steps(
        self,
        target: float,
        units: Sequence[int],
        protected: Collection[int] = (),
        spared: Set[int] = frozenset(),
        *,
        leave_out: bool = True,
        level_by_level: bool = False,
    ) -> list[Taken]:
        """Take the demotions that lose least worth per token saved, until the body has at most `target` tokens.

        `protected` units and `spared` rows stay as they are. `level_by_level`: no item becomes a gist before all are
        summaries, which begin as the items do.
        """
        taken: list[Taken] = []
        if self.body + self._index_tokens() <= target:
            return taken
        steps: list[Step] = []
        questions = {*self.turns.values()}
        rows_of, out = self.timeline.rows_of, self.out
        open_units = {unit: rows_of(unit) for unit in units if unit not in protected and unit not in out}
        self.worth.mentions = self.view.mentions(chain.from_iterable(open_units.values()), self.view.path)
        for unit, rows in open_units.items():
            self._add_steps(steps, unit, rows, spared, leave_out and unit not in questions)
        index = self._index_tokens()
        for step in sorted(steps, key=lambda step: (step.stage, step)) if level_by_level else sorted(steps):
            if self.body + index <= target:
                break
            if step.unit in self.out:  # a question, left out with its answer
                continue
            row = -step.minus_row
            taken.append(Taken(step, self.lods.get(row, FULL), self.why.get(row, "")))
            if step.to is None:
                self.body -= self._tokens_of(self._turn(step.unit))
                self.out.update(self._turn(step.unit))
                index = self._index_tokens()
            else:
                self._set_level(row, step.to)
        return taken

    def _give_back(self, taken: Sequence[Taken], target: float) -> None:
        """Undo the steps that a larger one after them made needless: those that lost most worth first."""
        final: set[int] = set()  # rows whose later step stays, so that the earlier ones do too
        for step, before, why in reversed(taken):
            row = -step.minus_row
            saved = step.saved_tokens if step.to is not None else self._tokens_of(self._turn(step.unit))
            fits = self.body + self._index_tokens() + saved <= target
            if step.to is None and fits:
                self.out.difference_update(self._turn(step.unit))
                self.body += saved
            elif fits and row not in final and step.unit not in self.out:
                self._set_level(row, before, why)
            elif step.to is not None:
                final.add(row)

    def _index_tokens(self) -> int:
        """About how many tokens the index lines will take."""
        return min(self.index_limit, _INDEX_LINE * (len(self.out) + self.out_before))

    def _add_steps(self, steps: list[Step], unit: int, rows: list[int], spared: Set[int], leave_out: bool) -> None:
        """Add the steps down of each item of a unit, which has these rows, and then the one that leaves it out."""
        timeline, tokens_left = self.timeline, self.view.framing(unit)
        highest = worth_left = 0.0
        for row in rows:
            if row in spared:
                continue
            lod = self.lods.get(row, FULL)
            worth, size = self.worth.per_token(row), timeline.size(row, lod)
            for to in self.view.lower_levels(row, lod):
                saved = size - timeline.size(row, to)
                steps.append(Step(worth, 1 - to, -row, unit, to, saved))
                size -= saved
                highest = worth if worth > highest else highest
            worth_left += worth * LEFT_OUT * size
            tokens_left += size
        for row in timeline.rows_of(self.turns[unit]) if unit in self.turns else ():
            tokens = self.view.row_tokens(row, self.lods.get(row, FULL))
            worth_left += self.worth.per_token(row) * LEFT_OUT * tokens
            tokens_left += tokens
        if leave_out and worth_left < inf and self.view.trims and spared.isdisjoint(rows):
            steps.append(Step(max(highest, worth_left / tokens_left), 2, -rows[0], unit, None, tokens_left))

    def _plan(self, reason: str) -> Plan:
        units = [unit for unit in self.units if unit not in self.out]
        lods = {row: lod for row, lod in self.lods.items() if self.timeline.unit[row] not in self.out}
        why = {row: reason for row, reason in self.why.items() if row in lods}
        left_out = count_left_out(self.view, self.unit_set | self.unwanted, self.out | self.unwanted)
        return Plan.swept(self.view, units, lods, why, reason=reason, left_out=left_out)
