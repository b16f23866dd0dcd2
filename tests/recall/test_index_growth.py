"""When the search index is made, and what is added to it."""

from collections.abc import Iterator

import pytest

from sightline import Budget, Session
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
