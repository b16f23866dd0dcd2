"""The artifact trail: which files were created, changed, read and deleted, how often, and why."""

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sightline.shorten.digest.shell import CHANGED, MOST, READ, WRITTEN
from sightline.shorten.digest.steps import SENTENCE, Step, one_line, read
from sightline.shorten.identifiers import values_in
from sightline.values.items import Item

WHY = 110  # characters of a reason
TELLING = 20  # bytes from which a sentence without any name tells more than the edit: "fix that" does not

_WAS_THERE = re.compile(
    r"(?:has been|was) (?:updated|overwritten|modified)|\boverwrote|successfully (?:overwr|updat)|已(?:更新|覆盖|修改)",
    re.I,
)
_WAS_NOT = re.compile(r"\bcreated\b|new file|新建|已创建", re.I)
# What a sentence may begin with before it says anything.
_FILLER = re.compile(
    r"^(?:(?:now|ok(?:ay)?|great|good|perfect|alright|excellent|right|next|first|finally|then|so)\b[,.!: —-]*)*"
    r"(?:(?:let me|let's|i'll|i will|i need to|i'm going to|we need to|now i)\b[,: ]*(?:now |also |first )?)?"
    r"(?:(?:好的?|现在|首先|接下来|然后|那么|最后)[，,。！ ]*)*"
    r"(?:(?:让我们?|我来|我将|我会|我需要|我们需要)(?:先|再|也)?)?",
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
    done = [(step, touch) for step in steps for touch in step.touches]
    files = {touched.path: touched for touched in earlier}
    known = _absolute({touch.path for _, touch in done} | set(files))
    for path in [path for path in files if path in known]:
        _merge(files, known[path], files.pop(path))
    for step, touch in done:
        path = known.get(touch.path, touch.path)
        files[path] = _with(files.get(path) or Touched(path), step, touch.action)
    return list(files.values())


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
    sentences = [line for line in SENTENCE.split(step.said.strip()) if len(line.strip().encode()) > 8]
    said = one_line(_FILLER.sub("", sentences[-1].strip(), count=1), WHY).rstrip(".:：。 ") if sentences else ""
    if action == READ or len(said.encode()) > TELLING or values_in(said):
        return said
    return edit_gist(step.call.input) or said


def edit_gist(given: Any) -> str:
    """The first line an edit brings in; "" where that cannot be told."""
    if not isinstance(given, dict):
        return ""
    edits = given.get("edits")
    if isinstance(edits, list) and edits and isinstance(edits[0], dict):
        given = edits[0]
    old, new = _first(given, "old_string", "old_str"), _first(given, "new_string", "new_str", "content")
    before = set(map(str.strip, old.split("\n")))
    fresh = (line.strip() for line in new.split("\n"))
    return one_line(next((line for line in fresh if len(line) > 5 and line not in before), ""), WHY)


def _first(given: dict[str, Any], *keys: str) -> str:
    return next((value[:MOST] for key in keys if isinstance(value := given.get(key), str) and value), "")
