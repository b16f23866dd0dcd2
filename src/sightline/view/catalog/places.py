"""Where sessions are: of one project, of all projects of a user, and imported ones. Each has an id that says where."""

import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec

from sightline.errors import SessionNotFound
from sightline.log.stores import Stores, as_placed
from sightline.log.stores.project_folder import folder_name, is_own_name
from sightline.log.stores.session_folder import Folder, sightline_home
from sightline.values.decoders import decode_json

IMPORTED = "imported"
SAMPLES = "samples"
# In the home, made from the logs.
KEPT = SEARCH_FOLDER, LIST_FILE, SAVINGS_FILE = "search", "session-list.msgpack", "session-savings.json"
_USUAL = ".sightline"  # the name of the home, unless it is set
_AT = "@"  # between the id of a session and its place; no id has it
_BEGINNING = 1 << 16  # bytes of a log in which an entry names its project


class _Entry(msgspec.Struct):
    cwd: str = ""


class Place(NamedTuple):
    """The sessions of one place. `key` ends the ids of its sessions; it is empty for the project itself."""

    key: str
    project: Path  # for apps and settings; the folder of the sessions where the project is not known
    stores: Stores

    def full_id(self, session_id: str) -> str:
        """Return the id by which a session is known among those of all places."""
        return f"{session_id}{_AT}{self.key}" if self.key else session_id


class Places:
    """The places whose sessions are shown: those of one project and imported ones; `everywhere`: of all projects.

    If all are shown, an imported session is among those of the project that its log names, if the folder of that is
    here. Others are in a folder of their own: of the user, or of the project if only that is shown. In a database they
    are among the others, because every server and command that uses it must see them; but not if those of all projects
    of this machine are shown, because looking at a file of this machine must not show it to others.
    `samples`: with those of all projects, also the sample sessions that somebody has looked at before.
    """

    def __init__(
        self,
        project: str | Path = ".",
        *,
        root: str | Path | None = None,
        stores: Stores | None = None,
        everywhere: bool = False,
        samples: bool = False,
    ) -> None:
        self.everywhere, self._samples, self.home = everywhere, samples, Path(root or sightline_home())
        self.own = Place("", Path(project), stores if stores is not None else Folder(project, root))
        self.imported = self._place_for_imports()

    @property
    def may_keep(self) -> bool:
        """Whether lists of ours may be kept in the home: it is empty or ours, and no other program's folder."""
        try:
            names = {path.name for path in self.home.iterdir()}
        except OSError:
            return True  # mostly because there is none yet
        if not names or self.home.name == _USUAL or names & {IMPORTED, SAMPLES, *KEPT}:
            return True
        with suppress(OSError), os.scandir(self.home / "projects") as folders:
            return any(is_own_name(folder.name) for folder in folders)
        return False

    def all(self) -> list[Place]:
        """Return the places that there are now."""
        imported = () if self.imported is self.own else (self.imported,)
        return [self.own, *(self._others() if self.everywhere else ()), *imported]

    def of_project(self, folder: str) -> Place | None:
        """Return the place of the project in this folder; None if there is no such folder, or not all are shown."""
        if not (self.everywhere and Path(folder).is_absolute() and Path(folder).is_dir()):
            return None
        stores, own = Folder(folder, self.home), self.own.stores
        if isinstance(own, Folder) and own.path == stores.path:
            return self.own
        return Place(_key_of(stores.path.name), Path(folder), stores)

    def find(self, full_id: str) -> tuple[Place, str]:
        """Return the place of a session, and its id there. Whether it exists is not looked at.

        Raises SessionNotFound if there is no such place.
        """
        session_id, at, key = full_id.partition(_AT)
        if not at:
            return self.own, session_id
        if key == self.imported.key:
            return self.imported, session_id
        for place in self._others() if self.everywhere else ():
            if place.key == key:
                assert isinstance(place.stores, Folder)
                return place._replace(project=_project_of(place.stores, session_id)), session_id
        raise SessionNotFound(full_id, str(self.home))

    def _place_for_imports(self) -> Place:
        above, own = self.home, self.own.stores
        if not self.everywhere:
            if isinstance(own, Folder):
                above = own.path
            elif as_placed(own) is not None:
                return self.own
        return Place(IMPORTED, above / IMPORTED, Folder.at(above / IMPORTED))

    def _others(self) -> list[Place]:
        own = self.own.stores.path if isinstance(self.own.stores, Folder) else None
        samples = self.home / SAMPLES
        places = [Place(SAMPLES, samples, Folder.at(samples))] if self._samples else []
        with suppress(OSError), os.scandir(self.home / "projects") as folders:
            for folder in folders:
                path = Path(folder.path)
                if folder.is_dir(follow_symlinks=False) and path != own:
                    places.append(Place(_key_of(folder.name), path, Folder.at(path)))
        return sorted(places, key=lambda place: place.project)


def _key_of(name: str) -> str:
    """Return the key of the place in a folder of this name."""
    return blake2b(os.fsencode(name), digest_size=4).hexdigest()


def _project_of(folder: Folder, session_id: str) -> Path:
    """Return the project that a log names, if its folder is really that project's; else the folder itself.

    The folder's name proves it: a log could name any path, and apps may open the files of a project.
    """
    with suppress(OSError), folder.file(session_id).open("rb") as file:
        for line in file.read(_BEGINNING).split(b"\n"):
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                cwd = decode_json(line, _Entry).cwd
                if cwd and folder_name(cwd) == folder.path.name and Path(cwd).is_dir():
                    return Path(cwd)
    return folder.path
