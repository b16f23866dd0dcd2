"""A text editor for the files of a project."""

from pathlib import PurePath
from typing import Any

from sightline.apps import Element, Lod, Page, Refused, action
from sightline.apps.builtin.app import BuiltinApp
from sightline.files import textfile
from sightline.files.textfile import Stamp, Step, TextFile

SHOWN = {Lod.SUMMARY: 20, Lod.FULL: 200}  # lines around the cursor
OUTLINE = 40  # lines at most
UNREAD = Stamp()  # no file has it, so the file is read again


class Editor(BuiltinApp):
    """Open and edit the text files of the project."""

    name = "editor"
    zh = "文本编辑器：打开并编辑项目中的文本文件"
    path: str  # relative to the project's folder; empty while no file is open
    cursor: int
    selection: tuple[int, int] | None
    steps: list[Step]

    def __init__(self) -> None:
        self.path, self.cursor, self.selection, self.steps = "", 1, None, []
        self._lines: list[str] = []  # each with its line end; not saved, because they are in the file
        self._problem = ""  # why the file cannot be read
        self._loaded = ""  # the path of the file that was read
        self._stamp: Stamp | None = UNREAD  # of the file when it was read

    def opened(self) -> None:
        if self.target:
            self.open(self.target)

    def restore(self, state: Any) -> None:
        """Restore the position and the edits, with the text that the file has now."""
        super().restore(state)
        if self.path != self._loaded:
            self._load()
        self._clamp()

    def refresh(self) -> bool:
        """Read the file again if somebody else has changed it."""
        if not self.path or self._file().stamp() == self._stamp:
            return False
        before = (self._lines, self._problem)
        self._load()
        return before != (self._lines, self._problem)

    @action(label="Open a file of the project", zh="打开项目中的文件")
    def open(self, path: str) -> str:
        """Open a text file of the project instead of the one that is open, whose edits cannot be undone then."""
        file = self._file(path)
        file.read()
        if file.name() != self.path:
            self.path, self.cursor, self.selection, self.steps = file.name(), 1, None, []
        self._load()
        return self._say("opened file", path=self.path)

    @action(label="Go to a line", zh="跳转到行")
    def goto(self, line: int) -> str:
        """Move the cursor to a line, and show what stands around it."""
        self._check(line, line, inserting=False)
        self.cursor, self.selection = line, None
        return self._say("at line", line=line)

    @action(label="Select lines", zh="选择行")
    def select(self, first: int, last: int) -> str:
        """Select the lines from first to last, and show them."""
        self._check(first, last, inserting=False)
        self.cursor, self.selection = first, (first, last)
        return self._say("selected", first=first, last=last)

    @action(
        label="Replace lines; an empty text deletes, last=first-1 inserts",
        zh="替换行；空文本删除，last=first-1 插入",
        asks=True,
    )
    def edit(self, first: int, last: int, text: str) -> str:
        """Put text in place of lines first to last. No text deletes them; last = first - 1 inserts before first."""
        self._check(first, last)
        return self._change_to(textfile.spliced(self._lines, first, last, text))

    @action(label="Replace a text that occurs once", zh="替换只出现一次的文本", asks=True)
    def replace(self, old: str, new: str) -> str:
        """Put new in place of old: some text of the file, of one line or several, that occurs once."""
        self._check()
        places = textfile.spans(self._lines, old)
        if not places:
            raise Refused(self._say("no text"))
        if len(places) > 1:
            raise Refused(self._say("text twice"))
        return self._change_to(textfile.exchanged(self._lines, places[0], new))

    @action(label="Undo the last edit", zh="撤销上一次编辑", asks=True)
    def undo(self) -> str:
        """Take back the last edit. Refused if somebody else has changed the file after it."""
        self._check()
        if not self.steps:
            raise Refused(self._say("nothing to undo"))
        *earlier, last = self.steps
        if last.digest != textfile.digest(self._lines):
            raise Refused(self._say("changed since"))
        self._write(last.undone(self._lines), last.at, earlier)
        return self._say("undone", count=len(earlier))

    @action(label="Find a text", zh="查找文本")
    def find(self, text: str) -> str:
        """Move the cursor to the next line that holds this text; after the last one, to the first."""
        self._check()
        numbers = [number for number, line in enumerate(self._lines, 1) if text and text in line]
        if not numbers:
            raise Refused(self._say("no line", text=text))
        self.cursor, self.selection = next((number for number in numbers if number > self.cursor), numbers[0]), None
        listed = ", ".join(map(str, numbers[:20])) + ", …" * (len(numbers) > 20)
        return self._say("occurs", cursor=self.cursor, listed=listed)

    def view(self, lod: Lod) -> Page:
        """GIST: the file and the position; SUMMARY: also an outline and 20 lines; FULL: 200 lines at the cursor."""
        title, count = self._say("editor title"), len(self._lines)
        if not self.path:
            return Page(title, (Element(tag="file", text=self._say("no file")),))
        at = self._say("position", count=count, cursor=self.cursor)
        elements = [Element(tag="file", text=self._problem or f"{self.path} | {at}")]
        if lod is not Lod.GIST and count:
            elements.append(self._around(SHOWN[lod]))
        if lod is Lod.SUMMARY and (outline := textfile.outlined(self._lines, PurePath(self.path).suffix)):
            rows = [textfile.numbered(self._lines, number, outline[-1]) for number in outline[:OUTLINE]]
            if (more := len(outline) - OUTLINE) > 0:
                rows.append(self._say("more entries", more=more))
            elements.append(Element(tag="outline", text=self._say("outline title"), body="\n".join(rows), code=""))
        return Page(f"{title}: {self.path}", tuple(elements))

    def _around(self, most: int) -> Element:
        """Return the selection, or else the cursor, and the lines around it."""
        first, last = self.selection or (self.cursor, self.cursor)
        start = max(1, min(first - max(0, most - 1 - last + first) // 2, len(self._lines) - most + 1))
        stop = min(start + most - 1, len(self._lines))
        above, below = start - 1, len(self._lines) - stop
        text = self._say("around cursor", above=above, below=below)
        marks = dict.fromkeys(range(first, last + 1), ">") | {self.cursor: "█"}
        rows = [
            f"{marks.get(number, ' ')} {textfile.numbered(self._lines, number, stop)}"
            for number in range(start, stop + 1)
        ]
        return Element(tag="text", text=text, body="\n".join(rows), code=PurePath(self.path).suffix[1:])

    # ------------------------------------------------------------------ the file

    def _file(self, path: str | None = None) -> TextFile:
        """Return a file of the project; without a path, the one that is open."""
        return TextFile(self.host.project, self.path if path is None else path, self.host.locale, self.host.folders)

    def _load(self) -> None:
        """Read the file, or set the reason why it cannot be read."""
        self._loaded, stamp = self.path, self._file().stamp()
        self._stamp = stamp if stamp is None or stamp.settled(self.host.clock()) else UNREAD
        try:
            self._lines, self._problem = textfile.split(self._file().read()), ""
        except Refused as refused:
            self._lines, self._problem = [], str(refused)
        self._clamp()

    def _clamp(self) -> None:
        """Move cursor and selection to lines that exist."""
        if not self._problem:
            self.cursor = max(1, min(self.cursor, len(self._lines)))
            self.selection = self.selection if self.selection and self.selection[1] <= len(self._lines) else None

    def _change_to(self, text: str) -> str:
        """Write this text to the file, and remember how to undo that."""
        if text == "".join(self._lines):
            raise Refused(self._say("same text"))
        step = textfile.step(self._lines, textfile.split(text))
        self._write(text, step.at, textfile.kept([*self.steps, step]))
        return self._say("changed", cursor=self.cursor)

    def _write(self, text: str, at: int, steps: list[Step]) -> None:
        self._file().write(text, over="".join(self._lines))
        self.cursor, self.selection, self.steps = at + 1, None, steps
        self._load()

    def _check(self, first: int = 1, last: int = 0, *, inserting: bool = True) -> None:
        """Raise Refused if no file is open, or it has no such lines. `inserting`: the range may be empty."""
        count = len(self._lines)
        if not self.path or self._problem:
            raise Refused(self._problem or self._say("open first"))
        if not (1 <= first <= last + inserting and last <= count):
            raise Refused(self._say("no lines", first=first, last=last, count=count))
