"""What a file contains, in a few words: of code its functions and classes, of a table its columns, of JSON its keys."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import islice
from typing import Any

import msgspec

from sightline.shorten.json_text import decode_json
from sightline.shorten.labels import phrases
from sightline.shorten.lines import has_line_numbers, strip_number
from sightline.shorten.outline.languages import language, language_of_path
from sightline.shorten.outline.outline import outline
from sightline.shorten.sample import encodable
from sightline.values.phrases import size_text

NAMES = 8  # functions, classes, columns or keys that are named; of more, their number is given
NAME = 60  # characters of one name
LARGEST_JSON = 16 << 20  # characters of a document that is parsed: its keys are found without parsing their values
QUOTED_ROWS = 4 << 20  # characters of a table with quotation marks that is parsed; of a larger one lines are counted
HEADER = 64 * 1024  # characters in which the header of a table is searched
COMPARED = 20  # rows that show what separates the columns
SEPARATORS = ",;\t|"

_EXCEL = frozenset(("xlsx", "xls", "xlsm", "xlsb", "xltx", "xltm", "ods"))
_TABLES = {"csv": "CSV", "tsv": "TSV", "tab": "TSV", **dict.fromkeys(_EXCEL, "Excel")}
_TEXTS = frozenset(("markdown", "yaml", "xml"))  # languages of documents, described by their size
_PLAIN = frozenset(("txt", "text", ""))

Reported = Mapping[str, Any]  # what a file reader reported in addition to the content


def described(path: str, content: str, locale: str = "en", reported: Reported | None = None) -> str:
    """Return the details in the brackets of a file's gist: `python, 150 lines, functions: load, clean`.

    What is `reported` (lines, rows, columns, size, functions, classes, keys, language) wins over what is counted. Pure
    and total. Of a file of many megabytes only so much is read as takes a moment.
    """
    reported, wording = reported or {}, phrases(locale)
    ending = _ending(path)
    names = (reported[key] for key in ("language", "type", "file_type") if isinstance(reported.get(key), str))
    named_language = language(next(names, ""))
    language_name = language_of_path(path) or (named_language.name if named_language else "")
    if ending in _TABLES or (not language_name and str(reported.get("type", "")).lower() in ("csv", "excel", "tsv")):
        label = _TABLES.get(ending) or {"csv": "CSV", "excel": "Excel", "tsv": "TSV"}[str(reported["type"]).lower()]
        parts = [label, *_table_parts(content, reported, wording)]
    elif language_name == "json":
        parts = ["JSON", *_json_parts(content, reported, wording)]
    elif language_name and language_name not in _TEXTS:
        parts = [language_name, *_code_parts(content, language_name, reported, wording)]
    else:
        parts = [language_name or (wording["text"] if ending in _PLAIN else ending), _size(content, reported)]
    return ", ".join(parts)


def _ending(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    ending = name.rpartition(".")[2].lower() if "." in name.strip(".") else ""
    return ending if ending.isalnum() and ending.isascii() and len(ending) <= 10 else ""


# ---------------------------------------------------------------------- code


def _code_parts(content: str, language_name: str, reported: Reported, wording: Mapping[str, str]) -> list[str]:
    lines = _reported_number(reported, "line_count", "lines", "total_lines")
    if lines is None:
        lines = content.count("\n") + (bool(content) and not content.endswith("\n"))
    functions, classes = _reported_names(reported, "functions"), _reported_names(reported, "classes")
    if functions is None or classes is None:
        if has_line_numbers(content[:2000].split("\n")):  # many file readers put them before the lines
            content = "\n".join(map(strip_number, content.split("\n")))
        defined = outline(content, language_name)
        functions = defined.functions if functions is None else functions
        classes = defined.classes if classes is None else classes
    names = [*_name_phrase("functions", functions, wording), *_name_phrase("classes", classes, wording)]
    return [_count_phrase("read lines", lines, wording), *names]


# ---------------------------------------------------------------------- tables


def _table_parts(content: str, reported: Reported, wording: Mapping[str, str]) -> list[str]:
    columns = _reported_names(reported, "columns", "column_names")
    rows = _reported_number(reported, "rows", "row_count", "total_rows")
    sign = separator(content)
    if columns is None:
        first: list[str] = next(_read_rows(content[:HEADER].removeprefix("\ufeff"), sign), [])
        columns = tuple(name.strip() for name in first if name.strip())
    if rows is None:
        is_parsed = '"' in content and len(content) <= QUOTED_ROWS
        parsed = sum(1 for _ in _read_rows(content, sign)) if is_parsed else 0
        count = parsed if parsed > 1 else sum(map(bool, map(str.strip, content.split("\n"))))
        rows = max(0, count - 1)  # without the header
    return [_count_phrase("rows", rows, wording), *_name_phrase("columns", columns, wording)]


def separator(content: str) -> str:
    """Return what separates the columns: the sign that cuts the first rows into the most columns, and alike."""

    def columns(sign: str) -> int:
        counts = [len(row) for row in islice(_read_rows(content[:HEADER], sign), COMPARED)]
        return counts[0] if counts and 2 * counts.count(counts[0]) > len(counts) else 0

    return max(SEPARATORS, key=columns)


def _read_rows(content: str, separator: str) -> Iterator[list[str]]:
    """Yield the rows that contain anything, as far as the text can be read as a table."""
    try:
        yield from (row for row in csv.reader(StringIO(content, newline=""), delimiter=separator) if any(row))
    except csv.Error:  # a field that is too large, or a line end where none is allowed
        return


# ---------------------------------------------------------------------- JSON, and the rest


def _json_parts(content: str, reported: Reported, wording: Mapping[str, str]) -> list[str]:
    value: Any = _reported_names(reported, "keys", "top_keys")
    # The members of an object or a list stay unparsed.
    kind: Any = {"{": dict[str, msgspec.Raw], "[": list[msgspec.Raw]}.get(content[:4096].lstrip("\ufeff \t\r\n")[:1])
    if value is None and kind is not None and len(content) <= LARGEST_JSON:
        value = decode_json(encodable(content.lstrip("\ufeff")), kind)
    if isinstance(value, list):
        return [_size(content, reported), _count_phrase("array", len(value), wording)]
    return [_size(content, reported), *_name_phrase("keys", tuple(value or ()), wording)]


def _size(content: str, reported: Reported) -> str:
    size = _reported_number(reported, "size", "size_bytes", "bytes")
    if size is None and isinstance(reported.get("size"), str) and reported["size"].strip():
        return _one_line(reported["size"])
    return size_text(len(content.encode("utf-8", "replace")) if size is None else size)


# ---------------------------------------------------------------------- words and numbers


def _count_phrase(what: str, n: int, wording: Mapping[str, str]) -> str:
    return wording[what if n != 1 else f"{what} one"].format(n=n)


def _reported_number(reported: Reported, *keys: str) -> int | None:
    values = (reported.get(key) for key in keys)
    return next((value for value in values if type(value) is int and value >= 0), None)


def _reported_names(reported: Reported, *keys: str) -> tuple[str, ...] | None:
    values = (reported.get(key) for key in keys)
    names = next((value for value in values if isinstance(value, list | tuple | dict)), None)
    return None if names is None else tuple(name for name in names if isinstance(name, str))


def _name_phrase(what: str, names: Sequence[str], wording: Mapping[str, str]) -> list[str]:
    """Return a phrase with the first names, and how many there are if there are more; none without a name."""
    listed = ", ".join(map(_one_line, names[:NAMES]))
    if len(names) > NAMES:
        listed = wording["more names"].format(names=listed, n=len(names), more=len(names) - NAMES)
    return [wording[what].format(names=listed)] if names else []


def _one_line(name: str) -> str:
    """Return a name on one line, with balanced brackets because it is written inside brackets."""
    line = "".join(filter(str.isprintable, " ".join(encodable(name[: 4 * NAME]).split())))
    return closed(f"{line[:NAME]}…" if len(line) > NAME else line)


def closed(text: str) -> str:
    """Return the text, without its brackets if they are not balanced, because it is written inside brackets."""
    return text if balanced(text) else text.replace("(", "").replace(")", "")


def balanced(text: str) -> bool:
    """Whether every bracket is closed, and none is closed that was not open."""
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:  # here, because a caller tries many brackets of one text
            return False
    return depth == 0
