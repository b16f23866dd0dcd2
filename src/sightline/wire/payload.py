"""What is sent: head, body and tail as neutral messages, and the provider formats made of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, overload

from sightline.values.items import Message, ToolDefinition

if TYPE_CHECKING:
    from sightline.plan.plan import Plan
    from sightline.plan.reductions import Reduction


T = TypeVar("T")


class PrefixList(Sequence[T]):
    """The first `length` elements of a list that only ever grows: payloads share what they have in common."""

    __slots__ = ("_from", "_key", "_length", "_list")

    def __init__(self, shared: list[T], length: int | None = None) -> None:
        self._list, self._length = shared, len(shared) if length is None else length
        self._key = object()
        self._from: object = None  # the key of those it grew from

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
        """Whether these are the other's elements, and more."""
        return self._from is earlier._key or (self._list is earlier._list and self._length >= earlier._length)

    def grown(self, more: Sequence[T]) -> "PrefixList[T]":
        """These elements and more. The list itself grows if nobody else has made it grow from here."""
        elements = self._list if len(self._list) == self._length else self._list[: self._length]
        elements.extend(more)
        grown = PrefixList(elements)
        grown._from = self._key
        return grown


@dataclass(frozen=True, slots=True)
class Payload:
    """The messages of one model call, provider-neutral. `openai`, `responses` and `anthropic` are what the SDKs take.

    head is `system` and `tools`; `body` the units in order, the newest user message included; `tail` the live windows.
    `breakpoints` are where a provider may cache up to: n is after the first n messages of the body, 0 after the head.
    """

    system: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    body: Sequence[Message]
    tail: tuple[Message, ...]
    breakpoints: tuple[int, ...]
    plan: "Plan"
    hash: str
    tokens: int
    chain: Sequence[bytes] = ()  # digest of the head, then of everything up to each block of the body
    shown_windows: Mapping[str, str] = field(default_factory=dict)  # id → what it showed
    spared: Mapping[str, int] = field(default_factory=dict)  # windows that gave way → tokens that saved

    def reductions(self) -> "tuple[Reduction, ...]":
        """What each reduction took out of this payload, and what that saved, against showing everything in full."""
        return self.plan.reductions(self.spared)

    def shares_blocks_of(self, earlier: "Payload") -> bool:
        """Whether this payload went on from the other's very blocks, so that they need not be compared."""
        return (
            isinstance(self.chain, PrefixList)
            and isinstance(earlier.chain, PrefixList)
            and self.chain.goes_on(earlier.chain)
        )

    def openai(self) -> dict[str, Any]:
        """Keyword arguments for `client.chat.completions.create`: messages, and tools where there are any."""
        from sightline.wire import openai_chat as openai

        return openai.write(self)

    def responses(self) -> dict[str, Any]:
        """Keyword arguments for `client.responses.create`: input, and tools where there are any."""
        from sightline.wire import openai_responses as responses

        return responses.write(self)

    def anthropic(self) -> dict[str, Any]:
        """Keyword arguments for `client.messages.create`: system, messages, tools, with cache breakpoints set."""
        from sightline.wire import anthropic

        return anthropic.write(self)
