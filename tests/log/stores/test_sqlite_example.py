"""The store in examples/stores passes the public suite, as anybody's store can."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_store import SqliteStores

from sightline.errors import StoreError, Unwritable
from sightline.log.stores import Span, Stores
from sightline.testing.stores import STORE_CHECKS, append, noted, said, uuids

EXAMPLE = Path(__file__).parents[3] / "examples" / "stores" / "sqlite_store.py"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """The example's stores, in a new database."""
    with closing(SqliteStores(tmp_path / "sessions.db")) as made:
        yield made


@pytest.mark.slow("every_payload_is_as_in_memory")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # a check leaves a session open, as a crash does
@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_the_example_is_a_store(check: Callable[[Stores], None], stores: Stores) -> None:
    """Each check of the suite passes."""
    check(stores)


def test_the_example_is_short() -> None:
    """A store is one file of at most 150 lines."""
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 150


def test_a_deleted_session_takes_nothing_more(stores: Stores) -> None:
    """Neither lines nor derived data nor texts, also if a new session has its id."""
    for anew in (False, True):
        with closing(stores.create("s")) as store:
            append(store, first := said())
            stores.delete("s")
            if anew:
                with closing(stores.create("s")) as other:
                    append(other, said(), noted())
            with pytest.raises(Unwritable, match="was deleted"):
                append(store, said(), head=first.uuid)
            store.keep({"columns": b"x"})
            with pytest.raises(Unwritable, match="was deleted"):
                store.keep_texts({"d": "text"})
        with closing(stores.open("s") if anew else stores.create("s")) as again:
            again.refresh()
            assert (len(uuids(again)), again.cache(["columns"]), again.texts(["d"])) == (2 if anew else 0, {}, {})


def test_a_closed_handle_raises_only_what_is_promised(stores: Stores) -> None:
    """No error of sqlite3 itself."""
    store = stores.create("s")
    append(store, first := said())
    store.close()
    store.close()
    store.keep({"columns": b"x"})
    assert store.cache(["columns"]) == {}
    with pytest.raises(Unwritable, match="closed"):
        append(store, said(), head=first.uuid)
    with pytest.raises(Unwritable, match="closed"):
        store.keep_texts({"d": "text"})
    for read in (store.refresh, lambda: store.read_many([Span(0, 1)]), lambda: list(store.scan())):
        with pytest.raises(StoreError, match="closed"):
            read()
