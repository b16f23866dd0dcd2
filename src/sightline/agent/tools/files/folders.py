"""The folders the agent may read, and the one way into them.

A path comes from a model, and a model says what it has read somewhere. So a path is walked name by name, each opened
inside the folder before it and never through a link unseen: nothing can be exchanged between looking and opening. A
link is followed where it stays within the folders. Where the folders are is found out once: whatever becomes a link
later on the way to one of them is not followed.
"""

import copy
import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from sightline.agent.tools.in_thread import go_on
from sightline.agent.tools.schema import says
from sightline.errors import ToolFailed
from sightline.files.project import is_secret

MOST_LINKS = 20  # on the way to one file: the kernel's own limit is 40
MOST_LOOKED_AT = 5000  # names that are looked through for one like a missing file's
DEEPEST = 64  # folders within folders
LONGEST = 4096  # of a path, as the kernel has it
BEGINNING = "."  # where relative paths begin

_WAY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # to pass, not to list
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # a pipe must not make us wait

# What machines make; no one asks for it, and it would hide the rest.
SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox"}
    | {".mypy_cache", ".ruff_cache", ".pytest_cache", ".idea", ".gradle", ".terraform"}
)


class Opened(NamedTuple):
    """A regular file, open for reading. `path` is how it is called, and can be asked for again."""

    file: BinaryIO
    path: str
    size: int


class Found(NamedTuple):
    """What stands in a folder. Links are told, not followed."""

    path: str
    kind: str  # "file", "folder", "link", "other"
    size: int = 0
    depth: int = 0


class Folders:
    """The folders the agent may read. Relative paths are of the project where they lead into one, else of the first."""

    def __init__(self, paths: Sequence[str | Path], locale: str = "en", project: str | Path | None = None) -> None:
        """`project`: the directory that relative paths are said from; without one it is the first folder."""
        self.paths = tuple(Path(path).resolve() for path in paths)
        self.locale = locale
        self._project = None if project is None else Path(project).resolve()
        self._bases = [] if project is None else _spellings(project)
        self._spelled = [(index, names) for index, path in enumerate(paths) for names in _spellings(path)]

    def saying(self, locale: str) -> "Folders":
        """The same folders, speaking this language."""
        same = copy.copy(self)  # not made anew: links are followed once
        same.locale = locale
        return same

    @contextmanager
    def open(self, path: str) -> Iterator[Opened]:
        """A regular file inside the folders, wherever links lead.

        Raises:
            ToolFailed: there is none, or it may not be read; says why and what there is.
        """
        with self._entered(path) as (descriptor, shown):
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise self._refused(shown, state.st_mode)
            with open(os.dup(descriptor), "rb") as file:  # noqa: PTH123 - of a descriptor
                yield Opened(file, shown, state.st_size)

    def walk(self, path: str = "", *, deepest: int = DEEPEST) -> Iterator[Found]:
        """What stands in a folder and below it, each folder before its content, by name. Keys and secrets are left out.

        Raises:
            ToolFailed: it is no folder, or may not be read.
        """
        with self._entered(path or BEGINNING) as (descriptor, shown):
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISDIR(mode):
                text = (f"{shown} is a file, not a folder", f"{shown} 是文件，不是文件夹")
                raise ToolFailed(says(self.locale, *text))
            yield from self._content(descriptor, shown, deepest)

    def _content(self, folder: int, shown: str, deepest: int = DEEPEST) -> Iterator[Found]:
        return _below(folder, "" if shown == BEGINNING else shown, 0, deepest)

    # ------------------------------------------------------------------ the way in

    @contextmanager
    def _entered(self, path: str) -> Iterator[tuple[int, str]]:
        """A descriptor of what stands there, and its name to show."""
        root, names = self._split(path)
        with ExitStack() as held:
            try:
                descriptor, root, real = self._walked(root, names, held)
            except FileNotFoundError:
                raise ToolFailed(self._missing(path)) from None
            except NotADirectoryError:
                text = (f"{path} is no folder on its way", f"{path} 的路径中有一段不是文件夹")
                raise ToolFailed(says(self.locale, *text)) from None
            except OSError as error:
                why = error.strerror or str(error)
                raise ToolFailed(
                    says(self.locale, f"cannot read {path!r}: {why}", f"无法读取 {path!r}：{why}")
                ) from None
            yield descriptor, self._shown(root, real)

    def _split(self, path: str) -> tuple[int, list[str]]:
        """Which folder a path begins in, and the names on from there."""
        if not path.strip() or "\0" in path or not _encodable(path) or len(path) > LONGEST:
            said = ascii(path[:80])
            raise ToolFailed(says(self.locale, f"{said} is no path", f"{said} 不是有效路径"))
        if ".." in path.replace("\\", "/").split("/"):
            raise self._outside(path, "'..' is refused", "不允许使用 '..'")
        if path.startswith("~"):
            raise self._outside(path, "'~' is refused", "不允许使用 '~'")
        if not self.paths:
            raise self._outside(path, "no folder may be read", "没有允许读取的文件夹")
        names = _names(path)
        if path.startswith("/"):
            return self._landing(names, path, "it lies outside", "超出允许范围")
        meant = (self._leading([*base, *names]) for base in self._bases if names)
        return next(filter(None, meant), (0, names))

    def _walked(self, root: int, names: list[str], held: ExitStack) -> tuple[int, int, list[str]]:
        """Descriptor, folder and true names of what the names lead to. Raises OSError, ToolFailed."""
        stack, waiting, links = [self._root(root, held)], list(reversed(names)), 0
        real: list[str] = []
        while waiting:
            name = waiting.pop()
            if name == "..":  # of a link's target; a path has none
                if not real:
                    raise self._outside("/".join(names), "a link leads out", "链接指向允许范围之外")
                real.pop()
                stack.pop()
                continue
            self._guard(name)
            target = _link(name, stack[-1])
            if target is None:
                stack.append(_opened(name, stack[-1], last=not waiting, held=held))
                real.append(name)
                continue
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            waiting.extend(reversed([part for part in target.split("/") if part not in ("", ".")]))
            if target.startswith("/"):
                led = (list(reversed(waiting)), "/".join(names))
                root, beyond = self._landing(*led, "a link leads out", "链接指向允许范围之外")
                stack, waiting, real = [self._root(root, held)], list(reversed(beyond)), []
        return stack[-1], root, real

    def _root(self, index: int, held: ExitStack) -> int:
        """A descriptor of one of the folders, reached name by name and over no link. Raises OSError, ToolFailed."""
        descriptor = _holding(os.open("/", _WAY), held)
        for name in _names(str(self.paths[index])):
            if _link(name, descriptor) is not None:
                raise self._moved(self.paths[index], name)
            descriptor = _holding(os.open(name, _WAY, dir_fd=descriptor), held)
        return _holding(os.open(".", _FOLDER, dir_fd=descriptor), held)

    def _landing(self, names: list[str], path: str, en: str, zh: str) -> tuple[int, list[str]]:
        """Where absolute names lead: which of the folders, and the names on from there."""
        found = self._leading(names)
        if found is None:
            raise self._outside(path, en, zh)
        return found

    def _leading(self, names: list[str]) -> tuple[int, list[str]] | None:
        """The same; None where they lead into none of the folders."""
        for index, root in self._spelled:
            if (inside := _inside(names, root)) is not None:
                return index, inside
        return None

    def _guard(self, name: str) -> None:
        if is_secret(name):
            text = (f"{name} is refused: it is a file of keys or secrets", f"拒绝读取 {name}：这是密钥或机密文件")
            raise ToolFailed(says(self.locale, *text))

    # ------------------------------------------------------------------ what is said

    def called(self, root: int) -> str:
        """How one of the folders is called: from where relative paths begin, or by its whole path."""
        return self._shown(root, [])

    def _shown(self, root: int, names: list[str]) -> str:
        path = self.paths[root].joinpath(*names)
        base = self._project or (self.paths[0] if root == 0 else None)
        return printable(str(path.relative_to(base) if base is not None and path.is_relative_to(base) else path))

    def _outside(self, path: str, en: str, zh: str) -> ToolFailed:
        allowed = ", ".join(map(str, self.paths))
        shown = printable(path[:200])
        return ToolFailed(
            says(
                self.locale,
                f"{shown}: {en}; readable are files in {allowed}",
                f"{shown}：{zh}；可读取的文件夹：{allowed}",
            )
        )

    def _moved(self, path: Path, name: str) -> ToolFailed:
        text = (
            f"{path} is not read: {name} has become a link since the start; start anew if it is to be followed",
            f"不读取 {path}：启动后 {name} 变成了链接；如需跟随该链接，请重新启动",
        )
        return ToolFailed(says(self.locale, *text))

    def _refused(self, shown: str, mode: int) -> ToolFailed:
        if stat.S_ISDIR(mode):
            text = (
                f"{shown} is a folder; list_files shows what is in it",
                f"{shown} 是文件夹；可用 list_files 查看其内容",
            )
        else:
            text = (f"{shown} is no regular file", f"{shown} 不是普通文件")
        return ToolFailed(says(self.locale, *text))

    def _missing(self, path: str) -> str:
        near = self._near(path)
        shown = printable(path[:200])
        if near:
            names = ", ".join(near)
            return says(
                self.locale, f"there is no {shown}; did you mean: {names}", f"文件不存在：{shown}；是否指：{names}"
            )
        allowed = ", ".join(map(str, self.paths))
        return says(
            self.locale,
            f"there is no {shown}; readable are files in {allowed}; list_files shows them",
            f"文件不存在：{shown}；可读取的文件夹：{allowed}；可用 list_files 查看",
        )

    def _near(self, path: str) -> list[str]:
        """Files of the same name elsewhere, or of a similar one."""
        name = path.rstrip("/").rpartition("/")[2]
        if name in ("", "."):  # the folder itself is missing
            return []
        seen = [found.path for found in islice(self._everything(), MOST_LOOKED_AT) if found.kind == "file"]
        seen = list(dict.fromkeys(seen))  # a folder may lie in another
        same = [each for each in seen if each.rpartition("/")[2].casefold() == name.casefold()]
        if same:
            return same[:3]
        names = {each.rpartition("/")[2]: each for each in reversed(seen)}
        return [names[each] for each in get_close_matches(name, names, 3)]

    def _everything(self) -> Iterator[Found]:
        for index in range(len(self.paths)):
            with suppress(OSError, ToolFailed), ExitStack() as held:  # it may be missing itself
                yield from self._content(self._root(index, held), self.called(index))


def shell_directory(env: Mapping[str, str]) -> Path:
    """The working directory as the shell calls it: people and programs name files below a link so."""
    here, said = Path.cwd(), Path(env.get("PWD", ""))
    try:
        return said if said.is_absolute() and said.samefile(here) else here
    except OSError:  # it is not there
        return here


def printable(path: str) -> str:
    """A path on one line, whatever is in its name."""
    clean = path.encode("utf-8", "replace").decode()
    return clean if clean.isprintable() else "".join(each if each.isprintable() else "�" for each in clean)


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # half a character, which no file's name has
        return False
    return True


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _spellings(path: str | Path) -> list[list[str]]:
    """A folder's real path, and the one that was given: whoever names a file in it may do so through a link to it."""
    return [_names(str(each)) for each in (Path(path).resolve(), Path(path).absolute()) if ".." not in each.parts]


def _inside(names: list[str], root: list[str]) -> list[str] | None:
    return names[len(root) :] if names[: len(root)] == root else None


def _link(name: str, folder: int) -> str | None:
    """Where a link leads; None for what is no link."""
    if not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return None
    return os.readlink(name, dir_fd=folder)


def _opened(name: str, folder: int, *, last: bool, held: ExitStack) -> int:
    """What stands there, opened and not followed: if it has become a link since, this fails."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a device may already do something
        raise OSError(errno.EINVAL, "no regular file")
    return _holding(os.open(name, FILE if last and not stat.S_ISDIR(mode) else _FOLDER, dir_fd=folder), held)


def _holding(descriptor: int, held: ExitStack) -> int:
    held.callback(os.close, descriptor)
    return descriptor


def _below(folder: int, path: str, depth: int, deepest: int) -> Iterator[Found]:
    """What stands below an open folder."""
    for name in sorted(os.listdir(folder)):
        go_on()
        if is_secret(name):
            continue
        try:
            state = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:  # gone since
            continue
        shown = printable(f"{path}/{name}" if path else name)
        kind = _kind(state.st_mode)
        if kind != "folder":
            yield Found(shown, kind, state.st_size, depth)
        elif name not in SKIPPED:
            yield Found(shown, kind, 0, depth)
            if depth + 1 < deepest:
                yield from _entered_below(name, folder, shown, depth + 1, deepest)


def _entered_below(name: str, folder: int, path: str, depth: int, deepest: int) -> Iterator[Found]:
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
    except OSError:  # not permitted, or no folder any more
        return
    try:
        yield from _below(descriptor, path, depth, deepest)
    finally:
        os.close(descriptor)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISLNK(mode):
        return "link"
    return "file" if stat.S_ISREG(mode) else "other"
