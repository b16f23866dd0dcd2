"""Writes a whole conversation to a file: in the format of a provider, to be read, as the log, or as it was imported."""

import errno
import os
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from sightline.cli.options import Place
from sightline.imports.originals import read_back
from sightline.session.session import Session
from sightline.view.document import TRANSCRIPTS, shown_messages

LOG = "jsonl"  # the format that is the log itself
SOURCE = "source"  # the format that an imported session had


def exported(here: Place, session: Session, format_: str) -> Iterator[bytes]:
    """Yield the whole conversation: in the format of a wire, to be read, the log, or the imported source.

    Raises:
        BadInput: there is no source. It comes before the first piece.
    """
    if format_ in TRANSCRIPTS:
        for text in TRANSCRIPTS[format_](session, here.words.language):
            yield text.encode("utf-8", "replace")
    elif format_ == LOG:
        with closing(here.stores.open(session.id)) as store:
            store.refresh()
            yield from (line.data for line in store.raw_lines())
    elif format_ == SOURCE:
        with closing(here.stores.open(session.id)) as store:
            store.refresh()
            yield from read_back(store)
    else:
        yield msgspec.json.format(session.transcript().json(format_), indent=2) + b"\n"


def write_pieces(file: Path, pieces: Iterator[bytes], *, force: bool = False) -> int:
    """Write pieces to a file as they come; return how many bytes there are. If one fails, the file is as it was.

    They are written beside it and renamed at the end. What is no plain file, such as /dev/stdout, is written to.

    Raises:
        FileExistsError: there is such a file, and not `force`.
    """
    if file.exists() and not file.is_file():
        with file.open("wb") as written:
            return sum(map(written.write, pieces))
    if os.path.lexists(file) and not force:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(file))
    real = file.resolve()  # a link stays one
    part = real.with_name(f".{real.name[:200]}.{os.getpid()}.part")
    try:
        with part.open("wb") as written:
            size = sum(map(written.write, pieces))
        part.replace(real)
        return size
    except OSError as error:
        if error.filename == str(part):
            error.filename = str(file)  # the one that somebody named
        raise
    finally:
        with suppress(OSError):  # where it could not be made
            part.unlink(missing_ok=True)


def message_count(session: Session, format_: str = "") -> int:
    """Return how many messages an export of the conversation has, its system messages included."""
    if format_ in TRANSCRIPTS:
        return shown_messages(session)  # not from the payload, because that holds the whole conversation in memory
    payload = session.transcript()
    return len(payload.system) + len(payload.body)
