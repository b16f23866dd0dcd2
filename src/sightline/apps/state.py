"""An app's data: as the log keeps them, and as they were before an action that failed."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec
from msgspec.structs import replace

from sightline.apps.app import App, Options, is_data
from sightline.apps.guard import quietly
from sightline.apps.window import AppWindow
from sightline.errors import BadInput, InvalidSourceData


def chosen(own: Options, options: Mapping[str, Any]) -> Options:
    """An app's options with some of them otherwise. Raises BadInput."""
    try:
        return msgspec.convert(msgspec.to_builtins(replace(own, **options)), Options)
    except (TypeError, msgspec.ValidationError) as error:
        raise BadInput(f"options of a window: {error}; there are {', '.join(Options.__struct_fields__)}") from error


def held(app: App) -> dict[str, Any]:
    """What an app holds, so that it can be given back: its data copied, what else it has as it is."""
    return {name: _copied(value) if is_data(name) else value for name, value in vars(app).items()}


def _copied(value: Any) -> Any:
    try:
        return deepcopy(value)
    except Exception:  # what cannot be copied cannot be saved either: it is no data
        return value


def give_back(app: App, kept: dict[str, Any], data: bytes) -> None:
    """Everything as it was. An app that restores in its own way also makes again what it derives from its data."""
    vars(app).clear()
    vars(app).update(kept)
    if type(app).restore is not App.restore:
        quietly(lambda: app.restore(msgspec.json.decode(data)))


def saved(app: App) -> bytes:
    """An app's data, as the log keeps them. Raises InvalidSourceData."""
    try:
        return msgspec.json.encode(app.save())
    except Exception as error:  # whatever an app's own save() does
        how = "override save() and restore(), or begin the name of what is not to be kept with '_'"
        raise InvalidSourceData(f"{app.name} cannot be saved: {error}; {how}") from error


def saved_or(window: AppWindow) -> bytes:
    """A window's data as they are now; as the log has them where they cannot be saved."""
    data = quietly(lambda: saved(window.app))
    return window.saved if data is None else data
