"""Reading JSON, MessagePack and plain values as our types, in any number of threads.

msgspec notes what it knows of a type when the type is first used, and another thread that uses the type meanwhile
finds half of it: the process ends with a segmentation fault. So one thread at a time makes a decoder, and nobody
decodes before it is whole. What is decoded without a type needs none of this.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from threading import RLock
from typing import Any, TypeVar, overload

import msgspec

_MOST = 512  # decoders that are kept: some types come from users, such as the arguments of a tool
_making = RLock()
_HIGH, _LOW = rb"u[dD][89abAB][0-9a-fA-F]{2}", rb"u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rb"\\(?:%s\\%s|(%s|%s)|.)" % (_HIGH, _LOW, _HIGH, _LOW), re.DOTALL)  # the group: half a pair

T = TypeVar("T")


@overload
def decode_json(data: bytes | bytearray | memoryview | str | msgspec.Raw, kind: type[T]) -> T: ...
@overload
def decode_json(data: bytes | bytearray | memoryview | str | msgspec.Raw, kind: Any) -> Any: ...
def decode_json(data: Any, kind: Any) -> Any:
    """Read JSON as a value of this type. Raises msgspec.DecodeError, ValidationError."""
    return _json_decoder(kind).decode(data)


@overload
def decode_mended(data: bytes, kind: type[T]) -> T: ...
@overload
def decode_mended(data: bytes, kind: Any) -> Any: ...
def decode_mended(data: bytes, kind: Any) -> Any:
    """Read JSON of other programs, as `decode_json`, also if it has escapes of half a character: they are U+FFFD."""
    try:
        return decode_json(data, kind)
    except msgspec.DecodeError:
        if (mended := mend_escapes(data)) == data:
            raise
        return decode_json(mended, kind)


def decode_piece(data: bytes) -> Any:
    """Read one piece of what another program sends as JSON in several. Raises msgspec.DecodeError.

    Half a character stays as it is, because the next piece may begin with the other half.
    """
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        import json  # it is rarely needed

        msgspec.json.decode(mend_escapes(data))
        return json.loads(data)


def encode_piece(value: Any) -> bytes:
    """Write what `decode_piece` has read: half a character is an escape again."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        import json

        return json.dumps(value).encode()


def join_halves(value: Any) -> Any:
    """Return plain values with one character for two halves of it that came in two pieces."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return decode_piece(encode_piece(value))
    return value


def mend_escapes(data: bytes) -> bytes:
    """Return JSON with U+FFFD for each escape of half a character, such as that of an emoji that was cut in two.

    Programs write such escapes, and msgspec refuses them. What is returned has the same length.
    """
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match[1] else match[0], data)


@overload
def decode_msgpack(data: bytes | bytearray | memoryview, kind: type[T]) -> T: ...
@overload
def decode_msgpack(data: bytes | bytearray | memoryview, kind: Any) -> Any: ...
def decode_msgpack(data: Any, kind: Any) -> Any:
    """Read MessagePack as a value of this type. Raises msgspec.DecodeError, ValidationError."""
    return _msgpack_decoder(kind).decode(data)


@overload
def convert(
    value: Any, kind: type[T], *, strict: bool = True, dec_hook: Callable[[type, Any], Any] | None = None
) -> T: ...
@overload
def convert(
    value: Any, kind: Any, *, strict: bool = True, dec_hook: Callable[[type, Any], Any] | None = None
) -> Any: ...
def convert(value: Any, kind: Any, *, strict: bool = True, dec_hook: Callable[[type, Any], Any] | None = None) -> Any:
    """Make a value of this type from plain ones. Raises msgspec.ValidationError."""
    _json_decoder(kind)  # so that the type is known
    return msgspec.convert(value, kind, strict=strict, dec_hook=dec_hook)


@overload
def json_decoder(kind: type[T]) -> "msgspec.json.Decoder[T]": ...
@overload
def json_decoder(kind: Any) -> "msgspec.json.Decoder[Any]": ...
def json_decoder(kind: Any) -> Any:
    """The decoder of a type, for those who read many values at once."""
    return _json_decoder(kind)


@lru_cache(_MOST)
def _json_decoder(kind: Any) -> "msgspec.json.Decoder[Any]":
    with _making:
        return msgspec.json.Decoder(kind)


@lru_cache(_MOST)
def _msgpack_decoder(kind: Any) -> "msgspec.msgpack.Decoder[Any]":
    with _making:
        return msgspec.msgpack.Decoder(kind)
