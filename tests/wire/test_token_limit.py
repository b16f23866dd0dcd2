"""The token limit of the reply: from the budget into every format, unless the program has one of its own."""

from typing import Any

import anthropic
import openai
import pytest
from stub import Stub, answer

import sightline as sl
from sightline.testing import MemoryStore

NAMES = {"openai": "max_completion_tokens", "responses": "max_output_tokens", "anthropic": "max_tokens"}


def talk(output: int = 700) -> sl.Payload:
    session = sl.Session(MemoryStore())
    session.user("Hello")
    return session.compose(sl.Budget(8_000, output=output))


@pytest.mark.parametrize("wire", NAMES)
def test_the_budgets_output_is_the_limit_of_the_reply(wire: str) -> None:
    """By the name that the provider has for it. Prompt and hash are the same with every limit."""
    payload, other = talk(), talk(900)
    assert payload.write(wire)[NAMES[wire]] == 700
    assert other.write(wire) == payload.write(wire) | {NAMES[wire]: 900}
    assert other.hash == payload.hash


def test_without_an_output_only_anthropic_gets_a_limit() -> None:
    """Its API demands one; the others have a default of their own."""
    payload = talk(output=0)
    assert payload.anthropic()["max_tokens"] == 4_096
    assert payload.openai().keys() == {"messages"}
    assert payload.responses().keys() == {"input"}


@pytest.mark.parametrize("wire", NAMES)
def test_a_limit_of_the_programs_own_wins(wire: str) -> None:
    """Under its name, and under the older one of chat completions: the API refuses both together."""
    own: dict[str, Any] = {NAMES[wire]: 50, "temperature": 0.5}
    assert talk().write(wire, **own) == talk().write(wire) | own
    assert talk().openai(max_tokens=50).keys() == {"messages", "max_tokens"}


def test_one_session_writes_each_payload_with_its_own_limit() -> None:
    """The head that is kept from the payload before has another limit."""
    session = sl.Session(MemoryStore())
    session.user("Hello")
    first = session.compose(sl.Budget(8_000, output=700))
    assert first.openai()["max_completion_tokens"] == 700
    assert session.compose(sl.Budget(8_000, output=300)).openai()["max_completion_tokens"] == 300
    assert first.openai()["max_completion_tokens"] == 700


def test_the_clients_take_the_arguments_as_they_stand() -> None:
    """`create(**payload.anthropic(), model=…)`, and the same for OpenAI."""
    with Stub([answer("Hi"), answer("Hi")]) as stub:
        with anthropic.Anthropic(api_key="sk-test", base_url=stub.url) as client:
            client.messages.create(**talk(output=0).anthropic(), model="m")
        with openai.OpenAI(api_key="sk-test", base_url=f"{stub.url}/v1") as other:
            other.chat.completions.create(**talk().openai(), model="m")
    assert [asked.body.get("max_tokens", asked.body.get("max_completion_tokens")) for asked in stub.asked] == [
        4_096,
        700,
    ]
