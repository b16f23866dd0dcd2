"""Which files a shell command reads, writes and deletes, as far as the command says it plainly.

The reader is a regular expression, not the grammar of `tree-sitter-bash`. On 3,335 recorded commands both found the
same files, except in 11 with a backslash at the end of a line, which is read since. The grammar takes a time that grows
with the square of a text that is no shell (0.2 s for 4 KB, 3.3 s for 16 KB), and without the extra `code` a second
reader would be needed.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import dropwhile, islice, pairwise, takewhile
from typing import NamedTuple

from msgspec import Struct

from sightline.values.pattern import pattern

MOST = 64 * 1024  # characters of a command that are read
_PIPES = ("|", "|&")
READ, CHANGED, DELETED = "read", "changed", "deleted"
WRITTEN = "written"  # created, or changed if the file existed

_DOCUMENT = pattern(r"(?<!<)<<-?[ \t]*+(['\"\\]?)(?P<end>[A-Za-z_]\w*+)\1")
_TOKEN = pattern(
    r"(?P<plain>[^\s;&|<>()'\"\\#\d][^\s;&|<>()'\"\\#]*+(?=[\s;]|\Z))"  # a word without quotes: most are
    r"|(?P<end>\n|;|&&|\|[|&]?|[()]|&(?!>))"
    r"|(?P<redirect>\d?(?:>>|>\||>&\d?|<<<|<<-?|(?<![-=])>|<)|&>>?)"
    r"|(?P<word>(?:\\[^\n]|'[^']*+'|\"(?:\\.|[^\"\\])*+\"|(?<=[^\s;&|(])#|[^\s;&|<>()'\"\\#])++)"
    r"|(?P<comment>#[^\n]*+)|\\\n|['\"\\]",  # a line goes on after a backslash at its end
    re.S,
)
_QUOTES = pattern(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)", re.S)
_ASSIGNMENT = pattern(r"[A-Za-z_]\w*=")
_NOT_A_PATH = pattern(r"[$*?`{}\n]|^-|^/dev/|^&|^[\d=,.:]+$|^\.{0,2}$|^/$")
LONGEST_PATH = 300
_BEFORE_PROGRAM = frozenset(
    ("sudo", "time", "command", "exec", "nohup", "env", "if", "elif", "then", "do", "else", "!", "{")
)
VIEWERS = frozenset((
    "cat", "nl", "head", "tail", "less", "more", "bat", "batcat", "tac", "zcat", "type", "Get-Content", "gc", "cut",
    "sed", "awk", "gawk", "mawk", "jq", "yq",
))  # fmt: skip
_SCRIPTED = frozenset(("sed", "awk", "gawk", "mawk", "jq", "yq"))  # those whose first argument says what they print
_VALUE_OPTIONS = {  # letters of options whose value is the next word
    "head": "nc", "tail": "nc", "nl": "bdfhilnsvw", "sed": "efl", "awk": "vfF", "gawk": "vfF", "mawk": "vfF",
    "cut": "cdf", "bat": "rl", "batcat": "rl", "jq": "fL", "rg": "ABCmefgtTjrMd", "grep": "ABCmefdD",
    "egrep": "ABCmefdD", "fgrep": "ABCmefdD",
}  # fmt: skip
_SED_SCRIPT = pattern(r"-[a-zA-Z]*[ef]$|--(?:expression|file)(?:=|$)")
_SED_IN_PLACE = pattern(r"-[nErsz]*i|--in-place")
_PERL_IN_PLACE = pattern(r"-[0-9pnwla]*i")
_PYTHON = pattern(r"python[\d.]*$")
_OPENED = pattern(
    r"\bopen\(\s*(?:[rbf]?(['\"])(?P<path>[^'\"\n]+)\1|(?P<name>\w+))\s*(?:,\s*(?:mode\s*=\s*)?['\"](?P<mode>[rwaxbt+]+)['\"])?"
)
_PATHS = pattern(
    r"(?:\bPath\(\s*(['\"])(?P<path>[^'\"\n]+)\1\s*\)|\b(?P<name>\w+))"
    r"\.(?P<verb>write_text|write_bytes|read_text|read_bytes|unlink|touch)\("
)
_PYTHON_VERBS = ("open(", ".write_", ".read_", ".unlink(", ".touch(")  # without any of these it opens no file by name
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
    joint: str = ""  # what stands between it and the command before it
    depth: int = 0  # brackets that it stands in: a shell of its own, whose folder is not that of the next command

    @property
    def is_piped(self) -> bool:
        """Whether it reads the output of the command before it."""
        return self.joint in _PIPES


def parse(line: str) -> list[Command]:
    """Return the commands of a script, each with its here-documents."""
    return parse_script(*cut_documents(line[:MOST]))


def cut_documents(text: str) -> tuple[str, list[str]]:
    """Return a script without its here-documents, and the here-documents in order."""
    if "<<" not in text:
        return text, []
    kept, bodies, lines = [], [], iter(text.split("\n"))
    for line in lines:
        kept.append(line)
        for match in _DOCUMENT.finditer(line) if "<<" in line else ():
            bodies.append("\n".join(_until(match["end"], lines)))
    return "\n".join(kept), bodies


def is_quoted(script: str) -> bool:
    """Return whether all here-documents of a script stand in it as they are, with nothing that a shell replaces."""
    return all(match[1] and match[0][2] != "-" for match in _DOCUMENT.finditer(script))


def _until(end: str, lines: Iterator[str]) -> list[str]:
    return [*takewhile(lambda line: line.strip() != end, lines)]


def parse_script(script: str, bodies: list[str]) -> list[Command]:
    """Return the commands of a script that `cut_documents` has cut."""
    documents, command, redirect, depth = iter(bodies), Command(), "", 0
    commands = [command]
    for match in _TOKEN.finditer(script):
        kind, token = match.lastgroup, match.group()
        if kind == "plain" and not redirect:
            command.words.append(token)
        elif kind == "end":
            depth = depth + 1 if token == "(" else max(0, depth - (token == ")"))
            command, redirect = Command(joint=token, depth=depth), ""
            commands.append(command)
        elif kind == "redirect":
            redirect = "" if "&" in token and token[-1].isdigit() else token  # `2>&1` is complete
            if token.startswith("<<") and token != "<<<":
                command.bodies.extend(islice(documents, 1))
        elif redirect and kind in ("word", "plain"):
            if ">" in redirect:
                command.outputs.append((redirect, _unquote(token)))
            redirect = ""
        elif kind == "word":
            command.words.append(_unquote(token))
    return commands


def _unquote(word: str) -> str:
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return _QUOTES.sub(lambda match: next((g for g in match.groups() if g is not None), ""), word)


def programs(commands: Iterable[Command]) -> list[tuple[str, ...]]:
    """Return each command's program and its first two arguments, without options: `("git", "commit")`."""
    runs = filter(None, (from_program(command.words) for command in commands))
    return [(words[0], *[word for word in words[1:] if not word.startswith("-")][:2]) for words in runs]


def from_program(words: list[str]) -> list[str]:
    """Return the words of a command without what may stand before its program."""
    if words and words[0] not in _BEFORE_PROGRAM and "=" not in words[0]:
        return words
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
    return [touch for command in commands for touch in _touches(command, scripts) if is_path(touch.path)]


def is_path(word: str) -> bool:
    """Whether a word of a command says plainly which file it is, if it is one."""
    return len(word) <= LONGEST_PATH and not _NOT_A_PATH.search(word)


def _touches(command: Command, scripts: dict[str, str]) -> Iterator[Touch]:
    words = from_program(command.words)
    program = words[0].rpartition("/")[2] if words else ""
    for redirect, path in command.outputs:
        if not redirect.startswith(("2", "&")):
            yield Touch(path, CHANGED if ">>" in redirect else WRITTEN)
            if command.bodies and path.endswith(".py"):
                scripts[path] = command.bodies[0]
    if _PYTHON.match(program):
        run = [scripts[word] for word in words[1:2] if word in scripts]
        written = [script for option, script in pairwise(words) if option == "-c"]
        for script in (*command.bodies, *written, *run):
            yield from _python_touches(script)
    else:
        yield from _program_touches(program, words[1:], command)


def _touch_all(paths: Iterable[str], action: str) -> list[Touch]:
    return [Touch(path, action) for path in paths]


def edits_in_place(program: str, arguments: list[str]) -> bool:
    """Whether `sed` or `perl` changes its files."""
    if program not in ("sed", "perl"):
        return False
    in_place = _SED_IN_PLACE if program == "sed" else _PERL_IN_PLACE
    return any(in_place.match(word) for word in arguments if word[:1] == "-")


def plain_arguments(program: str, arguments: list[str]) -> list[str]:
    """Return the arguments that are neither options nor values of options."""
    takes, plain, skips, ended = _VALUE_OPTIONS.get(program, ""), [], False, False
    for word in arguments:
        if skips:
            skips = False
        elif word == "--" and not ended:
            ended = True
        elif ended or word[:1] not in ("-", "+") or len(word) == 1:
            plain.append(word)
        else:  # the last letter of `-nA` takes a value, and `-A3` has it
            skips = word[1:2] != "-" and word[-1] in takes
    return plain


def viewed_files(program: str, arguments: list[str]) -> list[str]:
    """Return the arguments of a program that shows files which stand for files: patterns and variables too."""
    has_script = program == "sed" and any(map(_SED_SCRIPT.match, arguments))
    return plain_arguments(program, arguments)[program in _SCRIPTED and not has_script :]


def _program_touches(program: str, arguments: list[str], command: Command) -> list[Touch]:
    files = [word for word in arguments if word and not word.startswith("-")]
    match program:
        case "sed" | "perl" if edits_in_place(program, arguments):
            return _touch_all(viewed_files(program, arguments)[program == "perl" :], CHANGED)
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
        case _ if program in VIEWERS and (program == "sed" or not command.outputs):  # `cat a > b` copies
            return _touch_all(viewed_files(program, arguments), READ)
        case _:
            return []


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
        case ["show", *objects]:
            return _touch_all([path for _, is_file, path in (name.partition(":") for name in objects) if is_file], READ)
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
    if not any(verb in script for verb in _PYTHON_VERBS):
        return
    names = {match.group(1): match.group(3) for match in _NAMED.finditer(script)}
    verbs_by_path: dict[str, set[str]] = {}
    for match in (*_OPENED.finditer(script), *_PATHS.finditer(script)):
        path = match["path"] or names.get(match["name"], "")
        if "verb" in match.re.groupindex:
            verb = match["verb"].partition("_")[0]
        else:
            verb = "write" if set(match["mode"] or "r") & set("wax+") else "read"
        verbs_by_path.setdefault(path, set()).add(verb)
    for path, verbs in verbs_by_path.items():
        if "unlink" in verbs:
            yield Touch(path, DELETED)
        elif verbs & {"write", "touch"}:
            yield Touch(path, CHANGED if "read" in verbs else WRITTEN)
        else:
            yield Touch(path, READ)
