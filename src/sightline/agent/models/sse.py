"""Server-sent events, read from bytes as they arrive."""

from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import NamedTuple


class Event(NamedTuple):
    """One event: its name, empty if it has none, and its data, with lines joined."""

    name: str
    data: str


class Events:
    """Reads events from bytes, which may be cut anywhere, also in a character or a line end."""

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""  # a line whose end has not come
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that these bytes complete."""
        text = self._rest + self._decode(chunk)
        ending = "\r" if text.endswith("\r") else ""  # its line feed may be in the next chunk
        lines = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + ending
        for line in lines:
            if line:
                self._take(line)
            elif event := self._complete():
                yield event

    def end(self) -> Iterator[Event]:
        """Yield the last event, if the server left out the empty line after it."""
        yield from self.feed(b"\n\n")

    def _take(self, line: str) -> None:
        field, _, value = line.removeprefix("\ufeff").partition(":")  # a comment has an empty field
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value

    def _complete(self) -> Event | None:
        name, data = self._name, self._data
        self._name, self._data = "", []
        return Event(name, "\n".join(data)) if data else None
