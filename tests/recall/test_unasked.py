"""What comes back by itself after a user's message: only what clearly matches, in its share, once."""

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.testing import WordCounter
from sightline.values.items import Call, Kind
from sightline.wire.payload import Payload

FACT = "The lighthouse keeper's brown harbour dog is called Bello."
THINGS = ("suitcase", "ticket", "umbrella", "sandwich", "compass")
SAID = {9: FACT} | {at: f"Somebody left a {thing} there. " for at, thing in enumerate(THINGS, start=11)}
FILLER = "Nothing was to be seen on the water, and the day went by as quietly as the one before it did. "


@pytest.fixture
def session() -> Session:
    """A long talk, of which early answers, no longer shown, hold a fact and a few other things."""
    return talk(SAID)


def talk(said: dict[int, str], window: int = 1_200) -> Session:
    session = Session(MemoryStore("harbour"), token_counter=WordCounter())
    for at in range(60):
        session.user(f"Tell me of pier {at}. " + FILLER)
        session.compose(Budget(window, recall=0))
        session.assistant(said.get(at, f"Pier {at} is fine. ") + FILLER)
    return session


def recalled(session: Session, question: str, share: float = 0.1) -> list[str]:
    """The ids of the recalled pieces in the payload after this message."""
    session.user(question)
    return pieces(session.compose(Budget(1_200, recall=share)))


def pieces(payload: Payload) -> list[str]:
    return [line.id for line in payload.plan.lines() if line.kind is Kind.RECALL]


@pytest.mark.parametrize(("question", "found"), [
    ("What is the brown harbour dog of the lighthouse keeper called?", True),
    ("Suitcase, ticket, umbrella, sandwich, compass and the dog: who is packed?", False),
])  # fmt: skip
def test_only_what_clearly_matches_comes_back(session: Session, question: str, found: bool) -> None:
    """All words of both messages were said before. Of the second no answer holds more than one, which is chance."""
    assert bool(recalled(session, question)) is found


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_what_comes_back_has_a_share_of_the_budget(share: float) -> None:
    """Six answers match, 30 tokens each; as many come back as fit the share."""
    session = talk(
        {at: f"The lighthouse keeper's harbour dog of year {at} is called Bello {at}. " for at in range(9, 15)}
    )
    session.user("What is the brown harbour dog of the lighthouse keeper called?")
    payload = session.compose(Budget(1_200, recall=share))
    tokens = sum(line.tokens for line in payload.plan.lines() if line.kind is Kind.RECALL)
    assert share * 1_200 / 2 <= tokens <= share * 1_200


def test_a_message_is_searched_for_once(session: Session) -> None:
    """A second call for the same message adds nothing."""
    first = recalled(session, "What is the brown harbour dog of the lighthouse keeper called?")
    assert len(first) == 1
    assert pieces(session.compose(Budget(1_300, recall=0.5))) == first


def test_a_message_is_searched_for_only_at_its_first_call() -> None:
    """What is hidden later in the turn does not come back by itself: that would be after a tool's answer."""
    session = talk({9: FACT}, window=100_000)
    session.user("What is the brown harbour dog of the lighthouse keeper called?")
    assert pieces(session.compose(Budget(100_000))) == []
    session.assistant([Call("c", "look", {})])
    session.tool_result("c", FILLER)
    payload = session.compose(Budget(1_200))
    assert payload.plan.left_out is not None
    assert pieces(payload) == []


def test_what_was_recalled_is_no_source(session: Session) -> None:
    """Questions about one thing, again and again: each brings back what was said, never what was brought back."""
    for number in range(6):
        session.user(f"Question {number}: what is the brown harbour dog of the lighthouse keeper called?")
        session.compose(Budget(1_200))
        session.assistant("Bello. " + FILLER)
    timeline, reader = session._journal.timeline, session._journal.reader
    recalls = [row for row in range(len(timeline)) if timeline.kind[row] == Kind.RECALL]
    sources = [timeline.row(source.item) for row in recalls for source in reader.sources(row)]
    assert sources
    assert not {timeline.kind[row] for row in sources if row is not None} & {Kind.RECALL, Kind.WINDOW}
