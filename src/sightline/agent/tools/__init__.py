"""What a tool is to the agent: the definition that the model sees, and the function that runs it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from sightline.values.items import ToolDefinition

SECONDS = 60.0  # that a tool may take


class Tool(Struct, frozen=True):
    """A tool of the agent.

    `run` gets the arguments, which are an object with everything that the schema requires. It returns text, content
    parts or any JSON value, as `Session.tool_result` takes them. It raises ToolFailed to tell the model why it failed.
    """

    definition: ToolDefinition
    run: Callable[[Mapping[str, Any]], Awaitable[Any]]
    aliases: tuple[str, ...] = ()  # other names that a call may use
    seconds: float = SECONDS  # the time limit
    renamed: Mapping[str, str] = {}  # other names that an argument may have, and its own

    @property
    def name(self) -> str:
        """The name in the definition."""
        return self.definition.name
