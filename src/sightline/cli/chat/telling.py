"""What the library's errors say in a chat: its commands and options, where the library names its functions."""

from collections.abc import Sequence

from sightline.cli.phrases import Words
from sightline.errors import BadCodeId, NothingCompacted, PinnedOverflow, UnknownApp, UnknownCode, UnknownItem


def told(error: Exception, words: Words) -> str:
    """What went wrong, for who talks here. Errors that say nothing of the library are told as they are."""
    match error:
        case NothingCompacted():
            return words("nothing to undo")
        case UnknownItem():
            return words("no item", id=error.item_id)
        case UnknownApp():
            return words("no app", name=error.name, names=_listed(error.known))
        case UnknownCode():
            return words("no such code", id=error.code_id, names=_listed(error.known))
        case BadCodeId():
            return words("no code id", id=error.code_id[:80])
        case PinnedOverflow():
            return words("too much pinned", pinned=", ".join(error.pinned), tokens=error.short_by)
        case _:
            return str(error)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "–"
