"""The validator: JSON Schema's rules as jsonschema has them, and what a hostile schema or value cannot do."""

import subprocess
import sys
import time
from typing import Any

import pytest

from sightline.errors import BadInput
from sightline.plan.strategies.entities import merged
from sightline.plan.strategies.state_schema import problem, schema_of
from sightline.values.schema import check_schema, first_problem, search


def state(field: Any, **more: Any) -> dict[str, Any]:
    return schema_of({"type": "object", "properties": {"a": field}, **more})


@pytest.mark.parametrize("module", ["sightline", "sightline.session.session", "sightline.values.schema"])
def test_importing_does_not_import_jsonschema(module: str) -> None:
    code = f"import sys, {module}; print('jsonschema' in sys.modules, 'referencing' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "False"]


def test_a_problem_names_the_rule_and_the_place() -> None:
    """The path ends with the name of a field that is missing or unknown."""
    fields = {"a": {"items": {"type": "integer"}}, "b": True}
    schema = {"properties": fields, "required": ["b"], "additionalProperties": False}
    found = first_problem(schema, {"a": [1, "2"], "b": 1})
    assert found is not None
    assert (found.keyword, found.path, found.wanted, found.value) == ("type", ("a", 1), "integer", "2")
    assert first_problem(schema, {"a": [1.0], "b": 1}) is None
    missing, unknown = first_problem(schema, {"a": []}), first_problem(schema, {"b": 1, "c": 2})
    assert missing is not None
    assert unknown is not None
    assert (missing.keyword, missing.path) == ("required", ("b",))
    assert (unknown.keyword, unknown.path) == ("additionalProperties", ("c",))


@pytest.mark.parametrize(
    "wrong", [3, {"type": "text"}, {"minimum": "a"}, {"multipleOf": 0}, {"properties": []}, {"enum": 1}]
)
def test_an_invalid_schema_is_refused(wrong: Any) -> None:
    with pytest.raises(BadInput, match="JSON Schema does not allow"):
        check_schema(wrong)


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("^a", "ab", "ba"), (r"^\d{4}-\d{2}$", "2026-05", "2026-5"), ("b+$", "abb", "bba"), ("^(a|b)*$", "abab", "abc"),
        (r"^([a-z]+-)*[a-z]+$", "one-two", "one-"), (r"[\]x]", "]", "y"), ("^.{2,3}$", "ab", "abcd"),
    ],
)  # fmt: skip
def test_patterns_match_as_python_has_them(pattern: str, good: str, bad: str) -> None:
    """Simple ones are searched here and others in a process of their own, with the same result."""
    assert (search(pattern, good), search(pattern, bad)) == (True, False)


@pytest.mark.parametrize("pattern", ["(", "[", "*", "a{3", "(?P<", "a" * 3_000 + "("])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    if pattern != "a{3":  # Python takes this one literally
        with pytest.raises(BadInput, match="pattern"):
            state({"type": "string", "pattern": pattern})


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(a|a)*$", r"(a*)*(a*)*b", "a*" * 20 + "b"])
def test_a_pattern_that_would_take_for_ever_does_not_match(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.values.schema.PATTERN_SECONDS", 0.5)
    begin = time.monotonic()
    assert problem({"type": "string", "pattern": pattern}, "a" * 60 + "!", {}).endswith(f"does not match {pattern}")
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.org/schema.json",
        "file:///etc/passwd",
        "other.json#/a",
        "#",
        "#anchor",
        "#/$defs/none",
        "#/title",
    ],
)
def test_a_reference_to_the_outside_or_to_nothing_is_refused(reference: str) -> None:
    """When the schema is loaded; where one is checked all the same, nothing is fetched."""
    with pytest.raises(BadInput, match="which it does not define"):
        state({"$ref": reference}, title="t")
    if not reference.startswith("#"):
        found = first_problem({"$ref": reference}, 1)
        assert found is not None
        assert found.keyword == "limit"


def test_a_reference_to_itself_ends() -> None:
    schema = state({"$ref": "#/$defs/A"}, **{"$defs": {"A": {"$ref": "#/$defs/A"}}})
    assert merged(schema, {}, {"a": {"b": 1}}).refused == {"a": "too deep or too complex to be checked"}


@pytest.mark.slow
def test_references_that_multiply_end() -> None:
    """Each alternative refers twice to the next: two to the power of 40 checks, were they not counted."""
    doubling = {f"A{n}": {"anyOf": [{"$ref": f"#/$defs/A{n + 1}"}] * 2} for n in range(40)}
    begin = time.monotonic()
    schema = state({"$ref": "#/$defs/A0"}, **{"$defs": doubling | {"A40": {"type": "string"}}})
    assert merged(schema, {}, {"a": 1}).refused == {"a": "too deep or too complex to be checked"}
    assert merged(schema, {}, {"a": "b"}).state == {"a": "b"}
    assert time.monotonic() - begin < 20


def test_a_schema_that_is_too_deep_is_refused() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        deep = {"type": "object", "properties": {"a": deep}}
    with pytest.raises(BadInput, match="deep"):
        schema_of(deep)
    short: Any = "string"
    for _ in range(5_000):
        short = {"a": short}
    with pytest.raises(BadInput, match="deep"):
        schema_of(short)


def test_a_value_that_is_too_deep_or_too_long_is_refused() -> None:
    schema = state({"$ref": "#/$defs/A"}, **{"$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}})
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    assert problem(schema, {"a": deep}, schema) == "too deep or too complex to be checked"
    assert problem({"type": "string"}, 10**5_000, {})
    assert problem({"type": "integer", "maximum": 9}, 10**400, {}).endswith("is out of range")


def test_keywords_that_change_the_meaning_of_others_are_refused_inside() -> None:
    """`$schema` at the top is only a description; further down it would bring another validator."""
    draft = "http://json-schema.org/draft-07/schema#"
    schema = schema_of({"$schema": draft, "type": "object", "properties": {"a": {"type": "integer"}}})
    assert problem(schema, {"a": 1, "b": 2}, schema) == "b: no such field"
    with pytest.raises(BadInput, match=r"schema\.a says '\$schema'"):
        state({"$schema": draft, "type": "object"})
