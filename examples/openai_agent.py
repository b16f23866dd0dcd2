"""An agent loop on the OpenAI SDK, with streaming: thirty lines, and the conversation never outgrows the window.

`compose` gives the messages, the tools and the token limit of the next call; `streamed` passes the chunks on and logs
the reply at its end, or what has come if you stop it; `open_calls` are the calls that are yours to run. The engine
answers `expand` and `recall` itself: the model asks with them for what was shortened.

    OPENAI_API_KEY=… python openai_agent.py "What is 17 degrees Celsius in Fahrenheit?"

Any server that speaks the same protocol will do: set OPENAI_BASE_URL, and MODEL.
"""

import os
import sys
from collections.abc import Callable
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
FUNCTIONS: dict[str, Callable[..., Any]] = {"fahrenheit": lambda celsius: celsius * 9 / 5 + 32}


def ask(client: openai.OpenAI, session: sl.Session, question: str, *, model: str, window: int = 128_000) -> None:
    """Answer one question: call the model and run its tools until it has nothing more to call."""
    session.user(question)
    while True:
        payload = session.compose(sl.Budget(window=window, output=2_000))
        stream = client.chat.completions.create(
            model=model, stream=True, stream_options={"include_usage": True}, **payload.openai()
        )
        with session.streamed(stream) as chunks:
            for chunk in chunks:
                print(chunk.choices[0].delta.content or "" if chunk.choices else "", end="", flush=True)
        print()
        if not session.open_calls and not session.answered:
            return
        for call in session.open_calls:
            try:
                session.tool_result(call.id, FUNCTIONS[call.name](**call.input))
            except Exception as error:  # the model reads what went wrong, and tries something else
                session.tool_result(call.id, repr(error), error=True)


def main() -> None:
    """Answer the question on the command line, in the newest session of this folder; `Session.new()` begins another."""
    with sl.Session.open() as session:
        print(f"[session {session.id}, {len(session.items)} items so far]", file=sys.stderr)
        session.tools(TOOLS)
        ask(openai.OpenAI(), session, " ".join(sys.argv[1:]), model=os.environ.get("MODEL", "gpt-5"))


if __name__ == "__main__":
    main()
