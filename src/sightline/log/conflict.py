"""Writing again after another writer appended to the same branch first."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from sightline.errors import Conflict

T = TypeVar("T")


def retry_on_conflict(write: Callable[[], T], refresh: Callable[[], object], attempts: int = 2) -> T:
    """Call `write`. After a Conflict call `refresh` and then `write` again, at most `attempts` times in all.

    Only for what does not depend on what the other writer said. `refresh` is `Journal.refresh`, or a session's.

    Raises:
        Conflict: the last attempt failed too.
    """
    for _ in range(attempts - 1):
        with suppress(Conflict):
            return write()
        refresh()
    return write()
