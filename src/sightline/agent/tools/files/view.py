"""A file's content as the result of a tool: which part of it is shown, and the line that describes it."""

from collections.abc import Sequence
from io import BytesIO
from itertools import accumulate
from typing import NamedTuple

import msgspec

from sightline.agent.tools.files import csv, excel
from sightline.agent.tools.files.folders import Opened, printable
from sightline.agent.tools.files.text import (
    BLOCK,
    LONGEST_LINE,
    MOST_BYTES,
    PAGE_BYTES,
    PAGE_LINES,
    Decoded,
    binary,
    decode,
    mark,
    page,
)
from sightline.agent.tools.in_thread import go_on
from sightline.agent.tools.schema import says
from sightline.errors import ToolFailed
from sightline.shorten.file_description import closed, described
from sightline.shorten.outline.languages import language_of_path
from sightline.values.decoders import decode_json
from sightline.values.phrases import size_text

ROWS = 200  # first rows that are shown of a table too long for one page: enough to see what it is
LARGEST_JSON = 20 << 20  # bytes that are checked and formatted: that takes as much memory again
LARGEST_FORMATTED = 100 << 20  # bytes of formatted JSON: deep values have much indentation
TRANSCODED = 20 << 20  # bytes of a UTF-16 file that are converted to UTF-8 at once

_FORMATS = {
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm", ".xls", ".xlsb", ".ods"), "excel"),
    **dict.fromkeys((".csv", ".tsv", ".tab"), "csv"),
    ".json": "json",
}
_INDENT = 2
_DEPTH_STEPS = [{"[": 1, "{": 1, "]": -1, "}": -1}.get(chr(byte), 0) for byte in range(256)]
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'[]{},"'))  # all bytes that are not JSON's punctuation


class Asked(NamedTuple):
    """What part of a file a call asks for, and how to read it."""

    format: str = ""  # empty: by the file's extension
    start: int = 1
    lines: int | None = None
    sheet: str | int = 0
    encoding: str = ""

    @property
    def is_part(self) -> bool:
        """Whether it asks for less than the whole file."""
        return self.start > 1 or self.lines is not None

    @property
    def most_bytes(self) -> int:
        """How many bytes are shown."""
        return MOST_BYTES if self.lines else PAGE_BYTES


def header(path: str, details: str, notes: Sequence[str], locale: str) -> str:
    """Return a result's first line: `[file] big.csv (CSV, 5000 rows, columns: a, b; rows 1–200, start=201 goes on)`.

    The details are in the last balanced brackets of the line.
    """
    inside = "; ".join(part for part in (details, *notes) if part)
    if not inside and path.endswith(")"):  # brackets of the name must not be taken for the details
        inside = language_of_path(path) or says(locale, "text", "文本")
    return f"[{says(locale, 'file', '文件')}] {printable(path)}" + (f" ({printable(closed(inside))})" if inside else "")


def contents(opened: Opened, wanted: Asked, locale: str) -> str:
    """Return the result for an open file. Raises ToolFailed."""
    kind = wanted.format or _FORMATS.get(opened.path[opened.path.rfind(".") :].lower(), "text")
    if kind == "excel":
        return _excel(opened, wanted, locale)
    try:
        opened, wanted = _as_text(opened, wanted, locale)
        if kind == "csv":
            return _csv(opened, wanted, locale)
        return _json(opened, wanted, locale) if kind == "json" else _plain(opened, wanted, (), locale)
    except LookupError:
        name = repr(wanted.encoding)
        raise ToolFailed(says(locale, f"no encoding {name}; leave it out", f"没有编码 {name}；可省略该参数")) from None


def _as_text(opened: Opened, wanted: Asked, locale: str) -> tuple[Opened, Asked]:
    """Return the file in an encoding whose line end is one byte, and how to read it. Raises ToolFailed if no text."""
    path, beginning = opened.path, opened.file.read(8192)
    opened.file.seek(0)
    if kind := "" if wanted.encoding else binary(beginning):
        size = size_text(opened.size)
        raise ToolFailed(says(locale, f"{path} is no text ({kind}, {size})", f"{path} 不是文本（{kind}，{size}）"))
    wide = ("utf-16", "utf-32")
    is_asked_wide = wanted.encoding.lower().replace("_", "-").startswith(wide)
    if not is_asked_wide and not mark(beginning).startswith(wide):
        return opened, wanted
    if opened.size > TRANSCODED:
        raise ToolFailed(says(locale, f"{path} is too large for UTF-16", f"{path} 为 UTF-16 编码且过大"))
    data = decode(opened.file.read(), wanted.encoding).text.encode("utf-8", "replace")
    return Opened(BytesIO(data), path, len(data)), wanted._replace(encoding="" if is_asked_wide else wanted.encoding)


# ---------------------------------------------------------------------- text and code


def _plain(opened: Opened, wanted: Asked, notes: tuple[str, ...], locale: str, details: str = "") -> str:
    """Return lines of a text, all of them if they fit one page."""
    facts = {"size": opened.size}
    fits = not wanted.is_part and opened.size <= PAGE_BYTES
    decoded = decode(opened.file.read() if fits else b"", wanted.encoding)
    if not fits or decoded.text.count("\n") > PAGE_LINES:
        lines = page(opened.file, wanted.start, wanted.lines or PAGE_LINES, wanted.most_bytes)
        decoded = decode(lines.data, wanted.encoding)
        facts["line_count"] = lines.total
        notes = (*notes, _range("lines", lines.first, lines.last, lines.total, locale, total=True))
        if lines.cut:
            notes = (*notes, says(locale, f"{lines.cut} long lines cut", f"{lines.cut} 个长行被截断"))
    notes = (*notes, *_encoding_notes(decoded, locale))
    details = (details or described(opened.path, decoded.text, locale, facts)) if notes else ""
    return f"{header(opened.path, details, notes, locale)}\n{decoded.text}"


def _range(unit: str, first: int, last: int, of: int, locale: str, *, total: bool = False) -> str:
    """Return `rows 1–200, start=201 goes on`; with the total if no other part of the line has it."""
    if last < first:
        return says(locale, f"there are no {unit} from {first} on", f"第 {first} 行之后没有内容")
    text = says(locale, f"{unit} {first}–{last}", f"第 {first}–{last} 行")
    if total:
        text += says(locale, f" of {of}", f"，共 {of} 行")
    return text + (says(locale, f", start={last + 1} goes on", f", start={last + 1} 继续") if last < of else "")


def _encoding_notes(decoded: Decoded, locale: str) -> tuple[str, ...]:
    """Return notes on an unusual encoding and on broken characters."""
    notes = []
    if decoded.encoding not in ("utf-8", "utf-8-sig"):
        notes.append(says(locale, f"encoding {decoded.encoding}", f"编码 {decoded.encoding}"))
    if decoded.broken:
        notes.append(says(locale, f"{decoded.broken} places are no text", f"{decoded.broken} 处不是有效文本"))
    return tuple(notes)


# ---------------------------------------------------------------------- tables


def _csv(opened: Opened, wanted: Asked, locale: str) -> str:
    small = not wanted.is_part and opened.size <= PAGE_BYTES
    try:
        table = csv.table(opened.file, wanted.start, wanted.lines or (PAGE_LINES if small else ROWS), wanted.most_bytes)
    except csv.NoTable as error:
        opened.file.seek(0)
        note = says(locale, f"no table: {error}", f"不是表格：{error}")
        return _plain(opened, wanted, (note,), locale, f"CSV, {size_text(opened.size)}")
    whole = table.first == 1 and table.last == table.rows
    if small and whole:
        opened.file.seek(0)
        return _plain(opened, wanted, (), locale)
    decoded = decode(table.data, wanted.encoding)
    columns = [decode(name.encode("latin-1"), decoded.encoding.removesuffix("-sig")).text for name in table.columns]
    notes = _encoding_notes(decoded, locale)
    if not whole:
        notes = (_range("rows", table.first, table.last, table.rows, locale), *notes)
    if not table.counted:
        notes = (*notes, says(locale, "there are more rows than were counted", "行数超出统计上限"))
    return f"{header(opened.path, _shape('csv', table.rows, columns, locale), notes, locale)}\n{decoded.text}"


def _shape(kind: str, rows: int, columns: Sequence[str], locale: str) -> str:
    """Describe a table: its rows, and the names of its columns."""
    named = [printable(name.strip().lstrip("\ufeff")) for name in columns]
    return described("", "", locale, {"type": kind, "rows": rows, "columns": named})


def _excel(opened: Opened, wanted: Asked, locale: str) -> str:
    try:
        rows = wanted.lines or ROWS
        sheet = excel.sheet(opened.file, opened.size, wanted.sheet, wanted.start, rows, wanted.most_bytes)
    except excel.Unreadable as error:
        reason, detail = error.args
        raise ToolFailed(says(locale, *_UNREADABLE[reason]).format(path=opened.path, detail=detail)) from None
    names = ", ".join(printable(name) for name in sheet.names)
    notes = [
        _range("rows", sheet.first, sheet.last, sheet.rows, locale),
        says(locale, f"sheet {printable(sheet.name)} of: {names}", f"工作表 {printable(sheet.name)}，共有：{names}"),
    ]
    return f"{header(opened.path, _shape('excel', sheet.rows, sheet.columns, locale), notes, locale)}\n{sheet.text}"


_UNREADABLE = {
    "missing": (
        "reading Excel files needs a library: pip install 'sightline-context[code]'",
        "读取 Excel 文件需要安装：pip install 'sightline-context[code]'",
    ),
    "bomb": (
        "{path} is refused: unpacked it would be too large ({detail})",
        "拒绝读取 {path}：解压后过大（{detail}）",
    ),
    "large": ("{path} needs more than {detail} MB to be read", "读取 {path} 需要超过 {detail} MB"),
    "slow": ("{path} could not be read within {detail} s", "{path} 未能在 {detail} 秒内读完"),
    "sheet": ("{path} has no such sheet; there are: {detail}", "{path} 没有该工作表；现有：{detail}"),
    "broken": ("{path} is no Excel file that can be read: {detail}", "无法作为 Excel 文件读取 {path}：{detail}"),
}


# ---------------------------------------------------------------------- JSON


def _json(opened: Opened, wanted: Asked, locale: str) -> str:
    """Return JSON as it is in the file; if it is long and on few lines, formatted."""
    if opened.size > LARGEST_JSON:
        return _plain(opened, wanted, (), locale, f"JSON, {size_text(opened.size)}")
    data = decode(opened.file.read(), wanted.encoding).text.encode("utf-8", "replace").removeprefix("\ufeff".encode())
    opened.file.seek(0)
    try:
        decode_json(data, msgspec.Raw)
    except (msgspec.DecodeError, RecursionError) as error:
        note = says(locale, f"not valid JSON: {str(error)[:100]}", f"不是有效的 JSON：{str(error)[:100]}")
        return _plain(opened, wanted, (note,), locale, f"JSON, {size_text(opened.size)}")
    if not wanted.is_part and opened.size <= PAGE_BYTES:
        return _plain(opened, wanted, (), locale)
    details = described("a.json", data.decode(), locale, {"size": opened.size})
    if max(map(len, data.split(b"\n"))) <= LONGEST_LINE:
        return _plain(opened, wanted, (), locale, details)
    if _formatted_size(data) > LARGEST_FORMATTED:
        note = says(locale, "too deep to be laid out on lines", "嵌套过深，未排版为多行")
        return _plain(opened, wanted, (note,), locale, details)
    formatted = msgspec.json.format(data, indent=_INDENT)
    note = says(locale, "laid out on lines", "已排版为多行")
    return _plain(Opened(BytesIO(formatted), opened.path, len(formatted)), wanted, (note,), locale, details)


def _formatted_size(data: bytes) -> int:
    """Return how many bytes formatted JSON has at most: each bracket and comma ends a line, indented by its depth."""
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NOT_STRUCTURE)
    blanks = depth = quoted = 0
    for start in range(0, len(bare), BLOCK):
        go_on()
        parts = bare[start : start + BLOCK].split(b'"')
        outside = b"".join(parts[quoted::2])
        steps = list(map(_DEPTH_STEPS.__getitem__, outside))
        blanks += _INDENT * sum(accumulate(steps, initial=depth))
        depth += sum(steps)
        quoted = (quoted + len(parts) - 1) % 2
    return 2 * len(data) + blanks
