"""Which lines of which files a command line prints, one part after the other, as far as the commands say it plainly.

The commands are those that `command_effect` reads. Parts of which nothing is known stand between the others, because
what is placed must not be taken for what it is not.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from sightline.shorten import shell
from sightline.shorten.command_effect import LONGEST, LineReader, Run, placed, searched_file
from sightline.values.pattern import pattern

ANY = 1 << 30  # lines, where nothing says how many
_MOST_PARTS = 32
_SILENT = frozenset((
    "cd", "true", ":", "test", "[", "[[", "export", "unset", "mkdir", "touch", "rm", "rmdir", "cp", "mv",
    "chmod", "ln", "sleep", "shopt",
))  # fmt: skip
_SPEAKS = pattern(r"-(?!-)[A-Za-z]*[vx]|--verbose|-$")  # options with which these programs say what they do
_COMPOUND = frozenset((
    "for", "while", "until", "case", "if", "function", "select", "{", "}", "do", "done", "then", "else", "elif", "fi",
    "esac",
))  # fmt: skip
_JOINTS = ("&&", "||", "|", "|&")
_TESTS = frozenset(("test", "[", "[[", "cd", "cp", "mv", "ln"))  # they may fail, and then nothing after them is run
_CHECKS = frozenset(("test", "[", "[[", "grep", "rg", "false"))  # what is run after them may depend on them
_EXPANDED = frozenset("$`\\")  # what a shell replaces in a here-document whose end stands in no quotes
_SUBSTITUTED = pattern(r"\$\(|`|[<>]\(")
_WHOLE_FILE = frozenset(("cat", "nl", "type", "gc", "Get-Content", "less", "more"))
_QUIET_SED = frozenset(("-n", "-nE", "-En", "-nr", "-rn", "-ne", "--quiet", "--silent"))
_SED_OPTIONS = _QUIET_SED | {"-e", "-E", "-r"}
_RANGE = pattern(r"\s*(\d{1,8})(?:\s*,\s*(\+?\d{1,8}|\$))?\s*(p|q|!d)\s*(?:[;\n]\s*|\Z)")
_NR = r"NR\s*(>=?|<=?|==)\s*(\d{1,8})"
_AWK = pattern(
    rf"\s*(?:{_NR}(?:\s*(&&|,)\s*{_NR})?)?\s*"
    r"(\{\s*(?:print(?:\s*\$0)?|print\s+NR\s*\"(?P<after>[^\"\\]{1,4}|\\t)\"\s*\$0"
    r"|printf\s*\(?\s*\"%\d{0,2}d(?P<format>[^\"\\%]{1,4}|\\t)%s\\n\"\s*,\s*NR\s*,\s*\$0\s*\)?)\s*;?\s*\})?\s*\Z"
)
_LINES = pattern(r"(?:-n|--lines=?|-)?([+-]?\d{1,8})\Z")
_NUMBERING = pattern(r"-(?:ba|w\d+|nln|nrn)\Z")
_BACKSLASHED = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}
_ESCAPE = pattern(r"\\.", re.S)
_NUMBERED = pattern(r"-[A-Za-z]*n|--line-number\Z")
_SEARCH_OPTION = pattern(
    r"-[nivwxFEPSsUABCme\d]+\Z|--(?:line-number|context|after-context|before-context|max-count|regexp|fixed-strings"
    r"|ignore-case|smart-case|case-sensitive|word-regexp|no-heading|no-filename|multiline|perl-regexp)(?:=|\Z)"
)


class Printed(NamedTuple):
    """What a part of a command line prints: lines of a file, a text, or anything."""

    path: str = ""  # of the file; "" if it is something else
    first: int = 1  # number of its first line
    most: int = ANY  # lines at most
    least: int = 0
    needs: int = 0  # lines that the file must have, for the first line to be that
    marks: tuple[str, ...] = ()  # what may stand between a line's number and the line; none: lines have no numbers
    shift: int = 0  # what must be added to such a number
    is_search: bool = False  # only some lines are printed, each with its number
    text: str = ""  # that is printed, with nothing else
    is_sure: bool = True  # it is printed whatever became of the commands before it


UNKNOWN = Printed()


def printed_lines(line: str, folder: str = "") -> Sequence[Printed]:
    """Return what a command line prints, run in this folder, part by part; nothing if that cannot be said. Total."""
    if len(line) > shell.MOST or _SUBSTITUTED.search(shell.cut_documents(line)[0]):
        return ()
    reader = LineReader(folder)
    reader.read(line)
    parts, pipe, is_open, may_stop = list[Printed](), list[Printed](), False, False
    for run in reader.runs:
        joint, elsewhere = run.command.joint, any(redirect[:1] != "2" for redirect, _ in run.command.outputs)
        if joint == "&" or _is_compound(run):
            return ()
        if not run.words and (elsewhere or joint in _JOINTS):
            return ()
        if run.command.is_piped:
            if not is_open:
                return ()
            pipe = _filtered(pipe, run)
        else:
            parts += pipe
            pipe = _printed(run) if run.words else []
            if joint == "||" and pipe:
                pipe = [UNKNOWN]
            elif joint == "&&" and may_stop:
                pipe = [part._replace(is_sure=False, least=0) for part in pipe]
        may_stop = may_stop or run.program in _TESTS or any(not part.path and not part.text for part in pipe)
        may_stop = may_stop or any(part.is_search for part in pipe)
        pipe, is_open = [] if elsewhere else pipe, bool(run.words)
    parts += pipe
    return parts if len(parts) <= _MOST_PARTS else ()


def written_texts(line: str, folder: str, path: str) -> list[str | None]:
    """Return what a command line makes of a file, one after the other: its whole text, or None if nothing says it.

    What is only appended changes no line. Total.
    """
    script, _ = shell.cut_documents(line)
    if len(line) > shell.MOST or len(script) > LONGEST:
        return [None]
    reader = LineReader(folder)
    reader.read(line)
    texts, may_stop = list[str | None](), any(run.program in _CHECKS or _is_compound(run) for run in reader.runs)
    for run in reader.runs:
        written = [touch for touch in shell.command_touches([run.command], {}) if touch.action != shell.READ]
        if path not in [placed(run.folder, touch.path) for touch in written] or _appends(run):
            continue
        [body] = run.command.bodies if len(run.command.bodies) == 1 else [None]
        is_copied = run.words in (["cat"], ["tee", *run.words[1:2]]) and run.command.joint[:1] != "|"
        is_plain = body is not None and (shell.is_quoted(script) or _EXPANDED.isdisjoint(body))
        is_certain = is_copied and is_plain and len(written) == 1 and not may_stop
        texts.append(f"{body}\n" if is_certain else None)
    return texts


def _is_compound(run: Run) -> bool:
    return run.command.words[:1] != [] and run.command.words[0] in _COMPOUND


def _appends(run: Run) -> bool:
    redirects = [redirect for redirect, _ in run.command.outputs if redirect[:1] != "2"]
    return redirects == [">>"] or (run.program == "tee" and "-a" in run.words and not redirects)


def programs_of(line: str) -> set[str]:
    """Return the programs that a command line runs."""
    reader = LineReader("")
    reader.read(line)
    return {run.program for run in reader.runs if run.program}


def _printed(run: Run) -> list[Printed]:
    """Return what the first command of a pipe prints."""
    words = run.words[1:]
    if shell.edits_in_place(run.program, words):
        return []
    if run.program in _SILENT:
        return [UNKNOWN] if any(map(_SPEAKS.match, words)) else []
    match run.program:
        case "pwd":
            return [Printed(most=1, least=1)]
        case "echo" | "printf":
            return _said(run.program, words)
        case "grep" | "egrep" | "fgrep" | "rg":
            return _searched(run, words)
    files = shell.viewed_files(run.program, words) if run.program in shell.VIEWERS else []
    if not files or not all(map(shell.is_path, files)):
        return [UNKNOWN]
    whole = [Printed(placed(run.folder, path)) for path in files]
    return _filtered(whole, run, files)


def _filtered(pipe: list[Printed], run: Run, files: Sequence[str] = ()) -> list[Printed]:
    """Return what a command prints of what the one before it printed, or of these files."""
    words, program = [word for word in run.words[1:] if word not in files], run.program
    if not files and program in shell.VIEWERS and shell.viewed_files(program, words):
        return [UNKNOWN]  # it does not read what the command before it printed
    options = [word for word in words if word[:1] == "-"]
    if program in _WHOLE_FILE and not options and program != "nl":
        return pipe
    [part] = pipe if len(pipe) == 1 else [UNKNOWN]
    if not part.path:
        return [UNKNOWN]
    match program:
        case "cat" if options == ["-n"]:
            return _numbered(part)
        case "nl" if "a" in "".join(options) and _numbers_all(words):
            return _numbered(part)
        case "head" | "tail":
            return _ends(part, program, words)
        case "sed":
            return _of_ranges(part, words)
        case "awk" | "gawk" | "mawk":
            return _of_awk(part, words)
        case "grep" | "egrep" | "fgrep" | "rg" if not files:
            return _found_in(part, program, words)
    return [UNKNOWN]


def _numbers_all(words: Sequence[str]) -> bool:
    return words == ["-b", "a"] or (words[:1] != [] and "-ba" in words and all(map(_NUMBERING.match, words)))


def _numbered(part: Printed) -> list[Printed]:
    """Return lines with the numbers that `cat -n` gives them: it begins with 1, wherever they are from."""
    if part.marks or part.needs:
        return [UNKNOWN]
    return [part._replace(marks=("\t",), shift=part.first - 1)]


def _cut(part: Printed, skipped: int, most: int) -> list[Printed]:
    """Return some of the lines of a part."""
    if part.is_search or part.needs:
        return [part] if part.is_search else [UNKNOWN]
    left = part.most - skipped if part.most < ANY else ANY
    return [part._replace(first=part.first + skipped, most=min(left, most))] if left > 0 else []


def _ends(part: Printed, program: str, words: Sequence[str]) -> list[Printed]:
    """Return the first or the last lines."""
    told = _LINES.match("".join(words)) if words else None
    if (words and told is None) or len(words) > 2:
        return [UNKNOWN]
    said = told[1] if told else "10"
    count = abs(int(said))
    if program == "head":
        return _cut(part, 0, count) if said[0] not in "+-" or "".join(words) == said else [UNKNOWN]
    if said[0] == "+":
        return _cut(part, max(0, count - 1), ANY)
    if part.is_search:
        return [part]
    if part.most == ANY or part.needs:
        return [UNKNOWN]
    skipped = max(0, part.most - count)
    return [part._replace(first=part.first + skipped, most=min(count, part.most), needs=part.first + part.most - 1)]


def _of_ranges(part: Printed, words: list[str]) -> list[Printed]:
    """Return the lines that a script of `sed` names by their numbers."""
    options = [word for word in words if word[:1] == "-"]
    scripts = [word for word in words if word[:1] != "-"]
    if not _SED_OPTIONS.issuperset(options) or (len(scripts) > 1 and not {"-e", "-ne"}.intersection(options)):
        return [UNKNOWN]
    ranges, script, at, quiet = list[tuple[int, int]](), ";".join(scripts), 0, not _QUIET_SED.isdisjoint(options)
    end = ANY
    while at < len(script):
        if (told := _RANGE.match(script, at)) is None:
            return [UNKNOWN]
        at, first, last = told.end(), int(told[1]), told[2] or told[1]
        until = ANY if last == "$" else first + int(last) if last[0] == "+" else max(first, int(last))
        if told[3] == "q":
            end = min(end, first)
            ranges += [] if quiet else [(1, first)]
        elif (told[3] == "p") is quiet and first > (ranges[-1][1] if ranges else 0):
            ranges.append((first, until))
        else:
            return [UNKNOWN]
    if not ranges or (not quiet and len(ranges) > 1) or end < ranges[-1][1]:
        return [UNKNOWN]
    cut = [_cut(part, first - 1, ANY if last == ANY else last - first + 1) for first, last in ranges]
    return [one for some in cut for one in some]


def _of_awk(part: Printed, words: Sequence[str]) -> list[Printed]:
    """Return the lines that a script of `awk` names by their numbers."""
    told = _AWK.match(words[0]) if len(words) == 1 and len(words[0]) < shell.LONGEST_PATH else None
    if told is None or not (told[1] or told[6]) or (told[3] == "," and (told[1], told[4]) != ("==", "==")):
        return [UNKNOWN]
    first, last = 1, ANY
    for sign, number in ((told[1], told[2]), (told[4], told[5])):
        if told[3] == "," and sign:
            first, last = int(told[2]), max(int(told[2]), int(told[5]))
        elif sign:
            first = max(first, int(number) + (sign == ">")) if sign[0] in ">=" else first
            last = min(last, int(number) - (sign == "<")) if sign[0] in "<=" else last
    cut = _cut(part, max(0, first - 1), ANY if last == ANY else max(0, last - first + 1))
    mark = (told["after"] or told["format"] or "").replace("\\t", "\t")
    if not mark or not cut:
        return cut
    return [UNKNOWN] if part.marks or part.needs else [cut[0]._replace(marks=(mark,), shift=part.first - 1)]


def _searched(run: Run, words: list[str]) -> list[Printed]:
    """Return the lines of one file that a search finds, if it says their numbers."""
    options = [word for word in words if word[:1] == "-"]
    path = searched_file(run.program, words)
    if not path or not all(map(_SEARCH_OPTION.match, options)) or not any(map(_NUMBERED.match, options)):
        return [UNKNOWN]
    return [Printed(placed(run.folder, path), marks=(":", "-"), is_search=True)]


def _found_in(part: Printed, program: str, words: list[str]) -> list[Printed]:
    """Return the lines that a search finds in what another command printed."""
    options = [word for word in words if word[:1] == "-"]
    if part.needs or len(shell.plain_arguments(program, words)) > 1 or not all(map(_SEARCH_OPTION.match, options)):
        return [UNKNOWN]
    if any(map(_NUMBERED.match, options)):
        is_plain = not part.marks
        return [part._replace(marks=(":", "-"), shift=part.first - 1, is_search=True)] if is_plain else [UNKNOWN]
    return [part._replace(is_search=True)] if part.marks else [UNKNOWN]


def _said(program: str, words: list[str]) -> list[Printed]:
    """Return the text that `echo` or `printf` prints, if it has no variables."""
    text = " ".join(words) if program == "echo" else "".join(words[:1])
    if (
        "$" in text
        or words[:1] in (["-n"], ["-e"], ["-ne"], ["-en"], ["-E"], ["-v"])
        or (program == "printf" and ("%" in text or len(words) != 1))
    ):
        return [UNKNOWN]
    if "\\" in text:
        if program == "echo" or not all(found in _BACKSLASHED for found in _ESCAPE.findall(text)):
            return [UNKNOWN]
        text = _ESCAPE.sub(lambda found: _BACKSLASHED[found[0]], text)
    if program == "printf" and text[-1:] != "\n":
        return [UNKNOWN] if text else []
    text = text.removesuffix("\n") if program == "printf" else text
    count = text.count("\n") + 1
    return [Printed(most=count, least=count, text=text)]
