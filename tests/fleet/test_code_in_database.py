"""Saved code in PostgreSQL is what it is in files."""

import threading
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from postgres_server import PostgresServer, add_tenants
from sightline import PostgresStores
from sightline.documents.code.store import CodeStore
from sightline.errors import SightlineError, UnknownCode
from sightline.fleet.code_store import DatabaseCodeStore, code_store
from sightline.log.stores.session_folder import Folder
from sightline.testing import Ticking


def outcome(store: CodeStore, what: str, *arguments: Any, **named: Any) -> Any:
    """What a method returns or raises, but for the path: only files have earlier ones elsewhere."""
    try:
        done = getattr(store, what)(*arguments, **named)
    except SightlineError as error:
        return type(error), str(error)
    listed = done if isinstance(done, list) else [done]
    return [each if isinstance(each, str | None) else (each.code_id, each.version, *facts(each)) for each in listed]


def facts(saved: Any) -> tuple[Any, ...]:
    """What a version says of itself."""
    return (
        saved.language, saved.description, saved.line_count, saved.digest, saved.created_at, saved.updated_at,
        saved.session_id, saved.number, saved.warning,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_a_database_does_what_files_do(stores: PostgresStores, tmp_path: Path, seed: int) -> None:
    """Whatever is stored, read, listed and deleted, both say the same of it."""
    files = code_store(Folder.at(tmp_path), tmp_path / "code", clock=Ticking())
    database = code_store(stores, tmp_path / "unused", clock=Ticking())
    assert (type(files), type(database)) == (CodeStore, DatabaseCodeStore)
    random = Random(seed)
    for _ in range(60):
        code_id = random.choice(["code_one", "code_two_reports", "code_three", "no id", "code_x"])
        what: tuple[Any, ...] = random.choice([
            ("store", code_id, random.choice(["a = 1\n", "b = 'ü二'\n" * 5, " "])), ("read", code_id), ("list",),
            ("read", code_id, 2), ("versions", code_id), ("list", "s1"), ("listing", "s1"), ("delete", code_id),
            ("find", code_id),
        ])  # fmt: skip
        named = {"session_id": random.choice(["s1", "s2"]), "language": random.choice(["python", "sql", "cobol"])}
        given = named if what[0] == "store" else {}
        assert outcome(database, *what, **given) == outcome(files, *what, **given), what
    assert not (tmp_path / "unused").exists()


def test_versions_of_several_processes_are_all_kept(stores: PostgresStores) -> None:
    """Each has a number of its own."""
    made = [DatabaseCodeStore(stores.database, clock=Ticking()) for _ in range(4)]

    def write(at: int) -> None:
        for number in range(5):
            made[at].store("code_shared", f"x = {at}, {number}\n", session_id=f"s{at}")

    threads = [threading.Thread(target=write, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = made[0].versions("code_shared")
    assert [saved.version for saved in kept] == list(range(1, 21))
    texts = {made[0].read("code_shared", saved.version) for saved in kept}
    assert texts == {f"x = {at}, {number}\n" for at in range(4) for number in range(5)}


def test_tenants_have_their_own_code(stores: PostgresStores, postgres: PostgresServer) -> None:
    """Nobody reads that of another."""
    schema = stores.database.address.schema
    code_store(stores, "unused", clock=Ticking()).store("code_mine", "x = 1\n")
    add_tenants(stores, "other")
    with closing(PostgresStores(postgres.url(schema, tenant="other"))) as others:
        store = code_store(others, "unused", clock=Ticking())
        assert store.list() == []
        with pytest.raises(UnknownCode):
            store.read("code_mine")
