"""The files that are being worked on, and which of their lines a payload shows after a sweep.

A sweep shortens results one by one, and a file that was read in several parts and changed since is in none of them. So
after it, one text shows these files as they are now: of all their lines those that are most likely changed next. That
depends on how long ago their file was used, on what was changed, and on the words of the user and of the newest units.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from math import fsum, log1p
from operator import attrgetter
from typing import NamedTuple

from sightline.log.annotations import LOWERING, FileLines, RecallNote
from sightline.log.columns import NONE, Path
from sightline.log.journal import Journal
from sightline.log.recall_frame import frame_files
from sightline.plan.strategies.worth import FILE_TEXT
from sightline.plan.view import Files, said_units
from sightline.recall.file_text import FileText, Line, known_text
from sightline.shorten import Purpose, words_in
from sightline.values.items import Kind
from sightline.values.pattern import pattern

_MOST_FILES = 12
_IN_WORK = 40  # units: a file is being worked on until so many have come since it was last used
_LEAST = 60  # tokens: less room shows nothing
_CHARS = 3.2  # characters of code to a token, about
_NEAR = 8  # lines: a changed line is shown in its place if one so near to it is
_FEWEST, _MOST = 8, 24  # lines of a block: from here on it ends at the next empty line, and here in any case
_HELD = 0.8  # of a result's lines: then nothing of it is lost when it is shortened
_FRAME = 12  # characters: the line with the numbers of a block
_RECENT_UNITS = 8  # the newest: they say what is being worked on
_TASK_CHARS = 6000  # of each item
_OFTEN, _MOST_WORDS = 2, 6.0  # a word counts so many times at most; all words of a block count so much at most
_AROUND = 2  # lines: so near to a named line
_PLACE = pattern(r"([\w.-]{1,80})(?:[\"']?, line |:|\(|#L)(\d{1,6})\b")  # as errors write it
_SHOWN = FILE_TEXT | {Purpose.SEARCH}
_RESULT, _RECALL = int(Kind.RESULT), int(Kind.RECALL)


class Features(NamedTuple):
    """What says whether a block of lines is changed soon."""

    age: float  # units since its file was used, as a logarithm
    changed: float  # 1: some of its lines were changed
    question: float  # words that it shares with the user's last message; a word counts less, the more blocks have it
    recent: float  # the same of the newest units
    named: float  # 1: the user's last message names the definition that it is a part of
    place: float  # 1: that message or the newest units name one of its lines, as errors do


WEIGHTS = Features(age=-0.6, changed=0.5, question=0.17, recent=0.26, named=1.2, place=0.5)
"""Fitted on 18 November 2026 to 311 sweeps of 29 recorded runs of Claude Code and Codex, in windows of 8,000 to 32,000
tokens: `python -m benchmarks.quality.file_fitting`. Twelve more features, such as the distance from a change, made the
choice worse on runs that were not fitted to. The last two came later. Who names a definition wants it whole, which
recorded runs are too rare to say; there it is as good as before."""
LENGTH = -0.5  # of the logarithm of a block's characters: two short ones are worth more than a long one


class Block(NamedTuple):
    """Some lines of a file that follow each other."""

    text: FileText
    lines: Sequence[Line]
    chars: int
    features: Features

    @property
    def is_named(self) -> bool:
        """Whether the user or an error speaks of it, by name or number."""
        return bool(self.features.named)

    @property
    def worth(self) -> float:
        """The worth of showing it, compared with others."""
        fitted = sum(weight * feature for weight, feature in zip(WEIGHTS, self.features, strict=True))
        return fitted + LENGTH * log1p(self.chars)


class FilesInWork(Files):
    """The files in work of a journal's branch. What is known of them is kept from one sweep to the next."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._made: dict[tuple[int, int, int], FileText] = {}  # by subject, its last result and branch
        self._gathered = (-1, -1)  # rows of the timeline, and branch, when the files were gathered
        self._files: list[FileText] = []

    @property
    def tokens(self) -> int:  # type: ignore[override]
        """About how many tokens all that is known of the files takes."""
        return int(sum(len(line.text) + 1 for text in self._gather() for line in text.lines) / _CHARS)

    def holds(self, row: int) -> bool:
        """Whether most of the lines that a result shows are known by their numbers."""
        return fsum(text.rows.get(row, 0.0) for text in self._gather()) >= _HELD

    def earlier(self, units: Iterable[int]) -> list[int]:
        """Those of these units that show files after an earlier sweep."""
        timeline, reader = self._journal.timeline, self._journal.reader
        recalls = [(unit, row) for unit in units if timeline.kind[row := timeline.unit_row[unit]] == _RECALL]
        return [unit for unit, row in recalls if reader.recall_note(row).files]

    def choose(self, tokens: int, is_shown: Callable[[int], bool], *, only_named: bool = False) -> RecallNote | None:
        """Return the lines to show in at most so many tokens; None if there are none.

        is_shown: whether a row is shown in full, and with it the lines that it has.
        only_named: none but those of which the user or an error speaks by name or number.
        """
        if tokens < _LEAST:
            return None
        chosen, left = list[Block](), tokens * _CHARS
        blocks = [block for block in self.blocks(is_shown) if not only_named or block.is_named]
        for block in sorted(blocks, key=attrgetter("worth"), reverse=True):
            if block.chars + _FRAME <= left:
                left -= block.chars + _FRAME
                chosen.append(block)
        return self._fitting(chosen, tokens)

    def blocks(self, is_shown: Callable[[int], bool]) -> Iterator[Block]:
        """Yield all lines that no row shows in full, in blocks: the file that was used last comes first."""
        timeline, path = self._journal.timeline, self._journal.path
        units = said_units(timeline, path)
        question = [unit for unit in units if timeline.is_users_own(timeline.unit_row[unit])][-1:]
        about, recent = Counter(self._words(question)), Counter(self._words(units[-_RECENT_UNITS:]))
        told, unwanted = [*self._told({*question, *units[-_RECENT_UNITS:]})], self._unwanted()
        for text in self._gather():
            parts = _split([line for line in _unseen(text.lines, is_shown) if line.row not in unwanted])
            age = log1p(len(units) - bisect_left(units, timeline.unit[text.last_row]))
            words = [text.words_of(block) for block in parts]
            often = Counter(word for some in words for word in some)
            definitions, places = text.definitions(), _places(text.path, told)
            for block, some in zip(parts, words, strict=True):
                features = Features(
                    age=age,
                    changed=float(any(line.is_changed for line in block)),
                    question=count_shared(some, about, often),
                    recent=count_shared(some, recent, often),
                    named=float(any(definitions.get(line.number) in about for line in block)),
                    place=float(any(block[0].number - _AROUND <= at <= block[-1].number + _AROUND for at in places)),
                )
                yield Block(text, block, sum(len(line.text) + 1 for line in block), features)

    def _fitting(self, chosen: list[Block], tokens: int) -> RecallNote | None:
        """Return what was chosen without its last blocks, if all is more than fits."""
        reader, count = self._journal.reader, self._journal.reader.counter.count
        while chosen:
            note = RecallNote(files=tuple(self._pieces(chosen)))
            used = count(frame_files(reader, note.files, reader.locale, leads=True))
            if used <= tokens:
                return note
            over = sum(block.chars + _FRAME for block in chosen) * (1 - tokens / used)
            while chosen and over > 0:
                over -= chosen.pop().chars + _FRAME
        return None

    def _pieces(self, chosen: Iterable[Block]) -> Iterator[FileLines]:
        """Yield the chosen lines by file, the file that was used last at the end, next to what follows."""
        rank = {id(text): at for at, text in enumerate(reversed(self._gather()))}
        ordered = sorted(chosen, key=lambda block: (rank[id(block.text)], block.lines[0]))
        for text, blocks in groupby(ordered, key=attrgetter("text")):
            yield from text.pieces([line for block in blocks for line in block.lines], self._journal.timeline.id)

    def _gather(self) -> list[FileText]:
        """The files that were used last, the newest first."""
        timeline, path = self._journal.timeline, self._journal.path
        if self._gathered != (now := (len(timeline), self._journal.branch)):
            made: dict[tuple[int, int, int], FileText] = {}
            for subject, row in self._subjects(path).items():
                key = (subject, row, self._journal.branch)
                made[key] = self._made.get(key) or known_text(self._journal.reader, subject, path)
            self._made, self._gathered = made, now
            self._files = [text for text in made.values() if text.lines]
        return self._files

    def _subjects(self, path: Path) -> dict[int, int]:
        """The files that were used last, by their number among the subjects, each with its last result."""
        timeline = self._journal.timeline
        subjects: dict[int, int] = {}
        units: set[int] = set()
        for row in range(len(timeline) - 1, -1, -1):
            if timeline.kind[row] == _RECALL or not path.holds(timeline.branch[row], row):
                continue
            units.add(timeline.unit[row])
            if len(units) > _IN_WORK or len(subjects) >= _MOST_FILES:
                break
            call = timeline.partner[row] if timeline.kind[row] == _RESULT else NONE
            if call != NONE and not FILE_TEXT.isdisjoint((timeline.purpose[row], timeline.purpose[call])):
                for subject in timeline.subjects_at(row):
                    subjects.setdefault(subject, row)
        return subjects

    def _unwanted(self) -> set[int]:
        """The results of which the model wants to see less, and the calls that they answer."""
        timeline, marked = self._journal.timeline, self._journal.timeline.marked(self._journal.path)
        lowered = {row for row, mark in marked.items() if mark.by and mark.what in LOWERING}
        return lowered.union(timeline.partner[row] for row in lowered)

    def _told(self, units: Iterable[int]) -> Iterator[str]:
        """Yield the beginning and the end of what these units say, except results that show files or searches."""
        timeline, reader = self._journal.timeline, self._journal.reader
        for row in (row for unit in sorted(units) for row in timeline.rows_of(unit)):
            if timeline.kind[row] != _RESULT or timeline.purpose[row] not in _SHOWN:
                text = reader.text(row)
                yield text if len(text) <= 2 * _TASK_CHARS else f"{text[:_TASK_CHARS]}\n{text[-_TASK_CHARS:]}"

    def _words(self, units: Iterable[int]) -> Iterator[str]:
        """Yield the words of these units, once for each of their items."""
        timeline, reader = self._journal.timeline, self._journal.reader
        for unit in units:
            for row in timeline.rows_of(unit):
                yield from words_in(reader.text(row)[:_TASK_CHARS])


def count_shared(words: Iterable[str], wanted: Counter[str], often: Counter[str]) -> float:
    """How much of what is wanted these words are. A word counts the more, the fewer blocks have it."""
    shares = (min(_OFTEN, wanted[word]) / often[word] for word in words if word in wanted)
    return min(_MOST_WORDS, fsum(shares))  # whatever the order of a set


def _places(path: str, told: Iterable[str]) -> set[int]:
    """Return the numbers of lines of a file that these texts name."""
    name = path.rpartition("/")[2]
    return {int(match[2]) for text in told if name in text for match in _PLACE.finditer(text) if match[1] == name}


def _unseen(lines: Sequence[Line], is_shown: Callable[[int], bool]) -> Iterator[Line]:
    """Yield the lines that no row shows in their place. A change shows its lines, but not what they stand between."""
    shown = {row: is_shown(row) for row in {line.row for line in lines}}
    hidden = [not shown[line.row] for line in lines]
    for at, line in enumerate(lines):
        if hidden[at] or (line.is_changed and any(hidden[max(0, at - _NEAR) : at + _NEAR + 1])):
            yield line


def _split(lines: Sequence[Line]) -> list[Sequence[Line]]:
    """Split lines where one is empty or lines between them are not known, into blocks that are neither short nor long.

    Lines that a change has made begin and end blocks too. A block of empty lines is none.
    """
    blocks, start = list[Sequence[Line]](), 0
    for at, line in enumerate(lines):
        length, end = at + 1 - start, at + 1 == len(lines)
        following = line if end else lines[at + 1]
        by_change = following.row != line.row and (line.is_changed or following.is_changed)
        apart = not end and (following.number != line.number + 1 or by_change)
        if end or apart or length >= _MOST or (length > _FEWEST and not line.text.strip()):
            blocks.append(lines[start : at + 1])
            start = at + 1
    return [block for block in blocks if any(line.text.strip() for line in block)]
