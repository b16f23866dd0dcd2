"""Where in a project apps and summaries may look: in the folders they are held to, at nothing of keys or secrets."""

import os
from pathlib import Path
from typing import NamedTuple

from sightline.project import is_secret

Folders = tuple[str, ...]  # said from the project's own on
PROJECT: Folders = (".",)  # the project's folder and all in it
CONFIGURATION = "sightline.toml"  # it may hold a key, and says what a model may do


class Grounds(NamedTuple):
    """A project's folder, and those in which may be looked. All are real paths, and so is every place asked about."""

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


def grounds(project: Path, folders: Folders = PROJECT) -> Grounds:
    """As they are now: a link may lead elsewhere the next time."""
    root = project.resolve()
    return Grounds(root, tuple((root / folder).resolve() for folder in folders))


def _same(this: Path, that: Path) -> bool:
    try:
        return this.samefile(that)
    except OSError:  # one of them is not there
        return False
