"""The scripted upstream refuses in the Responses API what the provider refuses."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from upstream import Upstream
from upstream_media import PNG
from upstream_rules import seal
from upstream_script import answer, call, think

Json = dict[str, Any]
FUNCTION = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}
CALL = {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "what a says"}
REASON = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": seal("Hm.")}
HI = {"role": "user", "content": "Hello"}
KEY = {"authorization": "Bearer any"}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """An upstream that always says yes."""
    with Upstream(lambda asked: answer("Yes.")) as upstream:
        yield upstream


def ask(*items: Any, **more: Any) -> Json:
    """A request of the Responses API that keeps nothing."""
    return {"model": "gpt-5.2", "tools": [FUNCTION], "input": list(items), "store": False, **more}


def post(upstream: Upstream, body: Json) -> httpx2.Response:
    """Send a body as it is."""
    return httpx2.post(f"{upstream.openai_url}/responses", json=body, headers=KEY, verify=False)


def image(url: str) -> Json:
    return {"role": "user", "content": [{"type": "input_image", "image_url": url, "detail": "auto"}]}


FORM = {"type": "json_schema", "name": "a", "strict": True, "schema": {"type": "object", "properties": {}}}
VALID = {
    "words": {"model": "gpt-5.2", "input": "Hello"},
    "a loop": ask(HI, CALL, OUTPUT),
    "calls side by side": ask(HI, CALL, {**CALL, "call_id": "call_2"}, OUTPUT, {**OUTPUT, "call_id": "call_2"}),
    "reasoning and its call": ask(HI, REASON, CALL, OUTPUT),
    "an image": ask(image(f"data:image/png;base64,{PNG}")),
}
INVALID = {
    "no input": (ask(), "Missing required parameter: 'input'"),
    "an unknown parameter": (ask(HI, handle=1), "Unknown parameter: 'handle'"),
    "an unknown field": (ask({**HI, "when": "now"}), "Unknown parameter: 'input[0].when'"),
    "no output": (ask(HI, CALL, HI), "No tool output found for function call call_1"),
    "an output of nothing": (ask(HI, OUTPUT), "No tool call found for function call output with call_id call_1"),
    "an output before its call": (ask(HI, OUTPUT, CALL), "No tool call found for function call output"),
    "two outputs": (ask(HI, CALL, OUTPUT, OUTPUT), "No tool call found for function call output"),
    "reasoning at the end": (ask(HI, REASON), "was provided without its required following item"),
    "reasoning before other words": (ask(HI, REASON, HI), "was provided without its required following item"),
    "changed reasoning": (
        ask(HI, {**REASON, "encrypted_content": "AAAA"}, CALL, OUTPUT), "encrypted content could not be verified",
    ),
    "reasoning that is nowhere": (ask(HI, {**REASON, "encrypted_content": None}, CALL, OUTPUT), "not found"),
    "one item twice": (ask(HI, REASON, CALL, OUTPUT, REASON, CALL, OUTPUT), "Duplicate item found with id rs_1"),
    "an id of another kind": (ask(HI, {**CALL, "id": "msg_1"}, OUTPUT), "Expected an ID that begins with 'fc'"),
    "an earlier response that is nowhere": (ask(HI, previous_response_id="resp_1"), "'resp_1' not found"),
    "a part of the other side": (
        ask({"role": "assistant", "content": [{"type": "input_text", "text": "a"}]}), "Invalid value: 'input_text'",
    ),
    "one tool twice": (ask(HI, tools=[FUNCTION, FUNCTION]), "must be unique"),
    "no image": (ask(image("data:image/png;base64,AAAA")), "does not appear to be one"),
    "an open form": (ask(HI, text={"format": FORM}), "'additionalProperties' is required"),
}  # fmt: skip


@pytest.mark.parametrize("name", VALID)
def test_responses_takes_what_the_provider_takes(upstream: Upstream, name: str) -> None:
    """A valid request of the Responses API is answered."""
    response = post(upstream, VALID[name])
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("name", INVALID)
def test_responses_refuses_what_the_provider_refuses(upstream: Upstream, name: str) -> None:
    """An invalid request of the Responses API gets its 400, and the verdict is recorded."""
    body, words = INVALID[name]
    response = post(upstream, body)
    assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")
    assert words in response.json()["error"]["message"]
    assert words in upstream.asked[-1].verdict


def test_a_call_needs_the_reasoning_that_led_to_it() -> None:
    """A call with the id that the upstream gave it is refused without its reasoning, and taken with it."""
    with Upstream([answer(think("Hm."), call("read")), answer("Done.")]) as upstream:
        reasoning, made = post(upstream, ask(HI)).json()["output"]
        output = {**OUTPUT, "call_id": made["call_id"]}
        assert "without its required 'reasoning' item" in post(upstream, ask(HI, made, output)).text
        assert "required following item" in post(upstream, ask(HI, reasoning, {**made, "id": "fc_9"}, output)).text
        assert post(upstream, ask(HI, reasoning, made, output)).status_code == 200


def test_a_stored_response_is_gone_on_with() -> None:
    """What is stored needs not be sent again; its call must be answered, and an item may be meant by its id."""
    with Upstream([answer(think("Hm."), call("read")), answer("Done."), answer("Again.")]) as upstream:
        first = post(upstream, {**ask(HI), "store": True}).json()
        before = {"store": True, "previous_response_id": first["id"]}
        assert "No tool output found" in post(upstream, {**ask(HI), **before}).text
        output = {**OUTPUT, "call_id": first["output"][1]["call_id"]}
        assert post(upstream, {**ask(output), **before}).status_code == 200
        references = [{"type": "item_reference", "id": item["id"]} for item in first["output"]]
        assert post(upstream, ask(HI, *references, output)).status_code == 200
        assert "not found" in post(upstream, ask(HI, {"type": "item_reference", "id": "rs_9"})).text
