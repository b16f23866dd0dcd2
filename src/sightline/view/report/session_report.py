"""The report of one session."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from sightline.compose import allowed_tokens
from sightline.errors import PinnedOverflow
from sightline.imports.conversation import Conversation, check_speaks
from sightline.providers.catalog import price_of as known_price
from sightline.providers.windows import usual_window, window_of
from sightline.values.items import Role
from sightline.values.profiles import PROFILES, Profile
from sightline.values.settings import Settings
from sightline.values.tokens import counter
from sightline.view.costs import PriceOf
from sightline.view.report.advice import advice_on
from sightline.view.report.cache import breaks_of, has_cache_figures, spent_on
from sightline.view.report.contents import pieces_of, read_again, shares_of
from sightline.view.report.forecast import ECONOMIES, Provider, everything_sent, forecasts_of, scale_of, window_for
from sightline.view.report.losses import losses_of
from sightline.view.report.prompts import Prompt, Sizes, prompts_of
from sightline.view.report.talk import Talk
from sightline.view.report.values import SessionReport, Share, Spent

_UNCOUNTED = 0.75  # of a window: what a prompt may have by our count, if its provider's, which is larger, is not known


def report_of(
    conversation: Conversation,
    *,
    profile: str = "",
    window: int = 0,
    price_of: PriceOf = known_price,
    economies: tuple[str, ...] = ECONOMIES,
    tick: Callable[[], None] = lambda: None,
) -> SessionReport:
    """Report on one session: a log that `imports.detection` finds, or `conversation_of` a session of Sightline.

    profile, window: those of the provider and of the model, if the log does not say them. economies: with which
    settings of Sightline it is replayed; none: without a forecast. tick: called while the work goes on.

    Raises:
        BadInput: nobody says anything in it, or a message or the encoding of its session cannot be read.
    """
    talk = Talk(conversation)
    if not talk.messages:
        check_speaks(conversation)
    rules = PROFILES[profile or talk.recording.profile or Settings().profile]
    return _report(talk, rules, window, price_of, economies, tick)


def _report(
    talk: Talk, profile: Profile, window: int, price_of: PriceOf, economies: tuple[str, ...], tick: Callable[[], None]
) -> SessionReport:
    count = counter(talk.encoding)
    pieces = [*pieces_of(talk, count, profile)]
    tick()
    sizes = Sizes(talk, pieces)
    scale = scale_of(talk, sizes)
    shares = shares_of(talk, pieces).with_sent(scale.factor)  # what was sent is told as the provider counts
    broken = [*breaks_of(talk, profile)]
    misses = {index: miss.share for index, miss in broken if miss.cause not in ("compaction", "sweep", "joined")}
    misses = misses or _expected_misses(talk, profile)
    models = Counter(model for _, model, _ in talk.spent()) or Counter(filter(None, [talk.recording.model]))
    prompts = prompts_of(talk, sizes)
    room = window or _window(talk, profile, models, prompts)
    provider = Provider(profile, scale, misses, price_of)
    forecasts = []
    with suppress(PinnedOverflow):  # then there is no forecast: those of one session are all of the same calls
        for forecast in forecasts_of(talk, prompts, sizes, provider, room, economies):
            forecasts.append(forecast)
            tick()
    forecasts = forecasts if len(forecasts) == len(economies) else []
    spent = spent_on(talk, profile, price_of)
    if not (is_reported := spent.input > 0):
        spent = everything_sent(talk, prompts, provider, room)
    # A log may have more than was sent: Sightline shortens old items, other programs trim, and a window has its limit.
    sent = min(1.0, spent.input / max(1, sum(kind.sent for kind in shares.kinds)))
    shares = shares.with_sent(sent)
    is_cached = not is_reported or has_cache_figures(talk)
    read = profile.prices.read if is_cached else 1.0
    write = spent.write_cost / spent.written if spent.written else 1.0 if is_reported else profile.prices.write
    again = [*read_again(talk, pieces, read, write, sent)]
    lost = [*losses_of(talk, count)]
    tick()
    times = [*filter(None, talk.recording.times)]
    units = {price.input if (price := price_of(model)) else None for model in models}
    unit = next(iter(units), None) if len(units) == 1 else None
    report = SessionReport(
        name=talk.name, title=talk.title, kind=talk.kind, models=dict(models.most_common()),
        unpriced=tuple(model for model in models if price_of(model) is None),
        begin=min(times, default=0), end=max(times, default=0), turns=_turns(talk),
        calls=sum(message.role is Role.ASSISTANT for message in talk.messages),
        economy=talk.economy, is_reported=is_reported, is_cached=is_cached, spent=spent,
        spent_elsewhere=_elsewhere(talk, spent),
        kinds=_with_unlogged(shares.kinds, spent, is_reported=is_reported), tools=shares.tools, files=shares.files,
        breaks=tuple(miss for _, miss in broken), again=tuple(again), compactions=tuple(lost), large=shares.large,
        large_cost=_sending_cost(shares.large, read, write, scale.factor), forecasts=tuple(forecasts),
        unit=unit / 1_000_000 if unit is not None else None,
    )  # fmt: skip
    return replace(report, advice=advice_on([report]))


def _window(talk: Talk, profile: Profile, models: Counter[str], prompts: Sequence[Prompt]) -> int:
    """Return the context window: the one that Sightline composed for, or that of the model; at least what was sent."""
    known = max(map(window_of, models), default=0)
    if talk.receipt is not None:
        used = window_for(allowed_tokens(talk.receipt, profile))
        return min(used, known or used)
    if known or any(True for _ in talk.usages()):
        return talk.recording.window
    return usual_window(round(max((prompt.tokens for prompt in prompts), default=0) / _UNCOUNTED))


def _expected_misses(talk: Talk, profile: Profile) -> dict[int, float]:
    """Return the answers before which the provider's cache should have expired, if no usage says more.

    All of them if usage is reported without a cache figure: a forecast must not take for a saving what caching saves.
    """
    if any(True for _ in talk.usages()):
        return {} if has_cache_figures(talk) else dict.fromkeys(talk.answers, 1.0)
    times = talk.recording.times
    pairs = zip(talk.answers, talk.answers[1:], strict=False)
    return {
        later: 1.0 for earlier, later in pairs
        if times[earlier] and times[later] - times[earlier] > profile.cache_seconds * 1000
    }  # fmt: skip


def _elsewhere(talk: Talk, spent: Spent) -> int:
    return max(talk.usage.input_tokens - spent.input, 0) if talk.usage is not None and spent.calls else 0


def _sending_cost(shares: tuple[Share, ...], read: float, write: float, factor: float) -> float:
    """Return what it costs to send these: the first time as new text, then from the cache."""
    return sum(min(share.tokens * factor, share.sent) * (write - read) + share.sent * read for share in shares)


def _turns(talk: Talk) -> int:
    by_program = talk.recording.by_program
    return sum(message.role is Role.USER and index not in by_program for index, message in enumerate(talk.messages))


def _with_unlogged(kinds: tuple[Share, ...], spent: Spent, *, is_reported: bool) -> tuple[Share, ...]:
    """Add what the provider counted and no log shows: the system prompt and the tools."""
    rest = spent.input - sum(kind.sent for kind in kinds)
    if not is_reported or rest <= 0:
        return kinds
    per_call = rest // max(spent.calls, 1)
    return (Share("unlogged", spent.calls, per_call, rest), *kinds) if per_call else kinds
