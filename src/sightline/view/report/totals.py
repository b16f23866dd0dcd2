"""Several sessions together: sums, the largest shares, and what would save most."""

from collections.abc import Iterable, Sequence
from itertools import chain

from msgspec.structs import replace

from sightline.view.report.advice import advice_on
from sightline.view.report.contents import largest
from sightline.view.report.values import (
    Again,
    CompactionLoss,
    Forecast,
    Refused,
    Report,
    SessionReport,
    Share,
    Spent,
    add_up,
    add_up_by,
    counted,
)

CAUSES = ("pause", "model", "compaction", "sweep", "joined", "other")


def report_over(sessions: Sequence[SessionReport], refused: Sequence[Refused] = ()) -> Report:
    """Return the report over these sessions."""
    lost = [loss for session in sessions for loss in session.compactions]
    measured = counted(sessions)
    others = [session.spent for session in sessions if not session.is_reported]
    breaks = {
        cause: [miss for session in measured for miss in session.breaks if miss.cause == cause] for cause in CAUSES
    }
    return Report(
        sessions=tuple(sessions),
        calls=sum(session.calls for session in sessions),
        spent=add_up([Spent(money=0.0), *(session.spent for session in measured)]),
        reported=sum(session.is_reported for session in sessions),
        expected=add_up(others) if 0 < len(others) < len(sessions) else None,
        unpriced=tuple(dict.fromkeys(model for session in sessions for model in session.unpriced)),
        kinds=_shares(session.kinds for session in measured),
        tools=_shares(session.tools for session in measured),
        files=_shares(session.files for session in measured),
        breaks={
            cause: Share(cause, len(misses), sum(miss.tokens for miss in misses))
            for cause, misses in breaks.items() if misses
        },
        break_cost={cause: sum(miss.cost for miss in misses) for cause, misses in breaks.items() if misses},
        again=_again(measured),
        compactions=len(lost),
        lost=_lost(lost) if lost else None,
        forecasts=_forecasts(sessions),
        advice=advice_on(sessions),
        refused=tuple(refused),
    )  # fmt: skip


def _shares(groups: Iterable[Sequence[Share]]) -> tuple[Share, ...]:
    return largest(add_up_by(chain.from_iterable(groups), lambda share: share.name))


def _again(sessions: Sequence[SessionReport]) -> tuple[Again, ...]:
    sums = add_up_by((file for session in sessions for file in session.again), lambda file: file.file)
    return tuple(sorted(sums, key=lambda file: -file.cost - file.after_cost))


def _lost(lost: Sequence[CompactionLoss]) -> CompactionLoss:
    named = tuple(name for loss in lost for name in loss.named)[:5]
    return replace(add_up(lost), call=0, trigger="", named=named, names={})


def _forecasts(sessions: Sequence[SessionReport]) -> tuple[Forecast, ...]:
    """Return the sum of each economy's forecasts, over the sessions that have one."""
    made = [forecast for session in sessions for forecast in session.forecasts]
    sums = []
    for total in add_up_by(made, lambda forecast: forecast.economy):
        same = [forecast for forecast in made if forecast.economy == total.economy]
        window, most = max(forecast.window for forecast in same), max(forecast.largest for forecast in same)
        sums.append(replace(total, window=window, largest=most, factor=1.0, unlogged=0))
    return tuple(sums)
