"""Server-sent events, read from bytes as they arrive."""

from codecs import getincrementaldecoder
from collections.abc import Iterator


class Events:
    """Reads events from bytes, which may be cut anywhere, also in a character or a line end.

    An event is its data, with lines joined. Its name is skipped, because the data says it too.
    """

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""  # a line whose end has not come
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the events that these bytes complete."""
        text = self._rest + self._decode(chunk)
        ending = "\r" if text.endswith("\r") else ""  # its line feed may be in the next chunk
        lines = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + ending
        for line in lines:
            field, _, value = line.removeprefix("\ufeff").partition(":")  # a comment has an empty field
            if field == "data":
                self._data.append(value.removeprefix(" "))
            elif not line and self._data:
                data, self._data = self._data, []
                yield "\n".join(data)
