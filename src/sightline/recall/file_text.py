"""What is known of a file's text: what was read of it, with all changes since, line by line.

Only what a log says plainly counts: lines of known numbers, and changes whose old text is known. A command that changes
a file in place makes it unknown.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from typing import Any, NamedTuple

from sightline.log.annotations import FileLines
from sightline.log.columns import FAILED, Path
from sightline.log.reader import EntryReader
from sightline.recall.definitions import definitions_of
from sightline.recall.shown_lines import shown_lines
from sightline.shorten import Purpose, arguments_of, words_in
from sightline.shorten.call_subject import command_of
from sightline.shorten.json_text import wrapped_result
from sightline.shorten.printed_lines import written_texts
from sightline.values.items import Call
from sightline.values.pattern import pattern

_MOST_RESULTS = 60  # about one file that are looked at: the newest
_LARGEST, _MOST_LINES = 1 << 20, 50_000  # characters and lines of a result that is looked at
_NUMBERED = pattern(r"\s*(\d{1,7})(→|\t| ?\| ?|: ?)")
_WHOLE = ("content", "contents", "file_text")  # arguments with all of a file's text
_COMMANDS = ("command", "cmd")  # arguments that may have it in a here-document
_CHANGES = (("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text"))
_FIRST_LINE = ("offset", "start_line", "startLine", "line_start", "start")
_OUTPUT, _HEADER = "Output:", 8  # a line after which the output of a command begins, among so many
_TOTAL = pattern(r"Total output lines: \d+\Z")  # what Codex may say first in it, before an empty line
# How Qwen Code and Gemini CLI begin, before a line of dashes, if they show a part of a file.
_SHOWING = pattern(r"[^\n]*\bShowing lines (\d{1,7})-(\d{1,7}) of \d")
_DASHES = "---"
_REFUSED = ("<tool_use_error>", "The user doesn't want")  # how a result begins that no flag says has failed
_HUNK = pattern(r"^@@.*$", re.MULTILINE)
_PATCHED = pattern(r"^\*\*\* (?:Update|Add) File: (.+)$", re.MULTILINE)
_SHOWING_TEXT = frozenset((Purpose.READ, Purpose.SHOW, Purpose.CHANGE, Purpose.COMMAND))


class Line(NamedTuple):
    """One line of a file, and where the log has it."""

    number: int
    text: str
    row: int
    at: int = 0  # line of that row's text or argument, counted from 1; 0: it has no such line
    argument: str = ""
    mark: str = ""  # see `FileLines.mark`

    @property
    def is_changed(self) -> bool:
        """Whether a change has made this line, and not a read or a write of the whole file."""
        return not self.at or bool(self.argument and self.argument not in (*_WHOLE, *_COMMANDS))


class FileText:
    """The lines of one file that are known, in order."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: list[Line] = []
        # Of lines that follow each other, by their first and last number.
        self._words: dict[tuple[int, int], set[str]] = {}
        self._definitions: dict[int, str] | None = None
        self.rows: dict[int, float] = {}  # results whose text is among the lines, or was: which part of it, and calls

    @property
    def last_row(self) -> int:
        """The result or call that used the file last."""
        return max(self.rows.keys() | {line.row for line in self.lines})

    def words_of(self, lines: Sequence[Line]) -> set[str]:
        """Return the words of some lines that follow each other. Ask only when the text is complete."""
        place = (lines[0].number, lines[-1].number)
        if (words := self._words.get(place)) is None:
            words = self._words[place] = words_in("\n".join(line.text for line in lines))
        return words

    def definitions(self) -> dict[int, str]:
        """Return the definition that each line is a part of, by its number. Ask only when the text is complete."""
        if self._definitions is None:
            names = definitions_of([(line.number, line.text) for line in self.lines])
            self._definitions = {line.number: name for line, name in zip(self.lines, names, strict=True) if name}
        return self._definitions

    def put(self, lines: Sequence[Line]) -> None:
        """Take over lines that follow each other, in place of those with the same numbers."""
        first, last = lines[0].number, lines[-1].number
        before = [line for line in self.lines if line.number < first]
        self.lines = [*before, *lines, *(line for line in self.lines if line.number > last)]

    def write(self, text: str, row: int, argument: str) -> None:
        """Take over the whole text."""
        self.lines = [Line(at, line, row, at, argument) for at, line in enumerate(text.split("\n"), 1)]

    def change(self, old: str, new: str, row: int, argument: str = "", *, everywhere: bool = False) -> bool:
        """Replace one text by another, if it is known, and return whether it is. Numbers of later lines move."""
        at, changed = 0, False
        while old and (at := self._change_next(old, new, row, argument, at)) >= 0:
            changed = True
            if not everywhere:
                break
        return changed

    def _change_next(self, old: str, new: str, row: int, argument: str, begin: int) -> int:
        """Replace the next occurrence from this character on. Return where the rest begins; -1 if there is none."""
        ends = [*accumulate(len(line.text) + 1 for line in self.lines)]
        joined = "\n".join(line.text for line in self.lines)
        while (at := joined.find(old, begin)) >= 0:
            first, last = bisect_right(ends, at), bisect_right(ends, at + len(old) - (old[-1] == "\n"))
            if self.lines[last].number - self.lines[first].number == last - first:
                break
            begin = at + 1  # the lines do not follow each other
        else:
            return -1
        before = joined[ends[first] - len(self.lines[first].text) - 1 : at]
        after = joined[at + len(old) : ends[last] - 1] if old[-1] != "\n" else ""
        number, moved = self.lines[first].number, new.removesuffix("\n") if old[-1] == "\n" else new
        texts = f"{before}{moved}{after}".split("\n") if moved or before or after or old[-1] != "\n" else []
        lines = [
            Line(number + k, text, row, 0, "")
            if not argument or (k == 0 and before) or (k == len(texts) - 1 and after)
            else Line(number + k, text, row, k + 1, argument)
            for k, text in enumerate(texts)
        ]
        more = len(lines) - (last + 1 - first)
        rest = [line._replace(number=line.number + more) for line in self.lines[last + 1 :]]
        self.lines[first:] = [*lines, *rest]
        return at + len(moved)

    def pieces(self, lines: Sequence[Line], item_of: Any) -> Iterator[FileLines]:
        """Yield these lines of the file as a log names them, those together that one text has together."""
        start = 0
        for end in range(1, len(lines) + 1):
            if end < len(lines) and _goes_on(lines[end - 1], lines[end]):
                continue
            first, last = lines[start], lines[end - 1]
            item = item_of(first.row)
            if first.at:
                yield FileLines(self.path, first.number, item, first.at, last.at, first.argument, first.mark)
            else:
                yield FileLines(self.path, first.number, item, text="\n".join(line.text for line in lines[start:end]))
            start = end


def _goes_on(line: Line, following: Line) -> bool:
    """Whether a line follows another one in the file, and in the same text too."""
    same = following[2] == line[2] and following[4:] == line[4:] and following.number == line.number + 1
    return same and (following.at == line.at + 1 if line.at else not following.at)


def known_text(reader: EntryReader, subject: int, path: Path) -> FileText:
    """Return what is known of a file on a path of the log. The subject is its path."""
    timeline = reader.timeline
    text = FileText(timeline.subjects[subject])
    for row in reversed([*islice(timeline.results_about(subject, path), _MOST_RESULTS)]):
        if timeline.state[row] & FAILED or timeline.full[row] > _LARGEST // 4:
            continue
        result = reader.text(row)
        if result.startswith(_REFUSED) or result.count("\n") > _MOST_LINES:
            continue
        call = timeline.partner[row]
        if call >= 0 and timeline.purpose[call] in (Purpose.WRITE, Purpose.CHANGE):
            _apply_call(text, reader, call)
            text.rows[call] = 1.0
        if timeline.purpose[row] in _SHOWING_TEXT:
            single, is_change = len(timeline.subjects_at(row)) == 1, timeline.purpose[row] == Purpose.CHANGE
            arguments = _arguments(reader, call) if call >= 0 else {}
            _take_result(text, result, row, arguments, single=single, is_change=is_change)
    return text


def _take_result(
    text: FileText, result: str, row: int, arguments: dict[str, Any], *, single: bool, is_change: bool
) -> None:
    """Take over the lines that a result shows. What an editing tool says without numbers is no text of the file."""
    said = wrapped_result(result)  # what is inside is no line of the row's own text
    command, folder = command_of(arguments)
    if command:
        runs = _printed_runs(text, command, folder, said, row)
    else:
        runs = [*_numbered_runs(said, row)] or ([*_shown_runs(said, row)] if said == result else [])
        runs = runs if runs or is_change else _plain_runs(text, said, row, _first_number(arguments))
        runs = runs if single else []
    for run in runs:
        text.put(run if said == result else [line._replace(at=0, mark="") for line in run])
        text.rows[row] = text.rows.get(row, 0.0) + len(run) / max(1, said.count("\n"))


def _printed_runs(text: FileText, command: str, folder: str, said: str, row: int) -> list[list[Line]]:
    """Return the lines of the file that a command line has printed."""
    lines = said.split("\n", _HEADER + 2)
    skip = next((at for at, line in enumerate(lines[:_HEADER], 1) if line == _OUTPUT), 0)
    skip += 2 * (skip > 0 and lines[skip + 1 : skip + 2] == [""] and bool(_TOTAL.match(lines[skip])))
    known = {line.number: line.text for line in text.lines}
    shown = shown_lines(command, folder, text.path, said.split("\n", skip)[skip], known)
    return [[Line(one.number, one.text, row, skip + one.at + 1, "", one.mark) for one in run] for run in shown]


def _plain_runs(text: FileText, said: str, row: int, start: int) -> list[list[Line]]:
    """Return the lines that a tool shows without numbers, from this one on."""
    lines = said.split("\n")
    skip = next((at for at, line in enumerate(lines[:_HEADER], 1) if line == _OUTPUT), 0)
    skip = skip or int(text.path in lines[0] and lines[0].rstrip().endswith(":"))  # as Continue begins
    shown = [Line(start + k, line, row, skip + k + 1) for k, line in enumerate(lines[skip:])]
    return [shown] if shown and (len(lines) > 1 or not text.lines) else []


def _shown_runs(result: str, row: int) -> Iterator[list[Line]]:
    """Yield the lines of a part of a file, if the result begins with their numbers."""
    lines = result.split("\n")
    told = next((match for line in lines[:_HEADER] if (match := _SHOWING.match(line))), None)
    skip = next((at for at, line in enumerate(lines[:_HEADER], 1) if line.startswith(_DASHES)), 0)
    if told and skip:
        first, last = int(told[1]), int(told[2])
        skip += lines[skip : skip + 1] == [""] and len(lines) - skip > last - first + 1
        shown = lines[skip : skip + last - first + 1]
        yield from [[Line(first + k, line, row, skip + k + 1) for k, line in enumerate(shown)]] if shown else ()


def _numbered_runs(result: str, row: int) -> Iterator[list[Line]]:
    """Yield the lines that a tool has numbered one after the other, at least two of them."""
    run: list[Line] = []
    matches = [_NUMBERED.match(line) for line in result.split("\n")]
    marks = {match[2] for match in matches if match and match.end() < len(match.string)}
    mark = min(marks, key=len, default="")  # the blank after it is of the line, unless all lines have one
    for at, match in enumerate(matches, 1):
        line = match.string if match else ""
        if match and mark and line[match.start(2) :].startswith(mark.rstrip(" ")):
            number, said = int(match[1]), line[match.start(2) + len(mark) :]
            if run and number != run[-1].number + 1:
                if len(run) > 1:
                    yield run
                run = []
            run.append(Line(number, said, row, at, "", mark))
        elif run:
            if len(run) > 1:
                yield run
            run = []
    if len(run) > 1:
        yield run


def _first_number(arguments: dict[str, Any]) -> int:
    """The number of the first line that a call shows, if its result has no numbers."""
    if isinstance(listed := arguments.get("view_range"), list) and listed and isinstance(listed[0], int):
        return max(1, listed[0])
    first = next((arguments[key] for key in _FIRST_LINE if isinstance(arguments.get(key), int)), 1)
    return max(1, first)


def _arguments(reader: EntryReader, call: int) -> dict[str, Any]:
    part = reader.item(call).parts[0]
    return arguments_of(part) if isinstance(part, Call) else {}


def _apply_call(text: FileText, reader: EntryReader, row: int) -> None:
    """Change the text as a call does."""
    arguments = _arguments(reader, row)
    for key in _WHOLE:
        if isinstance(whole := arguments.get(key), str):
            text.write(whole, row, key)
            return
    several = arguments.get("edits")
    edits = [edit for edit in several if isinstance(edit, dict)] if isinstance(several, list) else []
    told = False
    for edit in [arguments, *edits]:
        for old, new in _CHANGES:
            if isinstance(edit.get(old), str) and isinstance(edit.get(new), str):
                argument, everywhere = new if edit is arguments else "", edit.get("replace_all") is True
                text.change(edit[old], edit[new], row, argument, everywhere=everywhere)
                told = True
    if told:
        return
    patches = [value for value in _texts(arguments) if "*** Begin Patch" in value]
    if not patches:
        _apply_command(text, arguments, row)
    for patch in patches:
        _apply_patch(text, patch, row)


def _apply_command(text: FileText, arguments: dict[str, Any], row: int) -> None:
    """Change the text as a command line does: it is known if all of it stands in the line."""
    command, folder = command_of(arguments)
    told = written_texts(command, folder, text.path) if command else [None]
    if not told:  # another file, or it was continued: then no empty line is the last
        text.lines = text.lines[:-1] if text.lines and not text.lines[-1].text else text.lines
        return
    whole = told[-1]
    if whole is None:
        text.lines = []  # it was changed, and nothing says how
        return
    text.write(whole, row, "")
    key = next((key for key in _COMMANDS if str(arguments.get(key, "")).count(whole) == 1), "")
    said = arguments.get(key)
    if isinstance(said, str):
        before = said[: said.find(whole)].count("\n")
        text.lines = [line._replace(at=line.at + before, argument=key) for line in text.lines[:-1]]
    else:
        text.lines = [line._replace(at=0) for line in text.lines[:-1]]


def _texts(arguments: dict[str, Any]) -> Iterator[str]:
    for value in arguments.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (word for word in value if isinstance(word, str))


def _apply_patch(text: FileText, patch: str, row: int) -> None:
    """Apply those hunks of a patch that are about this file."""
    places = [*_PATCHED.finditer(patch)]
    for place, after in zip(places, [*places[1:], None], strict=True):
        named = place[1].strip()
        if not (named.endswith(text.path) or text.path.endswith(named.removeprefix("./"))):
            continue
        body = patch[place.end() + 1 : after.start() if after else len(patch)].partition("\n*** ")[0]
        if place[0].startswith("*** Add"):
            text.lines = [Line(at, line[1:], row) for at, line in enumerate(body.split("\n"), 1) if line[:1] == "+"]
            continue
        for hunk in _HUNK.split(body):
            lines = [line for line in hunk.split("\n") if line[:1] in ("+", "-", " ")]
            old = "\n".join(line[1:] for line in lines if line[0] != "+")
            new = "\n".join(line[1:] for line in lines if line[0] != "-")
            text.change(old, new, row)
