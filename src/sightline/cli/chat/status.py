"""The line below the prompt: model, window, what is reused, cost, session, strategy."""

from typing import NamedTuple

from rich.cells import cell_len

from sightline.cli.phrases import Words
from sightline.cli.render import bar, cut

_BAR = 8  # columns
_SPARE = ("session", "strategy", "bar", "reused", "cost")  # what goes first where there is no room for all


class Status(NamedTuple):
    """What the line says."""

    model: str
    tokens: int | None  # of the last call; None before the first
    limit: int  # tokens that fit
    reused: int | None  # of the tokens: those that begin as the call before did; None where that is not known
    cost: float | None
    session: str
    strategy: str


def status_line(status: Status, words: Words, *, plain: bool = False, width: int = 0) -> str:
    """The line, in at most `width` columns where that is said. `plain` where only ASCII is safe."""
    parts = _parts(status, words, plain)
    line = _joined(parts, plain)
    for name in _SPARE:
        if not width or cell_len(line) <= width:
            return line
        del parts[name]
        line = _joined(parts, plain)
    return cut(line, width) if width else line


def _parts(status: Status, words: Words, plain: bool) -> dict[str, str]:
    unknown, empty = ("-", ".") if plain else ("–", "░")
    tokens, limit = status.tokens, status.limit
    share = (tokens or 0) / limit if limit else 0.0
    reused = f"{status.reused / tokens:.0%}" if status.reused is not None and tokens else unknown
    return {
        "model": status.model,
        "tokens": f"{unknown if tokens is None else short(tokens)}/{short(limit)}",
        "bar": bar(share, _BAR, plain=plain).ljust(_BAR, empty),
        "share": "" if tokens is None else f"{share:.0%}",
        "reused": words("status reused", share=reused),
        "cost": words("status cost", cost=money(status.cost, unknown)),
        "session": status.session[:8],
        "strategy": status.strategy,
    }


def _joined(parts: dict[str, str], plain: bool) -> str:
    room = " ".join(parts[name] for name in ("tokens", "bar", "share") if parts.get(name))
    rest = (parts[name] for name in ("reused", "cost", "session", "strategy") if name in parts)
    return (" | " if plain else " · ").join([parts["model"], room, *rest])


def money(cost: float | None, unknown: str = "–") -> str:
    """An amount with as many digits as say something."""
    if cost is None:
        return unknown
    return f"{cost:.4f}" if cost < 1 else f"{cost:.2f}"


def short(count: int) -> str:
    """A number of tokens in a few characters."""
    return f"{count:,}" if count < 10_000 else f"{count / 1000:.0f}k"
