"""Apps in the conversations of another program: the windows that its model sees, and the tools that act on them."""

from collections.abc import Iterable

from sightline.apps import registry
from sightline.apps.app import App
from sightline.apps.calls import ACTION, CREATE
from sightline.errors import BadInput
from sightline.session.session import Session
from sightline.values.items import Call

AppNames = Iterable[type[App] | str]
"""Apps that somebody asks for: names of those that ship or are installed, or classes."""
WINDOW_TOOLS = frozenset((CREATE.name, ACTION.name))


def load_apps(apps: AppNames) -> tuple[type[App], ...]:
    """Return the classes of apps.

    Raises:
        UnknownApp: no installed app has this name; the error lists the names that there are.
        BadInput: what is no app, or one that cannot be opened because it needs arguments.
    """
    if isinstance(apps, str):
        raise BadInput(f"apps are several, such as apps=[{apps!r}]")
    registered = registry.Apps()
    for app in apps:
        registered.add(registry.app(app) if isinstance(app, str) else app)
    return tuple(registered.values())


def open_windows(session: Session) -> None:
    """Open each app of a session that has had no window yet. One that the model has closed stays closed.

    One that cannot be opened has no window; the model is told why when it opens it itself.
    """
    window_ids = session.windows.live(closed=True)  # todo_1, or the app's name if it has at most one window
    opened = {*window_ids, *(window_id.rpartition("_")[0] for window_id in window_ids)}
    for name in [name for name in session.windows.apps if name not in opened]:
        session.windows.call(Call("", CREATE.name, {"name": name}))
