"""A plain function as a tool: its type hints are the schema, its docstring is the description."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

import msgspec

from sightline.agent.tools import SECONDS, Tool
from sightline.agent.tools.in_thread import in_thread
from sightline.errors import BadInput, ToolFailed
from sightline.values.decoders import convert
from sightline.values.items import ToolDefinition


def tool_of(value: Any) -> Tool:
    """Return a tool as it is, or a function as a tool. Raises BadInput for anything else."""
    if isinstance(value, Tool):
        return value
    if inspect.isroutine(value):
        return function_tool(value)
    raise BadInput(
        f"a tool is a function with type hints, or a sightline.agent.tools.Tool; {type(value).__name__} is neither"
    )


def function_tool(function: Callable[..., Any], *, name: str = "", seconds: float = SECONDS) -> Tool:
    """Return the tool that calls this function. A coroutine is awaited, a plain function runs in a thread.

    Arguments are converted to the types of the hints. If that fails, the model is told why.

    Raises:
        BadInput: a parameter without a type hint, or with one that no JSON value can have.
    """
    name = name or function.__name__
    arguments, schema = _arguments(function, name)

    async def run(sent: Mapping[str, Any]) -> Any:
        try:
            taken = convert(dict(sent), arguments, strict=False)
        except msgspec.ValidationError as error:
            raise ToolFailed(f"{name} cannot be called like this: {error}") from error
        values = {field: getattr(taken, field) for field in arguments.__struct_fields__}
        if inspect.iscoroutinefunction(function):
            return await function(**values)
        return await in_thread(function, **values)

    return Tool(ToolDefinition(name, inspect.getdoc(function) or "", schema), run, seconds=seconds)


def _arguments(function: Callable[..., Any], name: str) -> tuple[type[msgspec.Struct], dict[str, Any]]:
    """Return a struct with the function's parameters as fields, and its JSON schema."""
    hints = get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    for field in inspect.signature(function).parameters.values():
        if field.kind in (field.POSITIONAL_ONLY, field.VAR_POSITIONAL, field.VAR_KEYWORD) or field.name not in hints:
            raise BadInput(f"{name}: parameter {field.name!r} needs a name and a type hint, as in `path: str`")
        hint = hints[field.name]
        fields.append((field.name, hint) if field.default is field.empty else (field.name, hint, field.default))
    try:
        made = msgspec.defstruct(name, fields, frozen=True, forbid_unknown_fields=True, kw_only=True)
        _, definitions = msgspec.json.schema_components([made])
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name} takes what no JSON value can be: {error}") from error
    own = definitions.pop(name)
    own.pop("title", None)
    return made, own | ({"$defs": definitions} if definitions else {})
