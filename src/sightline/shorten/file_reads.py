"""Results of reading a file: how one is known, what it says, and the line that stands for it later."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from sightline.shorten.file_description import balanced, described
from sightline.shorten.labels import WORDS, words
from sightline.shorten.sample import legal

ID = "call_read_file_"  # how the ids of calls begin that read a file
TOOLS = frozenset(("file_reader", "read_file"))
LARGEST = 16 << 20  # characters of a result that is parsed as JSON
DETAILS = 600  # characters of a header's details that are repeated
NAME = 160  # characters of a file's name

_HEADED = re.compile(r"\s{0,8}\[(?:文件|file|FILE)\][ \t]{0,4}([^\r\n]{1,4000})\r?(?:\n|$)")
_SAID = re.compile(
    r"\s{0,8}文件[:：]?[ \t]{1,4}(\S{0,1000}[./\\]\S{1,1000})(?:[ \t]+(\([^\r\n]{0,2000}\)))?[ \t]{0,4}\r?(?:\n|$)"
)


class Read(NamedTuple):
    """What a result says: of which file, what is in it, and what its reader knows of it."""

    path: str
    content: str
    details: str = ""  # what the reader itself says in brackets
    known: Mapping[str, Any] = {}


def is_file_read(call_id: str, tool: str) -> bool:
    """Whether a call reads a file: its id says so, or the name of its tool."""
    return call_id.startswith(ID) or tool in TOOLS


def parse_read(text: str, path: str = "") -> Read | None:
    """What a result says; `path` is the call's, for results that name none. None where nobody names a file."""
    found = _from_json(text) or _headed(text) or Read(path, text)
    return found if file_name(found.path) else None


def read_gist(text: str, locale: str = "en", path: str = "") -> str | None:
    """The line that stands for the result of a file read: `[file read] a.py (python, 150 lines, functions: load)`.

    The name alone of the file, never where it is. A line that is one already stays. None where no file is named. Total.
    """
    if _is_gist(text):
        return text
    read = parse_read(text, path)
    if read is None:
        return None
    details = read.details or described(read.path, read.content, locale, read.known)
    return words(locale)["read"].format(name=file_name(read.path), details=details)


def file_name(path: str) -> str:
    """The last part of a path, on one line; "" where there is none."""
    said = " ".join(legal(path[-4 * NAME :]).replace("\\", "/").rstrip("/ \t\r\n").rpartition("/")[2].split())
    return "".join(filter(str.isprintable, said))[-NAME:].strip()


def _is_gist(text: str) -> bool:
    if len(text) > 2 * DETAILS + NAME or "\n" in text.strip():
        return False
    return text.rstrip().endswith(")") and text.lstrip().startswith(
        tuple(f"{own['file read']} " for own in WORDS.values())
    )


def _from_json(text: str) -> Read | None:
    """A result that is an object with a path and a content, as the document has it."""
    if len(text) > LARGEST or text[:64].lstrip()[:1] != "{":
        return None
    try:
        members = msgspec.json.decode(
            legal(text), type=dict[str, msgspec.Raw]
        )  # the members unread: it may be any JSON
        if "path" not in members or "content" not in members:
            return None
        read = {key: msgspec.json.decode(members[key]) for key in ("path", "content", "metadata") if key in members}
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    path, known = read["path"], read.get("metadata")
    if not isinstance(path, str) or not path.strip():
        return None
    return Read(path, _as_text(read["content"]), known=known if isinstance(known, dict) else {})


def _as_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "" if content is None else msgspec.json.encode(content).decode()


def _headed(text: str) -> Read | None:
    """A result whose first line names the file, with or without details in brackets."""
    if headed := _HEADED.match(text):
        path, details = _split(headed[1].rstrip())
        return Read(path, text[headed.end() :], details)
    if said := _SAID.match(text):
        return Read(said[1], text[said.end() :], _detail((said[2] or "")[1:-1]))
    return None


def _split(line: str) -> tuple[str, str]:
    """The path of a first line and its details: what stands in the last brackets that close all they open."""
    at = line.rfind(" (") if line.endswith(")") else -1
    while at > 0:
        inside = line[at + 2 : -1]
        if balanced(inside):
            return line[:at].rstrip(), _detail(inside)
        at = line.rfind(" (", 0, at)
    return line, ""


def _detail(inside: str) -> str:
    said = "".join(filter(str.isprintable, legal(inside)))
    return said if len(said) <= DETAILS else f"{said[:DETAILS].replace('(', '').replace(')', '')}…"
