"""Agent loops for an event loop: the async client of the OpenAI SDK, streaming, tools, several sessions at once.

`AsyncSession` has the methods of `Session`, awaited: they run in worker threads, so one session's disk, search or
tokenizer holds up neither the loop nor the other sessions. Each question gets a session of its own.

    OPENAI_API_KEY=… python async_openai_agent.py "What is 17 °C in Fahrenheit?" "And 30 °C?"

Any server that speaks the same protocol will do: set OPENAI_BASE_URL, and MODEL.
"""

import asyncio
import os
import sys
from typing import Any

import openai

import sightline as sl

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "fahrenheit",
            "description": "Convert degrees Celsius.",
            "parameters": {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]},
        },
    }
]


async def fahrenheit(celsius: float) -> float:
    """Convert degrees Celsius."""
    return celsius * 9 / 5 + 32


async def run_call(session: sl.AsyncSession, call: Any) -> None:
    """Run one call of the model and log its result."""
    try:
        await session.tool_result(call.id, await {"fahrenheit": fahrenheit}[call.name](**call.input))
    except Exception as error:  # the model reads what went wrong, and tries something else
        await session.tool_result(call.id, repr(error), error=True)


async def ask(client: openai.AsyncOpenAI, session: sl.AsyncSession, question: str, *, model: str) -> str:
    """Answer one question: call the model and run its tools, all of a reply at once, until there is nothing to call."""
    await session.user(question)
    while True:
        payload = await session.compose(sl.Budget(window=128_000, output=2_000))
        arguments = await asyncio.to_thread(payload.openai)  # decoding a long conversation takes a while too
        stream = await client.chat.completions.create(
            model=model, stream=True, stream_options={"include_usage": True}, **arguments
        )
        async with session.streamed(stream) as chunks:
            async for chunk in chunks:
                if chunk.choices and chunk.choices[0].delta.content:
                    print(f"[{session.id}] {chunk.choices[0].delta.content}")
        calls = await session.open_calls()
        if not calls and not session.answered:
            return chunks.text
        await asyncio.gather(*(run_call(session, call) for call in calls))


async def answer(client: openai.AsyncOpenAI, number: int, question: str) -> str:
    """Answer a question in a new session."""
    async with await sl.AsyncSession.new(session_id=f"question-{number}") as session:
        await session.tools(TOOLS)
        return await ask(client, session, question, model=os.environ.get("MODEL", "gpt-5"))


async def main() -> None:
    """Answer all questions of the command line at the same time, and print the answers in their order."""
    async with openai.AsyncOpenAI() as client:
        for text in await asyncio.gather(*(answer(client, *each) for each in enumerate(sys.argv[1:], start=1))):
            print(text)


if __name__ == "__main__":
    asyncio.run(main())
