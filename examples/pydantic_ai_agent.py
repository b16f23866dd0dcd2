"""An agent of pydantic-ai whose model never sees more than fits: one capability.

`SightlineCapability` composes what the model gets before every request. The run keeps every message. The capability
brings `expand` and `recall`, two tools by which the model sees again what was shortened.

    OPENAI_API_KEY=… python pydantic_ai_agent.py "Where does web listen?"

Any server that speaks chat completions will do: set OPENAI_BASE_URL, and MODEL.
"""

import os
import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

import sightline as sl
from sightline.adapters.pydantic_ai import SightlineCapability

capability = SightlineCapability(sl.Budget(window=128_000, output=2_000))
agent = Agent(
    OpenAIChatModel(os.environ.get("MODEL", "gpt-5")),
    instructions="You know the services of this company.",
    capabilities=[capability],
)


@agent.tool_plain
def port_of(service: str) -> int:
    """The port that a service listens on."""
    return {"web": 8080, "mail": 2525}[service]


def main() -> None:
    """Answer the question on the command line. The session has the name of the conversation."""
    result = agent.run_sync(" ".join(sys.argv[1:]), conversation_id="services")
    print(result.output)
    capability.close()


if __name__ == "__main__":
    main()
