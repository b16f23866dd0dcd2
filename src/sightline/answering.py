"""The model's calls that a session answers by itself: of `expand`, of `recall`, and of windows."""

from collections.abc import Iterator
from typing import NamedTuple

from sightline.apps.calls import ACTION, CREATE, spoken
from sightline.apps.host import Host
from sightline.apps.outcome import Outcome
from sightline.items import Call, Message, Result, Text, plain_text
from sightline.journal import Journal
from sightline.recall import RECALL_TOOLS, Recall
from sightline.wording import say


class Answered(NamedTuple):
    """A call of the model that was answered, and how. The outcome is that of a window."""

    call: Call
    result: Result
    outcome: Outcome | None = None


class Answers:
    """Answers a journal's calls."""

    def __init__(self, journal: Journal, recall: Recall, host: Host) -> None:
        self._journal, self._recall, self._host = journal, recall, host

    def to(self, call: Call, tokens: int) -> Answered | None:
        """The answer to a call, in pages of so many tokens; None for one that is somebody else's."""
        ours = (*RECALL_TOOLS, *self._host.tools(typed=True))
        if any(tool.name == call.name for tool in self._journal.tools.definitions if tool not in ours):
            return None
        if call.name in ("expand", "recall"):
            return Answered(call, Result(call.id, self._recall.answer(call, tokens), name=call.name))
        return self._acted(call) if self._host.answers(call) else None

    def in_text(self, message: Message) -> Iterator[Answered]:
        """Do what the model's text says in `<tool_call>`, where it has no tools to say it with."""
        tools = {tool.name for tool in self._journal.tools.definitions}
        if self._host.apps and not tools & {CREATE.name, ACTION.name}:
            yield from map(self._acted, spoken(plain_text(message.parts)))

    def told(self, answered: Answered) -> Text:
        """An answer where there is no call that it could be the result of."""
        key = "call failed" if answered.result.error else "call result"
        return Text(say(key, self._journal.settings.locale, name=answered.call.name, message=answered.outcome))

    def _acted(self, call: Call) -> Answered:
        outcome = self._host.call(call)
        error = "" if outcome.success else "failed"
        return Answered(call, Result(call.id, (Text(str(outcome)),), error, call.name), outcome)
