"""What every store promises: the public suite, over the stores of this package."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postgres_server import running
from sightline.errors import BadInput, Unwritable
from sightline.fleet.postgres import PostgresStores
from sightline.log.stores import Stores, Tips
from sightline.log.stores.memory import MemoryStore, MemoryStores
from sightline.log.stores.session_folder import Folder
from sightline.session.session import Session
from sightline.testing.stored_sessions import SESSION_CHECKS
from sightline.testing.stores import STORE_CHECKS, check_stores

KINDS: dict[str, Callable[[Path], Stores]] = {
    "memory": lambda _: MemoryStores(),
    "jsonl": lambda path: Folder("/p", path),
    "postgres": lambda _: PostgresStores(running().url()),
}


@pytest.mark.slow(
    "any_writers_agree_with_a_list-postgres",
    "every_payload_is_as_in_memory-jsonl",
    "every_payload_is_as_in_memory-memory",
    "every_payload_is_as_in_memory-postgres",
    "lines_are_read_back-memory",
    "lines_are_read_back-postgres",
    "threads_and_handles_lose_nothing-postgres",
)
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_stores(check: Callable[[Stores], None], kind: str, tmp_path: Path) -> None:
    """Each check of the suite passes."""
    stores = KINDS[kind](tmp_path)
    try:
        check(stores)
    finally:
        getattr(stores, "close", lambda: None)()


class Careless(MemoryStores):
    """Stores that forget to check ids."""

    def delete(self, session_id: str) -> None:
        """Deletes whatever there is."""
        self._logs.pop(session_id, None)


@pytest.mark.slow
def test_a_store_that_breaks_a_promise_is_told_which() -> None:
    """The suite passes over our own stores, and fails over one that checks no ids, with words that say so."""
    check_stores(MemoryStores)
    with pytest.raises(AssertionError, match=r"delete\(''\) must raise BadSessionId, but raised nothing"):
        check_stores(Careless)


class Broken(MemoryStores):
    """Stores whose handles break one promise."""

    def __init__(self, defect: "Callable[[MemoryStore], Any]") -> None:
        super().__init__()
        self._defect = defect

    def create(self, session_id: str) -> MemoryStore:
        return self._broken(super().create(session_id))

    def open(self, session_id: str) -> MemoryStore:
        return self._broken(super().open(session_id))

    def _broken(self, store: MemoryStore) -> MemoryStore:
        reopened = store.reopened
        store.reopened = lambda: self._broken(reopened())  # type: ignore[method-assign]
        self._defect(store)
        return store


def _fail() -> Any:
    raise RuntimeError("too many")


def loses_long_lines(store: Any) -> None:
    read = store.read_many
    store.read_many = lambda spans: [line[:200_000] for line in read(spans)]


def refuses_long_lines(store: Any) -> None:
    append = store.append

    def checked(make: Callable[[int], Any], **more: Any) -> Any:
        entries = make(store.tips.seq + 1)
        if any(entry.message and len(bytes(entry.message.content)) > 4_000_000 for entry in entries):
            raise Unwritable("memory", "too large")
        return append(make, **more)

    store.append = checked


def trims_texts(store: Any) -> None:
    keep = store.keep_texts
    store.keep_texts = lambda texts: keep({digest: text.strip() for digest, text in texts.items()})


def loses_rare_characters(store: Any) -> None:
    read = store.read_many
    store.read_many = lambda spans: ["".join(c for c in b.decode() if ord(c) < 1 << 16).encode() for b in read(spans)]


def reads_few(store: Any) -> None:
    read = store.read_many
    store.read_many = lambda spans: read(spans[:400])


def caches_few(store: Any) -> None:
    cache = store.cache
    store.cache = lambda names: cache(names) if len(list(names)) < 50 else _fail()


def caches_all(store: Any) -> None:
    store.cache = lambda _: dict(store._log.parts)


def scans_beyond(store: Any) -> None:
    scan = MemoryStore(store.session_id, store._log)

    def everything(start: int = 0) -> Any:
        scan.refresh()
        return scan.scan(start)

    store.scan = everything


def keeps_texts_at_close(store: Any) -> None:
    kept: dict[str, str] = {}
    keep = store.keep_texts
    store.keep_texts = kept.update
    store.close = lambda: keep(kept)


def closes_once(store: Any) -> None:
    closed: list[int] = []
    store.close = lambda: _fail() if closed else closed.append(1)


def keeps_loudly(store: Any) -> None:
    closed: list[int] = []
    keep = store.keep
    store.keep = lambda parts: _fail() if closed else keep(parts)
    store.close = lambda: closed.append(1)


DEFECTS: dict[Callable[[Any], None], str] = {
    loses_long_lines: "decoding the lines read raised",
    refuses_long_lines: "an entry of 10 MB raised Unwritable",
    trims_texts: "the texts, read before",
    loses_rare_characters: "the entries read",
    reads_few: "the entries read",
    caches_few: "cache with many names raised RuntimeError",
    caches_all: "nobody asked for",
    scans_beyond: "has not read on",
    keeps_texts_at_close: "before the handle that kept them is closed",
    closes_once: "closing twice raised",
    keeps_loudly: "keep of a closed handle raised",
}


@pytest.mark.slow("loses_rare_characters")
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_a_handle_that_breaks_a_promise_is_refused(defect: Callable[[Any], None]) -> None:
    """By a check that says what is wrong; the same handle without the defect passes it."""
    check_handles(lambda _: None)
    with pytest.raises(AssertionError, match=DEFECTS[defect]):
        check_handles(defect)


def check_handles(defect: Callable[[Any], None]) -> None:
    """The suite without the checks of whole sessions, over handles with a defect."""
    for check in STORE_CHECKS[: -len(SESSION_CHECKS)]:
        check(Broken(defect))


class Alphabetical(MemoryStores):
    """Stores that list their sessions by name."""

    def sessions(self) -> list[str]:
        return sorted(super().sessions())


class Caseless(MemoryStores):
    """Stores that take ids for the same which differ only in capitals, as a database may compare them."""

    def create(self, session_id: str) -> MemoryStore:
        store = super().create(session_id)
        first = next((name for name in self._logs if name.lower() == session_id.lower()), session_id)
        return MemoryStore(store.session_id, self._logs[first])


class Undead(MemoryStores):
    """Stores whose deleted sessions stay for the handles that have them."""

    def delete(self, session_id: str) -> None:
        self._existing(session_id).lines.clear()
        self._logs[session_id].parts.clear()
        self._logs[session_id].texts.clear()
        self._logs[session_id].tips = Tips()


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Alphabetical, "newest first"),
        (Undead, "left to a new one of its id"),
        (Caseless, "the items of a new session 'Notes' beside 'notes'"),
    ],
)
def test_stores_that_break_a_promise_are_refused(broken: type[MemoryStores], told: str) -> None:
    """Order and deletion are promises of all sessions together."""
    with pytest.raises(AssertionError, match=told):
        check_stores(broken)


class Half:
    """Half a store."""

    session_id, tips = "s", Tips()

    def append(self) -> None:
        """Does nothing."""


def test_what_is_missing_is_listed() -> None:
    """All of it, by the suite and when a session is opened; and who confuses a store with stores is told."""
    lacks = "cache, close, keep, keep_texts, read_many, refresh, reopened, repairs, scan, sync, texts"
    halves = MemoryStores()
    halves.create = lambda _: Half()  # type: ignore[assignment,method-assign,return-value]
    with pytest.raises(AssertionError, match=f"no Store: it lacks {lacks}"):
        check_stores(lambda: halves)
    with pytest.raises(AssertionError, match="no Stores: they lack create, delete, open, sessions"):
        check_stores(Half)  # type: ignore[arg-type]
    given: list[tuple[Callable[[], Any], str]] = [
        (lambda: Session(Half()), f"a Half is no Store: it lacks {lacks}"),  # type: ignore[arg-type]
        (lambda: Session.new(stores=halves), f"a Half is no Store: it lacks {lacks}"),
        (lambda: Session("/tmp/foo"), r"a str is no Store.*Session.open\(project\)"),  # type: ignore[arg-type]
        (lambda: Session(MemoryStores()), r"these are Stores: Session.new\(stores=…\)"),  # type: ignore[arg-type]
        (lambda: Session.open(stores=MemoryStore()), r"one Store is for Session\(store\)"),  # type: ignore[arg-type]
    ]
    for make, told in given:
        with pytest.raises(BadInput, match=told):
            make()
