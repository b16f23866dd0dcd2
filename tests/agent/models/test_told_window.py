"""The context window of a model is asked of its server, however the model was named."""

import asyncio
from typing import Any

import pytest
from stub import Stub, error, models

from sightline.agent.models.discovery import with_window
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


def test_what_is_set_is_not_asked_for() -> None:
    """And what the server does not tell, of this model, stays unknown."""
    with Stub([models("other", max_model_len=32_000), error(404), models("some-model", max_model_len="many")]) as stub:
        assert asked(stub, window=5_000).window == 5_000
        assert not stub.asked
        assert not any(asked(stub).window_known for _ in range(3))
