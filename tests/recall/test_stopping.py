"""Where a recall stops, and in which order it stands."""

import pytest

from sightline import MemoryStore, Session
from sightline.log.recall_frame import day_of, written_dates
from sightline.testing import WordCounter
from sightline.values.items import Message, Role, Text

WORDS = ("lighthouse", "keeper", "brown", "harbour", "dog")
QUESTION = f"What is the {' '.join(WORDS)} called?"
FILLER = "Nothing was seen on the water and the day went by as quietly as the one before it did. " * 3


@pytest.fixture
def session() -> Session:
    """A talk in which later turns, far from each other, have ever fewer words of the question."""
    session = Session(MemoryStore("t"), token_counter=WordCounter())
    for at in range(200):
        said = " ".join(WORDS[: 5 - at // 40]) if at % 40 == 20 else "quiet"
        session.user(f"Day {at}: {said}. {FILLER}")
    session.user(QUESTION)
    return session


def brought(session: Session, tokens: int) -> list[int]:
    """The days that come back for the question, in their order."""
    note = session._recall.note_for_question(QUESTION, tokens, lambda _: True)
    assert note is not None
    return [int(session.items.text(source.item).split(":")[0].removeprefix("Day ")) for source in note.sources]


def test_a_larger_room_brings_back_what_matches_less(session: Session) -> None:
    """A small room is not filled with what is far less likely than the best; a large one goes on."""
    small, large = brought(session, 2_000), brought(session, 9_000)
    assert 20 in small
    assert set(small) < set(large)


def test_what_is_less_likely_is_relevant_in_a_large_room(session: Session) -> None:
    """Each doubling of the room lowers what a row must score."""
    assert len(brought(session, 20_000)) > 100


def test_the_best_stand_next_to_the_question(session: Session) -> None:
    """Others stand before them; both are in the order of the conversation."""
    days = brought(session, 9_000)
    turn = next(at for at in range(1, len(days)) if days[at] < days[at - 1])
    assert 20 in days[turn:]
    assert days[:turn] == sorted(days[:turn])
    assert days[turn:] == sorted(days[turn:])


@pytest.mark.parametrize(
    ("label", "day"),
    [
        ("1:56 pm on 8 May, 2023", "8 May, 2023"),
        ("2024年3月21日 星期四 10:30", "2024年3月21日 星期四"),
        ("2024年3月21日下午3点20分", "2024年3月21日"),
        ("2024-03-21T10:30:22.120Z", "2024-03-21"),
        ("2024-03-21 10:30:22+08:00", "2024-03-21"),
        ("21-03-2024", "21-03-2024"),
        ("10:30", "10:30"),
        ("yesterday", "yesterday"),
    ],
)
def test_the_day_is_the_date_without_the_time(label: str, day: str) -> None:
    """In whatever words the caller says when; what has no day stays as it is."""
    assert day_of(label) == day


def test_a_day_has_one_date() -> None:
    """With the time if all is of one time, else without; logs of earlier versions keep every time."""
    times = ["3 May 10:30", "3 May 11:15", "4 May 9:00", "4 May 9:00"]
    assert written_dates(times, by_day=True) == ["3 May", "3 May", "4 May 9:00", "4 May 9:00"]
    assert written_dates(times, by_day=False) == times


def test_messages_of_one_day_are_recalled_under_one_date() -> None:
    """Each was said at another time."""
    session = Session(MemoryStore("t"), token_counter=WordCounter())
    for at in range(6):
        session.add(Message(Role.USER, (Text(f"The harbour dog barked {at} times."),), when=f"2024年3月21日 10:3{at}"))
    session.user("How often did the harbour dog bark?")
    note = session._recall.note_for_question("How often did the harbour dog bark?", 500, lambda _: True)
    assert note is not None
    text = session.log.reader.recall_text(note, "en", "2026-01-01")
    assert text.count("2024年3月21日") == 1
    assert "10:3" not in text
