"""Definitions of tools: what the formats share in reading and writing them."""

from collections.abc import Callable, Iterable

from sightline.values.items import ToolDefinition
from sightline.wire.common import Json, copy_json, opaque, valid


def tool_from(provider: str, tool: Json, function: Json, schema: object, fields: Json) -> ToolDefinition:
    """A tool that the client runs. `raw` is kept only if the neutral fields would not give the definition back."""
    name, description = str(function["name"]), str(function.get("description") or "")
    parameters = valid(schema) if isinstance(schema, dict) and schema else {"type": "object", "properties": {}}
    raw = opaque(provider, tool)[0].raw if fields else {}
    return ToolDefinition(name, description, parameters, provider if raw else "", raw)


def tool_raw(provider: str, tool: Json) -> ToolDefinition:
    """A tool that the provider runs, or one of an unknown type."""
    return ToolDefinition(str(tool.get("name") or tool["type"]), provider=provider, raw=opaque(provider, tool)[0].raw)


def write_tools(tools: Iterable[ToolDefinition], provider: str, write: Callable[[ToolDefinition], Json]) -> Json:
    """The argument `tools` with the definitions that this provider accepts: its own as they came, others by `write`.

    A tool with a schema is for every provider. One that is only raw is left out for all but its own. Nothing if there
    are no such tools.
    """
    written: list[Json] = []
    for tool in tools:
        if tool.raw and tool.provider == provider:
            written.append(copy_json(tool.raw))
        elif tool.schema or not tool.raw:
            written.append(write(tool))
    return {"tools": written} if written else {}


def name_and_description(tool: ToolDefinition) -> Json:
    """The first fields of a definition, which all formats have."""
    return {"name": tool.name, "description": tool.description} if tool.description else {"name": tool.name}
