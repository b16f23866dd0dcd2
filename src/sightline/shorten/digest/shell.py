"""Which files a shell command reads, writes and deletes, as far as the command says it plainly.

The reader is a regular expression, not the grammar of `tree-sitter-bash`. On 3,335 recorded commands both find the same
files, except in 11 with a backslash at the end of a line. The grammar takes a time that grows with the square of a text
that is no shell (0.2 s for 4 KB, 3.3 s for 16 KB), and without the extra `code` a second reader would be needed.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import dropwhile, pairwise
from typing import NamedTuple

from msgspec import Struct

from sightline.values.pattern import pattern

MOST = 64 * 1024  # characters of a command that are read
READ, CHANGED, DELETED = "read", "changed", "deleted"
WRITTEN = "written"  # created, or changed if the file existed

_HEREDOC = pattern(
    r"(?P<line><<-?[ \t]*(['\"\\]?)(?P<end>[A-Za-z_]\w*)\2[^\n]*)"
    r"(?P<body>.*?)(?:\n[^\S\n]*(?P=end)[^\S\n]*(?=\n|\Z)|\Z)",
    re.S,
)
_TOKEN = pattern(
    r"(?P<end>\n|;|&&|\|\|?|[()]|&(?!>))"
    r"|(?P<redirect>\d?(?:>>|>\||>&\d?|<<<|<<-?|(?<![-=])>|<)|&>>?)"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|<>()'\"\\])+)"
    r"|['\"\\]",
    re.S,
)
_QUOTES = pattern(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)", re.S)
_ASSIGNMENT = pattern(r"[A-Za-z_]\w*=")
_NOT_A_PATH = pattern(r"[$*?`{}\n]|^-|^/dev/|^&|^[\d=,.:]+$|^\.{0,2}$|^/$")
_LONGEST_PATH = 300
_BEFORE_PROGRAM = frozenset(("sudo", "time", "command", "exec", "nohup", "env", "then", "do", "else"))
_VIEWERS = frozenset(("cat", "head", "tail", "nl", "less", "more", "bat", "tac", "awk"))
_VIEWER_OPTIONS = frozenset(("-n", "-c", "-l", "-e", "-F", "-v"))  # those whose value is the next word
_PYTHON = pattern(r"python[\d.]*$")
_OPENED = pattern(
    r"\bopen\(\s*(?:[rbf]?(['\"])(?P<path>[^'\"\n]+)\1|(?P<name>\w+))\s*(?:,\s*(?:mode\s*=\s*)?['\"](?P<mode>[rwaxbt+]+)['\"])?"
)
_PATHS = pattern(
    r"(?:\bPath\(\s*(['\"])(?P<path>[^'\"\n]+)\1\s*\)|\b(?P<name>\w+))"
    r"\.(?P<verb>write_text|write_bytes|read_text|read_bytes|unlink|touch)\("
)
_NAMED = pattern(r"\b(\w+)\s*=\s*(?:(?:pathlib\.)?Path\(\s*)?[rf]?(['\"])([^'\"\n]{1,300})\2")
_PATCH_FILE = pattern(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.M)
_DIFF_FILE = pattern(r"^\+\+\+ (?:b/)?(\S+)", re.M)


class Touch(NamedTuple):
    """One action on one file."""

    path: str
    action: str


class Command(Struct):
    """One command of a pipeline or a list: its words, where its output goes, and its here-documents."""

    words: list[str] = []
    outputs: list[tuple[str, str]] = []  # redirection operator and path
    bodies: list[str] = []


def parse(line: str) -> list[Command]:
    """Return the commands of a script, each with its here-documents."""
    text = line[:MOST]
    bodies = [match["body"][1:] for match in _HEREDOC.finditer(text)]
    command, redirect = Command(), ""
    commands = [command]
    for match in _TOKEN.finditer(_HEREDOC.sub(r"\g<line>", text) if bodies else text):
        kind, token = match.lastgroup, match.group()
        if kind == "end":
            command, redirect = Command(), ""
            commands.append(command)
        elif kind == "redirect":
            redirect = token
            if token.startswith("<<") and token != "<<<" and bodies:
                command.bodies.append(bodies.pop(0))
        elif kind == "word" and redirect:
            if ">" in redirect and "&" not in redirect[1:]:
                command.outputs.append((redirect, _unquote(token)))
            redirect = ""
        elif kind == "word":
            command.words.append(_unquote(token))
    return commands


def _unquote(word: str) -> str:
    return _QUOTES.sub(lambda match: next((g for g in match.groups() if g is not None), ""), word)


def programs(commands: Iterable[Command]) -> list[tuple[str, ...]]:
    """Return each command's program and its first two arguments, without options: `("git", "commit")`."""
    found = filter(None, (_from_program(command.words) for command in commands))
    return [(words[0], *[word for word in words[1:] if not word.startswith("-")][:2]) for words in found]


def _from_program(words: list[str]) -> list[str]:
    return [*dropwhile(lambda word: word in _BEFORE_PROGRAM or _ASSIGNMENT.match(word), words)]


def patch_touches(text: str) -> list[Touch]:
    """Return what a patch does to its files: one of the form `*** Update File`, otherwise a diff."""
    out: list[Touch] = []
    for match in _PATCH_FILE.finditer(text):
        verb, path, target = match.groups()
        if target and out:
            out += [Touch(out.pop().path, DELETED), Touch(target.strip(), WRITTEN)]
        elif path:
            out.append(Touch(path.strip(), {"Add": WRITTEN, "Update": CHANGED, "Delete": DELETED}[verb]))
    return out or _touch_all(_DIFF_FILE.findall(text), CHANGED)


def command_touches(commands: Iterable[Command], scripts: dict[str, str]) -> list[Touch]:
    """Return what the commands do to which files, in order.

    `scripts` maps a path to the Python script written there, because a command may run one. Scripts that these commands
    write are added to it.
    """
    return [
        touch
        for command in commands
        for touch in _touches(command, scripts)
        if len(touch.path) <= _LONGEST_PATH and not _NOT_A_PATH.search(touch.path)
    ]


def _touches(command: Command, scripts: dict[str, str]) -> Iterator[Touch]:
    words = _from_program(command.words)
    program = words[0].rpartition("/")[2] if words else ""
    for redirect, path in command.outputs:
        if not redirect.startswith(("2", "&")):
            yield Touch(path, CHANGED if ">>" in redirect else WRITTEN)
            if command.bodies and path.endswith(".py"):
                scripts[path] = command.bodies[0]
    if _PYTHON.match(program):
        run = [scripts[word] for word in words[1:2] if word in scripts]
        for script in (*command.bodies, *_option_values(words, "-c"), *run):
            yield from _python_touches(script)
    else:
        yield from _program_touches(program, words[1:], command)


def _touch_all(paths: Iterable[str], action: str) -> list[Touch]:
    return [Touch(path, action) for path in paths]


def _option_values(words: list[str], *options: str) -> list[str]:
    return [value for option, value in pairwise(words) if option in options]


def _program_touches(program: str, arguments: list[str], command: Command) -> list[Touch]:
    files = [word for word in arguments if word and not word.startswith("-")]
    match program:
        case "sed":
            return _sed_touches(files, arguments)
        case "perl" if any(re.match(r"-\w*i", word) for word in arguments):
            return _touch_all(files[1:], CHANGED)
        case "tee" | "touch":
            return _touch_all(files, CHANGED if "-a" in arguments else WRITTEN)
        case "rm" | "unlink":
            return _touch_all(files, DELETED)
        case "mv" | "cp":
            return _move_touches(files, READ if program == "cp" else DELETED)
        case "git":
            return _git_touches(files, arguments, command.bodies)
        case "apply_patch" | "patch":
            return [touch for body in (*command.bodies, *files) for touch in patch_touches(body)]
        case _ if program in _VIEWERS and not command.outputs:  # `cat a > b` copies; `cat > b` writes its input
            options = _VIEWER_OPTIONS if program != "cat" else frozenset[str]()
            words = [word for before, word in pairwise(["", *arguments]) if before not in options]
            viewed = [word for word in words if not word.startswith(("-", "+"))]
            return _touch_all(viewed[1:] if program == "awk" else viewed, READ)  # awk's first is its script
        case _:
            return []


def _sed_touches(files: list[str], arguments: list[str]) -> list[Touch]:
    scripts = _option_values(arguments, "-e", "-f")
    files = [word for word in files if word not in scripts] if scripts else files[1:]
    in_place = any(re.match(r"-[nErs]*i|--in-place", word) for word in arguments)
    return _touch_all(files, CHANGED if in_place else READ)


def _move_touches(files: list[str], source: str) -> list[Touch]:
    """Return the touches of `mv` and `cp`. `source` is what happens to the files that are moved or copied."""
    *paths, target = files or [""]
    into_folder = target.endswith("/") or len(paths) > 1
    touches = []
    for path in paths:
        new = f"{target.rstrip('/')}/{path.rpartition('/')[2]}" if into_folder else target
        touches += [Touch(path, source), Touch(new, WRITTEN)]
    return touches


def _git_touches(files: list[str], arguments: list[str], bodies: list[str]) -> list[Touch]:
    match files:
        case ["apply", *_]:
            return [touch for body in bodies for touch in patch_touches(body)]
        case ["mv", *paths]:
            return _move_touches(paths, DELETED)
        case ["rm", *paths]:
            return _touch_all(paths, DELETED)
        case ["checkout" | "restore", *_] if "--" in arguments:
            return _touch_all(arguments[arguments.index("--") + 1 :], CHANGED)
        case ["restore", *paths]:
            return _touch_all(paths, CHANGED)
        case _:
            return []


def _python_touches(script: str) -> Iterator[Touch]:
    """Yield the files that a Python script opens by name. A file that is read and then written was changed."""
    names = {match.group(1): match.group(3) for match in _NAMED.finditer(script)}
    found: dict[str, set[str]] = {}
    for match in (*_OPENED.finditer(script), *_PATHS.finditer(script)):
        path = match["path"] or names.get(match["name"], "")
        if "verb" in match.re.groupindex:
            verb = match["verb"].partition("_")[0]
        else:
            verb = "write" if set(match["mode"] or "r") & set("wax+") else "read"
        found.setdefault(path, set()).add(verb)
    for path, verbs in found.items():
        if "unlink" in verbs:
            yield Touch(path, DELETED)
        elif verbs & {"write", "touch"}:
            yield Touch(path, CHANGED if "read" in verbs else WRITTEN)
        else:
            yield Touch(path, READ)
