"""The report of one session."""

from collections import Counter
from collections.abc import Callable

from msgspec.structs import replace

from sightline.agent.models.catalog import price_of as known_price
from sightline.agent.models.catalog import window_of
from sightline.compose.receipts import allowed_tokens
from sightline.imports.conversation import Conversation, check_speaks
from sightline.report.advice import advice_on
from sightline.report.cache import PriceOf, breaks_of, has_cache_figures, spent_by, spent_on
from sightline.report.contents import pieces_of, read_again, shares_of
from sightline.report.forecast import ECONOMIES, forecast, scale_of, window_for
from sightline.report.losses import losses_of
from sightline.report.talk import Talk
from sightline.report.values import SessionReport, Share, Spent
from sightline.values.items import Role, Usage
from sightline.values.profiles import PROFILES, Profile
from sightline.values.settings import Settings
from sightline.values.tokens import counter, encoding_for

WINDOW = 200_000  # tokens of a context window that is not known


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
        BadInput: nobody says anything in it, or a message cannot be read.
    """
    talk = Talk(conversation)
    if not talk.messages:
        check_speaks(conversation)
    rules = PROFILES[profile or talk.recording.profile or Settings().profile]
    return _report(talk, rules, window, price_of, economies, tick)


def _report(
    talk: Talk, profile: Profile, window: int, price_of: PriceOf, economies: tuple[str, ...], tick: Callable[[], None]
) -> SessionReport:
    count = counter(encoding_for(talk.recording.model))
    pieces = [*pieces_of(talk, count, profile)]
    tick()
    scale = scale_of(talk, pieces)
    shares = shares_of(talk, [piece._replace(tokens=round(piece.tokens * scale.factor)) for piece in pieces])
    broken = [*breaks_of(talk, profile)]
    misses = {index: found.share for index, found in broken if found.cause not in ("compaction", "sweep", "joined")}
    misses = misses or _expected_misses(talk, profile)
    models = Counter(model for _, _, model, _ in talk.usages()) or Counter(filter(None, [talk.recording.model]))
    room = window or _window(talk, profile, models)
    forecasts = []
    for economy in economies:
        made = forecast(talk, profile, economy, room, scale, misses, price_of)
        forecasts += [made] if made is not None else []
        tick()
    spent, is_reported = _spent(talk, profile, price_of, shares.kinds)
    # A log may have more than was sent: Sightline shortens old items, other programs trim.
    sent = min(1.0, spent.input / max(1, sum(kind.sent for kind in shares.kinds))) if is_reported else 1.0
    shares = shares.with_sent(sent)
    is_cached = not is_reported or has_cache_figures(talk)
    read = profile.prices.read if is_cached else 1.0
    write = profile.prices.write if spent.written or not is_reported else 1.0
    again = [*read_again(talk, pieces, read, write, sent)]
    lost = [*losses_of(talk, count)]
    tick()
    times = [*filter(None, talk.recording.times)]
    units = {price.input if (price := price_of(model)) else None for model in models}
    unit = next(iter(units), None) if len(units) == 1 else None
    report = SessionReport(
        name=talk.name, title=talk.title, kind=talk.kind, models=dict(models.most_common()),
        unpriced=tuple(model for model in models if price_of(model) is None),
        begin=min(times, default=0), end=max(times, default=0), turns=_turns(talk), calls=len(talk.answers),
        is_reported=is_reported, is_cached=is_cached, spent=spent, spent_elsewhere=_elsewhere(talk, spent),
        kinds=_with_unlogged(shares.kinds, spent, is_reported=is_reported), tools=shares.tools, files=shares.files,
        breaks=tuple(found for _, found in broken), again=tuple(again), compactions=tuple(lost), large=shares.large,
        large_cost=_sending_cost(shares.large, read, write), forecasts=tuple(forecasts),
        unit=unit / 1_000_000 if unit is not None else None,
    )  # fmt: skip
    return replace(report, advice=advice_on([report]))


def _window(talk: Talk, profile: Profile, models: Counter[str]) -> int:
    """Return the context window: the one that Sightline composed for, or that of the model; at least what was sent."""
    known = max((window_of(model) for model in models), default=0)
    if talk.receipt is not None:
        used = window_for(allowed_tokens(talk.receipt, profile))
        return min(used, known or used)
    largest = max((usage.input_tokens for *_, usage in talk.usages()), default=0)
    return max(known or WINDOW, largest)


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


def _spent(talk: Talk, profile: Profile, price_of: PriceOf, kinds: tuple[Share, ...]) -> tuple[Spent, bool]:
    """Return what the calls used: as reported, else as it is counted; and whether it is reported.

    A forecast does not change it: the same advice would have other figures before and after somebody asks for one.
    """
    reported = spent_on(talk, profile, price_of)
    if reported.calls:
        return reported, True
    return _counted(talk, profile, price_of, kinds), False


def _counted(talk: Talk, profile: Profile, price_of: PriceOf, kinds: tuple[Share, ...]) -> Spent:
    """Return what sending everything would use, without a replay: each text is new once, and then in the cache."""
    sent, new = sum(kind.sent for kind in kinds), sum(min(kind.tokens, kind.sent) for kind in kinds)
    output = sum(kind.tokens for kind in kinds if kind.name in ("assistant", "call"))
    return spent_by(Usage(sent, output, sent - new, new), profile, price_of(talk.recording.model), len(talk.answers))


def _elsewhere(talk: Talk, spent: Spent) -> int:
    return max(talk.usage.input_tokens - spent.input, 0) if talk.usage is not None and spent.calls else 0


def _sending_cost(shares: tuple[Share, ...], read: float, write: float) -> float:
    """Return what it costs to send these: the first time as new text, then from the cache."""
    return sum(min(share.tokens, share.sent) * (write - read) + share.sent * read for share in shares)


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
