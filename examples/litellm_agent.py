"""A loop of tool calls on LiteLLM whose model never sees more than fits: one callback.

The program holds its list of messages and sends all of it. The callback finds the conversation in the log, and puts the
messages that fit into the request, just before it goes to the provider.

    OPENAI_API_KEY=… python litellm_agent.py "Where does web listen?"

Any model that LiteLLM knows will do: set MODEL. In LiteLLM's proxy the same is one line of its configuration.
"""

import asyncio
import json
import os
import sys
from typing import Any

import litellm

from sightline.adapters.litellm import SightlineHook

PORTS = {"web": 8080, "mail": 2525}
SERVICE = {"type": "object", "properties": {"service": {"type": "string"}}, "required": ["service"]}
TOOLS = [{"type": "function", "function": {"name": "port_of", "description": "The port.", "parameters": SERVICE}}]


async def main() -> None:
    """Answer the question on the command line."""
    litellm.callbacks = [SightlineHook(window=128_000)]
    messages: list[Any] = [{"role": "user", "content": " ".join(sys.argv[1:])}]
    while True:
        reply = await litellm.acompletion(os.environ.get("MODEL", "gpt-4o"), messages, tools=TOOLS, max_tokens=2_000)
        message = reply.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            port = PORTS[json.loads(call.function.arguments)["service"]]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(port)})
    print(message.content)


if __name__ == "__main__":
    asyncio.run(main())
