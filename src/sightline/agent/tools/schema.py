"""What a tool takes: said to the model as a schema, and checked when it calls."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sightline.agent.tools import SECONDS, Tool
from sightline.errors import ToolFailed
from sightline.values.items import ToolDefinition
from sightline.values.schema import first_problem

_TYPES = {
    "string": ("text", "文本"),
    "integer": ("a whole number", "整数"),
    "number": ("a number", "数字"),
    "boolean": ("true or false", "true 或 false"),
    "array": ("a list of texts", "文本列表"),
}
_PHRASES = {
    "additionalProperties": ("no argument {name!r}; there are: {names}", "没有参数 {name!r}；可用：{names}"),
    "required": ("{name!r} is missing: {about}", "缺少参数 {name!r}：{about}"),
    "type": ("{name!r} must be {type}, not {found}", "参数 {name!r} 应为{type}，而不是 {found}"),
    "enum": ("{name!r} must be one of: {choices}", "参数 {name!r} 只能是：{choices}"),
    "minimum": ("{name!r} must be at least {wanted}", "参数 {name!r} 不能小于 {wanted}"),
    "maximum": ("{name!r} must be at most {wanted}", "参数 {name!r} 不能大于 {wanted}"),
    "limit": ("an argument is too large to be checked", "有参数过大，无法检查"),
}


class Wording(NamedTuple):
    """The same in English and Chinese."""

    en: str
    zh: str


class Parameter(NamedTuple):
    """One thing a tool takes. An `array` is one of texts."""

    name: str
    type: str
    about: Wording
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
                "description": says(locale, *parameter.about),
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
        parameter = by_name.get(name, Parameter(name, "string", Wording("", "")))
        raise ToolFailed(
            says(locale, *_PHRASES[problem.keyword]).format(
                name=name,
                names=", ".join(by_name) or "–",
                about=says(locale, *parameter.about),
                type=says(locale, *_TYPES[parameter.type]),
                found=type(arguments.get(name)).__name__,
                choices=", ".join(parameter.choices),
                wanted=problem.wanted,
            )
        )
    whole = {parameter.name for parameter in parameters if parameter.type == "integer"}
    return {name: int(value) if name in whole else value for name, value in arguments.items()}


def says(locale: str, en: str, zh: str) -> str:
    """One of two wordings of the same."""
    return zh if locale == "zh" else en


def tool(
    name: str,
    about: Wording,
    parameters: Sequence[Parameter],
    run: Callable[[dict[str, Any]], Awaitable[Any]],
    locale: str,
    *,
    aliases: tuple[str, ...] = (),
    seconds: float = SECONDS,
) -> Tool:
    """A tool that is called with checked arguments only."""

    async def checked_first(arguments: Mapping[str, Any]) -> Any:
        return await run(checked(parameters, arguments, locale))

    definition = ToolDefinition(name=name, description=says(locale, *about), schema=schema(parameters, locale))
    return Tool(definition, checked_first, aliases, seconds)
