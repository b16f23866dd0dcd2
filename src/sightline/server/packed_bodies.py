"""Bodies of requests that came compressed: Codex packs them when it has a login with ChatGPT."""

import sys
import zlib
from collections.abc import Callable
from typing import Any

from sightline.errors import BadInput

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_LEAST, _TIMES = 2 << 20, 100  # bytes that a body may always have unpacked, and times its packed size
_GZIP, _ZLIB, _BARE = 31, 15, -15  # how `zlib` is told what a body begins with


def unpack(body: bytes, encoding: str, most: int) -> bytes:
    """Return a body as it was before it was compressed. `encoding`: its header, the last one was applied last.

    Raises:
        BadInput: it is damaged, in an encoding that is not known here, or has more than `most` bytes unpacked.
    """
    most = min(most, max(_LEAST, _TIMES * len(body)))
    for name in reversed([each.strip().lower() for each in encoding.split(",")]):
        if name in ("", "identity"):
            continue
        if name not in _UNPACK:
            raise BadInput(f"bodies in the encoding {name!r} are not read here")
        try:
            body = _UNPACK[name](body, most)
        except (zlib.error, zstd.ZstdError, EOFError) as error:
            raise BadInput(f"the body is no {name}: {error}") from error
    return body


def _unzip(body: bytes, most: int, kind: int = _GZIP) -> bytes:
    return _whole(zlib.decompressobj(kind), body, most)


def _inflate(body: bytes, most: int) -> bytes:
    """Some clients leave out what the standard wants around it."""
    try:
        return _unzip(body, most, _ZLIB)
    except zlib.error:
        return _unzip(body, most, _BARE)


def _unpack_zstd(body: bytes, most: int) -> bytes:
    return _whole(zstd.ZstdDecompressor(), body, most)


def _whole(reader: Any, body: bytes, most: int) -> bytes:
    """Return all of a body that is one piece. Raises BadInput for more, for less, and for what is too long."""
    plain: bytes = reader.decompress(body, most + 1)
    if len(plain) > most:
        raise BadInput("the body is much longer than it came")
    if not reader.eof or reader.unused_data:
        raise BadInput("the body is not whole, or has more after its end")
    return plain


_UNPACK: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _unzip, "x-gzip": _unzip, "deflate": _inflate, "zstd": _unpack_zstd,
}  # fmt: skip
