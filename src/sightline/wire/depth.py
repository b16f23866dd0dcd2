"""How deep JSON values are nested: deeper ones are kept as text, because a copy could exhaust a caller's stack."""

from typing import Any

DEEPEST = 64  # levels of a call's arguments: no tool has as many, and copying needs two frames of about 1,000 for each

_NESTED = (dict, list, tuple)


def is_deep(value: Any) -> bool:
    """Whether values are nested more deeply than that. Does not recurse."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for each in level
            if isinstance(each, _NESTED)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return any(isinstance(each, _NESTED) for each in level)
