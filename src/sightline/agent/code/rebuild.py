"""What an index would say, read from the files alone."""

import re
from collections import defaultdict
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from sightline.agent.code.files import META, Directory, Shelf, noted
from sightline.agent.code.versions import ID, Saved, described, extensions, measured
from sightline.shorten.outline.languages import language_of_path
from sightline.values.clock import iso

_ENDING = "|".join(map(re.escape, (META, *extensions())))
_NAME = re.compile(rf"(?P<stem>(?P<id>{ID})(?:\.(?P<version>[1-9][0-9]{{0,8}}))?)(?P<ending>{_ENDING})")


class Rebuilt(Struct, frozen=True):
    """What was found when an index was made again from the files."""

    codes: int = 0
    versions: int = 0
    adopted: tuple[str, ...] = ()  # paths of files of which nothing was known: who made them, and what they do
    changed: tuple[str, ...] = ()  # paths of files that somebody has edited since they were stored
    missing: tuple[str, ...] = ()  # what is known of a file that is gone
    set_aside: str = ""  # the name that an index which could not be read has now


class _Found(NamedTuple):
    """One version, as its files have it."""

    saved: Saved | None
    is_adopted: bool = False
    is_changed: bool = False
    missing: str = ""


def gathered(shelf: Shelf) -> tuple[list[Saved], Rebuilt]:
    """Every version that the files hold: as the store wrote it down or, where that is lost, as the file itself says."""
    found = [*_in(shelf.versions, "data/versions/"), *_in(shelf.data, "data/")]
    versions = _numbered(_in_order([each.saved for each in found if each.saved]))
    return versions, Rebuilt(
        codes=len({each.code_id for each in versions}),
        versions=len(versions),
        adopted=tuple(each.saved.path for each in found if each.saved and each.is_adopted),
        changed=tuple(each.saved.path for each in found if each.saved and each.is_changed),
        missing=tuple(each.missing for each in found if each.missing),
    )


def _in(directory: Directory, place: str) -> list[_Found]:
    endings: dict[str, list[str]] = defaultdict(list)
    named: dict[str, re.Match[str]] = {}
    for name in directory.names():
        match = _NAME.fullmatch(name)
        if match and bool(match["version"]) == place.endswith("versions/") and directory.is_file(name):
            endings[match["stem"]].append(match["ending"])
            named[match["stem"]] = match
    return [_version(directory, place, named[stem], each) for stem, each in endings.items()]


def _version(directory: Directory, place: str, name: re.Match[str], endings: list[str]) -> _Found:
    stem, code_id = name["stem"], name["id"]
    known = noted(directory, stem + META)
    if known and known.code_id != code_id:
        known = None
    names = [stem + ending for ending in endings if ending != META]
    if not names:
        return _Found(None, missing=f"{place}{stem}{META}")
    file = known.file_name if known and known.file_name in names else max(names, key=directory.modified)
    saved = known or adopted(directory, file, code_id, int(name["version"] or 0))  # 0: the newest, not known yet
    now = measured(replace(saved, path=place + file, language=language_of_path(file)), directory.read(file))
    return _Found(now, is_adopted=known is None, is_changed=known is not None and known.digest != now.digest)


def adopted(directory: Directory, file: str, code_id: str, version: int) -> Saved:
    """A file that somebody else put there, or of which nothing is known any more."""
    when, code = iso(directory.modified(file)), directory.read(file).decode("utf-8", "replace")
    return Saved(code_id, language_of_path(file), described(code), 0, 0, when, version, f"data/{file}", updated_at=when)


def _in_order(found: list[Saved]) -> list[Saved]:
    """Without what a crash left over: only one version of a code is the newest, and the others are older."""
    kept: dict[str, list[Saved]] = defaultdict(list)
    for saved in found:  # the earlier ones first
        if saved.is_put_by:
            kept[saved.code_id].append(saved)
            continue
        last = max((each.version for each in kept[saved.code_id]), default=0)
        newest = saved if saved.version else replace(saved, version=last + 1)
        earlier = [each for each in kept[saved.code_id] if each.version < newest.version]
        kept[saved.code_id] = [*earlier, newest]
    return [each for versions in kept.values() for each in versions]


def _numbered(versions: list[Saved]) -> list[Saved]:
    """With the number of its code in each version. A code without one comes after those that have theirs."""
    numbers: dict[str, int] = defaultdict(int)
    for each in versions:
        numbers[each.code_id] = max(numbers[each.code_id], each.number)
    last = max(numbers.values(), default=0)
    for each in sorted(versions, key=lambda saved: (saved.created_at, saved.code_id)):
        if not numbers[each.code_id]:
            numbers[each.code_id] = last = last + 1
    return [replace(each, number=numbers[each.code_id]) for each in versions]
