"""An agent of Strands whose model never sees more than fits: one argument of `Agent`.

The conversation manager composes the messages of every model call, also in the middle of a long loop of tools, and
takes nothing out of `agent.messages`. The next run goes on with the same conversation, from the log.

    OPENAI_API_KEY=… python strands_agent.py "Where does web listen?"

Any server that speaks chat completions will do: set OPENAI_BASE_URL, and MODEL. With Bedrock, leave the model out.
"""

import os
import sys

from strands import Agent, tool
from strands.models.openai import OpenAIModel

import sightline as sl
from sightline.adapters.strands import SightlineConversationManager


@tool
def port_of(service: str) -> int:
    """The port that a service listens on."""
    return {"web": 8080, "mail": 2525}[service]


def main() -> None:
    """Answer the question on the command line."""
    manager = SightlineConversationManager("services", sl.Budget(window=128_000, output=2_000))
    agent = Agent(
        model=OpenAIModel(model_id=os.environ.get("MODEL", "gpt-5")),
        tools=[port_of],
        system_prompt="You know the services of this company.",
        callback_handler=None,
        conversation_manager=manager,
    )
    print(agent(" ".join(sys.argv[1:])))
    manager.close()


if __name__ == "__main__":
    main()
