"""Writes a whole file at once: whoever reads it meanwhile sees the old one or the new one, never a part."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from sightline.errors import BadInput

OWNER_ONLY = 0o600


def replace_file(path: Path, data: bytes, *, mode: int | None = None, expected: bytes | None = None) -> None:
    """Write a file. A link stays a link: what it leads to is written. Its mode and owner stay as they were.

    mode: that of a new file; without it, what the system gives new files. expected: what is in the file; b"" also if
    there is none.

    Raises:
        BadInput: something else than what was expected is in the file.
        OSError
    """
    real = Path(os.path.realpath(path))
    before = real.stat() if real.exists() else None
    handle, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            with suppress(OSError):  # only root may
                os.chown(name, before.st_uid, before.st_gid)
        Path(name).chmod(before.st_mode & 0o7777 if before is not None else _new_mode() if mode is None else mode)
        if expected is not None and (real.read_bytes() if real.exists() else b"") != expected:
            raise BadInput(f"{path} was changed by another program meanwhile; nothing was written, try again")
        Path(name).replace(real)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108 - a path object could fail before
        raise


def _new_mode() -> int:
    """Return the mode that the system gives new files."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
