"""Protection against failures in an app's own code: they are logged, and the session goes on."""

import traceback
from collections.abc import Callable
from typing import TypeVar

from sightline.values.logger import log_warning

T = TypeVar("T")


def log_failure(what: str, error: Exception) -> None:
    """Log what failed, with the traceback, as text that can be written to any stream."""
    trace = "".join(traceback.format_exception(error))
    log_warning("%s", f"{what}\n{trace}".encode("utf-8", "backslashreplace").decode())


def attempt(step: Callable[[], T], what: str = "an app failed") -> T | None:
    """Return what an app's code returns; None if it raises, which is logged as `what`."""
    try:
        return step()
    except Exception as error:  # whatever an app does, the session goes on
        log_failure(what, error)
        return None


def valid_text(text: str) -> str:
    """Replace lone surrogates, because only valid Unicode can be sent."""
    return text.encode("utf-8", "replace").decode()


def error_text(error: Exception) -> str:
    """Return an error's message; empty if its own `__str__` fails."""
    return attempt(lambda: str(error)) or ""
