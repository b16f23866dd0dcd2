"""The tools that find files: by what they are called, and by what stands in them."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from fnmatch import fnmatchcase
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from sightline.agent.tools import Tool
from sightline.agent.tools.files.folders import BEGINNING, Folders, Found
from sightline.agent.tools.files.folders import DEEPEST as DEEPEST_SEARCHED
from sightline.agent.tools.files.regex import Match, Matcher, Stopped, matcher
from sightline.agent.tools.files.text import binary, decode
from sightline.agent.tools.in_thread import in_thread
from sightline.agent.tools.schema import Parameter, Wording, says, tool
from sightline.errors import ToolFailed
from sightline.files.secrets import has_secret
from sightline.values.phrases import size_text

MOST_LISTED = 500  # files and folders in one answer
DEEPEST = 8  # folders within folders that are listed; `path` lists deeper ones
MOST_MATCHES = 200  # in one answer
MOST_PER_FILE = 50
LONGEST_PATTERN = 1000  # characters of a regular expression: nobody writes a longer one by hand
LARGEST = 8 << 20  # bytes of a file that is searched
MOST_SEARCHED = 512 << 20  # bytes in one search
MOST_FILES = 20_000
SECONDS = 20.0
WIDTH = 300  # characters of a line that are shown
MOST_NAMED = 5  # files that are named as not searched

_LIST = Wording(
    "List the files of the project as a tree, with their sizes. What git ignores and folders that tools make, such as "
    ".git, are left out; name such a folder in `path` to see it.",
    "以树形列出项目文件及其大小。跳过 git 忽略的内容和工具生成的文件夹（.git、node_modules 等）；"
    "可在 path 中指定这样的文件夹来查看。",
)
_SEARCH = Wording(
    "Find the lines of the project's files that hold a text, or match a regular expression. Without capital letters in "
    "the query, capital letters do not count. Files that git ignores are left out, unless `path` names their folder.",
    "在项目文件中查找包含某段文本或匹配正则表达式的行。查询中没有大写字母时不区分大小写。"
    "不搜索 git 忽略的文件，除非 path 指定其所在文件夹。",
)
_PATH = Parameter(
    "path", "string", Wording("folder to look in; the project if left out", "要查看的文件夹；默认整个项目")
)
_PATTERN = Parameter("pattern", "string", Wording("names of files, such as *.py", "文件名模式，如 *.py"))
_SEARCHING = (
    Parameter("query", "string", Wording("what to look for", "要查找的内容"), required=True),
    _PATH,
    _PATTERN,
    Parameter("regex", "boolean", Wording("whether the query is a regular expression", "查询是否为正则表达式")),
)


def list_files(folders: Folders, locale: str = "en") -> Tool:
    """Return the tool that lists files."""
    return tool(
        "list_files", _LIST, (_PATH, _PATTERN), partial(in_thread, list_tree, folders.with_locale(locale)), locale
    )


def search_files(folders: Folders, locale: str = "en") -> Tool:
    """Return the tool that searches in files."""
    return tool("search_files", _SEARCH, _SEARCHING, partial(in_thread, search, folders.with_locale(locale)), locale)


# ---------------------------------------------------------------------- listing


def list_tree(folders: Folders, arguments: Mapping[str, Any]) -> str:
    """Return the result of `list_files`. Raises ToolFailed."""
    pattern, path, locale = arguments.get("pattern", ""), _path(arguments), folders.locale
    lines: list[str] = []
    for entry in _walk(folders, path, DEEPEST) if pattern else folders.walk(path, deepest=DEEPEST):
        if pattern and (entry.kind == "folder" or not _matches(entry.path, pattern)):
            continue
        if len(lines) == MOST_LISTED:
            lines.append(
                says(locale, "… there are more; name a path or a pattern", "… 还有更多；请指定 path 或 pattern")
            )
            break
        name = entry.path if pattern else "  " * entry.depth + entry.path.rpartition("/")[2]
        details = {"folder": "/", "file": f" ({size_text(entry.size)})"}
        lines.append(name + details.get(entry.kind, f" [{entry.kind}]"))
    if not path and not pattern:  # the first folder, under its name if relative paths do not begin in it; the others
        first, *others = map(folders.name_of, range(len(folders.paths)))
        if lines and first != BEGINNING:
            lines = [f"{first}/", *(f"  {line}" for line in lines)]
        lines += [
            f"{path if name == BEGINNING else name}/" for name, path in zip(others, folders.paths[1:], strict=True)
        ]
    return "\n".join(lines) or says(locale, "[no files]", "[没有文件]")


def _matches(path: str, pattern: str) -> bool:
    """Whether the file's name matches or, if the pattern has a slash, its path."""
    return fnmatchcase(path if "/" in pattern else path.rpartition("/")[2], pattern)


# ---------------------------------------------------------------------- searching

_STOPPED = {
    "matches": ("[stopped after {matches} matches: ask for less]", "[已达 {matches} 条匹配：请缩小范围]"),
    "files": (
        "[stopped after too many files: name a path or a pattern]",
        "[文件过多，已停止：请指定 path 或 pattern]",
    ),
    "time": (
        "[stopped after {seconds:g} s: name a path, or a simpler query]",
        "[超过 {seconds:g} 秒，已停止：请指定 path 或简化查询]",
    ),
}


class _Search:
    """The state of one search: what was found, and what was not searched."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.matches = self.files = self.bytes = 0
        self.skipped: list[str] = []
        self.stopped = ""  # the limit that ended it early


def search(folders: Folders, arguments: Mapping[str, Any], clock: Callable[[], float] = time.monotonic) -> str:
    """Return the result of `search_files`: each line as `path:number: text`, by path. Raises ToolFailed."""
    query, regex, locale = arguments["query"], arguments.get("regex", False), folders.locale
    if not query:
        raise ToolFailed(says(locale, "the query is empty", "查询内容为空"))
    if regex and len(query) > LONGEST_PATTERN:
        raise ToolFailed(
            says(
                locale,
                f"a regular expression may have {LONGEST_PATTERN} characters, not {len(query)}: use a shorter one",
                f"正则表达式最多 {LONGEST_PATTERN} 个字符，现有 {len(query)} 个：请缩短",
            )
        )
    pattern = arguments.get("pattern", "")
    state, until = _Search(), clock() + SECONDS
    try:
        with matcher(query, regex=regex, seconds=SECONDS, most=MOST_PER_FILE) as matches:
            for entry in _walk(folders, _path(arguments)):
                limits = (
                    ("matches", state.matches >= MOST_MATCHES),
                    ("files", state.files >= MOST_FILES or state.bytes >= MOST_SEARCHED),
                    ("time", clock() > until),
                )
                state.stopped = next((limit for limit, is_reached in limits if is_reached), "")
                if state.stopped:
                    break
                if entry.kind == "file" and (not pattern or _matches(entry.path, pattern)):
                    _search_file(folders, entry, matches, state)
    except Stopped:
        state.stopped = "time"
    except re.error as error:
        raise ToolFailed(
            says(locale, f"{query!r} is no regular expression: {error}", f"{query!r} 不是有效的正则表达式：{error}")
        ) from None
    return _result(state, locale)


def _path(arguments: Mapping[str, Any]) -> str:
    """Return the folder to look in; empty for all of them."""
    path: str = arguments.get("path", "")
    return "" if PurePosixPath(path) == PurePosixPath(BEGINNING) else path


def _walk(folders: Folders, path: str, deepest: int = DEEPEST_SEARCHED) -> Iterator[Found]:
    """Yield what is in one folder, or in all that can be read, each once."""
    seen: set[str] = set()  # because a folder may lie in another
    for start in [path] if path else ["", *map(str, folders.paths[1:])]:
        with suppress(ToolFailed) if start != path else nullcontext():  # a missing folder does not hide the others
            for entry in folders.walk(start, deepest=deepest):
                if start == path or entry.path not in seen:
                    seen.add(entry.path)
                    yield entry


def _search_file(folders: Folders, entry: Found, matches: Matcher, search: _Search) -> None:
    search.files += 1
    if entry.size > LARGEST:
        search.skipped.append(f"{entry.path} ({size_text(entry.size)})")
        return
    try:
        with folders.open(entry.path, scan=False) as opened:
            data, readable = opened.file.read(LARGEST), opened.readable
    except ToolFailed:  # removed meanwhile, or not permitted
        search.skipped.append(entry.path)
        return
    if kind := binary(data[:8192]):
        search.skipped.append(f"{entry.path} ({kind})")
        return
    search.bytes += len(data)
    text = decode(data).text
    hits = matches(text)[: MOST_MATCHES - search.matches]
    if hits and not readable and has_secret(data):  # only now, because it takes longer than searching
        search.skipped.append(entry.path)
        return
    search.matches += len(hits)
    lines = text.split("\n") if hits else []
    search.lines += [f"{entry.path}:{hit.line}: {_around(lines[hit.line - 1], hit)}" for hit in hits]


def _around(line: str, hit: Match) -> str:
    """Return the line; of a long one, the part around the match."""
    line = line.removesuffix("\r")
    if len(line) <= WIDTH:
        return line
    start = max(0, min(hit.place - WIDTH // 3, len(line) - WIDTH))
    end = start + WIDTH
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _result(search: _Search, locale: str) -> str:
    lines = search.lines or [says(locale, "[nothing found]", "[没有找到]")]
    if search.skipped:
        count, named = len(search.skipped), ", ".join(search.skipped[:MOST_NAMED])
        named += " …" if count > MOST_NAMED else ""
        lines.append(
            says(
                locale,
                f"[not searched, no text, too large or with keys: {count}: {named}]",
                f"[未搜索 {count} 个非文本、过大或含密钥的文件：{named}]",
            )
        )
    if search.stopped:
        lines.append(says(locale, *_STOPPED[search.stopped]).format(matches=MOST_MATCHES, seconds=SECONDS))
    return "\n".join(lines)
