"""A program that lives with windows: a scripted model opens apps, acts in them, closes one. Its parent kills it.

windowed.py ROOT PROJECT      prints one line when everything is done, then waits to be killed
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from sightline.origins.controller import Controller
from sightline.plan.budget import Budget
from sightline.session.session import Session
from sightline.testing import ScriptedModel
from sightline.wire.payload import Payload

APPS = ("todo", "notebook", "editor")
BUDGET = Budget(32_000)


def say(name: str, /, **arguments: Any) -> str:
    """What a model without tools says to act."""
    return f"On it. <tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def act(window: str, action: str, /, **params: Any) -> str:
    """An action in a window."""
    return say("action", window_id=window, action_id=action, params=params)


LINES = [
    say("create", name="todo"),
    act("todo_1", "add", text="paint the hull"),
    act("todo_1", "add", text="buy rope"),
    say("create", name="notebook"),
    act("notebook_1", "add", entry_id="quay", title="The quay", content="seven metres deep"),
    say("create", name="editor", target="plan.txt"),
    act("editor_1", "edit", first=1, last=1, text="monday: hull"),
    act("todo_1", "toggle", index=1),
    act("notebook_1", "close", summary="the quay is seven metres deep"),
    "Everything is prepared.",
]


def main(root: str, project: str) -> None:
    """Live one turn of ten calls, say so, and wait for the end."""
    script = ScriptedModel(LINES)

    def model(payload: Payload) -> Any:
        return script(**payload.openai())

    session = Session.new(project, root=root, session_id="windows", apps=APPS)
    turn = Controller(session, model, BUDGET).process("Prepare the ship, please.")
    print(json.dumps({"success": turn.success, "asked": turn.asked, "outcomes": [str(o) for o in turn.outcomes]}))
    sys.stdout.flush()
    time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1], str(Path(sys.argv[2])))
