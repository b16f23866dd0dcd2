"""The last requests of the agents, to take the next one of each apart without reading again what it repeats.

An agent sends its whole history at each call. What comes first is mostly the same, byte for byte. Equal bytes are only
a quick way: whether a message is known is decided by what it says (`History`).
"""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from sightline.follow.model_request import (
    Format,
    ModelRequest,
    Pieces,
    has_media,
    is_answer,
    is_head,
    sender_of,
    session_of,
    split,
)
from sightline.follow.turns import REMEMBERED

_MOST = 256
_COPIES = 2  # of a request: its body, and its messages one by one
_FRAME = 16  # tokens around a message and its parts, at most, besides its own text


class _Recent(NamedTuple):
    request: ModelRequest
    pieces: Pieces
    ends: Sequence[int]  # where each of its messages ends in its body
    tokens: int | None  # as counted; None: not known, or it is not sent as it came


class RecentRequests:
    """Remembers the last request of each conversation. Used by one thread."""

    def __init__(self, most_bytes: int = REMEMBERED) -> None:
        self._recent: OrderedDict[str, _Recent] = OrderedDict()  # by the conversation's name
        self._bytes, self._most_bytes = 0, most_bytes

    def match(self, format: Format, body: bytes, headers: Mapping[str, str]) -> ModelRequest | None:  # noqa: A002
        """Take a request apart that goes on from one of the last ones; None: it is not known here.

        Raises:
            msgspec.DecodeError: what is new in it is no JSON.
        """
        closest, count = None, 0
        for recent in self._recent.values():
            request = recent.request
            opening = recent.ends[request.opening - 1]
            if request.format == format and body.startswith(memoryview(request.body)[:opening]):
                same = _count_same(recent, body)
                if same > count:
                    closest, count = recent, same
        return _go_on(closest, body, count, headers) if closest is not None else None

    def keep(self, request: ModelRequest, tokens: int | None) -> None:
        """Remember a request. `tokens`: how many it has, if it was sent as it came."""
        self.forget(request.name)
        if (pieces := request.pieces) is None:
            return
        lengths = (len(message) + len(pieces.separator) for message in request.listed)
        ends = [end - len(pieces.separator) for end in accumulate(lengths, initial=len(pieces.before))][1:]
        self._recent[request.name] = _Recent(request, pieces, ends, tokens)
        self._bytes += _COPIES * len(request.body)
        while self._recent and (len(self._recent) > _MOST or self._bytes > self._most_bytes):
            self.forget(next(iter(self._recent)))

    def forget(self, name: str) -> None:
        """Forget the last request of a conversation."""
        if (recent := self._recent.pop(name, None)) is not None:
            self._bytes -= _COPIES * len(recent.request.body)


def _count_same(recent: _Recent, body: bytes) -> int:
    """Count the first messages that are the same in this body, byte for byte. Those of the opening are."""
    was, ends = memoryview(recent.request.body), recent.ends
    low, step = len(ends) - 1, 1
    while not body.startswith(was[: ends[low]]):  # mostly one of the last
        low, step = max(0, low - step), 2 * step
    high = min(len(ends), low + step)
    return bisect_left(range(low + 1, high), True, key=lambda at: not body.startswith(was[: ends[at]])) + low + 1


def _go_on(recent: _Recent, body: bytes, count: int, headers: Mapping[str, str]) -> ModelRequest | None:
    before, pieces, end = recent.request, recent.pieces, recent.ends[count - 1]
    separator = body[end : body.find(b"{", end)]
    new: list[bytes] = []
    if separator.strip() == b",":
        start = b'{"%s":[' % before.format.messages.encode()
        new, around = split(before.format, start + body[end + len(separator) :])
        if around is None or around.before != start or (len(new) > 1 and around.separator != separator):
            return None
        after, fields_after = around.after, around.fields_after
    else:
        separator, after, fields_after = pieces.separator, body[end:], pieces.fields_after
    if count > 1 and separator != pieces.separator:
        return None
    is_other = new and (not is_answer(new[0]) or is_head(before.listed[before.first]))
    if count == before.opening and is_other:  # it has another opening, so another name
        return None
    is_same_after = after == pieces.after
    if is_same_after:
        fields_after = pieces.fields_after
    elif not new:
        return None
    around = Pieces(pieces.before, separator, after, pieces.fields_before, fields_after)
    fields = before.fields if is_same_after else around.fields
    if session_of(fields, headers) != before.session:
        return None
    size = sum(len(message) + _FRAME for message in new) + (0 if is_same_after else len(after))
    most = None if recent.tokens is None or any(map(has_media, new)) else recent.tokens + size
    listed = [*before.listed[:count], *new]
    return before._replace(
        body=body, fields=fields, listed=listed, pieces=around, most_tokens=most, sender=sender_of(headers)
    )
