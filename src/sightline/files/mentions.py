"""The files a conversation is about: which it names, how often, which it changed, and their text now.

The names come from the messages alone. Reading the files is a second, careful step: the paths come from text that a
model or a tool wrote, so nothing outside the project, no device and no key is opened because of them.
"""

import os
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sightline.files.folders import PROJECT, Folders, allowed_folders
from sightline.files.project import read_beginning
from sightline.shorten.common_names import FILES, everyday
from sightline.values.items import Call, Message, plain_text
from sightline.values.pattern import pattern

MOST_FILES = 5  # this and the next are the numbers of the ClawdCode document
MOST_LINES = 1000
WRITING = frozenset({"Write", "Edit"})  # the tools that change the file they name

MOST_CHARACTERS = 200_000  # of one message that are scanned: a dump of a whole repository names everything
MOST_BYTES = 1 << 20  # of one file that are read: a thousand lines of a thousand characters
LONGEST = 300  # characters of a path; what is longer is something else

TRUNCATED = "[... truncated ...]"  # the last line of a text whose end is not shown


class FileReference(NamedTuple):
    """One file that a conversation mentions. `last_mentioned` is the index of a message."""

    path: str  # as it was first written
    mentions: int
    last_mentioned: int
    was_modified: bool


# ---------------------------------------------------------------------- which files


def important_files(messages: Iterable[Message], most: int = MOST_FILES) -> list[FileReference]:
    """The files that these messages mention, at most `most`: modified ones first, then by mentions, then the latest.

    Every path in a text or in the arguments of a call is a mention. A call of one of the tools in `WRITING` marks the
    file as modified. `./a.py` and `a.py` are one file.
    """
    files: dict[str, FileReference] = {}
    for index, message in enumerate(messages):
        mentioned = [(path, False) for path in paths_in(plain_text(message.parts))]
        for call in message.parts:
            if isinstance(call, Call):
                modified = call.name in WRITING
                mentioned += [(path, modified) for path in _argument_paths(call.input, commands=not modified)]
        for path, modified in mentioned:
            key = "/".join(part for part in _SEPARATOR.split(path) if part != ".")
            so_far = files.get(key, FileReference(path, 0, index, False))
            files[key] = FileReference(so_far.path, so_far.mentions + 1, index, so_far.was_modified or modified)
    return sorted(files.values(), key=lambda file: (not file.was_modified, -file.mentions, -file.last_mentioned))[:most]


def paths_in(text: str) -> list[str]:
    """The paths in a text, in order, with repetitions.

    A path is absolute, or has a folder or a known file ending. It may be in quotes, in backticks or inside Chinese
    text. URLs, installed packages, images and archives are not reported.
    """
    paths: list[str] = []
    for match in _IN_TEXT.finditer(text[:MOST_CHARACTERS]):
        if match["code"] is not None:
            paths += _quoted_paths(match["code"], spaces=False)
        elif match["quoted"] is not None:
            paths += _quoted_paths(match["quoted"][1:-1], spaces=True)
        elif match["run"] is not None:
            paths += _run_paths(match)
    return paths


# ---------------------------------------------------------------------- arguments


def _word_set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_FILE_KEYS = _word_set(
    "file_path filePath filepath notebook_path notebookPath target_file targetFile filename fileName file_name "
    "absolute_path absolutePath relative_path relativePath file_paths filePaths"
)
_PATH_KEYS = _word_set("path file paths files")  # these may also name folders
_COMMAND_KEYS = _word_set("command cmd")
_DEEPEST = 6  # arguments within arguments


def _argument_paths(value: Any, key: str = "", depth: int = 0, *, commands: bool) -> Iterator[str]:
    """The paths in a call's arguments: values of keys that are names for paths, and paths in command lines."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _argument_paths(inner, str(name), depth + 1, commands=commands)
    elif isinstance(value, list):
        for inner in value:
            yield from _argument_paths(inner, key, depth + 1, commands=commands)
    elif isinstance(value, str):
        if key in _FILE_KEYS | _PATH_KEYS:
            path = value.strip()
            if _is_plausible(path) if key in _FILE_KEYS else _is_file(path):
                yield path
        elif key in _COMMAND_KEYS and commands:
            yield from paths_in(value)


# ---------------------------------------------------------------------- text

_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CHARS = r"[\w.+@~\-]"
_PLAIN_CHARS = rf"(?:[^\W{_CJK}]|[.+@~\-])"  # without Chinese, Japanese and Korean, because such text may touch a path
_IN_BRACKETS = rf"(?:{_CHARS}|\[{_CHARS}{{1,40}}\]|\({_CHARS}{{1,40}}\))"  # `app/[id]/(shop)/page.tsx`
_URL = r"(?:[A-Za-z][A-Za-z0-9+.\-]{1,20})?://[^\s\"'<>`，。；、）」』》]*"
_RUN = rf"(?:[A-Za-z]:(?=[\\/]))?[\\/]{{0,2}}{_CHARS}+(?:[\\/]{{1,4}}{_IN_BRACKETS}+)*"
_CLOSED_BY = {'"': '"', "'": "'", "“": "”", "‘": "’", "「": "」", "『": "』", "《": "》"}
_QUOTED = "|".join(f"{left}[^{left}{right}\n]{{1,{LONGEST}}}{right}" for left, right in _CLOSED_BY.items())

# Every alternative consumes what it begins with, so scanning takes time in proportion to the length of the text.
_IN_QUOTES = pattern(rf"(?P<url>{_URL})|(?P<run>{_RUN})")
_IN_TEXT = pattern(
    rf"(?P<url>{_URL})|`(?P<code>[^`\n]{{1,{LONGEST}}})`|(?P<quoted>{_QUOTED})|(?:--- a/|\+\+\+ b/)?(?P<run>{_RUN})"
)
_PLAIN_RUN = pattern(rf"(?<![\\/])(?:[A-Za-z]:(?=[\\/]))?{_PLAIN_CHARS}+(?:[\\/]{{1,4}}{_PLAIN_CHARS}+)*(?![\\/])")
_HAS_CJK = pattern(rf"[{_CJK}]")
_AT_LINE = pattern(r":\d+(?:[:-]\d+)?$")
_SEPARATOR = pattern(r"[\\/]+")
_ROOTED = pattern(r"\.{0,2}[\\/]|~[\\/]|[A-Za-z]:[\\/]")
_BLANK = pattern(r"\s")
_UNLIKELY = pattern(r'[<>|*?"`{}$=,;\n\0]|://')


def _quoted_paths(text: str, *, spaces: bool) -> Iterator[str]:
    """The path between two quotes, or the paths in the text there. Code with spaces in it is a command."""
    whole = _AT_LINE.sub("", text.strip())
    if (not _BLANK.search(whole) or (spaces and _ROOTED.match(whole))) and _is_file(whole):
        yield whole
        return
    for match in _IN_QUOTES.finditer(text):
        if match["run"] is not None:
            yield from _run_paths(match)


def _run_paths(match: re.Match[str]) -> Iterator[str]:
    """The paths in a run of path characters. `response.json(` is no file, `{folder}/a.py` is no whole path."""
    run, text = match["run"], match.string
    if not _SEPARATOR.search(run):
        if text[match.end() : match.end() + 1] == "(" or ("." not in run and run not in _NAMES):
            return
    elif run[0] in "\\/" and match.start("run") and text[match.start("run") - 1] in "})]>*":
        return
    run = run.rstrip(".-+@~")
    if _HAS_CJK.search(run):  # names may be Chinese, or Chinese text may touch a name
        names = [match.group().strip(".-+~").lstrip("@") for match in _PLAIN_RUN.finditer(run)]
        if paths := list(filter(_is_file, names)):
            yield from paths
            return
    run = run.removeprefix("@")
    if _is_file(run):
        yield run


# ---------------------------------------------------------------------- what a path looks like

_BINARY = _word_set(
    "png jpg jpeg gif bmp ico webp tiff heic pdf doc docx xls xlsx ppt pptx zip gz tgz bz2 xz zst 7z rar tar jar war "
    "whl egg exe dll so dylib a o obj class pyc pyo wasm bin dat db sqlite sqlite3 mp3 mp4 wav ogg flac avi mov mkv "
    "webm ttf otf woff woff2 eot iso dmg pkg deb rpm git npy npz pkl parquet onnx pt"
)
_MORE_ENDINGS = _word_set(
    "kts gradle cmake mk ps1 bat cmd properties plist tfvars hcl nix bzl vim el clj cljs fs fsx vb pas pl pm tcl asm s "
    "sol vy move less sass styl astro mdx adoc tex bib prisma avsc thrift ejs hbs pug jinja j2 tmpl tpl cjsx coffee "
    "mts cts d groovy m mm cu cuh ino rake gemspec podspec csproj sln vcxproj xaml resx editorconfig json5 jsonc "
    "ndjson geojson patch diff cxx hxx hh inl"
)
_ENDINGS = (FILES | _MORE_ENDINGS) - _BINARY
_NEEDS_FOLDER = _word_set("log env lock mod sum r ex ml d m s a el fs pl move cmd")  # `self.lock`, `process.env`
_NAMES = _word_set(
    "Makefile Dockerfile Jenkinsfile Vagrantfile Gemfile Rakefile Procfile CMakeLists.txt CODEOWNERS Justfile go.mod "
    "go.sum Cargo.lock yarn.lock poetry.lock uv.lock Gemfile.lock composer.lock Pipfile Pipfile.lock .gitignore "
    ".gitattributes .dockerignore .editorconfig .npmrc .nvmrc .eslintrc .prettierrc .babelrc .env .bashrc .zshrc "
    ".profile"
)
_NO_FILES = _word_set(
    # Names of products that only look like files.
    "node.js next.js vue.js nuxt.js react.js express.js three.js d3.js angular.js ember.js backbone.js chart.js "
    "alpine.js discord.js electron.js nest.js solid.js p5.js moment.js socket.io"
)
_NOT_OURS = _word_set("node_modules .git site-packages __pycache__ .venv")
_ROOTS = _word_set("home Users etc usr var opt tmp root srv mnt private Volumes")
_DOMAIN = pattern(r"(?i)(?:www\.[\w.\-]+|[\w.\-]+\.(?:com|org|net|io|dev|cn|ai|gov|edu|app|co|me))")
_ENDING = pattern(r"[A-Za-z][A-Za-z0-9_]{0,9}")


def _is_plausible(path: str) -> bool:
    """Whether this could be the path of a text file of the project, whatever its name."""
    parts = _SEPARATOR.split(path)
    ending = parts[-1].rpartition(".")[2].lower() if "." in parts[-1] else ""
    return (
        0 < len(path) <= LONGEST
        and parts[-1] not in ("", ".", "..")
        and not path.startswith("//")
        and not _UNLIKELY.search(path)
        and not _NOT_OURS & set(parts)
        and ending not in _BINARY
    )


def _is_file(path: str) -> bool:
    """Whether this looks like the path of a file, and not like a word, a number, an attribute or a folder."""
    if not _is_plausible(path):
        return False
    *folders, name = _SEPARATOR.split(path)
    if ":" in path[2:] or ("@" in name and not name.startswith("@")):
        return False
    if folders and folders[0] and _DOMAIN.fullmatch(folders[0]):
        return False
    if name in _NAMES:
        return True
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem.strip("."):
        rooted = path.startswith("/") and len(folders) > 1 and folders[1] in _ROOTS
        return bool(rooted and not dot and re.search(r"\w", name))
    if not _ENDING.fullmatch(ending) or name.lower() in _NO_FILES or everyday(path):
        return False
    if ending.lower() in _ENDINGS:
        return bool(folders) or ending.lower() not in _NEEDS_FOLDER
    return ending.islower() and any(folders) and not any("." in folder.lstrip(".") for folder in folders)


# ---------------------------------------------------------------------- reading them


def read_files(paths: Iterable[str], root: str | Path, *, folders: Folders | None = PROJECT) -> dict[str, str]:
    """The texts of these files, by path, relative to `root`. Files that cannot or may not be read are left out.

    A text longer than `MOST_LINES` is cut there, and the line `TRUNCATED` follows. See `read_file`.
    """
    return {path: text for path in paths if (text := read_file(path, root, folders=folders)) is not None}


def read_file(path: str, root: str | Path, *, folders: Folders | None = PROJECT) -> str | None:
    """The first lines of a text file, at most `MOST_BYTES`. Never waits. None if it cannot or may not be read.

    That is a file that is missing, not regular, not readable, no UTF-8 text, a key or a file of secrets, or one whose
    real path, with links followed, is not in one of these folders of `root`. `folders=None`: it may be anywhere.
    """
    try:
        real = Path(os.path.realpath(Path(root) / path, strict=True))  # OSError for links in a circle
        allowed = allowed_folders(Path(root), PROJECT if folders is None else folders)
        if allowed.is_secret(path, real) or not (folders is None or allowed.contain(real)):
            return None
        data = read_beginning(real, MOST_BYTES, flags=getattr(os, "O_NOFOLLOW", 0))
        if allowed.holds_secret(real, data):
            return None
        text = getincrementaldecoder("utf-8-sig")().decode(data[:MOST_BYTES], len(data) <= MOST_BYTES)
    except (OSError, ValueError):  # no such file; not a path; not text
        return None
    if "\0" in text:
        return None
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > MOST_LINES:
        return "\n".join([*lines[:MOST_LINES], TRUNCATED])
    return f"{text}\n{TRUNCATED}" if len(data) > MOST_BYTES else text
