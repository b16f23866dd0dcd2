"""The shorteners, in the order in which they are asked: this program's, those of installed packages, then ours."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from sightline.errors import BadInput
from sightline.shorten.diagnostics import diagnostic_levels, is_diagnostics
from sightline.shorten.diffs import diff_levels, is_diff
from sightline.shorten.lines import Levels, View
from sightline.shorten.listings import is_listing, listing_levels
from sightline.shorten.logs import is_log, is_traceback, log_levels, traceback_levels
from sightline.shorten.prose import prose_levels
from sightline.shorten.shortener import Shortener
from sightline.shorten.source import is_code_file, is_source, source_levels
from sightline.shorten.suites import is_test_run, test_run_levels
from sightline.shorten.tables import is_table, table_levels
from sightline.values.foreign_code import offers, warn_once

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Rule(NamedTuple):
    """A shortener of ours."""

    name: str
    accepts: Callable[[View], bool]
    levels: Callable[[View], Levels]


SHORTENERS: tuple[Shortener, ...] = (
    # The first that accepts the text. Tests for unmistakable lines come before tests for shares of lines.
    Rule("code file", is_code_file, source_levels),
    Rule("diff", is_diff, diff_levels),
    Rule("test run", is_test_run, test_run_levels),
    Rule("traceback", is_traceback, traceback_levels),
    Rule("listing", is_listing, listing_levels),
    Rule("diagnostics", is_diagnostics, diagnostic_levels),
    Rule("source", is_source, source_levels),
    Rule("log", is_log, log_levels),
    Rule("table", is_table, table_levels),
    Rule("prose", lambda _: True, prose_levels),
)

GROUP = "sightline.shorteners"
"""The entry point group in which a package offers shorteners of its own: a name, and a class or a function that makes
one without arguments."""

REGISTERED: dict[str, Shortener] = {}
"""What this program has registered, by name."""

KIND = "shortener"  # what warnings call it


class Choice(NamedTuple):
    """What a text is shortened to, and by whom. `foreign` is None for a shortener of ours.

    `place` is the one of a foreign shortener among `foreigners`. If its levels turn out to be wrong, those after it are
    asked next, so that each is asked at most once.
    """

    levels: Levels
    foreign: Shortener | None = None
    place: int = 0


def register(shortener: Shortener) -> None:
    """Make a shortener known in this process. It is asked before those of installed packages.

    One of the same name is replaced. Register it before sessions are opened: what was shortened stays as it is.

    Raises:
        BadInput: it is no shortener.
    """
    REGISTERED[_checked(shortener).name] = shortener


def _levels_by_rule(view: View) -> Levels:
    return next(rule.levels(view) for rule in SHORTENERS if rule.accepts(view))


def text_levels(view: View, first: int = 0) -> Choice:
    """Return the levels of a text, by the first shortener that accepts it. Of others', those from `first` are asked."""
    return foreign_levels(view, first) or Choice(_levels_by_rule(view))


def foreign_levels(view: View, first: int = 0) -> Choice | None:
    """Return the levels of a text by a shortener of others that accepts it, from `first`; None if none of them does.

    What such a shortener raises is a warning, and the next one is asked.
    """
    for place, foreign in enumerate(foreigners()[first:], first):
        try:
            if foreign.accepts(view):
                return Choice(foreign.levels(view), foreign, place)
        except Exception as error:  # another package may raise anything
            warn_once(KIND, foreign, "raised", error)
    return None


def foreigners() -> tuple[Shortener, ...]:
    """The shorteners that are not ours, in the order in which they are asked."""
    return (*REGISTERED.values(), *installed())


@cache
def installed() -> tuple[Shortener, ...]:
    """The shorteners of installed packages, by name. They are loaded once, when the first text is shortened."""
    shorteners: list[Shortener] = []
    for point in _offers():
        try:
            shorteners.append(_checked(point.load()()))
        except Exception as error:  # importing another package may raise anything
            warn_once(KIND, point.name, f"({point.value}) cannot be loaded:", error)
    return tuple(shorteners)


def _checked(made: Any) -> Shortener:
    if not (isinstance(made, Shortener) and callable(made.accepts) and callable(made.levels)):
        raise BadInput(f"{made!r} is no shortener: it has no name, accepts(view) or levels(view)")
    if isinstance(made, type):
        raise BadInput(f"{made!r} is a class; pass an object of it: {made.__name__}()")
    if not isinstance(made.name, str) or not made.name:
        raise BadInput(f"{made!r} is no shortener: its name is {made.name!r}, but must be text")
    return made


def foreign_key() -> int:
    """A number that is another one if other shorteners are registered or installed; 0 if there are none.

    Imports none of them.
    """
    offers = [
        (name, type(shortener).__module__, type(shortener).__qualname__) for name, shortener in REGISTERED.items()
    ]
    offers += [(point.name, point.value, point.dist.version if point.dist else "") for point in _offers()]
    return crc32(repr(offers).encode()) if offers else 0


@cache
def _offers() -> tuple["EntryPoint", ...]:
    return tuple(sorted(offers(GROUP), key=lambda point: (point.name, point.value)))
