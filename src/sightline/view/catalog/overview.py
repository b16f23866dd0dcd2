"""All sessions at a glance: what they used by day and by project, which cost most and why, and what was saved."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from sightline.values.clock import day
from sightline.values.items import Usage
from sightline.view.catalog.listed_sessions import SessionFacts, Wanted
from sightline.view.catalog.savings import Saved
from sightline.view.catalog.session_catalog import SessionCatalog

_ALL = 1 << 31
WORST = 10  # sessions that are named
_UNCACHED = 0.4  # of the input: a session of several calls that paid more of it anew is told so
_CALLS = 5


class Sum(Struct, frozen=True):
    """Several sessions together."""

    name: str  # a day as 2026-01-31, or the folder of a project; empty: of all, or not known
    sessions: int
    calls: int
    usage: Usage  # as the providers reported it
    cost: float  # dollars of the sessions whose models have a known price
    unpriced: int  # sessions that used something, and whose price is not known
    saved: Saved
    saved_money: float


class CostlySession(Struct, frozen=True):
    """One of the sessions that cost most, and what made it so: the reasons that the list knows, as counts."""

    id: str
    title: str
    project: str
    cost: float
    calls: int
    uncached: float  # share of its input that was not in the provider's cache; 0 where that is usual
    rereads: int
    compactions: int
    faults: int


class Overview(Struct, frozen=True):
    """All sessions that have been counted. `pending`: how many have not been, yet."""

    total: Sum
    since: str  # the day of the first call that was composed, or rather of its session; empty: there is none
    days: list[Sum]  # the newest first
    projects: list[Sum]  # that which cost most first
    costly: list[CostlySession]
    pending: int


def overview(catalog: SessionCatalog, project: str = "", begin: str = "") -> Overview:
    """Return the sums over all sessions, or those of a project's folder, last changed on this day or later."""
    page = catalog.page(Wanted(project=project, limit=_ALL))
    rows = [row for row in page.rows if row.state != "file" and row.ready and _day(row) >= begin]
    composed = [_day(row) for row in rows if row.saved is not None]
    return Overview(
        total=_sum("", rows),
        since=min(composed, default=""),
        days=sorted(_sums(rows, _day), key=lambda day: day.name, reverse=True),
        projects=sorted(_sums(rows, lambda row: row.project), key=lambda each: (-each.cost, each.name)),
        costly=[_costly(row) for row in sorted(rows, key=_cost, reverse=True)[:WORST] if _cost(row)],
        pending=page.pending,
    )


def _sums(rows: Iterable[SessionFacts], name_of: Callable[[SessionFacts], str]) -> Iterator[Sum]:
    groups: dict[str, list[SessionFacts]] = {}
    for row in rows:
        groups.setdefault(name_of(row), []).append(row)
    return (_sum(name, group) for name, group in groups.items())


def _sum(name: str, rows: list[SessionFacts]) -> Sum:
    usage, saved = Usage(0, 0), Saved()
    for row in rows:
        usage += row.usage or Usage(0, 0)
        saved += row.saved or Saved()
    return Sum(
        name=name,
        sessions=len(rows),
        calls=sum(row.calls for row in rows),
        usage=usage,
        cost=sum(map(_cost, rows)),
        unpriced=sum(row.usage is not None and row.cost is None for row in rows),
        saved=saved,
        saved_money=sum(row.saved_money or 0.0 for row in rows),
    )


def _costly(row: SessionFacts) -> CostlySession:
    usage = row.usage or Usage(0, 0)
    uncached = 1 - usage.cached_tokens / usage.input_tokens if usage.input_tokens and row.calls >= _CALLS else 0.0
    return CostlySession(
        id=row.id, title=row.title, project=row.project, cost=_cost(row), calls=row.calls,
        uncached=round(uncached, 3) if uncached > _UNCACHED else 0.0,
        rereads=row.rereads, compactions=row.compactions, faults=row.faults,
    )  # fmt: skip


def _cost(row: SessionFacts) -> float:
    return row.cost or 0.0


def _day(row: SessionFacts) -> str:
    """Return the day of a session's last message, in UTC; empty if it is not known."""
    return day(row.updated if row.updated is not None else row.created)
