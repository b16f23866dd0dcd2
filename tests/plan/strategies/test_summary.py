"""Dynamic summarising in a session: when it is wanted, what the model is shown, what enters and when."""

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import BadInput, Budget, Payload, Session, Settings
from sightline.plan.strategies import strategy
from sightline.plan.strategies.summary import Summary
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values.items import Call, Kind, Role, plain_text

ROOM = Budget(4_000, recall=0)


def made(layout: str = "stable", **config: Any) -> Session:
    settings = Settings(strategy="summary", config=config, layout=layout)
    return Session(
        MemoryStore("s"), settings=settings, token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids()
    )


def turns(session: Session, first: int, last: int, size: int = 20) -> None:
    """Whole turns, each with a payload sent."""
    for n in range(first, last + 1):
        session.user(f"question {n} " + "word " * size)
        session.compose(ROOM)
        session.reply(f"answer {n} " + "word " * size)


def said(payload: Payload) -> list[str]:
    """The first two words of each message: "question 3", "answer 3"; a summary's text."""
    texts = [plain_text(message.parts[-1:]) for message in payload.body if message.role is not Role.TOOL]
    return [" ".join(text.split()[:2]) for text in texts]


def exchanges(first: int, last: int) -> list[str]:
    return [text for n in range(first, last + 1) for text in (f"question {n}", f"answer {n}")]


class Model:
    """Numbers its summaries, and remembers what it was shown."""

    def __init__(self) -> None:
        self.shown: list[list[str]] = []

    def __call__(self, payload: Payload) -> str:
        self.shown.append(said(payload))
        return f"summary {len(self.shown)}"


@pytest.mark.accepts(272)
def test_the_threshold_itself_does_not_trigger() -> None:
    """Ten turns want nothing; the eleventh does, and a threshold of one's own moves both."""
    session, own = made(), made(threshold=20)
    turns(session, 1, 10)
    assert not session.summaries.wanted
    turns(session, 11, 11)
    assert session.summaries.wanted
    turns(own, 1, 20)
    assert not own.summaries.wanted
    turns(own, 21, 21)
    assert own.summaries.wanted


@pytest.mark.accepts(273, 274, 276)
def test_the_oldest_turns_are_folded_again_and_again() -> None:
    """11 turns become a summary and 6; 16 a summary of the first summary and of five turns more, and again 6."""
    session, model = made(), Model()
    turns(session, 1, 11)
    assert session.summaries.in_background(model)
    session.summaries.wait()
    assert model.shown[0] == exchanges(1, 5)
    session.user("question 12")
    payload = session.compose(ROOM)
    assert said(payload) == ["summary 1", *exchanges(6, 11), "question 12"]
    assert session.receipt is not None
    assert session.receipt.reason == "sweep: summary"
    session.reply("answer 12 in more words than a few")
    turns(session, 13, 15)
    assert not session.summaries.in_background(model)
    turns(session, 16, 16)
    assert session.summaries.in_background(model)
    session.summaries.wait()
    assert model.shown[1] == ["summary 1", *exchanges(6, 10)]
    session.user("question 17")
    assert said(session.compose(ROOM)) == ["summary 2", *exchanges(11, 16), "question 17"]


@pytest.mark.accepts(274)
def test_nothing_folded_is_lost() -> None:
    """What a summary stands for is in the log, can be found, and comes back when the compaction is undone."""
    session, model = made(), Model()
    turns(session, 1, 11)
    session.summaries.in_background(model)
    session.summaries.wait()
    session.compose(ROOM)
    assert [found for found in session.items.search("question 3") if "question 3" in session.items.text(found.id)]
    session.summaries.undo()
    assert said(session.compose(ROOM))[:4] == exchanges(1, 2)


@pytest.mark.accepts(273)
def test_the_model_sees_what_the_window_had_no_room_for() -> None:
    """A summary of turns that were no longer sent is made from those turns, not from what was sent."""
    session, model = made(), Model()
    for n in range(1, 12):
        session.user(f"question {n} " + "word " * 60)
        session.compose(Budget(500, recall=0))
        session.reply(f"answer {n} " + "word " * 60)
    assert "question 1" not in said(session.preview(Budget(500, recall=0)))
    assert session.summaries.in_background(model)
    session.summaries.wait()
    assert model.shown[0] == exchanges(1, 3)  # as many whole turns as the model has room for
    assert said(session.preview(Budget(2_000, recall=0)))[:3] == ["summary 1", "question 4", "answer 4"]


@pytest.mark.accepts(275)
@pytest.mark.parametrize("layout", ["stable", "openstarry"])
def test_the_summary_stands_right_after_the_system_prompt(layout: str) -> None:
    """First of the body, whatever else is said before the history."""
    session = made(layout)
    session.system("be kind")
    turns(session, 1, 11)
    session.summaries.in_background(Model())
    session.summaries.wait()
    messages = session.compose(ROOM).openai()["messages"]
    assert messages[0]["role"] == "system"
    assert messages[1]["content"][-1]["text"] == "summary 1"


@pytest.mark.accepts(278)
def test_a_model_that_fails_changes_nothing_and_is_asked_again() -> None:
    """Neither history nor summary are touched; the next try may succeed."""
    session = made()
    turns(session, 1, 11)
    before = said(session.preview(ROOM))

    def broken(payload: Payload) -> str:
        raise TimeoutError("no answer")

    assert session.summaries.in_background(broken)
    session.summaries.wait()
    assert said(session.preview(ROOM)) == before
    assert session.summaries.in_background(Model())
    session.summaries.wait()
    assert said(session.preview(ROOM))[0] == "summary 1"


@pytest.mark.accepts(278)
def test_one_summary_is_made_at_a_time() -> None:
    """While a model works no second one is asked, and the conversation goes on meanwhile."""
    session, go, asked = made(), threading.Event(), []

    def slow(payload: Payload) -> str:
        asked.append(payload)
        go.wait(10)
        return "summary 1"

    turns(session, 1, 11)
    assert session.summaries.in_background(slow)
    assert not session.summaries.in_background(slow)
    turns(session, 12, 12)
    assert said(session.preview(ROOM))[:2] == exchanges(1, 1)
    go.set()
    session.summaries.wait()
    assert len(asked) == 1
    assert said(session.preview(ROOM))[:2] == ["summary 1", "question 6"]


@pytest.mark.slow
@pytest.mark.accepts(279)
@given(st.integers(120, 2_000), st.integers(5, 60))
def test_the_summary_is_charged_and_turns_are_cut_at_user_messages(window: int, size: int) -> None:
    """The payload fits; the summary holds before any history does; what is shown of that begins with a question."""
    session = made()
    turns(session, 1, 11, size)
    session.summaries.in_background(Model())
    session.summaries.wait()
    session.user("question 12")
    payload = session.compose(Budget(window, recall=0))
    assert payload.tokens <= window
    summary, *history = said(payload)
    assert summary == "summary 1"
    assert history == [*exchanges(1, 11), "question 12"][-len(history) :]
    assert history[0].startswith("question")


@pytest.mark.accepts(279)
def test_a_summary_too_large_for_the_window_gives_way_before_the_question() -> None:
    """It is shortened, then left out; the question stays."""
    session = made()
    turns(session, 1, 11, 200)
    session.summaries.in_background(lambda payload: "Summary of it all. " + "more " * 900)
    session.summaries.wait()
    question = session.user("question 12")
    for window in (1_100, 400, 40):
        payload = session.compose(Budget(window, recall=0))
        assert payload.tokens <= window
        assert payload.body[-1].id == question
    assert [line.kind for line in payload.plan.lines()] == [Kind.USER]


@pytest.mark.accepts(279)
def test_a_tool_exchange_belongs_to_the_turn_that_asked_for_it() -> None:
    """Turns are counted by what the user said: calls and late results begin none."""
    session = made(threshold=2, batch=1)
    for n in range(2):
        session.user(f"question {n} " + "word " * 20)
        for m in range(4):
            session.assistant([Call(f"c{n}{m}", "read", {})])
            session.tool_result(f"c{n}{m}", "word " * 20)
    session.assistant([Call("late", "read", {})])
    session.interrupt()
    session.tool_result("late", "at last")
    session.compose(ROOM)
    assert not session.summaries.wanted
    session.user("question 3")
    model = Model()
    assert session.summaries.in_background(model)
    session.summaries.wait()
    assert [text for text in model.shown[0] if text.startswith("question")] == ["question 0"]


def test_what_was_summarised_otherwise_is_not_folded_twice() -> None:
    """After a compaction that somebody asked for, only the turns it left count."""
    session, model = made(), Model()
    turns(session, 1, 12)
    session.summaries.compact(model=lambda payload: "all of it in short")
    left = len([text for text in said(session.compose(ROOM)) if text.startswith("question")])
    turns(session, 13, 12 + 10 - left)
    assert not session.summaries.wanted
    turns(session, 13 + 10 - left, 13 + 10 - left)
    session.summaries.in_background(model)
    session.summaries.wait()
    assert model.shown[0][0] == "all of"
    assert next(text for text in model.shown[0] if text.startswith("question")) == f"question {12 - left + 1}"


@pytest.mark.accepts(286, 288)
def test_the_configuration_is_checked() -> None:
    """Whole numbers, the threshold above the batch; the document's spelling is understood; errors say what is taken."""
    made = strategy("summary", {"compressionModel": "gemini-1.5-flash", "threshold": 20})
    assert made == Summary(threshold=20, batch=5, compression_model="gemini-1.5-flash")
    for wrong in ({"threshold": 5}, {"threshold": "20"}, {"threshold": 20.5}, {"batch": 0}, {"threshold": True},
                  {"treshold": 20}, {"batch": 12}, {"compressionModel": 1}):  # fmt: skip
        with pytest.raises(BadInput, match=r"strategy 'summary' does not take this.*it takes threshold"):
            strategy("summary", wrong)
    with pytest.raises(BadInput, match="say it once"):
        strategy("summary", {"compressionModel": "a", "compression_model": "b"})
    with pytest.raises(BadInput, match="more than batch"):
        Summary(threshold=3)
