"""The model's tool calls: results from the program, and the calls that a session answers by itself.

A session answers calls of `expand`, `recall`, `look` and of windows. All others wait for `Session.tool_result`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from sightline.apps.calls import ACTION, CREATE, is_ours, read_calls
from sightline.apps.host import Host
from sightline.apps.outcome import Outcome
from sightline.errors import UnknownCall
from sightline.log.annotations import HistoryNote
from sightline.log.columns import LABELLED, TITLED, WHOLE
from sightline.log.drafts import PendingCall
from sightline.log.entries import HISTORY, Entry
from sightline.log.journal import Journal, retry_on_conflict
from sightline.session.accept import check_message
from sightline.session.attention import Attended
from sightline.shorten.sample import encodable
from sightline.values.escape import plain_name
from sightline.values.items import Blob, Call, Kind, Message, Part, Result, Role, Text, plain_text
from sightline.values.phrases import say
from sightline.values.recall_tools import LOOK, RECALL_NAMES, RECALL_TOOLS

_NO_CALL = Call("", "tool_call")


class Answered(NamedTuple):
    """A call that the session answered. `outcome` is set for calls of windows."""

    call: Call
    result: Result
    outcome: Outcome | None = None


class Calls:
    """Appends the results of a journal's calls."""

    def __init__(
        self, journal: Journal, answer: Callable[[Call], Attended], host: Host, refresh: Callable[[], None]
    ) -> None:
        """`answer`: of `Attention`; `refresh` reads what others appended, after a Conflict."""
        self._journal, self._answer_of, self._host, self._refresh = journal, answer, host, refresh
        self.answered: list[Answered] = []  # the calls of the last reply that the session itself answered
        # By branch, the ids of calls that a list left open: the next may have their results. The sessions beside this
        # one have the same dict, so that one of them can give up on what another one imported.
        self.imported: dict[str, set[str]] = {}

    # ------------------------------------------------------------------ replies

    def append_reply(self, message: Message, receipt: int, *, stopped: bool, attempts: int = 1) -> str:
        """Append the model's reply and return its id.

        Of one that was `stopped`, what it says is appended, and a note that says so; empty if it says nothing yet.
        With more `attempts`, it is appended after the entries of others who were first.
        """
        self.answered.clear()
        drafted = self._journal.drafts.message
        if not stopped:
            return retry_on_conflict(lambda: self._append(drafted(message, receipt=receipt)), self._refresh, attempts)
        said = tuple(part for part in message.parts if isinstance(part, Text | Blob))
        if not plain_text(said).strip():
            return ""
        drafts = [drafted(replace(message, parts=said), receipt=receipt), self._labelled(Text(self._say("stopped")))]
        rows, _ = retry_on_conflict(lambda: self._journal.append(drafts), self._refresh, attempts)
        return self._journal.timeline.id(rows[0])

    # ------------------------------------------------------------------ results from the program

    def append_result(self, call_id: str, parts: Any, failure: str) -> str:
        """Append a tool's result and return its id. A result of an interrupted call is a message with the user role.

        Raises:
            UnknownCall: the model made no such call, or the call has its result already.
        """
        call, interrupted = self._journal.waiting(call_id), self._journal.timeline.interrupted
        if call is not None:
            draft = self._journal.drafts.result(Result(call_id, parts, encodable(failure)), call)
        elif call_id in interrupted:
            draft = self._labelled(Text(self._say("late", name=plain_name(interrupted[call_id] or call_id))), *parts)
        else:
            raise UnknownCall(call_id, [call.id for call in self._journal.open_calls()])
        item_id = self._append(draft)
        interrupted.pop(call_id, None)
        return item_id

    def interrupt(self) -> int:
        """Give up on the calls that wait, and return how many there were."""
        if drafts := self._give_up_ids(call.id for call in self._journal.open_calls()):
            self._journal.append(drafts)
        return len(drafts)

    def _give_up_ids(self, call_ids: Iterable[str]) -> list[Entry]:
        return self.give_up([call for call_id in call_ids if (call := self._journal.waiting(call_id)) is not None])

    def give_up(self, calls: Sequence[PendingCall]) -> list[Entry]:
        """Return a result for each of these calls that says that nobody answered it."""
        text = Text(self._say("interrupted"))
        result = self._journal.drafts.result
        return [result(Result(call.id, (text,), "interrupted", call.name), call) for call in calls]

    def draft_list(
        self, messages: Sequence[Message], system_flags: int, note: HistoryNote | None
    ) -> tuple[list[Entry], list[Entry], list[int]]:
        """Draft the entries of an imported list. Return what goes before them, them, and which is that of each message.

        The calls of its last message stay open, because their results may be in the next list. Others without a result
        are given up on: those in the list before the next message that is no result, so that a branch which begins
        later in the list has the result too, and those from before it if somebody says something in it. `note`: what
        the program's own list is; it counts the entries of each message.

        Raises:
            BadInput: a message that cannot be kept.
        """
        # Each is checked when it is drafted, because the check makes a copy, and all copies at once are large.
        made: dict[str, list[int]] = {}
        drafts, unanswered = self._journal.drafted(_checked(messages, made), system_flags)
        spoken = [message for message in messages if message.role in (Role.USER, Role.ASSISTANT)]
        newest = {part.id for message in spoken[-1:] for part in message.parts if isinstance(part, Call)}
        at = len(unanswered)
        while at and unanswered[at - 1].id in newest:
            at -= 1
        results = {part.id for message in messages for part in message.parts if isinstance(part, Result)}
        waiting = [call.id for call in self._journal.open_calls() if call.id not in results]
        imported = self.imported.setdefault(self._journal.branch_name, set())
        imported.update(waiting, (call.id for call in unanswered[at:]))
        says = any(not isinstance(part, Call) for message in spoken for part in message.parts)
        before = self._give_up_ids(waiting if says else ())
        given_up = [(made[call.id].pop(0), self.give_up([call])) for call in unanswered[:at]]
        drafts, places = _with_results(messages, drafts, given_up)
        if note is not None:
            before.append(self._journal.drafts.annotation(HISTORY, replace(note, links=_counted(note.links, places))))
        return before, drafts, places

    def end_imported(self) -> None:
        """Give up on the calls that imported lists left open, whose results did not come."""
        if not self.imported:
            return
        branch = self._journal.branch_name
        if imported := self.imported.get(branch):
            # Calls may share an id: each that waits is given up on, as by `interrupt`.
            if drafts := self._give_up_ids(call.id for call in self._journal.open_calls() if call.id in imported):
                self._journal.append(drafts)
            self.imported.pop(branch, None)

    # ------------------------------------------------------------------ calls that the session answers

    def answer_own(self, *, resumed: bool) -> None:
        """Answer the pending calls of our tools and of windows.

        `resumed`: an earlier run may have carried out a call of a window already. It is not carried out twice.
        """
        for call in self._journal.open_calls():
            if (answered := self._answer(call, resumed)) is not None:
                self._append_answer(answered, self._append_result)

    def answer_in_text(self, message: Message) -> None:
        """Carry out the `<tool_call>`s in a reply's text, where the model has no tools for windows."""
        for call in self._calls_in_text(message.parts):
            self._append_answer(_by_window(call or _NO_CALL, self._carry_out(call)), self._append_note)

    def _carry_out(self, call: Call | None) -> Outcome:
        """Carry out a call in text; None is one that cannot be read."""
        if call is None:
            return Outcome(False, self._say("bad call"), "bad parameters", ways=(CREATE.name, ACTION.name))
        return self._host.call(call)

    def give_up_in_text(self) -> None:
        """Give up on the calls in the last message's text that an earlier run did not carry out."""
        for answered in list(self._left_in_text()):
            self._append_note(answered)
            self.answered.append(answered)

    def _answer(self, call: Call, resumed: bool) -> Answered | None:
        """Return the answer to a call; None if the call is for the program."""
        tools = [tool for tool in self._journal.tools.definitions if tool.name == call.name]
        typed = self._host.tools(typed=True)
        if any(not is_ours(tool) and tool not in RECALL_TOOLS and tool not in typed for tool in tools):
            return None
        if call.name in RECALL_NAMES and (tools or call.name != LOOK.name):  # others have a tool called look
            return Answered(call, Result(call.id, self._answer_of(call), name=call.name))
        if not self._host.answers(call):
            return None
        return _by_window(call, self._host.call(call, resumed=resumed))

    def _left_in_text(self) -> Iterator[Answered]:
        timeline, path = self._journal.timeline, self._journal.path
        results = 0
        for row in timeline.rows_on(path, range(timeline.last_row(path), -1, -1)):
            if timeline.kind[row] == Kind.ASSISTANT:
                for call in [*self._calls_in_text(self._journal.reader.item(row).parts)][results:]:
                    yield _by_window(call or _NO_CALL, Outcome(False, self._say("interrupted"), "failed"))
            if timeline.state[row] & LABELLED:
                results += (
                    bytes(self._journal.reader.entry(row).data) == b"null"
                )  # the line of a closed window has some
            elif timeline.kind[row] != Kind.WINDOW:
                return

    def _calls_in_text(self, parts: tuple[Part, ...]) -> Iterator[Call | None]:
        if (
            not self._host.apps
            or not self._host.in_text
            or any(tool.name in (CREATE.name, ACTION.name) for tool in self._journal.tools.definitions)
        ):
            return iter(())
        return read_calls(plain_text(parts))

    # ------------------------------------------------------------------ appending

    def _append_answer(self, answered: Answered, append: Callable[[Answered], object]) -> None:
        """Append an answer; if others appended since the reply, append it after their entries."""
        retry_on_conflict(lambda: append(answered), self._refresh)
        self.answered.append(answered)

    def _append_result(self, answered: Answered) -> None:
        if (call := self._journal.waiting(answered.call.id)) is None:
            raise UnknownCall(answered.call.id, [call.id for call in self._journal.open_calls()])
        flags = WHOLE if answered.outcome is None else 0
        self._append(self._journal.drafts.result(answered.result, call, flags=flags))

    def _append_note(self, answered: Answered) -> None:
        """Append the answer to a call that was made in text."""
        key, name = "call failed" if answered.result.error else "call result", plain_name(answered.call.name)
        self._append(self._labelled(Text(self._say(key, name=name, message=plain_text(answered.result.parts)))))

    def _labelled(self, *parts: Part) -> Entry:
        return self._journal.drafts.message(Message(Role.USER, parts), flags=LABELLED | TITLED)

    def _append(self, draft: Entry) -> str:
        [rows] = self._journal.append([draft])
        return self._journal.timeline.id(rows[0])

    def _say(self, key: str, **fields: str) -> str:
        return say(key, self._journal.settings.locale, **fields)


def _by_window(call: Call, outcome: Outcome) -> Answered:
    return Answered(
        call, Result(call.id, (Text(str(outcome)),), "" if outcome.success else "failed", call.name), outcome
    )


def _checked(messages: Iterable[Message], made: dict[str, list[int]]) -> Iterator[Message]:
    """Yield each message as it can be kept. Adds to `made`, by their ids, the messages of calls that got no result.

    A result is that of the newest call, as for `Drafts.messages`.
    """
    for at, message in enumerate(messages):
        checked = check_message(message)
        for part in checked.parts:
            if isinstance(part, Call):
                made.setdefault(part.id, []).append(at)
            elif isinstance(part, Result) and made.get(part.id):
                made[part.id].pop()
        yield checked


def _with_results(
    messages: Sequence[Message], drafts: Sequence[Entry], given_up: Iterable[tuple[int, list[Entry]]]
) -> tuple[list[Entry], list[int]]:
    """Put each result after the results of its message. Return all entries, and which is that of each message.

    `given_up`: results, each with the message that has its call, in the order of these.
    """
    entries: list[Entry] = []
    places: list[int] = []
    left = deque(given_up)
    for at, (message, draft) in enumerate(zip(messages, drafts, strict=True)):
        while left and left[0][0] < at and message.role is not Role.TOOL:
            entries += left.popleft()[1]
        places.append(len(entries))
        entries.append(draft)
    return [*entries, *(entry for _, own in left for entry in own)], places


def _counted(links: Iterable[tuple[str, int]], places: Sequence[int]) -> list[tuple[str, int]]:
    """Return the links of a note with how many entries each has, given how many messages. See `_with_results`."""
    counted, messages, last = [], 0, 0
    for chain, count in links:
        messages += count
        end = places[messages - 1] + 1 if messages else 0
        counted.append((chain, end - last))
        last = end
    return counted
