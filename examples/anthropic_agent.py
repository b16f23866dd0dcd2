"""An agent loop on the Anthropic SDK, with streaming: the same loop, and cache breakpoints are set for you.

`compose` gives system, messages and tools of the next call, with a mark up to where the provider should cache: what was
sent before begins the next payload byte for byte, so most of it is read from the cache. `max_tokens` is the budget's
`output`. `streamed` passes the chunks on, logs the reply at its end, or what has come if you stop it, and learns from
the usage it reports.

    ANTHROPIC_API_KEY=… python anthropic_agent.py "What is 17 degrees Celsius in Fahrenheit?"
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import anthropic

import sightline as sl

TOOLS = [
    {
        "name": "fahrenheit",
        "description": "Convert degrees Celsius.",
        "input_schema": {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]},
    }
]
FUNCTIONS: dict[str, Callable[..., Any]] = {"fahrenheit": lambda celsius: celsius * 9 / 5 + 32}


def ask(client: anthropic.Anthropic, session: sl.Session, question: str, *, model: str, window: int = 200_000) -> None:
    """Answer one question: call the model and run its tools until it has nothing more to call."""
    session.user(question)
    while True:
        payload = session.compose(sl.Budget(window=window, output=2_000))
        stream = client.messages.create(model=model, stream=True, **payload.anthropic())
        with session.streamed(stream) as chunks:
            for chunk in chunks:
                if chunk.type == "content_block_delta" and chunk.delta.type == "text_delta":
                    print(chunk.delta.text, end="", flush=True)
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
        session.configure(profile="anthropic")
        session.tools(TOOLS)
        ask(anthropic.Anthropic(), session, " ".join(sys.argv[1:]), model=os.environ.get("MODEL", "claude-sonnet-5-5"))


if __name__ == "__main__":
    main()
