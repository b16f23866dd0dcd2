"""The payload of one model call: head, body and tail as neutral messages, written to a provider format on demand."""

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from sightline.values.items import Kind, Message, ToolDefinition

if TYPE_CHECKING:
    from sightline.plan.plan import Line, Plan, Reduction
    from sightline.wire.wire import Json, Wire


T = TypeVar("T")

_LIMITS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})


class PrefixList(Sequence[T]):
    """The first `length` elements of a list that only grows, so that payloads share what they have in common.

    `derived` is what was made of the elements, kept once for all lists that share them. Its values have a method
    `fork(length)`, which gives the same for a list that has only the first `length` elements in common.
    """

    __slots__ = ("_from", "_key", "_length", "_list", "derived")

    def __init__(self, shared: list[T], derived: dict[int, Any] | None = None) -> None:
        self._list, self._length = shared, len(shared)
        self._key = object()
        self._from: object = None  # the key of the list that this one grew from
        self.derived: dict[int, Any] = {} if derived is None else derived

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

    def __reduce__(self) -> tuple[Any, ...]:
        return PrefixList, (list(self),)  # a copy has the elements only

    def goes_on(self, earlier: "PrefixList[T]") -> bool:
        """Whether this list begins with all elements of the other, because it grew from it."""
        return self._from is earlier._key or (self._list is earlier._list and self._length >= earlier._length)

    def grown(self, more: Sequence[T]) -> "PrefixList[T]":
        """These elements and more. The shared list itself grows, unless another list has grown from it already."""
        if len(self._list) != self._length:
            grown = self.branch(self._length, more)
        else:
            self._list.extend(more)
            grown = PrefixList(self._list, self.derived)
        grown._from = self._key
        return grown

    def branch(self, length: int, more: Sequence[T]) -> "PrefixList[T]":
        """The first `length` elements and more, in a list of their own."""
        derived = {key: draft.fork(length) for key, draft in [*self.derived.items()]}
        return PrefixList([*self._list[:length], *more], derived)


class Payload(Struct, frozen=True):
    """The neutral messages of one model call. `json` writes them for a provider; `openai`, `responses`, `anthropic` and
    `gemini` give the same as keyword arguments for an SDK.

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
    output: int = 0  # tokens that the reply may have, from the budget; 0: not said

    def __str__(self) -> str:
        """A table of what the model sees: each item and window, its level of detail, its tokens, and why."""
        return _table(self)

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

    def json(self, wire: "str | Wire", **own: Any) -> bytes:
        """The request of this payload in a provider's format, as JSON. Takes time only for what is new in its session.

        `wire`: "openai", "responses", "anthropic", "gemini", another registered name, or a wire itself. Arguments of
        your own, such as `model`, are part of the request, and win as for `write`.

        Raises:
            BadInput: there is no wire of this name, it is no wire, or it returns what no wire may; or an argument of
                your own is no JSON.
        """
        from sightline.wire import registry, writer  # they import this module

        if isinstance(wire, str):
            wire = registry.wire(wire)
        else:
            registry.check(wire, "the wire")
        return writer.encode(replace(self, output=0) if _LIMITS & own.keys() else self, wire, own)

    def messages_json(self, wire: "str | Wire", breakpoints: int | None = None, marker: "Json | None" = None) -> bytes:
        """Only the list of messages of this request, without system prompt and tools, as JSON.

        `breakpoints`: at most this many cache breakpoints, the last; None: as many as the wire has. `marker`: what
        stands there, such as `{"type": "ephemeral", "ttl": "1h"}`; None: what the wire usually has. Raises BadInput.
        """
        from sightline.wire import registry, writer  # they import this module

        return writer.encode_messages(self, registry.wire(wire) if isinstance(wire, str) else wire, breakpoints, marker)

    def write(self, wire: "str | Wire", **own: Any) -> dict[str, Any]:
        """The same request as keyword arguments for the provider's SDK, with arguments of your own, which win.

        A token limit of your own, under any of its names, takes the place of the budget's. Raises BadInput.
        """
        payload = replace(self, output=0) if _LIMITS & own.keys() else self
        arguments: dict[str, Any] = msgspec.json.decode(payload.json(wire))
        return arguments | own

    def openai(self, **own: Any) -> dict[str, Any]:
        """Keyword arguments for `client.chat.completions.create`: messages, tools if there are any, the token limit of
        the reply as `max_completion_tokens` if the budget has an `output`, and your own, as for `write`."""
        return self.write("openai", **own)

    def responses(self, **own: Any) -> dict[str, Any]:
        """Keyword arguments for `client.responses.create`: input, and as for `openai`; the limit is called
        `max_output_tokens`."""
        return self.write("responses", **own)

    def anthropic(self, **own: Any) -> dict[str, Any]:
        """Keyword arguments for `client.messages.create`: system, messages, tools, with cache breakpoints set,
        `max_tokens`, and your own, as for `write`. Anthropic demands a limit: without an `output` it is 4,096."""
        return self.write("anthropic", **own)

    def gemini(self, **own: Any) -> dict[str, Any]:
        """Keyword arguments for `client.models.generate_content` of `google-genai`: contents, and the rest as `config`,
        the token limit as its `maxOutputTokens`, and your own; a `config` of your own is added to this one.

        What Google's server itself takes is `json("gemini")`. Raises BadInput as `write` does."""
        arguments = _for_google_sdk(self.write("gemini"))
        return arguments | own | {"config": arguments["config"] | dict(own.get("config") or {})}


# ------------------------------------------------------------------ as a table for people

_TITLES = ("item", "kind", "shown as", "tokens", "in full", "why")
_RIGHT = (3, 4)  # the columns of numbers
_ADDED = {
    "notes": "constraints and notes, quoted below",
    "index": "what is left out, listed below",
    "framing": "of messages and calls",
}
_WHY = {
    "swept": "shortened to fit",
    "paged": "too large for what was free",
    "parts": "too large: the parts that the task speaks of",
}  # by the plan's word; others are said as they are


def _table(payload: Payload) -> str:
    """Return the table: tokens of the payload, system prompt and tools, each item, the windows, what the engine adds.

    The column of tokens sums to those of the payload. The engine's own texts follow below the table.
    """
    plan = payload.plan
    heading = f"{payload.tokens:,} of {plan.limit:,} tokens" + (f", {plan.reason}" if plan.reason else "")
    lines = list(_aligned([_TITLES, *_rows(payload)]))
    own = [text for text in (plan.preface, plan.marker) if text]
    return "\n".join([heading, *lines, *own])


def _rows(payload: Payload) -> Iterator[tuple[str, ...]]:
    plan = payload.plan
    fixed = " + ".join(filter(None, (
        "system" if payload.system else "", "tools" if payload.tools else "",
        "windows" if payload.shown_windows else "",
    )))  # fmt: skip
    yield "", fixed or "request", "full", f"{plan.fixed:,}", "", "in every payload"
    lines = _in_order(payload)
    for line in lines:
        full = f"{line.full_tokens:,}" if line.full_tokens != line.tokens else ""
        why = _WHY.get(line.why, line.why) or ("brought back" if line.kind.name == "RECALL" else "")
        yield f"#{line.id}", line.kind.name.lower(), line.lod.name.lower(), f"{line.tokens:,}", full, why
    for name in {**payload.shown_windows, **payload.spared}:
        spared = payload.spared.get(name, 0)
        level = "" if not spared else "shortened" if name in payload.shown_windows else "hidden"  # else its own
        yield name, "window", level, "", "", f"{spared:,} tokens saved to fit" if spared else "as it is now, at the end"
    calls, framing = sum(line.kind is Kind.CALL for line in lines), plan.profile
    framed = calls * framing.call_tokens + (len(lines) - calls) * framing.message_tokens
    index = plan.body - plan.preface_tokens - framed - sum(line.tokens for line in lines)
    added = {"notes": plan.preface_tokens, "index": index, "framing": framed}
    yield from (("", kind, "", f"{tokens:,}", "", _ADDED[kind]) for kind, tokens in added.items() if tokens)


def _in_order(payload: Payload) -> list["Line"]:
    """Return the items in the order of the messages: a summary stands where what it covers stood."""
    places = {message.id: at for at, message in enumerate((*payload.body, *payload.tail))}
    at, placed = 0, []
    for line in payload.plan.lines():
        at = places.get(line.id.partition(".")[0], at)  # one that is part of another message follows it
        placed.append((at, line))
    return [line for _, line in sorted(placed, key=lambda place: place[0])]


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        yield "  ".join(
            text.rjust(width) if at in _RIGHT else text.ljust(width) for at, (text, width) in cells
        ).rstrip()


# ------------------------------------------------------------------ for Google's SDK


def _for_google_sdk(request: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `client.models.generate_content` for a request, with bytes where it has base64."""
    contents, config = request.pop("contents"), request.pop("generationConfig", {})
    for part in (part for content in contents for part in content["parts"]):
        if isinstance(signature := part.get("thoughtSignature"), str):
            part["thoughtSignature"] = _decoded(signature)
        for inner in (part, *part.get("functionResponse", {}).get("parts", ())):
            if "inlineData" in inner:
                inner["inlineData"]["data"] = _decoded(inner["inlineData"]["data"])
    return {"contents": contents, "config": request | config}


def _decoded(base64: str) -> bytes:
    return b64decode(base64 + "=" * (-len(base64) % 4), b"-_" if {"-", "_"} & {*base64} else None)
