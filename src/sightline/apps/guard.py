"""When an app's own code fails: the session goes on, and its author is told."""

import logging
import traceback
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

logger = logging.getLogger("sightline")


def complain(what: str, error: Exception) -> None:
    """Log what failed, with the traceback; whatever it says, it can be written to any stream."""
    told = "".join(traceback.format_exception(error))
    logger.warning("%s", f"{what}\n{told}".encode("utf-8", "backslashreplace").decode())


def quietly(step: Callable[[], T], what: str = "an app failed") -> T | None:
    """What a step of an app gives; None where it fails, which is logged."""
    try:
        return step()
    except Exception as error:  # whatever an app does, the session goes on
        complain(what, error)
        return None


def valid(text: str) -> str:
    """Only valid text can be sent."""
    return text.encode("utf-8", "replace").decode()


def told_by(error: Exception) -> str:
    """What an error says; nothing, where it cannot even say that."""
    return quietly(lambda: str(error)) or ""
