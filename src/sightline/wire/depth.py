"""How deep JSON values are nested: deeper ones are kept as text, because a copy could exhaust a caller's stack."""

from typing import Any

DEEPEST = 64  # levels of a call's arguments: no tool has as many, and copying needs two frames of about 1,000 for each

_NESTED = (dict, list, tuple)


def is_deep(value: Any) -> bool:
    """Whether values are nested more than `DEEPEST` levels deep. Does not recurse."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, _NESTED)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return any(isinstance(outer, _NESTED) for outer in level)
