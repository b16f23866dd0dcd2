"""Actions of an app: methods with type hints. The hints become the parameters that a model is told."""

import inspect
import math
import re
from collections.abc import Callable, Collection, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from msgspec import Struct

from sightline.errors import BadInput, Refused
from sightline.values.items import ToolDefinition
from sightline.values.pattern import pattern
from sightline.values.phrases import say
from sightline.values.recall_tools import LEVELS

_TYPES = {str: "string", int: "int", float: "float", bool: "bool"}
_SCHEMA = {"string": "string", "int": "integer", "float": "number", "bool": "boolean"}
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_NAME = pattern(r"[a-z][a-z0-9_]*")
F = TypeVar("F", bound=Callable[..., Any])


class Parameter(Struct, frozen=True):
    name: str
    type: str  # string, int, float, bool
    required: bool = True
    choices: tuple[str, ...] = ()
    none: bool = False  # it is None where it is not given, because the method has no other default

    def __str__(self) -> str:
        return f"{self.name}:{'|'.join(self.choices) or self.type}{'' if self.required else '?'}"

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": _SCHEMA[self.type], **({"enum": list(self.choices)} if self.choices else {})}


class Action(Struct, frozen=True):
    """Something that can be done in a window."""

    id: str
    label: str
    parameters: tuple[Parameter, ...] = ()
    about: str = ""
    zh: str = ""  # the label in Chinese
    asks: bool = False  # whether a person who clicks is asked first

    @property
    def params(self) -> str:
        """`text:string, index:int, summary:string?`; empty for an action without parameters."""
        return ", ".join(map(str, self.parameters))

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {parameter.name: parameter.schema for parameter in self.parameters},
            "required": [parameter.name for parameter in self.parameters if parameter.required],
            "additionalProperties": False,
        }

    def label_in(self, locale: str) -> str:
        return self.zh if locale == "zh" and self.zh else self.label

    def tool(self, app: str) -> ToolDefinition:
        """Return the action as a tool of its own, such as `todo_add`. It also takes the window's id."""
        schema = self.schema
        schema["properties"] = {"window_id": {"type": "string"}, **schema["properties"]}
        schema["required"] = ["window_id", *schema["required"]]
        return ToolDefinition(f"{app}_{self.id}", self.about or self.label, schema)


# The action that every closable window offers.
CLOSE = Action("close", "Close", (Parameter("summary", "string", required=False),), zh="关闭", asks=True)

FORMS = ("xml", "markdown")

# What every window can be told, whatever its app. Windows do not list them, and an app's own action goes before them.
SET_LEVEL = Action("lod", "How much it shows", (Parameter("level", "string", choices=LEVELS),), zh="显示多少")
SET_FORM = Action("form", "How it is written", (Parameter("form", "string", choices=FORMS),), zh="书写格式")
SETTINGS = {setting.id: setting for setting in (SET_LEVEL, SET_FORM)}


@overload
def action(label: F) -> F: ...
@overload
def action(label: str = "", *, zh: str = "", asks: bool = False) -> Callable[[F], F]: ...
def action(label: F | str = "", *, zh: str = "", asks: bool = False) -> F | Callable[[F], F]:
    """Make a method an action. Without a label, the first paragraph of its docstring is the label.

    `asks`: it deletes something, runs something or changes a file, so a person who clicks a button is asked first.
    """
    if not isinstance(label, str):  # @action without parentheses
        return action()(label)

    def mark(method: F) -> F:
        method.__action__ = (label, zh, asks)  # type: ignore[attr-defined]
        return method

    return mark


def actions_of(app: type, reserved: Collection[str] = ()) -> dict[str, Action]:
    """Return the actions of an app's class in the order they are written, those of its base classes first.

    `reserved`: names that every app uses for something else.

    Raises:
        BadInput: a name or a parameter that no model could be told about.
    """
    actions: dict[str, Action] = {}
    for kind in reversed(app.__mro__):
        for name, method in vars(kind).items():
            if hasattr(method, "__action__"):
                actions[name] = _action(app, name, method, reserved)
    return actions


def _action(app: type, name: str, method: Callable[..., Any], reserved: Collection[str]) -> Action:
    where = f"action {name!r} of {app.__name__}"
    taken = sorted((CLOSE.id, *reserved))
    if not _NAME.fullmatch(name) or name in taken:
        raise BadInput(f"{where}: choose another name: small letters, digits and '_', and none of {', '.join(taken)}")
    if inspect.iscoroutinefunction(method):
        raise BadInput(f"{where}: nobody would await it; write a plain method")
    label, zh, asks = method.__action__  # type: ignore[attr-defined]
    about = " ".join((inspect.getdoc(method) or "").split("\n\n")[0].split())
    try:
        hints = get_type_hints(method)
    except (NameError, TypeError) as error:
        raise BadInput(f"{where}: its type hints cannot be read: {error}") from error
    signature = list(inspect.signature(method).parameters.values())[1:]
    parameters = tuple(_parameter(where, parameter, hints.get(parameter.name)) for parameter in signature)
    return Action(name, label or about.rstrip(".") or name.replace("_", " ").capitalize(), parameters, about, zh, asks)


def _parameter(where: str, parameter: inspect.Parameter, hint: Any) -> Parameter:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise BadInput(f"{where}: {parameter.name!r} cannot be filled in by its name; name each parameter")
    if not _NAME.fullmatch(parameter.name):
        raise BadInput(f"{where}: parameter {parameter.name!r}: use small letters, digits and '_'")
    if parameter.name in ("window_id", "action_id"):
        raise BadInput(f"{where}: {parameter.name!r} says which window and which action; choose another name")
    kinds = [
        kind for kind in (get_args(hint) if get_origin(hint) in (Union, UnionType) else [hint]) if kind is not NoneType
    ]
    has_default, optional = parameter.default is not parameter.empty, kinds != [hint]
    required, none = not has_default and not optional, not has_default and optional
    if (
        len(kinds) == 1
        and get_origin(kinds[0]) is Literal
        and all(isinstance(choice, str) for choice in get_args(kinds[0]))
    ):
        return Parameter(parameter.name, "string", required, get_args(kinds[0]), none)
    if len(kinds) != 1 or kinds[0] not in _TYPES:
        raise BadInput(
            f"{where}: parameter {parameter.name!r} has {'no type hint' if hint is None else f'the type {hint!r}'}; "
            "use str, int, float, bool or a Literal of words, each may be | None"
        )
    return Parameter(parameter.name, _TYPES[kinds[0]], required, none=none)


# ------------------------------------------------------------------ arguments


def bind(action: Action, arguments: Mapping[str, Any], locale: str) -> dict[str, Any]:
    """Return the arguments as the action takes them. Numbers and booleans may be given as text.

    Raises:
        Refused: one is missing, unknown or of another type; says which there are.
    """
    from sightline.values.schema import first_problem  # few sessions have windows

    parameters = {parameter.name: parameter for parameter in action.parameters}
    values = {
        name: _READERS[parameters[name].type](value) if name in parameters else value
        for name, value in arguments.items()
        if value is not None
    }
    rules = {"additionalProperties": False} | action.schema  # an unknown name is reported before others
    problem = first_problem(rules, values)
    if problem is not None:
        name = str(problem.path[0])
        if problem.keyword == "additionalProperties":
            raise Refused(say("unknown parameter", locale, name=name, params=action.params or "–"))
        if problem.keyword == "required":
            raise Refused(say("missing parameter", locale, name=name))
        wanted = "|".join(parameters[name].choices) or parameters[name].type
        raise Refused(say("bad parameter", locale, name=name, type=wanted, value=repr(arguments[name])))
    return {parameter.name: None for parameter in action.parameters if parameter.none} | values


def _int(value: Any) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,18}\s*", value, re.ASCII):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _float(value: Any) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None  # JSON has no other numbers


# Each converts a value to its type, and returns None for what cannot be one.
_READERS: dict[str, Callable[[Any], Any]] = {
    "string": lambda value: value if isinstance(value, str) else str(value) if isinstance(value, int | float) else None,
    "int": _int,
    "float": _float,
    "bool": lambda value: value if isinstance(value, bool) else _BOOLEANS.get(str(value).lower()),
}


def nearest(name: str, names: list[str]) -> list[str]:
    """Return those of `names` that are similar to `name`, the most similar first; all of them if none is."""
    import difflib  # only for what is misspelt

    return difflib.get_close_matches(name, names, 3, 0.5) or names
