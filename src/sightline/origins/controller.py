"""A turn with a model that acts on windows: compose, ask, do what it says, until it has nothing more to do."""

import threading
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from sightline.apps.outcome import Outcome
from sightline.errors import BadInput, SightlineError
from sightline.plan.budget import Budget
from sightline.session.session import Session
from sightline.values.items import Call
from sightline.wire.payload import Payload

TURNS = 12  # that a model may go on by itself after its first answer

Model = Callable[[Payload], Any]
"""Takes a payload, gives the answer: text, an SDK's response or its JSON."""


class Turn(Struct, frozen=True):
    """What came of a user's message."""

    success: bool
    text: str = ""  # the model's last words
    error: str = ""
    outcomes: tuple[Outcome, ...] = ()  # of what it did with windows
    waiting: tuple[Call, ...] = ()  # its calls that are left for you: answer them, then `proceed`
    asked: int = 0  # how often the model was asked


class Controller:
    """Runs a session's turns, one at a time."""

    def __init__(self, session: Session, model: Model, budget: Budget, *, turns: int = TURNS) -> None:
        """`turns`: how often the model may go on by itself because it did something."""
        self.session, self._model, self._budget, self._turns = session, model, budget, turns
        self._lock = threading.Lock()

    def process(self, message: str) -> Turn:
        """Say this to the model, and do what it answers. A failed call leaves the message said and nothing else."""
        with self._lock:
            self.session.user(message)
            return self._proceed()

    def proceed(self) -> Turn:
        """Go on where the last turn stopped: after a failed call, or when its waiting calls have their results."""
        with self._lock:
            return self._proceed()

    def _asked(self, payload: Payload) -> Any:
        try:
            return self._model(payload)
        except Exception as error:
            raise _Failed(f"{type(error).__name__}: {error}") from error

    def _proceed(self) -> Turn:
        outcomes: list[Outcome] = []
        text = ""
        for asked in range(1, self._turns + 2):
            payload = self.session.compose(self._budget)
            try:
                item = self.session.reply(self._asked(payload))
            except (_Failed, BadInput) as error:  # the model's side: nothing of this call is in the log
                return Turn(False, text, str(error), tuple(outcomes), asked=asked)
            text = self.session.items.text(item)
            outcomes += [each.outcome for each in self.session.answered if each.outcome is not None]
            if waiting := self.session.open_calls:
                return Turn(True, text, "", tuple(outcomes), tuple(waiting), asked)
            if not self.session.answered:
                return Turn(True, text, "", tuple(outcomes), asked=asked)
        why = f"the model went on by itself {self._turns} times; proceed() lets it go on"
        return Turn(False, text, why, tuple(outcomes), asked=self._turns + 1)


class _Failed(SightlineError):
    """The model could not be asked."""
