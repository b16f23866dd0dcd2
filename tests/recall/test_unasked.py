"""What comes back by itself after a user's message: only what clearly matches, in its share, once."""

import pytest
from msgspec.structs import replace

from sightline import Budget, MemoryStore, Session
from sightline.compose.inputs import recall_tokens
from sightline.compose.verify import verify
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


NEAR = {
    9: "The lighthouse keeper's brown harbour dog is called Bello.",
    10: "The lighthouse keeper's dog bites in the harbour.",
    11: "There is a brown dog.",
}


@pytest.mark.parametrize(("best_is_hidden", "found"), [(True, [9, 10, 11]), (False, [10])])
def test_beside_what_is_shown_only_what_matches_by_itself_comes_back(best_is_hidden: bool, found: list[int]) -> None:
    """If the answer is shown, the message speaks of it, and what shares a word or two with both is noise."""
    session = talk(NEAR)
    timeline = session.log.timeline
    rows = {
        at: next(row for row in range(len(timeline)) if said in session.log.reader.text(row))
        for at, said in NEAR.items()
    }
    session.user("What is the brown harbour dog of the lighthouse keeper called?")
    note = session._recall.note_for_question(
        "What is the brown harbour dog of the lighthouse keeper called?",
        400,
        lambda row: row in rows.values() and (best_is_hidden or row != rows[9]),
        must_answer=False,
        asked=False,
    )
    assert note is not None
    assert [at for at, row in rows.items() if timeline.id(row) in {source.item for source in note.sources}] == found


MANY_DOGS = {at: f"The lighthouse keeper's harbour dog of year {at} is called Bello {at}. " for at in range(9, 24)}
DOGS = {at: said for at, said in MANY_DOGS.items() if at < 15}
ABOUT_DOGS = "What is the brown harbour dog of the lighthouse keeper called?"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_what_comes_back_has_a_share_of_the_budget(share: float) -> None:
    """Six answers match, 30 tokens each. Where nothing else is free, as many come back as fit the share."""
    session = talk(DOGS)
    session.user(ABOUT_DOGS)
    window = int(session.preview(Budget(1_200)).tokens / 0.94)
    assert pieces(session.preview(Budget(window))) == []
    payload = session.compose(Budget(window, recall=share))
    tokens = sum(line.tokens for line in payload.plan.lines() if line.kind is Kind.RECALL)
    assert share * window / 2 <= tokens <= share * window


@pytest.mark.parametrize(("question", "found"), [(ABOUT_DOGS, True), ("And what else is there to be said?", False)])
def test_the_share_grows_into_what_is_free(question: str, found: bool) -> None:
    """A sweep that is made anyway leaves more free for what the message speaks of, and stays as it is without it."""
    session = talk(MANY_DOGS)
    session.user(question)
    window = session.preview(Budget(1_200)).tokens - 1
    foreseen = session.preview(Budget(window))
    assert foreseen.plan.reason == "sweep: forced"
    payload = session.compose(Budget(window, recall=0.01))
    tokens = sum(line.tokens for line in payload.plan.lines() if line.kind is Kind.RECALL)
    assert (tokens > 0.95 * window - foreseen.tokens) is found
    assert (payload.tokens - tokens < foreseen.tokens) is found
    assert payload.tokens <= 0.95 * window + 24
    assert all(each.good for each in verify(session.log))


@pytest.mark.slow
def test_unasked_finds_what_asked_finds() -> None:
    """Within the same room both bring back the same passages."""
    found = []
    for ask in (True, False):
        session = talk(DOGS)
        session.user(ABOUT_DOGS)
        payload = session.compose(Budget(1_200, recall=0.4), ask=ask)
        (recall,) = pieces(payload)
        found.append({source.item for source in session.log.reader.recall_note(session.items.row(recall)).sources})
    assert {item for item in found[1] if "Bello" in session.items.text(item)} <= found[0]
    assert sum("Bello" in session.items.text(item) for item in found[1]) == 6


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
    timeline, reader = session.log.timeline, session.log.reader
    recalls = [row for row in range(len(timeline)) if timeline.kind[row] == Kind.RECALL]
    sources = [timeline.row(source.item) for row in recalls for source in reader.recall_note(row).sources]
    assert sources
    assert not {timeline.kind[row] for row in sources if row is not None} & {Kind.RECALL, Kind.WINDOW}


@pytest.mark.parametrize("ask", [False, True])
@pytest.mark.parametrize(("who", "found"), [("user", True), ("assistant", False)])
def test_without_a_message_of_the_user_nothing_is_searched_for(who: str, found: bool, ask: bool) -> None:
    """The last words of a model ask for nothing, though they match earlier ones."""
    session = Session(MemoryStore("t"), token_counter=WordCounter())
    for number in range(60):
        session.assistant(f"The crane of pier {number} lifts {number} tonnes, the inspector wrote in report {number}.")
    getattr(session, who)("The crane of pier 7 lifts how many tonnes?")
    session.compose(Budget(300), ask=ask)
    assert any(item.kind is Kind.RECALL for item in session.items) is found


@pytest.mark.parametrize(("window", "most"), [(1_200, 800), (5_000, 800), (20_000, 2_000)])
def test_a_running_conversation_recalls_no_more_than_its_share(window: int, most: int) -> None:
    """Or 800 tokens: what is recalled stays, and fills the window."""
    session = Session(MemoryStore("harbour"), token_counter=WordCounter())
    session.user("Hello.")
    budget = Budget(window)
    plan = session.compose(budget).plan
    view = session._composer.view(budget)
    assert recall_tokens(view, plan) == most
    first = recall_tokens(replace(view, last=None), plan)
    assert most < first <= 4_500


@pytest.mark.slow
def test_what_is_recalled_in_the_first_payload_takes_the_place_of_old_talk() -> None:
    """Beyond 2,500 tokens: the payload grows no further, though all would fit."""
    session = Session(MemoryStore("harbour"), token_counter=WordCounter())
    for at in range(100):
        session.user(f"The lighthouse keeper's dog of year {at} is called Bello {at}. " + 5 * FILLER)
    session.user("What is the dog of the lighthouse keeper called?")
    usual = session.preview(Budget(8_000)).tokens
    payload = session.compose(Budget(8_000))
    recalled = sum(line.tokens for line in payload.plan.lines() if line.kind is Kind.RECALL)
    assert 3_000 < recalled <= 4_500
    assert payload.tokens < usual + 2_600


LOOSE = "Please describe the porcelain suitcase, its padlock, colour, size and weight."


@pytest.mark.parametrize(("calls", "runs", "found"), [(0, False, True), (0, True, False), (70, False, False)])
def test_what_may_answer_comes_back_where_a_conversation_begins_with_a_request(
    calls: int, runs: bool, found: bool
) -> None:
    """No row has much of its words. While a conversation runs, and in work with tools, that is chance."""
    session = Session(MemoryStore("harbour"), token_counter=WordCounter())
    for at in range(60):
        session.user(f"Tell me of pier {at}. " + FILLER)
        session.assistant(SAID.get(at, f"Pier {at} is fine. ") + FILLER)
    for at in range(calls):
        session.assistant([Call(f"{at}", "look", {})])
        session.tool_result(f"{at}", FILLER)
    if runs:
        session.compose(Budget(1_200))
    session.user(LOOSE)
    payload = session.compose(Budget(1_200))
    assert any("suitcase" in session.items.text(recall) for recall in pieces(payload)) is found


def test_a_request_in_a_running_conversation_brings_back_no_overview() -> None:
    """Only in the first payload, where nothing was sent before."""
    session = Session(MemoryStore("harbour"), token_counter=WordCounter())
    for number in range(60):
        session.user(f"The crane at pier {number} costs {number + 100} dollars a day.")
        session.assistant(f"Noted, pier {number}.")
    session.compose(Budget(600, recall=0))
    session.user("Could you please send me a poem about rhubarb?")
    payload = session.compose(Budget(600))
    assert not any(line.kind.name == "RECALL" for line in payload.plan.lines())
