"""The content of an index, read from the files alone."""

import re
from collections import defaultdict
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from sightline.agent.tools.code_by_id import ID
from sightline.documents.code.files import META, Directory, Shelf, read_metadata
from sightline.documents.code.versions import EXTENSIONS, Saved, described, measured
from sightline.shorten.outline.languages import language_of_path
from sightline.values.clock import iso

_ENDING = "|".join(map(re.escape, (META, *EXTENSIONS)))
_NAME = re.compile(rf"(?P<stem>(?P<id>{ID})(?:\.(?P<version>[1-9][0-9]{{0,8}}))?)(?P<ending>{_ENDING})")


class Rebuilt(Struct, frozen=True):
    """What was found when an index was rebuilt from the files."""

    codes: int = 0
    versions: int = 0
    adopted: tuple[str, ...] = ()  # paths of files without metadata
    changed: tuple[str, ...] = ()  # paths of files that were edited since they were stored
    missing: tuple[str, ...] = ()  # paths of metadata whose file is missing
    set_aside: str = ""  # the new name of an index that could not be read


class _Found(NamedTuple):
    """One version: its path, its metadata if there is any, and as its file is; of a missing file only the metadata."""

    path: str
    known: Saved | None
    now: Saved | None = None


def read_versions(shelf: Shelf) -> tuple[list[Saved], Rebuilt]:
    """Return every version in the files: its metadata or, if that is lost, what the file itself tells."""
    found = [*_read_directory(shelf.versions, "data/versions/"), *_read_directory(shelf.data, "data/")]
    versions = _with_numbers(_without_leftovers([each.now for each in found if each.now]))
    return versions, Rebuilt(
        codes=len({each.code_id for each in versions}),
        versions=len(versions),
        adopted=tuple(each.path for each in found if each.now and not each.known),
        changed=tuple(each.path for each in found if each.now and each.known and each.known.digest != each.now.digest),
        missing=tuple(each.path for each in found if not each.now),
    )


def _read_directory(directory: Directory, place: str) -> list[_Found]:
    files: dict[str, list[re.Match[str]]] = defaultdict(list)
    for name in directory.names():
        match = _NAME.fullmatch(name)
        if match and bool(match["version"]) == place.endswith("versions/") and directory.is_file(name):
            files[match["stem"]].append(match)
    return [_read_version(directory, place, matches) for matches in files.values()]


def _read_version(directory: Directory, place: str, files: list[re.Match[str]]) -> _Found:
    meta, code_id = files[0]["stem"] + META, files[0]["id"]
    known = read_metadata(directory, meta)
    if known and known.code_id != code_id:
        known = None
    names = [match[0] for match in files if match["ending"] != META]
    if not names:
        return _Found(place + meta, known)
    file = known.file_name if known and known.file_name in names else max(names, key=directory.modified)
    saved = known or adopt(
        directory, file, code_id, int(files[0]["version"] or 0)
    )  # 0: the newest, number not yet known
    now = measured(replace(saved, path=place + file, language=language_of_path(file)), directory.read(file))
    return _Found(now.path, known, now)


def adopt(directory: Directory, file: str, code_id: str, version: int) -> Saved:
    """Return metadata for a file that has none."""
    when, code = iso(directory.modified(file)), directory.read(file).decode("utf-8", "replace")
    return Saved(code_id, language_of_path(file), described(code), 0, 0, when, version, f"data/{file}", updated_at=when)


def _without_leftovers(found: list[Saved]) -> list[Saved]:
    """Drop what a crash left: only one version of a code is the newest, and the others are older."""
    kept: dict[str, list[Saved]] = defaultdict(list)
    for saved in found:  # the earlier ones first
        if saved.is_earlier:
            kept[saved.code_id].append(saved)
            continue
        last = max((each.version for each in kept[saved.code_id]), default=0)
        newest = saved if saved.version else replace(saved, version=last + 1)
        earlier = [each for each in kept[saved.code_id] if each.version < newest.version]
        kept[saved.code_id] = [*earlier, newest]
    return [each for versions in kept.values() for each in versions]


def _with_numbers(versions: list[Saved]) -> list[Saved]:
    """Give each version the number of its code. Codes without a number come after the others."""
    numbers: dict[str, int] = defaultdict(int)
    for each in versions:
        numbers[each.code_id] = max(numbers[each.code_id], each.number)
    last = max(numbers.values(), default=0)
    for each in sorted(versions, key=lambda saved: (saved.created_at, saved.code_id)):
        if not numbers[each.code_id]:
            numbers[each.code_id] = last = last + 1
    return [replace(each, number=numbers[each.code_id]) for each in versions]
