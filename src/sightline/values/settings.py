"""How a session is kept and composed."""

from typing import Any

from msgspec import Struct

REDUCTIONS = ("gists", "windows", "summaries", "trim")
"""What may be done to make things fit, in the order in which it is: items show less, live windows show less, a summary
stands for the oldest part, units are left out."""


class Settings(Struct, frozen=True, omit_defaults=True):
    """How a session is kept and composed. The first entry of every log; a change is a new entry."""

    format: int = 1
    locale: str = "en"
    encoding: str = "o200k_base"
    layout: str = "stable"
    strategy: str = "focus"
    config: dict[str, Any] = {}
    profile: str = "openai"
    windows: str = "xml"  # how they are written: "xml" or "markdown"
    reductions: tuple[str, ...] = REDUCTIONS  # those that are allowed
