"""The files of a code store. They are the truth: the index can be made again from them.

    data/code_x.py                  the newest version, exactly as it was given
    data/code_x.meta.json           what is known of it
    data/versions/code_x.1.py       the versions before, each with its own .meta.json
    data/pending.json               what is being done; there only while it is, or after a crash

Nothing is reached through a link: directories are held open, and names are looked up in them one by one.
"""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from errno import ELOOP, ENOTDIR
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from sightline.agent.code.versions import Saved, extensions, is_sound, measured, put_by
from sightline.errors import BadInput, StoreError, Unwritable
from sightline.log.stores.disk import make_directory

META = ".meta.json"  # ids have no dot, so no code has such a name
_PENDING = "pending.json"
_LOCK = ".lock"
_WRITING = ".writing"  # one name is enough: whoever writes holds the lock
_PLAIN = os.O_NOFOLLOW | os.O_CLOEXEC

Value = TypeVar("Value")


class Pending(Struct, frozen=True):
    """What is being done to one code, written down before it is begun: a crash in between is then made good."""

    saved: Saved  # the version that comes; the newest one where all of them go
    before: Saved | None = None  # the version that was the newest
    deleting: bool = False


class Directory:
    """One directory, held open. Names in it are plain files, or are not there. Raises OSError."""

    def __init__(self, path: str | Path, *, within: "Directory | None" = None, make: bool = False) -> None:
        parent: int | None = within._fd if within else None
        if make and parent is None:
            make_directory(Path(path))
        elif make and parent is not None:
            with suppress(FileExistsError):
                os.mkdir(path, 0o700, dir_fd=parent)
                os.fsync(parent)
        self._fd: int = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _PLAIN, dir_fd=parent)

    def close(self) -> None:
        """Let go."""
        os.close(self._fd)

    def names(self) -> list[str]:
        """Of everything in it."""
        return sorted(os.listdir(self._fd))  # noqa: PTH208 - of a descriptor

    def is_file(self, name: str) -> bool:
        """Whether a plain file has this name."""
        with suppress(FileNotFoundError):
            return stat.S_ISREG(os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mode)
        return False

    def modified(self, name: str) -> int:
        """When it was last written, in milliseconds."""
        return os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mtime_ns // 1_000_000

    def read(self, name: str) -> bytes:
        """All of a file. FileNotFoundError for what is no plain file."""
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
        """The whole file or, if this is interrupted, the one that was there before. Durable when it returns."""
        self.remove(_WRITING)
        fd = os.open(_WRITING, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN, 0o600, dir_fd=self._fd)
        with open(fd, "wb") as file:  # noqa: PTH123 - of a descriptor
            file.write(data)
            file.flush()
            os.fsync(fd)
        self.rename(_WRITING, name)

    def rename(self, name: str, to: str) -> None:
        """Durable when it returns."""
        os.replace(name, to, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        self.sync()

    def sync(self) -> None:
        """Return when the names in it are on the medium."""
        os.fsync(self._fd)

    def remove(self, name: str) -> None:
        """Also where it is not there."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._fd)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold it against every other process and thread. A process that dies lets go."""
        fd = os.open(_LOCK, os.O_RDWR | os.O_CREAT | _PLAIN, 0o600, dir_fd=self._fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


class Shelf:
    """The open directories of a store, and what is done in them. Raises OSError."""

    def __init__(self, data: Directory, versions: Directory) -> None:
        self.data, self.versions = data, versions

    # ------------------------------------------------------------------ what is there

    def known(self, code_id: str) -> Saved | None:
        """What is known of the newest version; None where nothing is, or only what nobody wrote. Raises BadInput."""
        saved = noted(self.data, code_id + META)
        if saved is not None and saved.code_id != code_id:  # on a disk that takes code_a and code_A for the same
            raise BadInput(f"{code_id} differs from {saved.code_id} only in case: choose another id")
        return saved

    def found(self, code_id: str) -> str:
        """The name of a file of code that somebody else put there: of the newest, where there are several."""
        names = [name for extension in extensions() if self.data.is_file(name := code_id + extension)]
        return max(names, key=self.data.modified, default="")

    def content(self, saved: Saved) -> bytes | None:
        """The bytes of this version; None where its file is gone."""
        directory = self.versions if saved.is_put_by else self.data
        with suppress(FileNotFoundError):
            return directory.read(saved.file_name)
        return None

    # ------------------------------------------------------------------ storing, step by step

    def pending(self) -> Pending | None:
        """What was begun and not finished."""
        pending = _decoded(self.data, _PENDING, Pending)
        is_ours = pending and is_sound(pending.saved) and (pending.before is None or is_sound(pending.before))
        return pending if is_ours else None

    def clear(self) -> None:
        """Nothing is being done any more."""
        if self.data.is_file(_PENDING):
            self.data.remove(_PENDING)
            self.data.sync()  # one that comes back with a power cut would undo what was finished

    def begin(self, pending: Pending) -> None:
        """Write down what is going to be done."""
        self.data.write(_PENDING, msgspec.json.encode(pending))

    def keep(self, before: Saved, *, again: bool = False) -> None:
        """Put the newest version among the earlier ones; `again`: unless it was, for its file may be new by now."""
        earlier = put_by(before)
        if again and self.versions.is_file(earlier.file_name):
            return
        content = self.content(before)
        if content is not None:
            self.versions.write(_meta(earlier), msgspec.json.encode(earlier))
            self.versions.write(earlier.file_name, content)

    def place(self, saved: Saved, data: bytes) -> None:
        """The file itself."""
        self.data.write(saved.file_name, data)

    def holds(self, saved: Saved) -> bool:
        """Whether its file is there as it was given."""
        content = self.content(saved)
        return content is not None and measured(saved, content).digest == saved.digest

    def finish(self, pending: Pending) -> None:
        """What was to come is now what is known."""
        if pending.before and pending.before.path != pending.saved.path:
            self.data.remove(pending.before.file_name)
        self.remember(pending.saved)
        self.clear()

    def undo(self, pending: Pending) -> None:
        """Everything as it was before."""
        if self.holds(pending.saved):
            self._put_back(pending)
        if pending.before:
            earlier = put_by(pending.before)
            self.versions.remove(earlier.file_name)
            self.versions.remove(_meta(earlier))
        self.clear()

    def _put_back(self, pending: Pending) -> None:
        saved, before = pending.saved, pending.before
        content = self.content(put_by(before)) if before and before.path == saved.path else None
        if content is not None:
            self.data.write(saved.file_name, content)
        elif not before or (before.path, before.digest) != (saved.path, saved.digest):
            self.data.remove(saved.file_name)

    def delete(self, code_id: str) -> None:
        """All files of a code, and the note that this is being done."""
        for directory in (self.versions, self.data):
            for name in directory.names():
                if name.partition(".")[0] == code_id:
                    directory.remove(name)
        self.clear()

    def remember(self, saved: Saved) -> None:
        """Write down what is known of a newest version."""
        self.data.write(saved.code_id + META, msgspec.json.encode(saved))


def _meta(earlier: Saved) -> str:
    return f"{earlier.code_id}.{earlier.version}{META}"


def noted(directory: Directory, name: str) -> Saved | None:
    """What the store wrote down of a version; None where that is lost, or is not the store's."""
    saved = _decoded(directory, name, Saved)
    return saved if saved is not None and is_sound(saved) else None


def _decoded(directory: Directory, name: str, kind: type[Value]) -> Value | None:
    with suppress(FileNotFoundError, msgspec.DecodeError):
        return msgspec.json.decode(directory.read(name), type=kind)
    return None


class CodeFiles:
    """Where a store's files are. Looking makes nothing; the first lock makes the directories."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "data"

    @property
    def there(self) -> bool:
        """Whether anything was ever stored."""
        return self._path.is_dir()

    @property
    def disturbed(self) -> bool:
        """Whether somebody is storing right now, or was when a crash came."""
        return (self._path / _PENDING).exists()

    def read(self, saved: Saved) -> bytes | None:
        """The bytes of one version; None where its file is gone. Raises StoreError."""
        try:
            with ExitStack() as opened:
                directory = _opened(opened, Directory(self._path))
                if saved.is_put_by:
                    directory = _opened(opened, Directory("versions", within=directory))
                return directory.read(saved.file_name)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot read {saved.path} in {self._path.parent}: {_why(error)}") from error

    @contextmanager
    def locked(self) -> Iterator[Shelf]:
        """The store's directories, for one writer at a time. Raises Unwritable."""
        try:
            with ExitStack() as opened:
                data = _opened(opened, Directory(self._path, make=True))
                versions = _opened(opened, Directory("versions", within=data, make=True))
                with data.locked():
                    yield Shelf(data, versions)
        except OSError as error:
            raise Unwritable(str(self._path), _why(error)) from error


def _opened(stack: ExitStack, directory: Directory) -> Directory:
    stack.callback(directory.close)
    return directory


def _why(error: OSError) -> str:
    if error.errno in (ELOOP, ENOTDIR):
        return "it is no directory, or a link"
    return error.strerror or str(error)
