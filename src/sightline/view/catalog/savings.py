"""What shortening has saved in a session, counted from its log without opening it: two forecasts of the same calls.

One is of the prompts that Sightline composed, the other of sending everything that was said until then, never more than
the model's context window holds. Both go by the same rule: a provider caches what the call before had sent, and forgets
it after a pause. What it reported has no part in it. Calls that only bring something back would not be made if
everything were sent.
"""

from collections.abc import Mapping
from functools import reduce
from typing import NamedTuple

from msgspec import Struct

from sightline.providers.catalog import price_of as known_price
from sightline.providers.windows import window_of
from sightline.values.clock import seconds_between
from sightline.values.profiles import Profile, call_cost
from sightline.view.costs import PriceOf, kept_tokens

_MILLION = 1_000_000


class Saved(Struct, frozen=True):
    """Calls that Sightline composed: their prompts, and what they would have been if everything had been sent.

    Costs are in uncached input tokens.
    """

    calls: int = 0
    tokens: int = 0
    full_tokens: int = 0
    cost: float = 0.0
    full_cost: float = 0.0

    def __add__(self, other: "Saved") -> "Saved":
        return Saved(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))

    @property
    def share(self) -> float:
        """Which part of the cost of sending everything was saved; below 0: it cost more."""
        return 1 - self.cost / self.full_cost if self.full_cost else 0.0


class SentPrompt(Struct):
    """What a receipt says of a prompt: the little that is read of so many."""

    tokens: int = 0
    changed: int | None = None
    kept: int | None = None
    faults: list[str] = []


class _Before(NamedTuple):
    """The call before."""

    said: int = 0  # tokens
    sent: int = 0
    at: str = ""
    kept: int = 0  # seconds for which the provider keeps it


class SavingsCount:
    """Counts the calls of a session in the order of its log."""

    def __init__(self) -> None:
        self.saved: dict[str, Saved] = {}  # by model
        self.head = self._tools = 0  # tokens of the system prompt, and of the tools
        self._before = _Before()
        self._left = self._again = 0  # tokens: that an agent's own compaction left out; that were said a second time
        self._prompt: SentPrompt | None = None  # composed, and not answered yet
        self._brings_back = False  # the answer before only asked for what had been shortened
        self.is_whole = True  # False: a branch was begun, so that not all that was said is in a prompt

    def compose(self, prompt: SentPrompt) -> None:
        """Count a prompt as soon as its answer comes."""
        self._prompt = prompt

    def use_tools(self, tokens: int) -> None:
        """Note how large the tools are from here on."""
        self._tools = tokens

    def begin_list(self, said: int) -> None:
        """Note that an agent has begun a new list with a summary of its own: what was said so far is left out."""
        self._left, self._again = said, 0

    def answer(self, model: str, said: int, when: str, profile: Profile, *, brings_back: bool) -> None:
        """Count a call by its answer. `said`: tokens of the log so far. `brings_back`: it only calls our tools."""
        said = max(said - self._left, 0) + self._tools + profile.request_tokens
        before, prompt = self._before, self._prompt
        sent = prompt.tokens if prompt is not None else said
        if prompt is not None and self.is_whole:
            is_warm = bool(before.at) and seconds_between(before.at, when) <= before.kept
            new = max(said - before.said, 0)
            is_extra = self._brings_back or bool(prompt.faults)
            self._again += new if is_extra else 0
            kept = kept_tokens(prompt, before.sent, self.head + self._tools)
            cost = call_cost(sent, min(kept, sent) if is_warm else 0, profile)
            call = Saved(1, sent, 0, cost, 0.0)
            if not is_extra:
                held = min(said - self._again, window_of(model) or said)
                call += Saved(0, 0, held, 0.0, call_cost(held, max(held - new, 0) if is_warm else 0, profile))
            self.saved[model] = self.saved.get(model, Saved()) + call
        self._before = _Before(said, sent, when, profile.cache_seconds)
        self._prompt, self._brings_back = None, brings_back


def total(saved: Mapping[str, Saved]) -> Saved:
    """Return the sum over all models."""
    return reduce(Saved.__add__, saved.values(), Saved())


def money_saved(saved: Mapping[str, Saved], price_of: PriceOf = known_price) -> float | None:
    """Return what was saved in dollars; None if nothing was composed, or the price of a model is not known."""
    money = 0.0
    for model, calls in saved.items():
        if (price := price_of(model)) is None:
            return None
        money += (calls.full_cost - calls.cost) * price.input / _MILLION
    return money if saved else None
