"""The goal of a task, which every payload shows: a live window, no part of the conversation."""

from collections.abc import Collection

from msgspec import Struct

from sightline.agent.extension import Extension
from sightline.agent.turn import Turn
from sightline.session.session import Session
from sightline.values.items import Call
from sightline.values.phrases import say

GOAL = "goal"  # the id of the window


class TextWindow(Struct, frozen=True):
    """A live window that shows a text."""

    text: str

    def render(self) -> str:
        return self.text


def goal_text(goal: str, locale: str) -> str:
    """Return what the window of a goal shows; "" without a goal."""
    return f"{say('task goal', locale)}\n{goal}" if goal else ""


class GoalShown(Extension):
    """Shows the window of a goal that the session finds elsewhere, from the first payload on. `also`: called too.

    Not earlier, because a session in which nothing was said leaves no file.
    """

    def __init__(self, session: Session, also: Extension | None) -> None:
        self._session, self._also = session, also or Extension()

    @property
    def apps(self) -> Collection[str]:  # type: ignore[override]
        return self._also.apps

    def prepare(self) -> None:
        if GOAL not in self._session.windows.live():
            self._session.windows.show(GOAL)
        self._also.prepare()

    async def after_reply(self, response: Struct, turn: Turn) -> None:
        await self._also.after_reply(response, turn)

    async def after_call(self, call: Call, turn: Turn) -> None:
        await self._also.after_call(call, turn)
