"""What a shell command does with files: whose text its output is, and which files it writes or changes.

A line of several commands shows files if at least one of them does, and the others print next to nothing or list and
search files too. Only what a command says plainly counts. The time is bounded for a text of any length.
"""

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import pairwise
from posixpath import join, normpath
from typing import NamedTuple

from sightline.shorten import shell
from sightline.shorten.shell import CHANGED, WRITTEN, Command
from sightline.values.pattern import pattern

LONGEST = 2000  # characters of a script, here-documents aside: of a longer one nothing says what most of its output is
MOST_PATHS = 16  # of one command
_MOST_WORDS = 64  # of a command with variables
_DEEPEST = 3  # shells inside of shells

_SEARCHERS = frozenset(("grep", "egrep", "fgrep", "rg"))
_LISTERS = frozenset(("ls", "find", "fd", "tree", "wc", "stat", "file", "du", "basename", "dirname", "realpath"))
_QUIET = frozenset((
    "cd", "pushd", "popd", "echo", "printf", "pwd", "true", "false", ":", "test", "[", "[[", "export", "set", "unset",
    "source", ".", "mkdir", "mktemp", "touch", "rm", "rmdir", "unlink", "cp", "mv", "chmod", "ln", "tee", "ed", "exit",
    "sleep", "date", "which", "for", "done", "fi", "}", "apply_patch", "patch", "clear", "shopt",
))  # fmt: skip
_QUIET_GIT = frozenset((
    "status", "add", "apply", "branch", "checkout", "restore", "rm", "mv", "rev-parse", "config", "stash", "switch",
))  # fmt: skip
_FILTERS = shell.VIEWERS | _SEARCHERS | {"tr", "fold", "expand", "column", "tee", "strings"}  # of text of files,
_LIST_FILTERS = _FILTERS | {"sort", "uniq", "wc"}  # and of lists
_COUNTERS = frozenset(("wc", "md5sum", "sha1sum", "sha256sum"))
_SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
_HOLDERS = frozenset(("echo", "printf", "apply_patch", "python", "python3"))  # their words hold what they write
_WRITERS = frozenset(("apply_patch", "tee", "touch", "rm", "unlink", "mv", "cp", "patch"))
_GIT_WRITERS = frozenset(("apply", "mv", "rm", "checkout", "restore"))
_MOVERS = frozenset(("cd", "pushd"))
_LIMITERS = frozenset(("timeout", "nice", "stdbuf"))  # programs that run another one
_ONLY_NAMES = pattern(r"-(?![tTgjM])[A-Za-z]*[clLqo]|--(?:count|files|quiet|only-matching|type-list)")
_PATTERN_GIVEN = pattern(r"-(?![tTgjM])[A-Za-z]*[ef]|--(?:regexp|file)(?:=|$)")
_CONTEXT = pattern(r"-[A-Za-z]*[ABC]\d*$|-\d+$|--(?:after-|before-)?context(?:=|$)|--passthru$")
_IN_FOLDERS = pattern(r"-[A-Za-z]*[rR]|--(?:recursive|include)")
_FILE_NAME = pattern(r"[^/]\.[A-Za-z]\w{0,9}$|(?:^|/)(?:[A-Z]\w{0,20}file|README|LICENSE|CHANGELOG)$")
_VARIABLE = pattern(r"\$(?:(\w+)|\{(\w+)\})")
_ASSIGNED = pattern(r"([A-Za-z_]\w*)=(.*[^$])$", re.S)  # not of `x=$(command)`, whose value nobody knows


class _Output(IntEnum):
    """What a command prints. The most of several decides."""

    LITTLE = 0
    LIST = 1  # names of files, or lines found in folders
    FILE = 2  # text of files
    OTHER = 3


_LITTLE, _LIST, _FILE, _OTHER = _Output  # looked up once: a class does it slowly
_NOTHING: Sequence[str] = ()


class CommandEffect(NamedTuple):
    """What a command line does with files."""

    shows: bool = False  # its output is text of files
    writes: str = ""  # WRITTEN or CHANGED, if its own words hold the text of a file or of a change to one
    paths: tuple[str, ...] = ()  # of the files that it writes or changes so, then those that it shows or touches


def command_effect(line: str, folder: str = "") -> CommandEffect:
    """Return what a command line does with files, run in this folder. Total."""
    reader = LineReader(folder)
    reader.read(line)
    paths = dict.fromkeys((*reader.held, *reader.shown, *reader.used))
    return CommandEffect(reader.most is _FILE, reader.writes, tuple(paths)[:MOST_PATHS])


class Run(NamedTuple):
    """A command as it is run: its program, the words from that on, and its folder. A shell inside has no words."""

    program: str
    words: list[str]
    folder: str
    command: Command


class LineReader:
    """Reads the commands of a line one after the other: where it is, what was printed, and which files were used."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._variables: dict[str, list[str]] = {}
        self._saved: set[str] = set()  # files that have the output of other commands of this line
        self.most = _LITTLE
        self.shown: list[str] = []
        self.used: list[str] = []
        self.held: list[str] = []  # those whose text, or the change to it, stands in the line
        self.writes = ""
        self.runs: list[Run] = []  # all of them in order, those of inner shells too

    def read(self, line: str, depth: int = 0) -> None:
        """Read all commands of a line."""
        script, bodies = shell.cut_documents(line[: shell.MOST])
        if len(line) > shell.MOST or len(script) > LONGEST:
            self.most = _OTHER
        output, paths, folders = _LITTLE, _NOTHING, list[str]()  # of the brackets around a command
        for command in shell.parse_script(script[:LONGEST], bodies):
            if not command.is_piped:
                self._print(output, paths)
                output, paths = _LITTLE, _NOTHING
            folders, self._folder = _in_brackets(folders, self._folder, command.depth)
            self._expand(command)
            words = _program_words(command.words)
            program = words[0].rpartition("/")[2] if words else ""
            if program in _SHELLS and depth < _DEEPEST and (inner := _inner_line(words)):
                before = self._folder
                self.runs.append(Run("", [], before, command))
                self.read(inner, depth + 1)
                self.runs.append(Run("", [], before, Command()))
                self._folder = before
                continue
            self.runs.append(Run(program, words, self._folder, command))
            if program in _MOVERS:
                self._folder = _moved(self._folder, words[1] if len(words) > 1 else "~")
            elif command.is_piped:
                output = _filtered(program, words, output)
            elif program and program not in _QUIET:
                output, paths = _printed(program, words)
            edits = shell.edits_in_place(program, words)
            if edits or command.outputs or command.bodies or _may_write(program, words):
                output = self._write(program, command, _LITTLE if edits else output, edits)
        self._print(output, paths)

    def _print(self, output: _Output, paths: Sequence[str]) -> None:
        """Note what the last command of a pipe has printed."""
        if not paths and output is _LITTLE:
            return
        if paths:
            if not self._saved.isdisjoint([placed(self._folder, path) for path in paths]):
                output = _OTHER
            places = [placed(self._folder, path) for path in paths[:MOST_PATHS] if shell.is_path(path)]
            (self.shown if output is _FILE else self.used).extend(places)
        self.most = max(self.most, output)

    def _write(self, program: str, command: Command, output: _Output, edits: bool) -> _Output:
        """Note the files that a command writes and changes. Return what it prints: nothing, if that goes to a file."""
        touches = shell.command_touches([command], {})[:MOST_PATHS]
        places = [placed(self._folder, touch.path) for touch in touches]
        holds = edits or command.bodies or program in _HOLDERS
        actions = [touch.action for touch in touches if touch.action in (CHANGED, WRITTEN)] if holds else ()
        (self.held if actions else self.used).extend(places)
        if actions and not self.writes:
            self.writes = actions[0]
        if output in (_LIST, _OTHER):
            saved = [path for _, path in command.outputs] + (command.words[1:] if program == "tee" else [])
            self._saved.update(placed(self._folder, path) for path in saved)
        return _LITTLE if any(not redirect.startswith("2") for redirect, _ in command.outputs) else output

    def _expand(self, command: Command) -> None:
        """Replace the variables that the line itself has set. Set those of a loop, and of assignments."""
        if self._variables:
            command.words = [value for word in command.words for value in self._values(word)][:_MOST_WORDS]
            command.outputs = [(redirect, self._values(path)[0]) for redirect, path in command.outputs]
        words = command.words
        if len(words) > 3 and words[0] == "for" and words[2] == "in":
            self._variables[words[1]] = words[3 : 3 + MOST_PATHS]
        elif words and "=" in words[0]:
            for match in filter(None, map(_ASSIGNED.match, words)):
                self._variables[match[1]] = [match[2][: shell.LONGEST_PATH]]

    def _values(self, word: str) -> list[str]:
        match = _VARIABLE.search(word) if "$" in word else None
        values = self._variables.get(match[1] or match[2]) if match else None
        if match is None or values is None:
            return [word]
        return [f"{word[: match.start()]}{value}{word[match.end() :]}" for value in values]


def _may_write(program: str, words: list[str]) -> bool:
    """Whether a command without a redirection may write files."""
    if program == "git":
        return not _GIT_WRITERS.isdisjoint(words)
    return program in _WRITERS or (program in _HOLDERS and "-c" in words)


def _in_brackets(outer: list[str], folder: str, depth: int) -> tuple[list[str], str]:
    """Return the folders of the brackets that a command at this depth stands in, and its own folder."""
    if depth < len(outer):
        return outer[:depth], outer[depth]
    return outer + [folder] * (depth - len(outer)), folder


def _moved(folder: str, target: str) -> str:
    """Return the folder after `cd`, from where the line began; "" if nothing plain says which it is."""
    is_plain = shell.is_path(target) or target in ("..", ".", "/")
    return normpath(join(folder, target)) if is_plain and not target.startswith("~") else ""


def placed(folder: str, path: str) -> str:
    """Return a path from where the line began."""
    return path if path.startswith("~") else plain_path(f"{folder}/{path}" if folder and path[:1] != "/" else path)


def plain_path(path: str) -> str:
    """Return a path without `.`, `..` and doubled strokes, so that two ways to write it are one."""
    return normpath(path) if "./" in path or "//" in path or path[-2:] in ("/.", "..") or path[-1:] == "/" else path


def _program_words(words: list[str]) -> list[str]:
    """Return the words from the program on, without the programs that run it for a limited time."""
    words = shell.from_program(words)
    while words and words[0] in _LIMITERS:
        at = next((at for at, word in enumerate(words) if at and word[:1].isalpha()), len(words))
        words = shell.from_program(words[at:])
    return words


def _inner_line(words: list[str]) -> str:
    """Return the line that a shell runs: of `bash -lc LINE` the line; "" if it runs something else."""
    inner_lines = (
        line for option, line in pairwise(words) if option[:1] == "-" and option[1:2] != "-" and option[-1] == "c"
    )
    return next(inner_lines, "")


def _printed(program: str, words: list[str]) -> tuple[_Output, Sequence[str]]:
    """Return what a command prints, and the files that it reads."""
    if program in shell.VIEWERS:
        paths = shell.viewed_files(program, words[1:])
        return (_FILE if paths else _LITTLE), paths
    if program in _SEARCHERS:
        return _found(program, words[1:])
    if program == "git":
        return _printed_by_git(words[1:])
    if program in _LISTERS:
        shows_found = any(word.startswith("-exec") and then in shell.VIEWERS for word, then in pairwise(words))
        return (_FILE if shows_found else _LIST), _NOTHING
    return _OTHER, _NOTHING


def _filtered(program: str, words: list[str], output: _Output) -> _Output:
    """Return what a command prints of the output of the one before it in the pipe."""
    if program in (_FILTERS if output is _FILE else _LIST_FILTERS):
        return output
    if program == "xargs" and output < _FILE:
        run = next((word for word in words[1:] if word[:1].isalpha()), "")
        return _FILE if run in shell.VIEWERS else _LIST if run in _SEARCHERS | _LISTERS else _OTHER
    return _LIST if output is _FILE and program in _COUNTERS else _OTHER


def _found(program: str, arguments: list[str]) -> tuple[_Output, Sequence[str]]:
    """Return what a search prints: text of the files that it names, lines with those around them, or a list."""
    options = [word for word in arguments if word[:1] == "-"]
    if any(map(_ONLY_NAMES.match, options)):
        return _LIST, _NOTHING
    paths = shell.plain_arguments(program, arguments)[not any(map(_PATTERN_GIVEN.match, options)) :]
    in_folders = program == "rg" or any(map(_IN_FOLDERS.match, options))
    if paths and all(shell.is_path(path) and (not in_folders or _FILE_NAME.search(path)) for path in paths):
        return _FILE, paths
    return (_FILE if any(map(_CONTEXT.match, options)) else _LIST), _NOTHING


def searched_file(program: str, arguments: list[str]) -> str:
    """Return the one file that a search names; "" if it names none or several, or searches folders."""
    options = [word for word in arguments if word[:1] == "-"]
    paths = shell.plain_arguments(program, arguments)[not any(map(_PATTERN_GIVEN.match, options)) :]
    in_folders = any(map(_ONLY_NAMES.match, options)) or any(map(_IN_FOLDERS.match, options))
    is_file = len(paths) == 1 and not in_folders and shell.is_path(paths[0]) and _FILE_NAME.search(paths[0])
    return paths[0] if is_file else ""


def _printed_by_git(arguments: list[str]) -> tuple[_Output, Sequence[str]]:
    words = [*_after_git_options(arguments)]
    match words[:1]:
        case ["show" | "cat-file"]:
            objects = [word.partition(":") for word in words[1:] if not word.startswith("-")]
            paths = [path for _, colon, path in objects if colon]
            return (_FILE, paths) if paths and len(paths) == len(objects) else (_OTHER, _NOTHING)
        case ["blame"]:
            return _FILE, [word for word in words[1:] if _FILE_NAME.search(word)][-1:]
        case ["grep"]:
            return _found("rg", words[1:])
        case ["ls-files" | "ls-tree"]:
            return _LIST, _NOTHING
        case ["log"] if "--oneline" in words and {"-p", "--stat", "--patch"}.isdisjoint(words):
            return _LIST, _NOTHING
        case [verb] if verb in _QUIET_GIT:
            return _LITTLE, _NOTHING
        case _:
            return _OTHER, _NOTHING


def _after_git_options(arguments: list[str]) -> Iterator[str]:
    """Yield the words from git's own command on: of `git -C x show y` the last two."""
    words = iter(arguments)
    for word in words:
        if word in ("-C", "-c"):
            next(words, "")
        elif not word.startswith("-"):
            yield word
            break
    yield from words
