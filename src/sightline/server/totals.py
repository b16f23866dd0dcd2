"""What went through a proxy: calls, tokens, and what they cost, compared with sending everything."""

from msgspec import Struct

from sightline.errors import BadInput
from sightline.server.model_request import Json
from sightline.server.turns import Prepared
from sightline.values.items import Usage
from sightline.values.profiles import Profile, call_cost, profile
from sightline.wire import read_reply


class Totals(Struct):
    """Sums over all calls since the start."""

    calls: int = 0
    failed: int = 0  # requests that got no answer of a model
    failure: str = ""  # why the last one of them did not
    offered: int = 0  # tokens of what the agents sent, as we count them
    sent: int = 0
    input: int = 0  # tokens that the providers counted
    cached: int = 0
    output: int = 0
    cost: float = 0.0  # of the input by what the providers said, in tokens that are not cached
    forecast_cost: float = 0.0  # of the same input, if a provider caches what the call before had sent
    full_cost: float = 0.0  # of what the agents sent, by the same forecast
    sweeps: int = 0
    read_again: int = 0  # results that the agents had before, and that were shortened since
    recalled: int = 0  # calls of the model that our tools made necessary
    unlogged: int = 0
    _before: dict[str, tuple[int, int]] = {}  # conversation → tokens of its last request: offered, sent

    def add(self, prepared: Prepared, reply: Json) -> Usage | None:
        """Count one call of a model. Return what its provider counted."""
        try:
            usage = read_reply(reply).usage
        except BadInput:
            usage = None
        prices: Profile = profile("anthropic" if reply.get("type") == "message" else "openai")
        offered, sent = self._before.get(prepared.name, (0, 0))
        self._before[prepared.name] = prepared.offered, prepared.sent
        self.calls += 1
        self.offered += prepared.offered
        self.sent += prepared.sent
        self.sweeps += bool(prepared.swept)
        self.read_again += prepared.read_again
        # The provider counts so many tokens for one of ours.
        scale = usage.input_tokens / prepared.sent if usage and usage.input_tokens and prepared.sent else 1.0
        self.full_cost += scale * call_cost(prepared.offered, min(offered, prepared.offered), prices)
        reused = 0 if prepared.swept else min(sent, prepared.sent)
        self.forecast_cost += scale * call_cost(prepared.sent, reused, prices)
        if usage is not None:
            self.input += usage.input_tokens
            self.cached += usage.cached_tokens
            self.output += usage.output_tokens
            self.cost += call_cost(usage.input_tokens, usage.cached_tokens, prices)
        return usage

    def fail(self, why: str) -> None:
        """Count a request that got no answer of a model."""
        self.failed += 1
        self.failure = why

    @property
    def input_cost(self) -> float:
        """What the input cost: by the providers if they say what was cached, else by the forecast."""
        return self.cost if self.cached else self.forecast_cost
