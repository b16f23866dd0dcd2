"""All five documents on one session: python examples/documents/all_five.py. No model and no network is needed."""

import asyncio
import json
from tempfile import TemporaryDirectory

from sightline import Session
from sightline.origins import ba_agent, clawdcode, contextui, docui, openstarry
from sightline.testing import ScriptedModel

CODE = {"code_id": "code_total", "language": "python", "description": "the total", "code": "print(sum(boxes))"}
ACTION = {"type": "complete", "content": "See <code_ref>code_total</code_ref>.", "code_blocks": [CODE]}
REPLY = {"task_analysis": "a total", "execution_plan": "R1: report", "current_round": 1, "action": ACTION}


async def main(folder: str) -> None:
    """Write to the session as each document does, and print one prompt that has it all."""
    session, model = Session.new(root=folder), ScriptedModel([json.dumps(REPLY)])
    talk = clawdcode.ContextManager(session=session)  # ClawdCode: messages, kept in a file
    talk.add_message("user", "We sell tea in boxes.")
    talk.flush()
    windows = contextui.WindowManager(contextui.ContextManager(session))  # ContextUI: a live window
    windows.register("notebook")
    notebook = windows.open("notebook")
    windows.act(notebook, "add", entry_id="region", title="Best region", content="The north, by 4711 boxes.")
    document = windows.window(notebook).context()  # DocUI: what the window shows, frozen, with its anchors
    print("Anchors:", *document.anchors, "- as in", docui.to_json(document)[:31].decode())
    codes = ba_agent.CodeStore(f"{folder}/codes")  # BA-Agent: answers with code, which is stored
    service = ba_agent.BAAgentService(model, codes, sessions=lambda _: session)
    result = await service.query("Write a total.", session_id=session.id)
    print("Report:", *result.response.split("\n\n"))
    strategist = openstarry.SlidingWindowContextManager(session=session, task_goal="Sell more tea.")  # OpenStarry
    payload = await strategist.compose_payload("You are brief.", [{"role": "user", "content": "And now?"}], [])
    for message in payload.messages:  # one prompt with all of it
        print(f"{message['role']:10}", f"{message['content']!r:.100}")
    session.close()


with TemporaryDirectory() as place:
    asyncio.run(main(place))
