"""Counts what a sweep leaves out, for the line that says so."""

from collections.abc import Collection, Iterable, Sequence
from itertools import compress

from sightline.log.columns import kind_table, pick
from sightline.plan.view import SETTINGS_CHANGED, LeftOut, View, body_units
from sightline.values.items import Kind

_SHOWN_HERE = kind_table({*Kind} - {Kind.SUMMARY, Kind.RECALL})


def count_left_out(view: View, units: Collection[int], out: Collection[int]) -> LeftOut | None:
    """Count what the last plan counted, less what came back, and what a sweep over `units` leaves `out`.

    All is counted again only if a summary appears or ends, or the settings have changed, because that looks at the
    whole history: another strategy may not have counted. A compaction that is only tried has no summary yet.
    """
    last, timeline = view.last, view.timeline
    summaries = [unit for compaction in view.compactions for unit in compaction.summaries]
    is_new = any(unit not in (last or ()) for unit in (*view.back, *summaries))
    if is_new or view.command == SETTINGS_CHANGED or not all(compaction.summaries for compaction in view.compactions):
        pending = {timeline.unit[row] for row in timeline.open_calls}
        hidden = {*body_units(timeline, view.path)} - ({*units} - {*out}) - pending - view.replaced
        return _count(view, _missed(view, hidden))
    before = last.left_out if last else None
    if last and before:
        if back := _count(view, [unit for unit in units if unit <= before.last and unit not in last]):
            before = before._replace(messages=before.messages - back.messages, tokens=before.tokens - back.tokens)
        first, end = before.first, before.last
        if before.messages <= 0 or any(
            compaction.first <= first and end <= compaction.last for compaction in view.compactions
        ):
            before = None  # all came back, or one summary covers it
    now = _count(view, _missed(view, {*out} - view.replaced))
    if before is None or now is None:
        return before or now
    ends = min(before.first, now.first), max(before.last, now.last)
    return LeftOut(before.messages + now.messages, before.tokens + now.tokens, *ends)


def _count(view: View, units: Sequence[int]) -> LeftOut | None:
    if not units:
        return None
    timeline, units = view.timeline, sorted(units)
    messages = sum([rows - rows // 2 for rows in pick(timeline.unit_rows, units)])  # see `messages_of`
    return LeftOut(messages, sum(pick(timeline.unit_full, units)), units[0], units[-1])


def _missed(view: View, units: Iterable[int]) -> list[int]:
    """Those of these left-out units whose words nothing else shows.

    A recalled piece has its source, a covered unit its summary, and an undone summary the units it covered.
    """
    timeline, units = view.timeline, sorted(units)
    said = [*compress(units, timeline.unit_kinds(units).translate(_SHOWN_HERE))]
    for compaction in view.compactions:
        said = [unit for unit in said if not compaction.first <= unit <= compaction.last]
    summaries = {unit for compaction in view.compactions for unit in compaction.summaries}
    return said + [unit for unit in summaries.intersection(units) if timeline.unit_kind(unit) is Kind.SUMMARY]
