"""What would save most: each kind of advice with the figure that it comes from."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from sightline.report.contents import LARGE
from sightline.report.values import Advice, Break, SessionReport

MOST = 3  # pieces of advice
_LEAST = 0.01  # of the whole cost: what saves less is not worth a change of habits


def advice_on(sessions: Sequence[SessionReport]) -> tuple[Advice, ...]:
    """Return the things that would save most in these sessions, the greatest saving first; none if nothing would."""
    cost = sum(session.spent.cost for session in sessions)
    found = [each for each in _all(sessions, cost) if each.saved >= _LEAST * cost] if cost else []
    return tuple(sorted(found, key=lambda each: -each.saved)[:MOST])


def _all(sessions: Sequence[SessionReport], cost: float) -> Iterator[Advice]:
    yield from _on_breaks(sessions, cost)
    yield from _on_reading(sessions, cost)
    yield from _on_large_results(sessions, cost)
    yield from _on_compactions(sessions, cost)
    yield from _on_sightline(sessions, cost)


def _advice(
    kind: str, parts: Sequence[tuple[SessionReport, float]], cost: float, *, is_forecast: bool = False,
    **facts: int | float | str,
) -> Advice:  # fmt: skip
    """Make a piece of advice of what it would save in each session, which is never more than was spent there.

    Money is known if all of them have a price.
    """
    parts = [(session, min(each, session.spent.cost)) for session, each in parts]
    saved = sum(each for _, each in parts)
    money = 0.0
    for session, each in parts:
        if session.unit is None:
            return Advice(kind=kind, saved=saved, share=saved / cost, is_forecast=is_forecast, facts=facts)
        money += each * session.unit
    return Advice(kind=kind, saved=saved, share=saved / cost, money=money, is_forecast=is_forecast, facts=facts)


def _on_breaks(sessions: Sequence[SessionReport], cost: float) -> Iterator[Advice]:
    for cause in ("pause", "model", "other"):
        parts = [(session, sum(each.cost for each in _breaks(session, cause))) for session in sessions]
        parts = [(session, saved) for session, saved in parts if saved]
        found: list[Break] = [*chain.from_iterable(_breaks(session, cause) for session, _ in parts)]
        if found:
            tokens = sum(each.tokens for each in found)
            yield _advice(f"break {cause}", parts, cost, count=len(found), tokens=tokens)


def _breaks(session: SessionReport, cause: str) -> list[Break]:
    return [each for each in session.breaks if each.cause == cause]


def _on_reading(sessions: Sequence[SessionReport], cost: float) -> Iterator[Advice]:
    parts = [(session, sum(each.cost for each in session.again)) for session in sessions]
    files: Counter[str] = Counter()
    count = tokens = 0
    for session in sessions:
        for each in session.again:
            files[each.file] += each.again
            count, tokens = count + each.again, tokens + each.tokens
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
        (session, sum(each.cost for each in _breaks(session, "compaction"))
         + sum(each.after_cost for each in session.again))
        for session in sessions if session.compactions
    ]  # fmt: skip
    if parts:
        count = sum(len(session.compactions) for session, _ in parts)
        needed = sum(each.needed for session, _ in parts for each in session.compactions)
        again = sum(each.after_compaction for session, _ in parts for each in session.again)
        yield _advice("compaction", parts, cost, count=count, needed=needed, again=again)


def _on_sightline(sessions: Sequence[SessionReport], cost: float) -> Iterator[Advice]:
    """Of each economy of Sightline; only the one that saves most is said.

    It is compared with what was spent or, if that is less, with the forecast of sending everything: what the forecast
    does not explain is not saved.
    """
    best: Advice | None = None
    for economy in dict.fromkeys(each.economy for session in sessions for each in session.forecasts):
        parts = [
            (session, min(session.spent.cost, each.full.cost) - each.spent.cost)
            for session in sessions for each in session.forecasts if each.economy == economy
        ]  # fmt: skip
        rereads = sum(each.rereads for session in sessions for each in session.forecasts if each.economy == economy)
        found = _advice("sightline", parts, cost, is_forecast=True, economy=economy, rereads=rereads)
        best = found if best is None or found.saved > best.saved else best
    if best is not None and best.saved > 0:
        yield best
