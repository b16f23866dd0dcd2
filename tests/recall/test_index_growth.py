"""When the search index is made, and what is added to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline import Budget, Session
from sightline.recall import finder
from sightline.recall.finder import Finder
from sightline.testing import MemoryStore, WordCounter
from sightline.values.items import Call, Kind

BUDGET = Budget(window=600, output=50)


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows whose text was indexed, in order."""
    rows: list[int] = []
    given = Finder._rows_to_index

    def noted(self: Finder, first: int, end: int) -> Iterator[tuple[int, str]]:
        for row, text in given(self, first, end):
            rows.append(row)
            yield row, text

    monkeypatch.setattr(Finder, "_rows_to_index", noted)
    return rows


def test_only_a_message_that_searches_is_preceded_by_indexing(indexed: list[int]) -> None:
    """An agent's step indexes nothing; the next user message what is new since the last one, and each row once."""
    session = Session(MemoryStore("s"), token_counter=WordCounter())
    for number in range(30):
        session.user(f"Where is invoice {number} of the parser kept? {'word ' * 40}")
        session.reply(f"In drawer {number}.")
    assert not indexed
    asked = ask(session)
    assert indexed == [*range(asked + 1)]
    step(session, "first")
    step(session, "second")
    assert len(indexed) == asked + 1
    session.reply("Done.")
    asked = ask(session)
    recalls = [row for row in range(asked) if session.log.timeline.kind[row] == Kind.RECALL]
    assert indexed == [row for row in range(asked + 1) if row not in recalls]


@pytest.mark.parametrize("many", [10, 1_000])
def test_a_long_history_is_searched_before_it_is_indexed(
    many: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first message is answered as from an index. That is made at the end of the session: nobody scans again."""
    monkeypatch.setattr(finder, "_MANY", many)
    with Session.open(tmp_path, session_id="s", root=tmp_path, token_counter=WordCounter()) as session:
        for number in range(30):
            session.user(f"Where is invoice {number} of the parser kept? {'word ' * 40}")
            session.reply(f"In drawer {number}.")
        asked = ask(session)
        index = session._recall._finder._opened()
        assert index.upto == (0 if many == 10 else asked + 1)
        assert "In drawer 3." in str(session.preview(BUDGET).openai())
        rows = len(session.log.timeline)
    with Session.resume("s", tmp_path, root=tmp_path, token_counter=WordCounter()) as session:
        assert session._recall._finder._opened().upto == (rows if many == 10 else asked + 1)


def test_the_second_message_indexes_what_the_first_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words are others. The same message again would be answered by the same search."""
    monkeypatch.setattr(finder, "_MANY", 10)
    session = Session(MemoryStore("s"), token_counter=WordCounter())
    for number in range(30):
        session.user(f"Where is invoice {number} of the parser kept? {'word ' * 40}")
        session.reply(f"In drawer {number}.")
    ask(session)
    session.reply("In drawer 3.")
    session.user("And which letter lies beside the lexer of drawer 17?")
    session.compose(BUDGET)
    assert session._recall._finder._opened().upto == len(session.log.timeline) - 1
    assert session._recall._finder._scan is None


def test_what_a_question_names_is_found_as_from_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs that stand for letters are read apart from the words beside them, or with them: both are searched for."""
    asked = "Which drawer holds it, and/or which of the FOO™?"
    session = Session(MemoryStore("s"), token_counter=WordCounter())
    for number in range(12):
        session.user(f"The {90 + number} of FOO, and it lies or stands in drawer {number}.")
        session.reply(f"Noted: {number}.")
    session.user(asked)
    found = []
    for many in (1_000, 10):
        monkeypatch.setattr(finder, "_MANY", many)
        searching = Finder(session.log)
        found.append((searching.asks_for_everything(asked), searching.stands_out(asked)))
    assert found[0] == found[1]


def test_a_question_of_two_parts_is_searched_for_once(indexed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The terms of all its parts are looked for together."""
    monkeypatch.setattr(finder, "_MANY", 10)
    session = Session(MemoryStore("s"), token_counter=WordCounter())
    for number in range(12):
        session.user(f"Where is invoice {number} of the parser kept?")
        session.reply(f"In drawer {number}.")
    searching = Finder(session.log)
    searching.rank_parts("Where is invoice 3 kept? Which drawer has the parser?", 5, (), 0.1)
    assert indexed == [*range(24)]
    assert searching._opened().upto == 0


def test_few_new_rows_of_a_long_history_are_indexed(indexed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that worked for long without a message: the history before that is not searched row by row again."""
    session = Session(MemoryStore("s"), token_counter=WordCounter())
    for number in range(60):
        session.user(f"Where is invoice {number} of the parser kept?")
        session.reply(f"In drawer {number}.")
    session.items.index()
    indexed.clear()
    monkeypatch.setattr(finder, "_MANY", 10)
    for number in range(12):
        session.assistant(f"In drawer {number} again.")
    assert session.items.search("drawer 3")
    assert indexed == [*range(120, 132)]


def step(session: Session, call_id: str) -> None:
    session.assistant([Call(call_id, "read", {"path": "parser.py"})])
    session.tool_result(call_id, "def parse(): ...")
    session.compose(BUDGET)


def ask(session: Session) -> int:
    """Ask about the beginning, which is left out. Returns the row of the question."""
    asked = session.user("In which drawer is invoice 3 of the parser?")
    session.compose(BUDGET)
    row = session.log.timeline.row(asked)
    assert row is not None
    return row
