"""Which files a shell command reads, writes and removes, as far as the command says it plainly."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

MOST = 64 * 1024  # characters of a command that are read
READ, WRITTEN, CHANGED, DELETED = (
    "read",
    "written",
    "changed",
    "deleted",
)  # written: created, or changed if it was there

_HEREDOC = re.compile(r"<<-?[ \t]*(['\"\\]?)([A-Za-z_]\w*)\1")
_TOKEN = re.compile(
    r"(?P<end>\n|;|&&|\|\|?|[()]|&(?!>))"
    r"|(?P<redirect>\d?(?:>>|>\||>&\d?|<<<|<<-?|(?<![-=])>|<)|&>>?)"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|<>()'\"\\])+)"
    r"|['\"\\]",
    re.S,
)
_QUOTES = re.compile(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)", re.S)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_UNPLAIN = re.compile(r"[$*?`{}\n]|^-|^/dev/|^&|^[\d=,.:]+$")
_AHEAD = frozenset(("sudo", "time", "command", "exec", "nohup", "env", "then", "do", "else"))
_VIEWERS = frozenset(("cat", "head", "tail", "nl", "less", "more", "bat", "tac", "awk"))
_WITH_VALUE = frozenset(("-n", "-c", "-l", "-e", "-F", "-v"))  # options of viewers whose value is a word of its own
_PYTHON = re.compile(r"python[\d.]*$")
_OPENED = re.compile(
    r"\bopen\(\s*(?:[rbf]?(['\"])(?P<path>[^'\"\n]+)\1|(?P<name>\w+))\s*(?:,\s*(?:mode\s*=\s*)?['\"](?P<mode>[rwaxbt+]+)['\"])?"
)
_PATHS = re.compile(
    r"(?:\bPath\(\s*(['\"])(?P<path>[^'\"\n]+)\1\s*\)|\b(?P<name>\w+))"
    r"\.(?P<verb>write_text|write_bytes|read_text|read_bytes|unlink|touch)\("
)
_NAMED = re.compile(r"\b(\w+)\s*=\s*(?:(?:pathlib\.)?Path\(\s*)?[rf]?(['\"])([^'\"\n]{1,300})\2")
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.M)
_DIFFED = re.compile(r"^\+\+\+ (?:b/)?(\S+)", re.M)


class Touch(NamedTuple):
    """One thing done to one file."""

    path: str
    action: str


class Command(Struct):
    """One command of a pipe or a list: its words, where its output goes, and the texts given to it."""

    words: list[str] = []
    outputs: list[tuple[str, str]] = []
    bodies: list[str] = []


def touches(commands: Iterable[Command], scripts: dict[str, str]) -> list[Touch]:
    """What is done to which file, in order. `scripts` are those written so far, by path: running one does what it says.

    Scripts that the commands write are added to them.
    """
    return [touch for command in commands for touch in _of(command, scripts) if _is_plain(touch.path)]


def patched(text: str) -> list[Touch]:
    """The files of a patch: of the form with `*** Update File`, else of a diff."""
    out: list[Touch] = []
    for match in _PATCHED.finditer(text):
        verb, path, target = match.groups()
        if target and out:
            out += [Touch(out.pop().path, DELETED), Touch(target.strip(), WRITTEN)]
        elif path:
            out.append(Touch(path.strip(), {"Add": WRITTEN, "Update": CHANGED, "Delete": DELETED}[verb]))
    return out or [Touch(path, CHANGED) for path in _DIFFED.findall(text)]


def programs(commands: Iterable[Command]) -> list[tuple[str, ...]]:
    """The first words of every command, options aside: `("git", "commit")`."""
    found = filter(None, (_bare(command.words) for command in commands))
    return [(words[0], *[word for word in words[1:] if not word.startswith("-")][:2]) for words in found]


def _is_plain(path: str) -> bool:
    return bool(path) and len(path) <= 300 and not _UNPLAIN.search(path) and path not in (".", "..", "/")


def read(line: str) -> list[Command]:
    """The commands of a script, each with its here-documents."""
    text, bodies = _without_bodies(line[:MOST])
    command, target = Command([], [], []), ""
    found = [command]
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match.group()
        if kind == "end":
            command, target = Command([], [], []), ""
            found.append(command)
        elif kind == "redirect":
            target = token
            if token.startswith("<<") and token != "<<<" and bodies:
                command.bodies.append(bodies.pop(0))
        elif kind == "word" and target:
            if ">" in target and "&" not in target[1:]:
                command.outputs.append((target, _unquoted(token)))
            target = ""
        elif kind == "word":
            command.words.append(_unquoted(token))
    return found


def _without_bodies(text: str) -> tuple[str, list[str]]:
    if "<<" not in text:
        return text, []
    kept: list[str] = []
    bodies: list[str] = []
    wanted: list[str] = []
    body: list[str] = []
    for line in text.split("\n"):
        if not wanted:
            kept.append(line)
            wanted = [match.group(2) for match in _HEREDOC.finditer(line)]
        elif line.strip() == wanted[0]:
            bodies.append("\n".join(body))
            wanted, body = wanted[1:], []
        else:
            body.append(line)
    return "\n".join(kept), [*bodies, "\n".join(body)] if wanted else bodies


def _unquoted(word: str) -> str:
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return _QUOTES.sub(lambda match: next((g for g in match.groups() if g is not None), ""), word)


def _bare(words: list[str]) -> list[str]:
    """The words from the program on."""
    for i, word in enumerate(words):
        if word not in _AHEAD and not _ASSIGNED.match(word):
            return words[i:]
    return []


def _of(command: Command, scripts: dict[str, str]) -> Iterator[Touch]:
    words = _bare(command.words)
    program = words[0].rpartition("/")[2] if words else ""
    for redirect, path in command.outputs:
        if not redirect.startswith(("2", "&")):
            yield Touch(path, CHANGED if ">>" in redirect else WRITTEN)
            if command.bodies and path.endswith(".py"):
                scripts[path] = command.bodies[0]
    if _PYTHON.match(program):
        run = [scripts[word] for word in words[1:2] if word in scripts]
        yield from (touch for body in [*command.bodies, *_inline(words), *run] for touch in _by_python(body))
    else:
        yield from _of_program(program, words[1:], command)


def _of_program(program: str, rest: list[str], command: Command) -> Iterator[Touch]:
    files = [word for word in rest if word and not word.startswith("-")]
    if program in _VIEWERS:
        if not command.outputs:  # `cat a > b` copies; `cat > b` writes what it is given
            yield from (Touch(path, READ) for path in _viewed(program, rest))
    elif program == "sed":
        yield from _by_sed(rest)
    elif program == "perl" and any(re.match(r"-\w*i", word) for word in rest):
        yield from (Touch(path, CHANGED) for path in files[1:])
    elif program in ("tee", "touch"):
        yield from (Touch(path, CHANGED if "-a" in rest else WRITTEN) for path in files)
    elif program in ("rm", "unlink"):
        yield from (Touch(path, DELETED) for path in files)
    elif program in ("mv", "cp"):
        yield from _carried(files, READ if program == "cp" else DELETED)
    elif program == "git":
        yield from _by_git(files, rest, command.bodies)
    elif program in ("apply_patch", "patch"):
        yield from (touch for body in [*command.bodies, *files] for touch in patched(body))


def _viewed(program: str, rest: list[str]) -> Iterator[str]:
    """The files among a viewer's words: neither options nor their values, nor the program of an awk."""
    values = _WITH_VALUE if program != "cat" else frozenset[str]()
    words = iter(rest)
    skip = program == "awk"
    for word in words:
        if word in values:
            next(words, None)
        elif word.startswith(("-", "+")):
            continue
        elif skip:
            skip = False
        else:
            yield word


def _by_sed(rest: list[str]) -> Iterator[Touch]:
    files = [word for word in rest if word and not word.startswith("-")]
    if not any(word in ("-e", "-f") for word in rest):
        files = files[1:]  # the first one is the script
    else:
        scripts = {rest[i + 1] for i, word in enumerate(rest[:-1]) if word in ("-e", "-f")}
        files = [word for word in files if word not in scripts]
    in_place = any(re.match(r"-[nErs]*i|--in-place", word) for word in rest)
    yield from (Touch(path, CHANGED if in_place else READ) for path in files)


def _carried(files: list[str], source: str) -> Iterator[Touch]:
    if len(files) < 2:
        return
    target = files[-1]
    for path in files[:-1]:
        yield Touch(path, source)
        inside = target.endswith("/") or len(files) > 2
        yield Touch(f"{target.rstrip('/')}/{path.rpartition('/')[2]}" if inside else target, WRITTEN)


def _by_git(files: list[str], rest: list[str], bodies: list[str]) -> Iterator[Touch]:
    match files:
        case ["apply", *_]:
            yield from (touch for body in bodies for touch in patched(body))
        case ["mv", *paths]:
            yield from _carried(paths, DELETED)
        case ["rm", *paths]:
            yield from (Touch(path, DELETED) for path in paths)
        case ["checkout" | "restore", *_] if "--" in rest or files[0] == "restore":
            paths = rest[rest.index("--") + 1 :] if "--" in rest else files[1:]
            yield from (Touch(path, CHANGED) for path in paths)
        case _:
            pass


def _inline(rest: list[str]) -> list[str]:
    return [rest[i + 1] for i, word in enumerate(rest[:-1]) if word == "-c"]


def _by_python(script: str) -> Iterator[Touch]:
    """Files that a script opens by name. One that is read and then written was changed."""
    names = {match.group(1): match.group(3) for match in _NAMED.finditer(script)}
    found: dict[str, set[str]] = {}
    for match in _OPENED.finditer(script):
        path = match["path"] or names.get(match["name"], "")
        found.setdefault(path, set()).add("write" if set(match["mode"] or "r") & set("wax+") else "read")
    for match in _PATHS.finditer(script):
        path = match["path"] or names.get(match["name"], "")
        found.setdefault(path, set()).add(match["verb"].partition("_")[0])
    for path, verbs in found.items():
        if "unlink" in verbs:
            yield Touch(path, DELETED)
        elif verbs & {"write", "touch"}:
            yield Touch(path, CHANGED if "read" in verbs else WRITTEN)
        else:
            yield Touch(path, READ)
