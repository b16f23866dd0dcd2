"""A text file of a project, read and written inside it and nowhere else; its lines, and how edits are undone."""

import hashlib
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from sightline.errors import Refused
from sightline.files.folders import PROJECT, Folders, grounds

SIZE = 4_000_000  # bytes: whoever opens a file holds its text in memory
STEPS, KEPT = 20, 64_000  # edits that can be undone, and bytes that they replaced: the log holds them
WIDTH = 400  # characters shown of a line: a file may be a single one
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) != "\t"}
_DEFINES = re.compile(r"\s*(?:(?:export|pub|async|abstract) )*(?:class|def|fn|func|function|interface|struct) ")
_HEADING = re.compile(r"#{1,6} ")


class Stamp(NamedTuple):
    """What the disk says of a file: another one after it was written."""

    modified: int = 0  # nanoseconds since 1970
    size: int = -1
    inode: int = 0

    def settled(self, now: int) -> bool:
        """Whether a write from now on, in milliseconds, is sure to make another: disks count time in ticks."""
        return self.modified // 1_000_000 + 1000 < now


class TextFile(NamedTuple):
    """A path in a project. What cannot be done with it raises Refused, in the language of `says`.

    Every method looks anew where the path leads: a folder may have become a link since the last time.
    """

    project: Path
    path: str
    says: Callable[[str, str], str]
    folders: Folders = PROJECT  # of the project, that it must be in

    def place(self) -> Path:
        """Where the path leads, all links followed: a regular file inside the project that holds no keys or secrets."""
        ours = grounds(self.project, self.folders)
        root = ours.root
        try:
            self.path.encode()  # what is no text cannot be shown or saved
            place = (root / self.path).resolve()
            if not place.is_relative_to(root):
                raise self._refused("it is outside the project", "不在项目之内")
            if ".git" in place.relative_to(root).parts:  # what stands there may be run
                raise self._refused("it belongs to git", "属于 git")
            if ours.keep_secret(self.path, place):
                raise self._refused("it is a file of keys or secrets", "这是密钥或机密文件")
            if not ours.hold(place):
                raise self._refused("it is outside the folders that may be read", "不在允许读取的文件夹之内")
            mode = place.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            raise self._refused("there is no such file", "文件不存在") from None
        except (OSError, ValueError, RuntimeError) as error:  # not permitted, too long, a NUL, links in a circle
            raise self._refused("it cannot be reached", "无法访问") from error
        if not stat.S_ISREG(mode):
            raise self._refused("it is no regular file", "不是普通文件")
        return place

    def name(self) -> str:
        """The path from the project's folder on, without links: the same file has one name."""
        return self.place().relative_to(self.project.resolve()).as_posix()

    def stamp(self) -> Stamp | None:
        """Equal as long as nobody writes the file; None while it is not there."""
        try:
            found = self.place().lstat()
        except (Refused, OSError):
            return None
        return Stamp(found.st_mtime_ns, found.st_size, found.st_ino)

    def read(self) -> str:
        """The text, with the line ends it has."""
        place = self.place()
        try:
            with place.open("rb") as file:
                self._stay(file.fileno(), place)
                return self._text(file.read(SIZE + 1))
        except OSError as error:
            raise self._refused(f"it cannot be read ({error.strerror})", f"无法读取（{error.strerror}）") from error

    def write(self, text: str, *, over: str) -> None:
        """Put this text where `over` stands, in one step: a reader sees the old or the new, never a part."""
        data = text.encode("utf-8", "surrogatepass")
        self._text(data)  # what could not be opened again is not written
        if self.read() != over:
            raise self._refused("somebody else has changed it: look again", "已被他人修改：请重新查看")
        place = self.place()
        if not place.lstat().st_mode & 0o222:  # a new file could take its place all the same
            raise self._refused("it is read-only", "只读")
        try:
            folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                self._stay(folder, place.parent)
                _swap(folder, place.name, data)
            finally:
                os.close(folder)
        except OSError as error:
            raise self._refused(f"it cannot be written ({error.strerror})", f"无法写入（{error.strerror}）") from error

    def _stay(self, opened: int, place: Path) -> None:
        """What is open is what `place` was when it was looked at: no folder has become a link meanwhile."""
        try:
            now = Path(f"/proc/self/fd/{opened}").readlink()
        except OSError:  # no such folder on this system: look where the path leads now
            now = place.resolve()
        if now != place:
            raise self._refused("it is outside the project", "不在项目之内")

    def _text(self, data: bytes) -> str:
        if len(data) > SIZE:
            raise self._refused(f"it is larger than {SIZE:,} bytes", f"超过 {SIZE:,} 字节")
        try:
            if b"\0" not in data:
                return data.decode()
        except UnicodeDecodeError:
            pass
        raise self._refused("it is no UTF-8 text", "不是 UTF-8 文本")

    def _refused(self, en: str, zh: str) -> Refused:
        shown = self.path.encode("utf-8", "replace").decode()
        return Refused(self.says(f"{shown}: {en}", f"{shown}：{zh}"))


def _swap(folder: int, name: str, data: bytes) -> None:
    """Replace a file in an open folder by a new one of the same owner and permissions. Never writes through a link."""
    old = os.stat(name, dir_fd=folder, follow_symlinks=False)
    new = f".sightline-{os.getpid()}-{name}"[:200]
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            with suppress(PermissionError):  # only the superuser may give files away
                os.fchown(handle, old.st_uid, old.st_gid)
            os.fchmod(handle, stat.S_IMODE(old.st_mode))
            file.flush()
            os.fsync(handle)  # the name must not point to what is not on the disk yet
        os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(new, dir_fd=folder)
        raise


# ---------------------------------------------------------------------- lines, each with its line end


def split(text: str) -> list[str]:
    """The lines of a text. Only a newline ends one: other separators are characters like any other."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def bare(line: str) -> str:
    """A line without its end."""
    return line.removesuffix("\n").removesuffix("\r")


def line_end(lines: list[str]) -> str:
    """How most of these lines end."""
    windows = [line.endswith("\r\n") for line in lines if line.endswith("\n")]
    return "\r\n" if windows.count(True) > windows.count(False) else "\n"


def numbered(lines: list[str], number: int, last: int) -> str:
    """A line as it is shown: its number, as wide as the last one, and a text in which nothing begins a new line."""
    line = bare(lines[number - 1]).translate(_PICTURES)
    more = f"… (+{len(line) - WIDTH})" if len(line) > WIDTH else ""
    return f"{number:>{len(str(last))}} | {line[:WIDTH]}{more}"


def outlined(lines: list[str], suffix: str) -> list[int]:
    """The numbers of the lines that begin a part: headings in Markdown, definitions elsewhere."""
    rule = _HEADING if suffix in (".md", ".markdown") else _DEFINES
    return [number for number, line in enumerate(lines, 1) if rule.match(line)]


def spliced(lines: list[str], first: int, last: int, text: str) -> str:
    """What these lines are with `text` in place of lines first to last; a file without a final line end stays one."""
    whole, end = list(lines), line_end(lines)
    if unended := bool(whole) and not whole[-1].endswith("\n"):
        whole[-1] += end
    whole[first - 1 : last] = [bare(line) + end for line in split(text)]
    if unended and whole:
        whole[-1] = bare(whole[-1])
    return "".join(whole)


class Span(NamedTuple):
    """A part of a text, in characters."""

    start: int
    stop: int


def spans(lines: list[str], part: str, most: int = 2) -> list[Span]:
    """Where a part stands in the text, whichever line ends either has."""
    text, found = "".join(lines), list[Span]()
    for wanted in dict.fromkeys((part, part.replace("\r\n", "\n"), part.replace("\r\n", "\n").replace("\n", "\r\n"))):
        start = text.find(wanted) if wanted else -1
        while start >= 0 and len(found) < most:
            found.append(Span(start, start + len(wanted)))
            start = text.find(wanted, start + 1)  # overlapping ones too
    return sorted(set(found))


def exchanged(lines: list[str], span: Span, new: str) -> str:
    """What these lines are with `new` in place of a part."""
    text = "".join(lines)
    return text[: span.start] + new.replace("\r\n", "\n").replace("\n", line_end(lines)) + text[span.stop :]


class Step(Struct, frozen=True):
    """An edit, as undo needs it: after the first `at` lines, `count` lines stand where `old` stood."""

    at: int
    count: int
    old: str
    digest: str  # of the file after the edit

    def undone(self, lines: list[str]) -> str:
        """The text before the edit."""
        return "".join([*lines[: self.at], self.old, *lines[self.at + self.count :]])


def step(before: list[str], after: list[str]) -> Step:
    """The edit that made these lines of those."""
    at = _same(before, after)
    same = _same(before[at:][::-1], after[at:][::-1])
    return Step(at, len(after) - same - at, "".join(before[at : len(before) - same]), digest(after))


def _same(these: list[str], those: list[str]) -> int:
    """How many lines are equal, from the first on."""
    pairs = enumerate(zip(these, those, strict=False))
    return next((number for number, (this, that) in pairs if this != that), min(len(these), len(those)))


def kept(steps: list[Step]) -> list[Step]:
    """The last of these steps: no more than are worth keeping."""
    steps = steps[-STEPS:]
    while sum(len(each.old.encode()) for each in steps) > KEPT:
        steps = steps[1:]
    return steps


def digest(lines: list[str]) -> str:
    """Equal for equal lines only."""
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
