"""What happens while a question is answered, as it happens: for a program that shows it."""

from msgspec import Struct

from sightline.agent.models import RetryScheduled, TextDelta
from sightline.values.items import Call, Usage

__all__ = [
    "Answer",
    "CodeSaved",
    "Event",
    "PayloadComposed",
    "ReplyReceived",
    "RetryScheduled",
    "TextDelta",
    "ToolFinished",
    "ToolStarted",
]


class PayloadComposed(Struct, frozen=True):
    """The payload that the model gets next was composed."""

    tokens: int
    limit: int
    reused: int | None  # tokens of the prefix that it shares with the last payload; None: that one is not known
    reason: str  # why the prefix ends there; empty: all of the last payload is in it


class ToolStarted(Struct, frozen=True):
    """A tool call begins."""

    call: Call


class ToolFinished(Struct, frozen=True):
    """A tool call has its result. `error` is empty if it succeeded."""

    call: Call
    text: str
    error: str = ""


class ReplyReceived(Struct, frozen=True):
    """The model has replied, perhaps with calls. The reply is in the log."""

    model: str
    item: str
    usage: Usage | None
    cost: float | None  # in the currency of its price


class CodeSaved(Struct, frozen=True):
    """An extension has saved a piece of code: with `SavedCode` of `sightline.documents.saved_code`, a `Saved`."""

    saved: Struct


class Answer(Struct, frozen=True):
    """The end of a turn. If `success` is False, `error` says why; `Agent.proceed` continues the turn."""

    success: bool
    text: str = ""  # for the user; it refers to code by tags
    error: str = ""
    response: Struct | None = None  # what it was read from: with the JSON protocol, a `StructuredResponse`
    saved: tuple[Struct, ...] = ()  # see `CodeSaved`
    warnings: tuple[str, ...] = ()  # such as code that could not be saved
    rounds: int = 0  # model calls
    usage: Usage | None = None  # of all rounds
    cost: float | None = None
    stop: str = ""  # see `Reply.stop`
    failure: str = ""  # why it may work later: see `TransientFailure`; "rounds": the model asked for tools too often
    attempts: int = 1  # how often the last request was sent


Event = PayloadComposed | TextDelta | RetryScheduled | ReplyReceived | ToolStarted | ToolFinished | CodeSaved | Answer
