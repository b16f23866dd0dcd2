"""The subject of a tool call: what it is about, and what it does with it."""

from enum import IntEnum
from typing import Any, NamedTuple

import msgspec

from sightline.shorten import shell
from sightline.shorten.command_effect import MOST_PATHS, command_effect, plain_path
from sightline.values.items import Call
from sightline.values.pattern import pattern

_PATHS = (
    "file_path", "filePath", "filepath", "notebook_path", "path", "filename", "file", "target_file", "dirpath",
)  # fmt: skip
_LISTED = ("files", "paths", "file_paths")  # arguments that may be several paths, or objects with one each
_PATH_NAMES = frozenset(_PATHS)
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
_PATCHES = ("input", "patch", "diff")  # arguments that may be a patch
_FOLDERS = ("workdir", "cwd", "working_dir", "working_directory")  # where a command is run
_LONGEST_PATCH = 1 << 18  # characters that are read
_PART_TEXTS = frozenset((
    "old_string", "old_str", "old_text", "new_string", "new_str", "new_text", "insert_text", "edits", "diff",
))  # fmt: skip
_LISTING = pattern(r"(?i)^(?:ls|dir|tree)$|list|glob|search|find|grep")  # in a tool's name
_SHELL = pattern(r"(?i)shell|bash|terminal|stdin|exec|console")
_OTHER_AGENT = pattern(r"(?i)^task$|agent$|delegate$")
_READING = frozenset(("read", "view", "open", "show", "cat"))  # words in a tool's name
_WRITING = frozenset(("write", "overwrite", "create", "save"))  # words in a tool's name
_CHANGING = frozenset(
    ("edit", "replace", "insert", "append", "patch", "update", "modify", "delete", "remove", "rename", "move", "copy")
)
_WORD = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class Purpose(IntEnum):
    """What a call does."""

    OTHER = 0
    READ = 1  # shows a file, or lines of it
    CHANGE = 2  # changes a part of a file
    WRITE = 3  # writes a whole file
    SEARCH = 4  # searches or lists
    COMMAND = 5  # runs a shell command that does not just show files
    REPORT = 6  # asks another agent, whose answer is its report
    SHOW = 7  # shows files by a shell command, so that nothing says later whether they were changed


class Effect(NamedTuple):
    """What a call does, and what it is about."""

    purpose: Purpose
    result: Purpose  # what its result shows: a command that writes a file may show another, or print anything
    subjects: tuple[str, ...] = ()  # a path, command, URL or query, then the paths of other files that the call uses


NO_EFFECT = Effect(Purpose.OTHER, Purpose.OTHER)


def effect_of(call: Call) -> Effect:
    """Return what a call does, by its arguments and by the name of its tool or command.

    Paths are normalised, and those of a command start with the folder that it runs in, if the call says which one.
    """
    arguments = arguments_of(call)
    if path := "" if _PATH_NAMES.isdisjoint(arguments) else _first_text(arguments, _PATHS):
        purpose = _path_purpose(call.name, arguments)
        return Effect(purpose, purpose, (plain_path(path[:LONGEST]),))
    if paths := listed_paths(call.name, arguments):
        return Effect(Purpose.READ, Purpose.READ, paths)
    for key in _PATCHES:
        if key in arguments and is_patch(arguments[key]):
            return Effect(Purpose.CHANGE, Purpose.CHANGE, _patched(arguments[key]))
    if command := _first_text(arguments, _COMMANDS) or several_commands(arguments):
        return _command_effect(command, _folder(arguments))
    if text_of(arguments.get("plan")):
        return Effect(Purpose.WRITE, Purpose.WRITE, ("plan",))
    purpose = _other_purpose(call.name, arguments)
    subject = subject_of(call)
    return Effect(purpose, purpose, (subject,) if subject else ())


def purpose_of(call: Call) -> Purpose:
    """Return what a call does."""
    return effect_of(call).purpose


def _path_purpose(tool: str, arguments: dict[str, Any]) -> Purpose:
    if not _PART_TEXTS.isdisjoint(arguments):
        return Purpose.CHANGE
    if not _WHOLE_TEXTS.isdisjoint(arguments):
        return Purpose.WRITE
    if not _SEARCHES.isdisjoint(arguments) or _LISTING.search(tool):
        return Purpose.SEARCH
    words = {
        *map(str.lower, _WORD.findall((text_of(arguments.get("command")) or tool)[:LONGEST]))
    }  # one tool may do all
    return Purpose.WRITE if words & _WRITING else Purpose.CHANGE if words & _CHANGING else Purpose.READ


def listed_paths(tool: str, arguments: dict[str, Any]) -> tuple[str, ...]:
    """Return the files that a call reads together, as Cline's `read_files` does; nothing if it does something else."""
    listed = next((value for key in _LISTED if isinstance(value := arguments.get(key), list)), ())
    if not listed or _READING.isdisjoint(map(str.lower, _WORD.findall(tool[:LONGEST]))):
        return ()
    named = [_first_text(each, _PATHS) if isinstance(each, dict) else text_of(each) for each in listed[:MOST_PATHS]]
    return tuple(dict.fromkeys(plain_path(path[:LONGEST]) for path in named if path))


def several_commands(arguments: dict[str, Any]) -> str:
    """Return the command lines that a call runs one after the other, as that of Cline's `run_commands`."""
    listed = arguments.get("commands")
    is_lines = isinstance(listed, list) and all(isinstance(line, str) for line in listed)
    return "\n".join(listed).strip() if is_lines else ""  # type: ignore[arg-type]


def _other_purpose(tool: str, arguments: dict[str, Any]) -> Purpose:
    if _SHELL.search(tool):
        return Purpose.COMMAND
    if _OTHER_AGENT.search(tool):
        return Purpose.REPORT
    return Purpose.SEARCH if not _SEARCHES.isdisjoint(arguments) or _LISTING.search(tool) else Purpose.OTHER


def command_of(arguments: dict[str, Any]) -> tuple[str, str]:
    """Return the command line that a call runs, and the folder, if it says which one; no line if it runs none."""
    if not _PATH_NAMES.isdisjoint(arguments) and _first_text(arguments, _PATHS):
        return "", ""
    return _first_text(arguments, _COMMANDS) or several_commands(arguments), _folder(arguments)


def _folder(arguments: dict[str, Any]) -> str:
    folder = _first_text(arguments, _FOLDERS) if len(arguments) > 1 else ""
    return folder if shell.is_path(folder) else ""


def _command_effect(command: str, folder: str) -> Effect:
    effect = command_effect(command, folder)
    result = Purpose.SHOW if effect.shows else Purpose.COMMAND
    if not effect.writes and is_patch(command):  # `["apply_patch", PATCH]`
        return Effect(Purpose.CHANGE, result, _patched(command))
    purpose = {"": result, shell.WRITTEN: Purpose.WRITE, shell.CHANGED: Purpose.CHANGE}[effect.writes]
    if purpose is Purpose.COMMAND or not effect.paths:
        return Effect(purpose, result, (command[:LONGEST], *effect.paths))
    return Effect(purpose, result, effect.paths)


def _first_text(arguments: dict[str, Any], keys: tuple[str, ...]) -> str:
    """Return the first of these arguments that is given and has a text; "" if none has."""
    for key in keys:
        if key in arguments and (text := text_of(arguments[key])):
            return text
    return ""


def _patched(patch: str) -> tuple[str, ...]:
    paths = (plain_path(touch.path) for touch in shell.patch_touches(patch[:_LONGEST_PATCH]))
    return tuple(dict.fromkeys(paths))[:MOST_PATHS]


def is_file_read(call_id: str, tool: str) -> bool:
    """Whether a call reads a file, by its id or by the name of its tool."""
    return call_id.startswith(READ_ID) or tool in READERS


def subject_of(call: Call) -> str:
    """Return the path, command, URL, pattern or query in the arguments of a call; "" if there is none."""
    arguments = arguments_of(call)
    named = next((text for key in KEYS if key in arguments and (text := text_of(arguments[key]))), "")
    return (named or " ".join(listed_paths(call.name, arguments)) or several_commands(arguments))[:LONGEST]


def arguments_of(call: Call) -> dict[str, Any]:
    """Return the arguments of a call by name. Text alone, as some tools take it, is the `input`."""
    raw = call.input if call.input is not None else call.raw
    if isinstance(raw, dict):
        return raw
    if not isinstance(raw, str):
        return {}
    decoded = _decoded(raw) if raw.startswith("{") else None
    return decoded if isinstance(decoded, dict) else {"input": raw}


def is_patch(value: Any) -> bool:
    """Whether an argument is a patch in the form of `apply_patch`."""
    return isinstance(value, str) and "*** Begin Patch" in value[:_LONGEST_PATCH]


def text_of(value: Any) -> str:
    """Return an argument as text: a string, or the words of a command line. Of `bash -c LINE` only the line."""
    if isinstance(value, str):
        listed = _decoded(value) if value.startswith('["') else None
        return text_of(listed) if isinstance(listed, list) else value.strip()
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        runs_line = len(value) == 3 and value[1] in ("-c", "-lc")
        return str(value[2] if runs_line else " ".join(value)).strip()
    return ""


def _decoded(text: str) -> Any:
    """Return the JSON value of a text; None if it is none, or too long to be worth a try."""
    if len(text) > shell.MOST:
        return None
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
