"""Common mistakes: the error says what to pass instead, and nothing is changed."""

from typing import Any

import pytest

from sightline import Budget, MemoryStore, Session, Settings
from sightline.errors import BadInput
from sightline.testing import WordCounter
from sightline.values.items import Call, Message, Role
from sightline.values.tokens import Estimate


class Counter:
    """A counter of the program's."""

    name = "my counter"

    def __init__(self, count: Any) -> None:
        self.count = count


def failing(text: str) -> int:
    """A count that raises."""
    raise KeyError(text[:3])


@pytest.mark.parametrize("count", [lambda _: 1.5, lambda _: None, lambda _: "3", lambda _: -1, failing])
def test_a_wrong_count_names_the_counter(count: Any) -> None:
    """Wherever it comes in; one that counts is used as it is."""
    for count_tokens, fine in ((WordCounter().count, True), (count, False)):
        session = Session(MemoryStore("s"), token_counter=Counter(count_tokens))
        if fine:
            session.user("hello there")
            assert session.compose(Budget(1_000)).tokens
            continue
        with pytest.raises(BadInput, match=r"token counter 'my counter' (gave|raised)"):
            session.count("hello there")
        with pytest.raises(BadInput, match=r"token counter 'my counter' (gave|raised)"):
            talk(session)


def talk(session: Session) -> None:
    session.user("hello there")
    session.compose(Budget(1_000))


@pytest.mark.parametrize("given", [lambda text: len(text), Estimate, "o200k_base", Counter(5)])
def test_what_is_no_counter_is_refused(given: Any) -> None:
    """A function, a class, a name."""
    with pytest.raises(BadInput, match=r"a token counter is an object with a name and count\(text\)"):
        Session(MemoryStore("s"), token_counter=given)


def test_a_result_names_its_call_by_id() -> None:
    """The call itself is refused; its id is taken."""
    session = Session(MemoryStore("s"))
    session.add(Message(Role.ASSISTANT, (Call("c", "look", {}),)))
    [call] = session.open_calls
    with pytest.raises(BadInput, match=r"pass call\.id"):
        session.tool_result(call, "seen")  # type: ignore[arg-type]
    session.tool_result(call.id, "seen")
    assert not session.open_calls


def test_functions_are_tools_of_an_agent() -> None:
    """A session takes definitions."""
    with pytest.raises(BadInput, match=r"tools\[0\]: found <built-in function len>; pass its definition, or use Agent"):
        Session(MemoryStore("s")).tools([len])  # type: ignore[list-item]


def test_a_reply_that_was_not_awaited_is_refused() -> None:
    """With the word that is missing."""

    async def ask() -> str:
        return "hi"

    asked = ask()
    with pytest.raises(BadInput, match="did you forget `await`"):
        Session(MemoryStore("s")).reply(asked)
    asked.close()


@pytest.mark.parametrize("content", [5, None, {"text": "hi"}])
def test_content_of_another_type_is_refused_by_its_own_name(content: Any) -> None:
    """Not by an index of a list that nobody has passed."""
    with pytest.raises(BadInput, match=r"^content: found .*; accepted: text, bytes, or a list"):
        Session(MemoryStore("s")).user(content)


def test_an_unknown_strategy_says_where_others_come_from() -> None:
    """By the page that shows it."""
    with pytest.raises(BadInput, match=r"unknown strategy 'odd'; choose one of .*; to add one, see docs/strategies.md"):
        Session(MemoryStore("s"), settings=Settings(strategy="odd"))


def test_an_agent_takes_a_model_not_its_name() -> None:
    """The error says what a model has."""
    from sightline.agent import Agent

    with pytest.raises(BadInput, match=r"a model is an object .*stream\(request\).*, not 'gpt-5'"):
        Agent(Session(MemoryStore("s")), "gpt-5")  # type: ignore[arg-type]
