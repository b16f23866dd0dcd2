"""A loop of your own on OpenAI's SDK, with one line more: the client is wrapped.

The loop holds its list of messages itself and sends the whole of it each time, as most programs do. While it fits, the
request is sent as the program made it. Later it is composed. The model gets `expand` and `recall` then, and the loop
does not see their calls. Everything is in the log.

    OPENAI_API_KEY=… python wrapped_client.py "What is 17 degrees Celsius in Fahrenheit?"
"""

import json
import os
import sys
from typing import Any

import openai

import sightline as sl

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "fahrenheit",
            "description": "Convert degrees Celsius.",
            "parameters": {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]},
        },
    }
]


def ask(client: openai.OpenAI, question: str) -> str:
    """Answer one question: call the model and run its tools until it has nothing more to call."""
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        model = os.environ.get("MODEL", "gpt-5")
        message = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            celsius = json.loads(call.function.arguments)["celsius"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(celsius * 9 / 5 + 32)})


def main() -> None:
    """Answer the question on the command line."""
    with sl.wrap(openai.OpenAI(), window=128_000) as client:
        print(ask(client, " ".join(sys.argv[1:])))


if __name__ == "__main__":
    main()
