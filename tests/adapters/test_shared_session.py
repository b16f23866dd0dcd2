"""One session that several programs use in turn: what one of them said, the model of the next one sees."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message
from pydantic_ai import Agent as TypedAgent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import sightline as sl
from sightline.adapters.openai_agents import run_options
from sightline.adapters.pydantic_ai import SightlineCapability
from sightline.values.items import plain_text

BUDGET = sl.Budget(window=12_000, output=1_000)


def test_the_agents_sdk_and_the_library_go_on_with_one_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK begins, the library goes on, the SDK goes on: each model sees all of it, and the log has one branch."""
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    model = ScriptedModel([[assistant_message("Hello Ann.")], [assistant_message("Blue.")]])
    agent = Agent(name="keeper", instructions="Be brief.", model=model)

    def run(text: str) -> dict[str, Any]:
        config = RunConfig(tracing_disabled=True)
        options = run_options("ann", BUDGET, sessions=tmp_path, run_config=config)
        asyncio.run(Runner.run(agent, text, **options))
        options["session"].close()
        return options

    run("I am Ann.")
    with sl.Session.resume("ann", tmp_path) as session:
        session.user("My colour is blue.")
        assert "Hello Ann." in str(session.compose(BUDGET).openai()["messages"])
        session.reply("Noted.")
    run("Which colour?")
    shown = str(model.calls[-1].input)
    assert all(text in shown for text in ("I am Ann.", "Hello Ann.", "My colour is blue.", "Noted.", "Which colour?"))
    with sl.Session.inspect("ann", tmp_path) as session:
        assert session.branches == [""]
        assert [plain_text(item.parts) for item in session.items] == [
            "I am Ann.", "Be brief.", "Hello Ann.", "My colour is blue.", "Noted.", "Which colour?", "Blue.",
        ]  # fmt: skip


def test_pydantic_ai_and_the_agents_sdk_go_on_with_one_session(tmp_path: Path) -> None:
    """One framework begins, the other goes on under the same id, and the first again: each model sees all of it."""
    model = ScriptedModel([[assistant_message("Hello Ann.")], [assistant_message("Blue.")]])
    keeper = Agent(name="keeper", instructions="Be brief.", model=model)
    asked: list[str] = []

    def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        asked.append(str(messages))
        return ModelResponse(parts=[TextPart("Noted.")])

    def run_agents(text: str) -> None:
        options = run_options("ann", BUDGET, sessions=tmp_path, run_config=RunConfig(tracing_disabled=True))
        asyncio.run(Runner.run(keeper, text, **options))
        options["session"].close()

    run_agents("I am Ann.")
    capability = SightlineCapability(BUDGET, sessions=tmp_path)
    typed: TypedAgent[None, str] = TypedAgent(
        FunctionModel(respond), instructions="Be kind.", capabilities=[capability]
    )
    asyncio.run(typed.run("My colour is blue.", conversation_id="ann"))
    capability.close()
    run_agents("Which colour?")
    assert all(text in asked[0] for text in ("I am Ann.", "Hello Ann.", "My colour is blue."))
    shown = str(model.calls[-1].input)
    assert all(text in shown for text in ("I am Ann.", "Hello Ann.", "My colour is blue.", "Noted.", "Which colour?"))
    with sl.Session.inspect("ann", tmp_path) as session:
        said = [plain_text(item.parts) for item in session.items]
    assert [text for text in said if text not in ("Be brief.", "Be kind.")] == [
        "I am Ann.", "Hello Ann.", "My colour is blue.", "Noted.", "Which colour?", "Blue.",
    ]  # fmt: skip
