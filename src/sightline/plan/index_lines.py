"""The lines that say what the units were about that are left out: one for each, as many as there is room for.

A line names the calls of a message: the tool, the subject, what is odd in the result, and values in it. Or it has the
beginning of what was said. Nothing is said twice: a value stands in the newest line that has it, of lines that say the
same there is only the newest, and one line has the whole of a long path, of which the others have the end.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from sightline import shorten
from sightline.log.journal import Journal
from sightline.log.recall_frame import speaks_for_another
from sightline.shorten import subject_of, values_in
from sightline.values.escape import plain_label
from sightline.values.items import GIST, Call, Kind

_CALL = int(Kind.CALL)  # columns have plain numbers, which compare faster
_LINE = 120  # characters of what was said, of a subject, or of what a line says of a result
_READ = 2_000  # characters of a result, or of its gist, in which values are looked for
_END = 2  # parts of a path that stand for it where another line has the whole of it
_MOST_CALLS, _MOST_WORDS = 2_048, 1 << 15  # that stay in memory


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
        is_path = len(parts) > _END + 1 and " " not in self.subject and not self.subject.endswith("…")
        return "/".join(["…", *parts[-_END:]]) if is_path else ""


class Line(NamedTuple):
    """What one unit was about: what was said, or its calls."""

    handle: str
    said: str
    calls: tuple[CallWords, ...] = ()


class FoundWords:
    """What sweeps have found to say of calls, because the next one most likely needs the same."""

    def __init__(self) -> None:
        self.calls: dict[int, tuple[list[int], tuple[CallWords, ...]]] = {}  # row of a message → how it was, its calls
        self.tokens: dict[str, int] = {}  # of single words

    def make_room(self) -> None:
        """Forget what has become too much."""
        for found, most in ((self.calls, _MOST_CALLS), (self.tokens, _MOST_WORDS)):
            if len(found) >= most:
                found.clear()


class IndexLines:
    """The index lines of one payload. Call `within` once."""

    def __init__(self, journal: Journal, found: FoundWords, said: Callable[[int], str], *, handles: bool) -> None:
        """`said`: the words of a message, by its row; "" if it has no line. `handles`: lines name items by theirs."""
        self._journal, self._found, self._said, self._handles = journal, found, said, handles
        self._told = set[str]()  # what newer lines say: values, paths, and calls without their values
        self._ends: dict[str, str] = {}  # the end of a path → the path for which it stands
        found.make_room()

    def within(self, limit: int, units: Iterable[int]) -> list[str]:
        """Return a line for each of these units, the newest of which comes first, as far as `limit` tokens allow.

        The lines are in the order of the conversation.
        """
        lines: list[Line] = []
        for line in filter(None, map(self._line, units)):
            limit -= self._tokens(line)
            if limit < 0:
                break
            lines.append(line)
        whole = set[str]()
        return [self._written(line, whole) for line in reversed(lines)]

    def _line(self, unit: int) -> Line | None:
        """Return what a unit has to say, each value only if no newer line has it; None if newer lines say it all."""
        rows, kind = self._journal.timeline.rows_of(unit), self._journal.timeline.kind
        handle = self._handle(rows[0]) or "-"
        if calls := [row for row in rows if kind[row] == _CALL]:
            words = self._words_of_calls(rows[0], calls)
            named = [call._replace(values=tuple(self._new_values(call))) for call in words]
            are_new = [self._is_new(f"{call.tool} {call.subject} {call.odd}") or bool(call.values) for call in named]
            return Line(handle, "", tuple(named)) if any(are_new) else None
        said = self._said(rows[0])
        return Line(handle, said) if said and self._is_new(said) else None

    def _new_values(self, call: CallWords) -> Iterator[str]:
        free = _LINE - len(call.odd)
        for value in call.values:
            free -= len(value) + 1
            if free < 0:
                return
            if self._is_new(value):
                yield value
            else:
                free += len(value) + 1

    def _is_new(self, words: str) -> bool:
        """Whether no newer line says this. From now on one does."""
        is_new = words not in self._told
        self._told.add(words)
        return is_new

    def _words_of_calls(self, row: int, calls: Sequence[int]) -> tuple[CallWords, ...]:
        """What can be said of the calls of a message. Found once, until a result or its gist comes."""
        timeline = self._journal.timeline
        results = [timeline.partner[call] for call in calls]
        state = results + [timeline.gist_offset[result] for result in results if result >= 0]
        found = self._found.calls.get(row)
        if found is None or found[0] != state:
            found = self._found.calls[row] = state, tuple(map(self._words_of_call, calls))
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
        says = text.partition("\n")[2] if has_gist else text  # a gist begins with its label
        found = dict.fromkeys(map(on_one_line, values_in(" ".join(says[:_READ].split()))))
        if set(odd.rstrip("…").split()) <= found.keys():
            odd = ""
        values = (value for value in found if value not in words.subject and value not in odd)
        return words._replace(handle=self._handle(result), odd=odd, values=tuple(values))

    def _handle(self, row: int) -> str:
        return f"#{self._journal.timeline.id(row)}" if self._handles else ""

    def _tokens(self, line: Line) -> int:
        """About how many tokens a line takes. From now on it has the whole of its paths."""
        tokens = 1 + self._count(f"{line.handle} {line.said}".rstrip())
        for call in line.calls:
            tokens += 2 + sum(map(self._count, (call.tool, call.handle, call.odd, *call.values)))
            is_whole = not call.end or self._ends.setdefault(call.end, call.subject) != call.subject
            tokens += self._count(call.subject if is_whole or self._is_new(call.subject) else call.end)
        return tokens

    def _count(self, words: str) -> int:
        if (tokens := self._found.tokens.get(words)) is None:
            tokens = self._found.tokens[words] = self._journal.reader.counter.count(words) if words else 0
        return tokens

    def _written(self, line: Line, whole: set[str]) -> str:
        """Write a line. `whole`: the paths of which a line before it has the whole."""
        told = line.said or "; ".join(self._written_call(call, whole) for call in line.calls)
        # A tool may be named like a speaker.
        return f"{line.handle} " + ("\\" * (not line.said and speaks_for_another(told))) + told

    def _written_call(self, call: CallWords, whole: set[str]) -> str:
        subject = call.subject
        if call.end and self._ends.get(call.end) == subject:
            subject = call.end if subject in whole else subject
            whole.add(call.subject)
        result = " ".join(filter(None, (call.handle, call.odd, *call.values)))
        return " ".join(filter(None, (call.tool, subject, result and f"→ {result}")))


def on_one_line(text: str) -> str:
    """Return the beginning of a text on one line, escaped so that it cannot look like a handle or label of ours."""
    line = " ".join(text[: 4 * _LINE].split())
    return plain_label(line if len(line) <= _LINE else f"{line[:_LINE]}…")
