"""Composing for a model that reads calls, results and tools as text: what is sent fits, not only what was composed."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import msgspec
from msgspec.structs import replace as set_fields

from sightline.errors import PinnedOverflow
from sightline.log.annotations import ReceiptNote
from sightline.plan.budget import Budget
from sightline.session.session import Session
from sightline.values.items import File, Image, Message, Opaque, Part, plain_text
from sightline.values.profiles import Profile, media_tokens, profile
from sightline.wire.payload import Payload

_SPARE = 1.25  # times what the text takes beside the payload: the next messages are written out too


class Sent(NamedTuple):
    """A payload as it was composed and as the model gets it."""

    payload: Payload
    written: Payload
    limit: int  # tokens that the model may get
    reason: str  # why it does not go on from the last one; empty: it does

    @property
    def tokens(self) -> int:
        """Of what the model gets."""
        return self.written.tokens

    @property
    def extra_tokens(self) -> int:
        """Tokens that the model gets beside those of the payload; fewer than none where writing it out saves some."""
        return self.tokens - self.payload.tokens

    @property
    def reserve(self) -> int:
        """Tokens to keep free of the next payload."""
        return max(0, round(self.extra_tokens * _SPARE))


def native(session: Session, payload: Payload) -> Sent:
    """The session's newest payload, for a model that takes it as it is."""
    receipt = _receipt(session)
    return Sent(payload, payload, receipt.limit, receipt.reason)


def fitted(session: Session, budget: Budget, write: Callable[[Payload], Payload], reserve: int = 0) -> Sent:
    """A payload that is within the budget also when it is written out. `reserve`: what the last one asks for.

    Where it is not, it is composed again with less room: at most some twenty times, since each time half as much
    again is reserved.

    Raises:
        PinnedOverflow: it cannot be made small enough.
    """
    room, reason = budget.window - budget.output, ""
    while True:
        payload = session.compose(less(budget, reserve))
        written, left = write(payload), max(room - reserve, 1)
        written = replace(written, tokens=tokens_of(written, session))
        receipt = _receipt(session)
        reason = reason or receipt.reason  # also of one that was not sent: the next goes on from it
        limit = receipt.limit * room // left  # as the session would set it for the whole budget
        sent = Sent(payload, written, min(limit, room), reason)
        if sent.tokens <= sent.limit:
            return sent
        if left == 1:
            raise PinnedOverflow(["the form of answers and the list of tools"], sent.tokens - sent.limit)
        reserve = max(sent.reserve, reserve + reserve // 2, 64)


def less(budget: Budget, reserve: int) -> Budget:
    """A budget with so much less room, and never none."""
    return set_fields(budget, window=max(budget.window - reserve, budget.output + 1))


def tokens_of(payload: Payload, session: Session) -> int:
    """Tokens of a payload without tools, counted as this session counts."""
    rules = profile(session.settings.profile)
    messages = (*payload.system, *payload.body, *payload.tail)
    return rules.request_tokens + sum(_message_tokens(message, session, rules) for message in messages)


def _message_tokens(message: Message, session: Session, rules: Profile) -> int:
    return rules.message_tokens + sum(_part_tokens(part, session, rules) for part in message.parts)


def _part_tokens(part: Part, session: Session, rules: Profile) -> int:
    match part:
        case Image() | File():
            return media_tokens(part, rules)
        case Opaque():
            return session.count(msgspec.json.encode(part.raw).decode())
        case _:
            return session.count(plain_text((part,)))


def _receipt(session: Session) -> ReceiptNote:
    receipt = session.receipt
    assert receipt is not None, "composing leaves one"
    return receipt
