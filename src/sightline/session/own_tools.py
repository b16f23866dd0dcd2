"""The model's calls that a session answers by itself: of `expand`, of `recall`, and of windows."""

from collections.abc import Iterator
from typing import NamedTuple

from sightline.apps.calls import ACTION, CREATE, is_ours, tagged
from sightline.apps.host import Host
from sightline.apps.outcome import Outcome
from sightline.log.columns import LABELLED
from sightline.log.journal import Journal
from sightline.recall.recall import RECALL_TOOLS, Recall
from sightline.values.items import Call, Kind, Message, Part, Result, Text, plain_text
from sightline.values.phrases import said_by_another, say


class Answered(NamedTuple):
    """A call of the model that was answered, and how. The outcome is that of a window."""

    call: Call
    result: Result
    outcome: Outcome | None = None


class Answers:
    """Answers a journal's calls."""

    def __init__(self, journal: Journal, recall: Recall, host: Host) -> None:
        self._journal, self._recall, self._host = journal, recall, host

    def to(self, call: Call, tokens: int, *, again: bool = False) -> Answered | None:
        """The answer to a call, in pages of so many tokens; None for one that is somebody else's.

        `again`: an earlier run may have done what it says, and then it is not done twice.
        """
        tools = [tool for tool in self._journal.tools.definitions if tool.name == call.name]
        typed = self._host.tools(typed=True)
        if any(not is_ours(tool) and tool not in RECALL_TOOLS and tool not in typed for tool in tools):
            return None
        if call.name in ("expand", "recall"):
            return Answered(call, Result(call.id, self._recall.answer(call, tokens), name=call.name))
        if not self._host.answers(call):
            return None
        return _answered(call, (self._host.done(call.id) if again else None) or self._host.call(call))

    def in_text(self, message: Message) -> Iterator[Answered]:
        """Do what the model's text says in `<tool_call>`, where it has no tools to say it with."""
        for call in self._said(message.parts):
            yield _answered(call, self._host.call(call)) if call is not None else self._unreadable()

    def left_in_text(self) -> Iterator[Answered]:
        """The calls in the last message's text that an earlier run did not come to: none of them is done."""
        timeline, path = self._journal.timeline, self._journal.path
        rows = (row for row in range(timeline.last_row(path), -1, -1) if path.holds(timeline.branch[row], row))
        results = 0
        for row in rows:
            if timeline.kind[row] == Kind.ASSISTANT:
                why = say("interrupted", self._journal.settings.locale)
                for call in [*self._said(self._journal.reader.item(row).parts)][results:]:
                    yield _answered(call or _NO_CALL, Outcome(False, why, "failed"))
            if timeline.state[row] & LABELLED:
                results += 1
            elif timeline.kind[row] != Kind.WINDOW:
                return

    def told(self, answered: Answered) -> Text:
        """An answer where there is no call that it could be the result of. No line of it begins like one of ours."""
        key = "call failed" if answered.result.error else "call result"
        message = "\n".join(map(said_by_another, plain_text(answered.result.parts).split("\n")))
        return Text(say(key, self._journal.settings.locale, name=answered.call.name, message=message))

    def _said(self, parts: tuple[Part, ...]) -> Iterator[Call | None]:
        tools = {tool.name for tool in self._journal.tools.definitions}
        return tagged(plain_text(parts)) if self._host.apps and not tools & {CREATE.name, ACTION.name} else iter(())

    def _unreadable(self) -> Answered:
        why = say("bad call", self._journal.settings.locale)
        return _answered(_NO_CALL, Outcome(False, why, "bad parameters", ways=(CREATE.name, ACTION.name)))


_NO_CALL = Call("", "tool_call")


def _answered(call: Call, outcome: Outcome) -> Answered:
    return Answered(
        call, Result(call.id, (Text(str(outcome)),), "" if outcome.success else "failed", call.name), outcome
    )
