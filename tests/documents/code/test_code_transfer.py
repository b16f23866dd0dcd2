"""Saved code is copied between files and databases: every version as it was, once, and nothing is overwritten."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from postgres_server import PostgresServer
from sightline import PostgresStores
from sightline.documents.code.store import Codes, CodeStore
from sightline.documents.code.transfer import code_ids, copy_code
from sightline.errors import BadInput, UnknownCode
from sightline.fleet.code_store import DatabaseCodeStore
from sightline.testing import Ticking

Make = Callable[[str], CodeStore]


@pytest.fixture
def make(tmp_path: Path, postgres: PostgresServer) -> Iterator[Make]:
    """Makes a code store of a kind."""
    with ExitStack() as stack:

        def made(kind: str) -> CodeStore:
            if kind == "files":
                return CodeStore(tmp_path / str(len(list(tmp_path.iterdir()))) / "code", clock=Ticking())
            stores = stack.enter_context(closing(PostgresStores(postgres.url())))
            return DatabaseCodeStore(stores.database, clock=Ticking())

        yield made


@pytest.fixture(params=["files", "database"])
def source(request: pytest.FixtureRequest, make: Make) -> CodeStore:
    """Two codes, one of them in three versions and two languages."""
    store = make(request.param)
    store.store("code_sales", "a = 1\r\n", session_id="s1", description="Sums")
    store.store("code_other", "SELECT 'ü二'", language="sql", session_id="s2")
    store.store("code_sales", "SELECT 2\n\n", language="sql", session_id="s2")
    store.store("code_sales", "c = 3", session_id="s1")
    return store


def all_of(store: CodeStore) -> list[tuple[object, ...]]:
    """Every version, but for where its file is."""
    return [
        (saved.code_id, saved.version, saved.language, saved.description, saved.created_at, saved.updated_at,
         saved.session_id, saved.number, saved.digest, store.read(each.code_id, saved.version))
        for each in store.list() for saved in store.versions(each.code_id)
    ]  # fmt: skip


def copy_all(source: CodeStore, target: CodeStore) -> list[tuple[str, int]]:
    """The state of each code, and how many versions were written."""
    return [copy_code(source, target, each)[1:] for each in code_ids(source)]


@pytest.mark.parametrize("kind", ["files", "database"])
def test_every_version_is_copied_once(source: CodeStore, make: Make, kind: str) -> None:
    """And goes on there as it would have; what is new is copied later; who has less gives nothing."""
    target = make(kind)
    assert copy_all(source, target) == [("copied", 3), ("copied", 1)]
    assert all_of(target) == all_of(source)
    assert copy_all(source, target) == [("same", 0)] * 2
    assert copy_all(target, source) == [("same", 0)] * 2
    source.store("code_sales", "d = 4\n")
    assert copy_all(source, target) == [("grown", 1), ("same", 0)]
    assert all_of(target) == all_of(source)
    target.store("code_other", "SELECT 1")
    assert copy_all(source, target) == [("same", 0), ("older", 0)]
    assert [saved.version for saved in target.versions("code_other")] == [1, 2]


@pytest.mark.parametrize("kind", ["files", "database"])
def test_another_code_of_the_same_id_is_told(source: CodeStore, make: Make, kind: str) -> None:
    """Nothing of it changes; other codes can be copied, also only those of some sessions."""
    target = make(kind)
    target.store("code_sales", "mine\n")
    before = all_of(target)
    with pytest.raises(BadInput, match="version 1 differs; delete one of them"):
        copy_code(source, target, "code_sales")
    assert all_of(target) == before
    assert code_ids(source, ["s1"]) == ["code_sales"]
    assert code_ids(source, ["s2"]) == ["code_sales", "code_other"]
    assert copy_code(source, target, "code_other").state == "copied"
    with pytest.raises(UnknownCode):
        copy_code(source, target, "code_none")


def test_what_was_edited_is_copied_as_it_is(make: Make) -> None:
    """A file that somebody edited since it was stored: once, and not as if it were another code."""
    source, target = make("files"), make("database")
    source.store("code_a_sum", "a = 1\n")
    (source.folder / "data" / "code_a_sum.py").write_text("a = 2\n")
    assert [copy_code(source, target, "code_a_sum").state for _ in range(2)] == ["copied", "same"]
    assert target.read("code_a_sum") == "a = 2\n"


def test_who_stores_the_same_meanwhile_is_not_overwritten(make: Make) -> None:
    """Between looking and writing: the copy is refused, and what was stored stays."""
    source, target = make("files"), make("database")
    source.store("code_a_sum", "a = 1\n")

    class Unseen(DatabaseCodeStore):
        """Somebody stores right after this one was asked what it has."""

        def versions(self, code_id: str) -> Codes:
            target.store(code_id, "mine\n")
            raise UnknownCode(code_id, [])

    assert isinstance(target, DatabaseCodeStore)
    with pytest.raises(BadInput, match="differs"):
        copy_code(source, Unseen(target._database, clock=Ticking()), "code_a_sum")
    assert all_of(target)[0][-1] == "mine\n"
    assert len(all_of(target)) == 1
