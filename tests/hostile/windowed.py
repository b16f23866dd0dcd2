"""A program that lives with windows: a scripted model opens apps, acts in them, closes one. Its parent kills it.

windowed.py ROOT PROJECT      prints one line when everything is done, then waits to be killed
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import ScriptedModel

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
    model = ScriptedModel(LINES)
    session = Session.new(project, root=root, session_id="windows", apps=APPS)
    session.user("Prepare the ship, please.")
    outcomes: list[str] = []
    while not model.asked or session.answered:
        session.reply(model(session.compose(BUDGET)))
        outcomes += [str(each.outcome) for each in session.answered]
    print(json.dumps({"asked": len(model.asked), "outcomes": outcomes}))
    sys.stdout.flush()
    time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1], str(Path(sys.argv[2])))
