"""Composing for a model that gets calls, results and tools as text.

The text has more tokens than the payload that was composed, and it must fit the token budget too.
"""

from collections.abc import Callable

from msgspec.structs import replace

from sightline.agent.call_protocol import Sent
from sightline.errors import PinnedOverflow
from sightline.plan import Budget
from sightline.session.session import Session
from sightline.values.items import File, Image, Opaque, Part, plain_text
from sightline.values.profiles import Profile, media_tokens, opaque_tokens, profile
from sightline.wire.payload import Payload

_SPARE = 1.25  # times the extra tokens of the text, because the next messages are written as text too


def compose(session: Session, budget: Budget, write: Callable[[Payload], Payload], reserve: int = 0) -> Sent:
    """Return a payload whose text, as `write` makes it, is within the budget. `reserve`: the last one's.

    If it is not, it is composed again with more tokens kept free: at most some twenty times, because each time half as
    many again are kept free.

    Raises:
        PinnedOverflow: it cannot be made small enough.
    """
    most, reason = budget.window - budget.output, ""
    while True:
        payload = session.compose(less(budget, reserve))
        receipt = session.receipt
        assert receipt is not None, "composing leaves one"
        written, left = write(payload), max(most - reserve, 1)
        written = replace(written, tokens=tokens_of(written, session))
        reason = reason or receipt.reason  # also of a payload that was not sent, because the next continues it
        limit = receipt.limit * most // left  # as the session would set it for the whole budget
        sent = Sent(payload, written, min(limit, most), reason)
        if sent.tokens <= sent.limit:
            return sent
        if left == 1:
            raise PinnedOverflow(["the form of answers and the list of tools"], sent.tokens - sent.limit)
        reserve = max(reserve_after(sent), reserve + reserve // 2, 64)


def reserve_after(sent: Sent) -> int:
    """Return the tokens to keep free in the next payload."""
    return max(0, round(sent.extra_tokens * _SPARE))


def less(budget: Budget, reserve: int) -> Budget:
    """Return a budget with so many tokens less, but at least one."""
    return replace(budget, window=max(budget.window - reserve, budget.output + 1))


def tokens_of(payload: Payload, session: Session) -> int:
    """Count the tokens of a payload without tools, as this session counts them."""
    rules = profile(session.settings.profile)
    messages = (*payload.system, *payload.body, *payload.tail)
    parts = (_part_tokens(part, session, rules) for message in messages for part in message.parts)
    return rules.request_tokens + rules.message_tokens * len(messages) + sum(parts)


def _part_tokens(part: Part, session: Session, rules: Profile) -> int:
    match part:
        case Image() | File():
            return media_tokens(part, rules)
        case Opaque():
            return opaque_tokens(part, rules, session.count)
        case _:
            return session.count(plain_text((part,)))
