"""JSON objects in the text of a model."""

import json
import re
from collections.abc import Iterator
from typing import Any

from sightline.wire.common import valid

_BRACES = 200  # places in a text where an object may begin; a text with more is code, not an answer
_FENCED = re.compile(r"\s*```(?:json|JSON)?[ \t]*\r?\n(?P<inside>.*)```\s*", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)  # not strict, because models put real line breaks into strings


def objects(text: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the JSON objects in a text, in order, none of them inside another.

    With each comes whether it is the whole text, perhaps in a fence.
    """
    fenced = _FENCED.fullmatch(text)
    text, end = (fenced["inside"] if fenced else text).strip(), 0
    for _ in range(_BRACES):
        if (at := text.find("{", end)) < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
            value = valid(value)
        except (ValueError, RecursionError):
            end = at + 1
            continue
        yield value, end - at == len(text)
