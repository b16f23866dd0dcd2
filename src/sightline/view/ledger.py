"""The one ledger of tokens: what each item of a session counts as, thinking apart and framing included.

Timeline, calls, Tokens page and `context` add up what `Ledger.parts` says of each row: the columns of the log are read
once, and then what is new. A list of many sessions opens none of them: it adds up the sizes that stand in their lines
by `line_tokens`. A report, which the MCP server tells too, is also of logs that have no columns: it counts messages by
`message_parts`. The chat's meter shows the tokens of the last receipt, which are the sum of its parts. Money is counted
in `costs`, files that were read again in `file_reads`, and what a compaction hid in `compaction.loss`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from sightline.log import (
    FAILED,
    HEAD,
    LABELLED,
    OPAQUE,
    ORPHAN,
    REPLACING,
    Compaction,
    Journal,
    Path,
    Timeline,
    entries,
)
from sightline.values.items import Call, Kind, Lod, Message, Opaque, Part, Result, Role
from sightline.values.profiles import Profile, part_tokens

KINDS = ("system", "user", "note", "assistant", "thinking", "call", "result", "summary", "recall")
"""What tokens of the log are counted as. `note`: a program wrote it in the place of the user or the system."""
_PLACES = {kind: place for place, kind in enumerate(KINDS)}
_SYSTEM = _PLACES["system"]
_BY_KIND = {int(kind): kind.name.lower() for kind in Kind if kind is not Kind.WINDOW}
_PLACE_OF = {kind: _PLACES[name] for kind, name in _BY_KIND.items()}
_CALL = int(Kind.CALL)  # a member of an enum takes long to look up
_APART = (int(Kind.SYSTEM), int(Kind.WINDOW), int(Kind.SUMMARY))  # kinds that are not just added
_SPECIAL = FAILED | LABELLED | ORPHAN | OPAQUE | HEAD
_READ_AT_ONCE = 512  # entries

Sums = tuple[int, ...]
"""Tokens of each of `KINDS`, framing included."""


class CallSums(NamedTuple):
    """What there was when a call was made."""

    shown: Sums  # in its context, if it was not composed
    said: Sums  # in all, whether shown or not
    compactions: tuple[int, ...]  # made or undone since the call before, as places among those of the log
    failed: int  # results since the call before that are errors


def line_tokens(sizes: Sequence[int | tuple[int, int, int]], profile: Profile) -> int:
    """Return the tokens of the items of one line of a log: a message, and the calls that an answer makes."""
    return sum(entries.full_tokens(sizes)) + profile.message_tokens + profile.call_tokens * (len(sizes) - 1)


def message_parts(
    message: Message, profile: Profile, count: Callable[[str], int], *, by_program: bool
) -> Iterator[tuple[str, int, Part | None]]:
    """Yield the kinds of what a message says, each with its tokens; of calls and results also the part itself."""
    rest = []
    for part in message.parts:
        if isinstance(part, Call | Result):
            kind = Kind.CALL if isinstance(part, Call) else Kind.RESULT
            yield _BY_KIND[kind], part_tokens(part, profile, count) + profile.framing(kind), part
        elif not isinstance(part, Opaque):
            rest.append(part)
    if thinking := sum(part_tokens(part, profile, count) for part in message.parts if isinstance(part, Opaque)):
        yield "thinking", thinking, None
    if not any(isinstance(part, Result) for part in message.parts):
        kind_name = "note" if by_program and message.role in (Role.USER, Role.SYSTEM) else str(message.role)
        yield kind_name, sum(part_tokens(part, profile, count) for part in rest) + profile.message_tokens, None


class Ledger:
    """What the rows of one branch count as. Adds them up in order, and takes off what compactions cover."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._timeline, self._path = journal, journal.timeline, journal.path
        self._shown, self._said = [0] * len(KINDS), [0] * len(KINDS)
        self._head = 0  # tokens of the system prompt in force
        self._hidden: set[int] = set()  # rows that are not shown
        self._cleared: set[int] = set()  # of them, those that the agent itself took out
        self._row = self._failed = 0
        self._in_force: dict[int, Compaction] = {}
        self._known = (0, 0)  # compactions and undone ones that were looked at
        self._thinking: dict[int, int] = {}  # row of an answer → tokens of its opaque blocks,
        self._read = 0  # of the first so many rows

    def at(self, rows: int, offset: int) -> CallSums:
        """Return the sums over the first so many rows, as the log was up to this offset."""
        failed = self._failed
        self._add_rows(rows)
        changed = self._change(rows, offset)
        in_context, said = list(self._shown), list(self._said)
        in_context[_SYSTEM] += self._head
        said[_SYSTEM] += self._head
        return CallSums(tuple(in_context), tuple(said), changed, self._failed - failed)

    @property
    def rows(self) -> int:
        """Of how many rows the sums are."""
        return self._row

    def shows(self, row: int) -> bool:
        """Whether a row is shown, as far as was added up."""
        return row < self._row and row not in self._hidden

    def clear(self, rows: Iterable[int]) -> None:
        """Show these results no more from here on: the agent has taken them out of its prompt."""
        self._cleared.update(rows)
        self._refresh([*rows])

    def put_back(self, rows: Iterable[int]) -> None:
        """Show results again that `clear` took out."""
        self._cleared.difference_update(rows)
        self._refresh([*rows])

    def as_it_is(self, sums: CallSums) -> CallSums:
        """Return these sums with what is shown now."""
        in_context = list(self._shown)
        in_context[_SYSTEM] += self._head
        return sums._replace(shown=tuple(in_context))

    def _add_rows(self, end: int) -> None:
        timeline, first = self._timeline, self._row
        if end <= first:
            return
        straight, path, shown, said = len(timeline.branches) == 1, self._path, self._shown, self._said
        message_tokens, call_tokens = (
            self._journal.reader.profile.message_tokens,
            self._journal.reader.profile.call_tokens,
        )
        kinds, states, full = timeline.kind, timeline.state, timeline.full
        for row in range(first, end):  # a few steps for each row, because there may be a million
            if not (straight or path.holds(timeline.branch[row], row)):
                continue
            kind, state = kinds[row], states[row]
            tokens = full[row] + (call_tokens if kind == _CALL else message_tokens)
            if state & _SPECIAL or kind in _APART:
                if kind == Kind.SYSTEM and state & HEAD:
                    self._head = tokens if state & REPLACING else self._head + tokens
                    continue
                if kind == Kind.WINDOW:
                    continue
                if kind == Kind.SUMMARY:  # shown from its compaction on
                    self._hidden.add(row)
                    continue
                self._failed += bool(state & FAILED)
                for name, size in self.parts(row):
                    shown[_PLACES[name]] += size
                    said[_PLACES[name]] += size
            else:
                place = _PLACE_OF[kind]
                shown[place] += tokens
                said[place] += tokens
        self._row = end

    def _put(self, row: int, sign: int) -> None:
        """Add a row to what is shown, or take it off."""
        for kind, tokens in self.parts(row):
            self._shown[_PLACES[kind]] += sign * tokens

    def parts(self, row: int, lod: Lod = Lod.FULL) -> list[tuple[str, int]]:
        """Return the kinds of what a row says at a level, each with its tokens. The row's own kind is the last."""
        timeline, kind = self._timeline, self._timeline.kind[row]
        tokens = timeline.size(row, lod) + self._journal.reader.profile.framing(kind)
        own = "note" if timeline.is_by_program(row) else _BY_KIND[kind]
        thinking = self._thinking_tokens(row) if lod is Lod.FULL else 0
        return [("thinking", thinking), (own, tokens - thinking)] if thinking else [(own, tokens)]

    def _change(self, rows: int, offset: int) -> tuple[int, ...]:
        """Have the compactions in force that were at this place of the log. Return those that were made or undone."""
        timeline, path = self._timeline, self._path
        if not timeline.compactions:
            return ()
        made = sum(compaction.offset < offset and compaction.at <= rows for compaction in timeline.compactions)
        undone = sum(note.offset < offset for compaction in timeline.compactions for note in compaction.undone)
        if (made, undone) == self._known:
            return ()
        self._known = (made, undone)
        now = compactions_in_force(timeline, path, rows, offset)
        changed = now.keys() ^ self._in_force.keys()
        if changed:
            self._in_force = now
            for at in changed:
                compaction = timeline.compactions[at]
                end = min(max(compaction.at, timeline.unit_row[compaction.last] + 1), self._row)
                self._refresh(range(timeline.unit_row[compaction.first], end))
        return tuple(sorted(changed))

    def _refresh(self, rows: Sequence[int]) -> None:
        """Show or hide these rows as the compactions in force say."""
        timeline, path = self._timeline, self._path
        summaries = {unit for compaction in self._in_force.values() for unit in compaction.summaries}
        for row in rows:
            kind, unit = timeline.kind[row], timeline.unit[row]
            if kind == Kind.WINDOW or (kind == Kind.SYSTEM and timeline.state[row] & HEAD):
                continue
            if not path.holds(timeline.branch[row], row):
                continue
            covered = any(compaction.first <= unit <= compaction.last for compaction in self._in_force.values())
            hidden = covered or row in self._cleared or (kind == Kind.SUMMARY and unit not in summaries)
            if hidden and row not in self._hidden:
                self._hidden.add(row)
                self._put(row, -1)
            elif not hidden and row in self._hidden:
                self._hidden.discard(row)
                self._put(row, 1)

    def _thinking_tokens(self, row: int) -> int:
        """Return how many tokens of an answer are in blocks that only their provider knows.

        The answers up to the newest are read together.
        """
        timeline, reader = self._timeline, self._journal.reader
        if not timeline.state[row] & OPAQUE or timeline.kind[row] != Kind.ASSISTANT:
            return 0
        if row >= self._read:
            rows = (at for at in range(self._read, len(timeline)) if timeline.kind[at] == Kind.ASSISTANT)
            marked = iter([at for at in rows if timeline.state[at] & OPAQUE])
            self._read = len(timeline)
            while batch := list(islice(marked, _READ_AT_ONCE)):
                reader.prefetch(batch)
                for answer in batch:
                    opaque = [part for part in reader.item(answer).parts if isinstance(part, Opaque)]
                    self._thinking[answer] = min(reader.full_tokens(opaque), timeline.full[answer])
        return self._thinking.get(row, 0)


def compactions_in_force(timeline: Timeline, path: Path, rows: int, offset: int) -> dict[int, Compaction]:
    """Return the compactions that were made and not undone before this place of the log, by their index."""
    return {
        at: compaction
        for at, compaction in enumerate(timeline.compactions)
        if compaction.summaries and compaction.offset < offset and compaction.at <= rows and path.knows(compaction)
        if not any(note.offset < offset and path.knows(note) for note in compaction.undone)
    }
