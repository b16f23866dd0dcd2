"""Gathers what a plan needs to know: what is new, pinned, wanted, summarised, fetched again, always sent.

Also what the open windows show (`LiveWindows`), and how much may be recalled for a message and added to a plan.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from sightline.apps.host import Host
from sightline.compose.render import ComposeInputs
from sightline.log.annotations import LOWERING, ReceiptNote, Source
from sightline.log.columns import FAILED, NONE, Compaction, Path, Timeline, replaced_rows
from sightline.log.journal import Journal
from sightline.plan.plan import Plan, allowed
from sightline.plan.strategies.worth import is_output
from sightline.plan.view import Budget, Unchanged, View, body_unit, complete_units, said_units
from sightline.recall.recall import Room, room
from sightline.shorten import Purpose, is_file_read
from sightline.values.items import FULL, Call, Kind, Lod, Part, Result
from sightline.values.recall_tools import RECALL_NAMES
from sightline.wire.payload import Payload

FRAMING_TOKENS = 24  # at most, for one more message in any profile and the frame of what is recalled
_ENOUGH = 4_500  # tokens for one message
_BESIDE = 2_500  # of them beside what else a payload shows; more take its place: a small model wants no more text
_RUNNING = 800  # tokens: so much in a running conversation, if the budget's share is less
_DEEPER = 0.75  # of its target: how much deeper a sweep may go for what is recalled, which matters more than old talk
_RECENT_UNITS = 60  # what was recalled within these units is not recalled again
_NEEDED = 2  # times what must be shown: a strategy's own window is never smaller than that
_FAR_MORE = 1.25  # times the tokens of the last budget
_READING = frozenset((Purpose.READ, Purpose.SEARCH, Purpose.SHOW))  # purposes of calls that change nothing
_LOOKED_BACK = 8  # results about the same subject among which that of the same call is looked for
_LEAST_SPARED = 50  # tokens: a shorter result is shown again
_REPEATED = 0.8  # of its lines: a result that repeats so much of an earlier one was fetched because that was shortened


def fixed_tokens(journal: Journal, gathered: ComposeInputs, tool_tokens: int, count: Callable[[str], int]) -> int:
    """Return the tokens that every payload has whatever the plan: head, windows and the request's framing."""
    profile, timeline = journal.reader.profile, journal.timeline
    tokens = profile.request_tokens + tool_tokens
    for row in gathered.system:
        tokens += timeline.full[row] + profile.message_tokens
    return tokens + window_tokens(journal, gathered, count)


def window_tokens(journal: Journal, gathered: ComposeInputs, count: Callable[[str], int]) -> int:
    """Return the tokens of the live windows, framing included."""
    rows, framing = set(gathered.window_rows), journal.reader.profile.message_tokens
    return sum(
        (count(text) + framing) * len(rows.intersection(journal.timeline.windows[window]))
        for window, text in gathered.windows.items()
    )


def free_room(journal: Journal, last: ReceiptNote | None, budget: Budget | None) -> Room:
    """Return the room for what somebody brings back: what the last payload and the rows since leave below the trigger.

    A sweep would shorten other items for what is beyond it.
    """
    if last is None or budget is None:
        return Room()
    timeline, profile = journal.timeline, journal.reader.profile
    since = timeline.rows_on(journal.path, range(timeline.rows_until(last.seq), len(timeline)))
    used = last.tokens + sum(timeline.full[row] + profile.message_tokens for row in since)
    return room(last.limit, max(0, int(budget.trigger * last.limit) - used - profile.message_tokens))


def window_rows(
    journal: Journal, windows: Iterable[str], where: str, rows: int, offset: int = 1 << 62
) -> tuple[int, ...]:
    """Return the rows at which windows are shown: for "place" all their references, else the last one of each."""
    own = [journal.timeline.references(window, journal.path, rows, offset) for window in windows]
    if where == "place":
        return tuple(sorted(row for references in own for row in references))
    return tuple(references[-1] for references in own if references)


def read_compactions(
    journal: Journal, offset: int, reductions: Collection[str]
) -> tuple[list[Compaction], list[int], str]:
    """Return the compactions in force, the units to show again, and the command; nothing if these are switched off.

    To show again are the units of compactions that were undone after this place in the log, unless another one covers
    them. The command is empty if no compaction was made or undone after it.
    """
    if "summaries" not in reductions:
        return [], [], ""
    timeline, path = journal.timeline, journal.path
    if not timeline.compactions:
        return [], [], ""
    active = timeline.compacted(path)
    undone = [
        compaction
        for compaction in timeline.compactions
        if path.knows(compaction) and any(path.knows(note) and note.offset > offset for note in compaction.undone)
    ]
    rows = [(timeline.unit_row[compaction.first], timeline.unit_row[compaction.last] + 1) for compaction in undone]
    units = sorted({unit for first, end in rows for unit in said_units(timeline, path, first, end)})
    back = [unit for unit in units if not any(unit in compaction for compaction in active)]
    if any(compaction.offset > offset and (compaction.manual or not offset) for compaction in active):
        return active, back, "command: compact"
    return active, back, "command: uncompact" if back else ""


def hidden_units(journal: Journal, sent: Plan, compactions: Sequence[Compaction]) -> list[int]:
    """Return the units hidden in the last payload and not covered by a summary.

    They return when a reduction has just been switched off.
    """
    return [
        unit
        for unit in complete_units(journal.timeline, journal.path)
        if unit not in sent and not any(unit in compaction for compaction in compactions)
    ]


def units_to_weigh(timeline: Timeline, path: Path, rows: int, pinned: Collection[int] = ()) -> list[int]:
    """Return the complete units of a path without the recalls among the first `rows`: their sources are weighed.

    A recall that a caller pinned is among them.
    """
    placed = [(unit, timeline.unit_row[unit]) for unit in complete_units(timeline, path)]
    return [unit for unit, row in placed if timeline.kind[row] != Kind.RECALL or row >= rows or row in pinned]


def limit_in_window(view: View, window: int) -> int:
    """Return the tokens that a payload may have if the strategy works in a window of this size.

    A payload may have more for what must be shown, and for what is new and was therefore never shown, except outputs
    so large that they are paged.
    """
    if view.limit <= window:
        return view.limit
    must = {unit for unit in view.must_show if unit >= 0}.union(view.new if view.last else ())
    full, large = view.timeline.full, [unit for unit in must if view.timeline.unit_full[unit] > window // 2]
    rows = [row for unit in large for row in view.timeline.rows_of(unit) if full[row] > window // 2]
    paged = sum(full[row] for row in rows if is_output(view.timeline, row))
    return min(view.limit, max(window, _NEEDED * (view.fixed + view.full_tokens(must) - paged)))


def has_more_room(last: ReceiptNote | None, limit: int, target: float, sent: Payload | None) -> bool:
    """Return whether a payload may have far more tokens than the last one, which did not show everything.

    `limit` is what the budget and the strategy allow now, `target` the share that a sweep goes down to.

    What was shortened or left out then may be shown again. It is not worth a change of the prefix where there is little
    more room, or a sweep of all would go below what is shown now.
    """
    if last is None or sent is None or limit < _FAR_MORE * last.limit or sent.tokens > target * limit:
        return False
    kind_of, plan = sent.plan.timeline.unit_kind, sent.plan
    out = (unit for first, last in plan.gaps() for unit in range(first, last + 1))
    return any(lod is not FULL for lod in plan.levels().values()) or any(
        kind_of(unit) is not Kind.RECALL for unit in out
    )


def wanted_units(timeline: Timeline, path: Path, wanted: Mapping[int, Lod]) -> list[int]:
    """Return the units of rows wanted in full, unless a later compaction covers them. A pin outlives compactions."""
    active, last = timeline.compacted(path), timeline.marked(path)
    marks = [(timeline.unit[row], last[row]) for row, lod in wanted.items() if lod is Lod.FULL]
    return [
        unit
        for unit, mark in marks
        if mark.what == "pin"
        or not any(unit in compaction and compaction.offset > mark.offset for compaction in active)
    ]


def was_raised(timeline: Timeline, path: Path, offset: int) -> bool:
    """Return whether somebody wanted an item shown at its own place after this place in the log."""
    return any(mark.offset > offset and mark.what == "raise" and path.knows(mark) for mark in timeline.marks)


class Marks(NamedTuple):
    """What was asked for: pinned rows, rows and the levels they get at the next sweep, units to be left out by it."""

    pinned: frozenset[int] = frozenset()
    wanted: Mapping[int, Lod] = {}
    out: frozenset[int] = frozenset()
    by_model: Mapping[int, str] = {}  # rows that the model asked to see less of, and what it asked
    replaced: frozenset[int] = (
        frozenset()
    )  # units to be left out because the agent has written something in their place


_WANTED = {"pin": Lod.FULL, "raise": Lod.FULL, "collapse": Lod.GIST, "summary": Lod.SUMMARY, "out": Lod.GIST}


def read_marks(timeline: Timeline, path: Path) -> Marks:
    """Return what somebody asked for on this path.

    A call and its results are in or out together, so they go out when all of the results are to; until then those that
    are become gists.
    """
    marked = {row: mark for row, mark in timeline.marked(path).items() if body_unit(timeline, timeline.unit[row])}
    out = {row for row, mark in marked.items() if mark.what == "out"}

    def goes(unit: int) -> bool:
        rows = timeline.rows_of(unit)
        return out.issuperset([row for row in rows if timeline.kind[row] == Kind.RESULT] or rows)

    return Marks(
        frozenset(row for row, mark in marked.items() if mark.what == "pin"),
        {row: _WANTED[mark.what] for row, mark in marked.items() if mark.what in _WANTED},
        frozenset(unit for unit in {timeline.unit[row] for row in out} if goes(unit)),
        {row: mark.what for row, mark in marked.items() if mark.by == "model" and mark.what in LOWERING},
        frozenset(timeline.unit[row] for row in replaced_rows(marked)),
    )


def find_faults(journal: Journal, new: Sequence[int], sent: Plan | None) -> frozenset[int]:
    """Return the rows of new results that repeat one which the last payload showed shortened, or not at all."""
    timeline, path = journal.timeline, journal.path
    if sent is None:
        return frozenset()
    faults = []
    for row in [row for unit in new for row in timeline.rows_of(unit) if timeline.same[row] >= 0]:
        before = timeline.same[row]  # the previous result about the same subject on this path; -1 if there is none
        while before >= 0 and not path.holds(timeline.branch[before], before):
            before = timeline.same[before]
        seen = timeline.unit[before] in sent and sent.lod(before) is Lod.FULL
        if 0 <= before < sent.rows and not seen and _repeats(journal.reader.text(row), journal.reader.text(before)):
            faults.append(row)
    return frozenset(faults)


def find_unchanged(journal: Journal, new: Sequence[int], sent: Plan | None) -> dict[int, Unchanged]:
    """Return the new results of read-only calls that are the same as that of the same call before, shown in full.

    Only where the settings say so. Whoever reads files with `file_reader` gets them in full each time, and so does who
    asks for an item again.
    """
    if journal.settings.repeat_unchanged or not new:
        return {}
    timeline, reader, unchanged = journal.timeline, journal.reader, dict[int, Unchanged]()
    for row in [row for unit in new for row in timeline.rows_of(unit) if timeline.kind[row] == Kind.RESULT]:
        source = _same_result(journal, row)
        if source == NONE:
            continue
        named = unchanged.get(source) or (sent.unchanged.get(source) if sent is not None else None)
        source = named.source if named else source
        unit = timeline.unit[source]
        is_full = unit in new or (sent is not None and unit in sent and sent.lod(source) is Lod.FULL)
        tokens = reader.full_tokens(reader.unchanged_parts(row, source)) if is_full else timeline.full[row]
        if timeline.full[row] - tokens >= _LEAST_SPARED:
            unchanged[row] = Unchanged(source, tokens)
    return unchanged


def _same_result(journal: Journal, row: int) -> int:
    """Return the result of the last call before that is the same and only reads, if it gave the same; -1 if none."""
    timeline = journal.timeline
    call, before = timeline.partner[row], timeline.same[row]
    if timeline.purpose[call] not in _READING or timeline.state[row] & FAILED:
        return NONE
    asked = _call_at(journal, call)
    if asked.name in RECALL_NAMES or is_file_read(asked.id, asked.name):
        return NONE
    for _ in range(_LOOKED_BACK):
        if before == NONE:
            break
        if journal.path.holds(timeline.branch[before], before):
            earlier = _call_at(journal, timeline.partner[before])
            if (earlier.name, earlier.input, earlier.raw) == (asked.name, asked.input, asked.raw):
                return before if _result_at(journal, before) == _result_at(journal, row) else NONE
        before = timeline.same[before]
    return NONE


def _call_at(journal: Journal, row: int) -> Call:
    call = journal.reader.item(row).parts[0]
    assert isinstance(call, Call)
    return call


def _result_at(journal: Journal, row: int) -> tuple[tuple[Part, ...], str]:
    """Return what a result says, without the id of its call."""
    result = journal.reader.item(row).parts[0]
    assert isinstance(result, Result)
    return result.parts, result.error


def _repeats(text: str, before: str) -> bool:
    """Return whether most lines of a text are lines of the earlier one."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    lines_before = {line.strip() for line in before.split("\n")}
    return bool(lines) and sum(line in lines_before for line in lines) >= _REPEATED * len(lines)


def last_searched_question(timeline: Timeline, path: Path, last: ReceiptNote | None) -> int:
    """Return the unit of the newest user message that was followed by a payload or a recall; -1 if there is none."""
    rows_sent = timeline.rows_until(last.seq) if last is not None else 0
    for row in range(len(timeline) - 1, rows_sent - 1, -1):
        if timeline.kind[row] == Kind.RECALL and path.holds(timeline.branch[row], row):
            return timeline.led_message(path, row)
    return timeline.last_user(path, rows_sent)


class LiveWindows:
    """The texts of a session's open windows. Their tokens are counted once for each text."""

    def __init__(self, journal: Journal, host: Host) -> None:
        self._journal, self._host = journal, host
        self._sizes: dict[str, int] = {}  # tokens of the texts that were shown last

    def texts(self, tokens: int | None, in_place: bool, before: Mapping[str, str]) -> dict[str, str]:
        """Return what each open window shows now, in at most so many tokens; None: whatever they need.

        Windows that look as they did `before` come first, so that the payload changes as late as possible. With
        `in_place`, a window costs its tokens at each of its references.
        """
        counted, self._sizes = self._sizes, {}
        framing = self._journal.reader.profile.message_tokens

        def size(window: str, text: str) -> int:
            if text not in self._sizes:
                self._sizes[text] = counted[text] if text in counted else self.tokens(text)
            references = len(self._journal.timeline.references(window, self._journal.path)) if in_place else 1
            return (self._sizes[text] + framing) * references

        texts = self._host.shown(tokens, size)
        return {window: text for window, text in before.items() if texts.get(window) == text} | texts

    def asked_by_model(self) -> dict[str, str]:
        """Return the levels of the open windows whose level the model has set."""
        windows = self._host.all() if self._journal.timeline.windows else ()
        asked = [(window.id, window.options) for window in windows if window.options.asked]
        return {window_id: "out" if options.out else options.lod.name.lower() for window_id, options in asked}

    def tokens(self, text: str) -> int:
        """Return the tokens of what a window shows."""
        tokens = self._sizes.get(text)
        return self._journal.reader.counter.count(text) if tokens is None else tokens


def free_tokens(view: View, plan: Plan) -> int:
    """Return what this plan leaves free below the budget's trigger."""
    return view.fixed + int(view.budget.trigger * view.body_limit) - plan.tokens - FRAMING_TOKENS


def recall_tokens(view: View, plan: Plan, *, deeper: bool = True) -> int:
    """Return what may be recalled for a message: the budget's share or, if that is more, all that is free.

    It is never more than enough. In a running conversation it is the share, or a little: passages stay there, and
    sweeps pay for what fills a window. deeper: a sweep that is made anyway can leave out more for it.
    """
    share = int(view.budget.recall * view.limit)
    most = _ENOUGH if view.last is None else max(share, _RUNNING)
    spare = int(_DEEPER * view.budget.target * view.body_limit) if deeper and plan.reason and view.trims else 0
    return min(max(share, free_tokens(view, plan) + spare), most)


def missing_tokens(view: View, plan: Plan, needed: int) -> int:
    """Return by how many tokens a sweep must go deeper for what is recalled, which takes so many.

    In the first payload, what is recalled beyond a limit takes the place of old talk, also where both would fit.
    """
    instead = needed - _BESIDE if view.last is None else 0
    return max(needed - free_tokens(view, plan), instead)


def deeper_budget(view: View, needed: int) -> Budget:
    """Return the budget with which a sweep leaves so many more tokens free, or as many as it may."""
    budget = view.budget
    less = min(needed / view.body_limit, _DEEPER * budget.target)
    return replace(budget, trigger=budget.trigger - less, target=budget.target - less)


def sources_shown(journal: Journal, plan: Plan) -> set[Source]:
    """Return what the newest recalls show that this plan still shows."""
    timeline = journal.timeline
    recent = [timeline.unit_row[unit] for unit in plan.after(len(plan) - _RECENT_UNITS)]
    recalls = [row for row in recent if timeline.kind[row] == Kind.RECALL and plan.lod(row) is Lod.FULL]
    return {source for row in recalls for source in journal.reader.recall_note(row).sources}


def with_recalled(view: View, plan: Plan) -> Plan:
    """Return a plan that was just made, with what was recalled since."""
    new = said_units(view.timeline, view.path, plan.rows)
    recalled = Plan.extended(replace(allowed(view), last=plan, new=new), {}, {})
    recalled.reason = plan.reason
    return recalled
