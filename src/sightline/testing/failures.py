"""What the checks say when one fails: what was found instead of what is promised, and whose code raised an error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from traceback import walk_tb
from typing import Any

from sightline.values.foreign_code import described

_SHOWN, _BEFORE = 300, 60  # characters of a long value, and of these before the first that differs
_NOT_UNDER_TEST = {"sightline", *sys.stdlib_module_names}


def same(actual: Any, expected: Any, what: str) -> None:
    """Raise AssertionError if these differ. Of long values it shows the first place where they do."""
    if actual == expected:
        return
    one, other = repr(actual), repr(expected)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    start = max(0, alike - _BEFORE) if max(len(one), len(other)) > _SHOWN else 0
    raise AssertionError(f"{what}: {_shown(one, start)}, not {_shown(other, start)}")


def _shown(text: str, start: int) -> str:
    end = start + _SHOWN
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def must_raise(error: type[Exception], act: Callable[[], Any], what: str) -> Any:
    """Return the error of this type that this raises. Raise AssertionError if it raises none, or another one."""
    try:
        act()
    except error as caught:
        return caught
    except Exception as other:
        raise AssertionError(f"{what} must raise {error.__name__}, but {raised(other)}") from other
    raise AssertionError(f"{what} must raise {error.__name__}, but raised nothing")


def attempt(act: Callable[[], Any], what: str, allowed: type[Exception] | tuple[()] = ()) -> Any:
    """Return what this returns, if anything. Raise AssertionError if it raises anything that is not allowed."""
    try:
        return act()
    except allowed:
        return None
    except Exception as error:
        raise AssertionError(f"{what} raised {described(error)}") from error


@contextmanager
def reported(promise: str) -> Iterator[None]:
    """Raise AssertionError with this promise and whose code it was, in place of an error that no check foresees."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{promise} {raised(error)}") from error


def raised(error: BaseException) -> str:
    """An error, and the function of the code under test that raised it."""
    for frame, _ in walk_tb(error.__traceback__):
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in _NOT_UNDER_TEST:
            return f"{frame.f_code.co_qualname} raised {described(error)}"
    return f"it raised {described(error)}"
