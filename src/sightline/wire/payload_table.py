"""A payload as a table for people: every item that it shows, at which level of detail, and why; then its windows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sightline.wire.payload import Payload

_TITLES = ("item", "kind", "shown as", "tokens", "in full", "why")
_RIGHT = (3, 4)  # the columns of numbers
_WHY = {"swept": "shortened to fit"}  # by the plan's word; others are said as they are


def payload_table(payload: "Payload") -> str:
    """Return the table: tokens of the payload, system prompt and tools, each item, what is left out, the windows."""
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
    for line in plan.lines():
        full = f"{line.full_tokens:,}" if line.full_tokens != line.tokens else ""
        why = _WHY.get(line.why, line.why) or ("brought back" if line.kind.name == "RECALL" else "")
        yield f"#{line.id}", line.kind.name.lower(), line.lod.name.lower(), f"{line.tokens:,}", full, why
    for name in {**payload.shown_windows, **payload.spared}:
        spared = payload.spared.get(name, 0)
        level = "full" if not spared else "shortened" if name in payload.shown_windows else "hidden"
        yield name, "window", level, "", "", f"{spared:,} tokens saved to fit" if spared else "as it is now, at the end"


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        yield "  ".join(
            text.rjust(width) if at in _RIGHT else text.ljust(width) for at, (text, width) in cells
        ).rstrip()
