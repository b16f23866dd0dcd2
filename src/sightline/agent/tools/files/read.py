"""The tool that reads a file: text, code, CSV, Excel or JSON, by its path, or by the id of saved code or an upload.

The first line of a result is ours: `[file] path`, with details in brackets if the result is not simply the whole file.
All lines after it are the file's text.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from sightline.agent.tools import Tool
from sightline.agent.tools.code_by_id import ID, CodeById
from sightline.agent.tools.files.folders import Folders, Opened, printable
from sightline.agent.tools.files.view import Asked, contents, header
from sightline.agent.tools.in_thread import in_thread
from sightline.agent.tools.schema import Parameter, say, tool
from sightline.errors import StoreError, ToolFailed, UnknownCode
from sightline.files.secrets import has_secret
from sightline.shorten import READ_ID

NAME, ALIAS = "file_reader", "read_file"
FORMATS = ("csv", "excel", "json", "text", "python", "sql", "code")
MOST_NAMED = 10  # ids in an error

_CODE = re.compile(rf"(?:<code_ref>\s*)?({ID})(?:\.[A-Za-z]{{1,8}})?(?:\s*</code_ref>)?")
_UPLOAD = re.compile(r"(?:<file_ref>\s*)?(?:upload:)?([\w.\-]{1,200})(?:\s*</file_ref>)?")

_RENAMED = dict.fromkeys(("file_id", "id", "code_id", "file_path", "filename", "file"), "path")  # as models say it

_PARAMETERS = (
    Parameter("path", "string", "read path", required=True),
    Parameter("format", "string", "read format", choices=FORMATS),
    Parameter("start", "integer", "read start", least=1),
    Parameter("lines", "integer", "read lines count", least=1),
    Parameter("sheet_name", "string", "read sheet"),
    Parameter("nrows", "integer", "read nrows", least=1),
    Parameter("encoding", "string", "read encoding"),
)


def file_reader(
    folders: Folders, codes: CodeById | None = None, uploads: Mapping[str, Path] | None = None, locale: str = "en"
) -> Tool:
    """Return the tool that reads files. `uploads`: files that the user uploaded, anywhere on disk, by id."""
    run = partial(in_thread, read, folders.with_locale(locale), codes, {} if uploads is None else uploads)
    return tool(NAME, say("file_reader", locale), _PARAMETERS, run, locale, aliases=(ALIAS,), renamed=_RENAMED)


def call_id(unique: str) -> str:
    """Return an id that shows that a call is of this tool. It depends on the given id only."""
    return unique if unique.startswith(READ_ID) else f"{READ_ID}{sha256(unique.encode()).hexdigest()[:12]}"


def read(folders: Folders, codes: CodeById | None, uploads: Mapping[str, Path], arguments: Mapping[str, Any]) -> str:
    """Return the tool's result. Raises ToolFailed."""
    path, sheet = arguments["path"].strip(), arguments.get("sheet_name", "0")
    wanted = Asked(
        format=arguments.get("format", ""),
        start=arguments.get("start", 1),
        lines=arguments.get("lines") or arguments.get("nrows"),
        sheet=int(sheet) if sheet.isascii() and sheet.isdigit() else sheet,
        encoding=arguments.get("encoding", ""),
    )
    if (code := _saved_code(codes, path, wanted, folders.locale)) is not None:
        return code
    with _open(folders, codes, uploads, path) as opened:
        result = contents(opened, wanted, folders.locale)
        # What was not looked at when it was opened: the end of a long file, or a workbook's text.
        if not opened.readable and has_secret(result.encode("utf-8", "replace")):
            raise folders.secret(opened.path)
        return result


def _saved_code(codes: CodeById | None, path: str, wanted: Asked, locale: str) -> str | None:
    """Return saved code, under the name of its file; None if the path is not the id of saved code."""
    match = _CODE.fullmatch(path)
    if codes is None or match is None:
        return None
    try:
        saved, code = codes.find(match[1]), codes.read(match[1])
    except UnknownCode:  # it may be the name of a file
        return None
    except StoreError as error:
        raise ToolFailed(str(error)) from error
    if not wanted.is_part:
        return f"{header(saved.file_name, '', (), locale)}\n{code}"
    data = code.encode("utf-8", "replace")
    opened = Opened(BytesIO(data), saved.file_name, len(data))
    return contents(opened, wanted._replace(format="text", encoding="utf-8"), locale)


@contextmanager
def _open(folders: Folders, codes: CodeById | None, uploads: Mapping[str, Path], path: str) -> Iterator[Opened]:
    locale, match = folders.locale, _UPLOAD.fullmatch(path)
    upload = uploads.get(match[1]) if match else None
    if upload is None and path.startswith(("upload_", "upload:")):
        names = ", ".join(islice(uploads, MOST_NAMED)) or "–"
        raise ToolFailed(say("no upload", locale, path=path, names=names))
    try:
        with _upload(upload, locale) if upload else folders.open(path) as opened:
            yield opened
    except ToolFailed as error:
        if upload or codes is None or not _CODE.fullmatch(path):
            raise
        names = ", ".join(saved.code_id for saved in codes.list()[:MOST_NAMED]) or "–"
        raise ToolFailed(say("saved code", locale, error=error, names=names)) from None


@contextmanager
def _upload(path: Path, locale: str) -> Iterator[Opened]:
    """Open a file that the user uploaded. It may be anywhere, but must be a regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        why = error.strerror or str(error)
        raise ToolFailed(say("upload unreadable", locale, name=path.name, why=why)) from None
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):  # before it is opened as a file, which fails for a folder
        os.close(descriptor)
        raise ToolFailed(say("irregular", locale, name=path.name))
    with open(descriptor, "rb") as file:  # noqa: PTH123 - of a descriptor
        yield Opened(file, printable(path.name), state.st_size, readable=True)  # the user has given it
