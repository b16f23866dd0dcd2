"""The store in examples/stores passes the public suite, as anybody's store can."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_store import SqliteStores

from sightline.log.stores import Stores
from sightline.testing.stores import STORE_CHECKS

EXAMPLE = Path(__file__).parents[3] / "examples" / "stores" / "sqlite_store.py"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """The example's stores, in a new database."""
    with closing(SqliteStores(tmp_path / "sessions.db")) as made:
        yield made


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # a check leaves a session open, as a crash does
@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_the_example_is_a_store(check: Callable[[Stores], None], stores: Stores) -> None:
    """Each check of the suite passes."""
    check(stores)


def test_the_example_is_short() -> None:
    """A store is one file of at most 150 lines."""
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 150
