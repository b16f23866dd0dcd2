"""The subject of a tool call: what it is about, and what it does with it."""

from enum import IntEnum
from typing import Any

from sightline.values.items import Call
from sightline.values.pattern import pattern

_PATHS = ("file_path", "filePath", "notebook_path", "path", "filename", "file", "target_file")
_COMMANDS = ("command", "cmd", "script")
_SEARCHES = frozenset(("pattern", "query", "q", "glob", "regex"))
KEYS = (
    # If several are given, the first one here is the subject: a path says more than the pattern that is searched in it.
    *_PATHS, "url", "uri", "command", "cmd", "pattern", "query", "q", "script", "code", "name", "id",
)  # fmt: skip
READ_ID = "call_read_file_"  # prefix of the ids of calls that read a file
READERS = frozenset(("file_reader", "read_file"))  # tools that do
LONGEST = 2000  # characters; a command may be a whole script, and its beginning says what it is

# Arguments that hold all of a file's new text, or a part of it.
_WHOLE_TEXTS = frozenset(("content", "contents", "file_text"))
_PART_TEXTS = frozenset((
    "old_string", "old_str", "old_text", "new_string", "new_str", "new_text", "insert_text", "edits", "diff",
))  # fmt: skip
_LISTING = pattern(r"(?i)^(?:ls|dir|tree)$|list|glob|search|find|grep")  # in a tool's name
_SHELL = pattern(r"(?i)shell|bash|terminal|stdin|exec|console")
_OTHER_AGENT = pattern(r"(?i)^task$|agent$|delegate$")
_WRITING = frozenset(("write", "overwrite", "create", "save"))  # words in a tool's name
_CHANGING = frozenset(
    ("edit", "replace", "insert", "append", "patch", "update", "modify", "delete", "remove", "rename", "move", "copy")
)
_WORD = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ARGUMENTS = r"""(?:'[^']*'|"[^"]*"|[^'"<>|&;\n])*+"""
_SHOWS = rf"(?:cat|nl|head|tail|less|more|bat|type|Get-Content|sed\s+-n)\s{_ARGUMENTS}"
# What shows a file may be piped into what shows a part of that, or numbers its lines.
_CUTS = rf"(?:(?:cat|nl|head|tail|less|more|bat|cut)(?![\w.-])|sed\s+-n\s){_ARGUMENTS}"
_SHOWN = rf"{_SHOWS}(?:\|\s*{_CUTS})*"
_BETWEEN = r"(?:&&|;|\n)\s*+"
_SHOWS_FILE = pattern(rf"\s*(?:cd\s{_ARGUMENTS}{_BETWEEN})?{_SHOWN}(?:{_BETWEEN}(?:{_SHOWN}|echo\b{_ARGUMENTS}))*;?\s*")
_NO_OUTPUT = pattern(r"2>\s*(?:&1|/dev/null)")


class Purpose(IntEnum):
    """What a call does."""

    OTHER = 0
    READ = 1  # shows a file, or lines of it
    CHANGE = 2  # changes a part of a file
    WRITE = 3  # writes a whole file
    SEARCH = 4  # searches or lists
    COMMAND = 5  # runs a shell command that does not just show a file
    REPORT = 6  # asks another agent, whose answer is its report
    SHOW = 7  # shows files by a shell command, so that nothing says later whether they were changed


def purpose_of(call: Call) -> Purpose:
    """Return what a call does, by its arguments and by the name of its tool or command."""
    given = call.input if isinstance(call.input, dict) else {}
    if any(key in _PATHS and text_of(value) for key, value in given.items()):
        if not _PART_TEXTS.isdisjoint(given):
            return Purpose.CHANGE
        if not _WHOLE_TEXTS.isdisjoint(given):
            return Purpose.WRITE
        if not _SEARCHES.isdisjoint(given) or _LISTING.search(call.name):
            return Purpose.SEARCH
        words = {*map(str.lower, _WORD.findall(text_of(given.get("command")) or call.name))}  # one tool may do all
        return Purpose.WRITE if words & _WRITING else Purpose.CHANGE if words & _CHANGING else Purpose.READ
    if command := next(filter(None, (text_of(given.get(key)) for key in _COMMANDS)), ""):
        shows = len(command) <= LONGEST and _SHOWS_FILE.fullmatch(_NO_OUTPUT.sub("", command))
        return Purpose.SHOW if shows else Purpose.COMMAND
    if _SHELL.search(call.name):
        return Purpose.COMMAND
    if _OTHER_AGENT.search(call.name):
        return Purpose.REPORT
    is_search = not _SEARCHES.isdisjoint(given) or _LISTING.search(call.name)
    return Purpose.SEARCH if is_search else Purpose.OTHER


def is_file_read(call_id: str, tool: str) -> bool:
    """Whether a call reads a file, by its id or by the name of its tool."""
    return call_id.startswith(READ_ID) or tool in READERS


def subject_of(call: Call) -> str:
    """Return the path, command, URL, pattern or query in the arguments of a call; "" if there is none."""
    given = call.input if isinstance(call.input, dict) else {}
    return next((text for key in KEYS if key in given and (text := text_of(given[key]))), "")[:LONGEST]


def text_of(value: Any) -> str:
    """Return an argument as text: a string, or the words of a command line. Of `bash -c LINE` only the line."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        runs_line = len(value) == 3 and value[1] in ("-c", "-lc")
        return str(value[2] if runs_line else " ".join(value)).strip()
    return ""
