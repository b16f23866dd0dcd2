"""Server-sent events, taken from bytes as they arrive."""

from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import NamedTuple


class Event(NamedTuple):
    """One event: its name, empty where none is said, and its data, lines joined."""

    name: str
    data: str


class Events:
    """Bytes in, events out. Where the bytes are cut does not matter: not in a character, nor in a line's end."""

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""  # of a line whose end has not come
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that these bytes complete."""
        text = self._rest + self._decode(chunk)
        held = "\r" if text.endswith("\r") else ""  # its line feed may be in the next chunk
        lines = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + held
        for line in lines:
            if line:
                self._take(line)
            elif event := self._complete():
                yield event

    def end(self) -> Iterator[Event]:
        """The event that the last bytes made, where the server left out the empty line after it."""
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
