"""What would save most: each kind of advice with the figure that it comes from."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from sightline.plan.economies import ECONOMIES
from sightline.view.report.contents import LARGE
from sightline.view.report.values import Advice, Break, SessionReport, counted

MOST = 3  # pieces of advice
_LEAST = 0.01  # of the whole cost: what saves less is not worth a change of habits


def advice_on(sessions: Sequence[SessionReport]) -> tuple[Advice, ...]:
    """Return the things that would save most in these sessions, the greatest saving first; none if nothing would."""
    measured = counted(sessions)
    cost = sum(session.spent.cost for session in measured)
    advised = [*_all(measured, cost), *_on_sightline(sessions)] if cost else []
    worthwhile = [advice for advice in advised if advice.share >= _LEAST]
    return tuple(sorted(worthwhile, key=lambda advice: -advice.saved)[:MOST])


def _all(sessions: Sequence[SessionReport], cost: float) -> Iterator[Advice]:
    yield from _on_breaks(sessions, cost)
    yield from _on_reading(sessions, cost)
    yield from _on_large_results(sessions, cost)
    yield from _on_compactions(sessions, cost)


def _advice(kind: str, parts: Sequence[tuple[SessionReport, float]], cost: float, **facts: int | float | str) -> Advice:
    """Make a piece of advice of what it would save in each session, which is never more than was spent there.

    Money is known if all of them have a price.
    """
    parts = [(session, min(saving, session.spent.cost)) for session, saving in parts]
    saved = sum(saving for _, saving in parts)
    money = 0.0
    for session, saving in parts:
        if session.unit is None:
            return Advice(kind=kind, saved=saved, share=saved / cost, facts=facts)
        money += saving * session.unit
    return Advice(kind=kind, saved=saved, share=saved / cost, money=money, facts=facts)


def _on_breaks(sessions: Sequence[SessionReport], cost: float) -> Iterator[Advice]:
    for cause in ("pause", "model", "other"):
        parts = [(session, sum(miss.cost for miss in _breaks(session, cause))) for session in sessions]
        parts = [(session, saved) for session, saved in parts if saved]
        misses: list[Break] = [*chain.from_iterable(_breaks(session, cause) for session, _ in parts)]
        if misses:
            tokens = sum(miss.tokens for miss in misses)
            yield _advice(f"break {cause}", parts, cost, count=len(misses), tokens=tokens)


def _breaks(session: SessionReport, cause: str) -> list[Break]:
    return [miss for miss in session.breaks if miss.cause == cause]


def _on_reading(sessions: Sequence[SessionReport], cost: float) -> Iterator[Advice]:
    parts = [(session, sum(file.cost for file in session.again)) for session in sessions]
    files: Counter[str] = Counter()
    count = tokens = 0
    for session in sessions:
        for read in session.again:
            files[read.file] += read.again
            count, tokens = count + read.again, tokens + read.tokens
    if count:
        file, times = files.most_common(1)[0]
        yield _advice("read again", parts, cost, count=count, tokens=tokens, file=file, times=times)


def _on_large_results(sessions: Sequence[SessionReport], cost: float) -> Iterator[Advice]:
    parts = [(session, session.large_cost) for session in sessions]
    tools: Counter[str] = Counter()
    count = tokens = sent = 0
    for share in chain.from_iterable(session.large for session in sessions):
        tools[share.name] += share.sent
        count, tokens, sent = count + share.items, tokens + share.tokens, sent + share.sent
    if count:
        tool = tools.most_common(1)[0][0]
        yield _advice("large results", parts, cost, count=count, tokens=tokens, sent=sent, tool=tool, above=LARGE)


def _on_compactions(sessions: Sequence[SessionReport], cost: float) -> Iterator[Advice]:
    """What was processed anew because of compactions, and read again after them."""
    parts = [
        (session, sum(miss.cost for miss in _breaks(session, "compaction"))
         + sum(file.after_cost for file in session.again))
        for session in sessions if session.compactions
    ]  # fmt: skip
    if parts:
        count = sum(len(session.compactions) for session, _ in parts)
        needed = sum(loss.needed for session, _ in parts for loss in session.compactions)
        again = sum(file.after_compaction for session, _ in parts for file in session.again)
        yield _advice("compaction", parts, cost, count=count, needed=needed, again=again)


def _on_sightline(sessions: Sequence[SessionReport]) -> Iterator[Advice]:
    """Of each economy of Sightline, in the sessions that were not composed with it; only what saves most is said.

    Two forecasts of the same calls are compared: with this economy, and as it was before. That is sending everything,
    or the economy with which Sightline composed the session. What a provider reported has no part in it.
    """
    advised = [_on_economy(sessions, economy) for economy in ECONOMIES]
    best = max(advised, key=lambda advice: advice.saved)
    if best.share >= _LEAST:
        yield best


def _on_economy(sessions: Sequence[SessionReport], economy: str) -> Advice:
    saved = before = 0.0
    money: float | None = 0.0
    rereads = 0
    for session in sessions:
        if economy == session.economy:
            continue
        with_it = {forecast.economy: forecast for forecast in session.forecasts}
        if (forecast := with_it.get(economy)) is None:
            continue
        in_use = with_it.get("safe" if session.economy == "off" else session.economy)
        as_before = in_use.spent if in_use is not None else forecast.full
        saved, before = saved + as_before.cost - forecast.spent.cost, before + as_before.cost
        rereads += forecast.rereads
        if money is not None and as_before.money is not None and forecast.spent.money is not None:
            money += as_before.money - forecast.spent.money
        else:
            money = None
    return Advice(
        kind="sightline", saved=saved, share=saved / before if before else 0.0, money=money, is_forecast=True,
        facts={"economy": economy, "rereads": rereads},
    )  # fmt: skip
