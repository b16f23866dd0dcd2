"""What happens while a question is answered, as it happens: for whoever shows it."""

from msgspec import Struct

from sightline.agent.code.store import Saved
from sightline.agent.models import RetryScheduled, TextDelta
from sightline.agent.structured_response import StructuredResponse
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
    """What the model is about to see."""

    tokens: int
    limit: int
    reused: int | None  # tokens of it that begin as the last call's did; None: that call is not known
    reason: str  # why the rest differs from it; empty where it does not


class ToolStarted(Struct, frozen=True):
    """A tool begins."""

    call: Call


class ToolFinished(Struct, frozen=True):
    """A tool has answered. `error` is empty where it went well."""

    call: Call
    text: str
    error: str = ""


class ReplyReceived(Struct, frozen=True):
    """The model has answered, perhaps with calls; all of it is in the log."""

    model: str
    item: str
    usage: Usage | None
    cost: float | None  # in the currency of its price


class CodeSaved(Struct, frozen=True):
    """A piece of code went into the store."""

    saved: Saved


class Answer(Struct, frozen=True):
    """What came of a question. `success` is False where `error` says what stands in the way: asking again goes on."""

    success: bool
    text: str = ""  # for the user; references to code stand in it as tags
    error: str = ""
    response: StructuredResponse | None = None  # where the model answers in the document's form
    saved: tuple[Saved, ...] = ()
    warnings: tuple[str, ...] = ()  # what went wrong beside the answer, such as code that could not be saved
    rounds: int = 0  # how often the model was asked
    usage: Usage | None = None  # of all rounds
    cost: float | None = None
    stop: str = ""  # why the model ended: "length" (it had no more room), "refused" (it may not say this), else empty


Event = PayloadComposed | TextDelta | RetryScheduled | ReplyReceived | ToolStarted | ToolFinished | CodeSaved | Answer
