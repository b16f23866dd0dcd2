"""References to code and to uploaded files in an answer, and how the model and the user see them.

Tags and markers in fences and inline code are quotations, and do not count.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec
from msgspec import Struct

from sightline.documents.code.phrases import one_line, say
from sightline.documents.code.store import CodeStore
from sightline.documents.code.versions import Saved
from sightline.errors import BadCodeId, StoreError, UnknownCode
from sightline.values.phrases import size_text
from sightline.values.screen_text import fenced

# A fence, also in a list or a quotation. A fence of backticks has no further backtick in its line.
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<marks>`{3,}(?=[^`]*\Z)|~{3,})")
_TICKS = re.compile("`+")

# Each match consumes its beginning, so the time of a search is proportional to the length of the text.
_TAG = re.compile(
    r"<code_ref>\s*(?P<code>code_[A-Za-z0-9_]+)\s*</code_ref>"
    r"|<file_ref>\s*(?:upload:)?(?P<file>[A-Za-z0-9][A-Za-z0-9_-]*)\s*</file_ref>"
)
_PLACE = re.compile(r"\{\{(?=(?:CODE|FILE):)")
_MARKER = re.compile(r"<!--[ \t]*CODE_SAVED:[ \t]*(?P<id>code_[A-Za-z0-9_]+)[ \t]*(?P<then>\||-->)")


class Upload(Struct, frozen=True):
    """A file that the user has uploaded."""

    file_id: str  # "upload_…", or what the client chose, such as a UUID
    filename: str
    file_type: str = ""
    size_bytes: int = 0
    description: str = ""


class Reference(NamedTuple):
    """One tag in a text."""

    kind: str  # "code" or "file"
    id: str
    start: int
    end: int


class CodeReference(Struct, frozen=True):
    """The code that `{{CODE:index}}` refers to."""

    code_id: str
    language: str
    description: str
    index: int


class FileReference(Upload, frozen=True):
    """The upload that `{{FILE:index}}` refers to."""

    index: int = 0


class Resolved(Struct, frozen=True):
    """A text for display: its tags are replaced by numbered places, which refer to `codes` and `files`."""

    text: str
    codes: list[CodeReference]
    files: list[FileReference]


# ---------------------------------------------------------------------- references


def references(text: str) -> list[Reference]:
    """Return the tags of a text, in order."""
    plain = PlainPlaces(text)
    return [
        Reference("code" if match["code"] else "file", match["code"] or match["file"], *match.span())
        for match in _TAG.finditer(text)
        if match.start() in plain
    ]


def resolved(text: str, store: CodeStore | None, uploads: Iterable[Upload] = ()) -> Resolved:
    """Return the text with `{{CODE:0}}` and `{{FILE:0}}` instead of tags. An unknown id keeps its tag.

    A `{{CODE:0}}` that the text itself contains gets a backslash between its braces.
    """
    uploaded = {upload.file_id: upload for upload in uploads}
    codes: dict[str, CodeReference] = {}
    files: dict[str, FileReference] = {}

    def place(tag: Reference) -> str:
        with suppress(BadCodeId, UnknownCode):
            if tag.kind == "code" and store:
                saved = store.find(tag.id)
                code = CodeReference(tag.id, saved.language, saved.description, len(codes))
                return f"{{{{CODE:{codes.setdefault(tag.id, code).index}}}}}"
        if tag.kind == "file" and (upload := uploaded.get(tag.id)):
            file = FileReference(**msgspec.structs.asdict(upload), index=len(files))
            return f"{{{{FILE:{files.setdefault(tag.id, file).index}}}}}"
        return text[tag.start : tag.end]

    pieces = [_PLACE.sub(r"{\\{", piece) if isinstance(piece, str) else place(piece) for piece in _pieces(text)]
    return Resolved("".join(pieces), list(codes.values()), list(files.values()))


def shown(text: str, store: CodeStore | None, uploads: Iterable[Upload] = (), *, locale: str = "en") -> str:
    """Return the text as Markdown for a reader: the first tag of a code is replaced by the code in a fence."""
    uploaded = {upload.file_id: upload for upload in uploads}
    before: set[str] = set()
    written = ""
    for piece in _pieces(text):
        if isinstance(piece, str):
            written += piece.lstrip("\n") if written.endswith("\n\n") else piece
        elif piece.id in before:
            written += f"`{piece.id}` ({say('shown above', locale)})"
        elif piece.id in uploaded:
            written += _title(uploaded[piece.id])
        elif block := _block(store, piece.id):
            before.add(piece.id)
            written = f"{written.rstrip()}\n\n{block}\n\n".lstrip("\n")
        else:
            written += f"`{piece.id}` ({say('not found', locale)})"
    return written.rstrip("\n") if before else written


def _pieces(text: str) -> Iterator[str | Reference]:
    at = 0
    for tag in references(text):
        yield text[at : tag.start]
        yield tag
        at = tag.end
    yield text[at:]


def _block(store: CodeStore | None, code_id: str) -> str:
    """Return a code with its title; "" if there is none, or its file is missing."""
    with suppress(BadCodeId, UnknownCode, StoreError):
        if store is not None:
            saved = store.find(code_id)
            title = f"**{saved.code_id}** ({saved.language}) - {_escaped(saved.description)}"
            code = store.read(code_id).removesuffix("\n")
            return f"{title}\n\n{fenced(code, saved.language)}"
    return ""


def _title(upload: Upload) -> str:
    details = ", ".join(filter(None, [_escaped(upload.file_type), size_text(upload.size_bytes)]))
    description = f" - {_escaped(upload.description)}" if upload.description else ""
    return f"**{_escaped(upload.filename)}** ({details}){description}"


def _escaped(text: str) -> str:
    """Return text in one line, with Markdown escaped."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", one_line(text))


# ---------------------------------------------------------------------- markers


class Marker(NamedTuple):
    """A comment that says that code was saved."""

    code_id: str
    description: str


def marker(saved: Saved) -> str:
    """Return the comment below an answer that tells programs that this code was saved."""
    description = re.sub("--(?=!?>)|(?<=<!)--", "—", one_line(saved.description))  # no comment begins or ends in it
    return (
        f"<!-- CODE_SAVED: {saved.code_id} | {description} -->"
        if description
        else f"<!-- CODE_SAVED: {saved.code_id} -->"
    )


def marked(text: str, saved: Iterable[Saved]) -> str:
    """Return an answer with the markers of its saved code. Markers in its own text are escaped."""
    plain = PlainPlaces(text, open_fences=False)
    escaped = _MARKER.sub(lambda match: f"&lt;{match[0][1:]}" if match.start() in plain else match[0], text)
    return "\n\n".join([escaped, *map(marker, saved)])


def markers(text: str) -> list[Marker]:
    """Return the markers of a text. Only the store knows whether the code was really saved."""
    listed: list[Marker] = []
    plain, at = PlainPlaces(text, open_fences=False), 0  # an answer cut off in a fence has markers too
    while match := _MARKER.search(text, at):
        at = match.end()
        if match.start() not in plain:
            continue
        description = ""
        if match["then"] == "|":
            end = text.find("-->", at)
            if end < 0:
                break
            description, at = text[at:end].strip(), end + len("-->")
        listed.append(Marker(match["id"], description))
    return listed


# ---------------------------------------------------------------------- what the model sees


def announcement(uploads: Sequence[Upload], locale: str = "en") -> str:
    """Return the note that files were uploaded, and how to refer to them; "" if there are none."""
    named = ", ".join(f"upload:{one_line(upload.file_id)}" for upload in uploads)
    how = "uploaded one" if len(uploads) == 1 else "uploaded several"
    return say(how, locale, named=named) if uploads else ""


def unified_listing(codes: Sequence[Saved], uploads: Sequence[Upload], locale: str = "en") -> str:
    """Return code and uploads in one list, and how to refer to them; "" if there are none."""
    as_uploads = [
        Upload(code.code_id, code.file_name, code.language, code.size_bytes, code.description) for code in codes
    ]
    blocks, hints = [say("files", locale)], []
    for files, group, hint in ((as_uploads, "code group", "use code"), (uploads, "upload group", "use upload")):
        if files:
            blocks.append("\n".join([say(group, locale), *map(_line, files)]))
            hints.append(say.template(hint, locale))
    return "\n\n".join([*blocks, "\n".join(hints)]) if hints else ""


def _line(file: Upload) -> str:
    kind = f" ({one_line(file.file_type)})" if file.file_type else ""
    described = f" - {one_line(file.description)}" if file.description else ""
    return f"- [{one_line(file.file_id)}] {one_line(file.filename)}{kind}{described} | {size_text(file.size_bytes)}"


class Quoted(NamedTuple):
    """One piece of quoted code, with its marks. A fence that is not closed reaches to the end of the text."""

    start: int
    end: int
    is_closed: bool = True


class PlainPlaces:
    """The places of a text outside quoted code. Without `open_fences`, a fence that is not closed quotes nothing."""

    def __init__(self, text: str, *, open_fences: bool = True) -> None:
        inside = [piece for piece in quoted(text) if piece.is_closed or open_fences]
        self._starts = [piece.start for piece in inside]
        self._ends = [piece.end for piece in inside]

    def __contains__(self, place: int) -> bool:
        before = bisect_right(self._starts, place) - 1
        return before < 0 or place >= self._ends[before]


def quoted(text: str) -> Iterator[Quoted]:
    """Yield all quoted code of a text, in order. The time is proportional to its length."""
    paragraph, start, fence, at = 0, 0, "", 0
    for line in text.splitlines(keepends=True):
        begin, at = at, at + len(line)
        if fence:
            marks = line.strip(" \t\r\n>")
            if len(marks) >= len(fence) and not marks.strip(fence[0]):
                yield Quoted(start, at)
                fence, paragraph = "", at
            continue
        opening = _FENCE.match(line)
        if opening or line.isspace():  # backticks do not reach beyond a paragraph
            yield from _inline(text, paragraph, begin)
            paragraph = at
        if opening:
            fence, start = opening["marks"], begin
    if fence:
        yield Quoted(start, len(text), is_closed=False)
    else:
        yield from _inline(text, paragraph, len(text))


def _inline(text: str, start: int, end: int) -> Iterator[Quoted]:
    """Yield code between a run of backticks and the next run of as many. A backslash escapes a backtick."""
    runs = [match.span() for match in _TICKS.finditer(text, start, end)]
    places: dict[int, list[int]] = defaultdict(list)
    for number, (first, last) in enumerate(runs):
        places[last - first].append(number)
    number = 0
    while number < len(runs):
        first, last = runs[number]
        before = text[max(0, first - 64) : first]
        first += (len(before) - len(before.rstrip("\\"))) % 2
        same = places[last - first] if last > first else []
        closing = bisect_right(same, number)
        if closing < len(same):
            number = same[closing]
            yield Quoted(first, runs[number][1])
        number += 1
