"""The apps that a session knows, and the tools they make."""

from collections.abc import Iterator

from sightline.apps.actions import Action
from sightline.apps.app import App
from sightline.apps.window import offered
from sightline.errors import BadInput


class Apps(dict[str, type[App]]):
    """Apps by name, each one that a model can be told about."""

    def add(self, app: type[App]) -> None:
        """Take an app in, in place of another of its name. Raises BadInput."""
        if not isinstance(app, type) or not issubclass(app, App) or not app.name:
            raise BadInput(f"an app is a subclass of sightline.apps.App with a name, not {app!r}")
        for name, value in _own(app):
            if not name.startswith("_") and isinstance(value, list | dict | set):
                raise BadInput(f"app {app.name!r}: all its windows would share {name!r}; give it its value in __init__")
        named = {action.tool(app.name).name for action in offered(app, app.options).values()}
        for name, (other, _) in self.typed().items():
            if name in named and other != app.name:
                raise BadInput(f"app {app.name!r}: another app has an action called {name} too; rename one of them")
        self[app.name] = app

    def typed(self) -> dict[str, tuple[str, Action]]:
        """The app and the action of each tool that is one action."""
        pairs = [(name, each) for name, app in self.items() for each in offered(app, app.options).values()]
        return {action.tool(app).name: (app, action) for app, action in pairs}


def _own(app: type[App]) -> Iterator[tuple[str, object]]:
    """What an app's class holds besides what every app has."""
    for kind in app.__mro__:
        if kind not in (object, App):
            yield from vars(kind).items()
