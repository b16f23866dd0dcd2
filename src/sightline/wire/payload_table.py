"""A payload as a table for people: every item that it shows, at which level of detail, and why; then its windows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sightline.values.items import Kind

if TYPE_CHECKING:
    from sightline.plan.plan import Line
    from sightline.wire.payload import Payload

_TITLES = ("item", "kind", "shown as", "tokens", "in full", "why")
_RIGHT = (3, 4)  # the columns of numbers
_ADDED = {
    "notes": "constraints and notes, quoted below",
    "index": "what is left out, listed below",
    "framing": "of messages and calls",
}
_WHY = {
    "swept": "shortened to fit",
    "paged": "too large for what was free",
    "parts": "too large: the parts that the task speaks of",
}  # by the plan's word; others are said as they are


def payload_table(payload: "Payload") -> str:
    """Return the table: tokens of the payload, system prompt and tools, each item, the windows, what the engine adds.

    The column of tokens sums to those of the payload. The engine's own texts follow below the table.
    """
    plan = payload.plan
    heading = f"{payload.tokens:,} of {plan.limit:,} tokens" + (f", {plan.reason}" if plan.reason else "")
    lines = list(_aligned([_TITLES, *_rows(payload)]))
    own = [text for text in (plan.preface, plan.marker) if text]
    return "\n".join([heading, *lines, *own])


def _rows(payload: "Payload") -> Iterator[tuple[str, ...]]:
    plan = payload.plan
    fixed = " + ".join(filter(None, (
        "system" if payload.system else "", "tools" if payload.tools else "",
        "windows" if payload.shown_windows else "",
    )))  # fmt: skip
    yield "", fixed or "request", "full", f"{plan.fixed:,}", "", "in every payload"
    lines = _in_order(payload)
    for line in lines:
        full = f"{line.full_tokens:,}" if line.full_tokens != line.tokens else ""
        why = _WHY.get(line.why, line.why) or ("brought back" if line.kind.name == "RECALL" else "")
        yield f"#{line.id}", line.kind.name.lower(), line.lod.name.lower(), f"{line.tokens:,}", full, why
    for name in {**payload.shown_windows, **payload.spared}:
        spared = payload.spared.get(name, 0)
        level = "full" if not spared else "shortened" if name in payload.shown_windows else "hidden"
        yield name, "window", level, "", "", f"{spared:,} tokens saved to fit" if spared else "as it is now, at the end"
    calls, framing = sum(line.kind is Kind.CALL for line in lines), plan.profile
    framed = calls * framing.call_tokens + (len(lines) - calls) * framing.message_tokens
    index = plan.body - plan.preface_tokens - framed - sum(line.tokens for line in lines)
    added = {"notes": plan.preface_tokens, "index": index, "framing": framed}
    yield from (("", kind, "", f"{tokens:,}", "", _ADDED[kind]) for kind, tokens in added.items() if tokens)


def _in_order(payload: "Payload") -> list["Line"]:
    """Return the items in the order of the messages: a summary stands where what it covers stood."""
    places = {message.id: at for at, message in enumerate((*payload.body, *payload.tail))}
    at, placed = 0, []
    for line in payload.plan.lines():
        at = places.get(line.id.partition(".")[0], at)  # one that is part of another message follows it
        placed.append((at, line))
    return [line for _, line in sorted(placed, key=lambda place: place[0])]


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        yield "  ".join(
            text.rjust(width) if at in _RIGHT else text.ljust(width) for at, (text, width) in cells
        ).rstrip()
