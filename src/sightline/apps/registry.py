"""Apps by name: those that ship, and those that installed packages offer."""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from sightline.apps.app import App
from sightline.errors import BadInput, UnknownApp

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SHIPPED = {
    "todo": "todo:Todo",
    "notebook": "notebook:Notebook",
    "editor": "editor:Editor",
    "monitor": "monitor:Monitor",
    "launcher": "launcher:Launcher",
    "activity_log": "activity_log:ActivityLog",
    "files": "files:Files",
}

GROUP = "sightline.apps"
"""The entry point group in which a package offers apps of its own: a name, and a subclass of App."""


def names() -> list[str]:
    """Every app there is: ours, then those of installed packages."""
    return [*SHIPPED, *(name for name in sorted({each.name for each in installed()}) if name not in SHIPPED)]


def installed() -> Iterator["EntryPoint"]:
    """What installed packages offer. Nothing of it is imported by that."""
    from importlib.metadata import entry_points

    return iter(entry_points(group=GROUP))


def app(name: str) -> type[App]:
    """The app of this name.

    Raises:
        UnknownApp: there is none.
        BadInput: it is another package's and cannot be loaded, or several packages offer it.
    """
    if name in SHIPPED:
        module, _, kind = SHIPPED[name].partition(":")
        shipped: type[App] = getattr(import_module(f"sightline.apps.builtin.{module}"), kind)
        return shipped
    offers = {each.value: each for each in installed() if each.name == name}
    if not offers:
        raise UnknownApp(name, names(), registered=False)
    if len(offers) > 1:
        raise BadInput(f"several packages offer an app {name!r}: {', '.join(offers)}")
    [offer] = offers.values()
    try:
        found = offer.load()
    except Exception as error:  # whatever another's package does when it is imported
        raise BadInput(f"app {name!r} ({offer.value}) cannot be loaded: {error!r}") from error
    if not isinstance(found, type) or not issubclass(found, App) or found.name != name:
        raise BadInput(f"app {name!r} ({offer.value}) is no subclass of sightline.apps.App of that name")
    return found
