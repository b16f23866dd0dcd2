"""Writes inspector/src/types.ts: what the REST interface takes and gives, from its OpenAPI document.

Run it after changing a value that REST gives: python tools/inspector_types.py. A test tells who forgot.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sightline.server.openapi import document
from sightline.server.rest import OPERATIONS

FILE = Path(__file__).parent.parent / "inspector" / "src" / "types.ts"
_HEAD = "// What the REST interface takes and gives. Made by tools/inspector_types.py from /api/openapi.json."
_SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def current() -> str:
    """The file as it must be now."""
    schemas = document(OPERATIONS)["components"]["schemas"]
    return "\n\n".join([_HEAD, *(_interface(name, schemas[name]) for name in sorted(schemas))]) + "\n"


def _interface(name: str, schema: Mapping[str, Any]) -> str:
    about = " ".join(schema.get("description", "").split())
    return "\n".join([f"/** {about} */", f"export interface {name} {{", *_fields(schema), "}"])


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required", ())
    for name, kind in schema["properties"].items():
        yield f"  {name}{'' if name in required else '?'}: {_type(kind)};"


def _type(schema: Mapping[str, Any]) -> str:
    """The type of a schema. What says nothing may be anything."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(f'"{value}"' for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    match schema.get("type"):
        case "array":
            items = _type(schema.get("items") or {})
            return f"({items})[]" if " | " in items else f"{items}[]"
        case "object":
            return f"Record<string, {_type(schema.get('additionalProperties') or {})}>"
        case str(kind):
            return _SIMPLE[kind]
        case _:
            return "unknown"


def main() -> None:
    """Write the file, or with `check` only say whether it is as it must be."""
    if sys.argv[1:] != ["check"]:
        FILE.write_text(current(), encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != current():
        raise SystemExit(f"{FILE.name} is not what the server gives: run python tools/inspector_types.py")


if __name__ == "__main__":
    main()
