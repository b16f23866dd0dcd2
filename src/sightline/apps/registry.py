"""Apps by name: those that ship, those that installed packages offer, and those that one session has registered."""

from importlib import import_module
from inspect import signature

from sightline.apps.actions import Action
from sightline.apps.app import App
from sightline.apps.window import window_actions
from sightline.errors import BadInput, UnknownApp
from sightline.values.foreign_code import load_installed, offers

SHIPPED = {
    "todo": "todo:Todo",
    "notebook": "notebook:Notebook",
    "editor": "editor:Editor",
    "monitor": "monitor:Monitor",
    "launcher": "launcher:Launcher",
    "activity_log": "activity_log:ActivityLog",
    "files": "files:Files",
}

# The entry point group in which a package offers its apps: a name, and a subclass of App.
GROUP = "sightline.apps"


def names() -> list[str]:
    """Return the name of every app there is: ours, then those of installed packages."""
    return [*SHIPPED, *sorted({offer.name for offer in offers(GROUP)} - {*SHIPPED})]


def app(name: str) -> type[App]:
    """Load the app of this name.

    Raises:
        UnknownApp: there is none.
        BadInput: it is another package's and cannot be loaded, or several packages offer it.
    """
    if name in SHIPPED:
        module, _, kind = SHIPPED[name].partition(":")
        shipped: type[App] = getattr(import_module(f"sightline.apps.builtin.{module}"), kind)
        return shipped
    if (offered := load_installed(GROUP, "an app", name)) is None:
        raise UnknownApp(name, names(), registered=False)
    loaded, place = offered
    if not isinstance(loaded, type) or not issubclass(loaded, App) or loaded.name != name:
        raise BadInput(f"app {name!r} ({place}) is no subclass of sightline.apps.App of that name")
    return loaded


class Apps(dict[str, type[App]]):
    """The apps that one session has registered, by name."""

    def add(self, app: type[App]) -> None:
        """Register an app, in place of another of its name. Raises BadInput for what a model cannot be told about."""
        if not isinstance(app, type) or not issubclass(app, App) or not app.name:
            raise BadInput(f"an app is a subclass of sightline.apps.App with a name, not {app!r}")
        try:
            signature(app).bind()
        except TypeError as error:
            how = "an app is made without arguments: give them defaults, or read `target` in opened()"
            raise BadInput(f"app {app.name!r}: {error}; {how}") from error
        own = (member for kind in app.__mro__ if kind not in (object, App) for member in vars(kind).items())
        for name, value in own:
            if not name.startswith("_") and isinstance(value, list | dict | set):
                raise BadInput(f"app {app.name!r}: all its windows would share {name!r}; give it its value in __init__")
        tools = Apps({app.name: app}).typed()
        for name, (other, _) in self.typed().items():
            if name in tools and other != app.name:
                raise BadInput(f"app {app.name!r}: another app has an action called {name} too; rename one of them")
        self[app.name] = app

    def typed(self) -> dict[str, tuple[str, Action]]:
        """Return the app and the action behind each tool that stands for one action."""
        return {
            action.tool(name).name: (name, action)
            for name, app in self.items()
            for action in window_actions(app, app.options).values()
        }
