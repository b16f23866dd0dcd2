"""The texts of windows that were sent, each stored once, by hash. `verify` reads them; composing never does."""

from collections.abc import Mapping
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from sightline.errors import Unwritable
from sightline.log.entries import UNREADABLE
from sightline.log.stores.disk import OsDisk


class Blobs:
    """Texts by hash, in a side file or, without one, in memory."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._texts: dict[str, str] | None = None

    def keep(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Store the texts that are not stored yet. Returns name → hash. Raises Unwritable."""
        hashes = {name: blake2b(text.encode(), digest_size=16).hexdigest() for name, text in texts.items()}
        known = self._known() if texts else {}
        fresh = {hashes[name]: text for name, text in texts.items() if hashes[name] not in known}
        if fresh and self._path is not None:
            self._write(b"".join(msgspec.json.encode(pair) + b"\n" for pair in fresh.items()))
        known.update(fresh)
        return hashes

    def text(self, digest: str) -> str | None:
        """The text with this hash; None if it was never stored."""
        return self._known().get(digest)

    def _write(self, lines: bytes) -> None:
        assert self._path is not None
        try:
            with closing(OsDisk().open(self._path)) as file, file.locked():
                size = file.size()
                torn = size and file.read(size - 1, 1) != b"\n"  # a crash left half a line: begin a new line
                file.append(b"\n" + lines if torn else lines)
                file.sync()
        except OSError as error:
            raise Unwritable(str(self._path), error.strerror or str(error)) from error

    def _known(self) -> dict[str, str]:
        if self._texts is None:
            self._texts = {}
            if self._path is not None and self._path.exists():
                for line in self._path.read_bytes().splitlines():
                    with suppress(*UNREADABLE):  # a torn line: the receipt that needed it was never written
                        digest, text = msgspec.json.decode(line, type=tuple[str, str])
                        self._texts[digest] = text
        return self._texts
