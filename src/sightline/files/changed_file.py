"""A configuration file of the user to which something of ours is added, and from which it is taken out again.

Everything else in the file stays as it is, down to its blanks. A copy of the file as it was is kept, so that undoing
gives back the same bytes if nobody has changed the file since.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from sightline.errors import BadInput
from sightline.files.private_files import make_directory
from sightline.files.replacement import OWNER_ONLY, replace_file
from sightline.values.decoders import decode_json
from sightline.values.file_lock import locked_file


class Edit(Protocol):
    """What is added to a text. Both raise BadInput if the text cannot be read."""

    @property
    def empty(self) -> str:
        """What stands for a file that is not there, or is empty."""
        ...

    def with_ours(self, text: str) -> str:
        """Return the text with ours added."""
        ...

    def without_ours(self, text: str, original: str | None) -> str:
        """Return the text without ours. `original`: before ours was added; None: nobody knows."""
        ...

    def is_empty(self, text: str) -> bool:
        """Whether a text says nothing."""
        ...


class Change(Struct):
    """What was done to a file."""

    path: str
    existed: bool
    original: bytes  # what was in the file
    written: str  # the digest of what we wrote
    made_folder: bool = False


def recorded(record: Path) -> Change | None:
    """Return what a record says was done, to whichever file; None: nothing that is known."""
    try:
        return decode_json(record.read_bytes(), Change)
    except (OSError, msgspec.DecodeError):
        return None


class ChangedFile:
    """One file, and the record of what was done to it.

    Its methods raise BadInput if the file cannot be read as what it should be, and OSError. Without `follows_links` a
    link is refused with BadInput, and nothing is read or written: it could lead to any file of the user.
    """

    def __init__(self, path: Path, record: Path, edit: Edit, *, follows_links: bool, advice: str) -> None:
        """`advice`: what to do about a link, as the end of a sentence."""
        self.path, self._record, self._edit = path, record, edit
        self._follows_links, self._advice = follows_links, advice

    def planned(self) -> tuple[str, str]:
        """Return the text as it is, and as it would be. Nothing is written."""
        data = self.read()
        return ("" if data is None else self.text(data)), self._new(data)

    def install(self) -> bool:
        """Add ours, or bring it up to date. Return whether anything was changed."""
        with self._locked():
            data, known = self.read(), self.known()
            new = self._new(data)
            text, plain = self.text(data), self._plain(data)
            if data is not None and new == text:
                return False
            if known is not None and data is not None and _digest(data) == known.written:
                made = msgspec.structs.replace(known, written=_digest(new.encode()))
            else:
                original = b"" if data is None else plain.encode() if plain != text else data
                folder = self.path.parent.exists()
                made = Change(str(self.path), data is not None, original, _digest(new.encode()), not folder)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._keep(made)
            try:
                replace_file(self.path, new.encode(), expected=data or b"")
            except BaseException:
                self._keep(known)
                raise
            return True

    def uninstall(self) -> bool:
        """Take ours out. Return whether there was any."""
        with self._locked():
            data, known = self.read(), self.known()
            if data is None:
                self._keep(None)
                return False
            text, plain = self.text(data), self._plain(data)
            if known is not None and _digest(data) == known.written:
                original = known.original if known.existed else None
            elif plain == text:
                self._keep(None)
                return False
            else:
                original = plain.encode()
                if known is not None and not known.existed and self._edit.is_empty(plain):
                    original = None
            self._restore(data, original, made_folder=known is not None and known.made_folder)
            self._keep(None)
            return True

    def plain(self) -> str:
        """Return the text without ours."""
        return self._plain(self.read())

    def is_unchanged(self) -> bool:
        """Whether the file is as we wrote it, so that undoing gives back the same bytes."""
        data, known = self.read(), self.known()
        return known is not None and data is not None and _digest(data) == known.written

    def read(self) -> bytes | None:
        """Return what is in the file; None: there is none."""
        if not self._follows_links:
            self._check_no_link()
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def text(self, data: bytes | None) -> str:
        """Return what is in the file as text."""
        try:
            return data.decode("utf-8") if data and data.strip() else self._edit.empty
        except UnicodeDecodeError as error:
            raise self._unreadable(error) from None

    def known(self) -> Change | None:
        """Return what was done to the file; None: nothing that is known."""
        change = recorded(self._record)
        is_it = change is not None and os.path.realpath(change.path) == os.path.realpath(self.path)
        return change if is_it else None

    # ------------------------------------------------------------------ texts

    def _new(self, data: bytes | None) -> str:
        plain = self._plain(data)
        try:
            new = self._edit.with_ours(plain)
        except BadInput as error:
            raise self._unreadable(error) from None
        if data is not None and new != self.text(data) and not self.path.stat().st_mode & stat.S_IWUSR:
            raise BadInput(f"{self.path} is read-only, so it is not changed: make it writable for you, then try again")
        return new

    def _plain(self, data: bytes | None) -> str:
        """Return the text without ours."""
        known = self.known()
        try:
            before = None if known is None else self.text(known.original)
            if before is not None:
                self._edit.without_ours(before, None)
        except BadInput:  # the copy was changed
            before = None
        text = self.text(data)
        try:
            return self._edit.without_ours(text, before)
        except BadInput as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> BadInput:
        return BadInput(
            f"{self.path} cannot be read: {error}; it was left as it is: correct it, then try again"
        )  # fmt: skip

    # ------------------------------------------------------------------ files

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_directory(self._record.parent)
        lock = self._record.with_suffix(".lock")
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
        try:
            with locked_file(handle, lock):
                yield
        finally:
            os.close(handle)

    def _restore(self, data: bytes, original: bytes | None, *, made_folder: bool) -> None:
        if original is not None:
            replace_file(self.path, original, expected=data)
            return
        Path(os.path.realpath(self.path)).unlink()
        if made_folder:
            with suppress(OSError):  # something else is in it
                self.path.parent.rmdir()

    def _keep(self, change: Change | None) -> None:
        if change is None:
            self._record.unlink(missing_ok=True)
        else:
            replace_file(self._record, msgspec.json.encode(change), mode=OWNER_ONLY)

    def _check_no_link(self) -> None:
        """Raise BadInput unless the file and its folder are what they seem to be, or are not there."""
        for place, is_right, kind in (
            (self.path.parent, stat.S_ISDIR, "folder"), (self.path, stat.S_ISREG, "file"),
        ):  # fmt: skip
            try:
                mode = place.lstat().st_mode
            except FileNotFoundError:
                continue
            if not is_right(mode):
                what = "a link" if stat.S_ISLNK(mode) else f"no {kind}"
                raise BadInput(f"{place} is {what}, so it is not used: {self._advice.format(kind=kind)}")


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
