"""The files of a project."""

import os
import stat
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from sightline.apps import Element, Lod, Page, Refused, action
from sightline.apps.anchors import NAME
from sightline.apps.builtin.app import BuiltinApp
from sightline.files.folders import allowed_folders
from sightline.files.gitignore import IgnoreRules, rules_of
from sightline.files.secrets import is_secret
from sightline.files.textfile import Stamp

MOST = 50  # entries shown of one folder; a pattern finds the others


class Entry(NamedTuple):
    """A folder, file, link or something other in a folder. Links are shown, not followed."""

    kind: str
    name: str
    leads_to: str = ""


class Listing(NamedTuple):
    """The entries of a folder, or why they cannot be read."""

    modified: int  # nanoseconds since 1970; 0 if it has to be read again
    entries: tuple[Entry, ...] = ()
    problem: str = ""
    rules: IgnoreRules = IgnoreRules()  # what git ignores there
    named: frozenset[str] = frozenset()  # folders there that are shown although git ignores them: somebody named them


class Files(BuiltinApp):
    """Show the files of the project as a tree whose folders are expanded and folded."""

    name = "files"
    zh = "项目文件树：展开与折叠文件夹"
    expanded: list[str]  # folders, by their paths
    pattern: str

    def __init__(self) -> None:
        self.expanded, self.pattern = [], ""
        self._listings: dict[str, Listing] = {}  # of the folders that are shown, by their paths; the project's is ""

    def opened(self) -> None:
        """Read the project's folder, and expand the one that the window is for."""
        if self.target:
            self.expand(self.target)
        self.refresh()

    def restore(self, state: Any) -> None:
        """Restore which folders are expanded, with the files that there are now."""
        super().restore(state)
        self.refresh()

    def refresh(self) -> bool:
        """Read again the shown folders that have changed."""
        before, self._listings = self._listings, {}
        waiting = [""]
        while waiting:
            path = waiting.pop()
            listing = self._listings[path] = self._listing(path, before.get(path))
            inside = (_join(path, entry.name) for entry in listing.entries if entry.kind == "folder")
            waiting += [folder for folder in inside if folder in self.expanded]
        return _visible(before) != _visible(self._listings)

    @action(label="Expand a folder", zh="展开文件夹")
    def expand(self, path: str) -> str:
        """Show what is in a folder, also one that git ignores, if it is named exactly."""
        path, above = self._to_path(path), ""
        for name in PurePosixPath(path).parts or ("",):
            # Neither a link nor a path that leads out is a folder.
            if Entry("folder", name) not in self._listing(above, more=name).entries:
                raise Refused(self._say("no folder", path=path))
            above = _join(above, name)
            self.expanded = sorted({*self.expanded, above})
        return self._say("expanded folder", above=above)

    @action(label="Fold a folder", zh="折叠文件夹")
    def fold(self, path: str) -> str:
        """Show a folder without what is in it."""
        path = self._to_path(path)
        if path not in self.expanded:
            raise Refused(self._say("not expanded", path=path))
        self.expanded = [folder for folder in self.expanded if folder != path]
        return self._say("folded folder", path=path)

    @action(label="Open a file in the editor", zh="在编辑器中打开文件")
    def open(self, path: str) -> str:
        """Open a file in a window of the editor, or say in which it is open."""
        if "editor" not in self.host.apps:
            raise Refused(self._say("no editor"))
        path = self._to_path(path)
        editors = [window for window in self.host.all() if window.app.name == "editor"]
        open_ids = [editor.id for editor in editors if getattr(editor.app, "path", "") == path]
        window_id = open_ids[0] if open_ids else self.host.open("editor", path)
        return self._say("opened in", path=path, window_id=window_id)

    @action(label="Show only files whose names match, such as *.py; no pattern shows all", zh="按名称筛选文件，如 *.py")
    def filter(self, pattern: str = "") -> str:
        """Show only the files whose names match a pattern, such as *.py. Without one, show all."""
        self.pattern = pattern.strip()
        return self._say("files shown", pattern=self.pattern or self._say("all files"))

    def view(self, lod: Lod) -> Page:
        """GIST: how many; SUMMARY: the folders; FULL: also the files of those that are expanded."""
        counts = self._counts("") + (f" | {self.pattern}" if self.pattern else "")
        elements = () if lod is Lod.GIST else self._elements("", lod)
        return Page(self._say("files title"), (Element(tag="project", text=counts), *elements))

    def _counts(self, path: str) -> str:
        kinds = [entry.kind == "folder" for entry in self._listings[path].entries]
        counts = (("folders", kinds.count(True)), ("files", kinds.count(False)))
        folders, files = (self._say(f"{kind} one" if n == 1 else kind, n=n) for kind, n in counts)
        return self._say("folders and files", folders=folders, files=files)

    def _elements(self, path: str, lod: Lod) -> Iterator[Element]:
        """Return the elements of a folder. Folders come first, so that every level shows the same ones."""
        listing = self._listings[path]
        if listing.problem:
            yield Element(tag="error", text=listing.problem)
        entries = [
            entry
            for entry in listing.entries
            if entry.kind == "folder" or (lod is Lod.FULL and fnmatchcase(entry.name, self.pattern or "*"))
        ]
        yield from (self._element(_join(path, entry.name), entry, lod) for entry in entries[:MOST])
        if (more := len(entries) - MOST) > 0:
            yield Element(tag="more", text=self._say("more entries", more=more))

    def _element(self, path: str, entry: Entry, lod: Lod) -> Element:
        match entry.kind:
            case "folder" if path in self._listings:
                return Element(
                    tag="folder",
                    text=f"{entry.name}/",
                    tags=(self._counts(path),) if lod is Lod.SUMMARY else (),
                    children=tuple(self._elements(path, lod)),
                    **_id_and_action(path, "fold"),
                )
            case "folder":
                return Element(tag="folder", text=f"{entry.name}/", **_id_and_action(path, "expand"))
            case "file":
                return Element(tag="file", text=entry.name, **_id_and_action(path, "open"))
            case kind:
                return Element(tag=kind, text=f"{entry.name} → {entry.leads_to}" if entry.leads_to else entry.name)

    def _to_path(self, path_or_id: str) -> str:
        """Return the path for a path or for an element's id, which has ':' instead of '/'."""
        return PurePosixPath(
            path_or_id if os.path.lexists(self.host.project / path_or_id) else path_or_id.replace(":", "/")
        ).as_posix()

    def _listing(self, path: str, before: Listing | None = None, more: str = "") -> Listing:
        """Read a folder; return the listing from before if it has not changed.

        Folders that are expanded, and the one of the name `more`, are listed although git ignores them.
        """
        inside = (PurePosixPath(folder) for folder in self.expanded)
        named = frozenset(folder.name for folder in inside if folder.parent == PurePosixPath(path)) | {more}
        place = self.host.project.resolve() / path
        try:
            status = place.lstat()
            if not stat.S_ISDIR(status.st_mode):
                return Listing(0, problem=self._say("folder gone"))
            rules = rules_of(place, self.host.project.resolve())  # a file of patterns above may have changed
            if before is not None and before.modified == status.st_mtime_ns and before[3:] == (rules, named):
                return before
            settled = Stamp(status.st_mtime_ns).settled(self.host.clock())
            entries = tuple(self._entries(place, rules, named))
            return Listing(status.st_mtime_ns if settled else 0, entries, rules=rules, named=named)
        except OSError as error:
            return Listing(0, problem=error.strerror or str(error))

    def _entries(self, place: Path, rules: IgnoreRules, named: Collection[str]) -> list[Entry]:
        """Return the entries that may be shown: folders first, then the others, each by name.

        Left out are names that begin with a dot, secrets, and what the file tools leave out too, unless it is `named`.
        """
        ours = allowed_folders(self.host.project, self.host.folders)
        with os.scandir(place) as scanned:
            listed = [
                entry
                for entry in scanned
                if not (entry.name.startswith(".") or is_secret(entry.name, place.name))
                and (entry.name in named or not rules.hide(entry.name, is_folder=entry.is_dir(follow_symlinks=False)))
            ]
        if not ours.contain(place):
            # A folder outside is listed if it must be opened to reach one of ours.
            ways = {way for folder in ours.folders for way in (folder, *folder.parents)}
            listed = [entry for entry in listed if ours.contain(Path(entry.path)) or Path(entry.path) in ways]
        return sorted(
            map(_entry, listed), key=lambda entry: (entry.kind != "folder", entry.name.casefold(), entry.name)
        )


def _entry(scanned: os.DirEntry[str]) -> Entry:
    name = scanned.name.encode("utf-8", "replace").decode()  # an invalid name is shown, but cannot be opened
    if scanned.is_symlink():
        return Entry("link", name, str(Path(scanned.path).readlink()).encode("utf-8", "replace").decode())
    if scanned.is_dir(follow_symlinks=False):
        return Entry("folder", name)
    return Entry("file" if scanned.is_file(follow_symlinks=False) else "other", name)


def _id_and_action(path: str, action: str) -> dict[str, Any]:
    """Return the id and action of an element, if its path can be an id."""
    name = path.replace("/", ":")
    return {"id": name, "actions": (action,)} if ":" not in path and NAME.fullmatch(name) else {}


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _visible(listings: dict[str, Listing]) -> dict[str, tuple[tuple[Entry, ...], str]]:
    return {path: (listing.entries, listing.problem) for path, listing in listings.items()}
