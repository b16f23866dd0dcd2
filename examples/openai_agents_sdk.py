"""An agent of the OpenAI Agents SDK whose model never sees more than fits: one argument of `Runner.run`.

`run_options` gives a session that keeps every item, and a filter that composes the input of every model call, also in
the middle of a long loop of tools. `recall_tools` are `expand` and `recall`, by which the model sees again what was
shortened.

    OPENAI_API_KEY=… python openai_agents_sdk.py "Where does web listen?"

Any server that speaks chat completions will do: set OPENAI_BASE_URL, and MODEL.
"""

import os
import sys

from agents import Agent, Runner, function_tool, set_default_openai_api, set_tracing_disabled

import sightline as sl
from sightline.adapters.openai_agents import recall_tools, run_options


@function_tool
def port_of(service: str) -> int:
    """The port that a service listens on."""
    return {"web": 8080, "mail": 2525}[service]


def main() -> None:
    """Answer the question on the command line. The next run goes on with the same session."""
    set_default_openai_api("chat_completions")
    set_tracing_disabled(True)
    agent = Agent(
        name="services",
        instructions="You know the services of this company.",
        model=os.environ.get("MODEL", "gpt-5"),
        tools=[port_of, *recall_tools],
    )
    options = run_options("services", sl.Budget(window=128_000, output=2_000))
    result = Runner.run_sync(agent, " ".join(sys.argv[1:]), **options)
    print(result.final_output)
    options["session"].close()


if __name__ == "__main__":
    main()
