"""A search index that is left from another log of the same name is not used."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from sightline import Session
from sightline.log.stores.session_folder import Folder
from sightline.testing import WordCounter


def found(session: Session, word: str) -> list[str]:
    return [found.text.rsplit(maxsplit=1)[-1] for found in session.items.search(word)[:1]]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder("/p", tmp_path)
    say(folder, "first", 20)
    return folder


def say(folder: Folder, word: str, times: int) -> None:
    """Open the session or begin it, say these words and search for one of them."""
    with Session.open(stores=folder, token_counter=WordCounter()) as session:
        for number in range(times):
            session.user(f"{word}{number}")
        assert found(session, f"{word}7") == [f"{word}7"]


@pytest.mark.parametrize("restored", [True, False])
def test_a_log_restored_from_a_copy_is_searched_as_it_is(folder: Folder, restored: bool) -> None:
    """Rows that were said after the copy was made are gone from the index with them."""
    log = folder.file(folder.sessions()[0])
    copy = log.with_suffix(".bak")
    shutil.copy(log, copy)
    say(folder, "second", 60)
    if restored:
        shutil.copy(copy, log)
    say(folder, "zebra", 80)
    with Session.open(stores=folder, token_counter=WordCounter()) as session:
        assert found(session, "zebra7") == ["zebra7"]
        assert found(session, "first7") == ["first7"]
        assert found(session, "second7") == ([] if restored else ["second7"])


@pytest.mark.parametrize("shared", [True, False])
def test_a_log_that_was_made_anew_is_searched_as_it_is(folder: Folder, shared: bool) -> None:
    """Whether it begins as the old one or not: also the columns that are left from it are not used."""
    log = folder.file(folder.sessions()[0])
    begin = log.read_bytes().splitlines(keepends=True)[: 2 if shared else 0]
    kept = {path: path.read_bytes() for path in log.parent.iterdir() if path != log}
    assert {path.suffix for path in kept} == {".idx", ".search"}
    session_id = log.stem
    folder.delete(session_id)
    if shared:
        log.write_bytes(b"".join(begin))
    else:
        Session.new(stores=folder, session_id=session_id, token_counter=WordCounter()).user("begin")
    for path, data in kept.items():
        path.write_bytes(data)
    say(folder, "zebra", 40)
    with Session.open(stores=folder, token_counter=WordCounter()) as session:
        assert found(session, "zebra8") == ["zebra8"]
        assert found(session, "first8") == []


def test_a_part_of_the_old_log_is_not_believed_with_the_head_of_the_new_one(folder: Folder) -> None:
    """Parts of a segment are of the same rows in both, and the checksum of each is right."""
    log = folder.file(folder.sessions()[0])
    names = [f"search/0-20/{number}" for number in range(64)]
    with closing(folder.open(log.stem)) as store:
        old = store.cache(names)
    assert old
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:2]))  # the settings, "first0"
    say(folder, "zebra", 19)
    with closing(folder.open(log.stem)) as store:
        new = store.cache(names)
        assert new.keys() == old.keys()
        assert new != old
        store.keep(old)
    with Session.open(stores=folder, token_counter=WordCounter()) as session:
        assert found(session, "zebra8") == ["zebra8"]
        assert found(session, "first8") == []
