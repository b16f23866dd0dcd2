"""What a tool takes: said to the model as a schema, and checked when it calls."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sightline.agent.tools import SECONDS, Tool
from sightline.errors import ToolFailed
from sightline.values.items import ToolDefinition
from sightline.values.phrases import Phrases, texts
from sightline.values.schema import first_problem

say = Phrases(texts("agent_tools"))


class Parameter(NamedTuple):
    """One thing a tool takes. An `array` is one of texts."""

    name: str
    type: str
    about: str  # the key of what it is, in `texts/agent_tools.json`
    required: bool = False
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None


def schema(parameters: Sequence[Parameter], locale: str) -> dict[str, Any]:
    """The JSON schema of an object with these, and with nothing else."""
    return {
        "type": "object",
        "properties": {
            parameter.name: {
                "type": parameter.type,
                "description": say(parameter.about, locale),
                **({"items": {"type": "string"}} if parameter.type == "array" else {}),
                **({"enum": list(parameter.choices)} if parameter.choices else {}),
                **({"minimum": parameter.least} if parameter.least is not None else {}),
                **({"maximum": parameter.most} if parameter.most is not None else {}),
            }
            for parameter in parameters
        },
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


def checked(parameters: Sequence[Parameter], sent: Mapping[str, Any], locale: str) -> dict[str, Any]:
    """Return the arguments by name. None, which models send for what they leave out, is left out.

    Raises:
        ToolFailed: one is missing, unknown or of the wrong kind; says what is right.
    """
    arguments = {name: value for name, value in sent.items() if value is not None}
    rules = {"additionalProperties": False} | schema(parameters, locale)  # an unknown name is reported before others
    if problem := first_problem(rules, arguments):
        by_name = {parameter.name: parameter for parameter in parameters}
        name = str(next(iter(problem.path), ""))
        parameter = by_name.get(name, Parameter(name, "string", ""))
        raise ToolFailed(
            say(
                f"argument {problem.keyword}",
                locale,
                name=name,
                names=", ".join(by_name) or "–",
                about=say(parameter.about, locale) if parameter.about else "",
                type=say(f"type {parameter.type}", locale),
                found=type(arguments.get(name)).__name__,
                choices=", ".join(parameter.choices),
                wanted=problem.wanted,
            )
        )
    whole = {parameter.name for parameter in parameters if parameter.type == "integer"}
    return {name: int(value) if name in whole else value for name, value in arguments.items()}


def tool(
    name: str,
    about: str,
    parameters: Sequence[Parameter],
    run: Callable[[dict[str, Any]], Awaitable[Any]],
    locale: str,
    *,
    aliases: tuple[str, ...] = (),
    seconds: float = SECONDS,
    renamed: Mapping[str, str] | None = None,
) -> Tool:
    """A tool that is called with checked arguments only."""

    async def checked_first(arguments: Mapping[str, Any]) -> Any:
        return await run(checked(parameters, arguments, locale))

    definition = ToolDefinition(name=name, description=about, schema=schema(parameters, locale))
    return Tool(definition, checked_first, aliases, seconds, renamed or {})
