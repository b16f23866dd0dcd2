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


class _StoredFile(NamedTuple):
    """One version: its path, its metadata if there is any, and as its file is; of a missing file only the metadata."""

    path: str
    metadata: Saved | None
    now: Saved | None = None

    @property
    def is_changed(self) -> bool:
        return bool(self.now and self.metadata and self.metadata.digest != self.now.digest)


def read_versions(shelf: Shelf) -> tuple[list[Saved], Rebuilt]:
    """Return every version in the files: its metadata or, if that is lost, what the file itself tells."""
    files = [*_read_directory(shelf.versions, "data/versions/"), *_read_directory(shelf.data, "data/")]
    versions = _with_numbers(_without_leftovers([file.now for file in files if file.now]))
    return versions, Rebuilt(
        codes=len({saved.code_id for saved in versions}),
        versions=len(versions),
        adopted=tuple(file.path for file in files if file.now and not file.metadata),
        changed=tuple(file.path for file in files if file.is_changed),
        missing=tuple(file.path for file in files if not file.now),
    )


def _read_directory(directory: Directory, place: str) -> list[_StoredFile]:
    files: dict[str, list[re.Match[str]]] = defaultdict(list)
    for name in directory.names():
        match = _NAME.fullmatch(name)
        if match and bool(match["version"]) == place.endswith("versions/") and directory.is_file(name):
            files[match["stem"]].append(match)
    return [_read_version(directory, place, matches) for matches in files.values()]


def _read_version(directory: Directory, place: str, files: list[re.Match[str]]) -> _StoredFile:
    meta, code_id = files[0]["stem"] + META, files[0]["id"]
    metadata = read_metadata(directory, meta)
    if metadata and metadata.code_id != code_id:
        metadata = None
    names = [match[0] for match in files if match["ending"] != META]
    if not names:
        return _StoredFile(place + meta, metadata)
    file = metadata.file_name if metadata and metadata.file_name in names else max(names, key=directory.modified)
    saved = metadata or adopt(
        directory, file, code_id, int(files[0]["version"] or 0)
    )  # 0: the newest, number not yet known
    now = measured(replace(saved, path=place + file, language=language_of_path(file)), directory.read(file))
    return _StoredFile(now.path, metadata, now)


def adopt(directory: Directory, file: str, code_id: str, version: int) -> Saved:
    """Return metadata for a file that has none."""
    when, code = iso(directory.modified(file)), directory.read(file).decode("utf-8", "replace")
    return Saved(code_id, language_of_path(file), described(code), 0, 0, when, version, f"data/{file}", updated_at=when)


def _without_leftovers(stored: list[Saved]) -> list[Saved]:
    """Drop what a crash left: only one version of a code is the newest, and the others are older."""
    kept: dict[str, list[Saved]] = defaultdict(list)
    for saved in stored:  # the earlier ones first
        if saved.is_earlier:
            kept[saved.code_id].append(saved)
            continue
        last = max((other.version for other in kept[saved.code_id]), default=0)
        newest = saved if saved.version else replace(saved, version=last + 1)
        earlier = [other for other in kept[saved.code_id] if other.version < newest.version]
        kept[saved.code_id] = [*earlier, newest]
    return [saved for versions in kept.values() for saved in versions]


def _with_numbers(versions: list[Saved]) -> list[Saved]:
    """Give each version the number of its code. Codes without a number come after the others."""
    numbers: dict[str, int] = defaultdict(int)
    for version in versions:
        numbers[version.code_id] = max(numbers[version.code_id], version.number)
    last = max(numbers.values(), default=0)
    for version in sorted(versions, key=lambda saved: (saved.created_at, saved.code_id)):
        if not numbers[version.code_id]:
            numbers[version.code_id] = last = last + 1
    return [replace(version, number=numbers[version.code_id]) for version in versions]
