"""The folders the agent may read, and the one way into them.

A path comes from a model, which may have read it anywhere. So a path is opened name by name, each inside the folder
before it and never through an unchecked link: nothing can be exchanged between checking and opening. A link is followed
if it stays within the folders. The folders' real paths are resolved once: a folder on the way to one of them that later
becomes a link is not followed.
"""

import copy
import errno
import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from sightline.agent.tools.in_thread import go_on
from sightline.agent.tools.schema import says
from sightline.errors import ToolFailed
from sightline.files.gitignore import IgnoreRules, rules_above
from sightline.files.secrets import has_secret_inside, is_own_name, is_readable, is_secret, own_home

MOST_LINKS = 20  # on the way to one file: the kernel's own limit is 40
MOST_LOOKED_AT = 5000  # files whose names are compared with that of a missing file
DEEPEST = 64  # folders within folders
LONGEST = 4096  # of a path, as the kernel has it
BEGINNING = "."  # the folder that relative paths are relative to

_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # not to list it
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # opening a pipe must not block
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


class Opened(NamedTuple):
    """A regular file, open for reading. `path` is the name to show, which can be opened again."""

    file: BinaryIO
    path: str
    size: int
    readable: bool = False  # whether a setting allows to read it although it is secret


class Found(NamedTuple):
    """One entry of a folder. Links are listed, not followed."""

    path: str
    kind: str  # "file", "folder", "link", "other"
    size: int = 0
    depth: int = 0


class Folders:
    """The folders the agent may read.

    A relative path is relative to the project if it leads into one of the folders, else to the first folder.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        locale: str = "en",
        project: str | Path | None = None,
        readable: Sequence[str] = (),
    ) -> None:
        """`project`: the directory that paths are shown relative to; without one, the first folder.

        readable: patterns of files that are read although they hold keys or secrets, see `is_readable`.
        """
        self._readable, home = readable, own_home()
        self.paths = tuple(Path(path).resolve() for path in paths)
        # What Sightline stores is closed, unless one of the folders is meant to show it.
        self._own = None if any(path.is_relative_to(home) for path in self.paths) else home
        self.locale = locale
        self._project = None if project is None else Path(project).resolve()
        self._bases = [] if project is None else _spellings(project)
        self._spelled = [(index, names) for index, path in enumerate(paths) for names in _spellings(path)]

    def with_locale(self, locale: str) -> "Folders":
        """Return the same folders, with messages in this language."""
        same = copy.copy(self)  # not a new object, because links are resolved only once
        same.locale = locale
        return same

    @contextmanager
    def open(self, path: str, *, scan: bool = True) -> Iterator[Opened]:
        """Open a regular file inside the folders, also through links. `scan=False`: the caller looks for secrets in it.

        Raises:
            ToolFailed: there is none, or it may not be read. The message tells why, and which files there are.
        """
        with self._open_entry(path) as (descriptor, name, place):
            state = os.fstat(descriptor)
            if stat.S_ISDIR(state.st_mode):
                raise self._failure(
                    f"{name} is a folder; list_files shows what is in it",
                    f"{name} 是文件夹；可用 list_files 查看其内容",
                )
            if not stat.S_ISREG(state.st_mode):
                raise self._failure(f"{name} is no regular file", f"{name} 不是普通文件")
            with open(os.dup(descriptor), "rb") as file:  # noqa: PTH123 - of a descriptor
                readable = self._is_readable(place)
                if scan and not readable and has_secret_inside(file, go_on):
                    raise self.secret(printable(path[:200]))
                yield Opened(file, name, state.st_size, readable)

    def secret(self, path: str) -> ToolFailed:
        """Return the error for a file with a private key or token in it."""
        return self._failure(
            f"{path} is refused: it holds a private key or a token; the user can allow it with [tools] readable",
            f"拒绝读取 {path}：其中含有私钥或令牌；用户可用 [tools] readable 允许",
        )

    def _secret_name(self, path: str, place: Path) -> ToolFailed:
        """Return the error for a file with the name of a secret, as the model wrote it. Ours cannot be allowed."""
        written = printable(path[:200])
        en, zh = f"{written} is refused: it is a file of keys or secrets", f"拒绝读取 {written}：这是密钥或机密文件"
        if not self._is_own(place):
            en, zh = f"{en}; the user can allow it with [tools] readable", f"{zh}；用户可用 [tools] readable 允许"
        return self._failure(en, zh)

    def _is_own(self, place: Path) -> bool:
        """Whether it is Sightline's own, which no setting allows."""
        return is_own_name(place.name) or (self._own is not None and place.is_relative_to(self._own))

    def _is_readable(self, place: Path) -> bool:
        return bool(self._readable) and is_readable(place, self._project or self.paths[0], self._readable)

    def _is_secret_at(self, place: Path) -> bool:
        """Whether a file or folder has the name of a secret, and no setting allows it."""
        if self._is_own(place):
            return True
        return is_secret(place.name, place.parent.name) and not self._is_readable(place)

    def walk(self, path: str = "", *, deepest: int = DEEPEST) -> Iterator[Found]:
        """Yield what is in a folder and below it, each folder before its content, by name.

        Files of secrets are left out, and what git ignores, unless the folder itself is ignored: somebody named it.

        Raises:
            ToolFailed: it is not a folder, or may not be read.
        """
        with self._open_entry(path or BEGINNING) as (descriptor, name, place):
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise self._failure(f"{name} is a file, not a folder", f"{name} 是文件，不是文件夹")
            top = next(folder for folder in self.paths if place.is_relative_to(folder))
            yield from self._below(descriptor, place, name, rules_above(place, top), deepest=deepest)

    # ------------------------------------------------------------------ the way in

    @contextmanager
    def _open_entry(self, path: str) -> Iterator[tuple[int, str, Path]]:
        """Yield a descriptor of the file or folder, its name to show, and its real path."""
        root, names = self._split(path)
        with ExitStack() as opened:
            try:
                descriptor, root, real = self._walk_names(root, names, opened, path)
            except FileNotFoundError:
                raise self._missing(path) from None
            except NotADirectoryError:
                raise self._failure(f"{path} is no folder on its way", f"{path} 的路径中有一段不是文件夹") from None
            except OSError as error:
                why = error.strerror or str(error)
                raise self._failure(f"cannot read {path!r}: {why}", f"无法读取 {path!r}：{why}") from None
            yield descriptor, self.name_of(root, real), self.paths[root].joinpath(*real)

    def _split(self, path: str) -> tuple[int, list[str]]:
        """Return the number of the folder that a path begins in, and the names below it."""
        if not path.strip() or "\0" in path or not _encodable(path) or len(path) > LONGEST:
            quoted = ascii(path[:80])
            raise self._failure(f"{quoted} is no path", f"{quoted} 不是有效路径")
        if ".." in path.replace("\\", "/").split("/"):
            raise self._outside(path, "'..' is refused", "不允许使用 '..'")
        if path.startswith("~"):
            raise self._outside(path, "'~' is refused", "不允许使用 '~'")
        if not self.paths:
            raise self._outside(path, "no folder may be read", "没有允许读取的文件夹")
        names = _names(path)
        if path.startswith("/"):
            return self._inside(names, path, "it lies outside", "超出允许范围")
        inside = (self._find_folder([*base, *names]) for base in self._bases if names)
        return next(filter(None, inside), (0, names))

    def _walk_names(self, root: int, names: list[str], opened: ExitStack, path: str) -> tuple[int, int, list[str]]:
        """Return descriptor, folder and real names of what the names lead to. Raises OSError, ToolFailed.

        `path` is what the model wrote, for messages.
        """
        stack, waiting, links = [self._open_root(root, opened)], deque(names), 0
        real: list[str] = []
        while waiting:
            name = waiting.popleft()
            if name == "..":  # in a link's target; `_split` refuses it in a path
                if not real:
                    raise self._outside("/".join(names), "a link leads out", "链接指向允许范围之外")
                real.pop()
                stack.pop()
                continue
            if self._is_secret_at(place := self.paths[root].joinpath(*real, name)):
                raise self._secret_name(path, place)
            mode = os.stat(name, dir_fd=stack[-1], follow_symlinks=False).st_mode
            if not stat.S_ISLNK(mode):
                stack.append(_open_name(name, stack[-1], mode, last=not waiting, opened=opened))
                real.append(name)
                continue
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            target = os.readlink(name, dir_fd=stack[-1])
            waiting.extendleft(reversed(_names(target)))
            if target.startswith("/"):
                root, below = self._inside(list(waiting), "/".join(names), "a link leads out", "链接指向允许范围之外")
                stack, waiting, real = [self._open_root(root, opened)], deque(below), []
        return stack[-1], root, real

    def _open_root(self, index: int, opened: ExitStack) -> int:
        """Open one of the folders name by name, and through no link. Raises OSError, ToolFailed."""
        path = self.paths[index]
        descriptor = _closing(os.open("/", _PASS), opened)
        for name in _names(str(path)):
            if stat.S_ISLNK(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                raise self._failure(
                    f"{path} is not read: {name} has become a link since the start; start anew if it is to be followed",
                    f"不读取 {path}：启动后 {name} 变成了链接；如需跟随该链接，请重新启动",
                )
            descriptor = _closing(os.open(name, _PASS, dir_fd=descriptor), opened)
        return _closing(os.open(".", _FOLDER, dir_fd=descriptor), opened)

    def _inside(self, names: list[str], path: str, en: str, zh: str) -> tuple[int, list[str]]:
        """Return which folder absolute names lead into, and the names below it. Raises ToolFailed if into none."""
        if folder := self._find_folder(names):
            return folder
        raise self._outside(path, en, zh)

    def _find_folder(self, names: list[str]) -> tuple[int, list[str]] | None:
        for index, root in self._spelled:
            if names[: len(root)] == root:
                return index, names[len(root) :]
        return None

    # ------------------------------------------------------------------ messages

    def name_of(self, root: int, names: Sequence[str] = ()) -> str:
        """Return the name of a folder or of what is in it: relative to where relative paths begin, or its full path."""
        path = self.paths[root].joinpath(*names)
        base = self._project or (self.paths[0] if root == 0 else None)
        return printable(str(path.relative_to(base) if base is not None and path.is_relative_to(base) else path))

    def _failure(self, en: str, zh: str) -> ToolFailed:
        return ToolFailed(says(self.locale, en, zh))

    def _outside(self, path: str, en: str, zh: str) -> ToolFailed:
        allowed, written = ", ".join(map(str, self.paths)), printable(path[:200])
        return self._failure(
            f"{written}: {en}; readable are files in {allowed}", f"{written}：{zh}；可读取的文件夹：{allowed}"
        )

    def _missing(self, path: str) -> ToolFailed:
        name = printable(path[:200])
        if names := ", ".join(self._near(path)):
            return self._failure(f"there is no {name}; did you mean: {names}", f"文件不存在：{name}；是否指：{names}")
        allowed = ", ".join(map(str, self.paths))
        return self._failure(
            f"there is no {name}; readable are files in {allowed}; list_files shows them",
            f"文件不存在：{name}；可读取的文件夹：{allowed}；可用 list_files 查看",
        )

    def _near(self, path: str) -> list[str]:
        """Return files of the same name in other folders, or of a similar name."""
        name = path.rstrip("/").rpartition("/")[2]
        if name in ("", "."):  # the folder itself is missing
            return []
        files = (entry.path for entry in islice(self._everything(), MOST_LOOKED_AT) if entry.kind == "file")
        seen = list(dict.fromkeys(files))  # once each, because a folder may lie in another
        same = [file for file in seen if file.rpartition("/")[2].casefold() == name.casefold()]
        names = {file.rpartition("/")[2]: file for file in reversed(seen)}
        return same[:3] or [names[near] for near in get_close_matches(name, names, 3)]

    def _everything(self) -> Iterator[Found]:
        for index in range(len(self.paths)):
            with suppress(OSError, ToolFailed), ExitStack() as opened:  # the folder itself may be missing
                below, place = self._open_root(index, opened), self.paths[index]
                yield from self._below(below, place, self.name_of(index), rules_above(place, place), deepest=DEEPEST)

    def _below(
        self, folder: int, place: Path, path: str, above: IgnoreRules, depth: int = 0, *, deepest: int
    ) -> Iterator[Found]:
        """Yield what is below an open folder at this real path. `above`: the rules of the folders above it."""
        names = sorted(os.listdir(folder))
        rules = above.add(place, names)
        for name in names:
            go_on()
            if self._is_secret_at(place / name):
                continue
            try:
                state = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError:  # gone since
                continue
            entry = printable(name if path == BEGINNING else f"{path}/{name}")
            kind = _KINDS.get(stat.S_IFMT(state.st_mode), "other")
            if rules.hide(name, is_folder=kind == "folder"):
                continue
            yield Found(entry, kind, state.st_size if kind != "folder" else 0, depth)
            if kind == "folder" and depth + 1 < deepest:
                with suppress(OSError), ExitStack() as opened:  # not permitted, or no folder any more
                    below = _closing(os.open(name, _FOLDER, dir_fd=folder), opened)
                    yield from self._below(below, place / name, entry, rules.enter(name), depth + 1, deepest=deepest)


def shell_directory(env: Mapping[str, str]) -> Path:
    """Return the working directory as the shell names it, perhaps through a link, as people name files in it."""
    here, shell = Path.cwd(), Path(env.get("PWD", ""))
    try:
        return shell if shell.is_absolute() and shell.samefile(here) else here
    except OSError:  # it does not exist
        return here


def printable(path: str) -> str:
    """Return a path on one line, whatever is in its name."""
    clean = path.encode("utf-8", "replace").decode()
    return clean if clean.isprintable() else "".join(char if char.isprintable() else "�" for char in clean)


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair, which no file's name has
        return False
    return True


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _spellings(path: str | Path) -> list[list[str]]:
    """Return the names of a folder's real path and of the given path, because a file may be named through a link."""
    spellings = (Path(path).resolve(), Path(path).absolute())
    return [_names(str(spelling)) for spelling in spellings if ".." not in spelling.parts]


def _open_name(name: str, folder: int, mode: int, *, last: bool, opened: ExitStack) -> int:
    """Open a file or folder without following it: if it has become a link since it was checked, this fails."""
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a device may already have an effect
        raise OSError(errno.EINVAL, "no regular file")
    return _closing(os.open(name, FILE if last and not stat.S_ISDIR(mode) else _FOLDER, dir_fd=folder), opened)


def _closing(descriptor: int, opened: ExitStack) -> int:
    opened.callback(os.close, descriptor)
    return descriptor
