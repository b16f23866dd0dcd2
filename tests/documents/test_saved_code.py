"""An agent that saves the code of a conversation, and is told of uploads."""

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sightline.agent.agent import Agent
from sightline.agent.events import Answer
from sightline.agent.tools import Tool
from sightline.documents.code.references import Upload, announcement
from sightline.documents.code.store import CodeStore
from sightline.documents.saved_code import SavedCode, saved_in
from sightline.session.session import Session
from sightline.testing import MemoryStore, ScriptedModel, Ticking
from sightline.values.items import Kind, ToolDefinition


def session(**settings: Any) -> Session:
    """One in memory."""
    made = Session(MemoryStore("s"), clock=Ticking())
    made.configure(**settings)
    return made


def saving_agent(model: ScriptedModel, store: CodeStore, **options: Any) -> Agent:
    """An agent that saves code here."""
    made = session()
    return Agent(made, model, extension=SavedCode(store, made), **options)


async def echo(arguments: Mapping[str, Any]) -> str:
    """What it was given."""
    return f"got {arguments.get('n')}"


def answered(agent: Agent, text: str) -> Answer:
    """The answer to one question."""
    return asyncio.run(agent.query(text))


def structured(content: Any, kind: str = "complete", **action: Any) -> str:
    """A response in the document's form."""
    said = {"task_analysis": "What the user wants to know.", "execution_plan": "R1: look", "current_round": 1}
    return json.dumps(said | {"action": {"type": kind, "content": content} | action}, ensure_ascii=False)


@pytest.mark.accepts(296, 341, 343, 349)
def test_the_json_of_the_document_calls_tools_and_saves_code(tmp_path: Path) -> None:
    """Calls in JSON are paired with their results in the log, code blocks are stored and listed in the next round."""
    store = CodeStore(tmp_path, clock=Ticking())
    lines = [
        structured([{"tool_name": "file_reader", "arguments": {"n": 7}}], "tool_call"),
        structured("See <code_ref>code_sum</code_ref>", code_blocks=[{"code_id": "code_sum", "code": "print(1)\n"}]),
        structured("Nothing new."),
    ]
    model = ScriptedModel(lines, native=False)
    agent = saving_agent(model, store, tools=[Tool(ToolDefinition("file_reader", "", {"type": "object"}), echo)])
    answer = answered(agent, "Sum it")
    assert answer.text == "See <code_ref>code_sum</code_ref>"
    assert [saved.code_id for saved in saved_in(answer)] == ["code_sum"]
    assert store.read("code_sum") == "print(1)\n"
    call = next(item for item in agent.session.items if item.kind is Kind.CALL)
    assert call.parts[0].id.startswith("call_read_file_")  # type: ignore[union-attr]
    assert "tools" not in model.asked[0]
    assert "got 7" in json.dumps(model.asked[1])
    assert {message["role"] for message in model.asked[1]["messages"]} == {"system", "user", "assistant"}
    answered(agent, "And?")
    assert "code_sum (python)" in json.dumps(model.asked[2])


@pytest.mark.accepts(344)
def test_code_that_cannot_be_saved_does_not_cost_the_answer(tmp_path: Path) -> None:
    """A bad id is a warning beside the answer, and the other block is kept."""
    blocks = [{"code_id": "code_../../x", "code": "1"}, {"code_id": "code_good_one", "code": "2"}]
    model = ScriptedModel([structured("Done.", code_blocks=blocks)], native=False)
    answer = answered(saving_agent(model, CodeStore(tmp_path, clock=Ticking())), "Write")
    assert answer.success
    assert [saved.code_id for saved in saved_in(answer)] == ["code_good_one"]
    assert "refused" in answer.warnings[0]


@pytest.mark.accepts(361)
def test_the_steps_of_a_turn_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Context built and code saved can be followed in the log of the program."""
    model = ScriptedModel([structured("Done.", code_blocks=[{"code_id": "code_log_it", "code": "1"}])], native=False)
    with caplog.at_level(logging.INFO, "sightline"):
        answered(saving_agent(model, CodeStore(tmp_path, clock=Ticking())), "Write")
    assert "context built" in caplog.text
    assert "code saved: code_log_it" in caplog.text


@pytest.mark.accepts(325)
def test_uploads_are_announced_before_the_question() -> None:
    """The model is told which files the user gave, and the question stays the user's last words."""
    model = ScriptedModel(["Seen."])
    upload = Upload("a1", "sales.csv", "csv", 2048)
    asyncio.run(Agent(session(locale="zh"), model).query("总结一下", note=announcement([upload], "zh")))
    messages = model.asked[0]["messages"]
    assert "upload:a1" in json.dumps(messages[-2], ensure_ascii=False)
    assert "总结一下" in json.dumps(messages[-1], ensure_ascii=False)


def test_the_window_of_code_is_only_there_with_code(tmp_path: Path) -> None:
    """Without code nothing is said of it; afterwards every payload ends with the list as it is then."""
    store = CodeStore(tmp_path, clock=Ticking())
    model = ScriptedModel(["a", "b", "c"])
    agent = saving_agent(model, store)
    answered(agent, "one")
    store.store("code_first_one", "x = 1", description="first", session_id="s")
    answered(agent, "two")
    store.store("code_second_one", "y = 2", description="second", session_id="s")
    store.store("code_foreign", "z", session_id="other")
    answered(agent, "three")
    said = [json.dumps(asked) for asked in model.asked]
    assert "code_first_one" not in said[0]
    assert "code_first_one (python) - first" in said[1]
    assert "code_second_one (python) - second" in said[2]
    assert "code_foreign" not in said[2]
