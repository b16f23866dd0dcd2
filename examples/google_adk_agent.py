"""An agent of Google's ADK whose model never sees more than fits: a plug-in and its session service.

The plug-in composes the contents of every model call, also in the middle of a long loop of tools. The session service
keeps every event. The next run goes on with the same session.

    GOOGLE_API_KEY=… python google_adk_agent.py "Where does web listen?"
"""

import asyncio
import os
import sys

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import Runner
from google.genai import types

import sightline as sl
from sightline.adapters.google_adk import SightlinePlugin


def port_of(service: str) -> int:
    """The port that a service listens on."""
    return {"web": 8080, "mail": 2525}[service]


async def main() -> None:
    """Answer the question on the command line."""
    agent = LlmAgent(
        name="services",
        model=os.environ.get("MODEL", "gemini-2.5-flash"),
        instruction="You know the services of this company.",
        tools=[port_of],
    )
    plugin = SightlinePlugin(sl.Budget(window=128_000, output=2_000))
    app = App(name="services", root_agent=agent, plugins=[plugin])
    runner = Runner(app=app, session_service=plugin.session_service, auto_create_session=True)
    question = types.Content(role="user", parts=[types.Part(text=" ".join(sys.argv[1:]))])
    async for event in runner.run_async(user_id="ann", session_id="ports", new_message=question):
        if event.is_final_response() and event.content:
            print("".join(part.text or "" for part in event.content.parts or []))
    await runner.close()


if __name__ == "__main__":
    asyncio.run(main())
