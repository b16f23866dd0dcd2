"""The folders of a project that apps and summaries may read. Keys and secrets in them are excluded."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from sightline.errors import BadInput
from sightline.files.secrets import has_secret, is_own, is_readable, is_secret_path

Folders = tuple[str, ...]  # relative to the project's folder
PROJECT: Folders = (".",)  # the project's folder and everything in it
CONFIGURATION = "sightline.toml"  # it may contain a key, and it says what a model may do


class ResolvedFolders(tuple[str, ...]):
    """Folders as real paths, resolved once: a link that is made later leads into none of them."""

    readable: tuple[str, ...] = ()  # patterns of secret files that the user allows


class _Tools(Struct, frozen=True):
    folders: Folders = PROJECT


class _Configuration(Struct, frozen=True):
    """The part of the configuration file that is read here."""

    tools: _Tools = _Tools()


class AllowedFolders(NamedTuple):
    """A project's folder and the folders in it that may be read, as real paths. Its methods take real paths too."""

    root: Path
    folders: tuple[Path, ...]
    readable: tuple[str, ...] = ()

    def contain(self, place: Path) -> bool:
        return any(place.is_relative_to(folder) for folder in self.folders)

    def is_secret(self, written: str, place: Path) -> bool:
        """Whether a path is a file of keys or secrets, by a name in the path as it was written or as it was resolved.

        The project's configuration file is always one, also through a link of another name.
        """
        if self.is_ours(written, place):
            return True
        ways = self._ways(written, place)
        return any(is_secret_path(way, self.root) for way in ways) and not is_readable(place, self.root, self.readable)

    def is_ours(self, written: str, place: Path) -> bool:
        """Whether a path is a file of Sightline's own, which no setting allows to be read."""
        with suppress(OSError):  # one of the files does not exist
            if place.samefile(self.root / CONFIGURATION):
                return True
        return any(is_own(way, self.root) for way in self._ways(written, place))

    def _ways(self, written: str, place: Path) -> tuple[Path, Path]:
        return Path(os.path.normpath(self.root / written)), place

    def holds_secret(self, place: Path, data: bytes) -> bool:
        """Whether what is in a file is secret."""
        return has_secret(data) and not is_readable(place, self.root, self.readable)


def resolve_folders(project: Path, folders: Iterable[str]) -> ResolvedFolders:
    """The real paths of folders of a project, with all links followed. Those already resolved stay as they are."""
    if isinstance(folders, ResolvedFolders):
        return folders
    root = project.resolve()
    return ResolvedFolders(str((root / folder).resolve()) for folder in folders)


def configured(project: Path) -> Folders:
    """The folders that the project's `sightline.toml` allows, as far as they are inside the project.

    Folders outside are ignored, because the user has not confirmed here that the file may be trusted.

    Raises:
        BadInput: the file cannot be read, or has something else in this place.
    """
    root, file = project.resolve(), project / CONFIGURATION
    if not file.is_file():
        return resolve_folders(project, PROJECT)
    try:
        folders = msgspec.toml.decode(file.read_bytes(), type=_Configuration).tools.folders
    except (OSError, ValueError, RecursionError, msgspec.DecodeError) as error:
        raise BadInput(f"{file} does not say which folders may be read; correct it: {error}") from error
    allowed = AllowedFolders(root, tuple(map(Path, resolve_folders(project, folders))))
    if allowed.contain(root):
        return resolve_folders(project, PROJECT)
    return ResolvedFolders(str(folder) for folder in allowed.folders if folder.is_relative_to(root))


def allowed_folders(project: Path, folders: Folders = PROJECT) -> AllowedFolders:
    """The real path of a project, and these folders of it. Links on the way to a folder are not followed."""
    root = project.resolve()
    real = tuple(Path(os.path.normpath(root / folder)) for folder in folders)
    return AllowedFolders(root, real, folders.readable if isinstance(folders, ResolvedFolders) else ())
