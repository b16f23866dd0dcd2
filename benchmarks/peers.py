"""The peers' side: runs in their own environment, takes one JSON request per line and answers each with one line.

A request is `{"do": name, ...arguments}`, an answer `{"ok": value}` or `{"error": text}`.
"""

import asyncio
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.histories import agent_run, agent_stream, chat_turns
from benchmarks.measure import times

NEVER = 10**12  # tokens: a trigger no history reaches


def versions(names: list[str]) -> dict[str, str]:
    """What is installed."""
    return {name: version(name) for name in names}


def trim(messages: int, tokens: int, repeats: int) -> list[float]:
    """LangChain `trim_messages`, as its documentation recommends it for chat histories."""
    from langchain_core.messages import convert_to_messages, trim_messages
    from langchain_core.messages.utils import count_tokens_approximately

    history = convert_to_messages(agent_run(messages))

    def work() -> None:
        trim_messages(
            history,
            max_tokens=tokens,
            token_counter=count_tokens_approximately,
            strategy="last",
            start_on="human",
            include_system=True,
        )

    return times(work, repeats)


def edit(messages: int, repeats: int) -> list[float]:
    """LangChain `ContextEditingMiddleware` below its trigger: what it costs when it changes nothing."""
    from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
    from langchain.agents.middleware.types import ModelRequest, ModelResponse
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import AIMessage, convert_to_messages

    system, *history = convert_to_messages(agent_run(messages))
    request: Any = ModelRequest(model=FakeListChatModel(responses=["ok"]), messages=history, system_message=system)
    middleware: Any = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=NEVER)])
    answer: Any = ModelResponse(result=[AIMessage("ok")])
    return times(lambda: middleware.wrap_model_call(request, lambda _: answer), repeats)


def _sqlite_session(path: str) -> Any:
    from agents.memory.sqlite_session import SQLiteSession

    class Synced(SQLiteSession):  # type: ignore[misc]
        """Every commit waits for the disk, whatever this build of SQLite does by default."""

        @staticmethod
        def _configure_connection(conn: sqlite3.Connection) -> None:
            SQLiteSession._configure_connection(conn)
            conn.execute("PRAGMA synchronous=FULL")

    return Synced("bench", path)


def append(path: str, turns: int, size: int, commits: int) -> dict[str, Any]:
    """OpenAI Agents `SQLiteSession`: a turn in one commit, or in two, so that the user's message is durable first."""
    history = chat_turns(turns, size)

    async def run() -> list[float]:
        session, samples = _sqlite_session(path), []
        for at in range(0, len(history), 2):
            pair = history[at : at + 2]
            batches = [pair] if commits == 1 else [[message] for message in pair]
            begun = perf_counter()
            for batch in batches:
                await session.add_items(batch)
            samples.append(perf_counter() - begun)
        session.close()
        return samples

    return {"seconds": asyncio.run(run()), "bytes": Path(path).stat().st_size}


def fill(path: str, messages: int) -> int:
    """An agent run in a `SQLiteSession`; the size of its file."""

    async def run() -> None:
        session, batch = _sqlite_session(path), []
        for message in agent_stream(messages):
            batch.append(message)
            if len(batch) == 1000:
                await session.add_items(batch)
                batch = []
        await session.add_items(batch)
        session.close()

    asyncio.run(run())
    return Path(path).stat().st_size


def read(path: str, repeats: int) -> list[float]:
    """A `SQLiteSession` opened anew, and all its items."""

    async def run() -> None:
        session = _sqlite_session(path)
        await session.get_items()
        session.close()

    return times(lambda: asyncio.run(run()), repeats)


def checkpoint(path: str, turns: int, size: int) -> int:
    """LangChain `create_agent` with LangGraph's `SqliteSaver`; the size of its file after that many turns."""
    from langchain.agents import create_agent
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.checkpoint.sqlite import SqliteSaver

    history = chat_turns(turns, size)
    answers = iter([AIMessage(message["content"]) for message in history[1::2]])
    with SqliteSaver.from_conn_string(path) as saver:
        agent: Any = create_agent(GenericFakeChatModel(messages=answers), tools=[], checkpointer=saver)
        for message in history[::2]:
            request = {"messages": [HumanMessage(message["content"])]}
            agent.invoke(request, {"configurable": {"thread_id": "bench"}})
    return Path(path).stat().st_size


REQUESTS: dict[str, Callable[..., Any]] = {
    work.__name__: work for work in (versions, trim, edit, append, fill, read, checkpoint)
}


def answer(line: str) -> dict[str, Any]:
    """Answer a request. If a peer fails, the answer says so and the run goes on."""
    request = json.loads(line)
    try:
        return {"ok": REQUESTS[request.pop("do")](**request)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answer requests until there are no more."""
    os.environ |= {"LANGSMITH_TRACING": "false", "OPENAI_AGENTS_DISABLE_TRACING": "1"}  # nothing leaves this machine
    answers, sys.stdout = sys.stdout, sys.stderr  # a library that prints must not be taken for an answer
    for line in sys.stdin:
        print(json.dumps(answer(line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
