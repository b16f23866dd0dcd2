"""A message that asks for several things: each is searched for by itself."""

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.recall.finder import question_parts
from sightline.testing import WordCounter
from sightline.values.items import Kind

BOTH = "What did Tom say about the garden fence? Which flight does Mia take to Rome?"


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        (BOTH, ["What did Tom say about the garden fence", "Which flight does Mia take to Rome"]),
        (
            "What art does Caroline make, and where did Melanie go camping?",
            ["What art does Caroline make", "where did Melanie go camping"],
        ),
        ("渡轮几点开，还有酒店房间多少钱？", ["渡轮几点开", "酒店房间多少钱"]),
        ("When did Anna go to Paris and who did she meet there?", []),
        ("What do salt and pepper cost?", []),
        ("Thanks. What did Ada say about the harbour?", []),
        ("The fence is broken. The flight leaves at nine.", []),
    ],
)
def test_each_part_has_words_of_its_own_to_look_for(message: str, parts: list[str]) -> None:
    """What asks for one thing, goes on about it, or only tells something is not taken apart."""
    assert question_parts(message) == parts


@pytest.mark.parametrize("question", [BOTH, " ".join(BOTH.split("? ")[::-1])])
def test_both_parts_are_recalled(question: str) -> None:
    """Of one thing much was said, enough to fill the room; of the other something once, with half of its words."""
    session = Session(MemoryStore("t"), token_counter=WordCounter())
    for at in range(60):
        session.user(f"Tom said about the garden fence: part {at} is rotten. " if at % 3 else f"A quiet day {at}. ")
        session.assistant("Mia flies to Rome at nine." if at == 20 else f"I see, {at}. ")
    session.user(question)
    session.compose(Budget(260), ask=True)
    (recall,) = [item for item in session.items if item.kind is Kind.RECALL]
    assert "Mia flies to Rome" in session.items.text(recall.id)
    assert "garden fence" in session.items.text(recall.id)
