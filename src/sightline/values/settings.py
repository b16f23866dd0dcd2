"""Settings of a session."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, force_setattr

REDUCTIONS = ("gists", "windows", "summaries", "trim")
"""The reductions that make a payload fit, in the order in which they are used: items are shortened, live windows are
shortened, a summary replaces the oldest part, units are left out."""


ARROW = " → "
"""Joins the names of a pipe's stages."""


class Settings(Struct, frozen=True, omit_defaults=True):
    """How a session is stored and composed. The first entry of every log; a change is a new entry.

    `strategy` is a name, or several: a pipe, each stage of which changes the plan of the one before. The `config` of a
    pipe has that of each stage by its name.
    """

    format: int = 1
    locale: str = "en"
    encoding: str = "o200k_base"
    layout: str = "stable"
    strategy: str | Sequence[str] = "focus"
    config: dict[str, Any] = {}
    profile: str = "openai"
    windows: str = "xml"  # their format: "xml", "markdown", or "brief" without actions, which `action` tells instead
    reductions: tuple[str, ...] = REDUCTIONS  # those that may be used
    repeat_unchanged: bool = True  # False: a read-only call's result that is shown above already only says so

    def __post_init__(self) -> None:
        if isinstance(self.strategy, list):  # as the log has it: settings are compared
            force_setattr(self, "strategy", tuple(self.strategy))


def strategy_name(strategy: str | Sequence[str]) -> str:
    """The name of a strategy; of a pipe, the names of its stages with arrows between them."""
    return strategy if isinstance(strategy, str) else ARROW.join(map(str, strategy))


def read_strategy(text: str) -> str | tuple[str, ...]:
    """The strategy that somebody wrote: a name, or a pipe, as `rounds,summary,sliding` or with arrows."""
    stages = tuple(filter(None, map(str.strip, text.replace(ARROW.strip(), ",").split(","))))
    return stages if len(stages) > 1 else text


def changes(now: Settings, wanted: Settings) -> dict[str, Any]:
    """The fields in which the wanted settings differ from those of now, with what they are to be."""
    return {name: value for name, value in asdict(wanted).items() if value != getattr(now, name)}
