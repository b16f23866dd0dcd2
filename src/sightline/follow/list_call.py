"""One model call of a program that holds its list of messages: what is sent of the list, and the reply that joins it.

A framework hands over its whole list before a call and tells the reply after it. Its own loop runs the tools, also
`expand` and `recall`. So this is the part of a followed call that fits there: compose, refused, reply.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol

from sightline.errors import SightlineError
from sightline.follow.conversations import Conversations
from sightline.follow.history import History
from sightline.follow.windows import WINDOW_TOOLS, open_windows
from sightline.log import retry_on_conflict
from sightline.plan import Budget
from sightline.providers.windows import answer_room
from sightline.session.session import Session
from sightline.values.items import FULL, Message, Role, Text, Usage
from sightline.values.recall_tools import offered
from sightline.wire.call_ids import shown_messages
from sightline.wire.payload import Payload
from sightline.wire.wire import Reader

OPENING = "[conversation continues]"  # the first message must be the user's

Writer = Callable[[History, Payload], list[Any]]
"""Writes a payload in a program's form. The history has the program's own messages: `History.match`."""


class MessageForm(Reader, Protocol):
    """The form of a program's messages: how they are read, written, and put together."""

    def write(self, messages: Sequence[Message]) -> list[Any]:
        """Return messages in this form, the results of the calls of one message together."""

    def merge(self, one: Any, other: Any) -> Any | None:
        """Return two neighbours as one message; None if they have different roles. Both stay as they are."""


class ListCall:
    """A model call with a list of messages. Its methods block: they read and write the log."""

    payload: Payload  # what was composed last
    own: frozenset[str]  # the names of our tools that go with it

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        conversations: Conversations,
        name: str,
        messages: Sequence[Any],
        write: Writer,
        *,
        system: str | None = "",
        tools: Sequence[Any] = (),
        recall: bool = False,
        windows: bool = False,
        late: bool = False,
        in_place: bool = True,
        owner: object = None,
    ) -> None:
        """`name`: of the conversation. `write`: how a payload is written, see `writer_of`.

        `system` and `tools` are sent beside the messages; they are counted. `recall`: whether the model has `expand`
        and `recall`, `windows`: whether it has the tools of windows; `Conversations.answer` answers their calls.
        `late`: a program that can leave our tools out sends only those that `own` names: they join with the first
        payload that shows less than everything, which changes the prefix anyway, and stay. Windows need theirs now.
        The windows come after the messages, at the end of what is sent.
        `in_place` as for `Session.extend`, `owner` as for `Conversations.use`.
        """
        self._conversations, self._name, self._messages, self._write = conversations, name, list(messages), write
        self._system, self._tools, self._recall, self._windows = system, tools, recall, windows
        self._in_place, self._owner, self._late = in_place, owner, late and not windows
        self._budget: Budget | None = None

    def compose(self, budget: Budget) -> list[Any]:
        """Take in what is new in the list. Return what fits, in the program's form: its own messages where unchanged.

        Raises what `History.follow` and `Session.compose` raise.
        """
        self._budget = budget
        with self._history() as history:
            session = history.follow(self._messages, in_place=self._in_place)
            if system := self._system:
                retry_on_conflict(lambda: session.system(system, replace=True), session.refresh)
            self._set_tools(session, budget)
            if self._windows:
                open_windows(session)
            self.payload = session.compose(budget)
            return self._write(history, self.payload)

    def _set_tools(self, session: Session, budget: Budget) -> None:
        """Tell the session the tools, with ours if they go with this call."""
        tools = [*self._tools, *(session.windows.tools() if self._windows else ())]
        joins = self._recall and (not self._late or bool(offered(session.log.tools.definitions)))
        session.tools(tools, recall=joins)
        if self._recall and not joins and not shows_all(session.preview(budget)):
            session.tools(tools, recall=True)
        self.own = offered(session.log.tools.definitions) | (WINDOW_TOOLS if self._windows else frozenset())

    def refused(self, counted: int = 0) -> list[Any] | None:
        """Return what is sent instead of what the provider has refused as too long; None: it cannot be shorter.

        `counted`: the tokens that its error names, see `overflow_tokens`; 0: it names none.
        """
        assert self._budget is not None
        before = self.payload.tokens
        with self._history() as history:
            session = history.follow(self._messages, in_place=self._in_place)
            session.overflowed(counted or None)
            try:
                messages = self.compose(self._budget)
            except SightlineError:  # the program is told what the provider said
                return None
        return messages if self.payload.tokens < before else None

    def reply(self, *messages: Any, usage: Usage | None = None) -> None:
        """Take in what the model has answered: the messages that follow the list.

        `usage`: what the provider has counted, where the messages do not have it.
        """
        with self._history() as history:
            listed = [*self._messages, *messages]
            history.follow(listed, in_place=self._in_place, replies=len(messages), usage=usage)

    def _history(self) -> AbstractContextManager[History]:
        return self._conversations.use(self._name, self._owner)


def shows_all(payload: Payload) -> bool:
    """Whether a payload shows everything that was said, in full."""
    plan = payload.plan
    is_reduced = plan.left_out is not None or any(lod is not FULL for lod in plan.levels().values())
    return not is_reduced and not plan.reason.startswith(("sweep", "command: compact"))


def writer_of(form: MessageForm) -> Writer:
    """Return what writes payloads in a form."""
    return partial(_write_list, form)


def _write_list(form: MessageForm, history: History, payload: Payload) -> list[Any]:
    """Return the messages of a payload: the program's own where they are shown unchanged, with all that they carry.

    Neighbours of one role are one message where one of them is not the program's, because providers want roles in turn.
    """
    written: list[Any] = []
    was_own = True  # whether the last one is the program's
    for original, messages in history.match(shown_messages(payload)):
        made = [original] if original is not None else form.write(messages)
        if not written and original is None and messages[0].role is Role.ASSISTANT:
            written = form.write([Message(Role.USER, (Text(OPENING),))])
        for message in made:
            is_own = original is not None
            merged = form.merge(written[-1], message) if written and not (was_own and is_own) else None
            written[len(written) - (merged is not None) :] = [message if merged is None else merged]
            was_own = is_own and merged is None
    return written


def usual_budget(window: int, output: int | None = None) -> Budget:
    """Return the budget for a context window: a fourth of it at most is kept for the answer."""
    return Budget(window, answer_room(window, output or None))
