"""The one JSON Schema validator, over the `jsonschema` package: for tools, apps and the entities strategy.

`jsonschema` is imported at the first check, because importing it takes longer than importing Sightline.
Neither a schema nor a value can make a check hang or fetch anything.
"""

import datetime
import decimal
import json
import re
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from sightline.errors import BadInput
from sightline.values.decoders import convert
from sightline.values.pattern import pattern

PATTERN_SECONDS = 2.0  # for one search; a text that takes longer does not match
MOST_REFERENCES = 4_000  # followed in one check, because `$ref` can make the work grow exponentially
_UNCHECKABLE = (RecursionError, OverflowError, ValueError)  # too deep, or an integer too long to be printed

_FORMATS: dict[str, type[Any]] = {
    "date": datetime.date, "date-time": datetime.datetime, "time": datetime.time, "duration": datetime.timedelta,
    "uuid": uuid.UUID, "decimal": decimal.Decimal,
}  # fmt: skip
_URI = r"[A-Za-z][A-Za-z0-9+.-]*:\S+"
_FORMAT_PATTERNS = {"email": r"[^@\s]+@[^@\s]+\.[^@\s]+", "uri": _URI, "url": _URI}


class Problem(NamedTuple):
    """Why a value does not fit a schema.

    `keyword` is JSON Schema's word for the broken rule ("type", "required", …), or one of ours: "false" (the schema
    allows nothing), "json" (JSON cannot hold the value) and "limit" (too deep or too complex to be checked).
    """

    keyword: str
    path: tuple[str | int, ...] = ()  # where in the value; it ends with the name of a missing or unknown field
    wanted: Any = None  # the keyword's value in the schema
    value: Any = None  # what breaks the rule
    branches: tuple["Problem", ...] = ()  # for "anyOf" and "oneOf": the first problem of each alternative


def first_problem(schema: Any, value: Any, *, root: Any = None, partial: bool = False) -> Problem | None:
    """Return the first reason why the value does not fit the schema; None if it fits.

    The schema is one that `check_schema` accepts, without `$schema`, because that would choose another validator.
    `root`: the whole schema that `schema` is a part of, for its references.
    `partial`: the value is filled in field by field. No field is required, an object with named fields has no others
    unless it says so, and JSON must be able to hold the value.
    """
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    token = _references.set(iter(range(MOST_REFERENCES)))
    try:
        if partial and (reason := _not_json(value)):
            return Problem("json", value=reason)
        # A registry that retrieves nothing: a reference to another document is an error, never a request.
        validator = _classes()[partial](schema if root is None else root, registry=Registry())
        error = next(validator.evolve(schema=schema).iter_errors(value), None)
        return None if error is None else _problem(error)
    except (*_UNCHECKABLE, Unresolvable):
        return Problem("limit")
    finally:
        _references.reset(token)


def check_schema(schema: Any) -> None:
    """Check that this is a JSON Schema (2020-12). Its patterns are not compiled: see `check_pattern`.

    Raises:
        BadInput: it is none; says where.
    """
    from jsonschema import Draft202012Validator, SchemaError  # type: ignore[import-untyped]

    try:
        Draft202012Validator.check_schema(schema, format_checker=None)
    except SchemaError as error:
        path = "".join(f".{step}" for step in error.absolute_path if step != "properties")
        raise BadInput(f"schema{path} is {brief(error.instance)}, which JSON Schema does not allow") from error
    except _UNCHECKABLE as error:
        raise BadInput(f"the schema is too deep or too large to be checked: {type(error).__name__}") from error


def brief(value: Any) -> str:
    """Return the beginning of a value's `repr`, for an error message."""
    try:
        text = repr(value)
    except _UNCHECKABLE:
        text = type(value).__name__
    return text if len(text) <= 40 else text[:39] + "…"


# ------------------------------------------------------------------ jsonschema, configured


_references: ContextVar[Iterator[int]] = ContextVar("references that this check may still follow")


@cache
def _classes() -> tuple[Any, Any]:
    """Return the validator class for whole values and the one for partial values."""
    from jsonschema import Draft202012Validator, ValidationError, validators

    keywords = Draft202012Validator.VALIDATORS

    def follow(validator: Any, reference: Any, value: Any, schema: Any) -> Iterator[Any]:
        if next(_references.get(), None) is None:
            raise RecursionError
        yield from keywords["$ref"](validator, reference, value, schema)

    def match_pattern(_: Any, pattern: Any, value: Any, __: Any) -> Iterator[Any]:
        if isinstance(value, str) and not search(pattern, value):
            yield ValidationError("")

    def check_format(_: Any, name: Any, value: Any, __: Any) -> Iterator[Any]:
        if isinstance(value, str) and not _has_format(name, value):
            yield ValidationError("")

    def check_other_fields(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[Any]:
        """Do what jsonschema does, in the order of the value's fields instead of a set's."""
        named = schema.get("properties", {})
        for name in [name for name in value if name not in named] if isinstance(value, Mapping) else ():
            if rule is False:
                yield ValidationError("", validator="additionalProperties", path=[name])
            yield from validator.descend(value[name], rule, path=name) if rule else ()

    def close_object(validator: Any, properties: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(value, Mapping):
            yield ValidationError("", validator="type", validator_value="object")
        if "additionalProperties" not in schema:
            yield from check_other_fields(validator, False, value, schema)
        yield from keywords["properties"](validator, properties, value, schema)

    types = Draft202012Validator.TYPE_CHECKER.redefine_many({
        "number": lambda _, value: _is_number(value),
        "integer": lambda _, value: _is_number(value) and value == int(value),
        "object": lambda _, value: isinstance(value, Mapping),
        "array": lambda _, value: isinstance(value, list | tuple),
    })  # fmt: skip
    changed = {
        "$ref": follow, "pattern": match_pattern, "format": check_format, "additionalProperties": check_other_fields,
    }  # fmt: skip
    whole = validators.extend(Draft202012Validator, changed, type_checker=types)
    return whole, validators.extend(whole, {"properties": close_object, "required": lambda *_: ()})


def _has_format(name: str, text: str) -> bool:
    if name in _FORMAT_PATTERNS:
        return re.fullmatch(_FORMAT_PATTERNS[name], text) is not None
    try:
        convert(text, _FORMATS.get(name, str))
    except msgspec.ValidationError:
        return False
    return True


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and (isinstance(value, int) or isfinite(value))
    )


def _problem(error: Any) -> Problem:
    path = tuple(error.relative_path)
    if error.validator == "required":
        path += (next(name for name in error.validator_value if name not in error.instance),)
    branches = {branch.relative_schema_path[0]: branch for branch in reversed(error.context)}
    inner = tuple(_problem(branches[number]) for number in sorted(branches))
    return Problem(error.validator or "false", path, error.validator_value, error.instance, inner)


def _not_json(value: Any) -> str:
    """Say what in a value JSON cannot hold; empty: nothing."""
    match value:
        case float() if not isfinite(value):
            return f"{value!r} is no number of JSON"
        case str() if value.encode("utf-8", "replace").decode() != value:
            return "no valid text"
        case Mapping() if not all(isinstance(name, str) for name in value):
            return "a field's name is text"
        case Mapping():
            return _not_json(list(value.values()))
        case list() | tuple():
            return next(filter(None, map(_not_json, value)), "")
    return ""


# ------------------------------------------------------------------ patterns

# A pattern without groups and alternatives and with at most one repetition of variable length takes at most quadratic
# time. Every other one is compiled and searched in a process of its own, because only a process can be stopped.
_ATOM = r"(?:\\.|\[(?:\\.|[^\[\]\\])+\]|[^\\\[\](){}*+?|])(?:\{\d{1,3}\})?"
_SIMPLE = pattern(rf"(?:{_ATOM})*+[*+?]?(?:{_ATOM})*+", re.DOTALL)
_SIMPLE_CHARACTERS = 2_000  # in the pattern and in the text
_SEARCH = "import json, re, sys; pattern, text = json.load(sys.stdin); print(bool(re.search(pattern, text)))"


def check_pattern(pattern: str, where: str) -> None:
    """Check that this is a regular expression. Raises BadInput if it is not, or takes too long to compile."""
    if search(pattern, "") is None:
        raise BadInput(f"{where}.pattern is no regular expression: {brief(pattern)}")


def search(pattern: str, text: str) -> bool | None:
    """Return whether the pattern is found in the text; None if it is none, or takes more than `PATTERN_SECONDS`."""
    if max(len(pattern), len(text)) <= _SIMPLE_CHARACTERS and _SIMPLE.fullmatch(pattern):
        try:
            return re.search(pattern, text) is not None
        except re.error:
            return None
    import subprocess  # only for what may take long

    command, question = [sys.executable, "-I", "-S", "-c", _SEARCH], json.dumps([pattern, text]).encode()
    try:
        output = subprocess.check_output(
            command, input=question, stderr=subprocess.DEVNULL, timeout=PATTERN_SECONDS, env={}
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return output.strip() == b"True"
