"""Whose request a path is: every spelling that clients use reaches its handler, and a key goes to nobody else."""

import json
from pathlib import Path
from typing import Any

import pytest
from far_network import far_proxy
from in_process import InProcess
from through_proxy import HEADERS, MODELS, PATHS, Talk, Through
from upstream_script import answer

from sightline.follow.model_request import FORMATS, format_at, parse
from sightline.follow.turns import PROVIDERS, FollowSettings, Turns
from sightline.server.destinations import read_door

SPELLINGS = [
    # who sends it; the protocol; the path and query
    ("Anthropic's SDKs, LangChain, litellm, aider", "anthropic", "/v1/messages"),
    ("Claude Code", "anthropic", "/v1/messages?beta=true"),
    ("opencode, pi: a base that should end in /v1, and does not", "anthropic", "/messages"),
    ("Claude Code, with an address that ends in /v1", "anthropic", "/v1/v1/messages?beta=true"),
    ("Anthropic's SDKs, with an address that ends in /", "anthropic", "//v1/messages"),
    ("Claude Code under wrap", "anthropic", "/anthropic/v1/messages?beta=true"),
    ("opencode under wrap", "anthropic", "/anthropic/messages"),
    ("Cline, Continue: an address with /v1 and a slash", "anthropic", "/anthropic/v1//messages"),
    ("scripts with a slash at the end", "anthropic", "/v1/messages/"),
    ("OpenAI's SDKs, Qwen Code, Continue, gptme, llm", "chat", "/v1/chat/completions"),
    ("the same with the bare address", "chat", "/chat/completions"),
    ("open-interpreter: an address that ends in /v1/", "chat", "/v1//chat/completions"),
    ("litellm, with an address that ends in /v1/v1", "chat", "/v1/v1/chat/completions"),
    ("scripts with a slash at the end", "chat", "/v1/chat/completions/"),
    ("all of these under wrap", "chat", "/openai/v1/chat/completions"),
    ("the same, where /v1 was left out", "chat", "/openai/chat/completions"),
    ("OpenAI's SDKs, pi", "responses", "/v1/responses"),
    ("Codex, with the bare address", "responses", "/responses"),
    ("Codex under wrap", "responses", "/openai/v1/responses"),
    ("an address that ends in /", "responses", "//responses/"),
    ("Google's SDKs, LangChain", "gemini", "/v1beta/models/gemini-3-pro:generateContent"),
    ("curl with the key in the address", "gemini", "/v1beta/models/gemini-3-pro:generateContent?key=any"),
    ("Gemini CLI under wrap", "gemini", "/gemini/v1beta/models/gemini-3-pro:generateContent"),
    ("an address that ends in /v1beta/", "gemini", "/gemini/v1beta//v1beta/models/gemini-3-pro:generateContent"),
    ("an address without a version", "gemini", "/models/gemini-3-pro%3AgenerateContent"),
    (
        "Azure's clients, with the address of the server",
        "chat",
        "/openai/deployments/gpt/chat/completions?api-version=1",
    ),
    ("Azure's clients, with the address under wrap", "chat", "/openai/v1/deployments/gpt/chat/completions"),
    ("LangChain for Azure, with both", "chat", "/openai/openai/deployments/gpt/chat/completions"),
    ("OpenAI's SDKs for Gemini", "chat", "/v1beta/openai/chat/completions"),
    ("the same under wrap", "chat", "/gemini/v1beta/openai/chat/completions"),
]
AT_AZURE, AT_GOOGLE = "/v1/openai/deployments/gpt/chat/completions", "/v1beta/openai/chat/completions"


@pytest.mark.parametrize(("client", "wire", "path"), SPELLINGS, ids=[path for _, _, path in SPELLINGS])
def test_every_spelling_is_followed(client: str, wire: str, path: str, tmp_path: Path) -> None:
    """The request is logged, and the provider gets it at its own path, with the query as it came."""
    with Through(tmp_path, [answer("Yes.")]) as through:
        talk = Talk(through, wire)
        talk.list.append({"role": "user", "content": "Hello"})
        assert isinstance(through.server, InProcess)
        headers = HEADERS[wire] | {"content-type": "application/json"}
        response = through.server.request("POST", path, headers, json.dumps(talk.body()).encode())
        assert (client, response.status_code) == (client, 200)
        [asked] = through.upstream.asked
        own = AT_AZURE if "deployments" in path else AT_GOOGLE if "beta/openai" in path else PATHS[wire]
        assert (asked.path, asked.query) == (own, path.partition("?")[2])
        assert read_door(path.partition("?")[0]).path in (PATHS[wire], "/v1beta/models/{model}:generateContent")
        assert through.texts() == ["Hello", "Yes."]


BEARER = {"authorization": "Bearer any-gateway-key"}
GOOGLE_KEY, STREAM = {"x-goog-api-key": "AIza-x"}, "models/gemini-3-pro:streamGenerateContent?alt=sse"
GOOGLE = "https://generativelanguage.googleapis.com/"
ANTHROPIC, OPENAI = "https://api.anthropic.com/v1/", "https://api.openai.com/v1/"
LOGINS = [
    # what a client sends, and where it goes; empty: it is refused
    ("/v1/models", {}, OPENAI + "models"),
    ("/v1/other?limit=20", {}, OPENAI + "other?limit=20"),
    ("/v1/models?key=any", {}, ""),
    ("/v1/models?%6bey=any", {}, ""),
    ("/v1/models", {"api-key": "any"}, ""),
    ("/v1/models", {"cookie": "session=any"}, ""),
    ("/v1/models", BEARER, ""),
    ("/models", BEARER, ""),
    ("/v1/files", BEARER, ""),
    ("/v1/files/a%2Fb", BEARER | {"anthropic-version": "2023-06-01"}, ANTHROPIC + "files/a%2Fb"),
    ("/v1/models", {"authorization": "Bearer sk-ant-oat01-x"}, ANTHROPIC + "models"),
    ("/v1/models", {"x-api-key": "sk-ant-api03-x"}, ANTHROPIC + "models"),
    ("/v1/models", BEARER | {"user-agent": "claude-cli/2.1 (external, cli)"}, ANTHROPIC + "models"),
    ("/v1/models", {"authorization": "Bearer sk-proj-x"}, OPENAI + "models"),
    ("/v1/models", BEARER | {"user-agent": "OpenAI/Python 2.0"}, OPENAI + "models"),
    ("/v1/models", BEARER | {"user-agent": "OpenAI/Python 2.0 claude-cli"}, ""),
    ("/v1/models", BEARER | {"openai-beta": "x", "anthropic-beta": "y"}, ""),
    ("/anthropic/v1/models", BEARER, ANTHROPIC + "models"),
    ("/anthropic/models", BEARER, "https://api.anthropic.com/models"),
    ("/openai/v1/models", BEARER, OPENAI + "models"),
    ("/openai/models", BEARER, OPENAI + "models"),
    ("/openai/v1/models", {"authorization": "Bearer sk-ant-oat01-x"}, ""),
    ("/anthropic/v1/models", {"x-api-key": "sk-proj-x"}, ""),
    ("/v1/chat/completions", {"authorization": "Bearer sk-ant-oat01-x"}, ""),
    ("/v1/messages", {"authorization": "Bearer sk-proj-x"}, ""),
    ("/v1/messages", {"x-api-key": "sk-or-v1-x"}, ""),
    ("/v1/messages", {"x-api-key": "sk-ant-x", "authorization": "Bearer sk-proj-x"}, ""),
    ("/v1/messages", {"x-api-key": "sk-proj-x", "authorization": "Bearer sk-ant-x"}, ""),
    ("/v1/responses", {"authorization": "Bearer sk-proj-x sk-ant-x"}, ""),
    ("/v1/responses", {"authorization": "Bearer sk-ant-x", "chatgpt-account-id": "a"}, ""),
    ("/openai/v1/messages", BEARER, ""),
    ("/anthropic/v1/responses", BEARER, ""),
    ("/v1/embeddings", BEARER, OPENAI + "embeddings"),
    ("/v1/messages/count_tokens", BEARER, ANTHROPIC + "messages/count_tokens"),
    ("/messages/batches", BEARER, ANTHROPIC + "messages/batches"),
    ("/openai/v1/responses", BEARER | {"chatgpt-account-id": "a"}, "https://chatgpt.com/backend-api/codex/responses"),
    ("/anthropic/v1/messages", BEARER | {"chatgpt-account-id": "a"}, ""),
    ("/v1beta/models/gemini-3-pro:generateContent", GOOGLE_KEY, GOOGLE + "v1beta/models/gemini-3-pro:generateContent"),
    (f"/v1beta/{STREAM}&key=AIza-x", {}, f"{GOOGLE}v1beta/{STREAM}&key=AIza-x"),
    ("/v1/models/gemini-3-pro:countTokens", {}, GOOGLE + "v1/models/gemini-3-pro:countTokens"),
    ("/gemini/v1beta/models", GOOGLE_KEY, GOOGLE + "v1beta/models"),
    ("/gemini/models/gemini-3-pro", BEARER, GOOGLE + "v1beta/models/gemini-3-pro"),
    ("/gemini/upload/v1beta/files", GOOGLE_KEY, GOOGLE + "upload/v1beta/files"),
    ("/v1beta/cachedContents", {"authorization": "Bearer ya29.x"}, GOOGLE + "v1beta/cachedContents"),
    ("/v1/models?key=AIza-x", {}, GOOGLE + "v1/models?key=AIza-x"),
    ("/v1/messages?key=AIza-x", {}, ""),
    ("/v1/chat/completions", {"x-goog-api-key": "any"}, ""),
    ("/openai/v1/responses", BEARER | {"x-goog-api-key": "any"}, ""),
    ("/gemini/v1beta/models/x:generateContent", {"authorization": "Bearer sk-ant-x"}, ""),
    ("/gemini/v1beta/models/x:generateContent", GOOGLE_KEY | {"authorization": "Bearer sk-proj-x"}, ""),
    ("/gemini/v1/messages", BEARER, ""),
    ("/openai/v1beta/models/x:generateContent", BEARER, ""),
    ("/v1beta1/projects/p/locations/l/publishers/google/models/x:generateContent", BEARER, ""),
    ("/v1beta/models/x%2f..%2fy:generateContent", GOOGLE_KEY, ""),
    ("/v1internal:generateContent", {"authorization": "Bearer ya29.x"}, ""),
    ("/anthropic/v1beta/models/x:generateContent", BEARER, ""),
    ("/v1/models", GOOGLE_KEY, GOOGLE + "v1/models"),
    ("/other", BEARER, ""),
]


@pytest.mark.parametrize(("path", "headers", "expected"), LOGINS)
def test_a_key_goes_to_the_provider_whose_address_the_client_has(
    path: str, headers: dict[str, str], expected: str, tmp_path: Path
) -> None:
    """What nothing decides is refused with a sentence, and nothing is sent."""
    with far_proxy(tmp_path) as (proxy, network):
        response = proxy.request("GET", path, headers)
    assert network.addresses == ([expected] if expected else [])
    if not expected:
        assert response.status_code == 400
        assert "\n" not in response.json()["error"]["message"]


def test_a_key_that_called_a_model_is_known(tmp_path: Path) -> None:
    """What the same login asks for besides goes to the same provider; another login's does not."""
    with far_proxy(tmp_path) as (proxy, network):
        body = {"model": MODELS["anthropic"], "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
        proxy.request("POST", "/v1/messages", BEARER, json.dumps(body).encode())
        proxy.request("GET", "/v1/files", BEARER)
        proxy.request("GET", "/v1/files", {"authorization": "Bearer other"})
    assert network.addresses == [ANTHROPIC + "messages", ANTHROPIC + "files"]


@pytest.mark.parametrize("first", ["sk-proj-x", "sk-ant-x"])
def test_a_header_that_comes_twice_is_read_twice(first: str, tmp_path: Path) -> None:
    """Both would be sent, so one foreign key of two is enough."""
    keys = [first, *({"sk-proj-x", "sk-ant-x"} - {first})]
    with far_proxy(tmp_path) as (proxy, network):
        doubled: Any = [("authorization", f"Bearer {key}") for key in keys]
        assert proxy.request("GET", "/openai/v1/models", doubled).status_code == 400
    assert network.sent == []


@pytest.mark.parametrize(
    ("upstream", "key", "is_sent"),
    [
        ("https://eu.api.openai.com/v1", "sk-proj-x", True),
        ("https://eu.api.openai.com/v1", "sk-ant-x", False),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "AIza-x", True),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "sk-proj-x", False),
        ("https://gate.invalid/v1", "sk-ant-x", True),
    ],
)
def test_a_provider_has_more_hosts_than_the_usual_one(upstream: str, key: str, is_sent: bool, tmp_path: Path) -> None:
    """A foreign key goes to none of them. A gateway may give out keys of any form."""
    with far_proxy(tmp_path, openai=upstream) as (proxy, network):
        proxy.request("GET", "/openai/v1/models", {"authorization": f"Bearer {key}"})
    assert network.addresses == [f"{upstream}/models"] * is_sent


@pytest.mark.parametrize("base", ["", "/openai"])
@pytest.mark.parametrize("address", ["", "/openai", "/openai/v1"])
def test_azures_deployments_are_reached(base: str, address: str, tmp_path: Path) -> None:
    """Its clients put /openai/deployments to the address of the server, or to one that ends in /openai."""
    upstream, end = "https://x.openai.azure.com", "/deployments/gpt/chat/completions?api-version=2024-10-21"
    with far_proxy(tmp_path, openai=upstream + base) as (proxy, network):
        proxy.request("POST", address + end, {"api-key": "any"}, b"{}")
    assert network.addresses == [f"{upstream}/openai{end}"]


def test_a_deployment_is_the_model_unless_the_body_names_one() -> None:
    """Its name is the user's, and often the model's; no other provider's paths are read so."""
    asked = format_at("/v1/deployments/gpt-4o/chat/completions")
    assert asked is not None
    for body, model in ((b"", "gpt-4o"), (b', "model": "gpt-5"', "gpt-5")):
        told = b'{"messages": [{"role": "user", "content": "Hello"}]' + body + b"}"
        assert parse(asked, told, {}).model == model
    assert [format_at(path) for path in ("/v1/openai/messages", "/v1/deployments/a/b/responses")] == [None, None]


@pytest.mark.parametrize(
    ("model", "takes"), [("gpt-5.2", True), ("ft:gpt-4o:me", True), ("gemini-3-pro", False), ("other", False)]
)
def test_a_key_of_the_cache_is_for_models_of_openai(model: str, takes: bool, tmp_path: Path) -> None:
    """Chat completions of Gemini come to a server whose upstream for OpenAI is OpenAI: they get no unknown field."""
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
    asked = parse(FORMATS["/v1/chat/completions"], json.dumps(body).encode(), {})
    assert Turns(FollowSettings(folder=tmp_path, upstreams=PROVIDERS))._takes_key(asked) is takes


def test_a_refused_request_teaches_nothing(tmp_path: Path) -> None:
    """Its key was foreign to the provider, so what it had beside that key goes there neither."""
    with far_proxy(tmp_path) as (proxy, network):
        assert proxy.request("POST", "/v1/messages", BEARER | {"x-api-key": "sk-proj-x"}).status_code == 400
        assert proxy.request("GET", "/v1/files", BEARER).status_code == 400
    assert network.sent == []


def test_a_gateway_for_both_gets_all(tmp_path: Path) -> None:
    """Where both upstreams are one server, nothing has to be decided. It has keys of its own."""
    gateway = {"anthropic": "http://gate:4000", "openai": "http://gate:4000/v1"}
    with far_proxy(tmp_path, **gateway) as (proxy, network):
        for path in ("/v1/models", "/openai/v1/messages", "/v1/other"):
            proxy.request("GET", path, {"authorization": "Bearer sk-ant-x"})
    assert network.addresses == [f"http://gate:4000/v1/{name}" for name in ("models", "messages", "other")]


@pytest.mark.parametrize("path", ["/", "/anthropic", "/openai/v1", "/openai/", "/v1"])
def test_whether_the_proxy_is_there_is_asked_of_nobody_else(path: str, tmp_path: Path) -> None:
    """Claude Code begins with HEAD and its login: it is answered here, so that no provider gets it."""
    with far_proxy(tmp_path) as (proxy, network):
        assert proxy.request("HEAD", path, BEARER).status_code == 200
        assert proxy.request("GET", path, BEARER).text.startswith("Sightline")
    assert network.sent == []


def test_a_websocket_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """With the status at which Codex sends the same request over HTTP."""
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    with far_proxy(tmp_path) as (proxy, network):
        response = proxy.request("GET", "/openai/v1/responses", BEARER | upgrade)
    assert (response.status_code, network.sent) == (426, [])
    assert response.json()["error"]["message"] == "no websocket is opened here: send the same request over HTTP"


@pytest.mark.parametrize("wire", ["anthropic", "chat"])
def test_a_refusal_has_the_shape_of_the_client(wire: str, tmp_path: Path) -> None:
    """So that an agent shows its sentence."""
    headers = {"anthropic": {"x-api-key": "sk-proj-x"}, "chat": {"authorization": "Bearer sk-ant-x"}}[wire]
    with far_proxy(tmp_path) as (proxy, _):
        told = proxy.request("POST", PATHS[wire], headers).json()
    assert ("type" in told) == (wire == "anthropic")
    assert told["error"]["type"] == "invalid_request_error"
    assert "it was not sent" in told["error"]["message"]
