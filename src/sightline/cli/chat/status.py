"""The line below the prompt: model, window, cache, cost, session, strategy."""

from typing import NamedTuple

from sightline.agent.events import Composed
from sightline.cli.show import bar
from sightline.cli.words import Words

_BAR = 8  # columns


class Status(NamedTuple):
    """What the line says."""

    model: str
    composed: Composed | None  # the last call's
    window: int  # tokens that fit, where nothing has been sent yet
    cost: float | None
    session: str
    strategy: str


def status_line(status: Status, words: Words, *, plain: bool = False) -> str:
    """The line. `plain` where only ASCII is safe."""
    between, unknown = (" | ", "-") if plain else (" · ", "–")
    tokens, limit = (status.composed.tokens, status.composed.limit) if status.composed else (0, status.window)
    share = tokens / limit if limit else 0.0
    room = bar(share, _BAR, plain=plain).ljust(_BAR, "." if plain else "░")
    cached = f"{status.composed.reused / tokens:.0%}" if status.composed and tokens else unknown
    return between.join(
        [
            status.model,
            f"{short(tokens)}/{short(limit)} {room} {share:.0%}",
            words("status cache", share=cached),
            words("status cost", cost=money(status.cost, unknown)),
            status.session[:8],
            status.strategy,
        ]
    )


def money(cost: float | None, unknown: str = "–") -> str:
    """An amount with as many digits as say something."""
    if cost is None:
        return unknown
    return f"{cost:.4f}" if cost < 1 else f"{cost:.2f}"


def short(count: int) -> str:
    """A number of tokens in a few characters."""
    return f"{count:,}" if count < 10_000 else f"{count / 1000:.0f}k"
