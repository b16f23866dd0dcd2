"""What a tool is to the agent: what the model is told of it, and the function that does it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from sightline.values.items import ToolDefinition

SECONDS = 60.0  # that a tool may take


class Tool(Struct, frozen=True):
    """A tool the agent has.

    `run` takes the arguments, checked to be an object with all that the schema requires, and gives text, content parts
    or any JSON value: what `Session.tool_result` takes. It raises ToolFailed to tell the model why it could not.
    """

    definition: ToolDefinition
    run: Callable[[Mapping[str, Any]], Awaitable[Any]]
    aliases: tuple[str, ...] = ()  # other names that a call of it may have
    seconds: float = SECONDS  # it is stopped after

    @property
    def name(self) -> str:
        """What the model calls it by."""
        return self.definition.name
