"""Corrects our token counts by what the provider reports."""

from typing import NamedTuple

from sightline.plan.budget import Budget
from sightline.values.profiles import Profile

MIN_PAYLOAD = 2000  # tokens: in a smaller payload the provider's own overhead hides how it counts
MAX_FACTOR = 3.0  # a report above this many provider tokens for one of ours is about something else


class TokenFactor(NamedTuple):
    """How many tokens the model counts for one of ours, and whether a provider has confirmed it."""

    value: float = 1.0
    known: bool = False

    def limit(self, budget: Budget, profile: Profile) -> int:
        """Return how many tokens, as we count them, this budget allows."""
        return budget.limit(self.value, 0.0 if self.known else profile.margin)


def reported_factor(reported: int, counted: int, profile: Profile) -> float:
    """Return provider tokens per token of ours: at least 1 where the vocabulary is public, at most MAX_FACTOR."""
    return min(MAX_FACTOR, max(reported / counted, 0.8 if profile.margin else 1.0))


class Calibration:
    """The token factor in force, and what was learned since.

    A higher factor takes effect at once, because the payload must fit. A lower one takes effect at a sweep only,
    because it would change what is shown.
    """

    def __init__(self, logged: float, observed: float | None) -> None:
        """`logged` is the factor of the last receipt, `observed` what its reply reported."""
        self.factor = TokenFactor(logged, known=logged != 1)
        self._observed = observed
        # The factor before the provider refused a payload as too long. Only a refusal makes a factor above MAX_FACTOR.
        self.before_refusal: TokenFactor | None = TokenFactor() if logged > MAX_FACTOR else None

    def observe(self, reported: int, payload_tokens: int, extra_tokens: int, profile: Profile) -> None:
        """Learn from what the provider counted for a payload it accepted and the extra tokens sent with it."""
        self.before_refusal = None
        if payload_tokens >= MIN_PAYLOAD:
            self._observed = reported_factor(reported, max(payload_tokens + extra_tokens, 1), profile)

    def refuse(self, reported: int | None, sent: int, window: int) -> None:
        """Learn from a payload that the provider refused as too long: it counted more than the context window."""
        self.before_refusal = self.before_refusal or self.factor
        self._observed = max(max(reported or 0, window) / max(sent, 1) * 1.02, self.factor.value * 1.1)
        self.factor = TokenFactor(self._observed, known=True)

    def adopt_observed(self, *, swept: bool) -> None:
        """Use the observed factor if it is higher, or in any case if the payload was rewritten by a sweep."""
        if self._observed is not None and (swept or self._observed > self.factor.value):
            self.factor = TokenFactor(self._observed, known=True)

    def forget_refusal(self) -> None:
        """Go back to the factor before the refusal."""
        self.factor, self._observed, self.before_refusal = self.before_refusal or TokenFactor(), None, None
