"""Counts what a sweep leaves out, for the line that says so."""

from collections.abc import Collection, Sequence

from sightline.plan.view import LeftOut, View, body_units, messages_of
from sightline.values.items import Kind


def count_left_out(view: View, units: Collection[int], out: Collection[int]) -> LeftOut | None:
    """Count what the last plan counted, less what came back, and what a sweep over `units` leaves `out`.

    All is counted again only if a summary appears or ends, because that looks at the whole history.
    """
    last, timeline = view.last, view.timeline
    summaries = [unit for each in view.compactions for unit in each.summaries]
    if any(unit not in (last or ()) for unit in (*view.back, *summaries)):
        pending = {timeline.unit[row] for row in timeline.open_calls}
        hidden = {*body_units(timeline, view.path)} - ({*units} - {*out}) - pending
        return _count(view, [unit for unit in hidden if _is_missed(view, unit)])
    before = last.left_out if last else None
    if last and before:
        if back := _count(view, [unit for unit in units if unit <= before.last and unit not in last]):
            before = before._replace(messages=before.messages - back.messages, tokens=before.tokens - back.tokens)
        first, end = before.first, before.last
        if before.messages <= 0 or any(each.first <= first and end <= each.last for each in view.compactions):
            before = None  # all came back, or one summary covers it
    now = _count(view, [unit for unit in out if _is_missed(view, unit)])
    if before is None or now is None:
        return before or now
    ends = min(before.first, now.first), max(before.last, now.last)
    return LeftOut(before.messages + now.messages, before.tokens + now.tokens, *ends)


def _count(view: View, units: Sequence[int]) -> LeftOut | None:
    if not units:
        return None
    return LeftOut(
        messages=sum(messages_of(view.timeline, unit) for unit in units),
        tokens=sum(view.timeline.unit_full[unit] for unit in units),
        first=min(units),
        last=max(units),
    )


def _is_missed(view: View, unit: int) -> bool:
    """Whether nothing else shows what a left-out unit says.

    A recalled piece has its source, a covered unit its summary, and an undone summary the units it covered.
    """
    kind = view.timeline.unit_kind(unit)
    if kind is Kind.SUMMARY:
        return any(unit in each.summaries for each in view.compactions)
    return kind is not Kind.RECALL and not view.is_covered(unit)
