"""Several sessions together: sums, the largest shares, and what would save most."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain

from sightline.view.report.advice import advice_on
from sightline.view.report.cache import plus
from sightline.view.report.contents import largest
from sightline.view.report.values import Again, CompactionLoss, Forecast, Refused, Report, SessionReport, Share, Spent

CAUSES = ("pause", "model", "compaction", "sweep", "joined", "other")


def report_over(sessions: Sequence[SessionReport], refused: Sequence[Refused] = ()) -> Report:
    """Return the report over these sessions."""
    lost = [loss for session in sessions for loss in session.compactions]
    breaks = {
        cause: [miss for session in sessions for miss in session.breaks if miss.cause == cause] for cause in CAUSES
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
            cause: Share(cause, len(misses), sum(miss.tokens for miss in misses))
            for cause, misses in breaks.items() if misses
        },
        break_cost={cause: sum(miss.cost for miss in misses) for cause, misses in breaks.items() if misses},
        again=_again(sessions),
        compactions=len(lost),
        lost=_lost(lost) if lost else None,
        forecasts=_forecasts(sessions),
        advice=advice_on(sessions),
        refused=tuple(refused),
    )  # fmt: skip


def _summed(groups: Iterable[Sequence[Share]]) -> tuple[Share, ...]:
    sums: dict[str, Share] = {}
    for share in chain.from_iterable(groups):
        old = sums.get(share.name, Share(share.name))
        sums[share.name] = Share(
            share.name, old.items + share.items, old.tokens + share.tokens, old.sent + share.sent
        )  # fmt: skip
    return largest(sums.values())


def _again(sessions: Sequence[SessionReport]) -> tuple[Again, ...]:
    by_file: defaultdict[str, list[Again]] = defaultdict(list)
    for session in sessions:
        for reads in session.again:
            by_file[reads.file].append(reads)
    sums = [
        Again(file, *(sum(column) for column in zip(*map(_numbers, readings), strict=True)))
        for file, readings in by_file.items()
    ]
    return tuple(sorted(sums, key=lambda file: -file.cost - file.after_cost))


def _numbers(file: Again) -> tuple[float, ...]:
    return (
        file.reads, file.again, file.tokens, file.sent, file.cost, file.after_compaction, file.after_tokens,
        file.after_cost,
    )  # fmt: skip


def _lost(lost: Sequence[CompactionLoss]) -> CompactionLoss:
    return CompactionLoss(
        call=0,
        trigger="",
        tokens=sum(loss.tokens for loss in lost),
        summary=sum(loss.summary for loss in lost),
        constraints=sum(loss.constraints for loss in lost),
        paths=sum(loss.paths for loss in lost),
        identifiers=sum(loss.identifiers for loss in lost),
        numbers=sum(loss.numbers for loss in lost),
        errors=sum(loss.errors for loss in lost),
        named=tuple(name for loss in lost for name in loss.named)[:5],
        needed=sum(loss.needed for loss in lost),
        needed_tokens=sum(loss.needed_tokens for loss in lost),
    )


def _forecasts(sessions: Sequence[SessionReport]) -> tuple[Forecast, ...]:
    """Return the sum of each economy's forecasts, over the sessions that have one."""
    by_economy: defaultdict[str, list[Forecast]] = defaultdict(list)
    for session in sessions:
        for forecast in session.forecasts:
            by_economy[forecast.economy].append(forecast)
    return tuple(
        Forecast(
            economy=economy,
            window=max(forecast.window for forecast in made),
            spent=reduce(plus, (forecast.spent for forecast in made), Spent(money=0.0)),
            full=reduce(plus, (forecast.full for forecast in made), Spent(money=0.0)),
            rereads=sum(forecast.rereads for forecast in made),
            reread_cost=sum(forecast.reread_cost for forecast in made),
            sweeps=sum(forecast.sweeps for forecast in made),
            sessions=sum(forecast.sessions for forecast in made),
            unchanged=sum(forecast.unchanged for forecast in made),
            largest=max(forecast.largest for forecast in made),
        )
        for economy, made in by_economy.items()
    )
