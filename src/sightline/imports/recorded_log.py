"""What the logs of other programs have in common: a file of lines, which are put together to steps."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol

from sightline.imports.conversation import FileMark, Line, Step
from sightline.imports.source import Source, value_of


class Assembly(Protocol):
    """Puts lines together to steps."""

    def add(self, line: Line, value: Any, /, *, is_active: bool) -> Iterator[Step]:
        """Add a line and its value; `is_active`: it belongs to the conversation. Yield the steps that it ends."""

    def end(self) -> Iterator[Step]:
        """Yield the step of the lines so far."""


class RecordedLog(ABC):
    """The conversation of one file. `Conversation` says what its methods promise."""

    kind: str
    modified = 0.0
    mark: FileMark | None = None
    profile = ""
    tools: tuple[Any, ...] = ()
    is_list = False
    envelope: dict[str, Any] | None = None

    def __init__(self, source: Source) -> None:
        self._source, self.name = source, source.name

    def lines(self) -> Iterator[Line]:
        return self._source.lines()

    def steps(self, after: int = 0) -> Iterator[Step]:
        assembly = self._assembly()
        for line in self._source.lines():
            if line.number > after:
                value = value_of(line)
                typed = line._replace(type=self._type_of(value))
                yield from assembly.add(typed, value, is_active=self.is_active(line.number))
        yield from assembly.end()

    @abstractmethod
    def is_active(self, number: int) -> bool:
        """See `Conversation.is_active`."""

    @abstractmethod
    def _type_of(self, value: Any) -> str:
        """The type of a line with this value."""

    @abstractmethod
    def _assembly(self) -> Assembly:
        """A new assembly for all lines."""
