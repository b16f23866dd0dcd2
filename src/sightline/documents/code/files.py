"""The files of a code store. The index is derived from them.

    data/code_x.py                  the newest version, exactly as it was given
    data/code_x.meta.json           its metadata
    data/versions/code_x.1.py       the earlier versions, each with its own .meta.json
    data/pending.json               the operation that is running, or that a crash interrupted

Nothing is reached through a link: directories are kept open, and names are opened relative to them.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from errno import ELOOP, ENOTDIR
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from sightline.documents.code.versions import EXTENSIONS, Saved, as_earlier, is_sound, measured
from sightline.errors import BadInput, StoreError, Unwritable
from sightline.files.private_files import make_directory
from sightline.values.decoders import decode_json
from sightline.values.file_lock import locked_file

META = ".meta.json"  # no code has such a name, because ids have no dot
PENDING = "pending.json"
_LOCK = ".lock"
_WRITING = ".writing"  # one name is enough, because a writer holds the lock
_PLAIN = os.O_NOFOLLOW | os.O_CLOEXEC

Value = TypeVar("Value")


class Pending(Struct, frozen=True):
    """An operation on one code. It is written before it begins, so that it can be finished or undone after a crash."""

    saved: Saved  # the new version; the newest one if all are deleted
    before: Saved | None = None  # the version that was the newest
    deleting: bool = False


class Directory:
    """One open directory. What is not a plain file counts as missing. Raises OSError."""

    def __init__(self, path: str | Path, *, within: "Directory | None" = None, make: bool = False) -> None:
        parent: int | None = within._fd if within else None
        if make and parent is None:
            make_directory(Path(path))
        elif make and parent is not None:
            with suppress(FileExistsError):
                os.mkdir(path, 0o700, dir_fd=parent)
                os.fsync(parent)
        self._path = path
        self._fd: int = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _PLAIN, dir_fd=parent)

    def close(self) -> None:
        os.close(self._fd)

    def names(self) -> list[str]:
        return sorted(os.listdir(self._fd))  # noqa: PTH208 - of a descriptor

    def is_file(self, name: str) -> bool:
        with suppress(FileNotFoundError):
            return stat.S_ISREG(os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mode)
        return False

    def modified(self, name: str) -> int:
        """Return when a file was last written, in milliseconds."""
        return os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mtime_ns // 1_000_000

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError if it is not a plain file."""
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _PLAIN, dir_fd=self._fd)
        except OSError as error:
            if error.errno == ELOOP:
                raise FileNotFoundError(f"{name} is a link") from error
            raise
        with open(fd, "rb") as file:  # noqa: PTH123 - of a descriptor
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise FileNotFoundError(f"{name} is no file")
            return file.read()

    def write(self, name: str, data: bytes) -> None:
        """Write a file as a whole: if this is interrupted, the old file stays. Durable when it returns."""
        self.remove(_WRITING)
        fd = os.open(_WRITING, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN, 0o600, dir_fd=self._fd)
        with open(fd, "wb") as file:  # noqa: PTH123 - of a descriptor
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.replace(_WRITING, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        self.sync()

    def sync(self) -> None:
        """Return when the names in it are on the disk."""
        os.fsync(self._fd)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._fd)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock it against every other process and thread. The lock ends with its process."""
        fd = os.open(_LOCK, os.O_RDWR | os.O_CREAT | _PLAIN, 0o600, dir_fd=self._fd)
        try:
            with locked_file(fd, self._path):
                yield
        finally:
            os.close(fd)


class Shelf:
    """The open directories of a store, and the steps of an operation on them. Raises OSError."""

    def __init__(self, data: Directory, versions: Directory) -> None:
        self.data, self.versions = data, versions

    # ------------------------------------------------------------------ reading

    def known(self, code_id: str) -> Saved | None:
        """Return the metadata of the newest version; None if there is none of the store's. Raises BadInput."""
        saved = read_metadata(self.data, code_id + META)
        if saved is not None and saved.code_id != code_id:  # on a disk that does not distinguish code_a and code_A
            raise BadInput(f"{code_id} differs from {saved.code_id} only in case: choose another id")
        return saved

    def unknown_file(self, code_id: str) -> str:
        """Return the name of the newest file of code that has no metadata; empty if there is none."""
        names = [name for extension in EXTENSIONS if self.data.is_file(name := code_id + extension)]
        return max(names, key=self.data.modified, default="")

    def content(self, saved: Saved) -> bytes | None:
        """Return the bytes of this version; None if its file is missing."""
        directory = self.versions if saved.is_earlier else self.data
        with suppress(FileNotFoundError):
            return directory.read(saved.file_name)
        return None

    # ------------------------------------------------------------------ storing, step by step

    def pending(self) -> Pending | None:
        """Return the operation that was begun and not finished."""
        pending = _decoded(self.data, PENDING, Pending)
        is_ours = pending and is_sound(pending.saved) and (pending.before is None or is_sound(pending.before))
        return pending if is_ours else None

    def clear(self) -> None:
        """Remove the note of the operation."""
        if self.data.is_file(PENDING):
            self.data.remove(PENDING)
            self.data.sync()  # a note that a power cut restores would undo what was finished

    def begin(self, pending: Pending) -> None:
        """Write the note of an operation."""
        self.data.write(PENDING, msgspec.json.encode(pending))

    def keep(self, before: Saved, *, again: bool = False) -> None:
        """Copy the newest version to the earlier ones; `again`: not if it is there, because the file may be new now."""
        earlier = as_earlier(before)
        if again and self.versions.is_file(earlier.file_name):
            return
        content = self.content(before)
        if content is not None:
            self.versions.write(_meta(earlier), msgspec.json.encode(earlier))
            self.versions.write(earlier.file_name, content)

    def holds(self, saved: Saved) -> bool:
        """Whether its file is there, unchanged."""
        content = self.content(saved)
        return content is not None and measured(saved, content).digest == saved.digest

    def finish(self, pending: Pending) -> None:
        """Write the metadata of the new version, and remove the note."""
        if pending.before and pending.before.path != pending.saved.path:
            self.data.remove(pending.before.file_name)
        self.write_metadata(pending.saved)
        self.clear()

    def undo(self, pending: Pending) -> None:
        """Restore everything as it was before the operation."""
        saved, before = pending.saved, pending.before
        if self.holds(saved):
            content = self.content(as_earlier(before)) if before and before.path == saved.path else None
            if content is not None:
                self.data.write(saved.file_name, content)
            elif not before or (before.path, before.digest) != (saved.path, saved.digest):
                self.data.remove(saved.file_name)
        if before:
            self.versions.remove(as_earlier(before).file_name)
            self.versions.remove(_meta(before))
        self.clear()

    def delete(self, code_id: str) -> None:
        """Remove all files of a code, and the note of the operation."""
        for directory in (self.versions, self.data):
            for name in directory.names():
                if name.partition(".")[0] == code_id:
                    directory.remove(name)
        self.clear()

    def write_metadata(self, saved: Saved) -> None:
        self.data.write(saved.code_id + META, msgspec.json.encode(saved))


def _meta(earlier: Saved) -> str:
    return f"{earlier.code_id}.{earlier.version}{META}"


def read_metadata(directory: Directory, name: str) -> Saved | None:
    """Return the metadata of a version; None if it is missing, or was not written by the store."""
    saved = _decoded(directory, name, Saved)
    return saved if saved is not None and is_sound(saved) else None


def _decoded(directory: Directory, name: str, kind: type[Value]) -> Value | None:
    with suppress(FileNotFoundError, msgspec.DecodeError):
        return decode_json(directory.read(name), kind)
    return None


def read_code(path: Path, saved: Saved) -> bytes | None:
    """Return the bytes of one version in this `data`; None if its file is missing. Raises StoreError."""
    try:
        with ExitStack() as opened:
            directory = opened.enter_context(closing(Directory(path)))
            if saved.is_earlier:
                directory = opened.enter_context(closing(Directory("versions", within=directory)))
            return directory.read(saved.file_name)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read {saved.path} in {path.parent}: {_why(error)}") from error


@contextmanager
def locked(path: Path) -> Iterator[Shelf]:
    """Lock the directories of a store, this `data` and the one in it, for one writer. Raises Unwritable."""
    try:
        with (
            closing(Directory(path, make=True)) as data,
            closing(Directory("versions", within=data, make=True)) as versions,
            data.locked(),
        ):
            yield Shelf(data, versions)
    except OSError as error:
        raise Unwritable(str(path), _why(error)) from error


def _why(error: OSError) -> str:
    if error.errno in (ELOOP, ENOTDIR):
        return "it is no directory, or a link"
    return error.strerror or str(error)
