"""Several sessions together: sums, the largest shares, and what would save most."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce

from sightline.view.report.advice import advice_on
from sightline.view.report.cache import plus
from sightline.view.report.contents import largest
from sightline.view.report.values import Again, CompactionLoss, Forecast, Refused, Report, SessionReport, Share, Spent

CAUSES = ("pause", "model", "compaction", "sweep", "joined", "other")


def report_over(sessions: Sequence[SessionReport], refused: Sequence[Refused] = ()) -> Report:
    """Return the report over these sessions."""
    lost = [each for session in sessions for each in session.compactions]
    breaks = {
        cause: [each for session in sessions for each in session.breaks if each.cause == cause] for cause in CAUSES
    }
    return Report(
        sessions=tuple(sessions),
        calls=sum(session.calls for session in sessions),
        spent=reduce(plus, (session.spent for session in sessions), Spent(money=0.0)),
        reported=sum(session.is_reported for session in sessions),
        unpriced=tuple(dict.fromkeys(model for session in sessions for model in session.unpriced)),
        kinds=_summed(session.kinds for session in sessions),
        tools=_summed(session.tools for session in sessions),
        files=_summed(session.files for session in sessions),
        breaks={
            cause: Share(cause, len(found), sum(each.tokens for each in found))
            for cause, found in breaks.items() if found
        },
        break_cost={cause: sum(each.cost for each in found) for cause, found in breaks.items() if found},
        again=_again(sessions),
        compactions=len(lost),
        lost=_lost(lost) if lost else None,
        forecasts=_forecasts(sessions),
        advice=advice_on(sessions),
        refused=tuple(refused),
    )  # fmt: skip


def _summed(groups: Iterable[Sequence[Share]]) -> tuple[Share, ...]:
    sums: dict[str, Share] = {}
    for share in (each for group in groups for each in group):
        old = sums.get(share.name, Share(share.name))
        sums[share.name] = Share(
            share.name, old.items + share.items, old.tokens + share.tokens, old.sent + share.sent
        )  # fmt: skip
    return largest(sums.values())


def _again(sessions: Sequence[SessionReport]) -> tuple[Again, ...]:
    by_file: defaultdict[str, list[Again]] = defaultdict(list)
    for session in sessions:
        for each in session.again:
            by_file[each.file].append(each)
    sums = [
        Again(file, *(sum(column) for column in zip(*map(_numbers, found), strict=True)))
        for file, found in by_file.items()
    ]
    return tuple(sorted(sums, key=lambda each: -each.cost - each.after_cost))


def _numbers(each: Again) -> tuple[float, ...]:
    return (
        each.reads, each.again, each.tokens, each.sent, each.cost, each.after_compaction, each.after_tokens,
        each.after_cost,
    )  # fmt: skip


def _lost(lost: Sequence[CompactionLoss]) -> CompactionLoss:
    return CompactionLoss(
        call=0,
        trigger="",
        tokens=sum(each.tokens for each in lost),
        summary=sum(each.summary for each in lost),
        constraints=sum(each.constraints for each in lost),
        paths=sum(each.paths for each in lost),
        identifiers=sum(each.identifiers for each in lost),
        numbers=sum(each.numbers for each in lost),
        errors=sum(each.errors for each in lost),
        named=tuple(name for each in lost for name in each.named)[:5],
        needed=sum(each.needed for each in lost),
        needed_tokens=sum(each.needed_tokens for each in lost),
    )


def _forecasts(sessions: Sequence[SessionReport]) -> tuple[Forecast, ...]:
    """Return the sum of each economy's forecasts, over the sessions that have one."""
    found: defaultdict[str, list[Forecast]] = defaultdict(list)
    for session in sessions:
        for each in session.forecasts:
            found[each.economy].append(each)
    return tuple(
        Forecast(
            economy=economy,
            window=max(each.window for each in made),
            spent=reduce(plus, (each.spent for each in made), Spent(money=0.0)),
            full=reduce(plus, (each.full for each in made), Spent(money=0.0)),
            rereads=sum(each.rereads for each in made),
            reread_cost=sum(each.reread_cost for each in made),
            sweeps=sum(each.sweeps for each in made),
            sessions=sum(each.sessions for each in made),
            unchanged=sum(each.unchanged for each in made),
            largest=max(each.largest for each in made),
        )
        for economy, made in found.items()
    )
