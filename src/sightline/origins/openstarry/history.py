"""A caller's history, compared with the messages of it that a session holds already."""

from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import NamedTuple

from sightline import wire
from sightline.errors import BadInput
from sightline.origins.openstarry.interface import ChatMessage


class Match(NamedTuple):
    """What a history still has of the messages that were taken: it begins with `lead` and then `shared` of them."""

    lead: int  # system messages that both begin with
    cleared: int  # messages after these that the history has no more
    shared: int  # messages after these that both have


def match(taken: Sequence[ChatMessage], history: Sequence[ChatMessage]) -> Match:
    """Find the messages that the caller cleared after the leading system messages, so that most of the rest is shared.

    If several numbers of cleared messages are as good, the one after which all that was taken is there is meant.
    """
    lead = _common([*takewhile(lambda message: message.get("role") == "system", taken)], history)
    rest, given = taken[lead:], history[lead:]

    def quality(cleared: int) -> tuple[int, bool, int]:
        shared = _common(rest[cleared:], given)
        return shared, cleared + shared == len(rest), -cleared

    shared, _, cleared = max(map(quality, range(len(rest) + 1)))
    return Match(lead, -cleared, shared)


def _common(one: Sequence[ChatMessage], other: Sequence[ChatMessage]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def last_items(messages: Sequence[ChatMessage], ids: Sequence[str]) -> list[str]:
    """Return for each message the id of the last item made of it; empty where several messages made one item."""
    try:
        ends = list(accumulate(len(wire.read_messages([message])) for message in messages))
    except BadInput:  # it can be read only beside its neighbours
        ends = []
    if not ends or ends[-1] != len(ids):
        return [*([""] * (len(messages) - 1)), *ids[-1:]]
    return [ids[end - 1] for end in ends]
