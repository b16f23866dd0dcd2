"""A list of messages that another program holds: what is remembered of each message, and digests to know it again."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import islice, takewhile
from typing import Any, NamedTuple

import msgspec

from sightline.errors import BadInput
from sightline.values.items import Blob, Call, Item, Message, Part, Result, Role, Text, plain_text
from sightline.wire import common, view

START = b""  # the digest of a list without messages


class Place(NamedTuple):
    """Where the log has a message of a list: its last item, and the branch that this was written on."""

    item: str
    branch: str


class ListPlace(NamedTuple):
    """A list that was given: the branch that has it, and its digest. A reply to it is logged there."""

    branch: str
    chain: bytes


class Seen(NamedTuple):
    """A message of the list as it was given last."""

    copy: Any  # what was read of it
    chain: bytes  # digest of the list up to it
    digest: bytes  # of the neutral messages that it is
    size: int  # how many these are
    calls: frozenset[str]
    results: frozenset[str]


def link(messages: Sequence[Any], read: Sequence[list[Message]], chain: bytes) -> list[Seen]:
    """Return what is remembered of messages that follow a list with this digest. `read`: each as neutral messages."""
    linked = []
    for original, neutral in zip(messages, read, strict=True):
        digest = digest_of(neutral)
        chain = blake2b(chain + digest, digest_size=16).digest()
        parts = [part for message in neutral for part in message.parts]
        calls = frozenset(part.id for part in parts if isinstance(part, Call))
        results = frozenset(part.id for part in parts if isinstance(part, Result))
        copy = original if isinstance(original, bytes | Message) else common.plain(view_of(original), "message")
        linked.append(Seen(copy, chain, digest, len(neutral), calls, results))
    return linked


def values_of(message: Any) -> list[Any]:
    """Return a message as it can be read: one value, or the items that are a message together. Raises BadInput."""
    if not isinstance(message, bytes):
        return message if isinstance(message, list) else [message]
    try:
        return [msgspec.json.decode(message)]
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput(f"a message is no JSON: {error}") from error


def view_of(message: Any) -> Any:
    """Return what a message is compared by."""
    if isinstance(message, list):
        return [view(item) for item in message]
    return message if isinstance(message, bytes | Message) else view(message)


def digest_of(messages: Sequence[Message]) -> bytes:
    """Return a digest of what messages say. Cache markers and ids of providers are not part of it, and neither is the
    role in which a message of the system came: logs of earlier versions do not have it."""
    said = msgspec.json.encode([(message.role, _said(message)) for message in messages])
    return blake2b(said, digest_size=16).digest()


def _said(message: Message) -> Sequence[Part]:
    if message.role is not Role.SYSTEM:
        return message.parts
    return [part for part in message.parts if not common.is_role(part)]


def match(
    messages: Sequence[Message], seen: Sequence[Seen], places: Mapping[str, int]
) -> list[tuple[int | None, list[Message]]]:
    """Return messages of a payload in groups, each with the place in the list of the message that says the same.

    None: no message of the list does. `places`: the last item of a message of the list → its place.
    """
    groups: list[tuple[int | None, list[Message]]] = []
    for message in messages:
        if not groups or groups[-1][0] is not None:
            groups.append((None, []))
        others = groups[-1][1]
        others.append(message)
        at = places.get(message.id)
        if at is None or len(others) < seen[at].size or digest_of(others[-seen[at].size :]) != seen[at].digest:
            continue
        first = len(others) - seen[at].size
        groups[-1:] = [*([(None, others[:first])] if first else []), (at, others[first:])]
    return groups


def possible_ends(seen: Sequence[Seen], read: Sequence[list[Message]], first: int) -> dict[bytes, int]:
    """Return what a branch may end with that a list goes on from, and how many of its messages are on the branch then.

    `read` are the messages from `first` on. A branch ends with a list, or with a reply to one.
    """
    ends: dict[bytes, int] = {}
    for at in range(first, len(seen)):
        chain = seen[at - 1].chain if at else START
        run = reply_run(islice(read, at - first, None))
        ends[chain] = at
        if run:
            ends[reply_key(chain, [part for own in run for one in own for part in one.parts])] = at + len(run)
    return ends


def reply_run(read: Iterable[list[Message]]) -> list[list[Message]]:
    """Return the first messages that are all of a model."""
    return list(takewhile(lambda own: own and all(one.role is Role.ASSISTANT for one in own), read))


def reply_key(chain: bytes, parts: Sequence[Part]) -> bytes:
    """Return a digest of a list and of a reply to it: its text without blanks, and the ids of its calls."""
    calls = sorted(part.id for part in parts if isinstance(part, Call))
    said = "".join("".join(plain_text((part,)).split()) for part in parts if isinstance(part, Text | Blob))
    return blake2b(chain + msgspec.json.encode((said, calls)), digest_size=16).digest()


def count_shared(seen: Sequence[Seen], count: int) -> int:
    """Return how many of the first `count` messages a branch can share: calls and results are not separated."""
    answered: set[str] = set()
    for at in range(count - 1, -1, -1):
        if seen[at].calls:
            return count if seen[at].calls <= answered else at
        if not seen[at].results:
            return count
        answered |= seen[at].results
    return count


def count_answered(items: Iterable[Item], seen: Sequence[Seen], count: int, last: str) -> int:
    """Return how many of the first `count` messages come before a call that the log answers only after them.

    A branch has a call with its result, and would have all that was said between. `items` are those of the branch that
    has these messages, `last` is the item of the last one.
    """
    waits: dict[str, int] = {}  # call without a result among these messages → its message
    for at, message in enumerate(seen[:count]):
        for call in message.results:
            waits.pop(call, None)
        waits.update(dict.fromkeys(message.calls, at))
    if not waits:
        return count
    open_calls: set[str] = set()
    late: set[str] = set()
    is_after = False
    for item in items:
        answered = {part.id for part in item.parts if isinstance(part, Result)} & open_calls
        open_calls = (open_calls - answered) | {part.id for part in item.parts if isinstance(part, Call)}
        if is_after:
            late |= answered
        is_after = is_after or item.id == last
    return min((waits[call] for call in late & waits.keys()), default=count)


def item_before(items: Iterable[Item], mine: Collection[str]) -> str | int:
    """Return the last item that was in a session before the first of these, which are a list's; 0 if there is none."""
    before: str | int = 0
    for item in items:
        if item.id in mine:
            break
        before = item.id
    return before


def held_bytes(seen: Seen) -> int:
    """Return the bytes of a message that was given as bytes; 0 for others."""
    return len(seen.copy) if isinstance(seen.copy, bytes) else 0
