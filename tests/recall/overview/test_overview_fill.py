"""Where no passage stands out, what was settled fills the room."""

import pytest

from sightline import MemoryStore, Session
from sightline.testing import WordCounter
from sightline.values.items import Call

BOOKED = ("Luna hotel, 4 May", "Rialto table, 7:30 pm", "flight 118 to Oslo", "Dr. Okafor, Tuesday", "Fiat rental, $45")
FILLER = "Let me see what there is, I am looking for something quiet and not too far away from it all. "


def booking(*, works: bool = False) -> Session:
    """A talk in which things are booked here and there; or work with many calls."""
    session = Session(MemoryStore("t"), token_counter=WordCounter())
    for at in range(80):
        session.user(f"{FILLER} ({at})")
        if works:
            for number in range(2):
                session.assistant([Call(f"{at}.{number}", "look", {})])
                session.tool_result(f"{at}.{number}", "Nothing.")
        session.assistant(f"Your booking: {BOOKED[at // 16]}." if at % 16 == 8 else f"Right, and then? ({at})")
    return session


def values_told(session: Session, message: str, *, asked: bool) -> int:
    """How many of the booked things come back."""
    session.user(message)
    recall = session._recall
    note = recall.note_for_question(
        message, 300, lambda _: True, must_answer=asked, asked=asked or recall.may_be_answered(message)
    )
    text = session.log.reader.recall_text(note, "en") if note else ""
    return sum(value.split(",")[0] in text for value in BOOKED)


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize(
    "message",
    [
        "My phone died. Please send me the bookings once more.",
        "Which bookings are in my calendar?",
        "Type up our bookings for my records.",
        "I'm handing my bookings over to a colleague.",
    ],
)
def test_an_overview_fills_the_room_where_no_passage_stands_out(message: str, asked: bool) -> None:
    """The words of the message stand all over the talk, or nowhere. How it asks, or whether, tells nothing."""
    assert values_told(booking(), message, asked=asked) == len(BOOKED)


@pytest.mark.parametrize("message", ["Which flight is it to Oslo?", "OK, thanks. Go on, please.", 41 * "umbrella, "])
def test_what_names_something_or_nothing_brings_no_overview(message: str) -> None:
    """One passage has what the first names; the second says nothing, and the third is too long for a question."""
    assert values_told(booking(), message, asked=False) <= 1


def test_what_matches_has_half_of_the_room_where_no_passage_stands_out() -> None:
    """The other half is for what was settled."""
    session = booking()
    session.user(message := "Which booking is it?")
    note = session._recall.note_for_question(message, 90, lambda _: True)
    assert note is not None
    whole = [source for source in note.sources if "booking" in session.items.text(source.item) and not source.quotes]
    assert len(whole) == len(BOOKED)


def test_work_before_a_talk_brings_no_overview() -> None:
    """Its overview would be a digest, which has no place beside passages: so these have all the room."""
    session = Session(MemoryStore("t"), token_counter=WordCounter())
    for at in range(30):
        session.assistant([Call(f"{at}.{number}", "look", {}) for number in range(6)])
        for number in range(6):
            session.tool_result(f"{at}.{number}", "Nothing.")
    for at in range(150):
        session.user(f"{FILLER} ({at})")
    assert session._recall._rest("Which umbrella?", ()) == []


def test_work_with_tools_brings_no_overview_unasked() -> None:
    """Its values are too many, and a digest is made only where somebody asks for everything."""
    assert values_told(booking(works=True), "Please fix the umbrella.", asked=False) == 0
