"""Where the tokens of a conversation went: by kind, by tool, by file; and what was read although it stood there."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sightline.report.talk import Talk
from sightline.report.values import Again, Share
from sightline.shorten import Purpose, purpose_of
from sightline.shorten.digest import shell
from sightline.shorten.digest.file_effects import call_touches, command_of
from sightline.values.items import Call, File, Image, Message, Result, Role, arguments, plain_text
from sightline.values.pattern import pattern
from sightline.values.profiles import Profile, media_tokens
from sightline.values.tokens import TokenCounter

LARGE = 2_000  # tokens of a result from which on it counts as large: agents that run commands cut their output so
_NEARLY_ALL = 0.9  # of its lines: the rest is what a tool adds around them
_LEAST = 50  # tokens: a shorter reading again is not worth a word
_NUMBER = pattern(r"\s*\d+\s*[→:|\t]")  # what a tool puts before the lines of a file


class Piece(NamedTuple):
    """A part of a message, as a report counts it."""

    at: int  # index of its message
    kind: str
    tokens: int
    tool: str = ""
    file: str = ""
    text: str = ""  # of a result that reads a file


def pieces_of(talk: Talk, counter: TokenCounter, profile: Profile) -> Iterator[Piece]:
    """Yield everything that the messages hold. Summaries of compactions have the index of the message after them."""
    for index, message in enumerate(talk.messages):
        yield from _message_pieces(talk, index, message, counter, profile)
    for cut in talk.cuts:
        yield Piece(cut.at, "summary", counter.count(cut.compaction.summary) + profile.message_tokens)


def _message_pieces(
    talk: Talk, index: int, message: Message, counter: TokenCounter, profile: Profile
) -> Iterator[Piece]:
    results = [part for part in message.parts if isinstance(part, Result)]
    for part in message.parts:
        if isinstance(part, Call):
            tokens = counter.count(part.name) + counter.count(arguments(part)) + profile.call_tokens
            yield Piece(index, "call", tokens, part.name or "?", _file_of(part))
    for result in results:
        call, text = talk.tool_calls.get(result.id), plain_text(result.parts)
        tokens = counter.count(text) + _media(result.parts, profile) + profile.message_tokens
        file = _file_of(call) if call is not None else ""
        reads = call is not None and purpose_of(call) in (Purpose.READ, Purpose.SHOW)
        shown = text if file and reads and not result.error else ""
        name = result.name or (call.name if call is not None else "") or "?"
        yield Piece(index, "result", tokens, name, file, shown)
    said = counter.count(plain_text(message.parts)) if not results else 0
    if not results and (said or _media(message.parts, profile)):
        kind = "harness" if index in talk.recording.by_program and message.role is Role.USER else str(message.role)
        yield Piece(index, kind, said + _media(message.parts, profile) + profile.message_tokens)


def _media(parts: Iterable[object], profile: Profile) -> int:
    return sum(media_tokens(part, profile) for part in parts if isinstance(part, Image | File))


def _file_of(call: Call) -> str:
    """Return the file that a call is about; nothing if there are none or several."""
    command = command_of(call)
    touches = call_touches(call, shell.parse(command) if command else (), {}, failed=None)
    paths = {touch.path for touch in touches}
    return paths.pop() if len(paths) == 1 else ""


# ---------------------------------------------------------------------- shares


class _Sum:
    """One share that grows."""

    def __init__(self) -> None:
        self.items = self.tokens = self.sent = 0

    def add(self, tokens: int, times: int) -> None:
        self.items += 1
        self.tokens += tokens
        self.sent += tokens * times


class Shares(NamedTuple):
    """Where tokens went."""

    kinds: tuple[Share, ...]
    tools: tuple[Share, ...]
    files: tuple[Share, ...]
    large: tuple[Share, ...]


def shares_of(talk: Talk, pieces: Iterable[Piece]) -> Shares:
    """Return where the tokens went, the largest first; a file or a tool with its calls and results."""
    kinds, tools, files, large = (defaultdict[str, _Sum](_Sum) for _ in range(4))
    for piece in pieces:
        times = _times(talk, piece)
        kinds[piece.kind].add(piece.tokens, times)
        if piece.tool:
            tools[piece.tool].add(piece.tokens, times)
        if piece.file:
            files[piece.file].add(piece.tokens, times)
        if piece.kind == "result" and piece.tokens > LARGE:
            large[piece.tool].add(piece.tokens - LARGE, times)
    sums = (kinds, tools, files, large)
    return Shares(*(
        largest(Share(name, each.items, each.tokens, each.sent) for name, each in one.items()) for one in sums
    ))  # fmt: skip


def _times(talk: Talk, piece: Piece) -> int:
    """Return how many calls sent a piece. A summary is in the prompts from the message after it to the next one."""
    if piece.kind != "summary":
        return talk.sent_with(piece.at)
    later = [cut.at for cut in talk.cuts if cut.at > piece.at]
    return talk.calls_between(piece.at - 1, min(later, default=len(talk.messages)))


def largest(shares: Iterable[Share]) -> tuple[Share, ...]:
    """Return shares, the one with most tokens sent first."""
    return tuple(sorted(shares, key=lambda share: (-share.sent, -share.tokens, share.name)))


# ---------------------------------------------------------------------- read again


def read_again(talk: Talk, pieces: Iterable[Piece], read_price: float, write_price: float) -> Iterator[Again]:
    """Yield the files that were read again, the dearest first."""
    readings = defaultdict[str, list[Piece]](list)
    for piece in pieces:
        if piece.text:
            readings[piece.file].append(piece)
    found = (_again(talk, file, each, read_price, write_price) for file, each in readings.items() if len(each) > 1)
    yield from sorted((each for each in found if each is not None), key=lambda each: -each.cost - each.after_cost)


def _again(talk: Talk, file: str, readings: list[Piece], read_price: float, write_price: float) -> Again | None:
    seen: dict[int, set[str]] = defaultdict(set)  # by how many compactions were before
    again = tokens = sent = after = after_tokens = 0
    cost = after_cost = 0.0
    for piece in readings:
        lines, segment = _lines(piece.text), talk.segment_of(piece.at)
        earlier = set[str]().union(*(each for before, each in seen.items() if before < segment))
        times = talk.sent_with(piece.at)
        price = piece.tokens * (write_price + max(times - 1, 0) * read_price) if times else 0.0
        if piece.tokens >= _LEAST and _nearly_in(lines, seen[segment]):
            again, tokens, sent, cost = again + 1, tokens + piece.tokens, sent + piece.tokens * times, cost + price
        elif piece.tokens >= _LEAST and _nearly_in(lines, earlier):
            after, after_tokens, after_cost = after + 1, after_tokens + piece.tokens, after_cost + price
        seen[segment] |= lines
    if not again and not after:
        return None
    return Again(file, len(readings), again, tokens, sent, cost, after, after_tokens, after_cost)


def _lines(text: str) -> set[str]:
    whole = [line.strip() for line in text.splitlines()]
    return {_NUMBER.sub("", line, count=1).strip() for line in whole if len(line) > 3}


def _nearly_in(lines: set[str], seen: set[str]) -> bool:
    return bool(lines) and len(lines & seen) >= _NEARLY_ALL * len(lines)
