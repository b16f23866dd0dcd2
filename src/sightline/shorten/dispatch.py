"""The shorteners, in the order in which they are asked: this program's, those of installed packages, then ours."""

import warnings
from collections.abc import Callable, Collection
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from sightline.errors import BadInput
from sightline.shorten.diffs import diff_levels, is_diff
from sightline.shorten.lines import Levels, View
from sightline.shorten.listings import is_listing, listing_levels
from sightline.shorten.logs import is_log, is_test_run, is_traceback, log_levels, test_run_levels, traceback_levels
from sightline.shorten.prose import prose_levels
from sightline.shorten.shortener import Shortener
from sightline.shorten.source import is_code_file, is_source, source_levels
from sightline.shorten.tables import is_table, table_levels

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

_warned: set[str] = set()  # the names of shorteners that a warning was about


class Choice(NamedTuple):
    """What a text is shortened to, and by whom. `foreign` is None for a shortener of ours."""

    levels: Levels
    foreign: Shortener | None


def register(shortener: Shortener) -> None:
    """Make a shortener known in this process. It is asked before those of installed packages.

    One of the same name is replaced. Register it before sessions are opened: what was shortened stays as it is.

    Raises:
        BadInput: it is no shortener.
    """
    REGISTERED[_checked(shortener).name] = shortener


def text_levels(view: View, failed: Collection[Shortener] = ()) -> Choice:
    """Return the levels of a text, by the first shortener that accepts it. Those that `failed` on it are not asked."""
    if found := foreign_levels(view, failed):
        return found
    return Choice(next(rule.levels(view) for rule in SHORTENERS if rule.accepts(view)), None)


def foreign_levels(view: View, failed: Collection[Shortener] = ()) -> Choice | None:
    """Return the levels of a text by the first shortener of others that accepts it; None if none of them does.

    What such a shortener raises is a warning, and the next one is asked.
    """
    for foreign in foreigners():
        if foreign in failed:
            continue
        try:
            if foreign.accepts(view):
                return Choice(foreign.levels(view), foreign)
        except Exception as error:  # another package may raise anything
            warn_once(foreign.name, f"raised {error!r}")
    return None


def foreigners() -> tuple[Shortener, ...]:
    """The shorteners that are not ours, in the order in which they are asked."""
    return (*REGISTERED.values(), *installed())


@cache
def installed() -> tuple[Shortener, ...]:
    """The shorteners of installed packages, by name. They are loaded once, when the first text is shortened."""
    found: list[Shortener] = []
    for point in _offers():
        try:
            found.append(_checked(point.load()()))
        except Exception as error:  # importing another package may raise anything
            warn_once(point.name, f"({point.value}) cannot be loaded: {error!r}")
    return tuple(found)


def _checked(made: Any) -> Shortener:
    if not (isinstance(made, Shortener) and callable(made.accepts) and callable(made.levels)):
        raise BadInput(f"{made!r} is no shortener: it has no name, accepts(view) or levels(view)")
    return made


def foreign_key() -> int:
    """A number that is another one if other shorteners are registered or installed; 0 if there are none.

    Imports none of them.
    """
    offers = [(name, type(each).__module__, type(each).__qualname__) for name, each in REGISTERED.items()]
    offers += [(point.name, point.value, point.dist.version if point.dist else "") for point in _offers()]
    return crc32(repr(offers).encode()) if offers else 0


@cache
def _offers() -> tuple["EntryPoint", ...]:
    from importlib.metadata import entry_points  # 10 ms, so not before a text is shortened or a session is resumed

    return tuple(sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)))


def warn_once(name: str, what: str) -> None:
    """Say that a shortener of another package is not used for a text. Says it once for each name."""
    if name in _warned:
        return
    _warned.add(name)
    warnings.warn(f"shortener {name!r} {what}; the next one is asked", RuntimeWarning, stacklevel=2)
