"""The pace of a recording: a session that replays it sees its pauses."""

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.testing import WordCounter
from sightline.values.items import Message, Role, Text
from sightline.view.replay.formats import Recording, recorded
from sightline.view.replay.replay import Pace, replay

NOW = 1_790_000_000_000
MINUTE = 60_000


def recording(pause: int) -> Recording:
    """A talk that fills a small window once, then most of it again, and ends after a pause."""
    messages: list[Message] = []
    for number in range(12):
        messages.append(Message(Role.USER, (Text(f"question {number} " + "word " * 50),)))
        messages.append(Message(Role.ASSISTANT, (Text("answer " * 50),)))
    times = [NOW + at * 1_000 for at in range(22)]
    return Recording(tuple(messages), times=(*times, times[-1] + pause, times[-1] + pause))


@pytest.mark.parametrize(("minutes", "cold"), [(1, False), (31, True)])
def test_a_session_sweeps_when_the_recorded_pause_outlasted_the_cache(minutes: int, cold: bool) -> None:
    """The same talk: after a short pause nothing is shortened, after a long one that costs nothing extra."""
    talk = recording(minutes * MINUTE)
    pace = Pace(talk.times)
    with Session(MemoryStore("pace"), clock=pace, token_counter=WordCounter()) as session:
        steps = [*replay(session, talk, Budget(1_100), pace)]
    assert "sweep: forced" in [step.payload.plan.reason for step in steps[:-1]]
    assert steps[-1].payload.plan.reason == ("sweep: cold" if cold else "")


def test_the_clock_never_goes_back() -> None:
    """Lines may be written out of order, and a time may be missing."""
    pace = Pace((NOW, 0, NOW + 5, NOW + 2))
    shown = []
    for index in range(5):
        pace.go_to(index)
        shown.append(pace())
    assert shown == [NOW, NOW, NOW + 5, NOW + 5, NOW + 5]


def test_a_list_of_messages_has_no_times() -> None:
    """Then the clock stands still."""
    talk = recorded([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}])
    assert talk.times == (0, 0)
    assert Pace(talk.times)() == 1
