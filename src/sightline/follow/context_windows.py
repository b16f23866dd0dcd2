"""How large the context windows of a program's models are, and who says so.

A refusal says it best, but only for the account that was refused, and only for a while: a provider may have refused for
another reason than the window, and raise it later. What has passed fits, until a refusal names a smaller limit.
"""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from sightline.follow.model_request import ModelRequest
from sightline.providers.errors import ErrorBody
from sightline.providers.windows import beta_window, context_window, guessed_window, known_window, rows_of
from sightline.values.profiles import profile

V = TypeVar("V")

_KNOWN = ("server", "header", "name")  # sources that speak of this very model
LEARNED_SECONDS = 3600.0  # that a refusal counts: longer than most sessions wait, shorter than a working day
_MOST_RATIO = 2.0  # of a provider's tokens to ours: above it, it has counted something else
_LEAST_COUNTED = 1000  # tokens of a call of which such a ratio says something
_MOST_LISTED = 1000  # models of one list: OpenRouter has hundreds
_MOST_KEPT = 5000  # models and accounts
_OTHER_VOCABULARY = profile("local").margin  # where an OpenAI-compatible server has models of others
_NUMBER = re.compile(r"\d[\d,]{2,12}")
_RATE = re.compile(r"per (?:minute|hour|day)|\b[TR]P[MD]\b|rate.?limit|quota", re.IGNORECASE)
# How providers name their limit beside what they counted: the room of the answer is a number in the same sentence.
_LIMITS = tuple(
    re.compile(pattern + r"(\d[\d,]{2,12})", re.IGNORECASE)
    for pattern in (
        r"maximum (?:context|model) length (?:is|of) ",
        r"(?:>|\\u003e) ?",
        r"context (?:size|length|window|limit)(?: is| of)? \(?",
        r"tokens allowed \(?",
        r"for model with ",
    )
)


class ContextWindow(NamedTuple):
    """A context window, and whose word it is."""

    model: str
    tokens: int  # 0: nobody knows
    source: str  # "user", "refusal", "server", "header", "name", "family", or empty
    most: int = 0  # tokens that the model is known to have, where the user has set its window

    @property
    def is_own(self) -> bool:
        """Whether the user has set it, so that it holds although the model has more."""
        return self.source == "user"


class _Learned(NamedTuple):
    tokens: int
    until: float


_Key = tuple[str, str]


class ContextWindows(Struct):
    """What is known of the context windows of models. Keys are models and accounts: limits differ by account."""

    clock: Callable[[], float] = time.monotonic
    _refused: dict[_Key, _Learned] = {}
    _served: dict[_Key, int] = {}
    _passed: dict[_Key, int] = {}  # the most tokens of a call that was answered
    _ratios: dict[_Key, float] = {}  # the provider's tokens for one of ours, in the last of these calls

    def find(self, request: ModelRequest) -> ContextWindow:
        """Return the context window of a request's model."""
        model, key = request.model, _key(request)
        if (learned := self._refused.get(key)) is not None and learned.until <= self.clock():
            self._refused.pop(key, None)
            learned = None
        served = self._served.get((model, request.sender.account)) or self._served.get((model, ""), 0)
        sources = (
            ("refusal", learned.tokens if learned else 0),
            ("server", served),
            ("header", beta_window(model, request.sender.beta)),
            ("name", known_window(model)),
            ("family", guessed_window(model)),
        )
        source, tokens = next(((source, tokens) for source, tokens in sources if tokens), ("", 0))
        if source == "server" and (asked := beta_window(model, request.sender.beta)) > tokens:
            source, tokens = "header", asked
        return ContextWindow(model, tokens, source)

    def set_to(self, tokens: int, request: ModelRequest) -> ContextWindow:
        """Return the context window that the user has set for a request's model."""
        own = self.find(request)
        return ContextWindow(request.model, tokens, "user", max(own.tokens, tokens) if own.source in _KNOWN else tokens)

    def refuse(self, request: ModelRequest, told: str, counted: int, sent: int = 0) -> None:
        """Learn from a refusal that names a token limit. What was answered fits, unless the server now counts less.

        One that only says that the window is full, as OpenAI's Responses do, is taken as a little less than was `sent`.
        """
        key, limit = _key(request), named_limit(told, counted)
        likely = counted or round(sent * self.ratio(request))
        is_smaller = limit < likely or likely <= self._passed.get(key, 0)
        if limit and is_smaller and speaks_of_window(told):
            self._passed.pop(key, None)  # a server was started anew with a smaller window, or a gateway has another one
        if not limit and speaks_of_window(told):
            limit = max(likely * 9 // 10, self._passed.get(key, 0) + 1, 1000)
        if limit > self._passed.get(key, 0):
            _keep(self._refused, key, _Learned(limit, self.clock() + LEARNED_SECONDS))

    def answer(self, request: ModelRequest, counted: int, sent: int) -> None:
        """Note that a request was answered: what its provider counted, and what we did."""
        key = _key(request)
        if counted > _MOST_RATIO * max(sent, _LEAST_COUNTED):
            return  # the sum over all the steps of its own tools, say: no call was as long
        _keep(self._passed, key, max(counted, self._passed.get(key, 0)))
        if sent >= _LEAST_COUNTED:
            _keep(self._ratios, key, max(1.0, counted / sent))
        if (learned := self._refused.get(key)) is not None and counted > learned.tokens:
            self._refused.pop(key, None)

    def serve(self, models: Any, account: str) -> None:
        """Note what a provider's list of models, or its description of one, says."""
        rows = rows_of(models) or rows_of(models, "models") or [models]
        for row in [row for row in rows[:_MOST_LISTED] if isinstance(row, Mapping)]:
            name = row.get("id") or str(row.get("name") or "").removeprefix("models/")  # Google's have a name only
            if isinstance(name, str) and name and (window := context_window(row)):
                _keep(self._served, (name, account), window)

    def tell(self, model: str, tokens: int) -> None:
        """Note what somebody in this program knows."""
        self._served.setdefault((model, ""), tokens)

    def ratio(self, request: ModelRequest) -> float:
        """Return how many tokens the provider counts for one of ours, by its last answer; 1 until there is one."""
        return self._ratios.get(_key(request), 1.0)


def kept_margin(request: ModelRequest) -> float:
    """Return the share by which the provider may count more than we do: none, where the vocabulary is public."""
    if request.format.provider == "openai" and not request.is_for_openai:
        return _OTHER_VOCABULARY
    return profile(request.format.provider).margin


def named_limit(told: str, counted: int) -> int:
    """Return the limit in tokens that a refusal names; 0: it names none, or one for a time and not for a request."""
    if _RATE.search(told):
        return 0
    named = next((limit_text for pattern in _LIMITS if (limit_text := pattern.search(told))), None)
    if named is not None and (limit := int(named[1].replace(",", ""))) >= 1000:
        return limit
    return largest_below(told, counted)


def speaks_of_window(told: str) -> bool:
    """Whether a refusal is for the context window: not for bytes, and not for the tokens of a minute or a day."""
    return not _RATE.search(told) and ErrorBody(told).is_overflow(400)


def largest_below(told: str, tokens: int) -> int:
    """Return the largest number in a text that may be a limit below so many tokens; 0: there is none."""
    numbers = [int(digits.replace(",", "")) for digits in _NUMBER.findall(told)]
    return max((number for number in numbers if 1000 <= number < tokens), default=0)


def _key(request: ModelRequest) -> _Key:
    is_long = beta_window(request.model, request.sender.beta) > 0  # by a header: the same model has two windows
    return request.model + "\0long" * is_long, request.sender.account


def _keep(values: dict[_Key, V], key: _Key, value: V) -> None:
    """Keep a value among the last ones."""
    values.pop(key, None)
    values[key] = value
    while len(values) > _MOST_KEPT:
        del values[next(iter(values))]
