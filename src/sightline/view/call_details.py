"""One call with everything that is told of it, and two calls beside each other."""

from collections.abc import Iterable

from msgspec.structs import replace

from sightline.providers.catalog import price_of as known_price
from sightline.providers.prices import Price
from sightline.session.session import Session
from sightline.values.items import Usage
from sightline.values.profiles import profile
from sightline.view.call_contents import BEGINNING, CallContents, compare
from sightline.view.call_rows import BEGAN, call_at, call_rows
from sightline.view.call_values import CallDetails, CallDifference, CallRow, Change, ContentLine, CostPart
from sightline.view.costs import PartCost, PriceOf, PromptCost, answer_cost, likely_usage, money_of, new_prices
from sightline.view.row_filter import EVERY, RowFilter, row_test

_MOST = 1000  # items of each list of a difference
_WIRES = {
    "anthropic": "anthropic",
    "gemini": "gemini",
}  # the format of a profile's provider, where it is not that of OpenAI


def call_details(
    session: Session,
    number: int | None,
    start: int = 0,
    limit: int = 500,
    *,
    whole: bool = False,
    price_of: PriceOf = known_price,
    wanted: RowFilter = EVERY,
    level: str = "",
) -> CallDetails:
    """Return one call, item by item, made again from the log; None: the last one, if there is any.

    `wanted`, `level`: only such items, each at its place among them; the costs are those of all.
    `whole`: with the whole text of each item, not only its beginning. Raises UnknownCallNumber.
    """
    _, calls = call_rows(session, 0, 0)
    wire = session_wire(session)
    if number is None and not calls:
        return CallDetails(wire=wire)
    number = calls if number is None else number
    contents = CallContents(session, number)
    row, receipt = call_at(session, number, price_of)
    price = price_of(row.model)
    change = None
    if number > 1:
        change = _change(session, CallContents(session, number - 1), contents, row, price)
    end = start + limit
    costs = _costs(session, contents, row, price)
    lines = [*zip(contents.lines, costs.lines, strict=True)]
    if level or wanted != EVERY:
        keys = _wanted_keys(session, contents.lines, wanted, level)
        lines = [each for each in lines if each[0].key in keys]
    sent = contents.payload if row.composed else None  # of others no more is read than is shown
    return CallDetails(
        call=row,
        calls=calls,
        receipt=receipt,
        same=sent.hash == receipt.hash if sent is not None else None,
        wire=wire,
        messages=contents.messages,
        bytes=len(sent.json(wire)) if sent is not None else None,
        preface=sent.plan.preface if sent is not None else "",
        marker=sent.plan.marker if sent is not None else "",
        change=change,
        costs=_cost_parts(row, costs, price),
        lines=[_filled(contents, line, cost, whole=whole) for line, cost in lines[start:end]],
        total=len(lines),
        next=end if end < len(lines) else None,
    )


def call_difference(session: Session, one: int, other: int, price_of: PriceOf = known_price) -> CallDifference:
    """Return what differs between two calls. Raises UnknownCallNumber."""
    a, b = CallContents(session, one), CallContents(session, other)
    (row_a, _), (row_b, _) = call_at(session, one, price_of), call_at(session, other, price_of)
    difference = compare(a, b)
    return CallDifference(
        a=row_a,
        b=row_b,
        first=_change(session, a, b, row_b, price_of(row_b.model)),
        added=_some_lines(_costs(session, b, row_b, price_of(row_b.model)), b, difference.added),
        removed=_some_lines(_costs(session, a, row_a, price_of(row_a.model)), a, difference.removed),
        changed=difference.changed[:_MOST],
        same=difference.same,
        added_total=len(difference.added),
        removed_total=len(difference.removed),
        changed_total=len(difference.changed),
    )


def _wanted_keys(session: Session, lines: Iterable[ContentLine], wanted: RowFilter, level: str) -> set[str]:
    """Return what tells the wanted lines from others. A text of the engine is no row of the log and has no tool."""
    of_rows = wanted._replace(kind="")
    with session._lock:
        fits = row_test(session, of_rows)
        return {
            line.key
            for line in lines
            if line.level == (level or line.level)
            and line.kind == (wanted.kind or line.kind)
            and (of_rows == EVERY or (bool(line.id) and fits(session.items.row(line.id))))
        }


def session_wire(session: Session) -> str:
    """Return the format of the provider whose rules the session follows."""
    return _WIRES.get(session.settings.profile, "openai")


def _change(
    session: Session, one: CallContents, other: CallContents, row: CallRow, price: Price | None
) -> Change | None:
    change = other.change_since(one, session_wire(session))
    if change is None:
        return None
    relative, money = new_prices(profile(session.settings.profile), price, row.usage)
    if row.usage is not None:  # the provider says how much of it all was not in its cache
        change = replace(change, lost_tokens=min(change.lost_tokens, row.usage.input_tokens - row.usage.cached_tokens))
    return replace(
        change,
        reason=row.reason or (BEGAN if other.is_composed and not one.is_composed else ""),
        relative_cost=round(change.lost_tokens * relative, 1),
        cost=None if money is None else change.lost_tokens * money,
    )


def _costs(session: Session, contents: CallContents, row: CallRow, price: Price | None) -> PromptCost:
    used = likely_usage(row.usage, row.total, row.output, row.cached)
    return PromptCost(used, [line.framed for line in contents.lines], profile(session.settings.profile), price)


def _cost_parts(row: CallRow, costs: PromptCost, price: Price | None) -> list[CostPart]:
    money = money_of(Usage(0, row.output), price)
    answer = PartCost(row.output, False, answer_cost(row.output), money)
    return [
        CostPart("items", *_cost(costs.logged)), CostPart("unlogged", *_cost(costs.unlogged)),
        CostPart("answer", *_cost(answer)),
    ]  # fmt: skip


def _cost(part: PartCost) -> tuple[int, float, float | None]:
    return part.tokens, round(part.relative, 3), part.money


def _some_lines(costs: PromptCost, contents: CallContents, wanted: list[ContentLine]) -> list[ContentLine]:
    keys = {line.key for line in wanted[:_MOST]}
    every = zip(contents.lines, costs.lines, strict=True)
    return [_filled(contents, line, cost, whole=False) for line, cost in every if line.key in keys]


def _filled(contents: CallContents, line: ContentLine, cost: PartCost, *, whole: bool) -> ContentLine:
    """Return a line with its text and its price."""
    text = contents.text(line)
    return replace(
        line,
        cached=cost.cached,
        relative_cost=round(cost.relative, 3),
        cost=cost.money,
        text=text if whole else text[:BEGINNING],
        characters=len(text),
    )
