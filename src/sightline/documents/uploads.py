"""Files that users upload: each in a folder of its own under its id, with what is known of it.

    upload_3f9c…/sales.csv          the file, exactly as it came, under the user's name for it
    upload_3f9c…/upload.json        its facts

`UploadStore` is also the mapping from ids to paths that `file_reader` takes.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import msgspec

from sightline.documents.code.references import Upload
from sightline.errors import BadInput, StoreError, Unwritable
from sightline.files.private_files import FRESH, make_directory, sync_directory
from sightline.shorten.outline.languages import LANGUAGES
from sightline.values.decoders import decode_json
from sightline.values.pattern import pattern
from sightline.values.phrases import size_text

MOST_BYTES = 20_000_000  # of a file
EXCEL = (".xlsx", ".xlsm")
TYPES = frozenset({
    *(language.extension for language in LANGUAGES), *EXCEL, ".csv", ".tsv", ".txt", ".log", ".yml", ".toml", ".ini",
    ".htm", ".tsx", ".jsx", ".h", ".hpp", ".ipynb",
})  # fmt: skip
"""The endings of names that are taken: of what `file_reader` can read."""

_FACTS = "upload.json"
_ID = pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,119}")  # a UUID too
_LONGEST_NAME = 200  # bytes of a file's name


class UploadRefused(BadInput):
    """A file that is not taken: it is empty, or has no name that a file can have."""


class UploadTooLarge(UploadRefused):
    """A file with more bytes than are taken."""

    def __init__(self, most: int) -> None:
        super().__init__(f"a file has at most {most:,} bytes ({size_text(most)}): send a smaller one, or parts of it")


class WrongUploadType(UploadRefused):
    """A file of a kind that nobody could read."""


class UploadExists(UploadRefused):
    """Another file has this id."""


class UnknownUpload(BadInput):
    """No file was uploaded under this id."""


class UploadStore(Mapping[str, Path]):
    """The uploaded files of one folder. Any number of processes may use it. Nothing is created before the first file.

    `types` are the endings of names that are taken; empty: any.
    """

    def __init__(self, folder: str | Path, *, most_bytes: int = MOST_BYTES, types: Collection[str] = TYPES) -> None:
        self.folder, self.most_bytes = Path(folder), most_bytes
        self.types = frozenset(f".{ending.lower().lstrip('.')}" for ending in types)

    def add(self, filename: str, data: bytes, *, file_id: str = "", description: str = "") -> Upload:
        """Store a file and return its facts. Without an id it gets one. It is durable when this returns.

        Raises:
            UploadRefused: the name, the size, the kind or the id cannot be taken; the message says what to do.
            Unwritable: the disk refused.
        """
        ending = self._check(filename, data)
        file_id = file_id.removeprefix("upload:") or f"upload_{token_hex(12)}"
        if not _ID.fullmatch(file_id):
            raise UploadRefused(f"file_id {file_id[:80]!r} is refused: it has up to 120 letters, digits, '_' and '-'")
        upload = Upload(file_id, filename, ending.lstrip("."), len(data), description)
        fresh = self.folder / f"{file_id}.{token_hex(4)}{FRESH}"
        try:
            make_directory(fresh)
            for name, content in ((filename, data), (_FACTS, msgspec.json.encode(upload))):
                _write(fresh / name, content)
            fresh.rename(self.folder / file_id)
            sync_directory(self.folder)
        except OSError as error:
            for path in (fresh / filename, fresh / _FACTS):
                path.unlink(missing_ok=True)
            with suppress(OSError):
                fresh.rmdir()
            if (self.folder / file_id).exists():
                raise UploadExists(f"there is an upload {file_id!r} already: send another file_id, or none") from error
            raise Unwritable(str(self.folder), error.strerror or str(error)) from error
        return upload

    def _check(self, filename: str, data: bytes) -> str:
        """Return the ending of a name that can be taken. Raises UploadRefused."""
        if not filename or filename in (".", "..", _FACTS) or not filename.isprintable() or set(filename) & set("/\\"):
            raise UploadRefused(f"{filename[:80]!r} is no name of a file: send a plain name, such as sales.csv")
        if len(filename.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
            raise UploadRefused(f"the name of a file has at most {_LONGEST_NAME} bytes: send a shorter one")
        ending = os.path.splitext(filename)[1].lower()  # noqa: PTH122 - the name may begin with a dot
        if self.types and ending not in self.types:
            taken = ", ".join(sorted(self.types))
            raise WrongUploadType(f"{filename!r} is of a kind that cannot be read; send one of {taken}")
        if not data:
            raise UploadRefused(f"{filename!r} is empty: send a file that has something in it")
        if len(data) > self.most_bytes:
            raise UploadTooLarge(self.most_bytes)
        if ending in EXCEL and not data.startswith(b"PK"):
            raise WrongUploadType(
                f"{filename!r} is no Excel workbook, whatever its name says: save it as one, or as CSV"
            )
        return ending

    def find(self, file_id: str) -> Upload:
        """Return the facts of a file, by its id or `upload:` and its id. Raises UnknownUpload."""
        plain = file_id.removeprefix("upload:")
        if _ID.fullmatch(plain):
            with suppress(OSError, msgspec.DecodeError):
                upload = decode_json((self.folder / plain / _FACTS).read_bytes(), Upload)
                if upload.file_id == plain and "/" not in upload.filename:
                    return upload
        # The ids of others are not named: who knows one can read the file.
        raise UnknownUpload(f"no upload {file_id[:80]!r}: POST the file to /files first, and use the file_id it gives")

    def read(self, file_id: str) -> bytes:
        """Return the bytes of a file. Raises UnknownUpload, or StoreError if it is there no more."""
        upload = self.find(file_id)
        try:
            return (self.folder / upload.file_id / upload.filename).read_bytes()
        except OSError as error:
            why = error.strerror or str(error)
            raise StoreError(f"the upload {file_id!r} cannot be read: {why}; upload it again") from error

    def __getitem__(self, file_id: str) -> Path:
        try:
            upload = self.find(file_id)
        except UnknownUpload as error:
            raise KeyError(file_id) from error
        return self.folder / upload.file_id / upload.filename

    def __iter__(self) -> Iterator[str]:
        """Yield the ids, the file uploaded last first."""
        dated: list[tuple[int, str]] = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    if _ID.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                        dated.append((entry.stat().st_mtime_ns, entry.name))
        return iter([name for _, name in sorted(dated, reverse=True)])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as file:  # noqa: PTH123 - of a descriptor
        file.write(data)
        file.flush()
        os.fsync(fd)
