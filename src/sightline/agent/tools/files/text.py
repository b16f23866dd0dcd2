"""A part of a text file of any size and encoding: whole lines, decoded, and the number of all lines."""

import codecs
from typing import BinaryIO, NamedTuple

from sightline.agent.tools.in_thread import go_on

PAGE_LINES = 2000  # and PAGE_BYTES: what one call shows if it does not ask for more; about 50,000 tokens
PAGE_BYTES = 200_000
MOST_BYTES = 900_000  # that any call shows: with its framing, a result stays below 1 MB
LONGEST_LINE = 10_000  # bytes of a line in a file too long for one page; nobody writes a longer one by hand
BLOCK = 1 << 20

_NO_FILES = ("idna", "punycode", "undefined")  # encodings of host names, and of nothing: no text file has them
_TOLERATED = 20  # a text with one broken character in so many is damaged UTF-8, and not another encoding
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, because it begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_KINDS = (
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"%PDF", "PDF"),
    (b"PK\x03\x04", "ZIP"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf", "7z"),
    (b"\x7fELF", "ELF"),
    (b"SQLite format 3", "SQLite"),
    (b"\xd0\xcf\x11\xe0", "OLE"),
    (b"PAR1", "Parquet"),
    (b"RIFF", "RIFF"),
)


class Decoded(NamedTuple):
    """Text, and its encoding. `broken`: places that could not be decoded, shown as U+FFFD."""

    text: str
    encoding: str
    broken: int = 0


class Page(NamedTuple):
    """Lines `first` to `last` of `total`. `cut`: how many of them are cut."""

    data: bytes
    first: int
    last: int
    total: int
    cut: int = 0


def mark(beginning: bytes) -> str:
    """Return the encoding that a byte order mark names; empty if there is none."""
    return next((name for sign, name in _MARKS if beginning.startswith(sign)), "")


def binary(beginning: bytes) -> str:
    """Return the kind of a file that is not text, such as "PNG"; empty for text."""
    unknown = "binary" if b"\0" in beginning and not mark(beginning) else ""
    return next((name for sign, name in _KINDS if beginning.startswith(sign)), unknown)


def decode(data: bytes, encoding: str = "") -> Decoded:
    """Decode bytes: in the encoding asked for, else UTF-8, else GB 18030, else Latin-1. No bytes make it fail.

    Raises:
        LookupError: there is no such encoding.
    """
    wanted = encoding or mark(data)
    if wanted:
        _check(wanted)
        text = data.decode(wanted, "replace")
        return Decoded(text, wanted, text.count("\ufffd"))
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd") - data.count("\ufffd".encode())
    if broken * _TOLERATED <= sum(1 for character in text if character > "\x7f") - broken if broken else True:
        return Decoded(text, "utf-8", broken)
    try:
        return Decoded(data.decode("gb18030"), "gb18030")
    except UnicodeDecodeError:
        return Decoded(data.decode("latin-1"), "latin-1")


def _check(encoding: str) -> None:
    """Raise LookupError if it is not an encoding of text: "rot13" and "zip" are codecs, too."""
    try:
        codec = codecs.lookup(encoding)
    except ValueError:  # not a name
        raise LookupError(f"unknown encoding: {encoding!r}") from None
    if not codec._is_text_encoding or codec.name in _NO_FILES:
        raise LookupError(f"unknown encoding: {encoding}")


def page(file: BinaryIO, start: int, lines: int, most_bytes: int) -> Page:
    """Return at most so many lines and bytes of a file, from line `start` on. Memory is bounded for every file."""
    offset, before, total = _find_line(file, start)
    file.seek(offset)
    taken: list[bytes] = []
    room, cut = most_bytes, 0
    while len(taken) < lines and room > 0:
        line, rest = _line(file, min(LONGEST_LINE, room))
        if not line:
            break
        taken.append(line)
        room -= len(line)
        cut += rest
    return Page(b"".join(taken), before + 1, before + len(taken), total, cut)


def _find_line(file: BinaryIO, start: int) -> tuple[int, int, int]:
    """Return the offset of line `start`, the number of lines before it, and the number of all lines."""
    file.seek(0)
    total = offset = position = 0
    last = b"\n"
    is_reached = start == 1
    while block := file.read(BLOCK):
        go_on()
        newlines = block.count(b"\n")
        if not is_reached and total + newlines >= start - 1:
            offset, is_reached = position, True
            for _ in range(start - 1 - total):
                offset = position + block.index(b"\n", offset - position) + 1
        total += newlines
        position += len(block)
        last = block[-1:]
    total += last != b"\n"
    return (offset, start - 1, total) if is_reached else (position, total, total)


def _line(file: BinaryIO, most: int) -> tuple[bytes, bool]:
    """Return the next line, and whether it was cut. A cut line ends with the number of missing bytes."""
    line = file.readline(most + 1)
    if len(line) <= most or line.endswith(b"\n"):
        return line, False
    left = len(line) - most
    while more := file.readline(BLOCK):
        go_on()
        left += len(more)
        if more.endswith(b"\n"):
            break
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(line[:most])
    end = most - len(decoder.getstate()[0])  # without the beginning of a character whose end was cut off
    return line[:end] + b" [+%d bytes]\n" % left, True
