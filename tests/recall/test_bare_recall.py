"""A recall without handles: where the model has no tool to expand them, they take no room."""

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.compose.verify import verify
from sightline.log.annotations import RecallNote
from sightline.log.recall_frame import frame_recall
from sightline.recall.overview import overview
from sightline.testing import WordCounter
from sightline.values.items import Kind
from sightline.values.recall_tools import RECALL_TOOLS

QUESTION = "What have we settled so far?"


def booking(*, tools: bool) -> Session:
    """A talk in which many things are booked."""
    session = Session(MemoryStore("t"), token_counter=WordCounter())
    if tools:
        session.tools(RECALL_TOOLS)
    for at in range(40):
        session.user(f"Please book table {at} at Osteria {chr(65 + at % 26)}onda for {at + 2} people.")
        session.assistant(f"Booked: table {at}, {at % 12 + 1}:30 pm, ${at + 20}. Is there anything else I can do?")
    session.user(QUESTION)
    return session


def recalled(session: Session, *, handles: bool) -> str:
    """The text of the last recall, in a payload with or without the tool to expand handles."""
    reader, timeline = session.log.reader, session.log.timeline
    row = timeline.last_row(session.log.path)
    assert timeline.kind[row] == Kind.RECALL
    return reader.recalled(reader.entry(row), "en", handles=handles)


def test_a_recall_is_counted_as_it_is_shown() -> None:
    """Not as if it had handles."""
    session = booking(tools=False)
    payload = session.compose(Budget(400), ask=True)
    (tokens,) = [line.tokens for line in payload.plan.lines() if line.kind is Kind.RECALL]
    text = recalled(session, handles=False)
    assert "table" in text
    assert 0 <= tokens - WordCounter().count(text) < 10  # the framing of a message


def test_without_handles_more_is_quoted() -> None:
    """In the same room."""
    notes = [booking(tools=tools)._recall.note_for_question(QUESTION, 300, lambda _: True) for tools in (True, False)]
    with_handles, bare = (note.sources for note in notes if note is not None)
    assert len(bare) > len(with_handles)


def test_what_was_made_without_handles_has_none_when_the_tools_come() -> None:
    """Else it would be larger than it was counted."""
    session = booking(tools=False)
    session.compose(Budget(400), ask=True)
    assert recalled(session, handles=True) == recalled(session, handles=False)
    assert all(each.good for each in verify(session.log))


@pytest.mark.parametrize("tools", [True, False])
def test_every_quote_that_is_chosen_fits(tools: bool) -> None:
    """Who says it and its handle are reckoned with, so none is dropped afterwards."""
    session = booking(tools=tools)
    note = session._recall.note_for_question(QUESTION, 250, lambda _: True)
    newest = list(session._recall._finder.newest(lambda _: True, session._recall._finder.asking_units()))
    empty = WordCounter().count(frame_recall(session.log.reader, RecallNote(), "en"))
    chosen = overview(session.log, newest, lambda _: True, 250 - empty).sources
    assert note is not None
    assert chosen
    assert set(chosen) <= set(note.sources)


@pytest.mark.parametrize("tools", [True, False])
def test_a_note_fits_its_room(tools: bool) -> None:
    """With handles and without."""
    session = booking(tools=tools)
    note = session._recall.note_for_question(QUESTION, 200, lambda _: True)
    assert note is not None
    assert note.bare is not tools
    assert WordCounter().count(frame_recall(session.log.reader, note, "en", handles=tools)) <= 200


@pytest.mark.parametrize("tokens", [60, 120, 240])
def test_passages_for_a_reader_outside_fit_with_their_handles(tokens: int) -> None:
    """Whether or not the model has a tool to expand them."""
    session = Session(MemoryStore("t"), token_counter=WordCounter())
    for at in range(20):
        session.user("\n".join("we spoke of nothing" if line % 9 else f"crane {at} {line}" for line in range(90)))
    found = session.items.passages("crane", tokens)
    assert "#" in found
    assert WordCounter().count(found) <= tokens
