"""What adapters do with answers that do not fit, and with items of tools that they do not know."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sightline.adapters.openai_agents import _Filter, recall_tools
from sightline.adapters.openai_agents_items import in_messages
from sightline.follow.call import FollowedCall
from sightline.follow.model_request import FORMATS
from sightline.follow.turns import Turns
from sightline.server.config import Config


@pytest.mark.parametrize("kind", ["function_call_output", "shell_call_output", "mcp_approval_response"])
def test_what_answers_a_call_ends_a_reply(kind: str) -> None:
    """Whatever tool it is of: the next item of the model is another message."""
    items = [{"type": "reasoning"}, {"type": "shell_call"}, {"type": kind}, {"type": "shell_call"}, {"type": kind}]
    assert in_messages(items) == [items[:2], items[2], [items[3]], items[4]]


def test_a_request_that_is_always_refused_is_made_shorter_once(tmp_path: Path) -> None:
    """The second refusal is the program's: no model is called for ever."""
    turns = Turns(Config(folder=tmp_path, root=tmp_path / "logs", upstreams={"openai": "http://any"}))
    body = b'{"model": "any", "input": [{"role": "user", "content": "Hello"}]}'
    call = FollowedCall.begin(turns, FORMATS["/v1/responses"], body, {})
    told = b'{"error": {"code": "context_length_exceeded", "message": "too long"}}'
    assert call.refused(400, told) is not None
    assert call.refused(400, told) is None
    turns.close()


@pytest.mark.parametrize("tool", recall_tools, ids=lambda each: each.name)
def test_arguments_that_are_no_json_do_not_end_a_run(tool: Any) -> None:
    """The model is told, and may call again."""
    context = SimpleNamespace(run_config=SimpleNamespace(call_model_input_filter=_Filter(SimpleNamespace())))  # type: ignore[arg-type]
    assert asyncio.run(tool.on_invoke_tool(context, '{"id": ')).startswith(f"[{tool.name} failed: ")
