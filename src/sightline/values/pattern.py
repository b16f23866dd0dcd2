"""Regular expressions that are compiled when they are first used, because compiling them all makes importing slow."""

import re
from typing import Any, AnyStr, cast

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")


class _Pattern:
    """Becomes the compiled expression: its methods are there after the first use, so that later ones cost nothing."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        vars(self).update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` does, in effect: `match.re` is another object, and mistakes show at the first use."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
