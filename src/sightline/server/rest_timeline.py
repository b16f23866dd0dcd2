"""Operations on the calls of a model: the context window over time, one call, two calls, where the tokens are."""

import asyncio
from typing import Any

from sightline.providers.catalog import window_of
from sightline.providers.prices import Price, price_input
from sightline.server.costs import PartCost, PromptCost
from sightline.server.rest_call_values import (
    CallDetails,
    CallDifference,
    CallQuery,
    ChangedLine,
    ChangeFacts,
    ContentLine,
    CostPart,
    Timeline,
    TimelineCall,
    TimelineQuery,
    TokensQuery,
    TokenTreeFacts,
)
from sightline.server.rest_operation import Asked, NotFound
from sightline.server.rest_values import CallFacts, CallPage, PageQuery
from sightline.session.session import Session
from sightline.values.items import Usage
from sightline.values.profiles import profile
from sightline.view import call_contents as contents
from sightline.view.call_payloads import UnknownCallNumber
from sightline.view.call_rows import BEGAN, CallRow, call_rows
from sightline.view.replay.replay import OUTPUT
from sightline.view.report.cache import PriceOf, money_of, new_prices
from sightline.view.token_tree import token_tree

_BEGINNING = 400  # characters of a text in a list
_MOST = 1000  # items of each list of a difference
LAST = "last"  # the name of the last call, in a path
_WIRES = {"anthropic": "anthropic"}  # the format of a profile's provider, where it is not that of OpenAI


# ---------------------------------------------------------------------- over time


async def get_timeline(asked: Asked) -> Timeline:
    """Return what the contexts of calls held."""
    query: TimelineQuery = asked.query
    async with asked.session() as session:

        def read() -> Timeline:
            rows, total = call_rows(session.session, query.start, query.limit, query.every)
            end = query.start + len(rows) * query.every
            calls = [timeline_call(row, asked.server.price_of) for row in rows]
            return Timeline(calls, total, end if rows and end < total else None)

        return await asyncio.to_thread(read)


async def list_calls(asked: Asked) -> CallPage:
    """Return a page of the calls, and what was decided for each."""
    query: PageQuery = asked.query
    async with asked.session() as session:
        rows, total = await asyncio.to_thread(call_rows, session.session, query.start, query.limit)
        end = query.start + len(rows)
        return CallPage(list(map(call_facts, rows)), total, end if rows and end < total else None)


def timeline_call(row: CallRow, price_of: PriceOf) -> TimelineCall:
    """Describe a call by what its context held."""
    limit, limit_from = row.limit, "budget" if row.limit is not None else ""
    if limit is None and (window := window_of(row.model)):
        limit, limit_from = window, "model"
    price, used = price_of(row.model), _used(row)
    return TimelineCall(
        number=row.number,
        reply=row.reply,
        timestamp=row.timestamp,
        model=row.model,
        composed=row.composed,
        tokens=row.tokens,
        total=row.total,
        limit=limit,
        limit_from=limit_from,
        reported=row.usage.input_tokens if row.usage is not None else None,
        cached=row.cached,
        cached_from=row.cached_from,
        relative_cost=row.relative_cost,
        cost=money_of(used, price),
        input_cost=price_input(used, price) if price is not None else None,
        cost_from="" if price is None else row.cached_from,
        output=row.output,
        usage=row.usage,
        reason=row.reason,
        marks=list(row.marks),
    )


def _used(row: CallRow) -> Usage:
    """Return what a call used: as reported, else as it should have been, with all that was new written to the cache."""
    return row.usage or Usage(row.total, row.output, row.cached, row.total - row.cached)


def call_facts(row: CallRow) -> CallFacts:
    """Describe a call by what was decided for it."""
    note = row.receipt
    given: dict[str, Any] = {"number": row.number, "reply": row.reply, "composed": row.composed, "model": row.model}
    given |= {"timestamp": row.timestamp, "usage": row.usage, "tokens": row.total, "limit": row.limit or 0}
    if note is None:
        return CallFacts(**given)
    return CallFacts(
        **given,
        seq=note.seq,
        hash=note.hash,
        reason=row.reason,
        changed=0 if row.reason == BEGAN else note.changed,
        factor=note.factor,
        breakpoints=list(note.breakpoints),
        lowered=len(note.plan.lods if note.plan is not None else note.lods),
        faults=note.faults,
        windows=list(note.windows),
        question=note.question,
    )


# ---------------------------------------------------------------------- one call, two calls


async def get_call(asked: Asked) -> CallDetails:
    """Return one call, item by item, made again from the log."""
    query: CallQuery = asked.query
    async with asked.session() as session:
        return await asyncio.to_thread(_read_call, session.session, asked.path["call"], query, asked.server.price_of)


def _read_call(session: Session, name: str, query: CallQuery, price_of: PriceOf) -> CallDetails:
    _, calls = call_rows(session, 0, 0)
    if name == LAST and not calls:
        return CallDetails(wire=_wire(session))
    number = calls if name == LAST else call_number(name)
    found, wire = _contents(session, number), _wire(session)
    row = _row(session, number)
    change = None
    if number > 1:
        change = _change(session, _contents(session, number - 1), found, row, price_of(row.model))
    end = query.start + query.limit
    costs = _costs(session, found, row, price_of(row.model))
    picked = zip(found.lines[query.start : end], costs.lines[query.start : end], strict=True)
    lines = [_line(found, line, cost, whole=query.text == "full") for line, cost in picked]
    receipt = call_facts(row)
    sent = found.payload if row.composed else None  # of others no more is read than is shown
    return CallDetails(
        call=timeline_call(row, price_of),
        calls=calls,
        receipt=receipt,
        same=sent.hash == receipt.hash if sent is not None else None,
        wire=wire,
        messages=found.messages,
        bytes=len(sent.json(wire)) if sent is not None else None,
        preface=sent.plan.preface if sent is not None else "",
        marker=sent.plan.marker if sent is not None else "",
        change=change,
        costs=_cost_parts(row, costs, price_of(row.model)),
        lines=lines,
        total=len(found.lines),
        next=end if end < len(found.lines) else None,
    )


async def compare_calls(asked: Asked) -> CallDifference:
    """Return what differs between two calls."""
    one, other = call_number(asked.path["call"]), call_number(asked.path["other"])
    async with asked.session() as session:
        return await asyncio.to_thread(_compare, session.session, one, other, asked.server.price_of)


def _compare(session: Session, one: int, other: int, price_of: PriceOf) -> CallDifference:
    a, b = _contents(session, one), _contents(session, other)
    row_a, row_b = _row(session, one), _row(session, other)
    found = contents.compare(a, b)
    changed = [
        ChangedLine(x.id, x.kind, x.tool, x.subject, x.level, y.level, x.tokens, y.tokens)
        for x, y in found.changed[:_MOST]
    ]
    return CallDifference(
        a=timeline_call(row_a, price_of),
        b=timeline_call(row_b, price_of),
        first=_change(session, a, b, row_b, price_of(row_b.model)),
        added=_some_lines(_costs(session, b, row_b, price_of(row_b.model)), b, found.added),
        removed=_some_lines(_costs(session, a, row_a, price_of(row_a.model)), a, found.removed),
        changed=changed,
        same=found.same,
        added_total=len(found.added),
        removed_total=len(found.removed),
        changed_total=len(found.changed),
    )


def call_number(text: str) -> int:
    """Return the number of a call in a path. Raises NotFound if it is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise NotFound(f"calls have numbers, beginning with 1, not {text[:40]!r}")
    return int(text)


def _contents(session: Session, number: int) -> contents.CallContents:
    try:
        return contents.CallContents(session, number)
    except UnknownCallNumber as error:
        raise NotFound(str(error)) from error


def _row(session: Session, number: int) -> CallRow:
    [row], _ = call_rows(session, number - 1, 1)
    return row


def _wire(session: Session) -> str:
    return _WIRES.get(session.settings.profile, "openai")


def _change(
    session: Session, one: contents.CallContents, other: contents.CallContents, row: CallRow, price: Price | None
) -> ChangeFacts | None:
    found = other.change_since(one, _wire(session))
    if found is None:
        return None
    writes = row.usage is None or bool(row.usage.written_tokens)
    relative, money = new_prices(profile(session.settings.profile), price, writes=writes)
    return ChangeFacts(
        block=found.block,
        byte=found.byte,
        item=found.item,
        kind=found.kind,
        reason=row.reason or (BEGAN if other.is_composed and not one.is_composed else ""),
        before=found.before,
        after=found.after,
        kept_tokens=found.kept,
        lost_tokens=found.lost,
        relative_cost=round(found.lost * relative, 1),
        cost=None if money is None else found.lost * money,
    )


def _costs(session: Session, found: contents.CallContents, row: CallRow, price: Price | None) -> PromptCost:
    sizes = [line.framed for line in found.lines]
    return PromptCost(_used(row), sizes, profile(session.settings.profile), price)


def _cost_parts(row: CallRow, costs: PromptCost, price: Price | None) -> list[CostPart]:
    relative = float(row.output * OUTPUT)
    answer = PartCost(row.output, False, relative, None if price is None else row.output * price.output / 1_000_000)
    parts = {"items": costs.logged, "unlogged": costs.unlogged, "answer": answer}
    return [CostPart(name, part.tokens, round(part.relative, 3), part.money) for name, part in parts.items()]


def _some_lines(
    costs: PromptCost, found: contents.CallContents, wanted: list[contents.ContentLine]
) -> list[ContentLine]:
    keys = {line.key for line in wanted[:_MOST]}
    every = zip(found.lines, costs.lines, strict=True)
    return [_line(found, line, cost, whole=False) for line, cost in every if line.key in keys]


def _line(found: contents.CallContents, line: contents.ContentLine, cost: PartCost, *, whole: bool) -> ContentLine:
    text = found.text(line)
    return ContentLine(
        id=line.id,
        kind=line.kind,
        level=line.level,
        tokens=line.tokens,
        full_tokens=line.full_tokens,
        why=line.why,
        cached=cost.cached,
        relative_cost=round(cost.relative, 3),
        cost=cost.money,
        tool=line.tool,
        subject=line.subject[:_BEGINNING],
        text=text if whole else text[:_BEGINNING],
        characters=len(text),
        block=line.block,
    )


# ---------------------------------------------------------------------- where the tokens are


async def get_tokens(asked: Asked) -> TokenTreeFacts:
    """Return where the tokens are, by kind, tool and file."""
    query: TokensQuery = asked.query
    groups = [group.strip() for group in query.by.split(",") if group.strip()]
    async with asked.session() as session:

        def read() -> TokenTreeFacts:
            try:
                tree = token_tree(session.session, groups, query.call)
            except UnknownCallNumber as error:
                raise NotFound(str(error)) from error
            return TokenTreeFacts(tree.total, query.call, tree.root, tree.rereads)

        return await asyncio.to_thread(read)
