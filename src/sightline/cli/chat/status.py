"""The line below the prompt, and the warning about a question that did not fit."""

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from sightline.cli.phrases import Phrases
from sightline.cli.render import bar, truncate
from sightline.compose import limit_by
from sightline.values.profiles import profile
from sightline.values.recall_tools import RECALL_TOOLS
from sightline.values.settings import strategy_name

if TYPE_CHECKING:
    from sightline.agent.agent import Agent
    from sightline.agent.events import PayloadComposed

_BAR = 8  # columns
_OPTIONAL = ("session", "strategy", "bar", "reused", "cost")  # in this order they are left out of a narrow line


class Status(NamedTuple):
    """What the line below the prompt shows."""

    model: str
    tokens: int | None  # of the last call; None before the first
    limit: int  # tokens that fit
    reused: int | None  # of these tokens: the prompt prefix shared with the call before; None if not known
    cost: float | None
    session: str
    strategy: str


def meter(agent: "Agent", sent: "PayloadComposed | None") -> Status:
    """Return what the line shows after this payload; None: this run has composed none yet."""
    session = agent.session
    last = session.receipt  # of an earlier run, or of the branch that this one began on
    rules = profile(session.settings.profile)
    return Status(
        model=agent.model.info.name,
        tokens=sent.tokens if sent else last.tokens if last else None,
        limit=sent.limit if sent else limit_by(last.factor if last else 1.0, agent.budget, rules),
        reused=sent.reused if sent else None,
        cost=agent.spent.cost,
        session=session.id,
        strategy=strategy_name(session.settings.strategy),
    )


def status_line(status: Status, words: Phrases, *, plain: bool = False, width: int = 0) -> str:
    """Return the line, in at most `width` columns unless that is 0. `plain`: only ASCII."""
    parts = _parts(status, words, plain)
    line = _joined(parts, plain)
    for name in _OPTIONAL:
        if width and cell_len(line) > width:
            del parts[name]
            line = _joined(parts, plain)
    return truncate(line, width) if width else line


def _parts(status: Status, words: Phrases, plain: bool) -> dict[str, str]:
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
    tokens = " ".join(parts[name] for name in ("tokens", "bar", "share") if parts.get(name))
    rest = (parts[name] for name in ("reused", "cost", "session", "strategy") if name in parts)
    return (" | " if plain else " · ").join([parts["model"], tokens, *rest])


def money(cost: float | None, unknown: str = "–") -> str:
    """Return an amount with as many digits as matter."""
    if cost is None:
        return unknown
    return f"{cost:.4f}" if cost < 1 else f"{cost:.2f}"


def short(count: int) -> str:
    """Return a number of tokens in a few characters."""
    return f"{count:,}" if count < 10_000 else f"{count / 1000:.0f}k"


class ShortenedQuestion(NamedTuple):
    """A question that did not fit: its tokens, and how many of them the model was shown."""

    tokens: int
    shown: int
    can_expand: bool  # the model has a tool that shows it the rest

    def sentence(self, words: Phrases) -> str:
        """Say that the question was shortened, and what helps."""
        return words("question cut more" if self.can_expand else "question cut", tokens=self.tokens, seen=self.shown)


def shortened_question(agent: "Agent") -> ShortenedQuestion | None:
    """Return how the last payload shortened the question that it was made for; None if all of it was shown."""
    payload = agent.payload
    lines = payload.plan.lines() if payload is not None else ()
    line = next((line for line in lines if line.id == agent.question), None)
    if payload is None or line is None or line.tokens >= line.full_tokens:
        return None
    tools = {tool.name for tool in payload.tools}
    return ShortenedQuestion(line.full_tokens, line.tokens, any(tool.name in tools for tool in RECALL_TOOLS))
