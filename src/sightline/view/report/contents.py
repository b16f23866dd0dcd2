"""Where the tokens of a conversation went: by kind, by tool, by file; and what was read although it stood there."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from sightline.values.items import Call, Result, plain_text
from sightline.values.phrases import say
from sightline.values.profiles import Profile
from sightline.values.tokens import TokenCounter
from sightline.view.file_reads import FileReads, file_of, shows_file
from sightline.view.ledger import message_parts
from sightline.view.report.talk import Cut, Talk
from sightline.view.report.values import Again, Share, add_up_by

LARGE = 2_000  # tokens of a result from which on it counts as large: agents that run commands cut their output so


class Piece(NamedTuple):
    """A part of a message, as a report counts it."""

    at: int  # index of its message
    kind: str
    tokens: int
    tool: str = ""
    file: str = ""
    text: str = ""  # of a result that reads a file
    cut: Cut | None = None  # that it is the summary of


def pieces_of(talk: Talk, counter: TokenCounter, profile: Profile) -> Iterator[Piece]:
    """Yield everything that the messages hold. Summaries of compactions have the index of the message after them."""
    calls: dict[str, Call] = {}  # by id, those so far: some providers use an id again
    for index, message in enumerate(talk.messages):
        by_program = index in talk.recording.by_program
        for kind, tokens, part in message_parts(message, profile, counter.count, by_program=by_program):
            if isinstance(part, Call):
                calls[part.id] = part
                yield Piece(index, kind, tokens, part.name or "?", file_of(part))
            elif isinstance(part, Result):
                yield _result_piece(index, kind, tokens, part, calls.get(part.id))
            else:
                yield Piece(index, kind, tokens)
    for index, tokens in talk.recalled:
        yield Piece(index, "recall", tokens + profile.message_tokens)
    for cut in talk.cuts:
        label = counter.count(say("summary", talk.locale)) if talk.locale else 0  # that Sightline puts before it
        tokens = counter.count(cut.compaction.summary) + label + profile.message_tokens
        yield Piece(cut.at, "summary", tokens, cut=cut)


def _result_piece(index: int, kind: str, tokens: int, result: Result, call: Call | None) -> Piece:
    name = result.name or (call.name if call is not None else "") or "?"
    file = file_of(call) if call is not None else ""
    is_reading = call is not None and shows_file(call) and file and not result.error
    return Piece(index, kind, tokens, name, file, plain_text(result.parts) if is_reading else "")


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

    def with_sent(self, share: float) -> "Shares":
        """Return these as if only this share of them had been sent."""
        return Shares(*(tuple(replace(entry, sent=int(entry.sent * share)) for entry in shares) for shares in self))


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
        largest(Share(name, total.items, total.tokens, total.sent) for name, total in one.items()) for one in sums
    ))  # fmt: skip


def _times(talk: Talk, piece: Piece) -> int:
    """Return how many calls sent a piece."""
    return talk.sent_with(piece.at) if piece.cut is None else talk.summaries_sent[piece.cut]


def largest(shares: Iterable[Share]) -> tuple[Share, ...]:
    """Return shares, the one with most tokens sent first."""
    return tuple(sorted(shares, key=lambda share: (-share.sent, -share.tokens, share.name)))


# ---------------------------------------------------------------------- read again


def read_again(
    talk: Talk, pieces: Iterable[Piece], read_price: float, write_price: float, sent: float = 1.0
) -> Iterator[Again]:
    """Yield the files that were read again, the dearest first. `sent`: the share of the conversation that was sent."""
    reads, readings = FileReads(), []
    cuts = iter(talk.cuts)
    cut = next(cuts, None)
    for piece in pieces:
        if not piece.text:
            continue
        while cut is not None and cut.at <= piece.at:
            if piece.at < cut.until:
                reads.compact(cut.first - 1)
            cut = next(cuts, None)
        reading, times = reads.add_reading(piece.file, piece.text, piece.at), sent * talk.sent_with(piece.at)
        cost = piece.tokens * (write_price + max(times - 1, 0) * read_price) if times else 0.0
        if reading.is_removed:
            readings.append(Again(piece.file, 1, 0, 0, 0, 0.0, 1, piece.tokens, cost))
        elif reading.is_known:
            readings.append(Again(piece.file, 1, 1, piece.tokens, int(piece.tokens * times), cost))
        else:
            readings.append(Again(piece.file, 1, 0, 0, 0, 0.0))
    again = [file for file in add_up_by(readings, lambda file: file.file) if file.again or file.after_compaction]
    yield from sorted(again, key=lambda file: -file.cost - file.after_cost)
