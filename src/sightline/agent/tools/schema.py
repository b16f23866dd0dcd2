"""What a tool takes: said to the model as a schema, and checked when it calls."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sightline.agent.tools import SECONDS, Tool
from sightline.errors import ToolFailed
from sightline.values.items import ToolDefinition

_TYPES: dict[str, tuple[type, str, str]] = {
    "string": (str, "text", "文本"),
    "integer": (int, "a whole number", "整数"),
    "number": (float, "a number", "数字"),
    "boolean": (bool, "true or false", "true 或 false"),
    "array": (list, "a list of texts", "文本列表"),
}


class Wording(NamedTuple):
    """The same in English and Chinese."""

    en: str
    zh: str

    def said(self, locale: str) -> str:
        """In this language."""
        return self.zh if locale == "zh" else self.en


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
        "properties": {each.name: _property(each, locale) for each in parameters},
        "required": [each.name for each in parameters if each.required],
        "additionalProperties": False,
    }


def _property(parameter: Parameter, locale: str) -> dict[str, Any]:
    return {
        "type": parameter.type,
        "description": parameter.about.said(locale),
        **({"items": {"type": "string"}} if parameter.type == "array" else {}),
        **({"enum": list(parameter.choices)} if parameter.choices else {}),
        **({"minimum": parameter.least} if parameter.least is not None else {}),
        **({"maximum": parameter.most} if parameter.most is not None else {}),
    }


def checked(parameters: Sequence[Parameter], given: Mapping[str, Any], locale: str) -> dict[str, Any]:
    """The arguments by name; None, which models send for what they leave out, is left out.

    Raises:
        ToolFailed: one is missing, unknown or of the wrong kind; says what is right.
    """
    known = {each.name: each for each in parameters}
    arguments = {name: value for name, value in given.items() if value is not None}
    for name, value in arguments.items():
        if name not in known:
            names = ", ".join(known) or "–"
            raise ToolFailed(
                says(locale, f"no argument {name!r}; there are: {names}", f"没有参数 {name!r}；可用：{names}")
            )
        _check(known[name], value, locale)
    for parameter in parameters:
        if parameter.required and parameter.name not in arguments:
            about = parameter.about.said(locale)
            missing = (f"{parameter.name!r} is missing: {about}", f"缺少参数 {parameter.name!r}：{about}")
            raise ToolFailed(says(locale, *missing))
    return arguments


def _check(parameter: Parameter, value: Any, locale: str) -> None:
    name = parameter.name
    kind, *named = _TYPES[parameter.type]
    if not _is(kind, value):
        found = type(value).__name__
        wanted = (f"{name!r} must be {named[0]}, not {found}", f"参数 {name!r} 应为{named[1]}，而不是 {found}")
        raise ToolFailed(says(locale, *wanted))
    if parameter.choices and value not in parameter.choices:
        choices = ", ".join(parameter.choices)
        raise ToolFailed(says(locale, f"{name!r} must be one of: {choices}", f"参数 {name!r} 只能是：{choices}"))
    if parameter.least is not None and value < parameter.least:
        least = parameter.least
        raise ToolFailed(says(locale, f"{name!r} must be at least {least}", f"参数 {name!r} 不能小于 {least}"))
    if parameter.most is not None and value > parameter.most:
        most = parameter.most
        raise ToolFailed(says(locale, f"{name!r} must be at most {most}", f"参数 {name!r} 不能大于 {most}"))


def _is(kind: type, value: Any) -> bool:
    if isinstance(value, bool):  # it is an int to Python, and no number to anybody else
        return kind is bool
    if kind is float:
        return isinstance(value, int | float)
    if kind is list:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    return isinstance(value, kind)


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

    definition = ToolDefinition(name=name, description=about.said(locale), schema=schema(parameters, locale))
    return Tool(definition, checked_first, aliases, seconds)
