"""The scripted upstream refuses what the providers refuse, in their shape, and takes what they take."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from upstream import Upstream
from upstream_media import PDF, PNG
from upstream_rules import seal, sign
from upstream_script import answer, call, think

Json = dict[str, Any]
BETA = {"anthropic-beta": "some-2025-01-01,mid-conversation-system-2026-04-07"}
HEADERS = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
READ = {"name": "read", "description": "Reads a file.", "input_schema": {"type": "object", "properties": {}}}
USE = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "what a says"}
TEXT = {"type": "text", "text": "Hello"}
MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """An upstream that always says yes."""
    with Upstream(lambda asked: answer("Yes.")) as upstream:
        yield upstream


def post(upstream: Upstream, path: str, body: Json, **headers: str) -> httpx2.Response:
    """Send a body as it is."""
    keys = HEADERS if path.startswith("/messages") else {"authorization": "Bearer any"}
    return httpx2.post(upstream.openai_url + path, json=body, headers=keys | headers, verify=False)


def user(*content: Any) -> Json:
    return {"role": "user", "content": list(content)}


def assistant(*content: Any) -> Json:
    return {"role": "assistant", "content": list(content)}


def system(text: str) -> Json:
    return {"role": "system", "content": text}


def thought(text: str, signature: str = "") -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature or sign(text)}


def image(data: str = PNG, kind: str = "image/png") -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def messages(*said: Json, **more: Any) -> Json:
    """A request of Anthropic's API."""
    return {"model": "claude-sonnet-5-5", "max_tokens": 4096, "tools": [READ], "messages": list(said), **more}


THINKS = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
DOCUMENT = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "a"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
OTHER = {**USE, "id": "toolu_2"}

VALID_MESSAGES = {
    "two of one role": messages(user(TEXT), user(TEXT)),
    "a loop": messages(user(TEXT), assistant(TEXT, USE), user(RESULT, TEXT)),
    "a tool that is no longer there": messages(user(TEXT), assistant({**USE, "name": "gone"}), user(RESULT)),
    "signed thinking": messages(user(TEXT), assistant(thought("Hm."), USE), user(RESULT), **THINKS),
    "sealed thinking": messages(
        user(TEXT), assistant({"type": "redacted_thinking", "data": seal("Hm.")}, USE), user(RESULT), **THINKS
    ),
    "dropped thinking in a loop that is closed": messages(
        user(TEXT), assistant(USE), user(RESULT), assistant(TEXT), user(TEXT), **THINKS
    ),
    "media": messages(user(image(), DOCUMENT, TEXT)),
    "media in a result": messages(user(TEXT), assistant(USE), user({**RESULT, "content": [TEXT, image()]})),
    "a server tool": messages(user(TEXT), assistant(SEARCH, FOUND, TEXT), user(TEXT)),
    "four markers": messages(user(*[TEXT | MARK] * 3), system=[TEXT | MARK]),
    "a start of the answer": messages(user(TEXT), assistant(TEXT)),
}
INVALID_MESSAGES = {
    "no tokens": (messages(user(TEXT), max_tokens=None), "max_tokens: Field required"),
    "no messages": (messages(), "at least one message"),
    "an unknown field": (messages(user(TEXT), handle=1), "handle: Extra inputs are not permitted"),
    "an unknown field of a block": (messages(user({**TEXT, "handle": 1})), "Extra inputs are not permitted"),
    "an unknown field of a message": (messages({**user(TEXT), "when": "now"}), "Extra inputs are not permitted"),
    "assistant first": (messages(assistant(TEXT), user(TEXT)), 'first message must use the "user" role'),
    "another role": (messages(user(TEXT), {"role": "tool", "content": "a"}), "Input should be 'user' or 'assistant'"),
    "system without the beta": (messages(user(TEXT), system("Be kind.")), 'Unexpected role "system"'),
    "no content": (messages(user()), "must have non-empty content"),
    "empty text": (messages(user({"type": "text", "text": ""})), "text content blocks must be non-empty"),
    "empty words": (messages({"role": "user", "content": ""}), "text content blocks must be non-empty"),
    "blank text": (messages(user({"type": "text", "text": " \n"})), "must contain non-whitespace text"),
    "empty system": (messages(user(TEXT), system=[{"type": "text", "text": ""}]), "system: text content blocks"),
    "blank at the end": (messages(user(TEXT), assistant({"type": "text", "text": "a "})), "trailing whitespace"),
    "no result": (messages(user(TEXT), assistant(USE), user(TEXT)), "without `tool_result` blocks immediately after"),
    "no result at the end": (messages(user(TEXT), assistant(USE)), "without `tool_result` blocks immediately after"),
    "a result one message late": (
        messages(user(TEXT), assistant(USE), user(TEXT), user(RESULT)), "without `tool_result` blocks",
    ),
    "a result after text": (messages(user(TEXT), assistant(USE), user(TEXT, RESULT)), "without `tool_result` blocks"),
    "one of two results": (
        messages(user(TEXT), assistant(USE, OTHER), user(RESULT)), "immediately after: toolu_2",
    ),
    "a result of nothing": (messages(user(RESULT)), "unexpected `tool_use_id`"),
    "a result again": (
        messages(user(TEXT), assistant(USE), user(RESULT), assistant(TEXT), user(RESULT)), "unexpected `tool_use_id`",
    ),
    "two results": (messages(user(TEXT), assistant(USE), user(RESULT, RESULT)), "must have a single result"),
    "one id twice": (
        messages(user(TEXT), assistant(USE), user(RESULT), assistant(USE), user(RESULT)), "ids must be unique",
    ),
    "a bad id": (messages(user(TEXT), assistant({**USE, "id": "a b"}), user(RESULT)), "should match pattern"),
    "arguments as text": (messages(user(TEXT), assistant({**USE, "input": "{}"}), user(RESULT)), "valid dictionary"),
    "calls without tools": (messages(user(TEXT), assistant(USE), user(RESULT), tools=[]), "must define tools"),
    "a call of the user": (messages(user(USE)), "may not be in `user` messages"),
    "a result of the assistant": (messages(user(TEXT), assistant(RESULT)), "may not be in `assistant` messages"),
    "a forged signature": (
        messages(user(TEXT), assistant(thought("Hm.", "c2lnbmVk"), USE), user(RESULT)), "Invalid `signature`",
    ),
    "changed thinking": (
        messages(user(TEXT), assistant(thought("Other.", sign("Hm.")), USE), user(RESULT)), "Invalid `signature`",
    ),
    "changed sealed thinking": (
        messages(user(TEXT), assistant({"type": "redacted_thinking", "data": "AAAA"}, TEXT), user(TEXT)),
        "Invalid `data`",
    ),
    "no thinking first": (
        messages(user(TEXT), assistant(TEXT, USE), user(RESULT), **THINKS),
        "Expected `thinking` or `redacted_thinking`",
    ),
    "marked thinking": (messages(user(TEXT), assistant(thought("Hm.") | MARK, TEXT), user(TEXT)), "Extra inputs"),
    "five markers": (
        messages(user(*[TEXT | MARK] * 4), system=[TEXT | MARK]), "maximum of 4 blocks with cache_control",
    ),
    "a long marker last": (
        messages(user(TEXT | MARK, {**TEXT, "cache_control": {"type": "ephemeral", "ttl": "1h"}})),
        "must not come after",
    ),
    "one tool twice": (messages(user(TEXT), tools=[READ, READ]), "Tool names must be unique"),
    "a bad name": (messages(user(TEXT), tools=[{**READ, "name": "read file"}]), "should match pattern"),
    "a bad schema": (
        messages(user(TEXT), tools=[{**READ, "input_schema": {"type": "text"}}]), "JSON schema is invalid",
    ),
    "an unknown choice": (
        messages(user(TEXT), tool_choice={"type": "tool", "name": "write"}), "'write' not found in provided tools",
    ),
    "a forced choice of a thinker": (messages(user(TEXT), tool_choice={"type": "any"}, **THINKS), "Thinking may not"),
    "too much thinking": (
        messages(user(TEXT), thinking={"type": "enabled", "budget_tokens": 9000}), "must be greater than",
    ),
    "no base64": (messages(user(image("%%%"))), "invalid base64 data"),
    "another kind of image": (messages(user(image(kind="image/jpeg"))), "does not appear to be one"),
    "no image": (messages(user(image(kind="text/html"))), "Input should be 'image/png'"),
    "an image in a failed result": (
        messages(user(TEXT), assistant(USE), user({**RESULT, "is_error": True, "content": [image()]})),
        "must be type `text`",
    ),
    "no PDF": (
        messages(user({**DOCUMENT, "source": {**DOCUMENT["source"], "data": PNG}})),  # type: ignore[dict-item]
        "The PDF specified was not valid",
    ),
    "a server tool without its result": (messages(user(TEXT), assistant(SEARCH, TEXT), user(TEXT)), "without its `web"),
}  # fmt: skip


@pytest.mark.parametrize("name", VALID_MESSAGES)
def test_messages_takes_what_the_provider_takes(upstream: Upstream, name: str) -> None:
    """A valid request of Anthropic's API is answered."""
    response = post(upstream, "/messages", VALID_MESSAGES[name])
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("name", INVALID_MESSAGES)
def test_messages_refuses_what_the_provider_refuses(upstream: Upstream, name: str) -> None:
    """An invalid request of Anthropic's API gets its 400, and the verdict is recorded."""
    body, words = INVALID_MESSAGES[name]
    response = post(upstream, "/messages", body)
    assert (response.status_code, response.json()["type"]) == (400, "error")
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert words in response.json()["error"]["message"]
    assert words in upstream.asked[-1].verdict


def test_a_system_message_needs_its_beta(upstream: Upstream) -> None:
    """With the beta a message of role system is taken, but not between a call and its result."""
    between = messages(user(TEXT), assistant(USE), system("Be kind."), user(RESULT))
    assert post(upstream, "/messages", messages(user(TEXT), system("Be kind.")), **BETA).status_code == 200
    assert "without `tool_result`" in post(upstream, "/messages", between, **BETA).text


def test_a_key_and_a_version_are_needed(upstream: Upstream) -> None:
    """Without a key 401, without a version 400."""
    url, body = f"{upstream.openai_url}/messages", messages(user(TEXT))
    nobody = httpx2.post(url, json=body, verify=False)
    assert (nobody.status_code, nobody.json()["error"]["type"]) == (401, "authentication_error")
    assert "anthropic-version" in httpx2.post(url, json=body, headers={"x-api-key": "any"}, verify=False).text


@pytest.mark.parametrize("kind", ["enabled", "adaptive"])
def test_thinking_of_an_open_loop_may_not_be_changed_or_dropped(kind: str) -> None:
    """What the upstream itself thought must come back as it was, until the user speaks again."""
    option = {"type": kind, **({"budget_tokens": 2000} if kind == "enabled" else {})}
    with Upstream([answer(think("Hm."), "Now.", call("read")), answer("Done.")]) as upstream:
        said = post(upstream, "/messages", messages(user(TEXT), thinking=option)).json()["content"]
        results = user({**RESULT, "tool_use_id": said[-1]["id"]})

        def go_on(*content: Json, then: tuple[Json, ...] = ()) -> str:
            body = messages(user(TEXT), assistant(*content), results, *then, thinking=option)
            return post(upstream, "/messages", body, **BETA).text

        assert "Expected `thinking`" in go_on(*said[1:])
        assert "Expected `thinking`" in go_on(said[1], said[0], said[2])
        assert "cannot be modified" in go_on(thought("Other."), *said[1:])
        assert "Expected `thinking`" in go_on(*said[1:], then=(system("Go on."),))
        assert "Done." in go_on(*said, then=(system("Go on."),))
        assert len(upstream.invalid) == 4


# ------------------------------------------------------------------ OpenAI: chat

FUNCTION = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "call_1", "content": "what a says"}
HI = {"role": "user", "content": "Hello"}


def chat(*said: Json, **more: Any) -> Json:
    """A request of the Chat Completions API."""
    return {"model": "gpt-5.2", "tools": [FUNCTION], "messages": list(said), **more}


def shown(url: str) -> Json:
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


FORM = {"type": "object", "properties": {"a": {"type": "string"}}}
VALID_CHAT = {
    "a loop": chat(system("Be kind."), HI, CALLS, TOLD),
    "empty text": chat({"role": "user", "content": ""}),
    "an image": chat(shown(f"data:image/png;base64,{PNG}")),
    "one id in two turns": chat(HI, CALLS, TOLD, CALLS, TOLD),
}
INVALID_CHAT = {
    "no messages": (chat(), "empty array"),
    "an unknown argument": (chat(HI, handle=1), "Unrecognized request argument supplied: handle"),
    "an unknown field": (chat({**HI, "when": "now"}), "Unknown parameter: 'messages[0].when'"),
    "an unknown role": (chat({"role": "robot", "content": "a"}), "Invalid value: 'robot'"),
    "no result": (chat(HI, CALLS, HI), "did not have response messages: call_1"),
    "no result at the end": (chat(HI, CALLS), "did not have response messages: call_1"),
    "a result after other words": (chat(HI, CALLS, HI, TOLD), "did not have response messages: call_1"),
    "a result of nothing": (chat(HI, TOLD), "must be a response to a preceeding message"),
    "two results": (chat(HI, CALLS, TOLD, TOLD), "must be a response to a preceeding message"),
    "no content": (chat({"role": "user", "content": None}), "expected a string, got null"),
    "no calls": (chat(HI, {**CALLS, "content": "a", "tool_calls": []}), "empty array"),
    "a long id": (
        chat(HI, {**CALLS, "tool_calls": [{**CALL, "id": "x" * 41}]}, {**TOLD, "tool_call_id": "x" * 41}), "too long",
    ),
    "one tool twice": (chat(HI, tools=[FUNCTION, FUNCTION]), "must be unique"),
    "a bad name": (
        chat(HI, tools=[{"type": "function", "function": {"name": "read file"}}]), "does not match pattern",
    ),
    "options of a stream": (chat(HI, stream_options={"include_usage": True}), "only allowed when 'stream' is enabled"),
    "a choice without tools": (chat(HI, tools=[], tool_choice="required"), "only allowed when 'tools'"),
    "no image": (chat(shown("data:image/png;base64,AAAA")), "does not appear to be one"),
    "an open form": (
        chat(HI, response_format={"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": FORM}}),
        "'additionalProperties' is required",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VALID_CHAT)
def test_chat_takes_what_the_provider_takes(upstream: Upstream, name: str) -> None:
    """A valid request of the Chat Completions API is answered."""
    response = post(upstream, "/chat/completions", VALID_CHAT[name])
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("name", INVALID_CHAT)
def test_chat_refuses_what_the_provider_refuses(upstream: Upstream, name: str) -> None:
    """An invalid request of the Chat Completions API gets its 400, and the verdict is recorded."""
    body, words = INVALID_CHAT[name]
    response = post(upstream, "/chat/completions", body)
    assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")
    assert words in response.json()["error"]["message"]
    assert words in upstream.asked[-1].verdict
