"""Results of reading a file: how one is recognised, what it contains, and the line that replaces it later."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from sightline.shorten.file_description import balanced, described
from sightline.shorten.json_text import decode_json, wrapped_result
from sightline.shorten.labels import phrases, tables
from sightline.shorten.sample import encodable

LARGEST = 16 << 20  # characters of a result that is parsed as JSON
DETAILS = 600  # characters of a header's details that are repeated
NAME = 160  # characters of a file's name

_HEADER = re.compile(r"\s{0,8}\[(?:文件|file|FILE)\][ \t]{0,4}([^\r\n]{1,4000})\r?(?:\n|$)")
_ANNOUNCED = re.compile(
    r"\s{0,8}文件[:：]?[ \t]{1,4}(\S{0,1000}[./\\]\S{1,1000})(?:[ \t]+(\([^\r\n]{0,2000}\)))?[ \t]{0,4}\r?(?:\n|$)"
)


# As opencode writes it: the path and the type before the content, and how many lines there are behind it.
_FRAMED = re.compile(r"\s{0,8}(?:<path>([^\r\n<]{1,4000})</path>\s{0,8}<type>file</type>\s{0,8})?<(content|file)>\r?\n")
_FRAME_END = re.compile(r"\n\s{0,8}\([^\r\n]{1,300}\)\s{0,8}$")


class Read(NamedTuple):
    """What a result says: which file, its content, and what the file reader knows about it."""

    path: str
    content: str
    details: str = ""  # that the file reader itself gives in brackets
    known: Mapping[str, Any] = {}


class _Document(Struct):
    path: Any
    content: Any
    metadata: Any = None


def parse_read(text: str, path: str = "") -> Read | None:
    """Return what a result says; `path` is the call's, for results that name no file. None if nothing names a file."""
    text = wrapped_result(text)
    read = _from_json(text) or _from_header(text) or _from_frame(text, path) or Read(path, text)
    return read if file_name(read.path) else None


def read_gist(text: str, locale: str = "en", path: str = "") -> str | None:
    """Return the line that replaces the result of a file read: `[file read] a.py (python, 150 lines, functions: load)`.

    It has only the file's name, never its folder. A text that already is such a line is returned unchanged. None if no
    file is named. Total.
    """
    line = text.strip() if len(text) <= 2 * DETAILS + NAME else ""
    beginnings = tuple(f"{own['file read']} " for own in tables())
    if line.startswith(beginnings) and line.endswith(")") and "\n" not in line:
        return text
    read = parse_read(text, path)
    if read is None:
        return None
    details = read.details or described(read.path, read.content, locale, read.known)
    return phrases(locale)["read"].format(name=file_name(read.path), details=details)


def file_name(path: str) -> str:
    """Return the last part of a path, on one line; "" if there is none."""
    line = " ".join(encodable(path[-4 * NAME :]).replace("\\", "/").rstrip("/ \t\r\n").rpartition("/")[2].split())
    return "".join(filter(str.isprintable, line))[-NAME:].strip()


def _from_json(text: str) -> Read | None:
    """Read a result that is an object with a path and a content, as in the BA-Agent document."""
    if len(text) > LARGEST or text[:64].lstrip()[:1] != "{":
        return None
    document: _Document | None = decode_json(encodable(text), _Document)
    if document is None or not isinstance(document.path, str) or not document.path.strip():
        return None
    content = "" if document.content is None else document.content
    if not isinstance(content, str):
        content = msgspec.json.encode(content).decode()
    return Read(document.path, content, known=document.metadata if isinstance(document.metadata, dict) else {})


def _from_header(text: str) -> Read | None:
    """Read a result whose first line names the file, with or without details in brackets."""
    if header := _HEADER.match(text):
        path, details = _split_details(header[1].rstrip())
        return Read(path, text[header.end() :], details)
    if line := _ANNOUNCED.match(text):
        return Read(line[1], text[line.end() :], _clean_details((line[2] or "")[1:-1]))
    return None


def _from_frame(text: str, path: str) -> Read | None:
    """Read a result whose content stands between tags."""
    if (frame := _FRAMED.match(text)) is None or (end := text.rfind(f"\n</{frame[2]}>")) < frame.end():
        return None
    content = text[frame.end() : end]
    if last := _FRAME_END.search(content[-400:]):
        content = content[: len(content) - len(content[-400:]) + last.start()].rstrip("\n") + "\n"
    return Read(frame[1] or path, content)


def _split_details(line: str) -> tuple[str, str]:
    """Split a first line into the path and the details: the last brackets that are balanced inside."""
    brackets = [*re.finditer(r"(?<=.) \(", line)] if line.endswith(")") else []
    for bracket in reversed(brackets):
        if balanced(inside := line[bracket.end() : -1]):
            return line[: bracket.start()].rstrip(), _clean_details(inside)
    return line, ""


def _clean_details(inside: str) -> str:
    line = "".join(filter(str.isprintable, encodable(inside)))
    return line if len(line) <= DETAILS else f"{line[:DETAILS].replace('(', '').replace(')', '')}…"
