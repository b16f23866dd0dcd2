"""The sliding window: the newest units that fit, chosen on fingers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import Budget, PinnedOverflow, Session, Settings
from sightline.plan.plan import Plan
from sightline.plan.strategies import strategy
from sightline.plan.strategies.sliding import Sliding
from sightline.plan.view import View
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Kind, Lod, Opaque, Text
from sightline.values.profiles import profile

FRAMING, CALL, REQUEST = 4, 8, 3  # tokens around each message, each call and the request


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


def made(name: str = "sliding", **settings: object) -> Session:
    options = Settings(strategy=name, **settings)  # type: ignore[arg-type]
    return Session(MemoryStore("s"), settings=options, token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids())


def shown(session: Session, window: int) -> list[str]:
    """The ids of the messages in a payload for this window, which it fits."""
    payload = session.compose(Budget(window, recall=0))
    assert payload.tokens <= window
    return [message.id for message in payload.body]


@pytest.mark.accepts(263, 264, 265, 267)
def test_the_documents_vector() -> None:
    """Limit 100, 40 taken by system, tools and dynamic context, ten messages of 15: the newest four, in order."""
    session = made()
    for n in range(5):
        session.user(words(15 - FRAMING, f"user{n}"))
        session.assistant(words(15 - FRAMING, f"reply{n}"))
    journal = session.log
    view = View(
        journal.timeline, journal.path, profile("openai"), Budget(100), limit=100, fixed=20 + 10 + 10, last=None,
        new=range(10), asked=8,
    )  # fmt: skip
    plan = Sliding().plan(view)
    assert list(plan) == [6, 7, 8, 9]
    assert plan.tokens == 100
    assert plan.lods == {}


@pytest.mark.accepts(264, 265)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(60, 400))
def test_what_is_shown_is_the_longest_run_of_the_newest_that_fits(sizes: list[int], window: int) -> None:
    """Without a question to hold on to, it is the messages from the newest back while their sum is within the room."""
    session = made()
    ids = [session.assistant(words(size)) for size in sizes]
    room, kept = window - REQUEST, 0
    while kept < len(sizes) and sizes[-kept - 1] + FRAMING <= room:
        room -= sizes[-kept - 1] + FRAMING
        kept += 1
    assert shown(session, window) == (ids[-kept:] if kept else [])


@pytest.mark.accepts(268)
def test_nothing_is_shortened_that_fits() -> None:
    """A text long enough to have a summary is shown in full while there is room, and left out when there is none."""
    session = made()
    old = session.assistant(words(600))
    session.user("and now?")
    assert old in shown(session, 700)
    session.assistant(words(200))
    payload = session.compose(Budget(700, recall=0))
    assert old not in [message.id for message in payload.body]
    assert payload.plan.lods == {}


@pytest.mark.slow
@pytest.mark.accepts(269)
@given(st.integers(60, 500), st.lists(st.integers(1, 60), min_size=1, max_size=8))
def test_a_result_is_never_without_its_call(window: int, sizes: list[int]) -> None:
    """Calls and results are in or out together, however small the window."""
    session = made()
    for n, size in enumerate(sizes):
        session.user(words(5))
        session.assistant([Call(f"call{n}", "read", {"path": f"file{n}"})])
        session.tool_result(f"call{n}", words(size))
    messages = session.compose(Budget(window, recall=0)).openai()["messages"]
    called = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == called


def test_a_newest_unit_larger_than_the_window_is_shown_shortened() -> None:
    """The result that the model waits for is not dropped: it stands there as its summary, and says what it was."""
    session = made()
    session.user("read it")
    session.assistant([Call("a", "read", {"path": "a.log"})])
    session.tool_result("a", "\n".join(f"line {n} of the log" for n in range(1_000)))
    payload = session.compose(Budget(600, recall=0))
    lines = list(payload.plan.lines())
    assert [line.kind for line in lines] == [Kind.USER, Kind.ASSISTANT, Kind.CALL, Kind.RESULT]
    assert lines[-1].lod < Lod.FULL
    assert lines[-1].why == "larger than the window"
    assert payload.tokens <= 600


def test_what_was_shortened_stays_so_while_it_is_shown() -> None:
    """Once it is no longer the newest it neither grows back into the room of others nor vanishes."""
    session = made()
    session.user("read it")
    session.assistant([Call("a", "read", {"path": "a.log"})])
    large = session.tool_result("a", "\n".join(f"line {n} of the log" for n in range(1_000)))
    before = session.compose(Budget(600, recall=0))
    session.assistant(words(20))
    session.configure(locale="zh")  # the next call is a sweep
    after = session.compose(Budget(700, recall=0))
    assert after.plan.reason == "settings changed"
    row = session.log.timeline.row(large)
    assert row is not None
    assert after.plan.lod(row) == before.plan.lod(row) < Lod.FULL


def test_a_providers_own_blocks_are_not_shortened_while_their_turn_is_open() -> None:
    """Of a newest message with thinking only the results are shortened, even where that is not enough to show it."""
    session = made()
    session.user("read it")
    thinking = Opaque("anthropic", "thinking", {"type": "thinking", "thinking": words(300), "signature": "s"})
    session.assistant([thinking, Text("I look"), Call("a", "read", {"path": "a.log"})])
    session.tool_result("a", words(2_000))
    lods = session.compose(Budget(900, recall=0)).plan.lods
    assert [session.log.timeline.kind[row] for row in lods] == [Kind.RESULT]
    assert shown(session, 300) == [next(iter(session.items)).id]


@pytest.mark.parametrize("name", ["sliding", "summary"])
def test_the_question_is_always_there(name: str) -> None:
    """However many tool calls came after it, what the user asked is shown, whole up to a quarter of the window."""
    session = made(name)
    question = session.user(words(40, "please"))
    for n in range(30):
        session.assistant([Call(f"c{n}", "read", {})])
        session.tool_result(f"c{n}", words(20))
    payload = session.compose(Budget(200, recall=0))
    assert payload.body[0].id == question
    assert payload.body[0].parts == (Text(words(40, "please")),)
    assert len(payload.body) > 1


def test_rules_have_room_when_the_messages_that_set_them_are_out() -> None:
    """What the user laid down is quoted, within its share, and the payload still fits."""
    session = made()
    session.user("Never touch the file prod.env. " + words(60))
    for _ in range(20):
        session.assistant(words(60))
        session.user(words(30))
    payload = session.compose(Budget(1_000, recall=0))
    assert "Never touch the file prod.env." in payload.plan.preface
    assert payload.tokens <= 1_000


def test_pins_stay_and_their_room_is_taken_from_the_rest() -> None:
    """A pinned message is shown whatever its age; what fits beside it is still the newest."""
    session = made()
    pinned = session.assistant(words(50))
    ids = [session.assistant(words(20)) for _ in range(10)]
    session.items.pin(pinned)
    assert shown(session, 150) == [pinned, *ids[-3:]]
    with pytest.raises(PinnedOverflow):
        session.compose(Budget(50))


@pytest.mark.accepts(262)
def test_an_unknown_key_is_refused() -> None:
    """By name, with the one there is."""
    assert isinstance(strategy("sliding"), Sliding)
    with pytest.raises(ValueError, match=r"maxTurns.*it takes constraints"):
        strategy("sliding", {"maxTurns": 5})


def test_between_sweeps_it_only_adds() -> None:
    """While everything fits a plan extends the one before."""
    session = made()
    session.user("hello")
    first = session.compose(Budget(1_000)).plan
    session.assistant("good day")
    second = session.compose(Budget(1_000)).plan
    assert second.extends(first)
    assert isinstance(second, Plan)


@pytest.mark.accepts(264)
def test_room_that_comes_back_is_used() -> None:
    """After a larger window the messages that fit now are there again, and what was shortened is whole."""
    session = made()
    ids = [session.assistant(words(20)) for _ in range(10)]
    large = session.assistant(words(400))
    assert shown(session, 100) == [*ids[-2:], large]
    assert shown(session, 1_000) == [*ids, large]
    assert session.compose(Budget(1_000, recall=0)).plan.lods == {}
