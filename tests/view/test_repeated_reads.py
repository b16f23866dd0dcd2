"""Readings of files that showed nothing new: one rule for the list, the inspector and the report."""

from contextlib import closing
from pathlib import Path

import pytest

from sightline import Budget, Session, samples
from sightline.imports.detection import conversations
from sightline.imports.importer import import_into
from sightline.log.levels import Reader
from sightline.log.stores.session_folder import Folder
from sightline.testing import calling
from sightline.values.items import Call
from sightline.view.catalog.log_count import LogCount
from sightline.view.file_reads import FileReads, Reading, file_of
from sightline.view.report.session_report import report_of
from sightline.view.report.talk import conversation_of
from sightline.view.token_tree import token_tree

FILE = "\n".join(f"def function_{number}(): return value_{number}" for number in range(60))


def read(
    reads: FileReads, text: str = FILE, *, at: int = 0, tool: str = "Read", failed: bool = False
) -> Reading | None:
    given = {"command": "cat a.py"} if tool == "Bash" else {"file_path": "a.py"}
    reads.add_call(Call("c", tool, given))
    return reads.add_result("c", text, failed=failed, at=at)


def test_a_reading_counts_if_it_shows_nothing_new() -> None:
    """The same lines, some of them, with numbers, by another tool; not if it failed, is short, or of another file."""
    reads = FileReads()
    numbered = "\n".join(f"{at}→{line}" for at, line in enumerate(FILE.splitlines()))
    assert read(reads) == Reading("a.py", False)
    for text, tool in ((FILE, "Read"), (numbered, "Read"), (FILE[: len(FILE) // 2], "Read"), (FILE, "Bash")):
        assert read(reads, text, tool=tool) == Reading("a.py", True)
    assert read(reads, FILE.splitlines()[0]) == Reading("a.py", False)
    assert read(reads, FILE.replace("value", "other")) == Reading("a.py", False)
    assert read(reads, failed=True) is None
    assert read(reads, tool="Edit") is None
    reads.add_call(Call("c", "Read", {"file_path": "b.py"}))
    assert reads.add_result("c", FILE, failed=False) == Reading("b.py", False)
    assert reads.add_result("c", FILE, failed=False) is None


def test_what_is_read_in_pieces_is_known_as_a_whole() -> None:
    """Also if a compaction came between the pieces."""
    half = len(FILE.splitlines()) // 2
    one, two = ("\n".join(lines) for lines in (FILE.splitlines()[:half], FILE.splitlines()[half:]))
    reads = FileReads()
    assert [read(reads, text, at=at).is_known for at, text in enumerate((one, two, FILE))] == [False, False, True]
    reads = FileReads()
    read(reads, one, at=1)
    reads.compact(1)
    read(reads, two, at=2)
    assert read(reads, FILE, at=3) == Reading("a.py", True, True)
    assert read(reads, FILE, at=4) == Reading("a.py", True, False)


@pytest.mark.parametrize("path", ["a.py", "./src/a.py", " a.py ", "a\u202e.py", "", 5])
def test_the_file_of_a_call_is_the_same_for_every_tool(path: object) -> None:
    """The one that is known without looking further is that of the others."""
    assert file_of(Call("c", "Read", {"file_path": path})) == file_of(Call("c", "read_file", {"file_path": path}))


@pytest.mark.parametrize(("covered", "removed"), [(0, False), (1, True)])
def test_what_a_compaction_left_is_still_there(covered: int, removed: bool) -> None:
    """Only what it covers has been removed."""
    reads = FileReads()
    read(reads, at=1)
    reads.compact(covered)
    assert read(reads, at=2) == Reading("a.py", True, removed)


def counts(folder: Folder, session_id: str) -> tuple[int, int, int]:
    """What was read again, as the list, the token tree and the report count it."""
    count = LogCount()
    assert count.read(folder.file(session_id), 1 << 40)
    with Session.inspect(session_id, folder.path, stores=folder) as session:
        tree = token_tree(session).rereads.results
    with closing(folder.open(session_id)) as store:
        report = report_of(conversation_of(store), economies=())
    return count.counted().rereads, tree, sum(each.again + each.after_compaction for each in report.again)


@pytest.mark.slow
def test_the_list_the_tree_and_the_report_count_the_same(tmp_path: Path) -> None:
    """In every sample session, and in one of our own with a compaction."""
    folder = Folder.at(tmp_path / "sessions")
    found = {}
    for sample in sorted(Path(samples.__file__).parent.glob("*.json")):
        for each in conversations(sample):
            session = import_into(folder, each, tmp_path).session
            found[session] = counts(folder, session)
    with Session.new(tmp_path, session_id="own", stores=folder) as session:
        for number in range(6):
            session.user(f"Question {number}")
            session.reply(calling(("read_file", {"path": f"part_{number // 2}.py"})))
            session.tool_result(session.open_calls[0].id, FILE.replace("value", f"value_{number // 2}"))
            session.compose(Budget(6_000, 500))
            session.reply("Read.")
        session.summaries.compact(Budget(6_000, 500))
        session.user("Again")
        session.reply(calling(("read_file", {"path": "part_0.py"})))
        session.tool_result(session.open_calls[0].id, FILE.replace("value", "value_0"))
    found["own"] = counts(folder, "own")
    assert found["own"] == (4, 4, 4)
    assert {name: each for name, each in found.items() if len(set(each)) > 1} == {}
    assert sum(each[0] for each in found.values()) > 4


def test_the_tree_reads_each_result_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a session grows, only what is new is read from its log."""
    with Session.new(tmp_path, session_id="long") as session:
        for number in range(30):
            session.user(f"Question {number}")
            session.reply(calling(("read_file", {"path": f"part_{number % 7}.py"})))
            session.tool_result(session.open_calls[0].id, FILE)
        assert token_tree(session).rereads.results == 23
        rows: list[int] = []
        real = Reader.entry
        monkeypatch.setattr(Reader, "entry", lambda self, row: rows.append(row) or real(self, row))
        session.reply(calling(("read_file", {"path": "part_0.py"})))
        session.tool_result(session.open_calls[0].id, FILE)
        rows.clear()
        assert token_tree(session).rereads.results == 24
        assert len(rows) < 5
        with session.fork(0) as branch:
            assert token_tree(branch).rereads.results == 0
