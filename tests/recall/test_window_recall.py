"""What a model writes into windows is found again: by recall, before a message, and by a search."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.log.columns import WHOLE
from sightline.testing import WordCounter
from sightline.values.items import Call, Kind, Message, Role, plain_text

FILLER = "Nothing was to be seen on the water, and the day went by as quietly as the one before it did. "
SMALL = Budget(1_250, recall=0.1)

ADDED = {
    "en": (
        "The brown harbour dog of the lighthouse is called Bello",
        "What is the brown dog of the lighthouse called?",
    ),
    "zh": ("灯塔看守人的棕色小狗名叫贝洛，住在港口", "灯塔看守人的小狗名叫什么？"),
}


def reply(session: Session, name: str, /, **arguments: object) -> None:
    """The model makes this call, which the session answers."""
    session.add(Message(Role.ASSISTANT, (Call(f"c{session.size}", name, arguments),)))
    assert not session.answer_own_calls()


def talk_on(session: Session, turns: int = 40) -> None:
    """Talk until the sweeps have left out what was said before."""
    for at in range(turns):
        session.user(f"Tell me of pier {at}. " + FILLER)
        session.compose(Budget(1_250, recall=0))
        session.assistant(f"Pier {at} is fine. " + FILLER)


@pytest.fixture(params=["added", "closed"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["en", "zh"])
def texts(request: pytest.FixtureRequest) -> tuple[str, str]:
    return ADDED[request.param]


def written(session: Session, way: str, fact: str) -> Session:
    session.tools([*session.windows.tools()])
    talk_on(session, 3)  # what stands at the beginning is left out last
    session.user("Keep what I tell you.")
    session.compose(SMALL)
    reply(session, "create", name="todo")
    if way == "added":
        reply(session, "action", window_id="todo_1", action_id="add", params={"text": f"{fact}. {FILLER}"})
        reply(session, "action", window_id="todo_1", action_id="close")
    else:
        reply(session, "action", window_id="todo_1", action_id="close", params={"summary": f"{fact}. {FILLER}"})
    return session


@pytest.fixture
def session(way: str, texts: tuple[str, str]) -> Iterator[Session]:
    with Session(MemoryStore("harbour"), token_counter=WordCounter(), apps=["todo"]) as session:
        yield written(session, way, texts[0])


def test_a_search_finds_what_a_call_wrote_into_a_window(session: Session, texts: tuple[str, str]) -> None:
    """Also in Chinese, and while nothing is hidden."""
    assert any(texts[0] in match.text for match in session.items.search(texts[1]))


@pytest.mark.slow
def test_recall_and_a_message_bring_back_what_a_window_was_told(session: Session, texts: tuple[str, str]) -> None:
    """A sweep has left the calls out; the line of a closed window may stay."""
    talk_on(session)
    session.user("Go on.")
    messages = session.compose(SMALL).openai()["messages"]
    assert not any(texts[0] in str(message.get("tool_calls")) for message in messages)
    reply(session, "recall", query=texts[1])
    assert texts[0] in plain_text(session.answered[-1].result.parts)
    talk_on(session)
    session.user(texts[1])
    assert texts[0] in str(session.compose(SMALL).openai())


@pytest.mark.slow
def test_a_resumed_session_finds_it_too(tmp_path: Path, way: str, texts: tuple[str, str]) -> None:
    """The index and the columns are those that the first run kept."""
    with Session.new(root=tmp_path, session_id="s", token_counter=WordCounter(), apps=["todo"]) as session:
        talk_on(written(session, way, texts[0]))
        session.items.index()
    with Session.resume("s", root=tmp_path, token_counter=WordCounter()) as session:
        assert any(texts[0] in match.text for match in session.items.search(texts[1]))
        session.user(texts[1])
        assert texts[0] in str(session.compose(SMALL).openai())


def test_the_models_own_recalls_are_no_source(session: Session, texts: tuple[str, str]) -> None:
    """Of `expand` and `recall` neither the call nor the result is found: what they show stands elsewhere."""
    reply(session, "recall", query=texts[1])
    recall = session.answered[-1]
    ids = {match.id for match in session.items.search(texts[1], limit=50)}
    timeline = session.log.timeline
    pages = [row for row in range(len(timeline)) if timeline.kind[row] == Kind.RESULT and timeline.state[row] & WHOLE]
    assert [session.items[timeline.id(row)].parts[0].id for row in pages] == [recall.call.id]  # type: ignore[union-attr]
    own = {timeline.id(row) for row in (*pages, *(timeline.partner[row] for row in pages))}
    assert ids
    assert not ids & own
