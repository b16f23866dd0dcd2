"""What a file holds, in a few words: of code its functions and classes, of a table its columns, of JSON its keys."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import islice
from typing import Any

import msgspec

from sightline.shorten.labels import words
from sightline.shorten.lines import bare, numbered
from sightline.shorten.outline.languages import language, language_of_path
from sightline.shorten.outline.outline import outline
from sightline.shorten.sample import legal
from sightline.values.phrases import size_text

NAMES = 8  # functions, classes, columns or keys that are told; of more, how many there are
NAME = 60  # characters of one
LARGEST_JSON = 16 << 20  # characters of a document that is looked into: its keys are found without reading the rest
QUOTED_ROWS = 4 << 20  # characters of a table with quotation marks whose rows are read; beyond, its lines are counted
HEADER = 64 * 1024  # characters in which the header of a table is looked for
COMPARED = 20  # rows by which it is told what separates the columns
SEPARATORS = ",;\t|"

_EXCEL = frozenset(("xlsx", "xls", "xlsm", "xlsb", "xltx", "xltm", "ods"))
_TABLES = {"csv": "CSV", "tsv": "TSV", "tab": "TSV", **dict.fromkeys(_EXCEL, "Excel")}
_TEXTS = frozenset(("markdown", "yaml", "xml"))  # languages of documents: told by their size
_PLAIN = frozenset(("txt", "text", ""))

Known = Mapping[str, Any]
"""What a reader said of a file beside its content."""


def described(path: str, content: str, locale: str = "en", known: Known | None = None) -> str:
    """The details of a file, as they stand in the brackets of its gist: `python, 150 lines, functions: load, clean`.

    What is `known` wins over what is counted: lines, rows, columns, size, functions, classes, keys, language. Pure and
    total; of a file of many megabytes only as much is read as takes a moment.
    """
    known, wording = known or {}, words(locale)
    ending = _ending(path)
    spoken = language_of_path(path) or _language(known)
    if ending in _TABLES or (not spoken and str(known.get("type", "")).lower() in ("csv", "excel", "tsv")):
        label = _TABLES.get(ending) or {"csv": "CSV", "excel": "Excel", "tsv": "TSV"}[str(known["type"]).lower()]
        parts = [label, *_table(content, known, wording)]
    elif spoken == "json":
        parts = ["JSON", *_json(content, known, wording)]
    elif spoken and spoken not in _TEXTS:
        parts = [spoken, *_code(content, spoken, known, wording)]
    else:
        parts = [spoken or (wording["text"] if ending in _PLAIN else ending), _size(content, known)]
    return ", ".join(parts)


def _ending(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    found = name.rpartition(".")[2].lower() if "." in name.strip(".") else ""
    return found if found.isalnum() and found.isascii() and len(found) <= 10 else ""


def _language(known: Known) -> str:
    said = next((known[key] for key in ("language", "type", "file_type") if isinstance(known.get(key), str)), "")
    found = language(said)
    return found.name if found else ""


# ---------------------------------------------------------------------- code


def _code(content: str, spoken: str, known: Known, wording: Mapping[str, str]) -> Iterator[str]:
    lines = _number(known, "line_count", "lines", "total_lines")
    yield _counted("read lines", _lines(content) if lines is None else lines, wording)
    functions, classes = _names(known, "functions"), _names(known, "classes")
    if functions is None or classes is None:
        found = outline(_unnumbered(content), spoken)
        functions = found.functions if functions is None else functions
        classes = found.classes if classes is None else classes
    if functions:
        yield wording["functions"].format(names=_listed(functions, wording))
    if classes:
        yield wording["classes"].format(names=_listed(classes, wording))


def _lines(content: str) -> int:
    return content.count("\n") + (bool(content) and not content.endswith("\n"))


def _unnumbered(content: str) -> str:
    """The lines without the numbers that many readers put before them."""
    if not numbered(content[:2000].split("\n")):
        return content
    return "\n".join(map(bare, content.split("\n")))


# ---------------------------------------------------------------------- tables


def _table(content: str, known: Known, wording: Mapping[str, str]) -> Iterator[str]:
    columns = _names(known, "columns", "column_names")
    rows = _number(known, "rows", "row_count", "total_rows")
    between = separator(content)
    if columns is None:
        columns = _header(content, between)
    if rows is None:
        rows = max(0, _rows(content, between) - 1)
    yield _counted("rows", rows, wording)
    if columns:
        yield wording["columns"].format(names=_listed(columns, wording))


def separator(content: str) -> str:
    """What separates the columns: what cuts the first rows into the most, and all of them into as many."""
    beginning = content[:HEADER]

    def columns(sign: str) -> int:
        counts = [len(row) for row in islice(_read(beginning, sign), COMPARED)]
        alike = sum(count == counts[0] for count in counts) if counts else 0
        return counts[0] if counts and 2 * alike > len(counts) else 0

    return max(SEPARATORS, key=columns)


def _read(content: str, separator: str) -> Iterator[list[str]]:
    """The rows of a table that hold anything, as far as it can be read as one."""
    try:
        yield from (row for row in csv.reader(StringIO(content, newline=""), delimiter=separator) if any(row))
    except csv.Error:  # a field larger than any person's, or a line end where none may be
        return


def _header(content: str, separator: str) -> tuple[str, ...]:
    first: list[str] = next(_read(content[:HEADER].removeprefix("\ufeff"), separator), [])
    return tuple(name.strip() for name in first if name.strip())


def _rows(content: str, separator: str) -> int:
    """How many rows there are, the header among them."""
    if '"' in content and len(content) <= QUOTED_ROWS:
        count = sum(1 for _ in _read(content, separator))
        if count > 1:
            return count
    return sum(map(bool, map(str.strip, content.split("\n"))))


# ---------------------------------------------------------------------- JSON, and the rest


def _json(content: str, known: Known, wording: Mapping[str, str]) -> Iterator[str]:
    yield _size(content, known)
    keys = _names(known, "keys", "top_keys")
    value = None if keys is not None else _top(content)
    if isinstance(value, list):
        yield _counted("array", len(value), wording)
    elif keys := tuple(value) if value is not None else keys:
        yield wording["keys"].format(names=_listed(keys, wording))


def _top(content: str) -> dict[str, Any] | list[Any] | None:
    """The object or list that a document is, its members unread; None where it is neither."""
    kind: Any = {"{": dict[str, msgspec.Raw], "[": list[msgspec.Raw]}.get(content[:4096].lstrip("\ufeff \t\r\n")[:1])
    if kind is None or len(content) > LARGEST_JSON:
        return None
    try:
        value: dict[str, Any] | list[Any] = msgspec.json.decode(legal(content.lstrip("\ufeff")), type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return value


def _size(content: str, known: Known) -> str:
    size = _number(known, "size", "size_bytes", "bytes")
    if size is None and isinstance(known.get("size"), str) and known["size"].strip():
        return _one_line(known["size"])
    return size_text(len(content.encode("utf-8", "replace")) if size is None else size)


# ---------------------------------------------------------------------- words and numbers


def _counted(what: str, n: int, wording: Mapping[str, str]) -> str:
    return wording[what if n != 1 else f"{what} one"].format(n=n)


def _number(known: Known, *keys: str) -> int | None:
    values = (known.get(key) for key in keys)
    return next((value for value in values if type(value) is int and value >= 0), None)


def _names(known: Known, *keys: str) -> tuple[str, ...] | None:
    values = (known.get(key) for key in keys)
    found = next((value for value in values if isinstance(value, list | tuple | dict)), None)
    return None if found is None else tuple(name for name in found if isinstance(name, str))


def _listed(names: Sequence[str], wording: Mapping[str, str]) -> str:
    """The first names, and how many there are."""
    shown = ", ".join(map(_one_line, names[:NAMES]))
    return (
        shown
        if len(names) <= NAMES
        else wording["more names"].format(names=shown, n=len(names), more=len(names) - NAMES)
    )


def _one_line(name: str) -> str:
    """A name on one line, its brackets closed: it stands in brackets itself."""
    said = "".join(filter(str.isprintable, " ".join(legal(name[: 4 * NAME]).split())))
    said = f"{said[:NAME]}…" if len(said) > NAME else said
    return closed(said)


def closed(text: str) -> str:
    """The text, without its brackets where they are not balanced: it stands in brackets itself."""
    return text if balanced(text) else text.replace("(", "").replace(")", "")


def balanced(text: str) -> bool:
    """Whether every bracket is closed, and none that was not open."""
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0
