"""What the next payload of a session would hold, by kind and item by item: for whoever shows it."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sightline.compose import last_written
from sightline.plan import Budget, Plan, own_state, stage_of
from sightline.plan.strategies.entities import Entities
from sightline.plan.strategies.focus import Focus, cold_trigger, trigger
from sightline.session.items import ItemInfo
from sightline.session.session import Session
from sightline.values.items import Kind, Lod, Role
from sightline.values.profiles import charged, profile
from sightline.values.settings import Settings
from sightline.view.call_contents import BEGINNING
from sightline.view.call_values import Line
from sightline.view.model_calls import call_index
from sightline.view.tool_calls import subject_at, tool_calls
from sightline.wire.payload import Payload

KINDS = (
    "system", "tools", "request", "user", "note", "assistant", "thinking", "call", "result", "summary", "recall",
    "preface", "index", "window",
)  # fmt: skip


_MOST_HIDDEN = 1000  # items that are not shown and listed all the same


class ContextReduction(Struct, frozen=True):
    """Something that was done, or could be, to make a payload fit."""

    kind: str
    removed: tuple[str, ...]  # the items that it shortened or removed
    tokens: int  # that it saved, less those of what replaces them
    off: bool  # the session's settings do not allow it


class CoveringSummary(Struct, frozen=True):
    """A compaction whose summary is shown."""

    boundary: int
    first: str
    last: str
    messages: int
    tokens: int
    summaries: tuple[str, ...]
    state: str


class Context(Struct, frozen=True, kw_only=True):
    """What a payload would hold."""

    window: int
    output: int
    limit: int
    tokens: int
    free: int
    factor: float  # tokens that the model counts for one of ours
    reason: str  # of the sweep that it would be; empty: none
    strategy: str
    next_sweep: dict[str, int]
    kinds: dict[str, dict[str, int]]
    levels: dict[str, int]
    left_out: dict[str, int]  # in no form, not even in a summary
    reductions: list[ContextReduction]
    marker: str
    state: Any  # of the strategy entities
    unread: int  # messages of the user that are not in it yet
    summaries: list[CoveringSummary]
    faults: dict[str, int]  # results that were fetched again after they had been shortened
    lines: list[Line]
    hidden: list[Line] = []  # the newest that are not shown, if they were asked for


def context_facts(
    session: Session,
    budget: Budget,
    by: str = "order",
    payload: Payload | None = None,
    *,
    hidden: bool = False,
    whole: Session | None = None,
) -> Context:
    """Return what a session's next payload would hold, or this one, its items by "size" or in "order".

    `hidden`: list what is not shown, too. `whole`: the session of which this one is a beginning, if that is known: it
    has read its calls already.

    Raises:
        PinnedOverflow: what may not be shortened is larger than the budget.
    """
    last, is_next = session.receipt, payload is None
    payload = session.preview(budget) if payload is None else payload
    if (
        is_next and last is not None and not session.windows.apps
    ):  # windows as they were sent, so their savings are those of then
        payload = replace(payload, spared=last.spared)
    plan, reductions, settings = payload.plan, payload.reductions(), session.settings
    keeps_state = stage_of(session.strategy, Entities) is not None
    infos = {item.id: item for item in session.items.table()}
    lines = sorted(_lines(whole or session, plan), key=lambda line: -line.tokens if by == "size" else 0)
    levels = Counter(line.level for line in lines)
    shown_ids = {line.id for line in lines}
    gone = [infos[item_id] for cut in reductions if cut.kind in ("summaries", "trim") for item_id in cut.removed]
    return Context(
        window=budget.window,
        output=budget.output,
        limit=plan.limit,
        tokens=plan.tokens,
        free=plan.limit - plan.tokens,
        factor=last.factor if last else 1.0,
        reason=plan.reason,
        strategy=session.strategy.name,
        next_sweep=_next_sweep(settings, budget, plan) | {"cold_after": _cold_after(session)},
        kinds=_by_kind(session, payload),
        levels={level: levels[level] for level in ("full", "summary", "gist")},
        left_out={
            "messages": sum(item.kind is not Kind.CALL for item in gone),
            "tokens": sum(item.full for item in gone),
        },
        reductions=[ContextReduction(*cut, off=cut.kind not in settings.reductions) for cut in reductions],
        marker=plan.marker,
        state=own_state(session.strategy, Entities.name, session.state) if keeps_state else None,
        unread=sum(item.kind is Kind.USER for item in session.unread) if keeps_state else 0,
        summaries=[
            CoveringSummary(*(getattr(summary, name) for name in CoveringSummary.__struct_fields__))
            for summary in session.summaries
            if not shown_ids.isdisjoint(summary.summaries)
        ],
        faults={
            "results": len(session.items.faults),
            "tokens": sum(infos[item_id].full for item_id in session.items.faults),
        },
        lines=lines,
        hidden=_hidden(infos.values(), shown_ids) if hidden else [],
    )


def without_results(session: Session, context: Context, rows: Collection[int]) -> Context:
    """Return what a payload held if these results of it were taken out before it was sent."""
    with session._lock:
        ledger, ids = call_index(session).ledger, {session.log.timeline.id(row) for row in rows}
        tokens = sum(size for row in rows for _, size in ledger.parts(row))
    kinds = {kind: dict(counts) for kind, counts in context.kinds.items()}
    if rows:
        kinds["result"]["tokens"] -= tokens
        kinds["result"]["items"] -= len(rows)
    return replace(
        context, lines=[line for line in context.lines if line.id not in ids], kinds=kinds,
        tokens=context.tokens - tokens, free=context.free + tokens,
        levels=context.levels | {"full": context.levels["full"] - len(rows)},
        left_out={"messages": len(rows), "tokens": tokens},
    )  # fmt: skip


def _lines(session: Session, plan: Plan) -> Iterator[Line]:
    with session._lock:
        timeline, calls = session.log.timeline, tool_calls(session)
        for line in plan.lines():
            row = timeline.row(line.id)
            tool, subject = ("", "") if row is None else (calls.name(row), subject_at(timeline, row)[:BEGINNING])
            kind, level = line.kind.name.lower(), line.lod.name.lower()
            yield Line(line.id, kind, level, line.tokens, line.full_tokens, line.why, tool, subject)


def _hidden(infos: Iterable[ItemInfo], shown_ids: Collection[str]) -> list[Line]:
    """Return the newest items that are not shown."""
    hidden = [item for item in infos if item.id not in shown_ids][-_MOST_HIDDEN:]
    return [Line(item.id, item.kind.name.lower(), "hidden", 0, item.full) for item in hidden]


def _next_sweep(settings: Settings, budget: Budget, plan: Plan) -> dict[str, int]:
    """Return above how many tokens the next sweep is forced, and above how many if the provider's cache has expired.

    Before the first sweep the cache makes no difference, and it never does with the economy "off".
    """
    if settings.strategy != Focus.name and settings.strategy[-1:] != (Focus.name,):
        return {"above": plan.limit, "when_cold_above": plan.limit}
    forced = trigger(budget, plan.limit, plan.fixed + plan.base if plan.base else 0, plan.fixed)
    config = settings.config if settings.strategy == Focus.name else settings.config.get(Focus.name, {})
    sweeps_cold = plan.base and config.get("economy") != "off"
    cold = cold_trigger(plan.limit, plan.fixed) if sweeps_cold else forced
    return {"above": int(forced), "when_cold_above": int(cold)}


def _cold_after(session: Session) -> int:
    """Return after how many seconds without a call the provider's cache has expired, by what it charged last."""
    return charged(profile(session.settings.profile), last_written(session.log)).cache_seconds


def _by_kind(session: Session, payload: Payload) -> dict[str, dict[str, int]]:
    """Count the tokens and the items of a payload by kind, with what a provider adds to each message.

    The kinds add up to the payload. Of the engine's own texts, preface and index, the lines are counted as items.
    """
    framing, plan = profile(session.settings.profile).message_tokens, payload.plan
    windows = payload.shown_windows.values()
    tokens = Counter(window=sum(session.count(text) + framing for text in windows))
    items = Counter(window=len(windows), tools=len(payload.tools))
    listed = {line.id: line.lod for line in plan.lines()}
    heads = (message for message in (*payload.system, *payload.body) if message.role is Role.SYSTEM)
    head = {message.id: Lod.FULL for message in heads if message.id not in listed}
    rest = plan.fixed - tokens["window"]
    with session._lock:
        ledger = call_index(session).ledger
        for item_id, lod in (head | listed).items():
            parts = ledger.parts(session.items.row(item_id), lod)
            tokens.update(dict(parts))
            items[parts[-1][0]] += 1
            rest -= sum(size for _, size in parts) if item_id in head else 0
    tokens["tools" if payload.tools else "request"] = rest  # with what a provider adds to a request
    for kind, text in (("preface", plan.preface), ("index", plan.marker)):
        tokens[kind], items[kind] = session.count(text) + framing if text else 0, len(text.splitlines())
    return {kind: {"tokens": tokens[kind], "items": items[kind]} for kind in KINDS if tokens[kind]}
