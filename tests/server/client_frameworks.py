"""Frameworks and programs on top of the SDKs in the conversation of `clients`: each with its own idea of a history."""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any

import anthropic
import openai
from clients import ABOUT, CLAUDE, GPT, SYSTEM, TOOL, Job

from copied_process import copier


def _tool(job: Job) -> Callable[[int], str]:
    """The tool as the frameworks want it: a function with types and words."""

    def read_page(number: int) -> str:
        return job.read(number)

    read_page.__doc__ = ABOUT
    return read_page


# ------------------------------------------------------------------ the OpenAI Agents SDK


def _agents(job: Job, kind: str, *, streams: bool = False) -> list[str]:
    import agents

    async def main() -> list[str]:
        client = agents.AsyncOpenAI(base_url=job.openai_url, api_key="any", max_retries=0)
        model: Any = getattr(agents, kind)(model=GPT, openai_client=client)
        reasons = agents.model_settings.Reasoning(effort="low") if "Responses" in kind else None
        settings = agents.ModelSettings(reasoning=reasons, store=False, response_include=_included(kind))
        tool = agents.function_tool(_tool(job))
        agent = agents.Agent(name="reader", instructions=SYSTEM, model=model, tools=[tool], model_settings=settings)
        config = agents.RunConfig(tracing_disabled=True)
        texts, history = [], []
        for words in job.words():
            said: Any = [*history, {"role": "user", "content": words}]
            if streams:
                run = agents.Runner.run_streamed(agent, said, run_config=config, max_turns=100)
                async for _ in run.stream_events():
                    pass
                result: Any = run
            else:
                result = await agents.Runner.run(agent, said, run_config=config, max_turns=100)
            texts.append(str(result.final_output))
            history = result.to_input_list()
        await client.close()
        return texts

    return asyncio.run(main())


def _included(kind: str) -> list[Any] | None:
    return ["reasoning.encrypted_content"] if "Responses" in kind else None


def agents_chat(job: Job) -> list[str]:
    """The OpenAI Agents SDK over chat completions, streamed."""
    return _agents(job, "OpenAIChatCompletionsModel", streams=True)


def agents_responses(job: Job) -> list[str]:
    """The same over responses, not streamed."""
    return _agents(job, "OpenAIResponsesModel")


def agents_responses_stream(job: Job) -> list[str]:
    """The same, streamed."""
    return _agents(job, "OpenAIResponsesModel", streams=True)


# ------------------------------------------------------------------ LangChain


def _langchain(job: Job, model: Any, client: Any, *, streams: bool) -> list[str]:
    from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import tool

    bound = model.bind_tools([tool(_tool(job))])
    said: list[Any] = [SystemMessage(SYSTEM)]
    texts = []
    for words in job.words():
        said.append(HumanMessage(words))
        while True:
            message = _sum(bound.stream(said)) if streams else bound.invoke(said)
            said.append(message)
            if not message.tool_calls:
                texts.append(message.text)
                break
            said += [ToolMessage(job.read(**each["args"]), tool_call_id=each["id"]) for each in message.tool_calls]
    client.close()
    return texts


def _sum(chunks: Any) -> Any:
    whole = None
    for chunk in chunks:
        whole = chunk if whole is None else whole + chunk
    return whole


def langchain_chat(job: Job) -> list[str]:
    """LangChain's ChatOpenAI over chat completions."""
    from langchain_openai import ChatOpenAI

    model: Any = ChatOpenAI(model=GPT, base_url=job.openai_url, api_key="any", max_retries=0)
    return _langchain(job, model, model.root_client, streams=False)


def langchain_responses(job: Job) -> list[str]:
    """LangChain's ChatOpenAI over responses, streamed, with reasoning that is not stored."""
    from langchain_openai import ChatOpenAI

    model: Any = ChatOpenAI(
        model=GPT, base_url=job.openai_url, api_key="any", max_retries=0, use_responses_api=True, store=False,
        reasoning={"effort": "low"}, include=["reasoning.encrypted_content"],
    )  # fmt: skip
    return _langchain(job, model, model.root_client, streams=True)


def langchain_anthropic(job: Job) -> list[str]:
    """LangChain's ChatAnthropic, not streamed."""
    model = _chat_anthropic(job)
    return _langchain(job, model, model._client, streams=False)


def langchain_anthropic_thinking(job: Job) -> list[str]:
    """The same with thinking, streamed."""
    model = _chat_anthropic(job, thinking={"type": "adaptive"})
    return _langchain(job, model, model._client, streams=True)


def _chat_anthropic(job: Job, **options: Any) -> Any:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(
        model_name=CLAUDE,
        base_url=job.anthropic_url,
        api_key="any",
        max_retries=0,
        max_tokens_to_sample=4096,
        **options,
    )


# ------------------------------------------------------------------ pydantic-ai


def _pydantic_ai(job: Job, model: Any, client: Any, settings: Any = None) -> list[str]:
    from pydantic_ai import Agent

    agent: Any = Agent(model, instructions=SYSTEM, tools=[_tool(job)], model_settings=settings)

    async def main() -> list[str]:
        texts, history = [], None
        for words in job.words():
            result = await agent.run(words, message_history=history)
            texts.append(result.output)
            history = result.all_messages()
        await client.close()
        return texts

    return asyncio.run(main())


def pydantic_ai_chat(job: Job) -> list[str]:
    """pydantic-ai over chat completions."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = openai.AsyncOpenAI(base_url=job.openai_url, api_key="any", max_retries=0)
    return _pydantic_ai(job, OpenAIChatModel(GPT, provider=OpenAIProvider(openai_client=client)), client)


def pydantic_ai_responses(job: Job) -> list[str]:
    """pydantic-ai over responses, with reasoning."""
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = openai.AsyncOpenAI(base_url=job.openai_url, api_key="any", max_retries=0)
    model = OpenAIResponsesModel(GPT, provider=OpenAIProvider(openai_client=client))
    return _pydantic_ai(job, model, client, {"openai_reasoning_effort": "low", "openai_store": False})


def pydantic_ai_anthropic(job: Job) -> list[str]:
    """pydantic-ai over Anthropic's API, with thinking."""
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = anthropic.AsyncAnthropic(base_url=job.anthropic_url, api_key="any", max_retries=0)
    model = AnthropicModel(CLAUDE, provider=AnthropicProvider(anthropic_client=client))
    return _pydantic_ai(job, model, client, {"anthropic_thinking": {"type": "adaptive"}})


# ------------------------------------------------------------------ the llm command


def llm(job: Job) -> list[str]:
    """The `llm` command, a process for each turn, its conversation in its own database."""
    home = job.folder / "llm"
    home.mkdir()
    entry = {
        "model_id": "ours",
        "model_name": GPT,
        "api_base": job.openai_url,
        "supports_tools": True,
        "api_key_name": "ours",
    }
    (home / "extra-openai-models.yaml").write_text(json.dumps([entry]))  # JSON is YAML
    (home / "keys.json").write_text(json.dumps({"ours": "any"}))
    pages = {number: job.read(number) for number in range(1, job.turns * (job.calls + 1) + 1)}
    code = home / "tools.py"
    code.write_text(
        f"PAGES = {pages!r}\ndef {TOOL}(number: int) -> str:\n    {ABOUT!r}\n    return PAGES[number]\n",
        encoding="utf-8",
    )
    command = ["-m", "llm", "-m", "ours", "--functions", str(code), "--chain-limit", "0"]
    texts = []
    for turn, words in enumerate(job.words()):
        options = ["-c"] if turn else ["-s", SYSTEM]
        environment = {"PATH": os.environ["PATH"], "LLM_USER_PATH": str(home), "HOME": str(home)}
        done = copier("import llm.cli, openai.resources.chat").run([*command, *options, words], home, environment)
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout[done.stdout.index("Answer") :].strip())  # after what was said on the way
    return texts


DRIVERS: dict[str, Callable[[Job], list[str]]] = {
    "openai-agents chat": agents_chat,
    "openai-agents responses": agents_responses,
    "openai-agents responses stream": agents_responses_stream,
    "langchain chat": langchain_chat,
    "langchain responses": langchain_responses,
    "langchain anthropic": langchain_anthropic,
    "langchain anthropic thinking": langchain_anthropic_thinking,
    "pydantic-ai chat": pydantic_ai_chat,
    "pydantic-ai responses": pydantic_ai_responses,
    "pydantic-ai anthropic": pydantic_ai_anthropic,
    "llm": llm,
}
