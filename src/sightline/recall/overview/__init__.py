"""An overview of a conversation, for a question that names nothing to look for: what was done, or what was settled.

What makes it is imported inside functions: 30 ms of patterns, and few questions ask for an overview.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from sightline.log.annotations import Source
from sightline.log.columns import FAILED
from sightline.log.journal import Journal
from sightline.values.items import Kind
from sightline.values.phrases import say
from sightline.values.recall_tools import offered

SPEECH = (Kind.USER, Kind.ASSISTANT)
SHOWN_KINDS = (*SPEECH, Kind.CALL, Kind.RESULT)
_DIGEST_ROWS = 4_000  # that a digest is made of: takes a second
_READ_TOKENS = 30_000  # that quotes are chosen from: takes a second
_STRETCHES = 10  # of a longer conversation, of which each is read as much
_LONGEST_TOKENS = 1_000  # of a turn: more of it is not read
_RECORD_TOKENS = 150  # a longer result lists what may be chosen; a shorter one tells what was done
_LABEL_TOKENS, _HANDLE_TOKENS = 2, 2  # before a quote: who says it, and its handle if there are any
_MATCHING = 2.0  # what a row says that has words of the question counts so many times


class Overview(NamedTuple):
    """A digest of work with tools, or quotes of what a conversation settled, and the rows that are quoted."""

    digest: str
    sources: list[Source]
    rows: set[int]


def overview(
    journal: Journal,
    newest: Iterable[int],
    hidden: Callable[[int], bool],
    max_tokens: int,
    matching: Container[int] = (),
) -> Overview:
    """Return an overview of these rows, which come newest first, within so many tokens.

    A digest is made of all of them: what became of a request or of an error may be shown elsewhere, and it must be true
    all the same. Quotes are of the `hidden` ones, and rather of `matching` rows.
    """
    timeline, reader = journal.timeline, journal.reader
    count, rows = reader.counter.count, list(newest)[::-1]
    if is_work(journal, rows):
        from sightline.shorten.digest import digest

        items = [reader.item(row) for row in _told(journal, rows)]
        tokens = max_tokens - count(say("overview", reader.locale)) - 1
        return Overview(digest(items, tokens=tokens, count=count, locale=reader.locale, ends=False), [], set())
    from sightline.recall.overview.settlement import DONE, Turn, quotes

    rows = list(filter(hidden, rows))
    done = {row for row in rows if _is_done(journal, row)}
    weights = {row: (DONE if row in done else 1.0) * (_MATCHING if row in matching else 1.0) for row in rows}
    turns = [Turn(row, reader.text(row), weights[row]) for row in _readable(journal, rows, done)]
    room = max_tokens - count(say("recalled", reader.locale))
    before = _LABEL_TOKENS + (_HANDLE_TOKENS if "expand" in offered(journal.tools.definitions) else 0)
    quoted = quotes(turns, room, count, before)
    return Overview("", [Source(timeline.id(row), quotes=tuple(spans)) for row, spans in quoted.items()], set(quoted))


def is_work(journal: Journal, rows: Sequence[int]) -> bool:
    """Return whether these rows, oldest first, are work with tools: more was called lately than the user said."""
    timeline, newest = journal.timeline, rows[-_DIGEST_ROWS:]
    calls = sum(timeline.kind[row] == Kind.CALL for row in newest)
    return calls > sum(map(timeline.is_users_own, newest))


def _told(journal: Journal, rows: Sequence[int]) -> list[int]:
    """Return the rows of a digest: the newest, and the user's first request before them, none that a program wrote."""
    from sightline.shorten.digest.speech import is_request

    timeline, reader = journal.timeline, journal.reader
    said = [row for row in rows if timeline.kind[row] != Kind.USER or timeline.is_users_own(row)]
    early = filter(timeline.is_users_own, said[:-_DIGEST_ROWS])
    first = next(([row] for row in early if is_request(reader.text(row))), [])
    return [*first, *said[-_DIGEST_ROWS:]]


def _is_done(journal: Journal, row: int) -> bool:
    """Return whether a row belongs to a call that did something: it did not fail, and did not only list something."""
    timeline = journal.timeline
    result = timeline.partner[row] if timeline.kind[row] == Kind.CALL else row
    succeeded = result >= 0 and timeline.kind[result] == Kind.RESULT and not timeline.state[result] & FAILED
    return succeeded and timeline.full[result] <= _RECORD_TOKENS


def _readable(journal: Journal, rows: Sequence[int], done: set[int]) -> Iterator[int]:
    """Yield the rows to read in order: what was said and done, and of calls that looked for something the last one.

    Of a long conversation the end of each stretch is read.
    """
    timeline, kept, later = journal.timeline, list[int](), ""  # the tool of the next call, if that looked too
    for row in reversed(rows):
        if timeline.kind[row] == Kind.CALL:
            tool = journal.reader.text(row).partition("(")[0] if row not in done else ""
            if tool and tool == later:
                continue
            later = tool
        if timeline.kind[row] != Kind.RESULT or row in done:
            kept.append(row)
    parts = _STRETCHES if sum(timeline.full[row] for row in kept) > _READ_TOKENS else 1
    for part in range(parts, 0, -1):
        stretch = kept[len(kept) * (part - 1) // parts : len(kept) * part // parts]
        sizes = accumulate(min(timeline.full[row], _LONGEST_TOKENS) for row in stretch)
        some = [row for row, size in zip(stretch, sizes, strict=True) if size <= _READ_TOKENS // parts]
        yield from reversed(some)
