"""What a program that holds its list of messages gives to the model: composed from the log, in the program's form."""

from collections.abc import Sequence
from typing import Any, Protocol

from sightline.follow.history import History
from sightline.log import retry_on_conflict
from sightline.plan import Budget
from sightline.values.items import Message, Role, Text
from sightline.wire.call_ids import shown_messages
from sightline.wire.payload import Payload
from sightline.wire.wire import Reader

OPENING = "[conversation continues]"  # the first message must be the user's


class MessageForm(Reader, Protocol):
    """The form of a program's messages: how they are read, written, and put together."""

    def write(self, messages: Sequence[Message]) -> list[Any]:
        """Return messages in this form, the results of the calls of one message together."""

    def merge(self, one: Any, other: Any) -> Any | None:
        """Return two neighbours as one message; None if they have different roles. Both stay as they are."""


def compose_list(
    history: History,
    messages: Sequence[Any],
    budget: Budget,
    form: MessageForm,
    *,
    system: str = "",
    tools: Sequence[Any] = (),
    recall: bool = False,
) -> tuple[Payload, list[Any]]:
    """Take in what is new in a program's list, and return what fits: as a payload, and in the program's form.

    `system` and `tools` are sent beside the messages; they are counted. `recall`: whether the model has `expand` and
    `recall`. Raises what `History.follow` and `Session.compose` raise.
    """
    session = history.follow(messages, in_place=True)
    if system:
        retry_on_conflict(lambda: session.system(system, replace=True), session.refresh)
    session.tools(tools, recall=recall)
    payload = session.compose(budget)
    return payload, write_list(history, payload, form)


def write_list(history: History, payload: Payload, form: MessageForm) -> list[Any]:
    """Return the messages of a payload: the program's own where they are shown unchanged, with all that they carry.

    Neighbours of one role are one message where one of them is not the program's, because providers want roles in turn.
    """
    written: list[Any] = []
    was_own = True  # whether the last one is the program's
    for original, messages in history.match(shown_messages(payload)):
        made = [original] if original is not None else form.write(messages)
        if not written and original is None and messages[0].role is Role.ASSISTANT:
            written = form.write([Message(Role.USER, (Text(OPENING),))])
        for each in made:
            is_own = original is not None
            merged = form.merge(written[-1], each) if written and not (was_own and is_own) else None
            written[len(written) - (merged is not None) :] = [each if merged is None else merged]
            was_own = is_own and merged is None
    return written
