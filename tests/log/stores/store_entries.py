"""Entries for the stores' tests: small, numbered, and of both sorts."""

from collections.abc import Callable, Sequence
from itertools import count

from msgspec import Raw

from sightline.log.entries import Body, Entry
from sightline.log.stores import Placement, Store

_numbers = count(1)


def said(text: str = "hello") -> Entry:
    """A conversation entry."""
    return Entry(
        uuid=f"u{next(_numbers):08d}",
        parent_uuid=None,
        session_id="s",
        timestamp="2026-01-01T00:00:00.000Z",
        type="user",
        message=Body("user", Raw(f'"{text}"'.encode())),
    )


def noted(subtype: str = "note") -> Entry:
    """An annotation."""
    return Entry(
        uuid=f"a{next(_numbers):08d}",
        parent_uuid=None,
        session_id="s",
        timestamp="2026-01-01T00:00:00.000Z",
        type="system",
        subtype=subtype,
        data=Raw(b'{"some":"thing"}'),
    )


def making(entries: Sequence[Entry]) -> Callable[[int], Sequence[Entry]]:
    """What `Store.append` wants: these entries, whatever the seq."""
    return lambda _: entries


def append(store: Store, *entries: Entry, branch: str = "", head: str | None = None) -> list[Placement]:
    """Append one batch."""
    return store.append(making(entries), branch=branch, expected_head=head)


def uuids(store: Store) -> list[str]:
    """Of every line, in order."""
    from sightline.log.entries import decode

    return [decode(line.data).uuid for line in store.scan()]
