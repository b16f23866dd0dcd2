"""Reading texts that are JSON, as far as they are."""

from typing import Any

import msgspec

from sightline.values.decoders import json_decoder

LARGEST = 256 * 1024  # characters of a document that is parsed; a larger one is read as text
_RUN = {"output", "metadata"}
_WRAPPED = {"query", "result", "success"}


def decode_json(text: str, kind: Any) -> Any:
    """Return a JSON document as this type; None if it is not one, or nested too deep."""
    try:
        return json_decoder(kind).decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def parse_json(text: str) -> Any:
    """Return the JSON value of a text, or None if it is not an object or a list with members."""
    if len(text) > LARGEST or text[:64].lstrip()[:1] not in ("{", "["):
        return None
    return decode_json(text, dict[str, Any] | list[Any]) or None


def wrapped_result(text: str) -> str:
    """Return what a tool of Cline's or Codex's says in a text that is JSON.

    Cline's results are objects with the query, and perhaps an error; Codex's have the output and how the command ended.
    """
    if text.startswith('{"output":') and isinstance(value := parse_json(text), dict) and value.keys() == _RUN:
        return value["output"] if isinstance(value["output"], str) else text
    if not text.startswith(('[{"query":', '{"query":')) or (value := parse_json(text)) is None:
        return text
    members = value if isinstance(value, list) else [value]
    if not all(isinstance(each, dict) and _WRAPPED <= each.keys() <= _WRAPPED | {"error"} for each in members):
        return text
    said = [each["result"] if each["success"] else each.get("error") for each in members]
    return "\n".join(said) if all(isinstance(each, str) for each in said) else text
