"""Settings of a session."""

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

REDUCTIONS = ("gists", "windows", "summaries", "trim")
"""The reductions that make a payload fit, in the order in which they are used: items are shortened, live windows are
shortened, a summary replaces the oldest part, units are left out."""


class Settings(Struct, frozen=True, omit_defaults=True):
    """How a session is stored and composed. The first entry of every log; a change is a new entry."""

    format: int = 1
    locale: str = "en"
    encoding: str = "o200k_base"
    layout: str = "stable"
    strategy: str = "focus"
    config: dict[str, Any] = {}
    profile: str = "openai"
    windows: str = "xml"  # their format: "xml" or "markdown"
    reductions: tuple[str, ...] = REDUCTIONS  # those that may be used


def changes(now: Settings, wanted: Settings) -> dict[str, Any]:
    """The fields in which the wanted settings differ from those of now, with what they are to be."""
    return {name: value for name, value in asdict(wanted).items() if value != getattr(now, name)}
