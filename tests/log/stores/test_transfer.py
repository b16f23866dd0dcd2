"""Copying sessions between files and databases loses no byte."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from postgres_server import PostgresServer
from sightline import BadInput, Budget, PostgresStores, Session
from sightline.log.stores import transfer
from sightline.log.stores.session_folder import Folder
from sightline.log.stores.transfer import copy_session
from sightline.testing import WordCounter

BUDGET = Budget(window=3_000)


class Clock:
    """A window that shows something else each time."""

    turn = 0

    def render(self) -> str:
        """See above."""
        self.turn += 1
        return f"window at turn {self.turn}"


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[PostgresStores]:
    """A database of its own."""
    with closing(PostgresStores(postgres.url())) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A session in files, with branches, sweeps, windows and lines of other programs."""
    folder = Folder.at(tmp_path / "here")
    session = Session.new(stores=folder, session_id="s", token_counter=WordCounter(), windows={"w": Clock()})
    session.windows.show("w")
    for number in range(12):
        session.user(f"question {number} \0 二 " + "word " * 200)
        session.compose(BUDGET)
        session.reply(f"answer {number}")
    fork = session.fork(next(iter(session.items)).id)
    fork.user("another way")
    fork.close()
    session.close()
    with folder.file("s").open("ab") as log:
        log.write(b'\n   \n{"of":"another program"}\nno json at all \xff\xfe\n')
    return folder


def log_and_texts(folder: Folder) -> tuple[bytes, bytes]:
    """The bytes of both files."""
    return folder.file("s").read_bytes(), folder.file("s").with_suffix(".blobs").read_bytes()


def test_a_log_comes_back_byte_for_byte(folder: Folder, database: PostgresStores, tmp_path: Path) -> None:
    """From files to a database and back: the log, the texts of windows and the time are the same."""
    back = Folder.at(tmp_path / "back")
    assert copy_session(folder, database, "s").state == "copied"
    assert copy_session(database, back, "s").state == "copied"
    assert log_and_texts(back) == log_and_texts(folder)
    assert log_and_texts(folder)[1]
    assert abs(back.look("s").seconds - folder.look("s").seconds) < 0.001
    assert database.look("s").size == folder.look("s").size


def test_a_copied_session_goes_on_as_the_original(folder: Folder, database: PostgresStores) -> None:
    """Its payloads can be made again, and the next one is the same."""
    copy_session(folder, database, "s")
    ours, copy = (
        Session.resume("s", stores=stores, token_counter=WordCounter(), windows={"w": Clock()}, branch="")
        for stores in (folder, database)
    )
    with ours, copy:
        assert copy.preview(BUDGET).hash == ours.preview(BUDGET).hash
        assert all(payload.good for payload in copy.receipts.verify())
        assert [found.id for found in copy.items.search("question 3")] == [
            found.id for found in ours.items.search("question 3")
        ]
        assert copy.user("It goes on.") == ours.user("It goes on.")


def test_a_copy_is_taken_up_again(folder: Folder, database: PostgresStores, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is not written again, after an interruption too; a target with more is left alone."""
    monkeypatch.setattr(transfer, "_AT_ONCE", 2_000)
    written = 0
    original = transfer._pieces

    def interrupted(*given: object) -> Iterator[list[bytes]]:
        nonlocal written
        for piece in original(*given):  # type: ignore[arg-type]
            if written > 20:
                raise KeyboardInterrupt
            written += len(piece)
            yield piece

    with monkeypatch.context() as patch:
        patch.setattr(transfer, "_pieces", interrupted)
        with pytest.raises(KeyboardInterrupt):
            copy_session(folder, database, "s")
    with Session.resume("s", stores=database, token_counter=WordCounter()) as half:  # whole batches, so it can be read
        assert half.items
    copied = copy_session(folder, database, "s")
    assert (copied.state, copied.lines) == ("grown", len(folder.file("s").read_bytes().splitlines()) - written)
    assert copy_session(folder, database, "s").state == "same"
    with Session.resume("s", stores=database, token_counter=WordCounter()) as session:
        session.user("More.")
    assert copy_session(folder, database, "s").state == "older"
    assert copy_session(database, folder, "s").state == "grown"
    assert copy_session(database, folder, "s").state == "same"


def test_another_session_of_the_same_id_is_not_replaced(folder: Folder, database: PostgresStores) -> None:
    """It is named, and stays as it is."""
    with Session.new(stores=database, session_id="s", token_counter=WordCounter()) as other:
        other.user("I was here first.")
    with pytest.raises(BadInput, match="has another session 's'"):
        copy_session(folder, database, "s")
    with Session.resume("s", stores=database, token_counter=WordCounter()) as other:
        assert [other.items.text(item.id) for item in other.items] == ["I was here first."]
