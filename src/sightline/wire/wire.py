"""The protocol of a wire: one provider's format for messages, replies and tools.

A wire is a module or an object with these names. Our own are modules, one file each; a package offers another one by an
entry point (see `registry`). All values that a wire reads are plain JSON values that belong to it; all values that it
writes belong to the caller. `sightline.testing.check_wire` proves what is promised here.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

from sightline.values.items import Message, Role, ToolDefinition
from sightline.wire.call_ids import IdRule

Json = dict[str, Any]


class Head(NamedTuple):
    """What a request holds besides the messages of the body and tail."""

    messages: list[Json]  # at the beginning of the list of messages, such as system messages
    arguments: Json  # besides the list of messages, such as tools


class Reader(Protocol):
    """What messages are read with where their format is known: a wire, or a form of messages that is only followed."""

    NAME: str

    def read(self, messages: list[Any], *, at: int = 0) -> list[Message]:
        """Read a message list. `at` is the index of the first one, for error messages. Raises BadInput."""


class Wire(Protocol):
    """One provider's format.

    NAME: the name of the format. Opaque parts of this provider have it too.
    LIST: the argument that holds the list of messages.
    IDS: the call ids that the provider accepts. Written messages have only such ids, each once.
    BREAKPOINTS: how many cache breakpoints a request may have; 0 if the format has no markers for them.
    """

    NAME: str
    LIST: str
    IDS: IdRule
    BREAKPOINTS: int

    def recognises(self, message: Any) -> bool:
        """Whether something in a message belongs to this format only. What several formats have is not recognised."""

    def recognises_block(self, block: Any) -> bool:
        """Whether this is a block of this format for a message's `content`. A tool's own data with a type is none."""

    def recognises_reply(self, reply: Any) -> bool:
        """Whether this is a whole response object of this format."""

    def recognises_tool(self, tool: Any) -> bool:
        """Whether this is a tool definition of this format."""

    def read(self, messages: list[Any], *, at: int = 0) -> list[Message]:
        """Read a message list. `at` is the index of the first one, for error messages. Raises BadInput."""

    def read_reply(self, reply: Any) -> Message:
        """Read a response object as one ASSISTANT message with its model and usage. Raises BadInput."""

    def why_ended(self, reply: Any) -> str:
        """Why a reply ended early: "length" (its token limit), "refused" (a content rule), or empty if it did not."""

    def read_tools(self, tools: list[Any]) -> tuple[ToolDefinition, ...]:
        """Read tool definitions. Those that the provider runs are kept as they are. Raises BadInput."""

    def write_head(
        self,
        system: Sequence[Message],
        tools: Sequence[ToolDefinition],
        *,
        first: Role | None,
        cached: bool,
        output: int,
    ) -> Head:
        """Write the system messages, the tools and the token limit of the reply.

        `first` is the role of the first message after them, None if there is none; a result without a call counts as
        the user's. `cached`: a cache breakpoint stands after the head. `output`: tokens that the reply may have; 0 if
        nobody said how many.
        """

    def write_messages(self, messages: Sequence[Message], breakpoints: Collection[int] = (), /) -> list[Json]:
        """Write messages with legal ids and names, the results directly after their calls and in their order.

        A cache breakpoint stands after the first n of them for each n of `breakpoints`. A long list is written in runs,
        each once, so what is written of a run may not depend on other runs: an assistant message with its results, or
        one other message with what is merged into it.
        """
