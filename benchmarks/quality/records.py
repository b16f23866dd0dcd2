"""What the datasets become: chat messages, and what is known to be right about them."""

from dataclasses import dataclass

from benchmarks.quality.messages import Message


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation, and the turns that answer it."""

    id: str
    query: str
    gold: list[str]
    answers: list[str]
    category: str
    dates: list[str]
    any_answer: bool = False  # the answers are alternatives, each whole


@dataclass(frozen=True, slots=True)
class Conversation:
    """A long chat and questions about it."""

    id: str
    messages: list[Message]
    questions: list[Question]


@dataclass(frozen=True, slots=True)
class Run:
    """What an agent did, call by call. Runs of one group (a task, tried again) stay in one half."""

    id: str
    group: str
    messages: list[Message]


@dataclass(frozen=True, slots=True)
class Topic:
    """The values that one part of a session settled, each in its accepted spellings, and a question about them."""

    query: str
    values: list[list[str]]


@dataclass(frozen=True, slots=True)
class SlotSession:
    """Several booking dialogues in sequence."""

    id: str
    messages: list[Message]
    topics: list[Topic]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A short dialogue and what people wrote as its summary."""

    id: str
    text: str
    summaries: list[str]


@dataclass(frozen=True, slots=True)
class Compaction:
    """The messages before a real compaction, the model's summary of them, and what the agent did next."""

    id: str
    session: str
    before: list[Message]
    summary: str
    after: list[Message]
