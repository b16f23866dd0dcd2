"""An app's data: encoded for the log, and copied before an action so that a failed one can be undone."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec
from msgspec.structs import replace

from sightline.apps.app import App, Options, is_data
from sightline.apps.guard import attempt
from sightline.apps.window import AppWindow
from sightline.errors import BadInput, InvalidSourceData


def change_options(options: Options, changes: Mapping[str, Any]) -> Options:
    """Return options with some of them changed. Raises BadInput for one that windows do not have."""
    try:
        return msgspec.convert(msgspec.to_builtins(replace(options, **changes)), Options)
    except (TypeError, msgspec.ValidationError) as error:
        raise BadInput(f"options of a window: {error}; there are {', '.join(Options.__struct_fields__)}") from error


def copy_attributes(app: App) -> dict[str, Any]:
    """Return all attributes of an app for `restore_attributes`: its data copied, the others as they are."""
    return {name: _copy(value) if is_data(name) else value for name, value in vars(app).items()}


def _copy(value: Any) -> Any:
    try:
        return deepcopy(value)
    except Exception:  # what cannot be copied cannot be saved either, so it is no data
        return value


def restore_attributes(app: App, attributes: dict[str, Any], data: bytes) -> None:
    """Set all attributes as they were. An app with its own `restore` also derives again what it needs from its data."""
    vars(app).clear()
    vars(app).update(attributes)
    if type(app).restore is not App.restore:
        attempt(lambda: app.restore(msgspec.json.decode(data)))


def encode_data(app: App) -> bytes:
    """Return an app's data as the log stores them. Raises InvalidSourceData."""
    try:
        return msgspec.json.encode(app.save())
    except Exception as error:  # whatever an app's own save() does
        how = "override save() and restore(), or begin the name of what is not to be kept with '_'"
        raise InvalidSourceData(f"{app.name} cannot be saved: {error}; {how}") from error


def current_data(window: AppWindow) -> bytes:
    """Return a window's data as they are now, or as the log has them if they cannot be saved."""
    data = attempt(lambda: encode_data(window.app))
    return window.logged_data if data is None else data
