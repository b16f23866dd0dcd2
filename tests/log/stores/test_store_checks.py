"""What every store promises: the public suite, over the stores of this package."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.log.stores import Stores
from sightline.log.stores.memory import MemoryStores
from sightline.log.stores.session_folder import Folder
from sightline.testing.stores import STORE_CHECKS, check_stores

KINDS: dict[str, Callable[[Path], Stores]] = {
    "memory": lambda _: MemoryStores(),
    "jsonl": lambda path: Folder("/p", path),
}


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_stores(check: Callable[[Stores], None], kind: str, tmp_path: Path) -> None:
    """Each check of the suite passes."""
    check(KINDS[kind](tmp_path))


class Careless(MemoryStores):
    """Stores that forget to check ids."""

    def delete(self, session_id: str) -> None:
        """Deletes whatever there is."""
        self._logs.pop(session_id, None)


def test_a_store_that_breaks_a_promise_is_told_which() -> None:
    """The suite passes over our own stores, and fails over one that checks no ids, with words that say so."""
    check_stores(MemoryStores)
    with pytest.raises(AssertionError, match=r"delete\(''\) raises BadSessionId"):
        check_stores(Careless)
