"""The artifact trail: which files were created, changed, read and deleted, how often, and why."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sightline.digest import shell
from sightline.digest.shell import CHANGED, DELETED, READ, WRITTEN, Touch
from sightline.digest.steps import Step, one_line, read
from sightline.items import Item
from sightline.renditions.values import values_in

WHY = 110  # characters of a reason
TELLING = 32  # characters from which a sentence without any name tells more than the edit: "fix that" does not

_PATH_KEYS = (
    "file_path",
    "filePath",
    "notebook_path",
    "path",
    "filename",
    "file_name",
    "file",
    "target_file",
    "filepath",
)
_READERS = "read read_file readfile view view_file open open_file cat fs_read notebookread get_file_contents"
_WRITERS = "write write_file writefile create create_file save_file write_to_file fs_write"
_EDITORS = (
    "edit multiedit notebookedit edit_file multi_edit str_replace insert insert_line replace replace_in_file "
    "apply_diff search_replace edit_notebook append_file"
)
_REMOVERS = "delete delete_file remove_file"
_TOOLS = ((_READERS, READ), (_WRITERS, WRITTEN), (_EDITORS, CHANGED), (_REMOVERS, DELETED))
_ACTIONS = {name: action for tools, action in _TOOLS for name in tools.split()}
_COMMAND_KEYS = ("command", "cmd")
_WAS_THERE = re.compile(
    r"(?:has been|was) (?:updated|overwritten|modified)|\boverwrote|successfully (?:overwr|updat)", re.I
)
_WAS_NOT = re.compile(r"\bcreated\b|new file|新建|已创建", re.I)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
# What a sentence may begin with before it says anything.
_FILLER = re.compile(
    r"^(?:(?:now|ok(?:ay)?|great|good|perfect|alright|excellent|right|next|first|finally|then|so)\b[,.!: —-]*)*"
    r"(?:(?:let me|let's|i'll|i will|i need to|i'm going to|we need to|now i)\b[,: ]*(?:now |also |first )?)?",
    re.I,
)


class Touched(Struct, frozen=True):
    """A file, how often what was done to it, why the last time, and the item that did it."""

    path: str
    created: int = 0
    changed: int = 0
    read: int = 0
    deleted: int = 0
    why: str = ""
    last: str = ""
    place: int = -1  # of that item in the run; below 0: before it

    @property
    def times(self) -> int:
        return self.created + self.changed + self.read + self.deleted

    @property
    def altered(self) -> bool:
        return bool(self.created or self.changed or self.deleted)


def trail(items: Iterable[Item]) -> list[Touched]:
    """Every file the tool calls touched, in the order of their first touch.

    Understood are tools that name a path, patches, and plain shell commands, whatever agent made them. A call that
    failed touched nothing. A relative path is the same file as the one absolute path that ends with it.
    """
    return trail_of(read(items).steps)


def trail_of(steps: Iterable[Step], earlier: Iterable[Touched] = ()) -> list[Touched]:
    """The trail of steps that goes on from an earlier one."""
    scripts: dict[str, str] = {}
    done = [(step, touch) for step in steps for touch in touches_of(step, scripts)]
    files = {touched.path: touched for touched in earlier}
    known = _absolute({touch.path for _, touch in done} | set(files))
    for path in [path for path in files if path in known]:
        _merge(files, known[path], files.pop(path))
    for step, touch in done:
        path = known.get(touch.path, touch.path)
        files[path] = _with(files.get(path) or Touched(path), step, touch.action)
    return list(files.values())


def touches_of(step: Step, scripts: dict[str, str] | None = None) -> list[Touch]:
    """What one call did to files. `scripts` are those written before it; see `shell.touches`."""
    name = step.call.name.rpartition("__")[2].rpartition(".")[2].lower()
    given = step.call.input if isinstance(step.call.input, dict) else {"input": step.call.input or step.call.raw}
    patch = next((text for text in _texts(given.values()) if "*** Begin Patch" in text), "")
    if patch:
        found = shell.patched(patch)
        return [] if step.failed else [_cleaned(touch) for touch in found]
    path = next((given[key] for key in _PATH_KEYS if isinstance(given.get(key), str) and given[key]), "")
    if path:
        action = _ACTIONS.get(name) or _by_verb(name, given)
        return [_cleaned(Touch(path, action))] if action and not step.failed else []
    command = shell_command(step)
    return [_cleaned(touch) for touch in shell.touches(command, scripts) if _is_there(touch, step)] if command else []


def shell_command(step: Step) -> str:
    """The command line a call runs; "" if it runs none."""
    given = step.call.input
    if not isinstance(given, dict):
        return ""
    for key in _COMMAND_KEYS:
        match given.get(key):
            case str(line):
                return line
            case [str(), "-c" | "-lc", str(line)]:
                return line
            case [*words] if words and all(isinstance(word, str) for word in words):
                return " ".join(words)
    return ""


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (member for member in value if isinstance(member, str))


def _by_verb(name: str, given: dict[str, Any]) -> str:
    """The action of a tool that takes it as an argument, as text editors do; told nothing, they show the file."""
    match given.get("command") or given.get("action"):
        case "view" | "read" | "open":
            return READ
        case "create" | "write":
            return WRITTEN
        case "str_replace" | "insert" | "edit" | "replace" | "undo_edit" | "append":
            return CHANGED
        case "delete" | "remove":
            return DELETED
        case None if "editor" in name and not {"old_str", "new_str", "file_text"} & given.keys():
            return READ
        case _:
            return ""


def _cleaned(touch: Touch) -> Touch:
    path = touch.path.strip()
    return Touch(path[2:] if path.startswith("./") else path, touch.action)


def _is_there(touch: Touch, step: Step) -> bool:
    """Whether a failed command says nothing of this file missing."""
    return not (step.failed and f"{touch.path}: No such file" in step.result)


def _absolute(paths: set[str]) -> dict[str, str]:
    """The relative paths that only one absolute path ends with."""
    ends: dict[str, str] = {}
    relative = {path for path in paths if not path.startswith(("/", "~"))}
    for path in sorted(paths - relative):
        at = path.find("/", 1)
        while at >= 0:
            end = path[at + 1 :]
            if end in relative:
                ends[end] = "" if end in ends else path
            at = path.find("/", at + 1)
    return {end: path for end, path in ends.items() if path}


def _merge(files: dict[str, Touched], path: str, other: Touched) -> None:
    """Adds what was done to a file under another name."""
    one = files.get(path)
    files[path] = replace(other, path=path) if one is None else Touched(
        path, one.created + other.created, one.changed + other.changed, one.read + other.read,
        one.deleted + other.deleted, one.why or other.why, one.last or other.last, max(one.place, other.place),
    )  # fmt: skip


def _with(file: Touched, step: Step, action: str) -> Touched:
    if action == WRITTEN:
        action = CHANGED if _existed(file, step.result[:200]) else "created"
    why = _why(step, action)
    if file.altered and action == READ:
        why = file.why or why  # why it was changed says more
    return replace(file, **{action: getattr(file, action) + 1}, why=why or file.why, last=step.id, place=step.place)


def _existed(file: Touched, result: str) -> bool:
    if _WAS_THERE.search(result):
        return True
    if _WAS_NOT.search(result):
        return False
    return (file.times > 0 and not file.deleted) or file.deleted < file.created


def _why(step: Step, action: str) -> str:
    """The assistant's last sentence before the call, else the gist of the edit."""
    sentences = [line for line in _SENTENCE.split(step.said.strip()) if len(line.strip()) > 8]
    said = one_line(_FILLER.sub("", sentences[-1].strip(), count=1), WHY).rstrip(".:：。 ") if sentences else ""
    if action == READ or len(said) > TELLING or values_in(said):
        return said
    return edit_gist(step.call.input) or said


def edit_gist(given: Any) -> str:
    """The first line an edit brings in; "" where that cannot be told."""
    if not isinstance(given, dict):
        return ""
    edits = given.get("edits")
    if isinstance(edits, list) and edits and isinstance(edits[0], dict):
        given = edits[0]
    old, new = (given.get(key) if isinstance(given.get(key), str) else "" for key in ("old_string", "new_string"))
    old, new = old or str(given.get("old_str") or ""), new or str(given.get("new_str") or given.get("content") or "")
    before = set(map(str.strip, old[: shell.MOST].split("\n")))
    fresh = (line.strip() for line in new[: shell.MOST].split("\n"))
    return one_line(next((line for line in fresh if len(line) > 5 and line not in before), ""), WHY)
