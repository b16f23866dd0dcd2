"""A model in this process: the real tiny one. What it says does not matter, only that the machinery works."""

import asyncio
import json
from pathlib import Path

import pytest
from model_talk import BUDGET, pieces, reply, said, session
from msgspec.structs import replace

from sightline.agent.models import Request
from sightline.agent.models.discovery import make_model
from sightline.agent.models.endpoint import Endpoint
from sightline.errors import ContextOverflow, ModelRefused

SCHEMA = {
    "type": "object",
    "properties": {"tool": {"enum": ["list_files", "file_reader"]}, "path": {"enum": ["a.csv", "b.csv"]}},
    "required": ["tool", "path"],
    "additionalProperties": False,
}


@pytest.mark.slow
def test_the_tiny_model_answers_in_the_shape_asked_for(tiny_model: Endpoint) -> None:
    """Pieces, a whole reply that the session takes with its usage; stopped early; asked too much."""
    talk = session()
    talk.user("Which tool?")

    async def main() -> None:
        model = make_model(replace(tiny_model, window=512))
        try:
            found = await pieces(model, Request(talk.compose(BUDGET), 80, schema=SCHEMA))
            answer = json.loads(said(found))
            assert answer["tool"] in ("list_files", "file_reader")
            assert answer["path"] in ("a.csv", "b.csv")
            talk.reply(reply(found))
            assert reply(found)["usage"]["prompt_tokens"] > 0
            assert reply(found)["model"] == tiny_model.name
            talk.user("Count to a thousand.")
            stream = model.stream(Request(talk.compose(BUDGET), 400))
            await anext(stream)
            await stream.aclose()
            talk.user("word " * 900)
            with pytest.raises(ContextOverflow) as caught:
                await pieces(model, Request(talk.compose(BUDGET), 40))
            assert caught.value.input_tokens is not None
            assert caught.value.input_tokens > 900
        finally:
            await model.close()

    asyncio.run(main())


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    """One that is missing, and one that is something else."""
    other = tmp_path / "other.gguf"
    other.write_bytes(b"not a model at all")
    talk = session()
    talk.user("Hello")
    for path in (tmp_path / "missing.gguf", other):
        model = make_model(Endpoint("m", "local", gguf=str(path)))
        with pytest.raises(ModelRefused, match=path.name):
            asyncio.run(pieces(model, Request(talk.compose(BUDGET), 40)))
