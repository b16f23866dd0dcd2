"""One text file of a project: reading and writing it, its lines, and undoing edits."""

import hashlib
import os
import re
import stat
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from sightline.errors import Refused
from sightline.files.folders import PROJECT, Folders, allowed_folders
from sightline.values.phrases import Phrases, texts

SIZE = 4_000_000  # bytes: the text of an open file is in memory
STEPS, KEPT = 20, 64_000  # edits that can be undone, and bytes that they replaced, because the log stores them
WIDTH = 400  # characters shown of a line: a file may be a single one
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) != "\t"}
_DEFINES = re.compile(r"\s*(?:(?:export|pub|async|abstract) )*(?:class|def|fn|func|function|interface|struct) ")
_HEADING = re.compile(r"#{1,6} ")
_SAY = Phrases(texts("files"))


class Stamp(NamedTuple):
    """Facts about a file on disk. A write changes at least one of them."""

    modified: int = 0  # nanoseconds since 1970
    size: int = -1
    inode: int = 0

    def settled(self, now: int) -> bool:
        """Whether a write after `now` (milliseconds) surely changes this, because disks count time in ticks."""
        return self.modified // 1_000_000 + 1000 < now


class TextFile(NamedTuple):
    """A path in a project. Methods raise Refused if they cannot do their work, in the language of the `locale`.

    Every method resolves the path again, because a folder may have become a link since the last time.
    """

    project: Path
    path: str
    locale: str
    folders: Folders = PROJECT  # the folders of the project that it must be in

    def place(self) -> Path:
        """The real path, with all links followed: of a regular file inside the project without keys or secrets."""
        allowed = allowed_folders(self.project, self.folders)
        root = allowed.root
        try:
            self.path.encode()  # raises if it is no valid text, because it could not be shown or saved
            place = (root / self.path).resolve()
            if not place.is_relative_to(root):
                raise self._refused("outside")
            if ".git" in place.relative_to(root).parts:  # because hooks in it may be run
                raise self._refused("of git")
            if allowed.is_secret(self.path, place):
                raise self._refused("secret", is_allowable=not allowed.is_ours(self.path, place))
            if not allowed.contain(place):
                raise self._refused("not readable")
            mode = place.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            raise self._refused("no file") from None
        except (OSError, ValueError, RuntimeError) as error:  # not permitted, too long, a NUL, links in a circle
            raise self._refused("unreachable") from error
        if not stat.S_ISREG(mode):
            raise self._refused("irregular")
        return place

    def name(self) -> str:
        """The path relative to the project, without links, so that the same file has one name."""
        return self.place().relative_to(self.project.resolve()).as_posix()

    def stamp(self) -> Stamp | None:
        """The stamp of the file, equal as long as nobody writes it; None if it cannot be reached."""
        try:
            status = self.place().lstat()
        except (Refused, OSError):
            return None
        return Stamp(status.st_mtime_ns, status.st_size, status.st_ino)

    def read(self) -> str:
        """The text, with its own line ends."""
        place = self.place()
        try:
            with place.open("rb") as file:
                self._check_place(file.fileno(), place)
                return self._text(file.read(SIZE + 1), place)
        except OSError as error:
            raise self._refused("unread", strerror=error.strerror) from error

    def write(self, text: str, *, over: str) -> None:
        """Replace the text `over` by this one in one step: a reader sees the old or the new text, never a part."""
        data = text.encode("utf-8", "surrogatepass")
        place = self.place()
        self._text(data, place)  # refuse what could not be opened again
        if self.read() != over:
            raise self._refused("changed meanwhile")
        if not place.lstat().st_mode & 0o222:  # because replacing the file would work all the same
            raise self._refused("read-only")
        try:
            folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                self._check_place(folder, place.parent)
                _swap(folder, place.name, data)
            finally:
                os.close(folder)
        except OSError as error:
            raise self._refused("unwritten", strerror=error.strerror) from error

    def _check_place(self, opened: int, place: Path) -> None:
        """Check that what was opened is really at `place`: no folder has become a link meanwhile."""
        try:
            now = Path(f"/proc/self/fd/{opened}").readlink()
        except OSError:  # this system has no /proc: resolve the path again
            now = place.resolve()
        if now != place:
            raise self._refused("outside")

    def _text(self, data: bytes, place: Path) -> str:
        if len(data) > SIZE:
            raise self._refused("too large", size=SIZE)
        if allowed_folders(self.project, self.folders).holds_secret(place, data):
            raise self._refused("key inside", is_allowable=True)
        with suppress(UnicodeDecodeError):
            if b"\0" not in data:
                return data.decode()
        raise self._refused("no text")

    def _refused(self, key: str, *, is_allowable: bool = False, **fields: Any) -> Refused:
        name = self.path.encode("utf-8", "replace").decode()
        why = _SAY(key, self.locale, **fields) + (_SAY("allow", self.locale) if is_allowable else "")
        return Refused(_SAY("refused", self.locale, name=name, why=why))


def _swap(folder: int, name: str, data: bytes) -> None:
    """Replace a file in an open folder by a new one with the same owner and mode. Never writes through a link."""
    old = os.stat(name, dir_fd=folder, follow_symlinks=False)
    new = f".sightline-{os.getpid()}-{name}"[:200]
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            with suppress(PermissionError):  # only root may change the owner
                os.fchown(handle, old.st_uid, old.st_gid)
            os.fchmod(handle, stat.S_IMODE(old.st_mode))
            file.flush()
            os.fsync(handle)  # before the rename, so that the name never points to unsynced data
        os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(new, dir_fd=folder)
        raise


# ---------------------------------------------------------------------- lines, each with its line end


def split(text: str) -> list[str]:
    """Split a text into lines. Only a newline ends a line; other separators are ordinary characters."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def bare(line: str) -> str:
    """A line without its line end."""
    return line.removesuffix("\n").removesuffix("\r")


def line_end(lines: list[str]) -> str:
    """The line end that most of these lines have."""
    windows = [line.endswith("\r\n") for line in lines if line.endswith("\n")]
    return "\r\n" if windows.count(True) > windows.count(False) else "\n"


def numbered(lines: list[str], number: int, last: int) -> str:
    """A line as it is shown: its number, padded to the width of the last, and its text without control characters."""
    line = bare(lines[number - 1]).translate(_PICTURES)
    more = f"… (+{len(line) - WIDTH})" if len(line) > WIDTH else ""
    return f"{number:>{len(str(last))}} | {line[:WIDTH]}{more}"


def outlined(lines: list[str], suffix: str) -> list[int]:
    """The numbers of the lines that begin a section: headings in Markdown, definitions elsewhere."""
    rule = _HEADING if suffix in (".md", ".markdown") else _DEFINES
    return [number for number, line in enumerate(lines, 1) if rule.match(line)]


def spliced(lines: list[str], first: int, last: int, text: str) -> str:
    """The text with `text` in place of lines first to last. A file without a final line end stays without one."""
    whole, end = list(lines), line_end(lines)
    if unended := bool(whole) and not whole[-1].endswith("\n"):
        whole[-1] += end
    whole[first - 1 : last] = [bare(line) + end for line in split(text)]
    if unended and whole:
        whole[-1] = bare(whole[-1])
    return "".join(whole)


class Span(NamedTuple):
    """A part of a text: its first character and its end."""

    start: int
    stop: int


def spans(lines: list[str], part: str) -> list[Span]:
    """Find a part in the text, whichever line ends the two have: at most two places, because one must be meant."""
    text, places = "".join(lines), list[Span]()
    for wanted in dict.fromkeys((part, part.replace("\r\n", "\n"), part.replace("\r\n", "\n").replace("\n", "\r\n"))):
        start = text.find(wanted) if wanted else -1
        while start >= 0 and len(places) < 2:
            places.append(Span(start, start + len(wanted)))
            start = text.find(wanted, start + 1)  # overlapping ones too
    return sorted(set(places))


def exchanged(lines: list[str], span: Span, new: str) -> str:
    """The text with `new` in place of a part."""
    text = "".join(lines)
    return text[: span.start] + new.replace("\r\n", "\n").replace("\n", line_end(lines)) + text[span.stop :]


class Step(Struct, frozen=True):
    """An edit that can be undone: after the first `at` lines, `count` lines replaced the text `old`."""

    at: int
    count: int
    old: str
    digest: str  # of the file after the edit

    def undone(self, lines: list[str]) -> str:
        """The text before the edit."""
        return "".join([*lines[: self.at], self.old, *lines[self.at + self.count :]])


def step(before: list[str], after: list[str]) -> Step:
    """The edit that turned the lines `before` into `after`."""
    at = _same(before, after)
    same = _same(before[at:][::-1], after[at:][::-1])
    return Step(at, len(after) - same - at, "".join(before[at : len(before) - same]), digest(after))


def _same(these: list[str], those: list[str]) -> int:
    """How many lines are equal, from the first on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(these, those, strict=False)))


def kept(steps: list[Step]) -> list[Step]:
    """The last of these steps, at most `STEPS` and `KEPT` bytes."""
    steps = steps[-STEPS:]
    while sum(len(step.old.encode()) for step in steps) > KEPT:
        steps = steps[1:]
    return steps


def digest(lines: list[str]) -> str:
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
