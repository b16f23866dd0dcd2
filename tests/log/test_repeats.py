"""Which results are superseded: two cases equal in all else."""

import pytest

from sightline.session.session import Session
from sightline.testing import MemoryStore, WordCounter, numbered_ids
from sightline.values.items import Call

LINES = [f"{number}→line {number} of the file" for number in range(1, 41)]


@pytest.fixture
def session() -> Session:
    session = Session(MemoryStore("r"), token_counter=WordCounter(), ids=numbered_ids())
    session.user("look")
    return session


def called(session: Session, text: str, tool: str = "read", **arguments: object) -> str:
    call_id = str(len(session.items))
    session.assistant([Call(call_id, tool, {"path": "a.py"} | arguments)])
    return session.tool_result(call_id, text)


def superseded(session: Session) -> list[str]:
    """The ids of the rows that are superseded if all are shown in full."""
    found = session._composer._repeats.superseded(range(len(session.items)))
    return [session.log.timeline.id(row) for row in sorted(found)]


@pytest.mark.parametrize(
    ("again", "whole"), [(LINES, True), (LINES[:36], True), (LINES[:35], False), (LINES[20:], False)]
)
def test_a_read_is_superseded_by_one_that_shows_nine_tenths_of_its_lines(
    session: Session, again: list[str], whole: bool
) -> None:
    """The newest read never is."""
    first = called(session, "\n".join(LINES))
    called(session, "\n".join(again), offset=1)
    assert superseded(session) == ([first] if whole else [])


def test_two_reads_may_do_it_together(session: Session) -> None:
    first = called(session, "\n".join(LINES))
    for part in (LINES[:20], LINES[20:]):
        called(session, "\n".join(part))
    assert superseded(session) == [first]


@pytest.mark.parametrize("path", ["a.py", "b.py"])
def test_only_the_same_file_counts(session: Session, path: str) -> None:
    first = called(session, "\n".join(LINES))
    called(session, "\n".join(LINES), path=path)
    assert superseded(session) == ([first] if path == "a.py" else [])


@pytest.mark.parametrize(("arguments", "whole"), [
    ({"content": "\n".join(line.split("→")[1] for line in LINES)}, True),
    ({"old_string": "\n".join(LINES), "new_string": "\n".join(LINES)}, False),
])  # fmt: skip
def test_writing_the_whole_file_counts_and_an_edit_does_not(
    session: Session, arguments: dict[str, str], whole: bool
) -> None:
    """Neither does what the tool answers. Line numbers do not matter."""
    first = called(session, "\n".join(LINES))
    called(session, "\n".join(LINES), tool="change", **arguments)
    assert superseded(session) == ([first] if whole else [])


@pytest.mark.parametrize("same", [True, False])
def test_the_same_output_of_the_same_command_counts(session: Session, same: bool) -> None:
    first = called(session, "\n".join(LINES), tool="run", path="", command="git status")
    called(session, "\n".join(LINES if same else LINES[::3]), tool="run", path="", command="git status")
    assert superseded(session) == ([first] if same else [])


@pytest.mark.parametrize(("again", "whole"), [(40, True), (36, True), (35, False), (1, False)])
def test_a_line_counts_as_often_as_it_occurs(session: Session, again: int, whole: bool) -> None:
    """Forty equal lines are not shown again by one of them."""
    first = called(session, "\n".join(["still waiting"] * 40))
    called(session, "\n".join(["still waiting"] * again), offset=1)
    assert superseded(session) == ([first] if whole else [])


@pytest.mark.parametrize("searched", [True, False])
def test_a_search_does_not_supersede_a_read(session: Session, searched: bool) -> None:
    """It may show all lines, but not where they stand. A search that shows those of an earlier one supersedes that."""
    first = called(session, "\n".join(LINES), **({"pattern": "line"} if searched else {}))
    called(session, "\n".join(LINES), pattern="file")
    assert superseded(session) == ([first] if searched else [])


@pytest.mark.slow
def test_one_line_very_often_takes_no_memory(session: Session) -> None:
    """A log of one line a hundred thousand times is compared as a few lines."""
    first, _ = (called(session, "\n".join(["waiting for the port"] * 100_000)) for _ in range(2))
    assert superseded(session) == [first]
    assert max(map(len, session._composer._repeats._lines.values())) < 100


def test_a_result_about_several_files_is_superseded_by_reads_of_each(session: Session) -> None:
    """One of the reads alone is not enough. They may be of other tools."""
    first = called(session, "\n".join(LINES), tool="bash", path="", command="sed -n '1,20p' a.py; sed -n '21,40p' b.py")
    called(session, "\n".join(LINES[:20]), path="/w/a.py")
    assert superseded(session) == []
    called(session, "\n".join(LINES[20:]), tool="bash", path="", command="cat b.py")
    assert superseded(session) == [first]


def test_a_command_that_uses_a_file_does_not_show_it(session: Session) -> None:
    """What it prints may have the same lines, out of another file."""
    called(session, "\n".join(LINES))
    called(session, "\n".join(LINES), tool="bash", path="", command="rm a.py && make")
    assert superseded(session) == []
