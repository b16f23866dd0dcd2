"""A session as people read it: messages with their calls and results, what they cost, and a search through all."""

from typing import Any

import pytest

from sightline import Budget, MemoryStores, Session
from sightline.errors import UnknownItem
from sightline.testing import Ticking, calling
from sightline.view.call_rows import call_at
from sightline.view.transcript import TranscriptPage, find_in_transcript, transcript_page

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MODEL = "claude-opus-5-5"


@pytest.fixture
def session() -> Session:
    """A question with a picture, an answer that thinks and calls two tools, their results in the other order."""
    session = Session.new(stores=MemoryStores(), session_id="s", clock=Ticking(step=2_000))
    session.system("You are careful.")
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    session.user([{"type": "text", "text": "What is in a.py?"}, picture])
    thinking = {"type": "thinking", "thinking": "The user wants a.py.", "signature": "x"}
    uses = [{"type": "tool_use", "id": name, "name": "read", "input": {"path": f"{name}.py"}} for name in "ab"]
    session.reply(_answer([thinking, {"type": "text", "text": "I look."}, *uses]))
    session.tool_result("b", "no such file", error=True)
    session.tool_result("a", "def first(): pass")
    session.reply(_answer([{"type": "text", "text": "A function."}]))
    return session


def _answer(content: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 10}
    return {"type": "message", "role": "assistant", "model": MODEL, "content": content, "usage": usage}


def read(session: Session, **options: Any) -> TranscriptPage:
    return transcript_page(session, **{"start": 0, "limit": 100} | options)


def test_a_result_stands_with_its_call(session: Session) -> None:
    """A message has the calls it makes, each with its own result, in whatever order those came."""
    page = read(session)
    assert [message.kind for message in page.messages] == ["system", "user", "assistant", "assistant"]
    assert (page.total, page.next) == (4, None)
    calls = page.messages[2].calls
    assert [(call.tool, call.text) for call in calls] == [("read", '{"path":"a.py"}'), ("read", '{"path":"b.py"}')]
    results = [call.result for call in calls if call.result is not None]
    assert [(result.error, result.parts[0].text) for result in results] == [
        ("", "def first(): pass"), ("failed", "no such file"),
    ]  # fmt: skip


def test_a_message_says_what_it_is_made_of(session: Session) -> None:
    """Thinking is told apart from what was said, and a picture has its place among those of its item."""
    _, question, answer, _ = read(session).messages
    assert [(part.form, part.image) for part in question.parts] == [("text", None), ("image", 0)]
    assert [(part.form, part.text) for part in answer.parts] == [
        ("thinking", "The user wants a.py."), ("text", "I look."),
    ]  # fmt: skip


def test_what_an_answer_cost_is_what_its_call_cost(session: Session) -> None:
    """The numbers are those of the calls' own page; how long it took is since what stands before it."""
    answers = [message for message in read(session).messages if message.call is not None]
    assert [message.call for message in answers] == [call_at(session, number)[0] for number in (1, 2)]
    assert [message.seconds for message in answers] == [2.0, 2.0]
    assert read(session).messages[1].seconds is None


def test_an_answer_that_was_composed_took_as_long_as_since_its_request() -> None:
    """The time of the receipt counts, and not that of the question."""
    clock = Ticking(step=1_000)
    session = Session.new(stores=MemoryStores(), clock=clock)
    session.user("A question")
    clock.wait(100)
    session.compose(Budget(6_000, 500))
    clock.wait(7)
    session.reply("An answer")
    seconds = read(session).messages[1].seconds
    assert seconds is not None
    assert 7 <= seconds < 20


def test_every_item_leads_to_its_message(session: Session) -> None:
    """An answer, its call and the call's result have one place; the page that has it is the one that is given."""
    answer = read(session).messages[2]
    call = answer.calls[1]
    assert call.result is not None
    for item in (answer.id, call.id, call.result.id):
        page = read(session, at=item, limit=2)
        assert (page.at, page.start, page.messages[0].id) == (2, 2, answer.id)
    with pytest.raises(UnknownItem):
        read(session, at="4711")


def test_a_page_reads_only_what_it_shows(session: Session) -> None:
    """`next` leads on; what is appended is added to the end."""
    first = read(session, limit=3)
    assert (len(first.messages), first.next) == (3, 3)
    session.user("Thanks.")
    rest = read(session, start=3)
    assert ([message.kind for message in rest.messages], rest.total) == (["assistant", "user"], 5)


def test_a_long_text_is_cut_unless_all_of_it_is_wanted() -> None:
    """How long it is is said either way."""
    session = Session.new(stores=MemoryStores())
    session.user("word " * 5_000)
    for whole, length in ((False, 10_000), (True, 25_000)):
        [part] = read(session, whole=whole).messages[0].parts
        assert (len(part.text), part.characters) == (length, 25_000)


def test_a_branch_has_its_own_messages(session: Session) -> None:
    """Those before the fork and its own; not those of the branch that it left."""
    forked = session.fork(at=read(session).messages[1].id)
    forked.reply("Another answer")
    assert [message.kind for message in read(forked).messages] == ["system", "user", "assistant"]
    assert read(forked).messages[-1].parts[0].text == "Another answer"
    assert find_in_transcript(forked, "function", 0, 10).hits == []
    assert read(session).total == 4


@pytest.mark.parametrize(
    ("words", "places"),
    [("a FUNCTION", [3]), ("def  first():\n", [2]), ("wants a.py", [2]), ('{"path"', [2]), ("you", [0]), ("", [])],
)
def test_words_are_found_wherever_they_stand(session: Session, words: str, places: list[int]) -> None:
    """In what was said and thought, in arguments and results; in any case, with any white space."""
    answer = find_in_transcript(session, words, 0, 10)
    assert [hit.place for hit in answer.hits] == places
    assert answer.next is None


def test_a_search_answers_in_parts() -> None:
    """So that a long session is not held for long; together the parts have every hit once."""
    session = Session.new(stores=MemoryStores())
    session.extend([{"role": "user", "content": f"message {number}"} for number in range(5_000)])
    places, start, parts = [], 0, 0
    while start is not None:
        answer = find_in_transcript(session, "message 4", start, 500)
        assert answer.total == 5_000
        places += [hit.place for hit in answer.hits]
        start, parts = answer.next, parts + 1
    assert places == [number for number in range(5_000) if str(number).startswith("4")]
    assert parts >= 3


def test_a_call_without_a_result_says_so() -> None:
    """It may still run."""
    session = Session.new(stores=MemoryStores())
    session.user("Read it.")
    session.reply(calling(("read", {"path": "a"})))
    [call] = read(session).messages[1].calls
    assert call.result is None
