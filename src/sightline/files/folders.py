"""Where in a project apps and summaries may look: in the folders they are held to, at nothing of keys or secrets."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from sightline.errors import BadInput
from sightline.files.project import is_secret

Folders = tuple[str, ...]  # said from the project's own on
PROJECT: Folders = (".",)  # the project's folder and all in it
CONFIGURATION = "sightline.toml"  # it may hold a key, and says what a model may do


class ResolvedFolders(tuple[str, ...]):
    """Folders by where they really are, found out once: what becomes a link later leads into none of them."""


class _Tools(Struct, frozen=True):
    folders: Folders = PROJECT


class _Configuration(Struct, frozen=True):
    """What is read of the file here; the rest of it is others' business."""

    tools: _Tools = _Tools()


class Grounds(NamedTuple):
    """A project's folder, and those in which may be looked, as real paths; so is every place that is asked about."""

    root: Path
    folders: tuple[Path, ...]

    def hold(self, place: Path) -> bool:
        """Whether a place is in one of the folders."""
        return any(place.is_relative_to(folder) for folder in self.folders)

    def lead_through(self, place: Path) -> bool:
        """Whether a place is on the way to one of the folders."""
        return any(folder.is_relative_to(place) for folder in self.folders)

    def keep_secret(self, said: str, place: Path) -> bool:
        """Whether keys or secrets are meant by what was said: by a name on the way there, or by where it led.

        The project's configuration is one, whatever else it is called.
        """
        root = self.root
        ways = (Path(os.path.normpath(root / said)), place)
        names = [name for way in ways for name in (way.relative_to(root) if way.is_relative_to(root) else way).parts]
        return any(map(is_secret, names)) or _same(place, root / CONFIGURATION)


def resolve_folders(project: Path, folders: Iterable[str]) -> ResolvedFolders:
    """Where these folders of a project are now, all links followed; those that are settled stay where they were."""
    if isinstance(folders, ResolvedFolders):
        return folders
    root = project.resolve()
    return ResolvedFolders(str((root / folder).resolve()) for folder in folders)


def configured(project: Path) -> Folders:
    """The folders that the project's `sightline.toml` holds tools to: what of them lies in the project.

    Nobody has said here that the file is to be trusted beyond it.

    Raises:
        BadInput: the file does not say which.
    """
    root, file = project.resolve(), project / CONFIGURATION
    if not file.is_file():
        return resolve_folders(project, PROJECT)
    try:
        said = msgspec.toml.decode(file.read_bytes(), type=_Configuration).tools.folders
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise BadInput(f"{file} does not say which folders may be read; correct it: {error}") from error
    ours = Grounds(root, tuple(map(Path, resolve_folders(project, said))))
    if ours.hold(root):
        return resolve_folders(project, PROJECT)
    return ResolvedFolders(str(each) for each in ours.folders if each.is_relative_to(root))


def grounds(project: Path, folders: Folders = PROJECT) -> Grounds:
    """The project as it is now, and these folders of it. No link on the way to a folder is followed."""
    root = project.resolve()
    return Grounds(root, tuple(Path(os.path.normpath(root / folder)) for folder in folders))


def _same(this: Path, that: Path) -> bool:
    try:
        return this.samefile(that)
    except OSError:  # one of them is not there
        return False
