"""Copies saved code from one place to another, between files and databases: every version, byte for byte."""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from sightline.documents.code.store import CodeStore
from sightline.documents.code.versions import Saved, measured
from sightline.errors import BadInput, UnknownCode
from sightline.log.stores.transfer import State


class CopiedCode(NamedTuple):
    """What was done with a code. "older": the target has all of it and more. `versions` were written."""

    code_id: str
    state: State
    versions: int


def code_ids(source: CodeStore, session_ids: Iterable[str] = ()) -> list[str]:
    """Return the ids of all code, or of that which these sessions stored, in the order they were first stored."""
    wanted = [{saved.code_id for saved in source.list(session_id)} for session_id in session_ids]
    return [saved.code_id for saved in source.list() if not wanted or any(saved.code_id in codes for codes in wanted)]


def copy_code(source: CodeStore, target: CodeStore, code_id: str) -> CopiedCode:
    """Copy a code with all its versions, and what is known of each. If the target has the first ones, only the rest.

    Raises:
        UnknownCode: there is none of this id.
        BadInput: the target has another code of this id.
        StoreError: one of the places failed. Copying again goes on from there.
    """
    ours, theirs = _content(source, code_id), _versions(target, code_id)
    for (mine, _), other in zip(ours, theirs, strict=False):
        if (mine.version, mine.digest) != (other.version, other.digest):
            raise _another(other, target)
    if len(theirs) > len(ours):
        return CopiedCode(code_id, "older", 0)
    before = theirs[-1] if theirs else None
    for saved, data in ours[len(theirs) :]:
        _put(target, saved, data, before)
        before = saved
    written = len(ours) - len(theirs)
    return CopiedCode(code_id, ("grown" if theirs else "copied") if written else "same", written)


def _content(store: CodeStore, code_id: str) -> list[tuple[Saved, bytes]]:
    """Return every version as its content is now: a file may have been edited since it was stored."""
    contents = ((saved, store.read(code_id, saved.version).encode()) for saved in store.versions(code_id))
    return [(measured(saved, data), data) for saved, data in contents]


def _versions(store: CodeStore, code_id: str) -> list[Saved]:
    try:
        return store.versions(code_id)
    except UnknownCode:
        return []


def _put(target: CodeStore, saved: Saved, data: bytes, expected: Saved | None) -> None:
    """Save a version after the expected one. Its number is the target's: it says in which order codes came there."""

    def make(before: Saved | None, number: int) -> Saved:
        if _known_by(before) != _known_by(expected):  # somebody else has just stored it
            raise _another(before or saved, target)
        extension = saved.path[saved.path.rindex(".") :]
        return replace(saved, number=number, path=f"data/{saved.code_id}{extension}")

    target.put(saved.code_id, make, data)


def _known_by(saved: Saved | None) -> tuple[int, str]:
    return (saved.version, saved.digest) if saved is not None else (0, "")


def _another(other: Saved, target: CodeStore) -> BadInput:
    return BadInput(
        f"{target.place_of(other)} is another code {other.code_id!r}: version {other.version} differs; delete one of "
        "them, or copy to another place"
    )
