"""What an endpoint does not take of a request is left out once; what cannot be left out is its refusal."""

import json
from types import ModuleType
from typing import Any

import msgspec
import pytest
from model_talk import BUDGET, KINDS, ask, endpoint, pieces, request, said, session, use
from stub import Line, Stub, answer, error

from sightline.agent.models import Model, Request, anthropic, openai
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import plain
from sightline.errors import ModelRefused

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
STALE = "messages.1.content.0: Invalid `signature` in `thinking` block"


def refusal(message: str) -> Line:
    """A request that is refused in these words."""
    return error(400, body={"error": {"message": message, "type": "invalid_request_error"}})


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("openai", {"max_tokens": 100_000}),
        ("openai", {"stream_options": {"include_usage": True}}),
        ("openai", {"response_format": {"type": "json_object"}}),
        ("anthropic", {"output_config": {"effort": "high"}}),
    ],
)
def test_an_option_of_the_configuration_is_refused_once(kind: str, options: dict[str, Any]) -> None:
    """It is sent whatever happens, so the endpoint's words about it are the answer: no second request."""
    (name,) = options
    with Stub([refusal(f"{name}: not like this")] * 3) as stub:
        with pytest.raises(ModelRefused, match=name):
            ask(kind, stub, request(schema=SCHEMA), options=options)
        assert len(stub.asked) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_endpoint_that_refuses_everything_is_not_asked_for_ever(kind: str) -> None:
    """One request for each option that can be left out, and then its refusal."""
    words = f"no stream_options, response_format, max_tokens , max_completion_tokens , output_config; {STALE}"
    with Stub([refusal(words.replace(",", " "))] * 50) as stub:
        with pytest.raises(ModelRefused):
            ask(kind, stub, request(schema=SCHEMA))
        assert len(stub.asked) == (5 if kind.startswith("openai") else 2)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_refused_is_not_sent_again(kind: str) -> None:
    """The next question costs one request."""
    option = "response_format" if kind.startswith("openai") else "output_config"

    async def twice(model: Model) -> None:
        await pieces(model, request(schema=SCHEMA))
        await pieces(model, request(schema=SCHEMA))

    with Stub([refusal(f"unknown: {option}"), answer("a"), answer("b")]) as stub:
        use(kind, stub, twice)
        assert [option in each.body for each in stub.asked] == [True, False, False]


def test_what_is_named_is_always_something_that_was_sent() -> None:
    """Whatever was refused before: the option named is in the request, and not in the next one."""
    with Stub([]) as stub:
        place = endpoint("openai", stub, options={"max_tokens": 9})
    everything = ModelRefused(" ".join(openai.DISPENSABLE))
    refused: set[str] = set()
    while option := openai.refused_option(everything, openai.request_options(request(), place, refused), place):
        assert option not in refused | place.options.keys()
        refused.add(option)
    assert refused == {"stream_options"}


# ------------------------------------------------------------------ thinking that another model signed


def thought(kind: str, stub: Stub, **more: Any) -> str:
    """Ask after an answer that was thought about; what was said."""
    talk = session()
    talk.user("Hello")
    talk.reply(anthropic_reply())
    talk.tool_result("call_1", "done")
    talk.user("And now?")
    return said(ask(kind, stub, Request(talk.compose(BUDGET), 300), **more))


def anthropic_reply() -> dict[str, Any]:
    """An answer of another model: thinking, and a call."""
    thinking = {"type": "thinking", "thinking": "let me see", "signature": "another model's"}
    call = {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {}}
    return {"type": "message", "role": "assistant", "model": "another", "content": [thinking, call]}


@pytest.mark.parametrize("kind", ["anthropic", "anthropic sdk"])
def test_thinking_whose_signature_is_refused_is_left_out(kind: str) -> None:
    """It is sent as it was signed, and where that is refused, the same is asked without it."""
    with Stub([refusal(STALE), answer("Now this.")]) as stub:
        assert thought(kind, stub) == "Now this."
    first, second = (each.body["messages"] for each in stub.asked)
    assert "another model's" in json.dumps(first)
    assert [[block["type"] for block in message["content"]] for message in second] == [
        ["text"],
        ["tool_use"],
        ["tool_result"],
        ["text"],
    ]


@pytest.mark.parametrize("kind", ["anthropic", "anthropic sdk"])
def test_a_signature_that_is_still_refused_is_a_refusal(kind: str) -> None:
    """Without thinking in the request there is nothing left to leave out."""
    with Stub([refusal(STALE)] * 9) as stub:
        with pytest.raises(ModelRefused, match="signature"):
            thought(kind, stub)
        assert len(stub.asked) == 2


def test_a_message_that_was_nothing_but_thinking_still_says_something() -> None:
    """No message without content comes of leaving thinking out."""
    talk = session()
    talk.user("Hello")
    talk.reply(anthropic_reply() | {"content": anthropic_reply()["content"][:1]})
    talk.user("And now?")
    place = Endpoint("some-model", provider="anthropic")
    body = anthropic.request_options(Request(talk.compose(BUDGET), 300), place, {anthropic.THOUGHTS})
    assert all(message["content"] for message in body["messages"])
    assert "let me see" not in json.dumps(plain(body))


@pytest.mark.parametrize("speaks", [openai, anthropic])
def test_what_the_session_has_written_is_not_decoded_for_a_request(speaks: ModuleType) -> None:
    """The messages are the session's own JSON; the whole request is the one of plain values."""
    asked = request()
    body = speaks.request_options(asked, Endpoint(name="m", options={"temperature": 0}), set())
    assert isinstance(body["messages"], msgspec.Raw)
    sent = json.loads(msgspec.json.encode(body))
    wire = speaks.__name__.rpartition(".")[2]
    assert sent.items() >= asked.payload.write(wire, max_tokens=asked.output, temperature=0).items()
    assert plain(body) == sent
