"""What a provider's cache did, by the usage that it reported: what was read from it, written to it, and lost."""

from collections.abc import Iterator

from sightline.providers.prices import Price
from sightline.values.items import Usage
from sightline.values.profiles import Profile, charged, prices_for
from sightline.view.costs import PriceOf, answer_cost, money_of, new_prices, relative_cost
from sightline.view.report.talk import Talk
from sightline.view.report.values import Break, Spent, add_up

_LEAST = 1_024  # tokens that a call must have lost: providers cache in blocks
_SHARE = 0.05  # of the prompt before, likewise


def spent_by(usage: Usage, profile: Profile, price: Price | None) -> Spent:
    """Return what a call cost, in uncached input tokens and in money, its answer included."""
    prices = prices_for(usage, profile.prices)
    read, write = usage.cached_tokens * prices.read, usage.written_tokens * prices.write
    output = answer_cost(usage.output_tokens)
    return Spent(
        calls=1, input=usage.input_tokens, cached=usage.cached_tokens, written=usage.written_tokens,
        output=usage.output_tokens, cost=relative_cost(usage, profile), read_cost=read, write_cost=write,
        output_cost=output, money=money_of(usage, price),
    )  # fmt: skip


def spent_on(talk: Talk, profile: Profile, price_of: PriceOf) -> Spent:
    """Return the sum over the conversation's calls, as its provider reported them."""
    calls = (spent_by(usage, profile, price_of(model)) for _, model, usage in talk.spent())
    return add_up([Spent(money=0.0), *calls])


def has_cache_figures(talk: Talk) -> bool:
    """Whether a call is reported to have read from the cache or written to it. If none is, misses are not known."""
    return any(usage.cached_tokens or usage.written_tokens for *_, usage in talk.usages())


def breaks_of(talk: Talk, profile: Profile) -> Iterator[tuple[int, Break]]:
    """Yield each call that could not use what the call before it had left in the cache, with its answer's index.

    A call's prompt begins with that of the call before, unless a compaction came between. So what it read from the
    cache should be at least that much; what is missing was processed again. None where no call has a cache figure.
    """
    if not has_cache_figures(talk):
        return
    together = sum((usage for *_, usage in talk.usages()), Usage(0, 0))
    before: tuple[int, str, Usage] | None = None
    wrote: Usage | None = None  # the last call that did
    for number, index, model, usage in talk.usages():
        if before is not None:
            at, last_model, last = before
            lost = min(last.input_tokens, usage.input_tokens) - usage.cached_tokens
            if lost >= max(_LEAST, _SHARE * last.input_tokens) and last.input_tokens >= profile.cache_minimum:
                seconds = _seconds_between(talk, at, index)
                kept = charged(profile, wrote).cache_seconds
                more, _ = new_prices(profile, None, usage if usage.written_tokens else together)
                cause = _cause(talk, at, index, has_expired=seconds > kept, is_other_model=model != last_model)
                share = lost / last.input_tokens
                yield index, Break(number, cause, lost, lost * more, seconds, min(share, 1.0))
        before, wrote = (index, model, usage), usage if usage.written_tokens else wrote


def _seconds_between(talk: Talk, one: int, other: int) -> int:
    times = talk.recording.times
    return (times[other] - times[one]) // 1000 if times[one] and times[other] else 0


def _cause(talk: Talk, before: int, index: int, *, has_expired: bool, is_other_model: bool) -> str:
    if any(before < at <= index for cut in talk.cuts for at in (cut.at, cut.until)):
        return "compaction"
    if index in talk.swept:
        return "sweep"
    if index in talk.joined:
        return "joined"
    if is_other_model:
        return "model"
    return "pause" if has_expired else "other"
