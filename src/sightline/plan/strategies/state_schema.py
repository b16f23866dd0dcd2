"""The schema of the entities strategy's state: JSON Schema with the keywords that are checked here, and no others."""

from collections.abc import Mapping, Sized
from typing import Any

import msgspec

from sightline.errors import BadInput
from sightline.values.schema import Problem, brief, check_pattern, check_schema, first_problem

Schema = dict[str, Any]

_CHECKED = frozenset({
    "type", "properties", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "format",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "uniqueItems",
})  # fmt: skip
# A state is filled in field by field, so nothing of it is required. The other words only describe.
_IGNORED = frozenset({
    "required", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "discriminator",
    "$defs", "definitions", "$id", "$comment",
})  # fmt: skip
_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")


def schema_of(schema_or_type: Any) -> Schema:
    """Return the JSON Schema of an object, given as such, in short (`{"date": "string"}`), or as a type.

    Types are those of msgspec and pydantic.

    Raises:
        BadInput: it is none of these, is no valid schema, or has keywords that are not checked here.
    """
    try:
        schema = (
            _expand(schema_or_type, "schema") if isinstance(schema_or_type, Mapping) else _from_type(schema_or_type)
        )
        schema.pop("$schema", None)  # it would choose the validator of another draft
        check_schema(schema)
        _check(schema, schema, "schema", set())
        object_schema = object_in(schema, schema)
    except RecursionError as error:
        raise BadInput("a state's schema is nested too deeply") from error
    if object_schema is None:
        raise BadInput("a state's schema is that of an object: give it properties")
    return schema


def _from_type(type_: Any) -> Schema:
    try:
        pydantic_schema = getattr(type_, "model_json_schema", None)
        return dict(pydantic_schema() if pydantic_schema is not None else msgspec.json.schema(type_))
    except (TypeError, ValueError) as error:
        raise BadInput(f"a state's schema is a JSON Schema or a type that has one, not {type_!r}: {error}") from error


def _expand(schema: Mapping[str, Any], where: str) -> Schema:
    """Return a schema as it is, and a mapping of names to types as the schema of an object with these fields."""
    if "$ref" in schema or schema.get("type") == "object" or isinstance(schema.get("properties"), Mapping):
        return dict(schema)
    fields = {name: _field(value, f"{where}.{name}") for name, value in schema.items()}
    if not fields:
        raise BadInput(f'{where} has no fields; write {{"destination": "string", "date": "string"}} or a JSON Schema')
    return {"type": "object", "properties": fields, "additionalProperties": False}


def _field(type_or_schema: Any, where: str) -> Schema:
    match type_or_schema:
        case str() if type_or_schema in _TYPES:
            return {"type": type_or_schema}
        case Mapping() if _CHECKED.isdisjoint(type_or_schema):
            return _expand(type_or_schema, where)
        case Mapping():
            return dict(type_or_schema)
        case _:
            raise BadInput(
                f"{where} is {type_or_schema!r}; choose one of {', '.join(_TYPES)}, or write its JSON Schema"
            )


def _check(node: Any, root: Schema, where: str, followed: set[str]) -> None:
    """Refuse keywords that are not checked, because a wrong value would pass unnoticed.

    Patterns must compile and references must point inside the schema.
    """
    if not isinstance(node, Mapping):
        return
    if unknown := [word for word in node if word not in _CHECKED | _IGNORED and not str(word).startswith("x-")]:
        raise BadInput(f"{where} says {unknown[0]!r}, which is not checked here; use {', '.join(sorted(_CHECKED))}")
    if "pattern" in node:
        check_pattern(node["pattern"], where)
    reference = node.get("$ref")
    if reference is not None and reference not in followed:
        followed.add(reference)
        _check(_resolve(reference, root), root, f"{where}.$ref", followed)
    inside = [(name, node[name]) for name in ("items", "additionalProperties") if name in node]
    inside += list(node.get("properties", {}).items())
    inside += [(word, part) for word in ("anyOf", "oneOf", "allOf") for part in node.get(word, ())]
    for name, part in inside:
        _check(part, root, f"{where}.{name}", followed)


def _resolve(reference: Any, root: Schema) -> Any:
    """Return the part of the root that `#/$defs/A` refers to. Raises BadInput if there is none."""
    node: Any = root
    for name in str(reference).removeprefix("#").strip("/").split("/"):
        node = node.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
    if not str(reference).startswith("#/") or not isinstance(node, Mapping):
        raise BadInput(f"the schema refers to {reference!r}, which it does not define")
    return node


def object_in(node: Any, root: Schema, followed: set[str] | None = None) -> Mapping[str, Any] | None:
    """Return the one object schema that a node is, refers to or has among its alternatives; None if it has not one.

    `followed`: the references to leave alone, because they were followed already.
    """
    followed = set() if followed is None else followed
    if not isinstance(node, Mapping) or node.get("$ref") in followed:
        return None
    if "$ref" in node:
        followed.add(node["$ref"])
        return object_in(_resolve(node["$ref"], root), root, followed)
    types = node.get("type")
    if types == "object" or (isinstance(types, list) and "object" in types) or "properties" in node:
        return node
    choices = [part for word in ("anyOf", "oneOf", "allOf") for part in node.get(word, ())]
    objects = [schema for part in choices if (schema := object_in(part, root, followed)) is not None]
    return objects[0] if len(objects) == 1 else None


def field_of(node: Mapping[str, Any], name: str) -> Any:
    """Return the schema of a field, or None. An object with named fields has no others unless it says so."""
    if name in node.get("properties", {}):
        return node["properties"][name]
    others = node.get("additionalProperties", "properties" not in node)
    return None if others is False else others


def problem(node: Any, value: Any, root: Schema) -> str:
    """Say what is wrong with a value for this part of the root's schema; empty: nothing."""
    mistake = first_problem(node, value, root=root, partial=True)
    return "" if mistake is None else _explain(mistake)


_PHRASES = {
    "false": "nothing is allowed here",
    "limit": "too deep or too complex to be checked",
    "json": "{value}",
    "type": "{value} is no {wanted}",
    "enum": "{value} is none of {wanted}",
    "const": "{value} is not {wanted}",
    "oneOf": "{value} fits more than one",
    "minLength": "a text of {length} characters",
    "maxLength": "a text of {length} characters",
    "pattern": "{value} does not match {wanted}",
    "format": "{value} is no {wanted}",
    "multipleOf": "{value} is no multiple of {wanted}",
    "minItems": "a list of {length}",
    "maxItems": "a list of {length}",
    "uniqueItems": "a list that says something twice",
    "additionalProperties": "no such field",
}


def _explain(problem: Problem) -> str:
    path = "".join(f"[{step}]: " if isinstance(step, int) else f"{step}: " for step in problem.path)
    if problem.branches:
        return path + "; ".join(map(_explain, problem.branches))
    value, wanted = brief(problem.value), problem.wanted
    match problem.keyword:
        case "json":
            value = problem.value
        case "type":
            wanted = " or ".join([wanted] if isinstance(wanted, str) else wanted)
        case "enum":
            wanted = ", ".join(map(brief, wanted))
        case "const":
            wanted = brief(wanted)
    length = len(problem.value) if isinstance(problem.value, Sized) else 0
    return path + _PHRASES.get(problem.keyword, "{value} is out of range").format(
        value=value, wanted=wanted, length=length
    )
