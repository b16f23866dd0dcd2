"""The files next to a log: opened when needed, private, and no harm if they are damaged."""

import sqlite3
import stat
import threading
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from sightline.log.stores.disk import OsDisk
from sightline.log.stores.side_files import PartFile, TextFile
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import WordCounter

NAMES = [f"part {number}" for number in range(30)]


def test_parts_come_back_through_any_handle(tmp_path: Path) -> None:
    """What one handle keeps, replaces and deletes, another sees, whichever read first; only the owner may read it."""
    path = tmp_path / "s.search"
    one, other = PartFile(path), PartFile(path)
    assert other.cache(["a"]) == {}
    one.keep({"a": b"1", "b": b"2"})
    assert other.cache(["b", "a", "c"]) == {"a": b"1", "b": b"2"}
    other.keep({"a": b"", "b": b"3", "c": b"4"})
    assert one.cache(["a", "b", "c"]) == {"b": b"3", "c": b"4"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_does_not_grow_with_what_is_replaced(tmp_path: Path) -> None:
    """Parts replaced often take no more than a bound, and no other part is lost when the file is written anew."""
    path = tmp_path / "s.search"
    one, other = PartFile(path), PartFile(path)
    one.keep({name: name.encode() for name in NAMES})
    for turn in range(100):
        (one, other)[turn % 2].keep({"large": bytes([turn]) * 50_000})
    assert path.stat().st_size < 500_000
    assert other.cache([*NAMES, "large"]) == {name: name.encode() for name in NAMES} | {"large": bytes([99]) * 50_000}


@pytest.mark.parametrize(
    "content", [b"", b"x", b"no parts at all" * 300, b"sightlineparts1\n\xff\xff", b"sightlineparts2\n\xff\xff"]
)
def test_what_is_no_file_of_parts_is_replaced(tmp_path: Path, content: bytes) -> None:
    """Other content costs only what it was."""
    path = tmp_path / "s.search"
    path.write_bytes(content)
    parts = PartFile(path)
    assert parts.cache(["a"]) == {}
    parts.keep({"a": b"1"})
    assert PartFile(path).cache(["a"]) == {"a": b"1"}


def test_a_torn_write_costs_only_itself(tmp_path: Path) -> None:
    """Cut at any byte, a file gives the batches that are whole, and takes new ones."""
    path, chance = tmp_path / "s.search", Random(1)
    parts = PartFile(path)
    parts.keep({"a": b"1" * 100})
    first = path.stat().st_size
    parts.keep({"b": b"2" * 100})
    whole = path.read_bytes()
    for _ in range(40):
        cut = chance.randrange(len(whole))
        path.write_bytes(whole[:cut])
        found = PartFile(path).cache(["a", "b"])
        assert found == ({"a": b"1" * 100} if cut >= first else {})
        PartFile(path).keep({"c": b"3"})
        assert PartFile(path).cache(["a", "b", "c"]) == found | {"c": b"3"}


def test_without_a_writable_place_nothing_is_kept_and_nothing_raised(tmp_path: Path) -> None:
    """A folder that is missing or itself the path, and a path that cannot be, cost only the data."""
    for path in (tmp_path / "missing" / "s.search", tmp_path, Path("nul\0")):
        parts = PartFile(path)
        parts.keep({"a": b"1"})
        assert parts.cache(["a"]) == {}


def test_writers_of_one_file_lose_no_part(tmp_path: Path) -> None:
    """Threads with handles of their own all keep what they keep, also while the file is written anew."""
    path = tmp_path / "s.search"

    def write(number: int) -> None:
        parts = PartFile(path)
        for turn in range(30):
            parts.keep({f"{number}": bytes([turn + 1]) * 20_000, f"{number}/{turn}": b"1"})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [f"{number}/{turn}" for number in range(3) for turn in range(30)]
    found = PartFile(path).cache([*names, "0", "1", "2"])
    assert set(found) == {*names, "0", "1", "2"}
    assert found["1"] == bytes([30]) * 20_000


def test_another_file_of_the_same_inode_is_read_anew(tmp_path: Path) -> None:
    """A system gives an inode again: a handle that read the file before neither misses its parts nor cuts them off."""
    path, next_path = tmp_path / "s.search", tmp_path / "next.search"
    parts = PartFile(path)
    parts.keep({"a": b"1" * 100})
    PartFile(next_path).keep({f"{number}": b"2" * 100 for number in range(9)})
    path.write_bytes(next_path.read_bytes())
    parts.keep({"b": b"3"})
    assert set(PartFile(path).cache(["b", *"012345678"])) == {"b", *"012345678"}


def test_zeros_at_the_end_cost_only_themselves(tmp_path: Path) -> None:
    """As a power cut leaves them: the next write begins there."""
    path = tmp_path / "s.search"
    PartFile(path).keep({"a": b"1"})
    path.write_bytes(path.read_bytes() + bytes(100))
    PartFile(path).keep({"b": b"2"})
    assert PartFile(path).cache(["a", "b"]) == {"a": b"1", "b": b"2"}


def test_a_torn_text_costs_only_itself(tmp_path: Path) -> None:
    """Half a line at the end is passed over, and the next text begins a line."""
    path = tmp_path / "s.blobs"
    texts = TextFile(path, OsDisk())
    texts.write({"a": "one", "b": "two"})
    path.write_bytes(path.read_bytes()[:-3])
    assert TextFile(path, OsDisk()).read(["a", "b"]) == {"a": "one"}
    TextFile(path, OsDisk()).write({"b": "two", "a": "one"})
    assert texts.read(["a", "b"]) == {"a": "one", "b": "two"}
    assert path.read_bytes().count(b'"one"') == 1


def open_files(folder: Path) -> list[str]:
    """The names of the files in this folder that this process has open."""
    paths = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of the listing itself
            paths.append(link.readlink())
    return sorted(path.name for path in paths if folder in path.parents)


def test_an_idle_session_has_only_its_log_open(tmp_path: Path) -> None:
    """After a search, a window and a resume one file is open; an index of an earlier version is replaced."""

    class Window:
        def render(self) -> str:
            return "shown"

    options = {"root": tmp_path, "token_counter": WordCounter(), "windows": {"w": Window()}}
    with Session.new(tmp_path, session_id="s", **options) as session:
        session.windows.show("w")
        session.user("the harbour master is called Meyer")
        session.compose(Budget(1_000))
        folder = session.log.store.path.parent  # type: ignore[attr-defined]
        old = sqlite3.connect(folder / "s.search")
        old.execute("CREATE TABLE head (format, key, upto)")
        old.close()
    for _ in range(2):
        with Session.resume("s", tmp_path, **options) as session:
            assert session.items.search("harbour master")
            session.user("and the ships?")
            session.compose(Budget(1_000))
            assert open_files(tmp_path) == ["s.jsonl"]
    assert open_files(tmp_path) == []
    assert sorted(path.name for path in folder.iterdir()) == ["s.blobs", "s.idx", "s.jsonl", "s.search"]
