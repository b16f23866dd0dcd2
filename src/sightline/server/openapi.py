"""The OpenAPI document of the REST interface, made from its table of operations and their types."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.inspect import Field, StructType, multi_type_info

from sightline import __version__
from sightline.server.rest_operation import JSON, Failure, Operation

_INNER = ("item_type", "key_type", "value_type", "type")  # of a type that is made of others
_SCHEMAS = "#/components/schemas/"


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the OpenAPI document of these operations, as JSON values."""
    types = list(dict.fromkeys([Failure, *(kind for operation in operations for kind in _types(operation))]))
    made, components = msgspec.json.schema_components(types, ref_template=_SCHEMAS + "{name}")
    schemas = {_key(kind): schema for kind, schema in zip(types, made, strict=True)}
    for struct in _answered(operations):
        if (component := components.get(struct.cls.__name__)) is not None:
            component["required"] = [field.encode_name for field in struct.fields if not _may_be_unset(field)]
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        described = _describe(operation, schemas, components)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    # Parameters have their own schemas, so the structs of queries are left out.
    queries = {operation.query.__name__ for operation in operations if operation.query is not None}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sightline",
            "version": __version__,
            "description": "What the engine knows of its sessions: items, payloads, windows, compactions.",
        },
        "paths": paths,
        "components": {
            "schemas": {name: schema for name, schema in components.items() if name not in queries},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-Sightline-Token"},
            },
        },
        "security": [{}, {"bearer": []}, {"header": []}],
    }


def _types(operation: Operation) -> Iterable[Any]:
    return (kind for kind in (operation.query, operation.body, operation.output) if kind is not None)


def _answered(operations: Sequence[Operation]) -> Iterator[StructType]:
    """Yield the structs of answers that have all their fields, also those that are as they usually are."""
    outputs = [operation.output for operation in operations if operation.output is not None]
    waiting: list[Any] = [*multi_type_info(outputs)]
    seen: set[type] = set()
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, StructType):
            if kind.cls in seen:
                continue
            seen.add(kind.cls)
            if not kind.cls.__struct_config__.omit_defaults:
                yield kind
            waiting += [field.type for field in kind.fields]
        else:
            waiting += [getattr(kind, name) for name in _INNER if hasattr(kind, name)]
            waiting += [*getattr(kind, "types", ()), *getattr(kind, "item_types", ())]


def _may_be_unset(field: Field) -> bool:
    return not field.required and field.default is field.default_factory is NODEFAULT


def _key(kind: Any) -> str:
    return repr(kind)


def _describe(operation: Operation, schemas: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.about,
        "parameters": [*_path_parameters(operation.path), *_query_parameters(operation.query, components)],
        "responses": _responses(operation, schemas),
    }
    if operation.body is not None:
        required = bool(components[operation.body.__name__].get("required"))
        content = {JSON: {"schema": schemas[_key(operation.body)]}}
        described["requestBody"] = {"required": required, "content": content}
    return described


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{(\w+)}", path)
    ]


def _query_parameters(query: type[Struct] | None, components: Mapping[str, Any]) -> list[dict[str, Any]]:
    if query is None:
        return []
    described = components[query.__name__]
    required = described.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(schema)}
        for name, schema in described["properties"].items()
    ]


def _without_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter: one that is not given is left out, not null."""
    kinds = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default") or value is not None}
    if not kinds:
        return rest
    rest.pop("anyOf")
    return {**rest, **(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})}


def _responses(operation: Operation, schemas: Mapping[str, Any]) -> dict[str, Any]:
    good: dict[str, Any] = {"description": HTTPStatus(operation.status).phrase}
    if operation.output is not None:
        good["content"] = {JSON: {"schema": schemas[_key(operation.output)]}}
    elif operation.status != 204:
        good["content"] = {operation.media: {"schema": {"type": "string"}}}
    failures = {
        str(status): {
            "description": HTTPStatus(status).phrase,
            "content": {JSON: {"schema": schemas[_key(Failure)]}},
        }
        for status in sorted({*operation.errors, 503})
    }
    same = {"304": {"description": "it is what If-None-Match names"}} if operation.method == "GET" else {}
    return {str(operation.status): good, **same, **failures}
