"""Every line of the README's table of frameworks runs as it stands there.

Frameworks that only `make soak` installs are tried by tests/adapters/test_frameworks.py, which runs their programs in
`examples` too; here it is checked that these programs have the line.
"""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from pydantic_ai import Agent as TypedAgent
from pydantic_ai.models.test import TestModel

import sightline as sl
from sightline.adapters.langchain import ContextNode, SightlineMiddleware
from sightline.adapters.openai_agents import run_options
from sightline.adapters.pydantic_ai import SightlineCapability

ROOT = Path(__file__).parent.parent
SECTION = (
    (ROOT / "README.md").read_text(encoding="utf-8").partition("## In the framework you have")[2].partition("\n## ")[0]
)
LINES = {name: re.findall(r"`([^`]+)`", line) for name, line in re.findall(r"^\| ([^|]+) \| ([^|]+) \|", SECTION, re.M)}
SOAK = {"Strands": "strands_agent.py", "Google ADK": "google_adk_agent.py", "LiteLLM": "litellm_agent.py"}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this user's own is read or written."""
    for name in ("HOME", "SIGHTLINE_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)


def command(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell, with this environment's program."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = os.environ | {"PATH": path}
    return subprocess.run(
        line, shell=True, capture_output=True, text=True, input="", env=variables, check=False, timeout=120
    )


def test_the_table_has_no_line_that_is_not_run() -> None:
    """A framework that is added there is added here."""
    assert set(LINES) == {
        "framework", "---", "OpenAI SDK, Anthropic SDK", "LangChain", "LangGraph", "OpenAI Agents SDK", "pydantic-ai",
        *SOAK, "Claude Code", "Claude Code, Codex, any MCP client", "anything else",
    } - {"---"}  # fmt: skip


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI, anthropic.Anthropic, anthropic.AsyncAnthropic])
def test_clients(kind: type[Any]) -> None:
    """The wrapped client has the type of the one that was wrapped."""
    names: dict[str, Any] = {"sl": sl, "OpenAI": lambda: kind(api_key="none")}
    exec(LINES["OpenAI SDK, Anthropic SDK"][0], names)
    assert isinstance(names["client"], kind)


class ModelWithTools(FakeListChatModel):
    """A model that may be given tools, and does not call them."""

    def bind_tools(self, *_given: Any, **_named: Any) -> Any:
        return self


def test_langchain() -> None:
    """The agent answers."""
    names: dict[str, Any] = {"create_agent": create_agent, "SightlineMiddleware": SightlineMiddleware}
    names |= {"model": ModelWithTools(responses=["On 8080."], profile={"max_input_tokens": 32_000}), "tools": []}
    agent = eval(LINES["LangChain"][0], names)
    said = agent.invoke({"messages": [HumanMessage("Where?")]}, {"configurable": {"thread_id": "t"}})
    assert said["messages"][-1].content == "On 8080."
    assert LINES["LangGraph"] == [ContextNode.__name__]


def test_agents_sdk() -> None:
    """The run is in the session of this id."""
    model = ScriptedModel([[assistant_message("On 8080.")]])
    quiet = RunConfig(tracing_disabled=True)  # else the SDK starts a thread for the whole process
    options = run_options("id", sl.Budget(32_000, 1_000), run_config=quiet)  # this model has no name
    names: dict[str, Any] = {"Runner": Runner, "agent": Agent(name="a", model=model), "input": "Where?"}
    names["run_options"] = {"id": options}.__getitem__
    assert asyncio.run(eval(LINES["OpenAI Agents SDK"][0], names)).final_output == "On 8080."
    options["session"].close()
    with sl.Session.inspect("id") as session:
        assert len(list(session.items)) == 2


def test_pydantic_ai() -> None:
    """The agent answers."""
    model = TestModel(custom_output_text="On 8080.", model_name="gpt-5")
    names = {"Agent": TypedAgent, "model": model, "SightlineCapability": SightlineCapability}
    agent = eval(LINES["pydantic-ai"][0], names)
    assert asyncio.run(agent.run("Where?", conversation_id="t")).output == "On 8080."


@pytest.mark.parametrize("framework", SOAK)
def test_frameworks_of_the_soak(framework: str) -> None:
    """The example that the soak runs has every name of the line."""
    example = (ROOT / "examples" / SOAK[framework]).read_text(encoding="utf-8")
    for word in re.findall(r"\w+(?==)|Sightline\w+|(?<=\[)plugin(?=\])", LINES[framework][-1]):
        assert word in example, word


@pytest.mark.slow
def test_commands(tmp_path: Path) -> None:
    """They end well: what they do is tested elsewhere."""
    installed = command(LINES["Claude Code"][0])
    assert installed.returncode == 0, installed.stderr
    assert "sightline" in (tmp_path / "claude_config_dir/settings.json").read_text(encoding="utf-8")
    _, _, server = LINES["Claude Code, Codex, any MCP client"][0].partition(" -- ")
    assert command(server).returncode == 0  # no client: its input ends at once
    wrapped = command(LINES["anything else"][0].replace("COMMAND", "echo through the proxy"))
    assert (wrapped.returncode, "through the proxy" in wrapped.stdout) == (0, True), wrapped.stderr
