"""A session that two frameworks have used in turn, in the inspector."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message
from inspected_page import InspectedPage
from inspector_server import InspectorServer
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from playwright.sync_api import Browser, expect
from pydantic import Field

import sightline as sl
from sightline.adapters.langchain import SightlineMiddleware
from sightline.adapters.openai_agents import run_options

BUDGET = sl.Budget(window=12_000, output=1_000)
TALK = ["I am Ann.", "Hello Ann.", "My colour is blue.", "Noted.", "Which colour?", "Blue."]


class Model(GenericFakeChatModel):
    """Says what it is given, and remembers what it was asked."""

    asked: list[str] = Field(default_factory=list)

    def bind_tools(self, *_given: Any, **_named: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *given: Any, **named: Any) -> Any:
        self.asked.append(str([message.content for message in messages]))
        return super()._generate(messages, *given, **named)


def converse(folder: Path) -> tuple[str, str]:
    """Talk in one session by the Agents SDK, LangChain and the SDK again. Return what the last two models saw."""
    sdk = ScriptedModel([[assistant_message("Hello Ann.")], [assistant_message("Blue.")]])
    keeper = Agent(name="keeper", instructions="Be brief.", model=sdk)

    def run_agents(text: str) -> None:
        options = run_options("ann", BUDGET, sessions=folder, run_config=RunConfig(tracing_disabled=True))
        asyncio.run(Runner.run(keeper, text, **options))
        options["session"].close()

    run_agents(TALK[0])
    model = Model(messages=iter([AIMessage(TALK[3])]))
    middleware = SightlineMiddleware(BUDGET, sessions=folder)
    agent = create_agent(model, tools=[], middleware=[middleware], system_prompt="Be kind.")
    agent.invoke({"messages": [HumanMessage(TALK[2])]}, {"configurable": {"thread_id": "ann"}})
    middleware.close()
    run_agents(TALK[4])
    return model.asked[-1], str(sdk.calls[-1].input)


def test_two_frameworks_talk_in_one_session_and_the_inspector_shows_it(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each model sees what the other framework's said; the log has one branch, and the page lists all of it."""
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    with ThreadPoolExecutor(1) as other:  # the browser's thread has an event loop
        seen_by_langchain, seen_by_sdk = other.submit(converse, tmp_path).result()
    assert all(text in seen_by_langchain for text in TALK[:3])
    assert all(text in seen_by_sdk for text in TALK[:5])
    with sl.Session.inspect("ann", tmp_path) as session:
        assert session.branches == [""]
    with InspectorServer(tmp_path) as server, InspectedPage(browser, server) as page:
        shown = page.open("#/s/ann/items")
        for text in TALK:
            expect(shown.get_by_text(text).first).to_be_visible()
        shown.goto(f"{server.url}#/s/ann/call")
        expect(shown.get_by_text(TALK[3]).first).to_be_visible()
        page.shoot("two-frameworks")
