"""The lines that say what the units were about that are left out: one for each, as many as there is room for.

A line names the calls of a message: the tool, the subject, what is odd in the result, and values in it. Or it has the
beginning of what was said. Little is said twice: further values stand in the newest line that has them, units of which
the same would be said share a line, and one line has the whole of a long path, of which the others have the end.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from sightline import shorten
from sightline.log.journal import Journal
from sightline.log.recall_frame import speaks_for_another
from sightline.shorten import subject_of, values_in
from sightline.values.escape import plain_label
from sightline.values.items import GIST, Call, Kind

_CALL = int(Kind.CALL)  # columns have plain numbers, which compare faster
_LINE = 120  # characters of what was said, of a subject, or of what a line says of a result
_WHOLE = 60  # characters: a result up to this size is said as it is, whatever newer lines say
_READ = 2_000  # characters of a result, or of its gist, in which values are looked for
_END = 2  # parts of a path that stand for it where another line has the whole of it
_MOST_WORDS = 1 << 15  # of which the tokens are remembered


class CallWords(NamedTuple):
    """What a line may say of a call."""

    tool: str
    subject: str
    handle: str = ""  # of its result
    odd: str = ""  # what a gist of its result says first, if that is more than values
    values: tuple[str, ...] = ()

    @property
    def end(self) -> str:
        """The end of a subject that is a long path; of another one nothing."""
        parts = self.subject.split("/")
        is_path = len(parts) > _END + 1 and not {" ", "…", ":"}.intersection(self.subject)
        return "/".join(["…", *parts[-_END:]]) if is_path else ""


class Line(NamedTuple):
    """What units were about that say the same: what was said, or calls."""

    handles: list[str]  # of the units, the newest first
    said: str
    calls: Sequence[CallWords]


class FoundWords:
    """What a sweep has found to say of calls, because the next one most likely needs the same."""

    def __init__(self) -> None:
        self.calls: dict[int, tuple[list[int], tuple[CallWords, ...]]] = {}  # row of a message → how it was, its calls
        self.tokens: dict[str, int] = {}  # of single words


class IndexLines:
    """The index lines of one payload. Call `within` once."""

    def __init__(self, journal: Journal, found: FoundWords, said: Callable[[int], str], *, handles: bool) -> None:
        """`said`: the words of a message, by its row; "" if it has no line. `handles`: lines name items by theirs."""
        self._journal, self._found, self._said, self._handles = journal, found, said, handles
        self._before, found.calls = found.calls, {}  # what no sweep looks at any more is forgotten
        if len(found.tokens) > _MOST_WORDS:
            found.tokens.clear()
        self._values = set[str]()  # that newer lines say
        self._paths = set[str]()  # of which a line has the whole

    def within(self, limit: int, units: Iterable[int]) -> list[str]:
        """Return lines for these units, the newest of which comes first, as far as `limit` tokens allow.

        The lines are in the order of the conversation.
        """
        lines: dict[tuple[str, ...] | tuple[CallWords, ...], Line] = {}
        left = limit
        for unit in units:
            rows = self._journal.timeline.rows_of(unit)
            said, calls = self._words(rows)
            if not said and not calls:
                continue
            handle = self._handle(rows[0])
            key = (said,) if said else tuple(call._replace(handle="") for call in calls)
            if (same := lines.get(key)) is not None:
                same.handles.append(handle)
                left -= 1 + self._count(handle)
            else:
                line = Line([handle], said, [call._replace(values=tuple(self._new_values(call))) for call in calls])
                left -= self._tokens(line)
                if left >= 0:
                    lines[key] = line
            if left < 0:
                break
        return self._fitting([*lines.values()], limit)

    def _words(self, rows: Sequence[int]) -> tuple[str, tuple[CallWords, ...]]:
        """What a unit says: words, or calls."""
        kind = self._journal.timeline.kind
        calls = [row for row in rows if kind[row] == _CALL]
        return ("", self._words_of_calls(rows[0], calls)) if calls else (self._said(rows[0]), ())

    def _new_values(self, call: CallWords) -> Iterator[str]:
        """Yield the values of a call that no newer line says; if it would say nothing of the result, the first."""
        free = _LINE - len(call.odd)
        new = [value for value in call.values if value not in self._values]
        for value in new or (call.values[:1] if not call.odd else ()):
            if len(value) < free:
                free -= len(value) + 1
                self._values.add(value)
                yield value

    def _words_of_calls(self, row: int, calls: Sequence[int]) -> tuple[CallWords, ...]:
        """What can be said of the calls of a message. Found once, until a result or its gist comes."""
        timeline = self._journal.timeline
        results = [timeline.partner[call] for call in calls]
        state = results + [timeline.gist_offset[result] for result in results if result >= 0]
        found = self._before.get(row)
        if found is None or found[0] != state:
            words = dict.fromkeys(map(self._words_of_call, calls))
            found = state, tuple(call for call in words if call.tool or call.subject)
        self._found.calls[row] = found
        return found[1]

    def _words_of_call(self, row: int) -> CallWords:
        timeline, reader = self._journal.timeline, self._journal.reader
        call = reader.item(row).parts[0]
        assert isinstance(call, Call)
        words = CallWords(on_one_line(call.name), on_one_line(subject_of(call)))
        if (result := timeline.partner[row]) < 0:
            return words
        has_gist = timeline.level(result, GIST) is GIST
        text = reader.rendition(result, GIST) if has_gist else reader.text(result)
        odd = on_one_line(shorten.unusual_value(text))
        below = text.partition("\n")[2] if has_gist else text  # a gist begins with its label
        says = " ".join(below.split(None, _READ)[:_READ])  # of the first words no part of one
        if len(says) <= _WHOLE:
            return words._replace(handle=self._handle(result), odd=on_one_line(says) or odd)
        says = says if len(says) <= _READ else says[:_READ].rpartition(" ")[0]
        found = dict.fromkeys(map(on_one_line, values_in(says)))
        odd = "" if set(odd.rstrip("…").split()) <= found.keys() else odd
        shown = {*values_in(words.subject), *values_in(odd)}
        values = tuple(value for value in found if value not in shown)
        return words._replace(handle=self._handle(result), odd=odd, values=values)

    def _handle(self, row: int) -> str:
        return f"#{self._journal.timeline.id(row)}" if self._handles else ""

    def _tokens(self, line: Line) -> int:
        """About how many tokens a line takes. From now on it has the whole of its paths."""
        tokens = 1 + self._count(f"{line.handles[0] or '-'} {line.said}".rstrip())
        for call in line.calls:
            is_whole = not call.end or call.subject not in self._paths
            self._paths.add(call.subject)
            subject = call.subject if is_whole else call.end
            words = (call.tool, subject, call.handle, call.odd, *call.values)
            tokens += 2 + sum(self._count(f" {word}") for word in words if word)
        return tokens

    def _count(self, words: str) -> int:
        if not words:
            return 0
        if (tokens := self._found.tokens.get(words)) is None:
            tokens = self._found.tokens[words] = self._journal.reader.counter.count(words)
        return tokens

    def _fitting(self, newest_first: list[Line], limit: int) -> list[str]:
        """Write the newest of these lines, as many as fit."""
        while newest_first:
            written = self._written(newest_first[::-1])
            tokens = self._journal.reader.counter.count("\n".join(written))
            if tokens <= limit:
                return written
            del newest_first[min(len(newest_first) - 1, len(newest_first) * limit // tokens) :]
        return []

    def _written(self, lines: Sequence[Line]) -> list[str]:
        """Write lines. An end that only one of their paths has stands for that after the first time."""
        paths = defaultdict[str, set[str]](set)
        for call in chain.from_iterable(line.calls for line in lines):
            paths[call.end].add(call.subject)
        ends = {call_end: subjects.pop() for call_end, subjects in paths.items() if call_end and len(subjects) == 1}
        whole = set[str]()
        return [_write_line(line, ends, whole) for line in lines]


def _write_line(line: Line, ends: Mapping[str, str], whole: set[str]) -> str:
    told = line.said or "; ".join(_write_call(call, ends, whole) for call in line.calls)
    if not line.said and speaks_for_another(told):
        told = "\\" + told  # a tool may be named like a speaker
    handles, times = " ".join(filter(None, reversed(line.handles))), len(line.handles)
    return f"{handles} {told}" if handles else f"- {told}" + (f" (×{times})" if times > 1 else "")


def _write_call(call: CallWords, ends: Mapping[str, str], whole: set[str]) -> str:
    subject = call.subject
    if ends.get(call.end) == subject:
        subject = call.end if subject in whole else subject
        whole.add(call.subject)
    result = " ".join(filter(None, (call.handle, call.odd, *call.values)))
    return " ".join(filter(None, (call.tool, subject, result and f"→ {result}")))


def on_one_line(text: str) -> str:
    """Return the beginning of a text on one line, escaped so that it cannot look like a handle or label of ours."""
    line = " ".join(text[: 4 * _LINE].split())
    return plain_label(line if len(line) <= _LINE else f"{line[:_LINE]}…")
