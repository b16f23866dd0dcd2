"""What went through a proxy: calls, tokens, and what they cost, compared with sending everything.

Two forecasts by the same rules are compared: a provider caches what the call before had sent, and forgets it after a
pause. What it reported is told beside them, and has no part in the comparison.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from sightline.errors import BadInput
from sightline.follow.context_windows import ContextWindow
from sightline.follow.model_request import Json
from sightline.follow.rewritten import Beginnings, kept_share
from sightline.follow.turns import Prepared
from sightline.values.items import Usage
from sightline.values.profiles import Profile, call_cost, charged, profile
from sightline.view.costs import answer_cost, relative_cost
from sightline.wire import read_reply

_MOST_WINDOWS = 100  # models, those that were called last


class _Before(NamedTuple):
    """The last call of a conversation, and what only became necessary because something had been shortened."""

    number: int = 0  # of its request
    offered: int = 0
    sent: int = 0  # without windows: they are not cached
    again: int = 0  # tokens that the agent read again
    at: float = 0.0  # seconds
    kept: int = 0  # for so many its provider keeps it
    beginnings: Beginnings = ()


class Totals(Struct):
    """Sums over all calls since the start."""

    calls: int = 0
    failed: int = 0  # requests that got no answer of a model
    failure: str = ""  # why the last one of them did not
    others: int = 0  # requests that are no call of a model, such as lists of models
    reported: int = 0  # calls for which the provider said what it counted
    offered: int = 0  # tokens of what the agents sent, as we count them
    sent: int = 0
    input: int = 0  # tokens that the providers counted
    cached: int = 0
    output: int = 0
    reported_cost: float = 0.0  # in input tokens that are not cached, answers included, by what the providers said
    cost: float = 0.0  # the forecast for what was sent, in input tokens that are not cached, as we count them
    full_cost: float = 0.0  # the forecast for sending everything, likewise
    sweeps: int = 0
    read_again: int = 0  # results that the agents had before, and that were shortened since
    recalled: int = 0  # calls of the model that our tools made necessary
    unlogged: int = 0
    unlogged_why: str = ""  # of the last one of them
    windows: dict[str, ContextWindow] = {}  # that held last, by model
    clock: Callable[[], float] = time.monotonic
    _before: dict[str, _Before] = {}  # by conversation

    def add(self, prepared: Prepared, reply: Json) -> Usage | None:
        """Count one call of a model. Return what its provider counted."""
        try:
            usage = read_reply(reply).usage
        except BadInput:
            usage = None
        prices: Profile = profile(_provider_of(reply))
        self.calls += 1
        if prepared.limit.tokens:
            self.windows.pop(prepared.limit.model, None)
            self.windows[prepared.limit.model] = prepared.limit
            if len(self.windows) > _MOST_WINDOWS:
                del self.windows[next(iter(self.windows))]
        self.offered += prepared.offered
        self.sent += prepared.sent
        self.sweeps += bool(prepared.swept)
        self.read_again += prepared.read_again
        self._forecast(prepared, answer_cost(usage.output_tokens) if usage else 0, charged(prices, usage))
        if usage is not None:
            self.reported += 1
            self.input += usage.input_tokens
            self.cached += usage.cached_tokens
            self.output += usage.output_tokens
            self.reported_cost += relative_cost(usage, prices)
        return usage

    def _forecast(self, prepared: Prepared, answer: float, prices: Profile) -> None:
        """Add what a call costs by the forecast, and what it would cost if everything were sent.

        Calls that bring something back, ours and the agent's, would not be made then; nor would a window hold that the
        user has set.
        """
        before = self._before.get(prepared.name, _Before())
        new = max(prepared.offered - before.offered, 0)
        unchanged = prepared.offered - new  # of everything, as the call before sent it
        if prepared.beginnings:
            unchanged = round(prepared.offered * kept_share(before.beginnings, prepared.beginnings))
        is_extra = prepared.number == before.number or prepared.read_again > 0
        again = before.again + (new if is_extra else 0)
        now = self.clock()
        is_cached = before.number and now - before.at <= before.kept
        reused = min(before.sent, prepared.sent) if prepared.kept is None else prepared.kept
        if not prepared.composed:
            reused = min(reused, unchanged)
        self.cost += call_cost(prepared.sent, reused if is_cached else 0, prices) + answer
        if not is_extra:
            everything = prepared.offered - again
            held = min(everything, max(prepared.window, prepared.limit.most)) if prepared.window else everything
            cached = max(held - (prepared.offered - unchanged), 0) if is_cached else 0
            self.full_cost += call_cost(held, cached, prices) + answer
        self._before[prepared.name] = _Before(
            prepared.number, prepared.offered, prepared.sent - prepared.windows, again, now, prices.cache_seconds,
            prepared.beginnings,
        )  # fmt: skip

    @property
    def conversations(self) -> list[str]:
        """The sessions that the calls belong to."""
        return list(self._before)

    def fail(self, why: str) -> None:
        """Count a request that got no answer of a model."""
        self.failed += 1
        self.failure = why


def _provider_of(reply: Json) -> str:
    """Return whose prices hold for a reply."""
    return "anthropic" if reply.get("type") == "message" else "gemini" if "candidates" in reply else "openai"
