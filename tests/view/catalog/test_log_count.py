"""Counting a log without opening its session: the numbers are those of the session, also a piece at a time."""

from pathlib import Path

import pytest

from sightline import Budget, Session
from sightline.log.stores.session_folder import Folder
from sightline.testing import calling
from sightline.values.items import Kind
from sightline.values.profiles import profile
from sightline.view.catalog.log_count import LogCount, own_words, typed_command
from sightline.view.token_tree import token_tree

REMINDER = "<system-reminder>Today is Monday.</system-reminder>"


def talk(project: Path) -> Path:
    """A session with sweeps, a compaction, a pin and a branch."""
    with Session.new(project, session_id="talk") as session:
        for turn in range(6):
            asked = session.user(f"Question {turn}")
            session.compose(Budget(6_000, 500))
            session.reply(calling(("read_file", {"path": "app.py"})))
            session.tool_result(session.open_calls[0].id, f"line of text {turn}\n" * 400)
            session.compose(Budget(6_000, 500))
            session.reply("Read.")
        session.items.pin(asked)
        session.summaries.compact(Budget(6_000, 500))
        with session.fork(asked, name="other") as branch:
            branch.user("Another way")
    return Folder(project).file("talk")


def test_the_numbers_are_those_of_the_session(tmp_path: Path) -> None:
    """Items, questions, calls, tokens, compactions, pins and branches, as the library counts them."""
    file = talk(tmp_path)
    counter = LogCount()
    assert counter.read(file, 1 << 30)
    found = counter.counted()
    with Session.inspect("talk", tmp_path, branch="") as session:
        items = session.items.table()
        own = (
            sum(item.kind is Kind.USER and not item.by_program for item in items) + 1,
            token_tree(session).total + session.count("Another way") + profile(session.settings.profile).message_tokens,
            sum(item.pinned for item in items),
            len(list(session.summaries)),
            len(session.items.faults),
        )
    assert (found.turns, found.tokens, found.pins, found.compactions, found.faults) == own
    assert (found.calls, found.composed, found.title, found.branches) == (12, 12, "Question 0", ["other"])
    assert (found.branch, found.project) == ("other", str(tmp_path))
    assert found.usage is not None
    assert found.usage.input_tokens == 600  # plain texts report none
    assert found.created is not None


def test_a_piece_at_a_time_gives_the_same(tmp_path: Path) -> None:
    """Whole lines only: one that is still being written is counted when it is complete."""
    file = talk(tmp_path)
    whole, pieces = LogCount(), LogCount()
    whole.read(file, 1 << 30)
    data, growing = file.read_bytes(), tmp_path / "growing.jsonl"
    for end in range(0, len(data) + 1, len(data) // 7):
        growing.write_bytes(data[:end])
        pieces.read(growing, 1 << 30)
    growing.write_bytes(data)
    while not pieces.read(growing, 1):
        pass
    assert pieces.counted() == whole.counted()


def test_what_is_no_entry_is_passed_over(tmp_path: Path) -> None:
    """Garbage counts nothing and raises nothing."""
    file = tmp_path / "bad.jsonl"
    file.write_bytes(
        b'\xff\xfe\n[1]\n{"type": 5}\n{"type": "user", "message": {"content": "no tokens"}}\n' + b"[" * 9999
    )
    counter = LogCount()
    assert counter.read(file, 1 << 20)
    assert (counter.counted().turns, counter.counted().title) == (1, "no tokens")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"{REMINDER}Fix the bug", "Fix the bug"),
        ([{"type": "text", "text": REMINDER}, {"type": "text", "text": "Fix  it\nnow"}], "Fix it now"),
        (REMINDER, ""),
        ("<command-name>/clear</command-name>", ""),
    ],
)
def test_a_title_is_what_a_person_wrote(content: object, words: str) -> None:
    """Not what a harness put before it."""
    assert own_words(content) == words


def test_a_typed_command_is_the_title_if_there_is_no_other() -> None:
    """With its arguments."""
    note = "<command-name>/review</command-name><command-args>main</command-args>"
    assert (typed_command(note), typed_command("Fix it")) == ("/review main", "")
    counter = LogCount()
    counter.add([b'{"type": "user", "flags": 64, "message": {"content": "<command-name>/init</command-name>"}}'])
    assert counter.counted().title == "/init"
    counter.add([b'{"type": "user", "message": {"content": "Now the tests"}}'])
    assert (counter.counted().title, counter.counted().turns) == ("Now the tests", 1)
