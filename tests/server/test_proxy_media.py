"""Images, documents, thinking, server tools and structured output survive a sweep: the strict upstream takes all."""

from pathlib import Path
from typing import Any

import pytest
from through_proxy import OWN, TALKERS, Talk, Through, asked_names
from upstream import Asked
from upstream_media import PDF, PNG
from upstream_script import Answer, Raw, answer, call, think

WINDOW = 6000
IMAGES: dict[str, list[Any]] = {
    "anthropic": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
        {"type": "text", "text": "What is this?"},
    ],
    "chat": [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "text", "text": "What is this?"},
    ],
    "responses": [
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
        {"type": "input_text", "text": "What is this?"},
    ],
}
FORMAT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
FIELDS: dict[str, dict[str, Any]] = {
    "anthropic": {"thinking": {"type": "adaptive"}},
    "chat": {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": FORMAT}}},
    "responses": {
        "reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"],
        "text": {"format": {"type": "json_schema", "name": "n", "strict": True, "schema": FORMAT}},
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("wire", TALKERS)
def test_media_and_thinking_survive_sweeps(wire: str, tmp_path: Path) -> None:
    """With thinking before every call, and a search of the provider's own on the way."""
    steps = iter(range(1, 100))

    def script(asked: Asked) -> Answer:
        number = next(steps)
        thoughts = [think(f"Thought {number}.")] if wire != "chat" else []
        if number % 4 == 0:
            found = {"type": "web_search_tool_result", "tool_use_id": f"srv{number}", "content": []}
            begun = {"type": "server_tool_use", "id": f"srv{number}", "name": "web_search", "input": {"query": "a"}}
            searched = [Raw(begun), Raw(found)] if wire == "anthropic" else []
            return answer(*thoughts, *searched, '{"a": "yes"}')
        if number % 5 == 0 and OWN & {*asked_names(asked)}:
            return answer(*thoughts, call("recall", {"query": "valve"}))
        return answer(*thoughts, call("read", {"path": f"file{number}"}))

    with Through(tmp_path, script, window=WINDOW) as through:
        talk = Talk(through, wire, **FIELDS[wire])
        for _ in range(5):
            assert talk.say(IMAGES[wire]) == '{"a": "yes"}'
        assert through.upstream.invalid == []
        assert {*asked_names(through.upstream.calls[-1])} > OWN
        assert all(body[name] == value for body in through.bodies for name, value in FIELDS[wire].items())
