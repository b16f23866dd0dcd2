"""The payload of one model call: head, body and tail as neutral messages, written to a provider format on demand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, overload

from sightline.values.items import Message, ToolDefinition

if TYPE_CHECKING:
    from sightline.plan.plan import Plan
    from sightline.plan.reductions import Reduction


T = TypeVar("T")


class PrefixList(Sequence[T]):
    """The first `length` elements of a list that only grows, so that payloads share what they have in common."""

    __slots__ = ("_from", "_key", "_length", "_list")

    def __init__(self, shared: list[T], length: int | None = None) -> None:
        self._list, self._length = shared, len(shared) if length is None else length
        self._key = object()
        self._from: object = None  # the key of the list that this one grew from

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._list[at] for at in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._list[index % self._length]

    def __iter__(self) -> Iterator[T]:
        return iter(self._list[: self._length])

    def goes_on(self, earlier: "PrefixList[T]") -> bool:
        """Whether this list begins with all elements of the other, because it grew from it."""
        return self._from is earlier._key or (self._list is earlier._list and self._length >= earlier._length)

    def grown(self, more: Sequence[T]) -> "PrefixList[T]":
        """These elements and more. The shared list itself grows, unless another list has grown from it already."""
        elements = self._list if len(self._list) == self._length else self._list[: self._length]
        elements.extend(more)
        grown = PrefixList(elements)
        grown._from = self._key
        return grown


@dataclass(frozen=True, slots=True)
class Payload:
    """The neutral messages of one model call. `openai`, `responses` and `anthropic` write them for an SDK.

    The head is `system` and `tools`; `body` are the units in order, the newest user message included; `tail` are the
    live windows. A provider may cache up to each of `breakpoints`: n is after n messages of the body, 0 after the head.
    """

    system: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    body: Sequence[Message]
    tail: tuple[Message, ...]
    breakpoints: tuple[int, ...]
    plan: "Plan"
    hash: str
    tokens: int
    chain: Sequence[bytes] = ()  # digests: of the head, then of everything up to each block of the body
    shown_windows: Mapping[str, str] = field(default_factory=dict)  # id → its text
    spared: Mapping[str, int] = field(
        default_factory=dict
    )  # id of a window that was shortened or hidden → tokens saved

    def reductions(self) -> "tuple[Reduction, ...]":
        """What each reduction removed from this payload, and the tokens it saved compared to everything in full."""
        return self.plan.reductions(self.spared)

    def shares_blocks_of(self, earlier: "Payload") -> bool:
        """Whether this payload was made by adding to the blocks of the other, so that they need not be compared."""
        return (
            isinstance(self.chain, PrefixList)
            and isinstance(earlier.chain, PrefixList)
            and self.chain.goes_on(earlier.chain)
        )

    def openai(self) -> dict[str, Any]:
        """Keyword arguments for `client.chat.completions.create`: messages, and tools if there are any."""
        from sightline.wire import openai_chat

        return openai_chat.write(self)

    def responses(self) -> dict[str, Any]:
        """Keyword arguments for `client.responses.create`: input, and tools if there are any."""
        from sightline.wire import openai_responses

        return openai_responses.write(self)

    def anthropic(self) -> dict[str, Any]:
        """Keyword arguments for `client.messages.create`: system, messages, tools, with cache breakpoints set."""
        from sightline.wire import anthropic

        return anthropic.write(self)
