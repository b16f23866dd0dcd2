"""Runs a method while its object's lock is held."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def locked(method: F) -> F:
    """Decorate a method so that its object's `_lock`, a `threading.RLock`, is held while it runs."""

    @wraps(method)
    def run(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return cast(F, run)
