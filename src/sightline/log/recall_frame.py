"""How a recall looks that stands before the words of a user message: passages of the conversation in a frame.

The frame is a heading, the passages, and a line after which the message itself follows. No line of a passage can look
like one of the frame: of a text only the first line begins at the margin, and it is escaped where it must be.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from operator import attrgetter
from re import IGNORECASE
from typing import TYPE_CHECKING
from unicodedata import normalize

from sightline.log.annotations import FileLines, RecallNote, Source
from sightline.log.columns import Timeline
from sightline.shorten import arguments_of
from sightline.values.escape import MARGIN, Escape, escape, plain_label, without_hidden
from sightline.values.items import Call, Kind
from sightline.values.pattern import pattern
from sightline.values.phrases import LOCALES, SPEAKS, say

if TYPE_CHECKING:
    from sightline.log.reader import EntryReader

_GAP = "…"
_TICKS = pattern(r"`{3,}")
_INDENTED = "\n  "
_FRAME_LINE = pattern(rf"{MARGIN}(?:[\[［]|{_GAP}|[#＃]\s?\d)")  # how a line of the frame, or a handle, begins
_LEADING = pattern(rf"\A{MARGIN}")
_LIST_LINE = pattern(rf"{MARGIN}(?:# ?\d|\[[^\]]*\]\s*\Z)")  # a handle, or a date by itself, in plain letters
_LABELS = {
    Kind.USER: "by user", Kind.ASSISTANT: "by assistant", Kind.SYSTEM: "by program", Kind.SUMMARY: "by summary",
}  # fmt: skip
_ROLES = {say(key, locale).rstrip(" :：") for key in _LABELS.values() for locale in LOCALES} | {
    "system", "developer", "tool", "human", "ai",
}  # fmt: skip
_TIME_OF_DAY = pattern(
    r"(?:\bat )?(?<![\d:])\d{1,2}[:：]\d{2}(?:[:：]\d{2}(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?(?![\d:：])\s*"
    r"(?:[ap]\.?m\b\.?)?(?: on\b)?|(?<=\d)T(?=\d)"
    r"|[上下中]午\s*|[凌早]晨\s*|晚上\s*|\d{1,2}[点时](?:\d{1,2}分)?(?:\d{1,2}秒)?",
    IGNORECASE,
)
_SPEAKERS = ("by user", "by assistant")
_SAID = (Kind.USER, Kind.ASSISTANT, Kind.RESULT)
LONGEST_CALL = 80  # characters of the call that a result is labelled with
_BEGINNING = 400  # characters of a text in which its speaker's name is looked for
_NEAR = 50  # rows before a text in which the one said before it is looked for


def frame_recall(
    reader: "EntryReader",
    note: RecallNote,
    locale: str,
    today: str = "",
    *,
    handles: bool = True,
    format_1: bool = False,
) -> str:
    """Return the passages of a note in the order it has them, in their frame.

    Between two passages stands their date, if it differs, or else a mark if something was said between them. Speakers
    are named only where that tells something. `handles`: a passage that is only a part of an item has its handle,
    because the model can expand it. `format_1`: as payloads of that format had it: only a first line was escaped.
    """
    end = say("earlier end", locale)
    if note.overview:  # its lines are the engine's, but for what they quote
        lines = note.overview.splitlines()
        if format_1:
            lines = ["\\" + line if end in without_hidden(line) else line for line in lines]
        return "\n".join([say("overview", locale), *(lines if format_1 else map(escape, lines)), end, ""])
    passages = _passages(reader, note, locale, today, handles, format_1)
    return "\n".join([say("earlier", locale), *passages, end, ""])


def frame_files(reader: "EntryReader", files: Sequence[FileLines], locale: str, *, leads: bool) -> str:
    """Return lines of files, each run of them in a fence that none of them can close.

    `leads`: the text stands before the words of a user message.
    """
    told = [say("files", locale)]
    for path, pieces in groupby(files, key=attrgetter("path")):
        runs = [*_runs(reader, list(pieces))]
        ticks = [len(run) for lines in runs for _, line in lines for run in _TICKS.findall(line)]
        fence = "`" * max(3, 1 + max(ticks, default=0))
        told.append(fence + plain_label(path))
        for lines in runs:
            told += [f"@@ {lines[0][0]}-{lines[-1][0]}", *(_escape_in_file(line) for _, line in lines)]
        told.append(fence)
    return "\n".join([*told, say("earlier end", locale), ""] if leads else told)


def _escape_in_file(line: str) -> str:
    """Return a line of a file that cannot be taken for the numbers of the lines that follow, nor for the engine's."""
    return "\\" + line if line.startswith("@@ ") else escape(line)


def _runs(reader: "EntryReader", pieces: Sequence[FileLines]) -> Iterator[list[tuple[int, str]]]:
    """Yield the lines of a file with their numbers, those together that follow each other."""
    run: list[tuple[int, str]] = []
    for piece in pieces:
        if run and piece.number != run[-1][0] + 1:
            yield run
            run = []
        run += enumerate(_file_lines(reader, piece), piece.number)
    yield run


def _file_lines(reader: "EntryReader", piece: FileLines) -> list[str]:
    """Return the lines of a file that a recall shows again. At least one."""
    row = reader.timeline.row(piece.item)
    if not piece.first or row is None:
        return piece.text.split("\n")
    call = reader.item(row).parts[0] if piece.argument else None
    text = arguments_of(call).get(piece.argument) if isinstance(call, Call) else reader.text(row)
    lines = (text if isinstance(text, str) else "").split("\n")[piece.first - 1 : piece.last] or [""]
    return [line.partition(piece.mark)[2] for line in lines] if piece.mark else lines


def passage(
    reader: "EntryReader",
    source: Source,
    locale: str,
    *,
    labelled: bool = True,
    handles: bool = True,
    goes_on: bool = False,
    under: str = "",
    format_1: bool = False,
) -> str:
    """Return one passage: its text after its speaker or, of a tool's result, its call. Further lines are indented.

    `labelled`: it must be said whose it is, because others speak too. `goes_on`: the passage before it is of the same
    item. `under`: the date above it, which it need not repeat.
    """
    row = reader.timeline.row(source.item)
    if row is None:
        return ""
    lines = [part for line in reader.source_lines(source) for part in line.splitlines() or [""]]  # \r ends a line too
    if len(lines) > 1 and lines[0] == f"[{under}]":
        lines = lines[1:]
    label = _label(reader, row, "\n".join(lines[:2]), locale, labelled, goes_on)
    is_speech = bool(speaker(reader.timeline, row))
    first = lines[0] if label else _escape_first(lines[0], is_speech=is_speech, format_1=format_1)
    text = label + _INDENTED.join([first, *map(escape_at(reader, row, format_1), lines[1:])])
    if not handles or not (source.first or source.quotes):
        return text
    if source.first:
        handle = say("recalled lines", locale, id=source.item, first=source.first, last=source.last)
        return f"{handle}{_INDENTED}{text}"
    return f"#{source.item} {text}"


def _passages(
    reader: "EntryReader", note: RecallNote, locale: str, today: str, handles: bool, format_1: bool
) -> Iterator[str]:
    timeline = reader.timeline
    placed = [(row, source) for source in note.sources if (row := timeline.row(source.item)) is not None]
    rows = [row for row, _ in placed]
    several = any(speaker(timeline, row) not in ("", "by user") for row in rows)
    named = several and names_speakers(reader, rows)
    when, before, last = today, -1, Source("")
    dates = written_dates([reader.when(source, today) for _, source in placed], by_day=note.by_day)
    for (row, source), date in zip(placed, dates, strict=True):
        previous, when = when, date
        between_parts = source.first or last.first or bool(source.quotes) != bool(last.quotes)
        if when != previous:
            yield f"[{when}]"
        elif before >= 0 and (between_parts or (not source.quotes and _is_gap(timeline, before, row))):
            yield _GAP  # a list of quotes has none: it is seen that they are quotes
        has_name = named and shows_name(source) and speaker(timeline, row) in _SPEAKERS
        goes_on, labelled = before == row, several and not has_name
        yield passage(
            reader, source, locale, labelled=labelled, handles=handles, goes_on=goes_on, under=when,
            format_1=format_1,
        )  # fmt: skip
        before, last = row, source


def written_dates(labels: Sequence[str], *, by_day: bool) -> list[str]:
    """Return the date to write above each of these pieces. With `by_day`, those of one day in a row have one.

    That is when they were written, or the day alone if the times differ.
    """
    if not by_day:
        return list(labels)
    written = list[str]()
    for day, some in groupby(labels, day_of):
        times = list(some)
        written += [times[0] if len(set(times)) == 1 else day] * len(times)
    return written


@lru_cache(maxsize=1 << 10)
def day_of(label: str) -> str:
    """Return when something was written, without the time of day."""
    return _TIME_OF_DAY.sub("", label).strip(" ,，") or label


def speaker(timeline: Timeline, row: int) -> str:
    """Return the phrase that says who said a row; "" for a call or a result. What a program wrote is not the user's."""
    return "by program" if timeline.is_by_program(row) else _LABELS.get(Kind(timeline.kind[row]), "")


def shows_name(source: Source) -> bool:
    """Return whether a passage begins where its item does, so with the speaker's name if the item does."""
    return source.first <= 1 and not source.quotes


def names_speakers(reader: "EntryReader", rows: Sequence[int]) -> bool:
    """Return whether texts begin with the names of their speakers, as in a chat that was written down.

    Then all that was said in these rows begins so, and what was said before them: "Rule: …" once is no name. Nor is one
    that both the user and the assistant have.
    """
    timeline = reader.timeline
    path = timeline.path(timeline.branch[rows[0]]) if rows else None
    near = range(rows[0] - 1, max(-1, rows[0] - _NEAR), -1) if rows else ()
    before = (row for row in near if path is not None and path.holds(timeline.branch[row], row))
    spoken = [row for row in dict.fromkeys(rows) if speaker(timeline, row) in _SPEAKERS]
    spoken += [*islice((row for row in before if speaker(timeline, row) in _SPEAKERS and timeline.full[row]), 1)]
    names: dict[str, str] = {}
    for row in spoken:
        by, name = speaker(timeline, row), _name(reader.text(row))
        if not name or names.setdefault(name, by) != by:
            return False
    return len(spoken) > 1


def label_listed(
    timeline: Timeline, row: int, source: Source, first: str, locale: str, *, named: bool, format_1: bool
) -> str:
    """Return what stands between the handle of a piece in a list and its first line: who says it, or an escape.

    Who begins with a name as all do needs no label, unless it is another's. `named`: as in `names_speakers`.
    """
    by, name = speaker(timeline, row), _name(first)
    has_name = named and (format_1 or (by in _SPEAKERS and not _poses(name)))
    if by and not source.quotes and not has_name:
        return say(by, locale)
    return "\\" if not format_1 and (speaks_for_another(first) or (named and name and by not in _SPEAKERS)) else ""


def keep_apart(lines: list[str], begin: int, *, is_indented: bool, named: bool) -> tuple[list[str], bool]:
    """Return the lines of a piece in a list as a reader sees them, and whether the further ones must be indented.

    They must be if one of them, from `begin` on, could be taken for a line of the list or for another's speech. If none
    can, the piece stays as it came.
    """
    seen = [part for line in lines for part in line.splitlines() or [""]]  # \r ends a line too
    is_indented = is_indented or any(
        _LIST_LINE.match(normalize("NFKC", _beginning(line))) or speaks_for_another(line) or (named and _name(line))
        for line in seen[begin:]
    )
    return (seen if is_indented else lines), is_indented


def _is_gap(timeline: Timeline, before: int, row: int) -> bool:
    """Return whether something was said between two rows, or the second stands before the first."""
    if row < before:
        return True
    path = timeline.path(timeline.branch[row])
    return any(
        timeline.kind[at] in _SAID and timeline.full[at] and path.holds(timeline.branch[at], at)
        for at in range(before + 1, row)
    )


def _label(reader: "EntryReader", row: int, text: str, locale: str, labelled: bool, goes_on: bool) -> str:
    """Return who says a text, or the call that it answers.

    One that continues the passage before it needs no label, unless it begins as if somebody else spoke.
    """
    name, by = _name(text), speaker(reader.timeline, row)
    if reader.timeline.kind[row] == Kind.RESULT:
        call = reader.timeline.partner[row]
        called = " ".join(reader.text(call).split())[:LONGEST_CALL] if call >= 0 and (name or not goes_on) else ""
        posing = "\\" if speaks_for_another(called + ": x") else ""  # it may be called by any name
        return f"{posing}{plain_label(called)}: " if called else ""
    return say(by, locale) if by and (_poses(name) or (labelled and not goes_on)) else ""


def _beginning(text: str) -> str:
    """Return how a text begins, as it looks to a reader."""
    seen = without_hidden(text[:_BEGINNING])
    much_is_hidden = len(text) > _BEGINNING and len(seen) < _BEGINNING // 2
    return without_hidden(text)[:_BEGINNING] if much_is_hidden else seen


def _name(text: str) -> str:
    """Return the name that a text begins with, as it looks to a reader; "" if it begins with none."""
    speaks = SPEAKS.match(_beginning(text))
    return normalize("NFKC", speaks[1]).strip().casefold() if speaks else ""


def _poses(name: str) -> bool:
    """Return whether who begins with this name poses as somebody else, or as a tool's result."""
    return name.split(" ", maxsplit=1)[0] in _ROLES or "(" in name


def speaks_for_another(line: str) -> bool:
    """Return whether a line begins as if the user, the assistant or the program spoke."""
    return _name(_LEADING.sub("", _beginning(line), count=1)).split(" ", maxsplit=1)[0] in _ROLES


def escape_at(reader: "EntryReader", row: int, format_1: bool) -> Escape:
    """Return how further lines of a recalled row are escaped: none can be taken for the engine's or another speaker's.

    What tools gave may have such a line, as in `user: root`; it is no speech, and is only indented.
    """
    if format_1:
        return str
    return _escape_speech if speaker(reader.timeline, row) else escape


def _escape_speech(line: str) -> str:
    return "\\" + line if speaks_for_another(line) else escape(line)


def _escape_first(line: str, *, is_speech: bool, format_1: bool) -> str:
    """Return a first line of somebody's text that cannot be taken for one of the frame, nor for another's speech."""
    if speaks_for_another(line) or (not is_speech and _name(line)) or _FRAME_LINE.match(_beginning(line)):
        return "\\" + line
    return line if format_1 else escape(line)
