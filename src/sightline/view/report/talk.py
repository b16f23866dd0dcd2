"""Reads a conversation as a report needs it: its messages with their times, its calls, and where it was compacted."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from sightline.errors import BadInput
from sightline.imports.conversation import Compaction, Conversation, Turn
from sightline.imports.sightline_log import SightlineLog
from sightline.imports.source import Source
from sightline.log import entries as log
from sightline.log.stores import Store
from sightline.plan.economies import DEFAULT, ECONOMIES
from sightline.values.items import Message, Role, Usage, plain_text
from sightline.values.settings import Settings
from sightline.view.catalog.log_count import opening
from sightline.view.replay.formats import Recording, recording_of

NEVER = 1 << 62  # later than any message


class Cut(Struct, frozen=True):
    """A compaction: the messages before `first` are replaced from message `at` on, until it is undone.

    unseen: indexes of those that the last prompt before it did not show in full, so that it did not remove them.
    """

    at: int
    first: int
    compaction: Compaction
    unseen: frozenset[int] = frozenset()
    until: int = NEVER


class Talk:
    """One conversation, in memory."""

    def __init__(self, conversation: Conversation) -> None:
        """Raises BadInput if a message cannot be read."""
        if isinstance(conversation, SightlineLog):
            conversation.with_summaries = True
        self.name, self.kind, self.usage = conversation.name, conversation.kind, conversation.usage
        turns: list[Turn] = []
        self.cuts: list[Cut] = []
        at: dict[str, int] = {}  # uuid → index of the turn
        for step in conversation.steps():
            if (compaction := step.compaction) is not None and turns:
                unseen = frozenset(at[uuid] for uuid in compaction.unseen if uuid in at)
                self.cuts.append(Cut(len(turns), at.get(compaction.kept_from, len(turns)), compaction, unseen))
            for turn in step.turns:
                at.setdefault(turn.uuid, len(turns))
                turns.append(turn)
        self.recording: Recording = recording_of(turns, conversation)
        own = conversation if isinstance(conversation, SightlineLog) else None
        undone = {summary: at[uuid] + 1 for summary, uuid in own.undone if uuid in at} if own else {}
        self.cuts = [replace(cut, until=undone.get(cut.compaction.uuid, NEVER)) for cut in self.cuts]
        swept, joined = (own.swept, own.joined) if own else ((), ())
        self.swept = {at[uuid] for uuid in swept if uuid in at}  # indexes of answers to a prompt that a sweep changed
        self.joined = {at[uuid] for uuid in joined if uuid in at}  # and of the first one that Sightline composed
        recalled = own.recalled if own else ()
        self.recalled = [(at[uuid], tokens) for uuid, tokens in recalled if uuid in at]  # message → tokens beside it
        self.receipt = own.receipt if own else None  # of the last payload that Sightline composed
        settings = _settings(own) if own else None
        self.economy = _economy(settings) if settings and self.receipt else ""  # with which it did; empty: it did not
        self.locale = settings.locale if settings else ""  # of what Sightline adds; empty: it is another agent's log
        self.encoding = (settings or Settings()).encoding  # of its session, or of the one that an import would make

    @property
    def title(self) -> str:
        """What the list of sessions calls it."""
        by_program = self.recording.by_program
        return opening(
            (plain_text(message.parts), index in by_program)
            for index, message in enumerate(self.messages)
            if message.role is Role.USER
        )

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.recording.messages

    @cached_property
    def answers(self) -> list[int]:
        """The indexes of the messages that answer a call of the model. Several in a row answer one."""
        return answers_in(self.messages)

    def usages(self) -> Iterator[tuple[int, int, str, Usage]]:
        """Yield of each call whose prompt its provider counted its number, its answer's index, its model and usage."""
        for index, model, usage in self.spent():
            if usage.input_tokens:
                yield self.call_before(index) + 1, index, model, usage

    def spent(self) -> Iterator[tuple[int, str, Usage]]:
        """Yield of each call with reported usage the index of its answer, its model and the usage."""
        for index, message in enumerate(self.messages):
            usage = message.usage
            if usage is not None and (usage.input_tokens or usage.output_tokens):  # else a program wrote the answer
                yield index, message.model, usage

    def call_before(self, index: int) -> int:
        """Return how many calls were made before the one that this message answers."""
        return max(bisect_right(self.answers, index) - 1, 0)

    def cut_before(self, index: int) -> Cut | None:
        """Return the last compaction that was in force at a message; None if none was."""
        position = bisect_right(self.cuts, index, key=lambda cut: cut.at)
        return next((cut for at in range(position - 1, -1, -1) if index < (cut := self.cuts[at]).until), None)

    def sent_with(self, index: int) -> int:
        """Return how many calls had this message in their prompt: those at which no compaction replaced it."""
        calls, last = 0, index
        for cut in self.cuts:
            if cut.at > index and cut.first > index and cut.until > last:
                calls += self.calls_between(last, max(cut.at, last + 1))
                last = cut.until - 1
        return calls + self.calls_between(last, max(len(self.messages), last + 1))

    @cached_property
    def summaries_sent(self) -> Counter[Cut]:
        """In how many calls the summary of each compaction was sent."""
        return Counter(cut for index in self.answers if (cut := self.cut_before(index)) is not None)

    def calls_between(self, index: int, end: int) -> int:
        """Return how many calls were made after a message and before another."""
        return bisect_right(self.answers, end - 1) - bisect_right(self.answers, index)


def answers_in(messages: Sequence[Message]) -> list[int]:
    """Return the indexes of the messages that answer a call of the model: of several in a row, the first."""
    roles = [message.role for message in messages]
    return [
        index
        for index, role in enumerate(roles)
        if role is Role.ASSISTANT and (not index or roles[index - 1] is not Role.ASSISTANT)
    ]


def _settings(conversation: SightlineLog) -> Settings:
    """Return the settings that a log was written with last."""
    settings = Settings()
    for line in conversation.lines():
        if b'"subtype":"settings"' in line.data:
            with suppress(BadInput, *log.UNREADABLE):  # settings of another form
                settings = log.decode_data(log.decode(line.data), Settings)
    return settings


def _economy(settings: Settings) -> str:
    economy = settings.config.get("economy", DEFAULT)
    return economy if economy in ECONOMIES else DEFAULT


def conversation_of(store: Store, branch: str | None = None) -> Conversation:
    """Return the conversation of a session's log, wherever it is stored: of a branch, or of that written to last."""
    store.refresh()
    conversation = SightlineLog(Source(store.session_id, data=b"\n".join(line.data for line in store.scan()) + b"\n"))
    conversation.branch = branch
    return conversation
