"""The trail of files: which were created, changed, read and deleted, how often, and why."""

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sightline.shorten.digest.steps import SENTENCE, Step, one_line, read_run
from sightline.shorten.identifiers import values_in
from sightline.shorten.shell import CHANGED, MOST, READ, WRITTEN
from sightline.values.items import Item
from sightline.values.pattern import pattern

REASON = 110  # characters of a reason
LONG_ENOUGH = 20  # bytes from which a sentence without a name says more than the edit; "fix that" does not
_LONGEST = 4_096  # characters of a path: no system has longer ones

_EXISTED = pattern(
    r"(?:has been|was) (?:updated|overwritten|modified)|\boverwrote|successfully (?:overwr|updat)|已(?:更新|覆盖|修改)",
    re.I,
)
_CREATED = pattern(r"\bcreated\b|new file|新建|已创建", re.I)
# Words at the beginning of a sentence that say nothing.
_FILLER = pattern(
    r"^(?:(?:now|ok(?:ay)?|great|good|perfect|alright|excellent|right|next|first|finally|then|so)\b[,.!: —-]*)*"
    r"(?:(?:let me|let's|i'll|i will|i need to|i'm going to|we need to|now i)\b[,: ]*(?:now |also |first )?)?"
    r"(?:(?:好的?|现在|首先|接下来|然后|那么|最后)[，,。！ ]*)*"
    r"(?:(?:让我们?|我来|我将|我会|我需要|我们需要)(?:先|再|也)?)?",
    re.I,
)


class Touched(Struct, frozen=True):
    """A file, how often each action was done to it, why the last time, and the item that did it."""

    path: str
    created: int = 0
    changed: int = 0
    read: int = 0
    deleted: int = 0
    why: str = ""
    last: str = ""
    place: int = -1  # of that item in the run; below 0 if it was before the run

    @property
    def times(self) -> int:
        return self.created + self.changed + self.read + self.deleted

    @property
    def altered(self) -> bool:
        return bool(self.created or self.changed or self.deleted)


def trail(items: Iterable[Item]) -> list[Touched]:
    """Return every file that the tool calls touched, in the order of the first touch.

    Tools that name a path, patches and plain shell commands are understood, whatever agent made them. A call that
    failed touched nothing. A relative path is the same file as the only absolute path that ends with it.
    """
    return extend_trail(read_run(items).steps)


def extend_trail(steps: Iterable[Step], previous: Iterable[Touched] = ()) -> list[Touched]:
    """Return the trail of the steps, continued from a previous one."""
    touches = [(step, touch) for step in steps for touch in step.touches]
    files = {touched.path: touched for touched in previous}
    absolute = _absolute_paths({touch.path for _, touch in touches} | set(files))
    for path in [path for path in files if path in absolute]:
        _merge(files, absolute[path], files.pop(path))
    for step, touch in touches:
        path = absolute.get(touch.path, touch.path)
        files[path] = _add_step(files.get(path) or Touched(path), step, touch.action)
    return list(files.values())


def _absolute_paths(paths: set[str]) -> dict[str, str]:
    """Map each relative path to the absolute path that ends with it, if there is only one."""
    ends: dict[str, str] = {}
    relative = {path for path in paths if not path.startswith(("/", "~")) and len(path) <= _LONGEST}
    longest = max(map(len, relative), default=0)  # no end of a path that is longer is one of these
    for path in sorted(path for path in paths if path.startswith(("/", "~"))):
        for end in (path[at + 1 :] for at in range(max(1, len(path) - longest - 1), len(path)) if path[at] == "/"):
            if end in relative:
                ends[end] = "" if end in ends else path
    return {end: path for end, path in ends.items() if path}


def _merge(files: dict[str, Touched], path: str, other: Touched) -> None:
    """Add what was done to a file under another name."""
    one = files.get(path)
    files[path] = replace(other, path=path) if one is None else Touched(
        path, one.created + other.created, one.changed + other.changed, one.read + other.read,
        one.deleted + other.deleted, one.why or other.why, one.last or other.last, max(one.place, other.place),
    )  # fmt: skip


def _add_step(file: Touched, step: Step, action: str) -> Touched:
    if action == WRITTEN:
        result = step.result[:200]
        was_there = (file.times > 0 and not file.deleted) or file.deleted < file.created
        existed = _EXISTED.search(result) or (was_there and not _CREATED.search(result))
        action = CHANGED if existed else "created"
    why = _reason(step, action)
    if file.altered and action == READ:
        why = file.why or why  # why it was changed says more
    return replace(file, **{action: getattr(file, action) + 1}, why=why or file.why, last=step.id, place=step.place)


def _reason(step: Step, action: str) -> str:
    """Return the assistant's last sentence before the call, or the first line that the edit adds."""
    lines = map(str.strip, SENTENCE.split(step.explanation.strip()))
    sentences = ["", *(line for line in lines if len(line.encode()) > 8)]
    explanation = one_line(_FILLER.sub("", sentences[-1], count=1), REASON).rstrip(".:：。 ")
    if action == READ or len(explanation.encode()) > LONG_ENOUGH or values_in(explanation):
        return explanation
    return _first_new_line(step.call.input) or explanation


def _first_new_line(arguments: Any) -> str:
    """Return the first line that an edit adds; "" if that is not known."""
    if not isinstance(arguments, dict):
        return ""
    edits = arguments.get("edits")
    if isinstance(edits, list) and edits and isinstance(edits[0], dict):
        arguments = edits[0]
    old, new = (
        _first_text(arguments, "old_string", "old_str"),
        _first_text(arguments, "new_string", "new_str", "content"),
    )
    before = set(map(str.strip, old.split("\n")))
    fresh = (line.strip() for line in new.split("\n"))
    return one_line(next((line for line in fresh if len(line) > 5 and line not in before), ""), REASON)


def _first_text(arguments: dict[str, Any], *keys: str) -> str:
    return next((value[:MOST] for key in keys if isinstance(value := arguments.get(key), str) and value), "")
