"""The part of JSON Schema that a state needs: its keywords are checked, and any other is refused when it is loaded."""

import datetime
import decimal
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any

import msgspec

from sightline.errors import BadInput

Schema = dict[str, Any]

_CHECKED = frozenset({
    "type", "properties", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "format",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "uniqueItems",
})  # fmt: skip
# A state is filled bit by bit, so nothing of it is required; the others only describe.
_IGNORED = frozenset({
    "required", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "discriminator",
    "$defs", "definitions", "$schema", "$id", "$comment",
})  # fmt: skip


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and value == int(value),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list | tuple),
    "null": lambda value: value is None,
}
_FORMATS: dict[str, type[Any]] = {
    "date": datetime.date, "date-time": datetime.datetime, "time": datetime.time, "duration": datetime.timedelta,
    "uuid": uuid.UUID, "decimal": decimal.Decimal,
}  # fmt: skip


def schema_of(given: Any) -> Schema:
    """The JSON Schema of an object: given as such, in short (`{"date": "string"}`), or as a msgspec or pydantic type.

    Raises:
        BadInput: it is none of these, or says what is not checked here.
    """
    schema = _short(given, "schema") if isinstance(given, Mapping) else _of_type(given)
    _check(schema, schema, "schema")
    if object_in(schema, schema) is None:
        raise BadInput("a state's schema is that of an object: give it properties")
    return schema


def _of_type(given: Any) -> Schema:
    made: Schema
    try:
        of_pydantic = getattr(given, "model_json_schema", None)
        made = of_pydantic() if of_pydantic is not None else msgspec.json.schema(given)
    except (TypeError, ValueError) as error:
        raise BadInput(f"a state's schema is a JSON Schema or a type that has one, not {given!r}: {error}") from error
    return made


def _short(given: Mapping[str, Any], where: str) -> Schema:
    """A schema as it is; or, where every field is only given its type, the schema of an object with these fields."""
    if "$ref" in given or given.get("type") == "object" or isinstance(given.get("properties"), Mapping):
        return dict(given)
    fields = {name: _field(value, f"{where}.{name}") for name, value in given.items()}
    if not fields:
        raise BadInput(f'{where} has no fields; write {{"destination": "string", "date": "string"}} or a JSON Schema')
    return {"type": "object", "properties": fields, "additionalProperties": False}


def _field(given: Any, where: str) -> Schema:
    match given:
        case str() if given in _TYPES:
            return {"type": given}
        case Mapping() if _CHECKED.isdisjoint(given):
            return _short(given, where)
        case Mapping():
            return dict(given)
        case _:
            raise BadInput(f"{where} is {given!r}; choose one of {', '.join(_TYPES)}, or write its JSON Schema")


def _check(node: Any, root: Schema, where: str, seen: tuple[str, ...] = ()) -> None:
    """Raise BadInput for what is no schema, or has keywords that are not checked: a value could be wrong unnoticed."""
    if isinstance(node, bool):
        return
    if not isinstance(node, Mapping):
        raise BadInput(f"{where} is no schema: {node!r}")
    unknown = [word for word in node if word not in _CHECKED | _IGNORED and not word.startswith("x-")]
    if unknown:
        raise BadInput(f"{where} says {unknown[0]!r}, which is not checked here; use {', '.join(sorted(_CHECKED))}")
    types = node.get("type", [])
    for name in [types] if isinstance(types, str) else types:
        if name not in _TYPES:
            raise BadInput(f"{where}.type is {name!r}; choose one of {', '.join(_TYPES)}")
    if "pattern" in node:
        _compiled(node["pattern"], where)
    reference = node.get("$ref")
    if reference is not None and reference not in seen:
        _check(_found(reference, root), root, f"{where}.$ref", (*seen, reference))
    for name, part in _parts(node):
        _check(part, root, f"{where}.{name}", seen)


def _parts(node: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The schemas inside a schema."""
    inside = [(name, node[name]) for name in ("items", "additionalProperties") if name in node]
    inside += list(node.get("properties", {}).items())
    return inside + [(word, part) for word in ("anyOf", "oneOf", "allOf") for part in node.get(word, ())]


def _compiled(pattern: Any, where: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, TypeError) as error:
        raise BadInput(f"{where}.pattern is no regular expression: {error}") from error


def _found(reference: Any, root: Schema) -> Any:
    node: Any = root
    for name in str(reference).removeprefix("#").strip("/").split("/"):
        node = node.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
    if not str(reference).startswith("#/") or not isinstance(node, Mapping):
        raise BadInput(f"the schema refers to {reference!r}, which it does not define")
    return node


# ---------------------------------------------------------------------- looking at values


def object_in(node: Mapping[str, Any], root: Schema) -> Mapping[str, Any] | None:
    """The schema of the object that a node describes, where it is one, or one or nothing; None for anything else."""
    if "$ref" in node:
        return object_in(_found(node["$ref"], root), root)
    types = node.get("type")
    if types == "object" or (isinstance(types, list) and "object" in types) or "properties" in node:
        return node
    choices = [part for word in ("anyOf", "oneOf", "allOf") for part in node.get(word, ())]
    objects = [found for part in choices if (found := object_in(part, root)) is not None]
    return objects[0] if len(objects) == 1 else None


def field_of(node: Mapping[str, Any], name: str) -> Any:
    """The schema of a field; None: there is none. An object whose fields are named has no others unless it says so."""
    if name in node.get("properties", {}):
        return node["properties"][name]
    others = node.get("additionalProperties", "properties" not in node)
    return None if others is False else others


def problem(node: Any, value: Any, root: Schema) -> str:
    """What is wrong with a value; empty: nothing."""
    if isinstance(node, bool):
        return "" if node else "nothing is allowed here"
    if "$ref" in node and (wrong := problem(_found(node["$ref"], root), value, root)):
        return wrong
    return (
        _wrong_type(node, value) or _wrong_choice(node, value, root) or _wrong_text(node, value)
        or _wrong_number(node, value) or _wrong_inside(node, value, root)
    )  # fmt: skip


def _wrong_type(node: Mapping[str, Any], value: Any) -> str:
    types = node.get("type", ["object"] if "properties" in node else [])
    names = [types] if isinstance(types, str) else types
    if isinstance(value, float) and not isfinite(value):
        return f"{value!r} is no number of JSON"
    if names and not any(_TYPES[name](value) for name in names):
        return f"{_told(value)} is no {' or '.join(names)}"
    return ""


def _wrong_choice(node: Mapping[str, Any], value: Any, root: Schema) -> str:
    if "enum" in node and not any(_same(value, choice) for choice in node["enum"]):
        return f"{_told(value)} is none of {', '.join(map(_told, node['enum']))}"
    if "const" in node and not _same(value, node["const"]):
        return f"{_told(value)} is not {_told(node['const'])}"
    for part in node.get("allOf", ()):
        if wrong := problem(part, value, root):
            return wrong
    for word in ("anyOf", "oneOf"):
        wrongs = [problem(part, value, root) for part in node.get(word, ())]
        if wrongs and all(wrongs):
            return "; ".join(wrongs)
        if word == "oneOf" and wrongs.count("") > 1:
            return f"{_told(value)} fits more than one"
    return ""


def _same(value: Any, choice: Any) -> bool:
    return bool(value == choice) and isinstance(value, bool) == isinstance(choice, bool)


def _wrong_text(node: Mapping[str, Any], value: Any) -> str:
    if not isinstance(value, str):
        return ""
    if value.encode("utf-8", "replace").decode() != value:
        return "no valid text"
    if not node.get("minLength", 0) <= len(value) <= node.get("maxLength", len(value)):
        return f"a text of {len(value)} characters"
    if "pattern" in node and not re.search(node["pattern"], value):
        return f"{_told(value)} does not match {node['pattern']}"
    return _wrong_format(node.get("format"), value)


def _wrong_format(name: Any, value: str) -> str:
    if name == "email":
        return "" if re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", value) else f"{_told(value)} is no email"
    if name in ("uri", "url"):
        return "" if re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", value) else f"{_told(value)} is no {name}"
    try:
        msgspec.convert(value, _FORMATS.get(name, str))
    except msgspec.ValidationError:
        return f"{_told(value)} is no {name}"
    return ""


def _wrong_number(node: Mapping[str, Any], value: Any) -> str:
    if not _is_number(value):
        return ""
    low, high = node.get("minimum", value), node.get("maximum", value)
    above, below = node.get("exclusiveMinimum", value - 1), node.get("exclusiveMaximum", value + 1)
    if not (low <= value <= high and above < value < below):
        return f"{value} is out of range"
    step = node.get("multipleOf")
    return f"{value} is no multiple of {step}" if step and value % step else ""


def _wrong_inside(node: Mapping[str, Any], value: Any, root: Schema) -> str:
    if isinstance(value, Mapping):
        return _wrong_fields(node, value, root)
    if not isinstance(value, list | tuple):
        return ""
    if not node.get("minItems", 0) <= len(value) <= node.get("maxItems", len(value)):
        return f"a list of {len(value)}"
    if node.get("uniqueItems") and any(value.index(item) != at for at, item in enumerate(value)):
        return "a list that says something twice"
    return _first(f"[{at}]: {wrong}" for at, item in enumerate(value) if (wrong := _item(node, item, root)))


def _item(node: Mapping[str, Any], item: Any, root: Schema) -> str:
    return problem(node.get("items", True), item, root)


def _wrong_fields(node: Mapping[str, Any], value: Mapping[Any, Any], root: Schema) -> str:
    if any(not isinstance(name, str) for name in value):
        return "a field's name is text"
    if object_in(node, root) is not node:
        return ""  # what it refers to says which fields there are
    found = ((name, field_of(node, name)) for name in value)
    wrongs = ((name, "no such field" if part is None else problem(part, value[name], root)) for name, part in found)
    return _first(f"{name}: {wrong}" for name, wrong in wrongs if wrong)


def _first(wrongs: Iterable[str]) -> str:
    return next(iter(wrongs), "")


def _told(value: Any) -> str:
    """A value in an error message: its beginning."""
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
