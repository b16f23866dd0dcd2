"""What a closed session still does, over every store, and that nothing stays open."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from postgres_server import running
from sightline import (
    AsyncSession,
    BadInput,
    Budget,
    MemoryStores,
    PostgresStores,
    Session,
    SessionClosed,
    Settings,
    Stores,
)
from sightline.log.stores.session_folder import Folder
from sightline.testing import WordCounter

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "stores"))
from sqlite_store import SqliteStores

BUDGET = Budget(window=4_000)
WRITES: dict[str, Callable[[Session], Any]] = {
    "user": lambda session: session.user("x"),
    "reply": lambda session: session.reply("x"),
    "compose": lambda session: session.compose(BUDGET),
    "configure": lambda session: session.configure(locale="zh"),
    "annotate": lambda session: session.annotate("mine", {"a": 1}),
    "pin": lambda session: session.items.pin(2),
    "fork": lambda session: session.fork(2),
    "expand": lambda session: session.items.expand(2),
}


@pytest.fixture(params=["memory", "jsonl", "sqlite", "postgres"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """Stores of each kind."""
    if request.param in ("sqlite", "postgres"):
        with closing(_database(request.param, tmp_path)) as made:
            yield made
    else:
        yield MemoryStores() if request.param == "memory" else Folder("/p", tmp_path)


def _database(kind: str, folder: Path) -> SqliteStores | PostgresStores:
    return SqliteStores(folder / "sessions.db") if kind == "sqlite" else PostgresStores(running().url())


def grown(stores: Stores) -> Session:
    session = Session.new(stores=stores, session_id="s", token_counter=WordCounter())
    for number in range(12):
        session.user(f"question {number} {'word ' * 60}")
        session.compose(BUDGET)
        session.reply(f"answer {number}")
    return session


def lines(stores: Stores) -> list[bytes]:
    store = stores.open("s")
    store.refresh()
    found = [line.data for line in store.scan()]
    store.close()
    return found


def open_files(folder: Path) -> list[str]:
    """The files of a folder that this process has open."""
    paths = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            paths.append(str(each.readlink()))
    return sorted(path for path in paths if path.startswith(str(folder)))


def test_a_closed_session_is_read_and_not_written(stores: Stores, tmp_path: Path) -> None:
    """Every call that writes says that the session is closed; reading leaves nothing open; a second close is safe."""
    session, idle = grown(stores), open_files(tmp_path)
    session.close()
    closed, before = open_files(tmp_path), lines(stores)
    assert len(closed) <= len(idle)
    for write in WRITES.values():
        with pytest.raises(SessionClosed, match=r"session 's' is closed; Session.resume\('s'\) opens it again"):
            write(session)
    session.close()
    assert lines(stores) == before
    session.log.reader._entries.clear()
    assert session.items.text(2).startswith("question 0")
    assert session.items.search("answer 7")
    assert len(list(session.items)) == 24 + len([item for item in session.items if item.kind.name == "RECALL"])
    assert all(each.good for each in session.receipts.verify())
    session.flush()
    session.refresh()
    assert open_files(tmp_path) == closed
    with Session.resume("s", stores=stores, token_counter=WordCounter()) as again:
        again.user("it goes on")


def test_a_summary_that_is_made_while_the_session_is_closed_is_not_written(stores: Stores) -> None:
    """The caller is told."""
    session = grown(stores)
    asked, answer = threading.Event(), threading.Event()

    def model(*_: Any, **__: Any) -> str:
        asked.set()
        assert answer.wait(20)
        return "They asked twelve questions and got twelve answers."

    caught: list[BaseException] = []

    def compact() -> None:
        try:
            session.summaries.compact(model=model)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=compact)
    thread.start()
    assert asked.wait(20)
    session.close()
    before = lines(stores)
    answer.set()
    thread.join(20)
    assert [type(error) for error in caught] == [SessionClosed]
    assert lines(stores) == before


def test_an_async_call_behind_close_is_told(tmp_path: Path) -> None:
    """It waited for its turn, and the session was closed before it."""

    async def run() -> list[Any]:
        session = await AsyncSession.new(stores=Folder("/p", tmp_path), session_id="s", token_counter=WordCounter())
        await session.user("one")
        return await asyncio.gather(session.close(), session.user("two"), return_exceptions=True)

    assert [type(each) for each in asyncio.run(run())] == [type(None), SessionClosed]
    assert open_files(tmp_path) == []


@pytest.mark.parametrize("way", ["a branch that is not there", "an encoding that cannot be changed"])
def test_a_session_that_cannot_be_opened_leaves_nothing_open(way: str, tmp_path: Path) -> None:
    """The caller gets no session to close."""
    folder = Folder("/p", tmp_path)
    grown(folder).close()
    before = lines(folder)
    settings = Settings(encoding="cl100k_base" if Settings().encoding == "o200k_base" else "o200k_base")
    options = {"branch": "nope"} if way.startswith("a branch") else {"settings": settings}
    with pytest.raises(BadInput):
        Session.open(stores=folder, token_counter=WordCounter(), **options)
    assert open_files(tmp_path) == []
    assert lines(folder) == before
