"""A project of many sessions: finding the newest, going on with it and listing some look at those and at no other."""

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sightline import Session
from sightline.cli.chat.leftovers import newest_session
from sightline.cli.main import app
from sightline.cli.options import Place
from sightline.cli.phrases import Phrases
from sightline.log.stores.recency import Recency
from sightline.log.stores.session_folder import Folder

SESSIONS, SOAK_SESSIONS = 1_000, 10_000
LOOKED_AT = 32  # of those that were noted last, by each list
LISTED = 20  # by `sightline sessions`

Tried = Callable[[str, int], None]
counts: Counter[str] | None = None  # what is being counted


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if counts is not None and event in ("open", "os.scandir", "os.listdir") and not isinstance(arguments[0], int):
        counts["folders" if event != "open" else "opened"] += 1


sys.addaudithook(_hear)


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts files opened, stat calls and folders listed."""
    global counts  # an audit hook cannot be removed
    counts = found = Counter()
    with monkeypatch.context() as patched:
        for name in ("stat", "lstat"):
            original = getattr(os, name)

            def counting(*arguments: Any, _original: Any = original, **options: Any) -> Any:
                found["stats"] += 1
                return _original(*arguments, **options)

            patched.setattr(os, name, counting)
        try:
            yield found
        finally:
            counts = None


def name(number: int) -> str:
    return f"s{number:05d}"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A project with many sessions, written to in the order of their numbers, and how many there are."""
    root, count = tmp_path_factory.mktemp("many"), SOAK_SESSIONS if os.environ.get("SIGHTLINE_SOAK") else SESSIONS
    with Session.new("/shop", root=root, session_id=name(0)) as session:
        session.user("Hello.")
    folder = Folder("/shop", root)
    log, index = (folder.file(name(0)).with_suffix(suffix).read_bytes() for suffix in (".jsonl", ".idx"))
    for number in range(count):
        path = folder.file(name(number))
        path.write_bytes(log)
        path.with_suffix(".idx").write_bytes(index)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    assert folder.sessions() == [name(number) for number in range(count)][::-1]  # looks at all, once
    return root, count


def place(root: Path) -> Place:
    return Place("/shop", str(root), Phrases("en"))


def test_the_newest_session_is_opened_and_no_other_looked_at(
    many: tuple[Path, int], monkeypatch: pytest.MonkeyPatch, tried: Tried
) -> None:
    """By `Session.open` and by `--continue`. One that is written to becomes the newest, though it was noted before."""
    root, count = many
    folder = Folder("/shop", root)
    Session.open("/shop", root=root).close()  # what is imported when first used is imported now
    with counted(monkeypatch) as found, Session.open("/shop", root=root) as session:
        assert session.id == newest_session(place(root)) == folder.sessions()[0]
    assert found["folders"] == 3
    assert found["opened"] <= 20
    assert found["stats"] <= 40 + 3 * LOOKED_AT
    with Session.resume(name(7), "/shop", root=root) as older, counted(monkeypatch) as found:
        older.user("I am the newest now.")
        older.user("And still am.")
        assert folder.sessions()[:2] == [name(7), name(count - 1)]
        assert len(folder.sessions()) == count
    assert found["stats"] <= 20 + 2 * LOOKED_AT
    with Session.resume(name(count - 1), "/shop", root=root) as session:
        session.user("Not any more.")
    assert folder.sessions()[:2] == [name(count - 1), name(7)]
    tried("sessions in one project", count)


def test_a_list_opens_what_it_shows(many: tuple[Path, int], monkeypatch: pytest.MonkeyPatch) -> None:
    root, count = many
    arguments = ["--root", str(root), "--project", "/shop", "sessions"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    with counted(monkeypatch) as found:
        result = CliRunner().invoke(app, arguments)
    assert result.stdout.count("\ns0") == LISTED
    assert f"{count - LISTED:,} older sessions" in result.stdout
    assert found["opened"] <= 4 * LISTED
    assert found["stats"] <= 16 * LISTED + LOOKED_AT
    assert found["folders"] <= 2


def test_sessions_of_other_programs_are_found_too(many: tuple[Path, int]) -> None:
    """A log that was copied here is where its time says; one empty or deleted, or a lost order, is no trouble."""
    root, count = many
    folder = Folder("/shop", root)
    before = folder.sessions()
    copied = folder.file("copied")
    copied.write_bytes(folder.file(name(3)).read_bytes())
    os.utime(copied, (1_700_000_003, 1_700_000_003))
    folder.file("empty").write_bytes(b"")
    found = folder.sessions()
    assert found.index(name(4)) < found.index("copied") < found.index(name(2))
    assert set(found) == {*before, "copied"}
    assert set(folder.sessions(empty=True)) == {*found, "empty"}
    folder.delete("copied")
    folder.file("empty").unlink()
    assert "copied" not in folder.sessions()
    order = folder.path / ".recent"
    for harm in (b"", b"\xff\x00garbage\n" * 50, order.read_bytes()[: count // 2]):
        order.write_bytes(harm)
        assert set(folder.sessions()) == set(before)
    order.unlink()
    assert set(folder.sessions()) == set(before)


def test_what_another_program_wrote_to_a_noted_session_is_seen(many: tuple[Path, int]) -> None:
    """Its log is longer and its time newer, and nobody noted it. One that was emptied is no session to go on with."""
    root, _ = many
    folder = Folder("/shop", root)
    before = folder.sessions()
    theirs = folder.file(before[9])
    theirs.write_bytes(theirs.read_bytes() + b"{}\n")
    assert folder.sessions()[0] == before[9]
    whole = theirs.read_bytes()
    theirs.write_bytes(b"")
    assert before[9] not in folder.sessions()
    assert before[9] in folder.sessions(empty=True)
    theirs.write_bytes(whole)


def test_a_session_is_noted_whatever_happens_to_the_order_meanwhile(tmp_path: Path) -> None:
    """The file is replaced by one of equal size; and one is noted while the others are being looked at."""
    one, other = Recency(tmp_path), Recency(tmp_path)
    one.write(lambda: ["b", "a"])
    one.note("b")
    other.write(lambda: ["c", "a", "b"])
    one.note("b")
    assert one.read({"a", "b", "c"})[0] == "b"
    late = threading.Thread(target=one.note, args=("a",))

    def find() -> list[str]:
        late.start()
        late.join(0.2)
        return ["c", "b", "a"]

    other.write(lambda: ["c", "b"])
    other.write(find)
    late.join()
    assert other.read({"a", "b", "c"}) == ["a", "c", "b"]


@pytest.mark.parametrize("sessions", [3, 300])
def test_only_a_folder_of_many_sessions_has_such_a_file(tmp_path: Path, sessions: int) -> None:
    """It is readable by its owner only, and does not grow for ever."""
    folder = Folder("/shop", tmp_path)
    folder.path.mkdir(parents=True)
    for number in range(sessions):
        folder.file(name(number)).write_bytes(b"{}\n")
    assert len(folder.sessions()) == sessions
    order = folder.path / ".recent"
    assert order.exists() == (sessions == 300)
    if order.exists():
        assert order.stat().st_mode & 0o777 == 0o600
        order.write_bytes(order.read_bytes() * 9)
        assert len(folder.sessions()) == sessions
        assert len(order.read_bytes().splitlines()) == sessions
