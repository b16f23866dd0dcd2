"""How a model is told of tools and calls them: natively, or in another way that a program adds."""

from importlib import import_module
from typing import Any, NamedTuple

from msgspec import Struct

from sightline.agent.models import Reply, Request
from sightline.plan import Budget
from sightline.session.session import Session
from sightline.values.clock import Ids
from sightline.wire.payload import Payload

OTHERS = {"json": "sightline.documents.json_protocol:JsonProtocol"}
"""The protocols that are not native: the module of each, which is imported when it is used, and its class."""


class Sent(NamedTuple):
    """A payload as it was composed, and as the model gets it."""

    payload: Payload
    written: Payload
    limit: int  # tokens that the model may get
    reason: str  # why its prefix differs from the last one; empty: it does not

    @property
    def tokens(self) -> int:
        """Tokens of what the model gets."""
        return self.written.tokens

    @property
    def extra_tokens(self) -> int:
        """Tokens that writing it adds to those of the payload; negative if it has fewer."""
        return self.tokens - self.payload.tokens


class Reading(NamedTuple):
    """What a reply is to the agent."""

    raw: dict[str, Any]  # the reply as it is logged
    text: str | None = None  # for the user; None: the reply's own, which was streamed
    response: Struct | None = None  # see `Answer`
    again: str = ""  # what the model is told if it must answer once more
    warnings: tuple[str, ...] = ()


class CallProtocol:
    """Native calls: the model gets the payload as it is."""

    streams_text = True  # whether the text of a reply is for the user

    def __init__(self, session: Session, ids: Ids) -> None:
        self.session, self.ids = session, ids

    def compose(self, budget: Budget) -> Sent:
        """Return what the model gets. Raises PinnedOverflow."""
        payload, receipt = self.session.compose(budget), self.session.receipt
        assert receipt is not None, "composing leaves one"
        return Sent(payload, payload, receipt.limit, receipt.reason)

    def request(self, sent: Sent, output: int) -> Request:
        return Request(sent.written, output)

    def read(self, reply: Reply, sent: Sent, *, is_second: bool) -> Reading:  # noqa: ARG002 - for other protocols
        """Read a reply. `is_second`: the model has been told what was wrong with the one before."""
        return Reading(reply.raw)

    def summary_budget(self, budget: Budget) -> Budget:
        """Return the budget of a request for a summary."""
        return budget

    def summary_payload(self, payload: Payload) -> Payload:
        """Return a request for a summary as the model gets it."""
        return payload


def protocol_named(name: str) -> type[CallProtocol]:
    """Return the protocol of this name."""
    if name not in OTHERS:
        return CallProtocol
    module, _, kind = OTHERS[name].partition(":")
    protocol: type[CallProtocol] = getattr(import_module(module), kind)
    return protocol
