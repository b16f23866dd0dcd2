"""The context window of a model is asked of its server, however the model was named."""

import asyncio
import socket
from typing import Any

import pytest
from stub import Stub, error, models

from sightline.agent.models.context_window import with_window
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.secret import Secret


def asked(stub: Stub, name: str = "some-model", **more: Any) -> Endpoint:
    endpoint = Endpoint(name, base_url=f"{stub.url}/v1", key=Secret("sk-test"), **more)
    return asyncio.run(with_window(endpoint))


@pytest.mark.parametrize(
    "told",
    [
        {"max_model_len": 32_000},
        {"context_length": 32_000},
        {"meta": {"n_ctx": 32_000}},
        {"loaded_context_length": 32_000, "max_context_length": 131_072},
    ],
)
def test_the_server_tells_the_context_window(told: dict[str, Any]) -> None:
    """In the word of vLLM, OpenRouter, llama.cpp and LM Studio; the key is sent along."""
    with Stub([models("some-model", **told)]) as stub:
        endpoint = asked(stub)
    assert (endpoint.info.window, endpoint.window_known) == (32_000, True)
    assert stub.asked[0].path == "/v1/models"
    assert stub.asked[0].headers["authorization"] == "Bearer sk-test"


NO = error(404)
LM_STUDIO = {"data": [{"id": "some-model", "loaded_context_length": 32_000, "max_context_length": 131_072}]}


@pytest.mark.parametrize(
    ("answers", "asked_for"),
    [
        ([LM_STUDIO], "/api/v0/models"),
        ([NO, {"default_generation_settings": {"n_ctx": 32_000}}], "/props"),
        ([NO, NO, {"models": [{"name": "some-model:latest", "context_length": 32_000}]}], "/api/ps"),
        ([NO, NO, {"models": []}, {"parameters": 'stop "x"\nnum_ctx    32000\n', "model_info": {}}], "/api/show"),
    ],
    ids=["LM Studio", "llama.cpp", "Ollama, loaded", "Ollama, set"],
)
def test_a_server_tells_it_in_its_own_way(answers: list[Any], asked_for: str) -> None:
    """LM Studio, llama.cpp and Ollama do not tell it in the list of models, but under paths of their own."""
    lines = [each if each is NO else error(200, body=each) for each in answers]
    with Stub([models("some-model"), *lines]) as stub:
        assert asked(stub).window == 32_000
    assert stub.asked[-1].path == asked_for
    assert {each.headers["authorization"] for each in stub.asked} == {"Bearer sk-test"}
    if asked_for == "/api/show":
        assert stub.asked[-1].body == {"model": "some-model"}


def test_a_server_that_hangs_costs_a_moment() -> None:
    """All questions together have one time limit; then the window is unknown, and the chat begins."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = Endpoint("some-model", base_url=f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        assert not asyncio.run(with_window(endpoint, seconds=0.2)).window_known


def test_what_is_set_is_not_asked_for() -> None:
    """And what the server does not tell, of this model, stays unknown."""
    with Stub([models("some-model", max_model_len=32_000)]) as stub:
        assert asked(stub, window=5_000).window == 5_000
        assert not stub.asked


@pytest.mark.parametrize(
    "listed",
    [models("other", max_model_len=32_000), NO, models("some-model", max_model_len="many"), error(200, body="x")],
)
def test_what_is_not_told_stays_unknown(listed: Any) -> None:
    """Whatever else the server answers, of this or another model."""
    with Stub([listed, *[error(200, body=each) for each in ("[]", "7", '{"models": 3}', '{"parameters": 5}')]]) as stub:
        assert not asked(stub).window_known
    assert len(stub.asked) == 5
